"""The compiled counting loop.

Marginals that share their individual and relative parts form a family: who counts in which cell is
worked out once for all of them, as a list of entries, and only the group part differs between them.
Threads take whole families, so each part of the counts has one writer and the result does not
depend on their number. Tiles of whole groups keep the lists in the processor's cache.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from kinfolk._typing import Codes, Ints
from kinfolk.compiled import compiled
from kinfolk.schema import Level

PEOPLE = 8192
"""People in a tile, unless one group has more."""
PAIRS = 65536
"""Pairs of relatives in a tile, unless one group has more."""

GROUP, INDIVIDUAL, RELATION = 0, 1, 2
LEVELS = {Level.GROUP: GROUP, Level.INDIVIDUAL: INDIVIDUAL, Level.RELATION: RELATION}
"""How compiled loops call the levels."""


class Groups(NamedTuple):
    """Whole groups to be counted."""

    group_codes: Codes
    """(group attributes + 1, groups) codes, the size last."""
    individual_codes: Codes
    """(individual attributes + 1, people) codes, the role last."""
    role: Codes
    """(people,) role indices; zeros where there are none."""
    offsets: Ints
    """(groups + 1,) where each group's members begin."""


class Families(NamedTuple):
    """A workload by families, as flat arrays."""

    level: Ints
    """(families,) GROUP, INDIVIDUAL or RELATION."""
    spans: Ints
    """(families, 3) where the individual part of `attributes` begins, where the relative part does,
    and where that ends."""
    tie_spans: Ints
    """(families, 2) the family's range of `ties`."""
    weights: Ints
    """(families, sizes + 1) what a group of each size adds."""
    members: Ints
    """(families + 1,) where the family's marginals begin."""
    group_spans: Ints
    """(marginals, 2) the group part of `attributes`."""
    starts: Ints
    """(marginals,) where the marginal's counts begin."""
    attributes: Ints
    sizes: Ints
    """Positions and categories of the attributes of all parts, end to end."""
    ties: Ints
    """(ties, 2) a role, and the set of its relatives' roles as bits."""


@compiled()
def _product(sizes: Ints, first: int, last: int) -> int:
    """How many cells the attributes first..last have together."""
    cells = 1
    for position in range(first, last):
        cells *= sizes[position]
    return cells


@compiled()
def _cells(
    codes: Codes,
    start: int,
    stop: int,
    attributes: Ints,
    sizes: Ints,
    first: int,
    last: int,
    out: Codes,
) -> None:
    """Mixed-radix cells of rows start..stop over attributes[first:last], into out."""
    for row in range(stop - start):
        out[row] = 0
    for position in range(first, last):
        column = codes[attributes[position]]
        size = np.uint32(sizes[position])
        for row in range(stop - start):
            out[row] = out[row] * size + column[start + row]


@compiled()
def _tile_end(offsets: Ints, start: int, reach: int) -> int:
    """Where a tile of whole groups ends; it holds at least one.

    reach: the number of ties of a relation, which bounds its pairs of relatives; 0 without any.
    """
    pairs, end = 0, start
    while end < len(offsets) - 1:
        size = offsets[end + 1] - offsets[end]
        pairs += reach * size * size
        if end > start and (offsets[end + 1] - offsets[start] > PEOPLE or pairs > PAIRS):
            break
        end += 1
    return end


@compiled()
def _once_per_group(
    group_of: Codes,
    people: int,
    cell: Codes,
    met: Ints,
    now: int,
    entry_group: Codes,
    entry_cell: Codes,
) -> int:
    """One entry for every cell that a group fills, for the first member that fills it."""
    entries = 0
    for i in range(people):
        entry_group[entries] = group_of[i]
        entry_cell[entries] = cell[i]
        turn = now + group_of[i]
        entries += met[cell[i]] != turn
        met[cell[i]] = turn
    return entries


@compiled()
def _relatives(
    offsets: Ints,
    role: Codes,
    start: int,
    stop: int,
    ties: Ints,
    first: int,
    last: int,
    pairs: Codes,
) -> int:
    """Who has whom as a relative, within groups start..stop, by ties[first:last].

    pairs: (3, room) the person, the relative, and the first pair of the same person and tie.
    """
    low, found = offsets[start], 0
    for g in range(start, stop):
        for tie in range(first, last):
            who, whom = ties[tie]
            for i in range(offsets[g], offsets[g + 1]):
                if role[i] != who:
                    continue
                turn = found
                for j in range(offsets[g], offsets[g + 1]):
                    if j != i and (whom >> role[j]) & 1:
                        pairs[0, found] = i - low
                        pairs[1, found] = j - low
                        pairs[2, found] = turn
                        found += 1
    return found


