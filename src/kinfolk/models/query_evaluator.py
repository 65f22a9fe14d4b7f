"""Some queries, prepared: their answers under one distribution after another."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kinfolk.models.axis_sums import axis_sums
from kinfolk.models.universe import Universe
from kinfolk.models.universe_kernel import LEVELS, expectations, read
from kinfolk.queries.workload import Marginal, Query

Floats = npt.NDArray[np.float64]


class QueryEvaluator:
    """Answers a fixed list of queries; the work of understanding them is done once.

    >>> from kinfolk.datasets import load_schema
    >>> from kinfolk.models.histogram import Histogram
    >>> from kinfolk.queries.workload import Workload
    >>> start = Histogram.uniform(load_schema("acs-red"))
    >>> queries = [Workload.of(start.schema).query(number) for number in (0, 2665)]
    >>> QueryEvaluator(start.universe, queries).shares(start.probabilities).round(3).tolist()
    [0.033, 0.125]
    """

    def __init__(self, universe: Universe, queries: Sequence[Query]) -> None:
        self.universe = universe
        self._families: dict[tuple[object, ...], int] = {}
        self._blocks: list[Marginal] = []
        self._of_people = np.array([query.marginal.level != "group" for query in queries], np.bool_)
        rows = [self._place(query) for query in queries]
        self._family = np.array([row[0] for row in rows], np.int64)
        self._cell = np.array([row[1] for row in rows], np.int64)
        self._size = np.array([row[2] for row in rows], np.int64)
        conditions = [condition for row in rows for condition in row[3]]
        self._conditions = np.array(conditions, np.int64).reshape(-1, 2)
        self._starts = np.cumsum([0, *(len(row[3]) for row in rows)], dtype=np.int64)
        self._cells = np.array([_member_cells(marginal) for marginal in self._blocks], np.int64)
        room = self._cells * len(universe.schema.sizes) * universe.group_cells
        self._table_starts = np.array([0, *itertools.accumulate(room.tolist())], np.int64)

    def shares(self, probabilities: Floats) -> Floats:
        """The answers as shares, (queries,), under (casts, household kinds) probabilities."""
        universe, schema = self.universe, self.universe.schema
        tables = np.zeros(self._table_starts[-1])
        ends = zip(self._table_starts, self._table_starts[1:], strict=False)
        parts = [
            tables[start:stop].reshape(len(schema.sizes), -1, universe.group_cells)
            for start, stop in ends
        ]
        fill_tables(universe, probabilities, list(zip(self._blocks, parts, strict=True)))
        found = np.empty(len(self._family))
        read(
            tables,
            self._table_starts,
            self._cells,
            len(schema.sizes),
            self._family,
            self._cell,
            self._size,
            self._conditions,
            self._starts,
            universe.group_codes,
            found,
        )
        found[self._of_people] /= probabilities.sum(axis=1) @ universe.sizes
        return found

    def _place(self, query: Query) -> tuple[int, int, int, list[tuple[int, int]]]:
        """A query's family, its cell there, its size or -1, and its group conditions."""
        marginal = query.marginal
        key = family(marginal)
        if key not in self._families:
            self._families[key] = len(self._blocks)
            self._blocks.append(marginal)
        own = len(marginal.group)
        cell = 0
        for size, code in zip(marginal.shape[own:], query.codes[own:], strict=True):
            cell = cell * size + code
        count = len(self.universe.schema.group_attributes)
        named = list(zip(marginal.group, query.codes, strict=False))
        sizes = [code for position, code in named if position == count]
        others = [(position, code) for position, code in named if position != count]
        return self._families[key], cell, sizes[0] if sizes else -1, others


def family(marginal: Marginal) -> tuple[object, ...]:
    """What marginals have in common that differ in their group part only."""
    return marginal.level, marginal.relation, marginal.individual, marginal.relative


def fill_tables(
    universe: Universe, probabilities: Floats, tables: Sequence[tuple[Marginal, Floats]]
) -> None:
    """What one group is expected to add, for the families of some marginals.

    tables: with each marginal, (sizes, member cells, household kinds), zero before.
    """
    if not universe.flat:
        for marginal, table in tables:
            _fill_table(universe, probabilities, marginal, table)
        return
    grid = probabilities.reshape(universe.person_grid[1:])
    sums = axis_sums(grid, {marginal.individual for marginal, _ in tables})
    for marginal, table in tables:
        table[0, :, 0] = sums[marginal.individual].ravel()


def _fill_table(
    universe: Universe, probabilities: Floats, marginal: Marginal, table: Floats
) -> None:
    expectations(
        probabilities,
        universe.members,
        universe.composition,
        universe.composition_sizes,
        universe.roles,
        LEVELS[marginal.level],
        universe.person_cells(marginal.individual),
        universe.person_cells(marginal.relative),
        marginal.relative_cells,
        universe.ties(marginal),
        universe.schema.sizes.start,
        table,
    )


def _member_cells(marginal: Marginal) -> int:
    return marginal.individual_cells * marginal.relative_cells
