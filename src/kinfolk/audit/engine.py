"""Run something private many times, guess, and bound from below what it must have cost.

What was found is lower bounds beside the claim, and a drawing of them.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from kinfolk._io import passing_folder
from kinfolk.audit.guess import (
    Claim,
    ErrorRates,
    gaussian_floor,
    judge_clues,
    normal_quantile,
    promise_floor,
)
from kinfolk.audit.search import one_thread
from kinfolk.audit.subjects import SUBJECTS, SubjectKind
from kinfolk.chart import Panel, Point, Series, chart_svg
from kinfolk.errors import KinfolkError, did_you_mean
from kinfolk.privacy.accounting import Accounting
from kinfolk.privacy.guarantee import Guarantee
from kinfolk.privacy.unit import Neighbours, Wording

FEWEST = 40


class AuditVerdict(StrEnum):
    """Whether a claim survived."""

    CONSISTENT = "consistent"
    """Nothing was seen that the claim rules out."""
    VIOLATED = "violated"
    """More was given away than the claim allows."""


@dataclass(frozen=True, kw_only=True)
class AuditResult:
    """Lower bounds beside the claim. They hold together, with the stated confidence.

    The budget is the sharper of the two: it takes the curator's mechanisms for what they are. The
    bound on epsilon takes nothing for granted, except for Gaussian noise where only that was used.
    """

    what: str
    """The subject's name."""
    wording: Wording
    """Whom the claim protects."""
    claim: Guarantee
    """What is promised, and the budget that keeps it: all of it was spent."""
    epsilon: float
    """The promise cannot be kept with a smaller epsilon at this delta."""
    rho: float
    """No smaller budget buys so much; 0 where nothing can be said."""
    confidence: float
    """How often, at least, such bounds are true."""
    runs: int
    clue: str
    """What the guess that was judged looked at."""
    errors: ErrorRates
    """Upper bounds on its error rates."""
    ceiling_mu: float
    """What the claimed budget buys at most: the floor under all errors, see `guess`."""
    curve: tuple[ErrorRates, ...]
    """The error rates seen, for a plot."""

    @property
    def claimed_epsilon(self) -> float:
        """The epsilon of the promise."""
        return self.claim.epsilon

    @property
    def delta(self) -> float:
        """The delta of the promise."""
        return self.claim.delta

    @property
    def claimed_rho(self) -> float:
        """The budget of the promise."""
        return float(self.claim.rho)

    @property
    def verdict(self) -> AuditVerdict:
        """Violated if either bound exceeds its claim."""
        exceeded = self.epsilon > self.claimed_epsilon or self.rho > self.claimed_rho
        return AuditVerdict.VIOLATED if exceeded else AuditVerdict.CONSISTENT

    @property
    def runs_to_see_half(self) -> int:
        """About how many runs would show half of what the budget buys: a rough guide."""
        z = normal_quantile(self.confidence)
        # Guesses are right by 0.2 mu more than half of the time; half of that must exceed z errors.
        needed = (z * 0.5 / (0.1 * min(self.ceiling_mu, 2.5))) ** 2 / 0.75
        digits = 10.0 ** math.floor(math.log10(needed))
        return max(100, int(math.ceil(needed / digits) * digits))


def plot_svg(result: AuditResult) -> str:
    """Errors that were seen, beside the floors that the claim puts under them.

    >>> from kinfolk.datasets import load_schema
    >>> from kinfolk.privacy.guarantee import Guarantee
    >>> from kinfolk.privacy.unit import Neighbours, Wording
    >>> replaced = Neighbours.REPLACE
    >>> result = AuditResult(
    ...     what="measure",
    ...     wording=Wording.of(load_schema("acs-red"), replaced),
    ...     claim=Guarantee.of(neighbours=replaced, epsilon=4.0, delta=1e-5),
    ...     epsilon=2.5,
    ...     rho=0.2,
    ...     confidence=0.999,
    ...     runs=4000,
    ...     clue="likelihood",
    ...     errors=ErrorRates(false_alarms=0.38, misses=0.38),
    ...     ceiling_mu=0.86,
    ...     curve=(),
    ... )
    >>> plot_svg(result).startswith("<svg xmlns=")
    True
    """
    violated = result.verdict is AuditVerdict.VIOLATED
    series = (
        Series(
            label="errors seen, by threshold",
            style=4 if violated else 0,
            marked=False,
            points=tuple(Point(x=one.false_alarms, y=one.misses) for one in result.curve),
        ),
        Series(
            label=f"upper bounds at {result.confidence:.6g}, {result.runs:,} runs",
            style=4 if violated else 0,
            points=(Point(x=result.errors.false_alarms, y=result.errors.misses),),
        ),
        Series(
            label="the least errors that the claimed budget allows",
            style=1,
            marked=False,
            points=_floor(lambda x: gaussian_floor(result.ceiling_mu, x)),
        ),
        Series(
            label="the least errors that (epsilon, delta) allows",
            style=1,
            marked=False,
            dashes="2 4",
            points=_floor(lambda x: promise_floor(result.claimed_epsilon, result.delta, x)),
        ),
        Series(
            label="a guess without looking",
            style=2,
            marked=False,
            dashes="8 4",
            points=(Point(x=0, y=1), Point(x=1, y=0)),
        ),
    )
    title = f"Audit of {result.what!r} for one {result.wording.name}: {result.verdict}"
    notes = [
        f"epsilon at least {result.epsilon:.3g}, claimed {result.claimed_epsilon:.3g}",
        f"rho at least {result.rho:.3g}, claimed {result.claimed_rho:.3g}",
    ]
    shown = tuple(one for one in series if one.points)
    panel = Panel(title="misses", x_label="false alarms", series=shown, shares=True)
    return chart_svg(title, notes, [panel])


