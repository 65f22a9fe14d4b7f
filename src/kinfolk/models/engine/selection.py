"""Single queries, as the paper selects them: rates and their gradient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.models.engine.chunks import take_apart
from kinfolk.models.engine.jobs import Jobs
from kinfolk.models.engine.kernel import Floats
from kinfolk.models.engine.members import Book, Programs
from kinfolk.models.engine.plan import check, pulls_of
from kinfolk.models.engine.run import Answers, Run
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
        outputs = [one.outputs for one in found]
        jobs = Jobs(
            programs=np.array([one.program for one in found], np.int64),
            attribute_starts=_starts([one.members for one in found]),
            firsts=_end_to_end([one.members for one in found]),
            sizes=np.ones(sum(len(one.members) for one in found), np.int64),
            lows=np.zeros(len(found), np.int64),
            highs=np.ones(len(found), np.int64),
            target_starts=np.cumsum([0, *outputs], dtype=np.int64),
            # Those who ask from different slots add to the same sum.
            targets=np.repeat(-1 - np.arange(len(found)), outputs),
            group_starts=_starts([one.group for one in found]),
            group_rows=_end_to_end([one.group for one in found]),
            own_starts=_starts([one.own for one in found]),
            own_rows=_end_to_end([one.own for one in found]),
        )
        return cls(
            layout=layout,
            queries=tuple(queries),
            per_person=np.array([one.per_person for one in found], np.bool_),
            _programs=book.programs(),
            _coefficients=book.coefficients(),
            _jobs=jobs,
        )

    @property
    def size(self) -> int:
        """The number of queries."""
        return len(self.queries)

    def rates(self, table: Floats) -> Answers:
        """What one group adds to every query on average: (queries,). table: (rows, K)."""
        run = Run.of(self.layout, table, self._programs, self._coefficients)
        return run.forward(self._jobs, 0, self.size)[1] / run.components

    def gradient(self, table: Floats, pull: npt.ArrayLike) -> Floats:
        """The gradient by the probabilities: (rows, K). Queries with a pull of 0 cost nothing.

        table: (rows, K) the probabilities; pull: (queries,) the gradient by the rates.
        """
        run = Run.of(self.layout, table, self._programs, self._coefficients, pulling=True)
        pulls = pulls_of(pull, self.size, run.components)
        nothing = np.empty((0, run.components), table.dtype)
        run.backward(self._jobs, nothing, pulls, chosen=np.flatnonzero(pulls))
        return run.gradient()


class _Picked(NamedTuple):
    """One query: what it asks of members, and the rows of its attributes."""

    program: int
    outputs: int
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
        outputs=len(book.outputs(asked.wanted, size)),
        group=group_rows,
        own=own_rows,
        members=[first + individual[at] + next(codes) for at in asked.members],
        per_person=query.block.level != "group",
    )


def _starts(parts: Sequence[Sequence[int]]) -> Ints:
    return np.cumsum([0, *map(len, parts)], dtype=np.int64)


def _end_to_end(parts: Sequence[Sequence[int]]) -> Ints:
    return np.array([number for part in parts for number in part], np.int64)
