"""The compiled loops: member factors, sums over components, and their gradient.

Components are worked on in tiles of TILE side by side. Every inner loop runs over exactly that
many, which the compiler turns into vector instructions; components beyond the last are zeros. Tiles
are independent, so threads take tiles, and no two threads ever write to the same place.

Each step has an inverse for gradients, called un-. The *pull* on a value is the derivative of the
loss by it; it stands in the same place of a second `Tile`. Pulls that have been passed on are zero
again, ready for the next cell.

One function is compiled for both directions, all in this file: that keeps the first run's wait for
the compiler short, and the compiler's cache up to date.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from kinfolk.models.engine.jobs import Floats, Jobs, Programs, Stacks, Tile
from kinfolk.models.layout import Ints

TILE = 128
"""Few enough that a cell's features stay in the processor's first cache, many enough that a loop
over them is worth setting up."""

_OPTIONS: dict[str, Any] = {
    # Sums may be reordered, so that they vectorise. Not-a-number still means what it says.
    "fastmath": {"contract", "reassoc", "nsz", "arcp"},
    "error_model": "numpy",
}
_inner = numba.njit(forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, **_OPTIONS)
_middle = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **_OPTIONS)
_outer = numba.njit(cache=True, nogil=True, **_OPTIONS)


@_inner
def _tile(programs: Programs, jobs: Jobs, table: Floats, weight: Floats, result: Floats) -> Tile:
    """Room for a tile's values, or for the pulls on them."""
    kind = table.dtype
    return Tile(
        table,
        weight,
        result,
        np.zeros((jobs.stored, TILE), kind),
        np.zeros((4, TILE), kind),
        np.zeros((programs.slot_count, TILE), kind),
        np.zeros((programs.most_features, TILE), kind),
        np.zeros(TILE, kind),
    )


@_inner
def _multiply(table: Floats, rows: Ints, shift: int, out: Floats) -> None:
    """The product of table rows `rows + shift`: (rows, TILE) -> (TILE,)."""
    first = rows[0] + shift if len(rows) else 0
    for k in range(TILE):
        out[k] = table[first, k] if len(rows) else 1
    for position in range(1, len(rows)):
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
        row = rows[len(rows) - 1] + slot * programs.slot_rows if len(rows) else 0
        for k in range(TILE):
            feature[slot, k] = tile.outer[slot, k] * tile.table[row, k] if len(rows) else one
    first = programs.node_starts[program]
    for node in range(first, programs.node_starts[program + 1]):
        parent, slot = programs.parents[node], programs.added[node]
        here = programs.slot_count + node - first
        for k in range(TILE):
            feature[here, k] = feature[slot, k] + feature[parent, k] * (one - feature[slot, k])


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
def _contract(stored: Floats, left: Floats, count: int, columns: int, results: Floats) -> None:
    """Up to four left cells times stored rows, summed over components, into (count, columns)."""
    zero = stored.dtype.type(0)
    for column in range(columns):
        a, b, c, d = zero, zero, zero, zero
        for k in range(TILE):
            one = stored[column, k]
            a += left[0, k] * one
            b += left[1, k] * one
            c += left[2, k] * one
            d += left[3, k] * one
        found = (a, b, c, d)
        for i in range(count):
            results[i * columns + column] += found[i]


@_inner
def _uncontract(
    stored: Floats, left: Floats, count: int, columns: int, pulled: Floats,
    stored_pull: Floats, left_pull: Floats,
) -> None:  # fmt: skip
    """The inverse of `_contract`."""
    kind = stored.dtype.type
    for column in range(columns):
        a = kind(pulled[column])
        b = kind(pulled[columns + column]) if count > 1 else kind(0)
        c = kind(pulled[2 * columns + column]) if count > 2 else kind(0)
        d = kind(pulled[3 * columns + column]) if count > 3 else kind(0)
        if a == 0 and b == 0 and c == 0 and d == 0:
            continue
        for k in range(TILE):
            one = stored[column, k]
            stored_pull[column, k] += (a * left[0, k] + b * left[1, k]) + (
                c * left[2, k] + d * left[3, k]
            )
            left_pull[0, k] += a * one
            left_pull[1, k] += b * one
            left_pull[2, k] += c * one
            left_pull[3, k] += d * one


