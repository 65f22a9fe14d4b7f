"""Queries in an order that shares work, in portions that need little room.

Every marginal is a matrix: left cells by member cells (sizes, then the members' attributes). Those
with the same attributes of members share their member factor. Where several attribute sets have the
same list of left parts, their matrices stand side by side in one *region*, and are worked out as
one product of matrices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.models.layout import Ints, Layout
from kinfolk.models.mixture.factors import (
    NOBODY,
    Attributes,
    FactoredMarginal,
    Factors,
    ints,
    starts,
)
from kinfolk.queries.workload import Query

STORED = 2048
"""Rows that are stored at a time."""
RESULTS = 131_072
"""Results that are worked on at a time."""


class Work(NamedTuple):
    """What the compiled loops do at a time: jobs and stacks, as flat arrays.

    A job works through a range of cells of one attribute set. An output of it is either summed over
    components at once, or stored for every component, to be multiplied by left factors first.

    A stack is a matrix, left cells by stored rows: it adds left[i] * stored[stack_firsts + j],
    summed over components, to the result at place stack_starts + i * stack_columns + j.
    """

    programs: Ints
    """(jobs,) which features and outputs."""
    attribute_starts: Ints
    """(jobs + 1,) where the set's attributes begin in the next two."""
    firsts: Ints
    """The attribute's first row in the first kind of people,"""
    sizes: Ints
    """and how many rows it has."""
    lows: Ints
    highs: Ints
    """(jobs,) the cells to work through, low to high - 1."""
    target_starts: Ints
    """(jobs + 1,) where the set's outputs begin in `targets`."""
    targets: Ints
    """Where an output's cells go: stored from this row on; or, negative, summed into the results
    from -1 - this on."""
    stores: npt.NDArray[np.bool_]
    """(jobs,) whether any output is stored."""
    stored: int
    """How many rows are stored."""
    alone: bool
    """Whether every job has one cell only, and stacks of its own: then its features are worked out
    once for both directions."""
    job_stacks: Ints
    """(jobs + 1,) the first stack of every job, where jobs are alone."""
    stack_firsts: Ints
    """(stacks,) the first stored row,"""
    stack_columns: Ints
    """(stacks,) and how many."""
    stack_starts: Ints
    """(stacks,) where the results begin."""
    left_starts: Ints
    """(stacks + 1,) where the left cells begin."""
    left_row_starts: Ints
    """(left cells + 1,) where the rows begin whose product a left cell is."""
    left_rows: Ints
    places: Ints
    """(results,) where each result goes in the vector of answers."""


@dataclass(frozen=True)
class _Shared:
    """Marginals with the same attributes of members, and the same factor and sizes."""

    marginals: tuple[FactoredMarginal, ...]
    askers: tuple[int, ...]
    asking: tuple[tuple[int, int], ...]
    """Those who ask by kind: the place of their slot among `askers`, and the kind."""

    @cached_property
    def lefts(self) -> tuple[tuple[Attributes, Attributes], ...]:
        return tuple((marginal.group, marginal.own) for marginal in self.marginals)

    @cached_property
    def region(self) -> object:
        """The region it belongs to; None where there is nothing but to sum over components."""
        return None if self.lefts == (((), ()),) else (self.lefts, self.askers)

    @property
    def sizes(self) -> tuple[int | None, ...]:
        return self.marginals[0].sizes

    @cached_property
    def stored(self) -> int:
        """How many rows are stored per cell."""
        return 0 if self.region is None else len(self.sizes) * len(self.askers)

    @cached_property
    def results(self) -> int:
        """How many results there are per cell."""
        return len(self.sizes) * sum(marginal.left_cells for marginal in self.marginals)


_Piece = tuple[Sequence[_Shared], int, int]
"""All that is asked of one attribute set, for a range of its cells."""


