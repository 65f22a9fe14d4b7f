"""A method at work between a curator and a model: the one way from a budget to what was learnt."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from types import FrameType
from typing import Literal

import numpy as np

from kinfolk.methods.method import Method, NothingLearntError, Progress, Training, silent
from kinfolk.privacy.account import OverspendError
from kinfolk.privacy.curator import Curator

ENOUGH = Fraction(1, 2)
"""Of the budget: a release that has learnt from less says that it is not what was planned."""

Ending = Literal["complete", "interrupted", "short"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A method that is done, and how it ended."""

    training: Training
    ending: Ending
    """Interrupted by Ctrl-C; or short, as steps lost in a crash have used up most of the budget."""
    learnt: Fraction
    """What was spent on released values that say more than how many there are."""


def run(
    curator: Curator,
    method: Method,
    *,
    rng: np.random.Generator,
    progress: Progress = silent,
    keep: bool = False,
) -> Outcome:
    """Spend the curator's budget as the method says, and learn from what it buys.

    `rng` is for what comes after the noise. To `keep` what was learnt when Ctrl-C comes, it is held
    back until the step is done, and the outcome says so; otherwise it goes on as usual.
    """
    training = method.start(curator, rng=rng)
    ending: Ending = "complete"
    try:
        if keep:
            _run_patiently(training, progress)
        else:
            training.run(progress)
    except KeyboardInterrupt:
        if not keep:
            raise
        ending = "interrupted"
    except OverspendError as error:
        # Debits that were lost in a crash stay spent. A method that overspends without such a
        # reason has a bug.
        if not curator.own.unreleased and not curator.own.torn:
            raise
        raise NothingLearntError(str(error)) from None
    learnt = sum(
        (one.spend.rho for one in curator.own.releases.values() if "total" not in one.spend.bought),
        Fraction(0),
    )
    if not learnt and ending == "interrupted":
        raise KeyboardInterrupt
    if not learnt:
        raise NothingLearntError("nothing was released that could be learnt from.")
    if ending == "complete" and learnt < ENOUGH * curator.guarantee.rho:
        ending = "short"
    return Outcome(training=training, ending=ending, learnt=learnt)


def _run_patiently(training: Training, progress: Progress) -> None:
    last: tuple[int, int] = (0, 0)
    with patient_interrupts(lambda: progress("stopping", *last)) as check:

        def tell(doing: str, done: int, total: int) -> None:
            nonlocal last
            last = (done, total)
            progress(doing, done, total)
            check()

        training.run(tell)


@contextmanager
def patient_interrupts(notice: Callable[[], None]) -> Iterator[Callable[[], None]]:
    """Hold the first Ctrl-C back until the function that this gives is called; it raises it.

    `notice` is called when it comes. A second Ctrl-C is not held back. Other signals that do what
    Ctrl-C does are treated like it. Where somebody else handles it already, or outside the main
    thread, nothing changes.
    """
    pressed = False

    def press(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True
        notice()

    def check() -> None:
        if pressed:
            raise KeyboardInterrupt

    ours = threading.current_thread() is threading.main_thread()
    alike = [
        number
        for number in (signal.valid_signals() if ours else ())
        if signal.getsignal(number) is signal.default_int_handler
    ]
    for number in alike:
        signal.signal(number, press)
    try:
        yield check
    finally:
        for number in alike:
            signal.signal(number, signal.default_int_handler)
