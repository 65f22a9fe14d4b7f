"""What all methods have in common: they start with a curator, run, and leave a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from kinfolk.errors import KinfolkError
from kinfolk.models.base import Model
from kinfolk.privacy.account import OverspendError
from kinfolk.privacy.accounting import Accounting
from kinfolk.privacy.curator import Curator
from kinfolk.privacy.view import GROUPS, PublicView, Purchase
from kinfolk.queries.workload import Workload

Progress: TypeAlias = Callable[[str, int, int], None]
"""Told what is being done, how many steps of it are done, and of how many; released values only."""


GROUPS_NOISE = 100
"""The noise on the number of groups that is aimed at, where that is not public: all that is learnt
is divided by it, ..."""
LEAST_GROUPS_SHARE, MOST_GROUPS_SHARE = Fraction(1, 100), Fraction(5, 100)
"""... for so much of the budget at least, and at most."""

LEAST = Fraction(1, 1000)
"""Of the budget: what is left below this is left alone."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """Something that a method will buy."""

    key: str
    """What the ledger calls it."""
    rho: Fraction
    """What it may cost."""
    purchase: Purchase
    """What that buys; of a query that is yet to be chosen, what the first one would."""
    chosen: bool = False
    """Whether what it touches is chosen on the way, by what was released before."""


def first_steps(view: PublicView) -> list[Step]:
    """How many groups there are is bought before anything else, where it is not public."""
    if not view.sells_groups:
        return []
    rho = groups_rho(view.rho)
    return [Step(key=GROUPS, rho=rho, purchase=view.measure_groups(rho=rho))]


def buy_groups(curator: Curator) -> int:
    """The number of groups: public, or bought as `first_steps` says."""
    return curator.measure_groups(rho=groups_rho(curator.guarantee.rho))


def groups_rho(rho: Fraction) -> Fraction:
    """What the number of groups may cost, of a budget.

    >>> groups_rho(Fraction(1)), groups_rho(Fraction(1, 500)), groups_rho(Fraction(1, 10_000))
    (Fraction(1, 100), Fraction(1, 20000), Fraction(1, 200000))
    """
    aim = Fraction(1, 2 * GROUPS_NOISE**2)
    return min(max(aim, rho * LEAST_GROUPS_SHARE), rho * MOST_GROUPS_SHARE)


def affordable(curator: Curator, steps: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """What steps may cost, by their names, where some of the budget was lost in a crash.

    What was released before costs nothing any more; the rest shares what is left, as planned. Steps
    that cannot be had any more are left out. If these are all, there is nothing to learn from.
    """
    missing = {key: rho for key, rho in steps.items() if not curator.has(key)}
    needed = sum(missing.values(), Fraction(0))
    if needed <= curator.remaining:
        return dict(steps)
    if curator.remaining >= LEAST * curator.guarantee.rho:
        share = curator.remaining / needed
        return {key: rho * share if key in missing else rho for key, rho in steps.items()}
    if len(missing) == len(steps):
        raise nothing_left()
    return {key: rho for key, rho in steps.items() if key not in missing}


def nothing_left() -> OverspendError:
    """What is said where a crash has lost all that there was to learn from."""
    return OverspendError(
        "what was lost in a crash has used up the budget, and nothing was released for it: "
        "there is nothing to learn from."
    )


def silent(doing: str, done: int, total: int) -> None:
    """Say nothing."""


class NothingLearntError(KinfolkError):
    """There is no model, as nothing was bought or nothing came of it."""


class Training(Protocol):
    """A method at work. It sees released values only, which it buys from the curator."""

    def run(self, progress: Progress = silent) -> None:
        """Spend the budget and learn. May be interrupted: `model` is then what there is so far."""

    def model(self) -> Model:
        """The best model so far; NothingLearntError where there is none."""

    def extra(self) -> Mapping[str, npt.NDArray[Any]]:
        """More arrays that belong to the model, by name: all released."""

    def findings(self) -> Mapping[str, Any]:
        """What it found out on the way that the certificate should say: released, in JSON."""


class Method(Protocol):
    """A method and its settings, fixed before any data is seen."""

    @property
    def name(self) -> str:
        """How `--method` calls it."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What it was told, for the certificate: JSON values."""

    @property
    def accounting(self) -> Accounting:
        """The tightest accounting that covers what it buys."""

    @property
    def size_weighted(self) -> bool:
        """Whether groups count by weights of their size, where a unit can move whole ones."""

    def check(self) -> None:
        """Refuse where something is missing that it needs, before any data is read."""

    def asks(self, workload: Workload) -> Workload:
        """What the curator should count, for a workload that the model is to answer."""

    def steps(self, view: PublicView) -> Sequence[Step]:
        """What it will buy, where there are as many groups as the view says; public."""

    def planned_noise(self, view: PublicView, workload: Workload) -> Sequence[float | None]:
        """For each marginal of a workload, the noise of a measurement, where it is planned.

        The view is of what the method asks for that workload. In groups or people: the standard
        deviation on a query.
        """

    def start(self, curator: Curator, *, rng: np.random.Generator) -> Training:
        """Begin. `rng` is for what comes after the noise: where a model starts, say."""