@compiled()
def _once_per_person(
    group_of: Codes,
    pairs: Codes,
    found: int,
    cell: Codes,
    relative_cell: Codes,
    relative_cells: int,
    met: Ints,
    now: int,
    entry_group: Codes,
    entry_cell: Codes,
) -> int:
    """One entry for every cell that a person's relatives fill, however many of them fill it."""
    entries = 0
    for pair in range(found):
        i, theirs = pairs[0, pair], relative_cell[pairs[1, pair]]
        entry_group[entries] = group_of[i]
        entry_cell[entries] = cell[i] * relative_cells + theirs
        turn = now + pairs[2, pair]
        entries += met[theirs] != turn
        met[theirs] = turn
    return entries


@compiled()
def _room(offsets: Ints, level: Ints, spans: Ints, tie_spans: Ints, sizes: Ints) -> tuple[int, ...]:
    """The most people, pairs and cells met of a tile, and the most ties of a relation."""
    largest, reach, met = 1, 0, 1
    for g in range(len(offsets) - 1):
        largest = max(largest, offsets[g + 1] - offsets[g])
    for family in range(len(level)):
        first, second, last = spans[family]
        reach = max(reach, tie_spans[family, 1] - tie_spans[family, 0])
        if level[family] == GROUP:
            met = max(met, _product(sizes, first, last))
        elif level[family] == RELATION:
            met = max(met, _product(sizes, second, last))
    pairs = max(PAIRS, reach * largest * largest) if reach else 0
    return max(PEOPLE, largest), pairs, met, reach


@compiled(parallel=True)
def count_families(groups: Groups, families: Families, workers: int, counts: Ints) -> None:
    """Add every group's contribution to every marginal.

    workers: how many threads share the families.
    counts: (queries,) the result is added here.
    """
    group_codes, individual_codes, role, offsets = groups
    level, spans, tie_spans, weights, members, group_spans, starts, attributes, sizes, ties = (
        families
    )
    number = len(offsets) - 1
    people_room, pair_room, cell_room, reach = _room(offsets, level, spans, tie_spans, sizes)
    for worker in numba.prange(workers):
        group_of = np.empty(people_room, np.uint32)
        cell = np.empty(people_room, np.uint32)
        relative_cell = np.empty(people_room, np.uint32)
        group_cell = np.empty(people_room, np.uint32)
        here = np.empty(people_room, np.int64)
        amount = np.empty(people_room, np.int64)
        pairs = np.empty((3, pair_room), np.uint32)
        entry_group = np.empty(max(people_room, pair_room), np.uint32)
        entry_cell = np.empty(max(people_room, pair_room), np.uint32)
        # The turn in which a cell was last met. Turns never repeat, so nothing is ever cleared.
        met = np.zeros(cell_room, np.int64)
        now = 1
        start = 0
        while start < number:
            stop = _tile_end(offsets, start, reach)
            low, high = offsets[start], offsets[stop]
            for g in range(start, stop):
                for i in range(offsets[g] - low, offsets[g + 1] - low):
                    group_of[i] = g - start
            found, relation = 0, -1
            for family in range(worker, len(level), workers):
                first, second, last = spans[family]
                inner = _product(sizes, first, last)
                _cells(individual_codes, low, high, attributes, sizes, first, second, cell)
                if first == last:
                    entries = stop - start
                    for g in range(entries):
                        entry_group[g] = g
                        entry_cell[g] = 0
                elif level[family] == INDIVIDUAL:
                    entries = high - low
                    for i in range(entries):
                        entry_group[i] = group_of[i]
                        entry_cell[i] = cell[i]
                elif level[family] == GROUP:
                    entries = _once_per_group(
                        group_of, high - low, cell, met, now, entry_group, entry_cell
                    )
                    now += stop - start
                else:
                    opening, closing = tie_spans[family]
                    if opening != relation:
                        relation = opening
                        found = _relatives(
                            offsets, role, start, stop, ties, opening, closing, pairs
                        )
                    _cells(
                        individual_codes, low, high, attributes, sizes, second, last, relative_cell
                    )
                    entries = _once_per_person(
                        group_of,
                        pairs,
                        found,
                        cell,
                        relative_cell,
                        _product(sizes, second, last),
                        met,
                        now,
                        entry_group,
                        entry_cell,
                    )
                    now += found
                for g in range(stop - start):
                    size = offsets[start + g + 1] - offsets[start + g]
                    # Without an individual part, one entry stands for all members.
                    everybody = size if first == last and level[family] == INDIVIDUAL else 1
                    amount[g] = weights[family, size] * everybody
                for marginal in range(members[family], members[family + 1]):
                    opening, closing = group_spans[marginal]
                    _cells(
                        group_codes, start, stop, attributes, sizes, opening, closing, group_cell
                    )
                    for g in range(stop - start):
                        here[g] = starts[marginal] + np.int64(group_cell[g]) * inner
                    for entry in range(entries):
                        g = entry_group[entry]
                        # An unsigned index spares a test for negative ones.
                        counts[np.uint64(here[g] + np.int64(entry_cell[entry]))] += amount[g]
            start = stop
