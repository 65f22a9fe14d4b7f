"""The compiled loops: member factors, sums over components, and their gradient.

Components are worked on in tiles of TILE side by side. Every inner loop runs over exactly that
many, which the compiler turns into vector instructions; components beyond the last are zeros. Tiles
are independent, so threads take tiles, and no two threads ever write to the same place.

Each step has an inverse for gradients, called un-. The *pull* on a value is the derivative of the
loss by it; it stands in the same place of a second `Tile`. Pulls that have been passed on are zero
again, ready for the next cell.

One function is compiled for both directions, and what it calls is called from nowhere else: that
halves the time that the first run waits for the compiler.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from kinfolk.models.engine.jobs import Jobs
from kinfolk.models.engine.members import Programs
from kinfolk.models.layout import Ints

Floats = npt.NDArray[np.floating[Any]]

TILE = 128
"""Components in a tile: few enough that a cell's features stay in the first-level cache."""

# Sums may be reordered, so that they vectorise. Not-a-number still means what it says.
_OPTIONS: dict[str, Any] = {
    "fastmath": {"contract", "reassoc", "nsz", "arcp"},
    "error_model": "numpy",
}
_inner = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True, **_OPTIONS)
compiled = numba.njit(cache=True, nogil=True, **_OPTIONS)


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
    group: Floats
    """(TILE,) the product of the group's rows,"""
    own: Floats
    """(TILE,) and of those of the people who ask."""
    output: Floats
    """(TILE,) one output."""


@_inner
def _new(programs: Programs, table: Floats, weights: Floats) -> Tile:
    """A tile of zeros."""
    rows, features = len(table) + len(weights), programs.most_features + programs.slot_count
    space = np.zeros((rows + features + 3, TILE), table.dtype)
    return Tile(
        space[: len(table)],
        space[len(table) : rows],
        space[rows : rows + programs.most_features],
        space[rows + programs.most_features : rows + features],
        space[rows + features],
        space[rows + features + 1],
        space[rows + features + 2],
    )


@_inner
def _load(source: Floats, start: int, out: Floats) -> None:
    """Copy the tile that begins at component `start`: (rows, K) -> (rows, TILE)."""
    width = min(TILE, source.shape[1] - start)
    for row in range(source.shape[0]):
        for k in range(width):
            out[row, k] = source[row, start + k]
        for k in range(width, TILE):
            out[row, k] = 0


@_inner
def _unload(tile: Floats, start: int, out: Floats) -> None:
    """Add a tile to its place, (rows, TILE) -> (rows, K), and empty it."""
    width = min(TILE, out.shape[1] - start)
    for row in range(out.shape[0]):
        for k in range(width):
            out[row, start + k] += tile[row, k]
        for k in range(TILE):
            tile[row, k] = 0


@_inner
def _multiply(table: Floats, rows: Ints, shift: int, out: Floats) -> None:
    """The product of table rows `rows + shift`: (rows, TILE) -> (TILE,)."""
    for k in range(TILE):
        out[k] = 1
    for position in range(len(rows)):
        row = rows[position] + shift
        for k in range(TILE):
            out[k] *= table[row, k]


@_inner
def _unmultiply(
    table: Floats, rows: Ints, shift: int, out: Floats, out_pull: Floats, pull: Floats
) -> None:
    """The inverse of `_multiply`: the pull on each row is that on the product times the others."""
    for position in range(len(rows)):
        # The product of the others goes where the whole product was.
        for k in range(TILE):
            out[k] = out_pull[k]
        for other in range(len(rows)):
            if other != position:
                row = rows[other] + shift
                for k in range(TILE):
                    out[k] *= table[row, k]
        row = rows[position] + shift
        for k in range(TILE):
            pull[row, k] += out[k]
    for k in range(TILE):
        out_pull[k] = 0