def _floor(least: Callable[[float], float]) -> tuple[Point, ...]:
    return tuple(Point(x=step / 200, y=least(step / 200)) for step in range(201))


def audit(
    what: str,
    *,
    neighbours: Neighbours,
    epsilon: float,
    delta: float,
    accounting: Accounting | None = None,
    runs: int = 1000,
    confidence: float = 0.999,
    advance: Callable[[], object] = lambda: None,
) -> AuditResult:
    """Audit one of `SUBJECTS` at a budget; `advance` is called after every run.

    The accounting is by default the subject's own, see `SUBJECTS`.

    Guarantee: if everything costs what the ledger says, the verdict is "violated" in at most a
    share 1 - confidence of all audits. A verdict of "consistent" proves nothing.

    >>> added = Neighbours.ADD_REMOVE
    >>> result = audit("select", neighbours=added, epsilon=2.0, delta=1e-5, runs=40)
    >>> result.verdict.value, result.epsilon <= 2.0
    ('consistent', True)
    """
    if what not in SUBJECTS:
        raise KinfolkError(f"what is {what!r}. {did_you_mean(what, tuple(SUBJECTS))}")
    if runs < FEWEST:
        raise KinfolkError(f"runs is {runs}. Use at least {FEWEST}; thousands show more.")
    if not 0.5 <= confidence < 1:
        raise KinfolkError(f"confidence is {confidence}. Use 0.5 or more, below 1: 0.999, say.")
    promise = Guarantee.of(
        neighbours=neighbours,
        epsilon=epsilon,
        delta=delta,
        accounting=_covering(what, SUBJECTS[what], accounting),
    )
    with one_thread():
        subject = SUBJECTS[what].build(promise)
    # Each run tosses a coin and takes one of the two neighbours.
    sides = np.array([secrets.randbelow(2) for _ in range(runs)], dtype=np.bool_)
    clues = np.empty((runs, len(subject.clues)))
    with one_thread(), passing_folder("audit-", quick=True) as folder:
        for turn, second in enumerate(sides):
            # A ledger that survives is not what is audited here: each lives for one run.
            ledger = folder / f"{turn}.jsonl"
            clues[turn] = subject.run(ledger, second=bool(second))
            for used in folder.iterdir():
                used.unlink()
            advance()
    ceiling = subject.ceiling
    claim = Claim(ceiling=ceiling, promise=promise, alarm=1 - confidence)
    judged = judge_clues(subject.clues, clues, sides, claim)
    return AuditResult(
        what=what,
        wording=Wording.of(subject.schema, neighbours),
        claim=promise,
        epsilon=claim.least_epsilon(judged.errors),
        rho=ceiling.rho(judged.errors.mu),
        confidence=confidence,
        runs=runs,
        clue=judged.clue,
        errors=judged.errors,
        ceiling_mu=ceiling.mu(float(promise.rho)),
        curve=judged.curve,
    )


def _covering(what: str, kind: SubjectKind, accounting: Accounting | None) -> Accounting:
    """The accounting that was asked for, if it covers the subject."""
    if accounting is None:
        return kind.accountings[0]
    if accounting not in kind.accountings:
        known = " or ".join(repr(one.value) for one in kind.accountings)
        raise KinfolkError(
            f"accounting is {accounting.value!r}. {what!r} is audited under {known}."
        )
    return accounting
