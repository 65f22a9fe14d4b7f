"""Single queries, as the paper selects them: rates and their gradient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.models.engine.asking import take_apart
from kinfolk.models.engine.chunks import ints, starts
from kinfolk.models.engine.jobs import Floats, Jobs, Programs, Stacks
from kinfolk.models.engine.members import Book, askers
from kinfolk.models.engine.plan import check
from kinfolk.models.engine.run import Answers, Run, pulls_of
from kinfolk.models.layout import Ints, Layout
from kinfolk.queries.workload import Query, Workload


@dataclass(frozen=True, kw_only=True, eq=False)
class Selection:
    """Some queries of a workload, each answered on its own; the same contract as a `Plan`.

    >>> from kinfolk.datasets import load_schema
    >>> from kinfolk.models.hpd import HPD
    >>> workload = Workload.of(load_schema("acs-red"))
    >>> layout = Layout.of(workload.schema)
    >>> selection = Selection.of(layout, workload, [5, 2000, 17])
    >>> model = HPD.random(layout, components=10, rng=np.random.default_rng(1))
    >>> selection.rates(model.probabilities).shape
    (3,)
    >>> selection.gradient(model.probabilities, [1.0, 0.0, -2.0]).shape
    (39, 10)
    """

    layout: Layout
    queries: tuple[int, ...]
    """Their numbers in the workload."""
    per_person: npt.NDArray[np.bool_]
    """(queries,) whether the share is one of people; otherwise one of groups."""
    _programs: Programs = field(repr=False)
    _coefficients: Ints = field(repr=False)
    _jobs: Jobs = field(repr=False)
    _stacks: Stacks = field(repr=False)

    @classmethod
    def of(
        cls,
        layout: Layout,
        workload: Workload,
        queries: Sequence[int],
        *,
        weights: npt.NDArray[np.int64] | None = None,
    ) -> Selection:
        """Prepare the queries with the given numbers, in any order.

        `weights` says what a group of each size counts for, (blocks of the workload, sizes + 1).
        """
        check(layout, workload, weights)
        alike = np.ones(layout.schema.size_limit + 1, np.int64)
        book = Book(layout)
        found: list[_Picked] = []
        for number in queries:
            query = workload.query(number)
            weight = alike if weights is None else weights[workload.block_of(number)]
            found.append(_pick(layout, book, query, weight))
        return cls(
            layout=layout,
            queries=tuple(queries),
            per_person=np.array([one.per_person for one in found], np.bool_),
            _programs=book.programs(),
            _coefficients=book.coefficients(),
            _jobs=_jobs(found),
            _stacks=_stacks(layout, found),
        )

    @property
    def size(self) -> int:
        """The number of queries."""
        return len(self.queries)

    def rates(self, table: Floats) -> Answers:
        """What one group adds to every query on average: (queries,). table: (rows, K)."""
        run = Run.of(table, self._programs, self._coefficients)
        return run.forward(self._jobs, self._stacks, self.size) / run.components

    def gradient(self, table: Floats, pull: npt.ArrayLike) -> Floats:
        """The gradient by the probabilities: (rows, K). Queries with a pull of 0 cost little.

        table: (rows, K) the probabilities; pull: (queries,) the gradient by the rates.
        """
        run = Run.of(table, self._programs, self._coefficients, pulling=True)
        pulls = pulls_of(pull, self.size, run.components)
        run.backward(self._jobs, self._stacks, pulls, np.flatnonzero(pulls))
        return run.gradient()


class _Picked(NamedTuple):
    """One query: what it asks of members, and the rows of its attributes."""

    program: int
    askers: tuple[int, ...]
    group: list[int]
    own: list[int]
    members: list[int]
    per_person: bool


def _pick(layout: Layout, book: Book, query: Query, weights: Ints) -> _Picked:
    asked = take_apart(layout, query.block, weights, 0)
    codes = iter(query.codes)
    group, individual = layout.group_offsets, layout.individual_offsets
    group_rows = [layout.group_start + group[at] + next(codes) for at in asked.left.group]
    size = layout.schema.sizes[next(codes)] if asked.sized else None
    first = layout.individual_start
    own_rows = [first + individual[at] + next(codes) for at in asked.left.own]
    return _Picked(
        program=book.program(((asked.wanted, size),)),
        askers=askers(layout, asked.wanted),
        group=group_rows,
        own=own_rows,
        members=[first + individual[at] + next(codes) for at in asked.members],
        per_person=query.block.level != "group",
    )


def _jobs(found: Sequence[_Picked]) -> Jobs:
    """Every query is a job of one cell, whose outputs are stored in the same few rows."""
    members = [one.members for one in found]
    return Jobs(
        programs=ints([one.program for one in found]),
        attribute_starts=starts(members),
        firsts=ints([row for rows in members for row in rows]),
        sizes=np.ones(sum(map(len, members)), np.int64),
        lows=np.zeros(len(found), np.int64),
        highs=np.ones(len(found), np.int64),
        target_starts=starts([one.askers for one in found]),
        targets=ints([number for one in found for number in range(len(one.askers))]),
        stores=np.ones(len(found), np.bool_),
        stored=max((len(one.askers) for one in found), default=0),
        alone=True,
    )


def _stacks(layout: Layout, found: Sequence[_Picked]) -> Stacks:
    """Every stored output is multiplied by one left cell; those of a query add up."""
    cells = [
        [*one.group, *(row + max(0, asker) * layout.slot_rows for row in one.own)]
        for one in found
        for asker in one.askers
    ]
    return Stacks(
        firsts=ints([number for one in found for number in range(len(one.askers))]),
        columns=np.ones(len(cells), np.int64),
        starts=ints([query for query, one in enumerate(found) for _ in one.askers]),
        left_starts=np.arange(len(cells) + 1),
        row_starts=starts(cells),
        rows=ints([row for rows in cells for row in rows]),
    )