@_inner
def _grow(programs: Programs, program: int, rows: Ints, tile: Tile) -> None:
    """All features of a cell: of one member from outer products, of several from those."""
    feature = tile.feature
    one = feature.dtype.type(1)
    for at in range(programs.slot_starts[program], programs.slot_starts[program + 1]):
        slot = programs.slots[at]
        if len(rows):
            row = rows[len(rows) - 1] + slot * programs.slot_rows
            for k in range(TILE):
                feature[slot, k] = tile.outer[slot, k] * tile.table[row, k]
        else:
            for k in range(TILE):
                feature[slot, k] = one
    here = programs.slot_count
    for node in range(programs.node_starts[program], programs.node_starts[program + 1]):
        parent, slot = programs.parents[node], programs.added[node]
        for k in range(TILE):
            feature[here, k] = feature[slot, k] + feature[parent, k] * (one - feature[slot, k])
        here += 1


@_inner
def _ungrow(programs: Programs, program: int, rows: Ints, tile: Tile, pulls: Tile) -> None:
    """The inverse of `_grow`."""
    feature, pull = tile.feature, pulls.feature
    one = feature.dtype.type(1)
    first = programs.node_starts[program]
    for node in range(programs.node_starts[program + 1] - 1, first - 1, -1):
        parent, slot = programs.parents[node], programs.added[node]
        here = programs.slot_count + node - first
        # Two loops: parent and slot may be the same feature.
        for k in range(TILE):
            pull[slot, k] += pull[here, k] * (one - feature[parent, k])
        for k in range(TILE):
            pull[parent, k] += pull[here, k] * (one - feature[slot, k])
            pull[here, k] = 0
    for at in range(programs.slot_starts[program], programs.slot_starts[program + 1]):
        slot = programs.slots[at]
        if len(rows):
            row = rows[len(rows) - 1] + slot * programs.slot_rows
            for k in range(TILE):
                pulls.table[row, k] += pull[slot, k] * tile.outer[slot, k]
                pulls.outer[slot, k] += pull[slot, k] * tile.table[row, k]
                pull[slot, k] = 0
        else:
            for k in range(TILE):
                pull[slot, k] = 0


@_inner
def _combine(programs: Programs, output: int, tile: Tile) -> None:
    """The weighted sum of features that an output is."""
    out, feature, weight = tile.output, tile.feature, tile.weight
    entry, end = programs.entry_starts[output], programs.entry_starts[output + 1]
    for k in range(TILE):
        out[k] = 0
    # Two at a time: the sum is read and written half as often.
    while entry + 1 < end:
        a, b = programs.features[entry], programs.features[entry + 1]
        p, q = programs.rows[entry], programs.rows[entry + 1]
        for k in range(TILE):
            out[k] += weight[p, k] * feature[a, k] + weight[q, k] * feature[b, k]
        entry += 2
    if entry < end:
        a, p = programs.features[entry], programs.rows[entry]
        for k in range(TILE):
            out[k] += weight[p, k] * feature[a, k]


@_inner
def _uncombine(programs: Programs, output: int, tile: Tile, pulls: Tile) -> None:
    """The inverse of `_combine`."""
    for entry in range(programs.entry_starts[output], programs.entry_starts[output + 1]):
        one, row = programs.features[entry], programs.rows[entry]
        for k in range(TILE):
            pulls.feature[one, k] += pulls.output[k] * tile.weight[row, k]
            pulls.weight[row, k] += pulls.output[k] * tile.feature[one, k]


@_inner
def _total(tile: Tile) -> float:
    """Left factors times an output, summed over the components of the tile."""
    total = 0.0
    for k in range(TILE):
        total += tile.group[k] * tile.own[k] * tile.output[k]
    return total


@_inner
def _untotal(pull: float, tile: Tile, pulls: Tile) -> None:
    """The inverse of `_total`."""
    pulled = tile.output.dtype.type(pull)
    for k in range(TILE):
        pulls.group[k] += pulled * tile.own[k] * tile.output[k]
        pulls.own[k] += pulled * tile.group[k] * tile.output[k]
        pulls.output[k] = pulled * tile.group[k] * tile.own[k]


