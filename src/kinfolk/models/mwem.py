"""The MWEM update: multiplicative weights on the queries that were measured, and their average."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kinfolk._typing import Bools, Floats, Ints
from kinfolk.models.histogram import Histogram
from kinfolk.models.universe import Universe
from kinfolk.models.universe_kernel import tilt
from kinfolk.privacy.contributions import group_contribution
from kinfolk.queries.workload import Query


def mwem_update(
    histogram: Histogram,
    queries: Sequence[Query],
    measurements: npt.ArrayLike,
    *,
    max_iterations: int = 100,
    rng: np.random.Generator,
    answers: npt.ArrayLike | None = None,
) -> Histogram:
    """One round's update, as in the paper: every query that is at least half as far off as the
    worst is visited once, in random order, the worst `max_iterations` at most.

    measurements: (queries,) what was released, as shares of groups (group level) or of people.
    answers: (queries,) what `histogram` has for them, where that is known already.

    A visit multiplies the probability of a group x by exp(f(x) (m - f(A)) / 2), where f(A) is the
    answer at that moment and f(x) is what the group adds, divided by the most that a group can add:
    by M for individual queries. Only released values go in, so this costs no privacy; `rng` orders
    the visits and has nothing to do with the noise.

    >>> from kinfolk.datasets import load_schema
    >>> from kinfolk.queries.workload import Workload
    >>> start = Histogram.uniform(load_schema("acs-red"))
    >>> query = Workload.of(start.schema).query(0)
    >>> after = mwem_update(start, [query], [0.5], rng=np.random.default_rng(1))
    >>> [round(float(one.answer_queries([query])[0]), 4) for one in (start, after)]
    [0.0333, 0.0417]
    """
    values = np.asarray(measurements, np.float64)
    if len(queries) != len(values):
        raise ValueError(f"{len(queries)} queries, but {len(values)} measurements")
    now = histogram.answer_queries(queries) if answers is None else np.asarray(answers, np.float64)
    errors = np.abs(values - now)
    worst = np.argsort(-errors, kind="stable")[:max_iterations]
    visited = worst[errors[worst] >= errors.max() / 2]
    probabilities = histogram.probabilities.copy()
    order = rng.permutation(visited).tolist()
    visits = [(queries[at], float(values[at])) for at in order]
    if histogram.universe.flat:
        _visit_people(histogram.universe, probabilities, visits)
    else:
        _visit_groups(histogram.universe, probabilities, visits)
    return Histogram(universe=histogram.universe, probabilities=probabilities)


def _visit_groups(
    universe: Universe, probabilities: Floats, visits: Sequence[tuple[Query, float]]
) -> None:
    """Multiplies the probabilities, in place, with one pass over all groups for each visit."""
    statistic = Statistic.of(universe, visits[0][0])
    masses = statistic.masses(probabilities)
    # The last visit has nobody to weigh for, and weighs itself.
    for (_, value), (after, _) in zip(visits, [*visits[1:], visits[-1]], strict=True):
        following = Statistic.of(universe, after)
        error = value - statistic.share(masses)
        exponents = statistic.numbers / statistic.bound * (error / 2)
        masses = statistic.reweight(probabilities, masses, exponents, following)
        statistic = following


def _visit_people(
    universe: Universe, probabilities: Floats, visits: Sequence[tuple[Query, float]]
) -> None:
    """The same where people stand alone: only those that a query counts are touched.

    The others' probabilities shrink alike, which is left to the end.
    """
    grid, total = probabilities.reshape(universe.person_grid), 1.0
    for query, value in visits:
        codes = query.codes[len(query.marginal.group) :]
        counted = grid[universe.place(query.marginal.individual, codes)]
        mass = counted.sum()
        factor = np.exp((value - mass / total) / 2)
        total += mass * (factor - 1)
        counted *= factor
    probabilities /= probabilities.sum()


class Average:
    """The average of several distributions over one universe: what MWEM releases.

    >>> from kinfolk.datasets import load_schema
    >>> average = Average()
    >>> average.add(Histogram.uniform(load_schema("acs-red")))
    >>> average.number, round(average.histogram().mean_size(), 3)
    (1, 2.934)
    """

    def __init__(self) -> None:
        self.number = 0
        """How many were added."""
        self._universe: Universe | None = None
        self._total: Floats = np.zeros((0, 0))

    def add(self, histogram: Histogram) -> None:
        """Add one more."""
        if self._universe is None:
            self._universe = histogram.universe
            self._total = np.zeros_like(histogram.probabilities)
        elif histogram.universe is not self._universe:
            raise ValueError("the histogram is over another universe")
        self._total += histogram.probabilities
        self.number += 1

    def histogram(self) -> Histogram:
        """The average so far."""
        if self._universe is None:
            raise ValueError("nothing was added yet")
        return Histogram(universe=self._universe, probabilities=self._total / self._total.sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class Statistic:
    """What every group adds to a query: a small number, by size.

    A distribution matters to the query only through its masses: how probable it is that a group has
    a size and adds a number. Reweighting by the query needs nothing else either.
    """

    added: npt.NDArray[np.uint16]
    """(casts,) what a group adds where its kind of household matches."""
    matching: Bools
    """(household kinds,) which kinds match."""
    size_index: Ints
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
