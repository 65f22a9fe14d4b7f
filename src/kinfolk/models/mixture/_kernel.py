"""The compiled loops: member factors, sums over components, and their vector-Jacobian products.

Components are worked on in tiles of TILE side by side. Every inner loop runs over exactly that
many, so that it becomes vector instructions; components beyond the last are zeros.

Each step has its vector-Jacobian product, called _vjp. The *cotangent* of a value is the derivative
of the loss by it; it stands in the same place of a second `Tile`, and is 0 again once passed on.

One function is compiled for both directions. All it calls is in this file, because the compiler's
cache notices changes of this file only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba

from kinfolk.compiled import compiled
from kinfolk.models.layout import Floats, Ints
from kinfolk.models.mixture.factors import Programs
from kinfolk.models.mixture.schedule import Work

TILE = 128
"""Few enough that a cell's features stay in the processor's first cache, many enough that a loop
over them is worth setting up."""


class Tile(NamedTuple):
    """What is known about TILE components, or the cotangents of that."""

    table: Floats
    """(rows, TILE) the probabilities."""
    result: Floats
    """(results,) what the tile adds to the results, or the cotangents of those."""
    weight: Floats
    """(weights, TILE) the composition weights of entries."""
    stored: Floats
    """(stored, TILE) outputs that are waiting for left factors."""
    left: Floats
    """(4, TILE) left cells."""
    outer: Floats
    """(kinds, TILE) how likely a kind is, times products over all attributes but the last."""
    feature: Floats
    """(features, TILE) the features of one cell."""
    output: Floats
    """(TILE,) one output."""
    live: Ints
    """(kinds,) whether the outer product of a kind can be other than nothing."""


_OPTIONS: dict[str, Any] = {
    # Sums may be reordered, so that they vectorise. Not-a-number still means what it says.
    "fastmath": {"contract", "reassoc", "nsz", "arcp"},
    "error_model": "numpy",
    # Nothing is allocated here. Counting references to arrays took as long as all the rest.
    "_nrt": False,
}
_inner = numba.njit(forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, **_OPTIONS)
_outer = compiled(**_OPTIONS)


@_inner
def _weigh(programs: Programs, tile: Tile) -> None:
    """The weights of entries: sums of compositions' chances."""
    weight, kind = tile.weight, tile.weight.dtype.type
    for row in range(len(programs.weight_starts) - 1):
        for k in range(TILE):
            weight[row, k] = 0
        for term in range(programs.weight_starts[row], programs.weight_starts[row + 1]):
            composition, times = programs.compositions[term], kind(programs.coefficients[term])
            for k in range(TILE):
                weight[row, k] += times * tile.table[composition, k]


@_inner
def _weigh_vjp(programs: Programs, cotangents: Tile) -> None:
    """From the cotangents of weights to those of compositions."""
    weight, kind = cotangents.weight, cotangents.weight.dtype.type
    for row in range(len(programs.weight_starts) - 1):
        for term in range(programs.weight_starts[row], programs.weight_starts[row + 1]):
            composition, times = programs.compositions[term], kind(programs.coefficients[term])
            for k in range(TILE):
                cotangents.table[composition, k] += times * weight[row, k]
        for k in range(TILE):
            weight[row, k] = 0


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
def _multiply_vjp(
    table: Floats, rows: Ints, shift: int, out: Floats, out_cotangent: Floats, cotangent: Floats
) -> None:
    """The cotangent of each row is that of the product times the other rows."""
    if len(rows) == 2:
        here, other = rows[0] + shift, rows[1] + shift
        for k in range(TILE):
            cotangent[here, k] += out_cotangent[k] * table[other, k]
            cotangent[other, k] += out_cotangent[k] * table[here, k]
            out_cotangent[k] = 0
        return
    for position in range(len(rows)):
        # The product of the others goes where the whole product was.
        for k in range(TILE):
            out[k] = out_cotangent[k]
        for place in range(len(rows)):
            if place != position:
                other = rows[place] + shift
                for k in range(TILE):
                    out[k] *= table[other, k]
        here = rows[position] + shift
        for k in range(TILE):
            cotangent[here, k] += out[k]
    for k in range(TILE):
        out_cotangent[k] = 0


@_inner
def _multiply_kinds(programs: Programs, slot: int, rows: Ints, tile: Tile) -> None:
    """Outer products of a slot: of every kind of its people of whom that can be said."""
    for kind in range(programs.kind_starts[slot], programs.kind_starts[slot + 1]):
        tile.live[kind] = 1
        for row in rows:
            if not programs.possible[row + kind * programs.kind_rows]:
                tile.live[kind] = 0
        if not tile.live[kind]:
            continue
        _multiply(tile.table, rows, kind * programs.kind_rows, tile.outer[kind])
        if programs.kind_start >= 0:
            for k in range(TILE):
                tile.outer[kind, k] *= tile.table[programs.kind_start + kind, k]


