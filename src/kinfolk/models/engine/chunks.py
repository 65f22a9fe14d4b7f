"""Blocks in an order that shares work: chunks of attribute sets with bounded scratch.

Every block is a matrix: left cells (group attributes without the size, then the attributes of the
person who asks) by member cells (sizes, then the members' attributes). Blocks with the same
attributes of members share their member factor; where they also have the same list of left parts,
their matrices are worked out as one product.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from kinfolk.models.engine.jobs import Jobs
from kinfolk.models.engine.members import Book, Wanted, askers
from kinfolk.models.layout import Ints, Layout
from kinfolk.queries.workload import Block

ROWS = 4096
"""Rows of K numbers that are worked on at a time: 32 MB with K = 1000."""
SUMS = 65_536
"""Sums over components that are worked on at a time."""

Attributes = tuple[int, ...]


class Left(NamedTuple):
    """The left part of a block: what it asks of the group, and of the person who asks."""

    group: Attributes
    """Group attributes by position, without the size."""
    own: Attributes
    """Individual attributes by position, at the relation level."""


class Shape(NamedTuple):
    """A block's cells as an array, in the order of its queries."""

    start: int
    """Where the block begins in the vector of answers."""
    group: int
    sizes: int
    own: int
    members: int


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A block, taken apart."""

    members: Attributes
    """The attributes of members: one's own, or at the relation level the relative's."""
    wanted: Wanted
    sized: bool
    """Whether the block asks for the group's size."""
    left: Left
    shape: Shape


def take_apart(layout: Layout, block: Block, weights: Ints, start: int) -> Asked:
    """What a block asks of the group, of those who ask, and of members."""
    size = len(layout.schema.group_attributes)
    related = block.level == "relation"
    sizes = len(layout.schema.sizes) if size in block.group else 1
    return Asked(
        members=block.relative if related else block.individual,
        wanted=Wanted(
            level=block.level,
            relation=block.relation,
            weights=tuple(weights.tolist()),
            split=related and bool(block.individual),
        ),
        sized=size in block.group,
        left=Left(
            group=tuple(position for position in block.group if position != size),
            own=block.individual if related else (),
        ),
        shape=Shape(
            start=start,
            group=block.group_cells // sizes,
            sizes=sizes,
            own=block.individual_cells if related else 1,
            members=block.relative_cells if related else block.individual_cells,
        ),
    )


@dataclass(frozen=True, kw_only=True)
class Item:
    """A range of member cells of some blocks, side by side in a chunk."""

    offset: int
    """Where its columns begin: sizes, then cells."""
    sizes: int
    low: int
    high: int
    shapes: tuple[Shape, ...]
    """The blocks: one per left part."""

    @property
    def width(self) -> int:
        """How many columns it has."""
        return self.sizes * (self.high - self.low)


@dataclass(kw_only=True)
class Region:
    """Member factors that are multiplied by the same left parts, in one matrix product."""

    lefts: tuple[Left, ...]
    askers: tuple[int, ...]
    items: list[Item] = field(default_factory=list)
    columns: int = 0
    """The rows of scratch of one asker."""
    start: int = 0
    """The first row of scratch; those of the next asker follow."""

    @property
    def rows(self) -> list[slice]:
        """The rows of scratch of each asker."""
        starts = [self.start + self.columns * place for place in range(len(self.askers))]
        return [slice(start, start + self.columns) for start in starts]


@dataclass(kw_only=True)
class Chunk:
    """Attribute sets that are worked on together."""

    jobs: Jobs
    rows: int
    """Rows of scratch."""
    sums: int
    """Sums over components."""
    regions: list[Region]
    summed: list[Item]
    """Blocks without a left part: nothing but sums over components."""


class _Kind(NamedTuple):
    """Blocks of one attribute set that want the same of members."""

    wanted: Wanted
    sized: bool
    lefts: tuple[Left, ...]
    shapes: tuple[Shape, ...]

    @property
    def summed(self) -> bool:
        return not any(left.group or left.own for left in self.lefts)


def chunks(layout: Layout, book: Book, asked: Sequence[Asked]) -> list[Chunk]:
    """All that is asked, in chunks."""
    sets: dict[Attributes, dict[tuple[Wanted, bool], list[Asked]]] = {}
    for one in asked:
        kinds = sets.setdefault(one.members, {})
        kinds.setdefault((one.wanted, one.sized), []).append(one)
    listed = [
        (
            members,
            [
                _Kind(
                    wanted=wanted,
                    sized=sized,
                    lefts=tuple(one.left for one in found),
                    shapes=tuple(one.shape for one in found),
                )
                for (wanted, sized), found in kinds.items()
            ],
        )
        for members, kinds in sets.items()
    ]
    # Sets with the same left parts side by side: their products become one.
    order: dict[tuple[tuple[Left, ...], ...], int] = {}
    for _, parts in listed:
        order.setdefault(tuple(kind.lefts for kind in parts), len(order))
    listed.sort(key=lambda entry: order[tuple(kind.lefts for kind in entry[1])])
    found: list[Chunk] = []
    draft = _Draft(layout, book)
    for members, parts in listed:
        for low, high in _ranges(layout, parts):
            if not draft.fits(parts, high - low):
                found.append(draft.done())
                draft = _Draft(layout, book)
            draft.add(members, parts, low, high)
    return [*found, draft.done()]


