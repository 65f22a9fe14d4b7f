"""The compiled loops: member factors, sums over components, and their gradient.

Components are worked on in tiles of TILE side by side. Every inner loop runs over exactly that
many, so that it becomes vector instructions; components beyond the last are zeros.

Each step has an inverse for gradients, called un-. The *pull* on a value is the derivative of the
loss by it; it stands in the same place of a second `Tile`, and is 0 again once it is passed on.

One function is compiled for both directions. All it calls is in this file, because the compiler's
cache notices changes of this file only.
"""

from __future__ import annotations

from typing import Any

import numba

from kinfolk.models.engine.jobs import Floats, Jobs, Programs, Stacks, Tile
from kinfolk.models.layout import Ints

TILE = 128
"""Few enough that a cell's features stay in the processor's first cache, many enough that a loop
over them is worth setting up."""

_OPTIONS: dict[str, Any] = {
    # Sums may be reordered, so that they vectorise. Not-a-number still means what it says.
    "fastmath": {"contract", "reassoc", "nsz", "arcp"},
    "error_model": "numpy",
    # Nothing is allocated here. Counting references to arrays took as long as all the rest.
    "_nrt": False,
}
_inner = numba.njit(forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, **_OPTIONS)
_outer = numba.njit(cache=True, nogil=True, **_OPTIONS)


@_inner
def _multiply(table: Floats, rows: Ints, shift: int, out: Floats) -> None:
    """The product of table rows `rows + shift`: (rows, TILE) -> (TILE,)."""
    one = table.dtype.type(1)
    first = rows[0] + shift if len(rows) else 0
    for k in range(TILE):
        out[k] = table[first, k] if len(rows) else one
    for position in range(1, len(rows)):
        row = rows[position] + shift
        for k in range(TILE):
            out[k] *= table[row, k]


@_inner
def _unmultiply(
    table: Floats, rows: Ints, shift: int, out: Floats, out_pull: Floats, pull: Floats
) -> None:
    """The inverse of `_multiply`: the pull on each row is that on the product times the others."""
    if len(rows) == 2:
        here, other = rows[0] + shift, rows[1] + shift
        for k in range(TILE):
            pull[here, k] += out_pull[k] * table[other, k]
            pull[other, k] += out_pull[k] * table[here, k]
            out_pull[k] = 0
        return
    for position in range(len(rows)):
        # The product of the others goes where the whole product was.
        for k in range(TILE):
            out[k] = out_pull[k]
        for place in range(len(rows)):
            if place != position:
                other = rows[place] + shift
                for k in range(TILE):
                    out[k] *= table[other, k]
        here = rows[position] + shift
        for k in range(TILE):
            pull[here, k] += out[k]
    for k in range(TILE):
        out_pull[k] = 0


@_inner
def _grow(programs: Programs, program: int, row: int, tile: Tile) -> None:
    """All features of a cell: of one member from outer products, of several from those.

    row: that of the cell's last attribute in the first slot, or -1 without attributes.
    """
    feature = tile.feature
    one = feature.dtype.type(1)
    for at in range(programs.slot_starts[program], programs.slot_starts[program + 1]):
        slot = programs.slots[at]
        last = row + slot * programs.slot_rows if row >= 0 else 0
        for k in range(TILE):
            feature[slot, k] = tile.outer[slot, k] * tile.table[last, k] if row >= 0 else one
    first = programs.node_starts[program]
    for node in range(first, programs.node_starts[program + 1]):
        parent, slot = programs.parents[node], programs.added[node]
        here = programs.slot_count + node - first
        for k in range(TILE):
            feature[here, k] = feature[slot, k] + feature[parent, k] * (one - feature[slot, k])


@_inner
def _ungrow(programs: Programs, program: int, row: int, tile: Tile, pulls: Tile) -> None:
    """The inverse of `_grow`."""
    feature, pull = tile.feature, pulls.feature
    one = feature.dtype.type(1)
    first = programs.node_starts[program]
    for node in range(programs.node_starts[program + 1] - 1, first - 1, -1):
        parent, slot = programs.parents[node], programs.added[node]
        here = programs.slot_count + node - first
        for k in range(TILE):
            pull[slot, k] += pull[here, k] * (one - feature[parent, k])
            pull[parent, k] += pull[here, k] * (one - feature[slot, k])
            pull[here, k] = 0
    for at in range(programs.slot_starts[program], programs.slot_starts[program + 1]):
        slot = programs.slots[at]
        if row >= 0:
            last = row + slot * programs.slot_rows
            for k in range(TILE):
                pulls.table[last, k] += pull[slot, k] * tile.outer[slot, k]
                pulls.outer[slot, k] += pull[slot, k] * tile.table[last, k]
                pull[slot, k] = 0
        else:
            for k in range(TILE):
                pull[slot, k] = 0


