"""The compiled counting loop.

Threads take whole blocks, so each part of the counts has one writer and the result does not depend
on their number. Inside a block, tiles of groups keep the scratch cells in the processor's cache.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.integer[Any]]

TILE = 2048
"""Groups per tile."""

GROUP, INDIVIDUAL, RELATION = 0, 1, 2


@numba.njit(cache=True, nogil=True)
def _cells(
    codes: Codes,
    start: int,
    stop: int,
    attributes: Ints,
    sizes: Ints,
    first: int,
    last: int,
    out: Ints,
) -> None:
    """Mixed-radix cells of rows start..stop over attributes[first:last], into out."""
    for row in range(stop - start):
        out[row] = 0
    for position in range(first, last):
        column = codes[attributes[position]]
        size = sizes[position]
        for row in range(stop - start):
            out[row] = out[row] * size + column[start + row]


@numba.njit(cache=True, nogil=True, parallel=True)
def count_blocks(
    group_codes: Codes,
    individual_codes: Codes,
    role: Codes,
    offsets: Ints,
    level: Ints,
    spans: Ints,
    attributes: Ints,
    sizes: Ints,
    starts: Ints,
    entries: Ints,
    ties: Ints,
    weights: Ints,
    counts: Ints,
) -> None:
    """Add every group's contribution to every block.

    group_codes: (group attributes + 1, groups) codes, the size last.
    individual_codes: (individual attributes, people) codes.
    role: (people,) role indices; zeros where there are none.
    offsets: (groups + 1,) where each group's members begin.
    level: (blocks,) GROUP, INDIVIDUAL or RELATION.
    spans: (blocks, 4) where the group, individual and relative parts of `attributes` begin and end.
    attributes, sizes: positions and categories of the attributes of all blocks, end to end.
    starts: (blocks,) where the block's counts begin.
    entries: (blocks, 2) the block's range of `ties`.
    ties: (ties, 2) a role, and the set of its relatives' roles as bits.
    weights: (blocks, sizes + 1) what a group of each size adds.
    counts: (queries,) the result is added here.
    """
    groups = len(offsets) - 1
    for block in numba.prange(len(level)):
        first, second, third, last = spans[block]
        individual_cells = 1
        for position in range(second, third):
            individual_cells *= sizes[position]
        relative_cells = 1
        for position in range(third, last):
            relative_cells *= sizes[position]
        weight = weights[block]
        base = starts[block]
        group_cell = np.empty(TILE, np.int64)
        cell = np.empty(0, np.int64)
        relative_cell = np.empty(0, np.int64)
        for tile in range(0, groups, TILE):
            end = min(tile + TILE, groups)
            low, high = offsets[tile], offsets[end]
            if len(cell) < high - low:
                cell = np.empty(high - low, np.int64)
                relative_cell = np.empty(high - low, np.int64)
            _cells(group_codes, tile, end, attributes, sizes, first, second, group_cell)
            _cells(individual_codes, low, high, attributes, sizes, second, third, cell)
            if level[block] == RELATION:
                _cells(individual_codes, low, high, attributes, sizes, third, last, relative_cell)
            for g in range(tile, end):
                here = base + group_cell[g - tile] * individual_cells * relative_cells
                a, b = offsets[g] - low, offsets[g + 1] - low
                amount = weight[b - a]
                if level[block] == INDIVIDUAL:
                    for i in range(a, b):
                        counts[here + cell[i]] += amount
                elif level[block] == GROUP:
                    if second == third:
                        counts[here] += amount
                        continue
                    for i in range(a, b):
                        # A group counts once per cell, for the first member that fills it.
                        fresh = True
                        for j in range(a, i):
                            if cell[j] == cell[i]:
                                fresh = False
                                break
                        if fresh:
                            counts[here + cell[i]] += amount
                else:
                    for tie in range(entries[block, 0], entries[block, 1]):
                        who, relatives = ties[tie]
                        for i in range(a, b):
                            if role[low + i] != who:
                                continue
                            mine = here + cell[i] * relative_cells
                            for j in range(a, b):
                                if j == i or not (relatives >> role[low + j]) & 1:
                                    continue
                                # A person counts once per cell, however many relatives fill it.
                                fresh = True
                                for other in range(a, j):
                                    if (
                                        other != i
                                        and (relatives >> role[low + other]) & 1
                                        and relative_cell[other] == relative_cell[j]
                                    ):
                                        fresh = False
                                        break
                                if fresh:
                                    counts[mine + relative_cell[j]] += amount
