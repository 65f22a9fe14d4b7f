# mypy: disallow-untyped-decorators=False
"""The compiled loops over all groups: what they add to queries, and how they are reweighted."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kinfolk._typing import Bools, Codes, Floats, Ints
from kinfolk.compiled import compiled

GROUP, INDIVIDUAL, RELATION = 0, 1, 2
LEVELS = {"group": GROUP, "individual": INDIVIDUAL, "relation": RELATION}
"""How the loops call the levels."""


@compiled()
def contributions(
    members: Codes,
    composition: Codes,
    sizes: Ints,
    roles: Codes,
    level: int,
    wanted: Bools,
    own: Bools,
    relative: Bools,
    ties: Ints,
) -> npt.NDArray[np.uint16]:
    """What every cast adds to one query: (casts,) numbers.

    members, composition, roles: as in `Universe`; sizes: (compositions,) members of each.
    wanted: (compositions,) which have a size that the query asks for.
    own, relative: (person kinds,) who matches the query, and whose relative does.
    ties: (ties, 2) a role, and the set of its relatives' roles as bits.
    """
    found = np.zeros(len(members), np.uint16)
    for cast in range(len(members)):
        kind = composition[cast]
        size = sizes[kind]
        if not wanted[kind]:
            continue
        added = 0
        if level != RELATION:
            for i in range(size):
                added += own[members[cast, i]]
            found[cast] = min(added, 1) if level == GROUP else added
            continue
        for tie in range(len(ties)):
            who, whom = ties[tie]
            for i in range(size):
                if roles[kind, i] != who or not own[members[cast, i]]:
                    continue
                for j in range(size):
                    related = j != i and (whom >> roles[kind, j]) & 1
                    if related and relative[members[cast, j]]:
                        added += 1
                        break
        found[cast] = added
    return found


@compiled()
def expectations(
    probabilities: Floats,
    members: Codes,
    composition: Codes,
    sizes: Ints,
    roles: Codes,
    level: int,
    own: Ints,
    relative: Ints,
    relative_cells: int,
    ties: Ints,
    smallest: int,
    out: Floats,
) -> None:
    """What one group adds to every cell of a marginal, by its size and its kind of household.

    probabilities: (casts, household kinds).
    own, relative: (person kinds,) the cell of a person, and of a relative.
    smallest: the smallest size.
    out: (sizes, cells, household kinds), added to; zero before.
    """
    seen = np.empty(members.shape[1], np.int64)
    for cast in range(len(members)):
        kind = composition[cast]
        size = sizes[kind]
        table = out[size - smallest]
        row = probabilities[cast]
        if level == INDIVIDUAL:
            for i in range(size):
                _add(table[own[members[cast, i]]], row)
            continue
        if level == GROUP:
            found = 0
            for i in range(size):
                cell = own[members[cast, i]]
                if not _among(seen, found, cell):
                    seen[found] = cell
                    found += 1
                    _add(table[cell], row)
            continue
        for tie in range(len(ties)):
            who, whom = ties[tie]
            for i in range(size):
                if roles[kind, i] != who:
                    continue
                first = own[members[cast, i]] * relative_cells
                found = 0
                for j in range(size):
                    if j == i or not (whom >> roles[kind, j]) & 1:
                        continue
                    cell = relative[members[cast, j]]
                    if not _among(seen, found, cell):
                        seen[found] = cell
                        found += 1
                        _add(table[first + cell], row)


@compiled(inline="always")
def _among(seen: Ints, found: int, cell: int) -> bool:
    met = False
    for position in range(found):
        met = met or seen[position] == cell
    return met


@compiled(inline="always")
def _add(total: Floats, row: Floats) -> None:
    for kind in range(len(row)):
        total[kind] += row[kind]


@compiled()
def tilt(
    probabilities: Floats,
    added: Codes,
    matching: Bools,
    size_index: Ints,
    factors: Floats,
    next_added: Codes,
    next_matching: Bools,
    masses: Floats,
) -> None:
    """Multiply every group's probability, in place, by its factor; and weigh the next query.

    Both in one pass, as memory is slower than arithmetic.

    probabilities: (casts, household kinds).
    added: (casts,) what a group adds to the query where its kind of household matches.
    matching: (household kinds,) which kinds match.
    size_index: (casts,) the cast's size, counted from the smallest.
    factors: (sizes, numbers) the factor of a group by its size and by what it adds to the query.
    next_added, next_matching: the same of another query.
    masses: (sizes, numbers) added to: how probable a size and a number of that query are together.
    """
    kinds = len(matching)
    elsewhere = not next_matching.all()
    last, number, total = 0, 0, 0.0
    for cast in range(len(added)):
        size = size_index[cast]
        inside, outside = factors[size, added[cast]], factors[size, 0]
        adding, other = 0.0, 0.0
        for kind in range(kinds):
            value = probabilities[cast, kind] * (inside if matching[kind] else outside)
            probabilities[cast, kind] = value
            if next_matching[kind]:
                adding += value
            else:
                other += value
        # Neighbours mostly add the same: a sum in a register does not wait for memory.
        if size != last or next_added[cast] != number:
            masses[last, number] += total
            last, number, total = size, next_added[cast], 0.0
        total += adding
        # A sum of its own, so that it is no small difference of large ones.
        if elsewhere:
            masses[size, 0] += other
    masses[last, number] += total