@_inner
def _combine(programs: Programs, output: int, tile: Tile) -> None:
    """The weighted sum of features that an output is."""
    for k in range(TILE):
        tile.output[k] = 0
    for entry in range(programs.entry_starts[output], programs.entry_starts[output + 1]):
        one, row = programs.features[entry], programs.rows[entry]
        for k in range(TILE):
            tile.output[k] += tile.weight[row, k] * tile.feature[one, k]


@_inner
def _uncombine(programs: Programs, output: int, tile: Tile, pulls: Tile) -> None:
    """The inverse of `_combine`."""
    for entry in range(programs.entry_starts[output], programs.entry_starts[output + 1]):
        one, row = programs.features[entry], programs.rows[entry]
        for k in range(TILE):
            pulls.feature[one, k] += pulls.output[k] * tile.weight[row, k]
            pulls.weight[row, k] += pulls.output[k] * tile.feature[one, k]


@_inner
def _contract(tile: Tile, count: int, first: int, columns: int, start: int) -> None:
    """Up to four left cells times stored rows, summed over components, into the results."""
    stored, left = tile.stored, tile.left
    zero = stored.dtype.type(0)
    for column in range(columns):
        a, b, c, d = zero, zero, zero, zero
        for k in range(TILE):
            one = stored[first + column, k]
            a += left[0, k] * one
            b += left[1, k] * one
            c += left[2, k] * one
            d += left[3, k] * one
        found = (a, b, c, d)
        for i in range(count):
            tile.result[start + i * columns + column] += found[i]


@_inner
def _uncontract(tile: Tile, pulls: Tile, count: int, first: int, columns: int, start: int) -> None:
    """The inverse of `_contract`."""
    stored, left, left_pull, pulled = tile.stored, tile.left, pulls.left, pulls.result
    kind = stored.dtype.type
    for column in range(columns):
        at, row = start + column, first + column
        a = kind(pulled[at])
        b = kind(pulled[at + columns]) if count > 1 else kind(0)
        c = kind(pulled[at + 2 * columns]) if count > 2 else kind(0)
        d = kind(pulled[at + 3 * columns]) if count > 3 else kind(0)
        for k in range(TILE):
            one = stored[row, k]
            two = c * left[2, k] + d * left[3, k]
            pulls.stored[row, k] += a * left[0, k] + b * left[1, k] + two
            left_pull[0, k] += a * one
            left_pull[1, k] += b * one
            left_pull[2, k] += c * one
            left_pull[3, k] += d * one


@_inner
def _put(tile: Tile, target: int, ahead: int) -> None:
    """Store an output, or sum it."""
    total = tile.output.dtype.type(0)
    if target < 0:
        for k in range(TILE):
            total += tile.output[k]
        tile.result[-1 - target + ahead] += total
    else:
        for k in range(TILE):
            tile.stored[target + ahead, k] = tile.output[k]


@_inner
def _unput(pulls: Tile, target: int, ahead: int) -> None:
    """The inverse of `_put`."""
    pulled = pulls.output.dtype.type(pulls.result[-1 - target + ahead] if target < 0 else 0)
    for k in range(TILE):
        pulls.output[k] = pulled
    if target >= 0:
        for k in range(TILE):
            pulls.output[k] = pulls.stored[target + ahead, k]
            pulls.stored[target + ahead, k] = 0


