"""The compiled core: features of one cell for a tile of components, and their gradient.

A tile is TILE components side by side; every loop runs over exactly that many, which the compiler
turns into vector instructions. Tiles are independent, so threads take tiles, and no two threads
ever write to the same place. Components beyond the last are zeros.

Each step has an inverse for gradients: what is written in a `Tile` of values has its pull (the
derivative of the loss) in the same place of a second `Tile`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from kinfolk.models.engine.members import Programs
from kinfolk.models.layout import Ints

Floats = npt.NDArray[np.floating[Any]]

TILE = 64
"""Components in a tile: few enough that a cell's features stay in the first-level cache."""

FAST = {"contract", "reassoc", "nsz", "arcp"}
"""Sums may be reordered, so that they vectorise. Not-a-number still means what it says."""


class Tile(NamedTuple):
    """What is known about TILE components, or the pulls on it."""

    table: Floats
    """(rows, TILE) the stacked probabilities."""
    weight: Floats
    """(weights, TILE) the composition weights of entries."""
    feature: Floats
    """(features, TILE) the features of one cell."""
    outer: Floats
    """(slots, TILE) products over all attributes but the last."""
    total: Floats
    """(TILE,) one output."""


@numba.njit(cache=True, nogil=True)
def new_tile(programs: Programs, table: Floats, weights: Floats) -> Tile:
    """A tile of zeros. table: (rows, K), weights: (weights, K)."""
    return Tile(
        np.zeros((table.shape[0], TILE), table.dtype),
        np.zeros((weights.shape[0], TILE), table.dtype),
        np.zeros((programs.most_features, TILE), table.dtype),
        np.zeros((programs.slot_count, TILE), table.dtype),
        np.zeros(TILE, table.dtype),
    )


@numba.njit(cache=True, nogil=True)
def load(source: Floats, start: int, out: Floats) -> None:
    """Copy the tile that begins at component `start`: (rows, K) -> (rows, TILE)."""
    width = min(TILE, source.shape[1] - start)
    for row in range(source.shape[0]):
        for k in range(width):
            out[row, k] = source[row, start + k]
        for k in range(width, TILE):
            out[row, k] = 0


@numba.njit(cache=True, nogil=True)
def add_back(tile: Floats, start: int, out: Floats) -> None:
    """Add a tile to its place: (rows, TILE) -> (rows, K)."""
    width = min(TILE, out.shape[1] - start)
    for row in range(out.shape[0]):
        for k in range(width):
            out[row, start + k] += tile[row, k]


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def grow(programs: Programs, program: int, tile: Tile) -> None:
    """Work out the features of several members from those of one."""
    feature = tile.feature
    one = feature.dtype.type(1)
    first = programs.node_starts[program]
    for node in range(first, programs.node_starts[program + 1]):
        parent, slot = programs.parents[node], programs.added[node]
        here = programs.slot_count + node - first
        for k in range(TILE):
            feature[here, k] = feature[slot, k] + feature[parent, k] * (one - feature[slot, k])


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def ungrow(programs: Programs, program: int, tile: Tile, pull: Tile) -> None:
    """The inverse of `grow`: from pulls on features of several members to those of one."""
    feature, pulls = tile.feature, pull.feature
    one = feature.dtype.type(1)
    first = programs.node_starts[program]
    for node in range(programs.node_starts[program + 1] - 1, first - 1, -1):
        parent, slot = programs.parents[node], programs.added[node]
        here = programs.slot_count + node - first
        # Two loops: parent and slot may be the same feature.
        for k in range(TILE):
            pulls[slot, k] += pulls[here, k] * (one - feature[parent, k])
        for k in range(TILE):
            pulls[parent, k] += pulls[here, k] * (one - feature[slot, k])
            pulls[here, k] = 0


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def combine(programs: Programs, output: int, tile: Tile) -> None:
    """The weighted sum of features that an output is, into `total`."""
    feature, weight, total = tile.feature, tile.weight, tile.total
    for k in range(TILE):
        total[k] = 0
    for entry in range(programs.entry_starts[output], programs.entry_starts[output + 1]):
        one, row = programs.features[entry], programs.rows[entry]
        for k in range(TILE):
            total[k] += weight[row, k] * feature[one, k]


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def uncombine(programs: Programs, output: int, tile: Tile, pull: Tile) -> None:
    """The inverse of `combine`: from the pull on `total` to those on features and weights."""
    total = pull.total
    for entry in range(programs.entry_starts[output], programs.entry_starts[output + 1]):
        one, row = programs.features[entry], programs.rows[entry]
        for k in range(TILE):
            pull.feature[one, k] += total[k] * tile.weight[row, k]
            pull.weight[row, k] += total[k] * tile.feature[one, k]


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def multiply(table: Floats, rows: Ints, count: int, shift: int, out: Floats) -> None:
    """The product of table rows `rows[:count] + shift`: (rows, TILE) -> (TILE,)."""
    for k in range(TILE):
        out[k] = 1
    for position in range(count):
        row = rows[position] + shift
        for k in range(TILE):
            out[k] *= table[row, k]


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def unmultiply(
    table: Floats, rows: Ints, count: int, shift: int, product_pull: Floats, pull: Floats
) -> None:
    """The inverse of `multiply`: the pull on each row is that on the product times the others."""
    rest = np.empty(TILE, table.dtype)
    for position in range(count):
        for k in range(TILE):
            rest[k] = product_pull[k]
        for other in range(count):
            if other != position:
                row = rows[other] + shift
                for k in range(TILE):
                    rest[k] *= table[row, k]
        row = rows[position] + shift
        for k in range(TILE):
            pull[row, k] += rest[k]
