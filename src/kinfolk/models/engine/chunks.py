"""Blocks in an order that shares work, in chunks that need little room.

Every block is a matrix: left cells by member cells (sizes, then the members' attributes). Blocks
with the same attributes of members share their member factor. Where several attribute sets have the
same list of left parts, their matrices stand side by side in one *region*, and are worked out as
one product of matrices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from kinfolk.models.engine.asking import Asked, Attributes, Left, Shape
from kinfolk.models.engine.jobs import Jobs, Stacks
from kinfolk.models.engine.members import Book, Wanted, askers
from kinfolk.models.layout import Ints, Layout

STORED = 2048
"""Rows that are stored at a time."""
RESULTS = 131_072
"""Results that are worked on at a time."""


class Chunk(NamedTuple):
    """What is worked on at a time."""

    jobs: Jobs
    stacks: Stacks
    places: Ints
    """(results,) where each result goes in the vector of answers."""


class Kind(NamedTuple):
    """Blocks of one attribute set that want the same of members."""

    wanted: Wanted
    sizes: tuple[int | None, ...]
    """Group sizes that are told apart, or None: all of them together."""
    askers: tuple[int, ...]
    lefts: tuple[Left, ...]
    shapes: tuple[Shape, ...]

    @property
    def summed(self) -> bool:
        """Whether there is no left part: nothing to do but to sum over components."""
        return self.lefts == (Left((), ()),)

    @property
    def left_cells(self) -> int:
        """The number of left cells of all blocks."""
        return sum(shape.left for shape in self.shapes)

    @property
    def stored(self) -> int:
        """How many rows are stored per cell."""
        return 0 if self.summed else len(self.sizes) * len(self.askers)

    @property
    def results(self) -> int:
        """How many results there are per cell."""
        return len(self.sizes) * self.left_cells


def chunks(layout: Layout, book: Book, asked: Sequence[Asked]) -> list[Chunk]:
    """All that is asked, in chunks."""
    sets: dict[Attributes, dict[tuple[Wanted, bool], list[Asked]]] = {}
    for one in asked:
        wanted = sets.setdefault(one.members, {})
        wanted.setdefault((one.wanted, one.sized), []).append(one)
    listed = [
        (members, [_kind(layout, *key, found) for key, found in wanted.items()])
        for members, wanted in sets.items()
    ]
    # Sets with the same left parts follow each other: their matrices can stand side by side.
    order: dict[object, int] = {}
    for _, kinds in listed:
        order.setdefault(tuple(kind.lefts for kind in kinds), len(order))
    listed.sort(key=lambda entry: order[tuple(kind.lefts for kind in entry[1])])
    found: list[Chunk] = []
    draft = _Draft(layout, book)
    for members, kinds in listed:
        for low, high in _ranges(kinds):
            if not draft.has_room(kinds, high - low):
                found.append(draft.done())
                draft = _Draft(layout, book)
            draft.add(members, kinds, low, high)
    return [*found, draft.done()]


def _kind(layout: Layout, wanted: Wanted, sized: bool, found: Sequence[Asked]) -> Kind:
    return Kind(
        wanted=wanted,
        sizes=tuple(layout.schema.sizes) if sized else (None,),
        askers=askers(layout, wanted),
        lefts=tuple(one.left for one in found),
        shapes=tuple(one.shape for one in found),
    )


def _ranges(kinds: Sequence[Kind]) -> Iterator[tuple[int, int]]:
    """Ranges of an attribute set's cells for which there is room."""
    cells = kinds[0].shapes[0].members
    stored, results = sum(kind.stored for kind in kinds), sum(kind.results for kind in kinds)
    step = max(1, min(cells, STORED // max(1, stored), RESULTS // max(1, results)))
    for low in range(0, cells, step):
        yield low, min(cells, low + step)


@dataclass(kw_only=True)
class _Region:
    """Matrices side by side, with the same left parts and the same slots that ask."""

    kind: Kind
    places: list[Ints] = field(default_factory=list)
    columns: int = 0
    start: int = 0
    """The first stored row; those of the next slot that asks follow."""


class _Target(NamedTuple):
    """Where an output goes: a column for a slot that asks, or a place among the sums."""

    region: _Region | None
    asker: int
    column: int

    def number(self) -> int:
        """As the compiled loops want it, once all columns are there."""
        if self.region is None:
            return -1 - self.column
        return self.region.start + self.asker * self.region.columns + self.column


class _Draft:
    """A chunk that is being filled."""

    def __init__(self, layout: Layout, book: Book) -> None:
        self.layout, self.book = layout, book
        self.stored = self.results = self.sums = 0
        self.regions: dict[object, _Region] = {}
        self.places: list[Ints] = []
        self.jobs: list[tuple[int, Attributes, int, int, list[_Target]]] = []

    def has_room(self, kinds: Sequence[Kind], cells: int) -> bool:
        stored = self.stored + cells * sum(kind.stored for kind in kinds)
        results = self.results + cells * sum(kind.results for kind in kinds)
        return not self.jobs or (stored <= STORED and results <= RESULTS)

    def add(self, members: Attributes, kinds: Sequence[Kind], low: int, high: int) -> None:
        """Add a range of cells of an attribute set."""
        targets: list[_Target] = []
        for kind in kinds:
            places = np.concatenate([shape.places(low, high) for shape in kind.shapes])
            region: _Region | None = None
            first = self.sums
            if kind.summed:
                self.places.append(places[0])
                self.sums += places.shape[1]
            else:
                region = self.regions.setdefault((kind.lefts, kind.askers), _Region(kind=kind))
                first = region.columns
                region.places.append(places)
                region.columns += places.shape[1]
            for number in range(len(kind.sizes)):
                column = first + number * (high - low)
                targets += [_Target(region, at, column) for at in range(len(kind.askers))]
            self.stored += (high - low) * kind.stored
            self.results += (high - low) * kind.results
        parts = tuple((kind.wanted, size) for kind in kinds for size in kind.sizes)
        self.jobs.append((self.book.program(parts), members, low, high, targets))

    def done(self) -> Chunk:
        """The chunk, for the compiled loops."""
        rows = 0
        for region in self.regions.values():
            region.start = rows
            rows += region.columns * len(region.kind.askers)
        targets = [[target.number() for target in found] for *_, found in self.jobs]
        members = [found for _, found, *_ in self.jobs]
        first, sizes = self.layout.individual_offsets, np.diff(self.layout.individual_offsets)
        start = self.layout.individual_start
        jobs = Jobs(
            programs=ints([program for program, *_ in self.jobs]),
            attribute_starts=starts(members),
            firsts=ints([start + first[position] for found in members for position in found]),
            sizes=ints([sizes[position] for found in members for position in found]),
            lows=ints([low for _, _, low, *_ in self.jobs]),
            highs=ints([high for *_, high, _ in self.jobs]),
            target_starts=starts(targets),
            targets=ints([target for found in targets for target in found]),
            stores=np.array([max(found, default=-1) >= 0 for found in targets], np.bool_),
            stored=rows,
            alone=False,
        )
        return Chunk(jobs, self._stacks(), self._places())

    def _places(self) -> Ints:
        matrices = [np.hstack(region.places).ravel() for region in self.regions.values()]
        return np.concatenate([*self.places, *matrices])

    def _stacks(self) -> Stacks:
        firsts, columns, places, lefts = [], [], [], []
        place = self.sums
        for region in self.regions.values():
            for number, asker in enumerate(region.kind.askers):
                firsts.append(region.start + number * region.columns)
                columns.append(region.columns)
                places.append(place)
                lefts.append(_left_rows(self.layout, region.kind, asker))
            place += region.kind.left_cells * region.columns
        blocks = [rows for left in lefts for rows in left]
        lengths = [np.full(rows.shape[0], rows.shape[1]) for rows in blocks]
        return Stacks(
            firsts=ints(firsts),
            columns=ints(columns),
            starts=ints(places),
            left_starts=np.cumsum([0, *(sum(map(len, left)) for left in lefts)], dtype=np.int64),
            row_starts=np.cumsum(np.concatenate([[0], *lengths]), dtype=np.int64),
            rows=np.concatenate([ints([]), *(rows.ravel() for rows in blocks)]),
        )


def _left_rows(layout: Layout, kind: Kind, asker: int) -> list[Ints]:
    """For every block (left cells, factors): the rows whose product a left cell is."""
    group, individual = layout.group_offsets, layout.individual_offsets
    shift = layout.individual_start + max(0, asker) * layout.slot_rows
    found: list[Ints] = []
    for left, shape in zip(kind.lefts, kind.shapes, strict=True):
        parts = [(layout.group_start, group, position) for position in left.group]
        parts += [(shift, individual, position) for position in left.own]
        sizes = [offsets[position + 1] - offsets[position] for _, offsets, position in parts]
        rows = np.indices(sizes).reshape(len(sizes), shape.left).T
        firsts = [first + offsets[position] for first, offsets, position in parts]
        found.append(rows + ints(firsts))
    return found


def ints(numbers: Sequence[int]) -> Ints:
    """Whole numbers as an array."""
    return np.array(numbers, np.int64)


def starts(parts: Sequence[Sequence[object]]) -> Ints:
    """Where each part begins if all are laid end to end; the last entry is their length."""
    return np.cumsum([0, *map(len, parts)], dtype=np.int64)