@_inner
def _work(
    programs: Programs, jobs: Jobs, job: int, pulling: bool, back: bool,
    decoded: Ints, tile: Tile, pulls: Tile,
) -> None:  # fmt: skip
    """One job: its outputs (pulling, those that are stored); or back from the pulls on them."""
    program, low, high = jobs.programs[job], jobs.lows[job], jobs.highs[job]
    slots = programs.slots[programs.slot_starts[program] : programs.slot_starts[program + 1]]
    attribute, end = jobs.attribute_starts[job], jobs.attribute_starts[job + 1]
    last = end - attribute - 1
    rows, others = decoded[: last + 1], decoded[: max(0, last)]
    size = jobs.sizes[end - 1] if last >= 0 else 1
    for cell in range(low, high):
        # The last attribute changes fastest; products over the others are kept. On the way back,
        # a job that is alone finds everything as it was.
        if not (back and jobs.alone):
            if cell == low or cell % size == 0:
                rest = cell
                for position in range(last, -1, -1):
                    categories = jobs.sizes[attribute + position]
                    rows[position] = jobs.firsts[attribute + position] + rest % categories
                    rest //= categories
                for slot in slots:
                    _multiply(tile.table, others, slot * programs.slot_rows, tile.outer[slot])
            else:
                rows[last] += 1
            _grow(programs, program, rows[last] if last >= 0 else -1, tile)
        for place in range(jobs.target_starts[job], jobs.target_starts[job + 1]):
            output = programs.output_starts[program] + place - jobs.target_starts[job]
            if back:
                _unput(pulls, jobs.targets[place], cell - low)
                _uncombine(programs, output, tile, pulls)
            elif not pulling or jobs.targets[place] >= 0:
                _combine(programs, output, tile)
                _put(tile, jobs.targets[place], cell - low)
        if back:
            _ungrow(programs, program, rows[last] if last >= 0 else -1, tile, pulls)
            if cell == high - 1 or (cell + 1) % size == 0:
                for slot in slots:
                    shift, out, pull = slot * programs.slot_rows, tile.outer, pulls.outer
                    _unmultiply(tile.table, others, shift, out[slot], pull[slot], pulls.table)


@_inner
def _stack(stacks: Stacks, stack: int, pulling: bool, tile: Tile, pulls: Tile) -> None:
    """One stack: its results; or, pulling, from the pulls on them to those on table and stored."""
    low, high = stacks.left_starts[stack], stacks.left_starts[stack + 1]
    columns, first = stacks.columns[stack], stacks.firsts[stack]
    for cell in range(low, high, 4):
        count, start = min(4, high - cell), stacks.starts[stack] + (cell - low) * columns
        # Where fewer than four are left, the others are from before, and not asked for.
        for i in range(count):
            rows = stacks.rows[stacks.row_starts[cell + i] : stacks.row_starts[cell + i + 1]]
            _multiply(tile.table, rows, 0, tile.left[i])
        if not pulling:
            _contract(tile, count, first, columns, start)
            continue
        _uncontract(tile, pulls, count, first, columns, start)
        for i in range(count):
            rows = stacks.rows[stacks.row_starts[cell + i] : stacks.row_starts[cell + i + 1]]
            _unmultiply(tile.table, rows, 0, tile.left[i], pulls.left[i], pulls.table)


@_outer
def sweep(
    programs: Programs, jobs: Jobs, stacks: Stacks, chosen: Ints, pulling: bool,
    decoded: Ints, tile: Tile, pulls: Tile,
) -> None:  # fmt: skip
    """Add the results of jobs and stacks; or, pulling, the gradient by table and weights.

    chosen: which jobs; where jobs are alone, which stacks as well.
    decoded: (attributes,) room for row numbers.
    tile, pulls: values and pulls. Results are added to the tile's; pulling, the pulls on them are
        in `pulls`, and the gradient is added to the pulls on table and weight.
    """
    # Outputs go ahead, because left cells are multiplied by them; then pulls come back. Jobs that
    # are alone go there and back one by one, the others together.
    for turn in range(len(chosen) if jobs.alone else 1):
        low, high, stack, end = 0, len(chosen), 0, len(stacks.firsts)
        if jobs.alone:
            low, high, job = turn, turn + 1, chosen[turn]
            stack, end = jobs.target_starts[job], jobs.target_starts[job + 1]
        for back in range(2 if pulling else 1):
            for at in range(low, high):
                if back or not pulling or jobs.stores[chosen[at]]:
                    _work(programs, jobs, chosen[at], pulling, back == 1, decoded, tile, pulls)
            while stack < end:
                _stack(stacks, stack, pulling, tile, pulls)
                stack += 1
