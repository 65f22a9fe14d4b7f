"""Left cells of blocks, stacked for one matrix product at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kinfolk.models.engine.chunks import ROWS, Region, Shape
from kinfolk.models.layout import Ints, Layout

CELLS = 4_194_304
"""Cells of one matrix product."""


class Piece(NamedTuple):
    """A rectangle of a block's left cells: whole own parts, or some of one group cell."""

    left: int
    group: slice
    own: slice
    rows: slice
    """Its place among the rows of a stack."""


@dataclass(frozen=True, kw_only=True)
class Stack:
    """Left cells of several blocks on top of each other, by row numbers of their factors."""

    pieces: tuple[Piece, ...]
    index: tuple[Ints, ...]
    """For each asker (left cells, factors) row numbers, -1 where there are fewer."""

    @property
    def rows(self) -> int:
        """The number of left cells."""
        return int(self.pieces[-1].rows.stop)


def stacks(layout: Layout, region: Region) -> Iterator[Stack]:
    """The left cells of a region, as many at a time as fit."""
    most = max(1, min(ROWS, CELLS // max(1, region.columns)))
    pieces: list[Piece] = []
    filled = 0
    for left, shape in enumerate(region.items[0].shapes):
        for group, own in _rectangles(shape, most):
            cells = (group.stop - group.start) * (own.stop - own.start)
            if filled and filled + cells > most:
                yield _stack(layout, region, pieces)
                pieces, filled = [], 0
            pieces.append(Piece(left, group, own, slice(filled, filled + cells)))
            filled += cells
    yield _stack(layout, region, pieces)


def _rectangles(shape: Shape, most: int) -> Iterator[tuple[slice, slice]]:
    if shape.own <= most:
        step = max(1, most // shape.own)
        for low in range(0, shape.group, step):
            yield slice(low, min(shape.group, low + step)), slice(0, shape.own)
    else:
        for cell in range(shape.group):
            for low in range(0, shape.own, most):
                yield slice(cell, cell + 1), slice(low, min(shape.own, low + most))


def _stack(layout: Layout, region: Region, pieces: Sequence[Piece]) -> Stack:
    factors = max(len(left.group) + len(left.own) for left in region.lefts)
    index = np.full((pieces[-1].rows.stop, factors), -1, np.int64)
    own = np.zeros(index.shape, np.bool_)
    group_sizes, own_sizes = np.diff(layout.group_offsets), np.diff(layout.individual_offsets)
    for piece in pieces:
        left = region.lefts[piece.left]
        shape = [*(group_sizes[p] for p in left.group), *(own_sizes[p] for p in left.own)]
        firsts = [layout.group_start + layout.group_offsets[p] for p in left.group]
        firsts += [layout.individual_start + layout.individual_offsets[p] for p in left.own]
        if not shape:
            continue
        width = math.prod(shape[len(left.group) :])
        low = piece.group.start * width + piece.own.start
        cells = np.arange(low, low + piece.rows.stop - piece.rows.start)
        codes = np.unravel_index(cells, shape)
        for position, (first, code) in enumerate(zip(firsts, codes, strict=True)):
            index[piece.rows, position] = first + code
            own[piece.rows, position] = position >= len(left.group)
    shifts = [max(0, asker) * layout.slot_rows for asker in region.askers]
    return Stack(pieces=tuple(pieces), index=tuple(index + shift * own for shift in shifts))
