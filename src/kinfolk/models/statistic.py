"""One query as a function of a group, and distributions reweighted by it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kinfolk.models.universe import Universe
from kinfolk.models.universe_kernel import tilt
from kinfolk.privacy.contributions import group_contribution
from kinfolk.queries.workload import Query

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Statistic:
    """What every group adds to a query: a small number, by size.

    A distribution matters to the query only through its masses: how probable it is that a group has
    a size and adds a number. Reweighting by the query needs nothing else either.
    """

    added: npt.NDArray[np.uint16]
    """(casts,) what a group adds where its kind of household matches."""
    matching: npt.NDArray[np.bool_]
    """(household kinds,) which kinds match."""
    size_index: npt.NDArray[np.int64]
    """(casts,) the cast's size, counted from the smallest."""
    sizes: Floats
    """(sizes, 1) what a group counts for in the whole: its members, or one at the group level."""
    bound: int
    """The most that any group can add: M for the individual level, one for the group level."""

    @classmethod
    def of(cls, universe: Universe, query: Query) -> Statistic:
        """The statistic of a query."""
        schema, marginal = universe.schema, query.marginal
        added, matching = universe.contribution(query)
        sizes = np.array(schema.sizes, np.float64)[:, None]
        return cls(
            added=added,
            matching=matching,
            size_index=universe.size_index,
            sizes=np.ones_like(sizes) if marginal.level == "group" else sizes,
            bound=max(group_contribution(schema, marginal, c).single for c in schema.compositions),
        )

    @property
    def numbers(self) -> Floats:
        """(numbers,) 0, 1, 2 and so on: what a group may add."""
        return np.arange(self.bound + 1, dtype=np.float64)

    def masses(self, probabilities: Floats) -> Floats:
        """(sizes, numbers) how probable a size and a number are together."""
        found = np.zeros((len(self.sizes), self.bound + 1))
        self._tilt(probabilities, np.ones_like(found), self, found)
        return found

    def share(self, masses: Floats) -> float:
        """The query's answer as a share, from the masses."""
        return float((masses @ self.numbers).sum() / (masses * self.sizes).sum())

    def reweight(
        self, probabilities: Floats, masses: Floats, exponents: Floats, following: Statistic
    ) -> Floats:
        """Multiply by exp(exponents), (sizes, numbers), in place, and bring the sum back to one.

        Returns the masses that another query then has: one pass does both.
        """
        factors = np.exp(exponents - exponents.max())
        factors /= (masses * factors).sum()
        factors = np.ascontiguousarray(np.broadcast_to(factors, masses.shape))
        found = np.zeros((len(self.sizes), following.bound + 1))
        self._tilt(probabilities, factors, following, found)
        return found

    def _tilt(
        self, probabilities: Floats, factors: Floats, following: Statistic, masses: Floats
    ) -> None:
        tilt(
            probabilities,
            self.added,
            self.matching,
            self.size_index,
            factors,
            following.added,
            following.matching,
            masses,
        )
