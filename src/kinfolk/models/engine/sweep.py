"""Compiled passes over all cells of attribute sets: member factors and their gradient."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from kinfolk.models.engine.members import Programs
from kinfolk.models.engine.tile import (
    FAST,
    TILE,
    Floats,
    Tile,
    add_back,
    combine,
    grow,
    load,
    multiply,
    new_tile,
    uncombine,
    ungrow,
    unmultiply,
)
from kinfolk.models.layout import Ints


class Jobs(NamedTuple):
    """Attribute sets to work through, a range of cells each, as flat arrays."""

    programs: Ints
    """(jobs,) which features and outputs."""
    attribute_starts: Ints
    """(jobs + 1,) where the set's attributes begin in the next two."""
    firsts: Ints
    """The attribute's first row in the first slot,"""
    sizes: Ints
    """and how many rows it has."""
    lows: Ints
    highs: Ints
    """(jobs,) the cells to work through, low to high - 1."""
    target_starts: Ints
    """(jobs + 1,) where the set's outputs begin in `targets`."""
    targets: Ints
    """Where the output's cells go: from this row on; or, negative, into sums from -1 - this on."""


@numba.njit(cache=True, nogil=True)
def _decode(jobs: Jobs, job: int, cell: int, rows: Ints) -> None:
    """The rows of a cell's attributes, in their order."""
    first, last = jobs.attribute_starts[job], jobs.attribute_starts[job + 1]
    for position in range(last - 1, first - 1, -1):
        rows[position - first] = jobs.firsts[position] + cell % jobs.sizes[position]
        cell //= jobs.sizes[position]


@numba.njit(cache=True, nogil=True)
def _count(jobs: Jobs, job: int) -> int:
    return jobs.attribute_starts[job + 1] - jobs.attribute_starts[job]