@_inner
def _multiply_kinds_vjp(
    programs: Programs, slot: int, rows: Ints, tile: Tile, cotangents: Tile
) -> None:
    """From the cotangents of outer products to those of the table."""
    for kind in range(programs.kind_starts[slot], programs.kind_starts[slot + 1]):
        shift, likely = kind * programs.kind_rows, programs.kind_start + kind
        if not tile.live[kind]:
            continue
        if programs.kind_start >= 0:
            _multiply(tile.table, rows, shift, tile.outer[kind])
            for k in range(TILE):
                given = cotangents.outer[kind, k]
                cotangents.table[likely, k] += given * tile.outer[kind, k]
                cotangents.outer[kind, k] = given * tile.table[likely, k]
        _multiply_vjp(
            tile.table, rows, shift, tile.outer[kind], cotangents.outer[kind], cotangents.table
        )


@_inner
def _grow(programs: Programs, program: int, row: int, tile: Tile) -> None:
    """All features of a cell: of one member from outer products, of several from those.

    row: that of the cell's last attribute in the first kind, or -1 without attributes.
    """
    feature = tile.feature
    one = feature.dtype.type(1)
    for at in range(programs.slot_starts[program], programs.slot_starts[program + 1]):
        slot = programs.slots[at]
        if row < 0:
            for k in range(TILE):
                feature[slot, k] = one
            continue
        first = True
        for kind in range(programs.kind_starts[slot], programs.kind_starts[slot + 1]):
            last = row + kind * programs.kind_rows
            if not (tile.live[kind] and programs.possible[last]):
                continue
            if first:
                for k in range(TILE):
                    feature[slot, k] = tile.outer[kind, k] * tile.table[last, k]
            else:
                for k in range(TILE):
                    feature[slot, k] += tile.outer[kind, k] * tile.table[last, k]
            first = False
        if first:
            for k in range(TILE):
                feature[slot, k] = 0
    start = programs.node_starts[program]
    for node in range(start, programs.node_starts[program + 1]):
        parent, slot = programs.parents[node], programs.added[node]
        here = programs.slot_count + node - start
        for k in range(TILE):
            feature[here, k] = feature[slot, k] + feature[parent, k] * (one - feature[slot, k])


@_inner
def _grow_vjp(programs: Programs, program: int, row: int, tile: Tile, cotangents: Tile) -> None:
    """From the cotangents of features to those of outer products and of the table."""
    feature, cotangent = tile.feature, cotangents.feature
    one = feature.dtype.type(1)
    first = programs.node_starts[program]
    for node in range(programs.node_starts[program + 1] - 1, first - 1, -1):
        parent, slot = programs.parents[node], programs.added[node]
        here = programs.slot_count + node - first
        for k in range(TILE):
            cotangent[slot, k] += cotangent[here, k] * (one - feature[parent, k])
            cotangent[parent, k] += cotangent[here, k] * (one - feature[slot, k])
            cotangent[here, k] = 0
    for at in range(programs.slot_starts[program], programs.slot_starts[program + 1]):
        slot = programs.slots[at]
        if row >= 0:
            for kind in range(programs.kind_starts[slot], programs.kind_starts[slot + 1]):
                last = row + kind * programs.kind_rows
                if not (tile.live[kind] and programs.possible[last]):
                    continue
                for k in range(TILE):
                    cotangents.table[last, k] += cotangent[slot, k] * tile.outer[kind, k]
                    cotangents.outer[kind, k] += cotangent[slot, k] * tile.table[last, k]
        for k in range(TILE):
            cotangent[slot, k] = 0


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
def _combine_vjp(programs: Programs, output: int, tile: Tile, cotangents: Tile) -> None:
    """From the cotangent of an output to those of its features and weights."""
    for entry in range(programs.entry_starts[output], programs.entry_starts[output + 1]):
        one, row = programs.features[entry], programs.rows[entry]
        for k in range(TILE):
            cotangents.feature[one, k] += cotangents.output[k] * tile.weight[row, k]
            cotangents.weight[row, k] += cotangents.output[k] * tile.feature[one, k]


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
def _contract_vjp(
    tile: Tile, cotangents: Tile, count: int, first: int, columns: int, start: int
) -> None:
    """From the cotangents of results to those of left cells and stored rows."""
    stored, left, left_cotangent, given = tile.stored, tile.left, cotangents.left, cotangents.result
    kind = stored.dtype.type
    for column in range(columns):
        at, row = start + column, first + column
        a = kind(given[at])
        b = kind(given[at + columns]) if count > 1 else kind(0)
        c = kind(given[at + 2 * columns]) if count > 2 else kind(0)
        d = kind(given[at + 3 * columns]) if count > 3 else kind(0)
        for k in range(TILE):
            one = stored[row, k]
            two = c * left[2, k] + d * left[3, k]
            cotangents.stored[row, k] += a * left[0, k] + b * left[1, k] + two
            left_cotangent[0, k] += a * one
            left_cotangent[1, k] += b * one
            left_cotangent[2, k] += c * one
            left_cotangent[3, k] += d * one


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
def _put_vjp(cotangents: Tile, target: int, ahead: int) -> None:
    """The cotangent of an output, from where the output went."""
    given = cotangents.output.dtype.type(
        cotangents.result[-1 - target + ahead] if target < 0 else 0
    )
    for k in range(TILE):
        cotangents.output[k] = given
    if target >= 0:
        for k in range(TILE):
            cotangents.output[k] = cotangents.stored[target + ahead, k]
            cotangents.stored[target + ahead, k] = 0


