# mypy: disallow-untyped-decorators=False
"""A universe seen through some queries: groups that none of them tells apart are one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kinfolk._typing import Bools, Codes, Floats, Ints
from kinfolk.compiled import compiled
from kinfolk.models.universe import Universe
from kinfolk.queries.workload import Query


class Collapsed:
    """What the groups of a universe add to some queries, with casts and kinds merged.

    Casts are merged that have the same size and add the same to every query, and kinds of household
    that match the same queries. A distribution matters to the queries only through its sums over
    what is merged, and reweighting by the queries needs nothing else either.

    >>> from kinfolk.datasets import load_schema
    >>> from kinfolk.queries.workload import Workload
    >>> universe = Universe.of(load_schema("acs-red"))
    >>> query = Workload.of(universe.schema).query(0)
    >>> seen = Collapsed(universe, [query])
    >>> (universe.casts, universe.group_cells), (len(seen.numbers), len(seen.matching))
    ((968, 60), (3, 2))
    """

    def __init__(self, universe: Universe, queries: Sequence[Query]) -> None:
        small = np.min_scalar_type(universe.schema.size_limit)
        added = np.empty((universe.casts, len(queries) + 1), small)
        matching = np.empty((universe.group_cells, len(queries)), np.bool_)
        for place, query in enumerate(queries):
            added[:, place], matching[:, place] = universe.contribution(query)
        added[:, -1] = universe.sizes
        casts, self._cast = _distinct(added)
        kinds, self._kind = _distinct(matching)
        self.numbers: npt.NDArray[Any] = np.ascontiguousarray(added[casts, :-1])
        """(casts, queries) what a group adds where its kind of household matches."""
        self.matching: Bools = matching[kinds]
        """(household kinds, queries) which kinds match."""
        self.sizes: Floats = added[casts, -1].astype(np.float64)
        """(casts,) members of each cast."""
        self._ones = np.ascontiguousarray(self.matching.T, np.float64)

    def collapse(self, probabilities: Floats) -> Floats:
        """(casts, household kinds) the sums of probabilities over what is merged."""
        rows = np.zeros((len(self.numbers), probabilities.shape[1]))
        np.add.at(rows, self._cast, probabilities)
        found = np.zeros((len(self.matching), len(self.numbers)))
        np.add.at(found, self._kind, rows.T)
        return np.ascontiguousarray(found.T)

    def expand(self, factors: Floats) -> Floats:
        """Factors of what is merged, as factors of all groups of the universe."""
        return factors[self._cast][:, self._kind]

    def ranges(self, people: Bools) -> tuple[Floats, Floats]:
        """The smallest and the largest answer to every query, (queries,) each.

        people: (queries,) which answers are shares of people, and not of groups.
        """
        low, high = np.full(len(people), np.inf), np.zeros(len(people))
        for size in np.unique(self.sizes):
            numbers = self.numbers[self.sizes == size]
            whole = np.where(people, size, 1.0)
            low = np.minimum(low, numbers.min(axis=0) / whole)
            high = np.maximum(high, numbers.max(axis=0) / whole)
        return np.where(self.matching.all(axis=0), low, 0.0), high

    def moments(self, probabilities: Floats) -> tuple[Floats, Floats, Floats]:
        """The expectations of what a group adds, of that times its size, and of the products.

        (queries,), (queries,) and (queries, queries), under collapsed probabilities.
        """
        queries = self.numbers.shape[1]
        first, sized, second = np.zeros(queries), np.zeros(queries), np.zeros((queries, queries))
        moments(probabilities, self.numbers, self.matching, self.sizes, first, sized, second)
        return first, sized, second + np.triu(second, 1).T

    def combine(self, coefficients: Floats) -> Floats:
        """(casts, household kinds) the sum of coefficients, (queries,), times what a group adds."""
        found = np.zeros((len(self.numbers), len(self.matching)))
        combine(coefficients, self.numbers, self._ones, found)
        return found


def _distinct(rows: npt.NDArray[Any]) -> tuple[Ints, Ints]:
    """Where each distinct row of a table first stands, and which of them every row is."""
    _, first, place = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first, place.ravel()


@compiled()
def moments(
    probabilities: Floats,
    numbers: Codes,
    matching: Bools,
    sizes: Floats,
    first: Floats,
    sized: Floats,
    second: Floats,
) -> None:
    """Expectations of what a group adds to queries.

    probabilities: (casts, household kinds).
    numbers: (casts, queries) what a group adds where its kind of household matches.
    matching: (household kinds, queries) which kinds match.
    sizes: (casts,) members of each cast.
    first, sized: (queries,) the expectation of what a group adds, and of that times its size.
    second: (queries, queries) the expectation of the product of what it adds to two.
    All three are added to; zero before. Of `second` the half with i <= j is filled.
    """
    queries = numbers.shape[1]
    asked, active = np.empty(queries, np.int64), np.empty(queries, np.int64)
    added = np.empty(queries)
    for cast in range(len(numbers)):
        some = 0
        for query in range(queries):
            if numbers[cast, query] > 0:
                asked[some] = query
                some += 1
        for kind in range(len(matching)):
            found = 0
            for place in range(some):
                query = asked[place]
                if matching[kind, query]:
                    active[found] = query
                    added[found] = numbers[cast, query]
                    found += 1
            for i in range(found):
                mass = probabilities[cast, kind] * added[i]
                first[active[i]] += mass
                sized[active[i]] += mass * sizes[cast]
                row = second[active[i]]
                for j in range(i, found):
                    row[active[j]] += mass * added[j]


@compiled()
def combine(coefficients: Floats, numbers: Codes, matching: Floats, out: Floats) -> None:
    """The sum over the queries of a coefficient times what a group adds.

    coefficients: (queries,); numbers: (casts, queries) as in `moments`.
    matching: (queries, household kinds) one where a kind matches, zero elsewhere.
    out: (casts, household kinds), added to.
    """
    for cast in range(len(numbers)):
        row = out[cast]
        for query in range(len(coefficients)):
            if numbers[cast, query] > 0:
                amount = coefficients[query] * numbers[cast, query]
                for kind in range(len(row)):
                    row[kind] += amount * matching[query, kind]