@numba.njit(cache=True, nogil=True)
def _turns(jobs: Jobs, job: int, cell: int) -> bool:
    """Whether an attribute other than the last differs from the cell before."""
    last = jobs.attribute_starts[job + 1] - 1
    if cell == jobs.lows[job] or last < jobs.attribute_starts[job]:
        return True
    return cell % jobs.sizes[last] == 0


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def _open(programs: Programs, program: int, rows: Ints, count: int, tile: Tile) -> None:
    """Outer products: over all attributes but the last, for every slot."""
    for index in range(programs.slot_starts[program], programs.slot_starts[program + 1]):
        slot = programs.slots[index]
        multiply(tile.table, rows, count - 1, slot * programs.slot_rows, tile.outer[slot])


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def _close(
    programs: Programs, program: int, rows: Ints, count: int, tile: Tile, pull: Tile
) -> None:
    """The inverse of `_open`; the pulls on outer products are used up."""
    for index in range(programs.slot_starts[program], programs.slot_starts[program + 1]):
        slot = programs.slots[index]
        shift = slot * programs.slot_rows
        unmultiply(tile.table, rows, count - 1, shift, pull.outer[slot], pull.table)
        for k in range(TILE):
            pull.outer[slot, k] = 0


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def _widen(programs: Programs, program: int, rows: Ints, count: int, tile: Tile) -> None:
    """Features of one member: outer products times the last attribute's row."""
    for index in range(programs.slot_starts[program], programs.slot_starts[program + 1]):
        slot = programs.slots[index]
        for k in range(TILE):
            tile.feature[slot, k] = tile.outer[slot, k]
        if count > 0:
            row = rows[count - 1] + slot * programs.slot_rows
            for k in range(TILE):
                tile.feature[slot, k] *= tile.table[row, k]


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def _narrow(
    programs: Programs, program: int, rows: Ints, count: int, tile: Tile, pull: Tile
) -> None:
    """The inverse of `_widen`; the pulls on features are used up."""
    for index in range(programs.slot_starts[program], programs.slot_starts[program + 1]):
        slot = programs.slots[index]
        if count > 0:
            row = rows[count - 1] + slot * programs.slot_rows
            for k in range(TILE):
                pull.table[row, k] += pull.feature[slot, k] * tile.outer[slot, k]
            for k in range(TILE):
                pull.outer[slot, k] += pull.feature[slot, k] * tile.table[row, k]
        for k in range(TILE):
            pull.feature[slot, k] = 0


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def _forward(
    table: Floats, weights: Floats, programs: Programs, jobs: Jobs,
    start: int, out: Floats, sums: Floats,
) -> None:  # fmt: skip
    """One tile of `forward`."""
    tile = new_tile(programs, table, weights)
    load(table, start, tile.table)
    load(weights, start, tile.weight)
    width = min(TILE, table.shape[1] - start)
    rows = np.empty(len(jobs.firsts), np.int64)
    for job in range(len(jobs.programs)):
        program, low = jobs.programs[job], jobs.lows[job]
        first_output = programs.output_starts[program]
        count = _count(jobs, job)
        for cell in range(low, jobs.highs[job]):
            if _turns(jobs, job, cell):
                _decode(jobs, job, cell, rows)
                _open(programs, program, rows, count, tile)
            else:
                rows[count - 1] += 1
            _widen(programs, program, rows, count, tile)
            grow(programs, program, tile)
            for output in range(first_output, programs.output_starts[program + 1]):
                target = jobs.targets[jobs.target_starts[job] + output - first_output]
                combine(programs, output, tile)
                if target < 0:
                    total = 0.0
                    for k in range(TILE):
                        total += tile.total[k]
                    sums[-1 - target + cell - low] = total
                else:
                    for k in range(width):
                        out[target + cell - low, start + k] = tile.total[k]


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def _backward(
    table: Floats, weights: Floats, programs: Programs, jobs: Jobs,
    start: int, out_pull: Floats, sums_pull: Floats, table_pull: Floats, weights_pull: Floats,
) -> None:  # fmt: skip
    """One tile of `backward`."""
    tile = new_tile(programs, table, weights)
    pull = new_tile(programs, table, weights)
    load(table, start, tile.table)
    load(weights, start, tile.weight)
    width = min(TILE, table.shape[1] - start)
    rows = np.empty(len(jobs.firsts), np.int64)
    for job in range(len(jobs.programs)):
        program, low = jobs.programs[job], jobs.lows[job]
        first_output = programs.output_starts[program]
        count = _count(jobs, job)
        for cell in range(low, jobs.highs[job]):
            if _turns(jobs, job, cell):
                if cell > low:
                    _close(programs, program, rows, count, tile, pull)
                _decode(jobs, job, cell, rows)
                _open(programs, program, rows, count, tile)
            else:
                rows[count - 1] += 1
            _widen(programs, program, rows, count, tile)
            grow(programs, program, tile)
            for output in range(first_output, programs.output_starts[program + 1]):
                target = jobs.targets[jobs.target_starts[job] + output - first_output]
                if target < 0:
                    for k in range(TILE):
                        pull.total[k] = sums_pull[-1 - target + cell - low]
                else:
                    for k in range(width):
                        pull.total[k] = out_pull[target + cell - low, start + k]
                    for k in range(width, TILE):
                        pull.total[k] = 0
                uncombine(programs, output, tile, pull)
            ungrow(programs, program, tile, pull)
            _narrow(programs, program, rows, count, tile, pull)
        if jobs.highs[job] > low:
            _close(programs, program, rows, count, tile, pull)
    add_back(pull.table, start, table_pull)
    add_back(pull.weight, start, weights_pull)


@numba.njit(cache=True, nogil=True, parallel=True)
def forward(
    table: Floats, weights: Floats, programs: Programs, jobs: Jobs, out: Floats, sums: Floats
) -> None:
    """Work out the outputs of all jobs.

    table: (rows, K) the stacked probabilities.
    weights: (weights, K) the composition weights of entries.
    out: (out rows, K) outputs that are wanted by component.
    sums: (tiles, sums) outputs that are wanted as sums, over the components of each tile.
    """
    for index in numba.prange(len(sums)):
        _forward(table, weights, programs, jobs, index * TILE, out, sums[index])


@numba.njit(cache=True, nogil=True, parallel=True)
def backward(
    table: Floats, weights: Floats, programs: Programs, jobs: Jobs,
    out_pull: Floats, sums_pull: Floats, table_pull: Floats, weights_pull: Floats,
) -> None:  # fmt: skip
    """Add the gradient of all jobs: of the loss by the table and by the weights.

    out_pull: (out rows, K), sums_pull: (sums,) the gradient by the outputs.
    table_pull: (rows, K), weights_pull: (weights, K) where the gradient is added.
    """
    for index in numba.prange((table.shape[1] + TILE - 1) // TILE):
        _backward(
            table, weights, programs, jobs, index * TILE,
            out_pull, sums_pull, table_pull, weights_pull,
        )  # fmt: skip