def schedule_marginals(
    layout: Layout, factors: Factors, marginals: Sequence[FactoredMarginal]
) -> tuple[Work, ...]:
    """Whole marginals, in as many portions as it takes."""
    sets: dict[Attributes, dict[object, list[FactoredMarginal]]] = {}
    for marginal in marginals:
        alike = sets.setdefault(marginal.members, {})
        alike.setdefault((marginal.factor, marginal.sizes), []).append(marginal)
    asked = [
        [
            _Shared(tuple(found), one.askers(layout), one.asking_kinds(layout))
            for found in alike.values()
            for one in (found[0].factor,)
        ]
        for alike in sets.values()
    ]
    # Sets with the same left parts follow each other: their matrices can stand side by side.
    order: dict[object, int] = {}
    for parts in asked:
        order.setdefault(tuple(part.lefts for part in parts), len(order))
    asked.sort(key=lambda parts: order[tuple(part.lefts for part in parts)])
    return tuple(_work(layout, factors, pieces) for pieces in _portions(asked))


def _portions(asked: Sequence[Sequence[_Shared]]) -> Iterator[list[_Piece]]:
    """Pieces for which there is room at a time."""
    portion: list[_Piece] = []
    stored = results = 0
    for parts in asked:
        each, cells = sum(part.stored for part in parts), parts[0].marginals[0].shape[-1]
        found = sum(part.results for part in parts)
        step = max(1, min(cells, STORED // max(1, each), RESULTS // max(1, found)))
        for low in range(0, cells, step):
            high = min(cells, low + step)
            stored, results = stored + (high - low) * each, results + (high - low) * found
            if portion and (stored > STORED or results > RESULTS):
                yield portion
                portion, stored, results = [], (high - low) * each, (high - low) * found
            portion.append((parts, low, high))
    yield portion


def _work(layout: Layout, factors: Factors, pieces: Sequence[_Piece]) -> Work:
    """One portion. Sums come first among its results, then the matrix of every region."""
    sums: list[Ints] = []
    matrices: dict[object, list[Ints]] = {}
    regions: dict[object, _Shared] = {}
    for parts, low, high in pieces:
        for part in parts:
            found = np.concatenate([marginal.places(low, high) for marginal in part.marginals])
            if part.region is None:
                sums.append(found[0])
            else:
                regions.setdefault(part.region, part)
                matrices.setdefault(part.region, []).append(found)
    places = {region: np.hstack(side_by_side) for region, side_by_side in matrices.items()}

    # A stack for everybody who asks: its first stored row, its columns, its first result.
    stacks: dict[object, list[tuple[int, int, int]]] = {}
    lefts: list[list[Ints]] = []
    rows, place = 0, sum(map(len, sums))
    for region, part in regions.items():
        columns = places[region].shape[1]
        stacks[region] = [(rows + at * columns, columns, place) for at, _ in part.asking]
        lefts += [
            [marginal.left_rows(layout, kind) for marginal in part.marginals]
            for _, kind in part.asking
        ]
        rows, place = rows + len(part.askers) * columns, place + places[region].size

    every = [stack for found in stacks.values() for stack in found]
    left = [marginal for found in lefts for marginal in found]
    lengths = [np.full(len(marginal), marginal.shape[1]) for marginal in left]
    firsts = {
        region: list(dict.fromkeys(row for row, *_ in found)) for region, found in stacks.items()
    }
    targets = _targets(pieces, firsts)
    asked = [
        tuple((part.marginals[0].factor, size) for part in parts for size in part.sizes)
        for parts, *_ in pieces
    ]
    offsets = layout.individual_offsets
    members = [parts[0].marginals[0].members for parts, *_ in pieces]
    return Work(
        programs=ints([factors.program(one) for one in asked]),
        attribute_starts=starts(members),
        firsts=ints([layout.individual_start + offsets[at] for own in members for at in own]),
        sizes=ints([offsets[at + 1] - offsets[at] for own in members for at in own]),
        lows=ints([low for _, low, _ in pieces]),
        highs=ints([high for *_, high in pieces]),
        target_starts=starts(targets),
        targets=ints([target for found in targets for target in found]),
        stores=np.array([max(found, default=-1) >= 0 for found in targets], np.bool_),
        stored=rows,
        alone=False,
        job_stacks=ints([]),
        stack_firsts=ints([row for row, *_ in every]),
        stack_columns=ints([columns for _, columns, _ in every]),
        stack_starts=ints([first for *_, first in every]),
        left_starts=np.cumsum([0, *(sum(map(len, found)) for found in lefts)], dtype=np.int64),
        left_row_starts=np.cumsum(np.concatenate([[0], *lengths]), dtype=np.int64),
        left_rows=np.concatenate([ints([]), *(marginal.ravel() for marginal in left)]),
        places=np.concatenate([*sums, *(matrix.ravel() for matrix in places.values())]),
    )


def _targets(pieces: Sequence[_Piece], firsts: Mapping[object, list[int]]) -> list[list[int]]:
    """Where the outputs of every piece go: by size, and by slot that asks.

    firsts: for every region, the first stored row of each slot that asks.
    """
    targets: list[list[int]] = []
    done = dict.fromkeys([None, *firsts], 0)
    for parts, low, high in pieces:
        found: list[int] = []
        for part in parts:
            region, cells = part.region, high - low
            columns = range(done[region], done[region] + len(part.sizes) * cells, cells)
            done[region] = columns.stop
            if region is None:
                found += [-1 - column for column in columns]
            else:
                found += [row + column for column in columns for row in firsts[region]]
        targets.append(found)
    return targets


def schedule_queries(
    layout: Layout, factors: Factors, queries: Sequence[tuple[Query, Ints | None]]
) -> Work:
    """Single queries, each with its weights: jobs of one cell.

    The outputs of a job are stored in the same few rows; each is multiplied by the left cells of
    those who ask, and those of a query add up.
    """
    group, individual = layout.group_offsets, layout.individual_offsets
    first = layout.individual_start
    programs: list[int] = []
    members: list[list[int]] = []
    askers: list[int] = []
    lefts: list[list[tuple[int, list[int]]]] = []
    for query, weights in queries:
        marginal = FactoredMarginal.of(layout, query.marginal, weights)
        codes = iter(query.codes)
        left = [layout.group_start + group[at] + next(codes) for at in marginal.group]
        size = None if marginal.sizes == (None,) else marginal.sizes[next(codes)]
        own = [first + individual[at] + next(codes) for at in marginal.own]
        members.append([first + individual[at] + next(codes) for at in marginal.members])
        programs.append(factors.program(((marginal.factor, size),)))
        askers.append(len(marginal.factor.askers(layout)))
        lefts.append([])
        for at, kind in marginal.factor.asking_kinds(layout):
            likely = [layout.kind_start + kind] if kind != NOBODY and layout.kinded else []
            of_kind = [row + max(0, kind) * layout.kind_rows for row in own]
            lefts[-1].append((at, [*likely, *left, *of_kind]))
    cells = [rows for found in lefts for _, rows in found]
    return Work(
        programs=ints(programs),
        attribute_starts=starts(members),
        firsts=ints([row for rows in members for row in rows]),
        sizes=np.ones(sum(map(len, members)), np.int64),
        lows=np.zeros(len(members), np.int64),
        highs=np.ones(len(members), np.int64),
        target_starts=np.cumsum([0, *askers], dtype=np.int64),
        targets=ints([at for number in askers for at in range(number)]),
        stores=np.ones(len(members), np.bool_),
        stored=max(askers, default=0),
        alone=True,
        job_stacks=starts(lefts),
        stack_firsts=ints([at for found in lefts for at, _ in found]),
        stack_columns=np.ones(len(cells), np.int64),
        stack_starts=ints([number for number, found in enumerate(lefts) for _ in found]),
        left_starts=np.arange(len(cells) + 1),
        left_row_starts=starts(cells),
        left_rows=ints([row for rows in cells for row in rows]),
        places=np.arange(len(members)),
    )
