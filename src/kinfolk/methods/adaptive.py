"""Adaptive Measurements, the paper's loop: select, measure, and learn from all so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kinfolk.errors import KinfolkError
from kinfolk.methods.method import Step, affordable, buy_groups, first_steps
from kinfolk.privacy.curator import Curator
from kinfolk.privacy.mechanisms import round_shares
from kinfolk.privacy.view import PEOPLE, PublicView

Floats = npt.NDArray[np.float64]

MEASURED = ("query", "marginal")
"""What a round may measure."""
PEOPLE_SHARE = Fraction(1, 100)
"""Of the budget, for the number of people, where that is not public."""


class Learner(Protocol):
    """A model in the making: it sees released values only."""

    def answer(self) -> Floats:
        """Its answers to the whole workload: (queries,) shares."""

    def learn(self, queries: Sequence[int], shares: Floats) -> None:
        """Learn from everything measured so far: numbers of queries, and their noisy shares."""


@dataclass(frozen=True, kw_only=True)
class AdaptiveMeasurements:
    """The settings of the loop, with the paper's defaults; fixed before the data is seen."""

    rounds: int = 100
    """T: how many times something is chosen and measured."""
    alpha: float = 0.67
    """How a round's budget is split between choosing and measuring."""
    measure: str = "query"
    """What a round measures: one query, as in the paper; or the whole `marginal` whose worst query
    is furthest off, as the authors' code does for other models."""
    repeats: bool = True
    """Whether what was measured may be chosen again, as in the paper; where nothing else is left,
    it may be in any case."""
    clip: bool = False
    """Whether a measured share is brought back to between 0 and 1 before anything is learnt."""

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise KinfolkError(f"rounds is {self.rounds}. Measure at least one query.")
        if self.measure not in MEASURED:
            raise KinfolkError(
                f"measure is {self.measure!r}. Choose one of {', '.join(map(repr, MEASURED))}."
            )

    def steps(self, view: PublicView) -> list[Step]:
        """What will be bought: the totals that are not public, then select and measure by turns."""
        found = first_steps(view)
        if view.sells_people:
            rho = view.rho * PEOPLE_SHARE
            found.append(Step(key=PEOPLE, rho=rho, purchase=view.measure_people(rho=rho)))
        shares = round_shares(
            view.rho - sum((step.rho for step in found), Fraction(0)),
            rounds=self.rounds,
            alpha=self.alpha,
            accounting=view.accounting,
        )
        multipliers = _multipliers(view.groups or 1, view.people or 1)
        if self.measure == "marginal":
            select = view.select_marginal(rho=shares.select, multipliers=multipliers)
            measure = view.measure([0], rho=shares.measure)
        else:
            select = view.select_query(rho=shares.select, multipliers=multipliers)
            measure = view.measure_query(0, rho=shares.measure)
        for turn in range(1, self.rounds + 1):
            found.append(Step(key=f"select {turn}", rho=shares.select, purchase=select))
            found.append(
                Step(key=f"measure {turn}", rho=shares.measure, purchase=measure, chosen=True)
            )
        return found

    def run(
        self,
        curator: Curator,
        learner: Learner,
        *,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Spend the curator's budget on `rounds` measurements, teaching the learner after each.

        Guarantee: the curator's. Choosing and measuring are bought from it; the learner, the shares
        and everything else here depend on released values alone.
        """
        if (curator.weights[:, curator.workload.schema.sizes.start :] != 1).any():
            raise KinfolkError("Adaptive Measurements ask plain queries. Count without weights.")
        groups = buy_groups(curator)
        people = curator.measure_people(groups=groups, rho=curator.guarantee.rho * PEOPLE_SHARE)
        totals = {"group": groups, "individual": people, "relation": people}
        multipliers = _multipliers(groups, people)
        scale = np.concatenate(
            [
                np.full(marginal.cells, totals[marginal.level])
                for marginal in curator.workload.marginals
            ]
        )
        planned = {step.key: step.rho for step in self.steps(curator.view)}
        cost = affordable(curator, planned)
        measured: list[int] = []
        queries: list[int] = []
        shares: list[float] = []
        for turn in range(self.rounds):
            if f"measure {turn + 1}" not in cost:
                break
            # select
            step = f"select {turn + 1}"
            chosen = self._select(
                curator, learner.answer() * scale, measured, cost[step], step, multipliers
            )
            measured.append(chosen)
            # measure
            step = f"measure {turn + 1}"
            if self.measure == "marginal":
                bought = curator.measure([chosen], rho=cost[step], step=step)
                asked = range(*curator.workload.offsets[chosen : chosen + 2])
            else:
                bought = curator.measure_query(chosen, rho=cost[step], step=step)
                asked = range(chosen, chosen + 1)
            found = bought.values / scale[asked.start : asked.stop]
            queries += asked
            shares += (np.clip(found, 0, 1) if self.clip else found).tolist()
            # learn
            learner.learn(queries, np.array(shares))
            if progress is not None:
                progress(turn + 1)

    def _select(
        self,
        curator: Curator,
        estimates: Floats,
        measured: Sequence[int],
        rho: Fraction,
        step: str,
        multipliers: Mapping[str, int],
    ) -> int:
        """Buy the choice of a query or of a marginal: its number, or its position."""
        whole = self.measure == "marginal"
        every = len(curator.workload.marginals) if whole else curator.workload.size
        without = [] if self.repeats or len(set(measured)) == every else measured
        buy = curator.select_marginal if whole else curator.select_query
        return buy(estimates, rho=rho, step=step, multipliers=multipliers, without=without)


def _multipliers(groups: int, people: int) -> dict[str, int]:
    """What puts a share of people and a share of groups on one scale, by whole numbers."""
    return {"group": people, "individual": groups, "relation": groups}