@_inner
def _job(
    programs: Programs, work: Work, job: int, vjp: bool, back: bool,
    decoded: Ints, tile: Tile, cotangents: Tile,
) -> None:  # fmt: skip
    """One job: its outputs (for a vjp, the stored ones); or back from their cotangents."""
    program, low, high = work.programs[job], work.lows[job], work.highs[job]
    slots = programs.slots[programs.slot_starts[program] : programs.slot_starts[program + 1]]
    attribute, end = work.attribute_starts[job], work.attribute_starts[job + 1]
    last = end - attribute - 1
    rows, others = decoded[: last + 1], decoded[: max(0, last)]
    size = work.sizes[end - 1] if last >= 0 else 1
    for cell in range(low, high):
        # The last attribute changes fastest; products over the others are kept. On the way back,
        # a job that is alone finds everything as it was.
        if not (back and work.alone):
            if cell == low or cell % size == 0:
                rest = cell
                for position in range(last, -1, -1):
                    categories = work.sizes[attribute + position]
                    rows[position] = work.firsts[attribute + position] + rest % categories
                    rest //= categories
                for slot in slots:
                    _multiply_kinds(programs, slot, others, tile)
            else:
                rows[last] += 1
            _grow(programs, program, rows[last] if last >= 0 else -1, tile)
        for place in range(work.target_starts[job], work.target_starts[job + 1]):
            output = programs.output_starts[program] + place - work.target_starts[job]
            if back:
                _put_vjp(cotangents, work.targets[place], cell - low)
                _combine_vjp(programs, output, tile, cotangents)
            elif not vjp or work.targets[place] >= 0:
                _combine(programs, output, tile)
                _put(tile, work.targets[place], cell - low)
        if back:
            _grow_vjp(programs, program, rows[last] if last >= 0 else -1, tile, cotangents)
            if cell == high - 1 or (cell + 1) % size == 0:
                for slot in slots:
                    _multiply_kinds_vjp(programs, slot, others, tile, cotangents)


@_inner
def _stack(work: Work, stack: int, vjp: bool, tile: Tile, cotangents: Tile) -> None:
    """One stack: its results; or, for a vjp, from their cotangents to those of table and stored."""
    low, high = work.left_starts[stack], work.left_starts[stack + 1]
    columns, first = work.stack_columns[stack], work.stack_firsts[stack]
    starts = work.left_row_starts
    for cell in range(low, high, 4):
        count, start = min(4, high - cell), work.stack_starts[stack] + (cell - low) * columns
        # Where fewer than four are left, the others are from before, and not asked for.
        for i in range(count):
            rows = work.left_rows[starts[cell + i] : starts[cell + i + 1]]
            _multiply(tile.table, rows, 0, tile.left[i])
        if not vjp:
            _contract(tile, count, first, columns, start)
            continue
        _contract_vjp(tile, cotangents, count, first, columns, start)
        for i in range(count):
            rows = work.left_rows[starts[cell + i] : starts[cell + i + 1]]
            _multiply_vjp(tile.table, rows, 0, tile.left[i], cotangents.left[i], cotangents.table)


@_outer
def sweep(
    programs: Programs, work: Work, chosen: Ints, vjp: bool,
    decoded: Ints, tile: Tile, cotangents: Tile,
) -> None:  # fmt: skip
    """Add the results of all jobs and stacks; or, for a vjp, the cotangents of the table.

    chosen: which jobs; where jobs are alone, which stacks as well.
    decoded: (attributes,) room for row numbers.
    tile, cotangents: results are added to the tile's; for a vjp, their cotangents are given in
        `cotangents`, and those of the table are added there.
    """
    _weigh(programs, tile)
    # Outputs go ahead, because left cells are multiplied by them; then cotangents come back. Jobs
    # that are alone go there and back one by one, the others together.
    for turn in range(len(chosen) if work.alone else 1):
        low, high, stack, end = 0, len(chosen), 0, len(work.stack_firsts)
        if work.alone:
            low, high, job = turn, turn + 1, chosen[turn]
            stack, end = work.job_stacks[job], work.job_stacks[job + 1]
        for back in range(2 if vjp else 1):
            for at in range(low, high):
                if back or not vjp or work.stores[chosen[at]]:
                    _job(programs, work, chosen[at], vjp, back == 1, decoded, tile, cotangents)
            while stack < end:
                _stack(work, stack, vjp, tile, cotangents)
                stack += 1
    if vjp:
        _weigh_vjp(programs, cotangents)