@_middle
def _work(programs: Programs, jobs: Jobs, job: int, pulling: bool, tile: Tile, pulls: Tile) -> None:
    """One job: its outputs; or, pulling, from the pulls on them to those on table and weights."""
    program, low, high = jobs.programs[job], jobs.lows[job], jobs.highs[job]
    slots = programs.slots[programs.slot_starts[program] : programs.slot_starts[program + 1]]
    attribute, end = jobs.attribute_starts[job], jobs.attribute_starts[job + 1]
    rows = np.empty(end - attribute, np.int64)
    others = rows[: max(0, len(rows) - 1)]
    size = jobs.sizes[end - 1] if len(rows) else 1
    for cell in range(low, high):
        # The last attribute changes fastest; products over the others are kept.
        if cell == low or cell % size == 0:
            rest = cell
            for position in range(len(rows) - 1, -1, -1):
                rows[position] = jobs.firsts[attribute + position]
                rows[position] += rest % jobs.sizes[attribute + position]
                rest //= jobs.sizes[attribute + position]
            for slot in slots:
                _multiply(tile.table, others, slot * programs.slot_rows, tile.outer[slot])
        else:
            rows[len(rows) - 1] += 1
        _grow(programs, program, rows, tile)
        for place in range(jobs.target_starts[job], jobs.target_starts[job + 1]):
            output = programs.output_starts[program] + place - jobs.target_starts[job]
            target = jobs.targets[place]
            summed, stored = -1 - target + cell - low, target + cell - low
            if pulling:
                if target < 0:
                    pulls.output[:] = tile.output.dtype.type(pulls.result[summed])
                else:
                    for k in range(TILE):
                        pulls.output[k] = pulls.stored[stored, k]
                _uncombine(programs, output, tile, pulls)
            else:
                _combine(programs, output, tile)
                if target < 0:
                    total = tile.output.dtype.type(0)
                    for k in range(TILE):
                        total += tile.output[k]
                    tile.result[summed] += total
                else:
                    for k in range(TILE):
                        tile.stored[stored, k] = tile.output[k]
        if pulling:
            _ungrow(programs, program, rows, tile, pulls)
            if cell == high - 1 or (cell + 1) % size == 0:
                for slot in slots:
                    shift, outer, pull = slot * programs.slot_rows, tile.outer, pulls.outer
                    _unmultiply(tile.table, others, shift, outer[slot], pull[slot], pulls.table)


@_middle
def _stack(stacks: Stacks, stack: int, pulling: bool, tile: Tile, pulls: Tile) -> None:
    """One stack: its results; or, pulling, from the pulls on them to those on table and stored."""
    low, high = stacks.left_starts[stack], stacks.left_starts[stack + 1]
    columns, first = stacks.columns[stack], stacks.firsts[stack]
    for cell in range(low, high, 4):
        count = min(4, high - cell)
        start = stacks.starts[stack] + (cell - low) * columns
        for i in range(4):
            tile.left[i] = 0
        for i in range(count):
            rows = stacks.rows[stacks.row_starts[cell + i] : stacks.row_starts[cell + i + 1]]
            _multiply(tile.table, rows, 0, tile.left[i])
        if not pulling:
            _contract(tile.stored[first:], tile.left, count, columns, tile.result[start:])
            continue
        _uncontract(
            tile.stored[first:], tile.left, count, columns, pulls.result[start:],
            pulls.stored[first:], pulls.left,
        )  # fmt: skip
        for i in range(count):
            rows = stacks.rows[stacks.row_starts[cell + i] : stacks.row_starts[cell + i + 1]]
            _unmultiply(tile.table, rows, 0, tile.left[i], pulls.left[i], pulls.table)


@_outer
def sweep(
    programs: Programs, jobs: Jobs, stacks: Stacks, chosen: Ints, first: int, step: int,
    table: Floats, weights: Floats, results: Floats,
    pulling: bool, table_pull: Floats, weights_pull: Floats,
) -> None:  # fmt: skip
    """Work out the results of jobs and stacks; or, pulling, the gradient by table and weights.

    chosen: which jobs; pulling, the others' results must have no pull.
    first, step: which tiles of components to work on: the first, and then every step-th.
    table: (tiles, rows, TILE) the stacked probabilities.
    weights: (tiles, weights, TILE) the composition weights of entries.
    results: (tiles, results) what the components of each tile add; pulling, (1, results) the pulls.
    table_pull, weights_pull: pulling, where the gradient is added.
    """
    for index in range(first, len(table), step):
        result = results[index % len(results)]
        ahead = np.zeros_like(result) if pulling else result
        tile = _tile(programs, jobs, table[index], weights[index], ahead)
        pulls = _tile(programs, jobs, table_pull[index], weights_pull[index], result)
        # Outputs go ahead, because left cells are multiplied by them; then pulls come back.
        for back in range(2 if pulling else 1):
            for job in chosen:
                if back or not pulling or jobs.stores[job]:
                    _work(programs, jobs, job, back == 1, tile, pulls)
            for stack in range(0 if back else len(stacks.firsts)):
                _stack(stacks, stack, pulling, tile, pulls)
