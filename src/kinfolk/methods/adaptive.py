"""Adaptive Measurements, the paper's loop: select a query, measure it, learn from all so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kinfolk.errors import KinfolkError
from kinfolk.privacy.curator import Curator
from kinfolk.privacy.mechanisms import round_shares
from kinfolk.queries.units import Unit

Floats = npt.NDArray[np.float64]

PEOPLE_SHARE = Fraction(1, 100)
"""Of the budget, for the number of people, where the unit does not make it public."""


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
    """T: how many queries are chosen and measured."""
    alpha: float = 0.67
    """How a round's budget is split between choosing and measuring."""

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise KinfolkError(f"rounds is {self.rounds}. Measure at least one query.")

    def run(
        self,
        curator: Curator,
        learner: Learner,
        *,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Spend the curator's budget on `rounds` queries, teaching the learner after each.

        Guarantee: the curator's. Choosing and measuring are bought from it; the learner, the shares
        and everything else here depend on released values alone.
        """
        if (curator.weights[:, curator.workload.schema.sizes.start :] != 1).any():
            raise KinfolkError("Adaptive Measurements ask plain queries. Count without weights.")
        budget = curator.terms.rho
        if curator.unit is Unit.GROUP:
            budget -= budget * PEOPLE_SHARE
        people = curator.measure_people(rho=curator.terms.rho * PEOPLE_SHARE, step="people")
        totals = {"group": curator.groups, "individual": people, "relation": people}
        # A share of people and a share of groups are put on one scale by whole numbers.
        multipliers = {"group": people, "individual": curator.groups, "relation": curator.groups}
        scale = np.concatenate(
            [np.full(block.cells, totals[block.level]) for block in curator.workload.blocks]
        )
        cost = round_shares(
            budget, rounds=self.rounds, alpha=self.alpha, accounting=curator.terms.accounting
        )
        queries: list[int] = []
        shares: list[float] = []
        for turn in range(self.rounds):
            # select
            chosen = curator.select_query(
                learner.answer() * scale,
                rho=cost.select,
                step=f"select {turn + 1}",
                multipliers=multipliers,
            )
            # measure
            bought = curator.measure_query(chosen, rho=cost.measure, step=f"measure {turn + 1}")
            level = curator.workload.blocks[curator.workload.block_of(chosen)].level
            queries.append(chosen)
            shares.append(bought.values[0] / totals[level])
            # learn
            learner.learn(queries, np.array(shares))
            if progress is not None:
                progress(turn + 1)