@compiled
def sweep(
    table: Floats, weights: Floats, programs: Programs, jobs: Jobs, chosen: Ints,
    first: int, step: int, out: Floats, sums: Floats, pulling: bool,
    table_pull: Floats, weights_pull: Floats,
) -> None:  # fmt: skip
    """Work out the outputs of jobs; or, pulling, add the gradient by table and weights.

    table: (rows, K) the stacked probabilities.
    weights: (weights, K) the composition weights of entries.
    chosen: which jobs.
    first, step: which tiles of components to work on: the first, and then every step-th.
    out: (out rows, K) outputs that are stored; pulling, the pulls on them.
    sums: (tiles, sums) outputs summed over the components of each tile are added here; pulling,
        (1, sums), the pulls on them.
    table_pull, weights_pull: where the gradient is added, if pulling.
    """
    tile, pulls = _new(programs, table, weights), _new(programs, table, weights)
    decoded = np.empty(len(jobs.firsts), np.int64)
    for index in range(first, (table.shape[1] + TILE - 1) // TILE, step):
        start, width = index * TILE, min(TILE, table.shape[1] - index * TILE)
        _load(table, start, tile.table)
        _load(weights, start, tile.weight)
        for job in chosen:
            program, low, high = jobs.programs[job], jobs.lows[job], jobs.highs[job]
            opening, closing = programs.slot_starts[program], programs.slot_starts[program + 1]
            slots = programs.slots[opening:closing]
            group_rows = jobs.group_rows[jobs.group_starts[job] : jobs.group_starts[job + 1]]
            own_rows = jobs.own_rows[jobs.own_starts[job] : jobs.own_starts[job + 1]]
            attribute = jobs.attribute_starts[job]
            rows = decoded[: jobs.attribute_starts[job + 1] - attribute]
            others = rows[: max(0, len(rows) - 1)]
            size = jobs.sizes[attribute + len(rows) - 1] if len(rows) else 1
            bare = len(group_rows) + len(own_rows) == 0
            _multiply(tile.table, group_rows, 0, tile.group)
            _multiply(tile.table, own_rows, 0, tile.own)
            for cell in range(low, high):
                # The last attribute changes fastest; products over the others are kept.
                if cell == low or cell % size == 0:
                    rest = cell
                    for position in range(len(rows) - 1, -1, -1):
                        categories = jobs.sizes[attribute + position]
                        rows[position] = jobs.firsts[attribute + position] + rest % categories
                        rest //= categories
                    for slot in slots:
                        _multiply(tile.table, others, slot * programs.slot_rows, tile.outer[slot])
                else:
                    rows[len(rows) - 1] += 1
                _grow(programs, program, rows, tile)
                for output in range(
                    programs.output_starts[program], programs.output_starts[program + 1]
                ):
                    place = jobs.target_starts[job] + output - programs.output_starts[program]
                    target, ahead = jobs.targets[place], cell - low
                    shift = max(0, programs.askers[output]) * programs.slot_rows
                    if len(own_rows):
                        _multiply(tile.table, own_rows, shift, tile.own)
                    if not pulling or (target < 0 and not bare):
                        _combine(programs, output, tile)
                    if not pulling and target < 0:
                        sums[index, -1 - target + ahead] += _total(tile)
                    elif not pulling:
                        for k in range(width):
                            out[target + ahead, start + k] = tile.output[k]
                    elif target < 0:
                        _untotal(sums[0, -1 - target + ahead], tile, pulls)
                        _unmultiply(tile.table, own_rows, shift, tile.own, pulls.own, pulls.table)
                    else:
                        for k in range(width):
                            pulls.output[k] = out[target + ahead, start + k]
                        for k in range(width, TILE):
                            pulls.output[k] = 0
                    if pulling:
                        _uncombine(programs, output, tile, pulls)
                if pulling:
                    _ungrow(programs, program, rows, tile, pulls)
                    if cell == high - 1 or (cell + 1) % size == 0:
                        for slot in slots:
                            _unmultiply(
                                tile.table, others, slot * programs.slot_rows,
                                tile.outer[slot], pulls.outer[slot], pulls.table,
                            )  # fmt: skip
            if pulling:
                _unmultiply(tile.table, group_rows, 0, tile.group, pulls.group, pulls.table)
        if pulling:
            _unload(pulls.table, start, table_pull)
            _unload(pulls.weight, start, weights_pull)