def _ranges(layout: Layout, kinds: Sequence[_Kind]) -> Iterator[tuple[int, int]]:
    """Ranges of an attribute set's cells that fit into scratch."""
    cells = kinds[0].shapes[0].members
    rows, sums = _needed(layout, kinds)
    step = max(1, min(cells, ROWS // max(1, rows), SUMS // max(1, sums)))
    for low in range(0, cells, step):
        yield low, min(cells, low + step)


def _needed(layout: Layout, kinds: Sequence[_Kind]) -> tuple[int, int]:
    """Rows of scratch, and sums, per cell."""
    rows = sums = 0
    for kind in kinds:
        sizes = kind.shapes[0].sizes
        if kind.summed:
            sums += sizes
        else:
            rows += sizes * len(askers(layout, kind.wanted))
    return rows, sums


class _Draft:
    """A chunk that is being filled."""

    def __init__(self, layout: Layout, book: Book) -> None:
        self.layout, self.book = layout, book
        self.rows = self.sums = 0
        self.regions: dict[tuple[object, ...], Region] = {}
        self.summed: list[Item] = []
        self.jobs: list[tuple[int, Attributes, int, int, list[tuple[Region | None, int]]]] = []

    def fits(self, kinds: Sequence[_Kind], cells: int) -> bool:
        rows, sums = _needed(self.layout, kinds)
        within = self.rows + rows * cells <= ROWS and self.sums + sums * cells <= SUMS
        return within or not self.jobs

    def add(self, members: Attributes, kinds: Sequence[_Kind], low: int, high: int) -> None:
        span = high - low
        targets: list[tuple[Region | None, int]] = []
        parts: list[tuple[Wanted, int | None]] = []
        for kind in kinds:
            sizes: list[int | None] = [*self.layout.schema.sizes] if kind.sized else [None]
            parts += [(kind.wanted, size) for size in sizes]
            asking = askers(self.layout, kind.wanted)
            region = None
            if not kind.summed:
                key = (kind.lefts, asking)
                region = self.regions.setdefault(key, Region(lefts=kind.lefts, askers=asking))
            item = Item(
                offset=self.sums if region is None else region.columns,
                sizes=len(sizes),
                low=low,
                high=high,
                shapes=kind.shapes,
            )
            for size in range(len(sizes)):
                # A target's asker is settled when the region's number of columns is known.
                targets += [(region, item.offset + size * span) for _ in asking]
            if region is None:
                self.summed.append(item)
                self.sums += item.width
            else:
                region.items.append(item)
                region.columns += item.width
                self.rows += item.width * len(asking)
        self.jobs.append((self.book.program(tuple(parts)), members, low, high, targets))

    def done(self) -> Chunk:
        start = 0
        for region in self.regions.values():
            region.start = start
            start += region.columns * len(region.askers)
        targets: list[int] = []
        for *_, wanted in self.jobs:
            asker = 0
            for place, offset in wanted:
                if place is None:
                    targets.append(-1 - offset)
                else:
                    targets.append(place.start + asker * place.columns + offset)
                    asker = (asker + 1) % len(place.askers)
        first = [self.layout.individual_start + start for start in self.layout.individual_offsets]
        attributes = [position for _, members, *_ in self.jobs for position in members]
        sizes = np.diff(self.layout.individual_offsets)
        jobs = Jobs(
            programs=np.array([program for program, *_ in self.jobs], np.int64),
            attribute_starts=_starts([len(members) for _, members, *_ in self.jobs]),
            firsts=np.array([first[position] for position in attributes], np.int64),
            sizes=np.array([sizes[position] for position in attributes], np.int64),
            lows=np.array([low for _, _, low, *_ in self.jobs], np.int64),
            highs=np.array([high for *_, high, _ in self.jobs], np.int64),
            target_starts=_starts([len(wanted) for *_, wanted in self.jobs]),
            targets=np.array(targets, np.int64),
            # Left parts are multiplied afterwards, all at once.
            group_starts=np.zeros(len(self.jobs) + 1, np.int64),
            group_rows=np.empty(0, np.int64),
            own_starts=np.zeros(len(self.jobs) + 1, np.int64),
            own_rows=np.empty(0, np.int64),
        )
        return Chunk(
            jobs=jobs,
            rows=self.rows,
            sums=self.sums,
            regions=list(self.regions.values()),
            summed=self.summed,
        )


def _starts(lengths: Sequence[int]) -> Ints:
    return np.cumsum([0, *lengths], dtype=np.int64)
