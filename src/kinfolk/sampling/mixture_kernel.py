# mypy: disallow-untyped-decorators=False
"""The compiled loops that draw groups from the components of a mixture."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from kinfolk.sampling.streams import draw, shuffle, spread

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.integer[Any]]
Seeds = npt.NDArray[np.uint64]


@numba.njit(cache=True, nogil=True)
def draw_compositions(
    columns: Floats,
    components: Ints,
    starts: Ints,
    compositions: int,
    stratified: bool,
    seeds: Seeds,
    out: Ints,
) -> None:
    """Choose every group's composition, component by component.

    columns: (K, rows) the components' distributions; the first rows are the compositions'.
    components: (active,) the components that have groups; starts: (active + 1,) where they begin.
    seeds: (active + 1,) a seed for each of them, and one for all.
    out: (groups,) the result.
    """
    first = spread(len(components), seeds[-1:].copy())
    for active in range(len(components)):
        state = seeds[active : active + 1].copy()
        begin, end = starts[active], starts[active + 1]
        draw(
            columns[components[active], :compositions],
            first[active] if stratified else -1.0,
            state,
            out[begin:end],
            end - begin,
        )


@numba.njit(cache=True, nogil=True, parallel=True)
def draw_attributes(
    columns: Floats,
    components: Ints,
    starts: Ints,
    group_segments: Ints,
    slot_segments: Ints,
    mult: Ints,
    slot_first: Ints,
    slot_roles: Ints,
    composition: Ints,
    place: Ints,
    first_row: Ints,
    stratified: bool,
    seeds: Seeds,
    group: Codes,
    individual: Codes,
    role: Codes,
) -> None:
    """Draw the attributes of all groups and their members, component by component.

    Within a component, one attribute of one place in the group (the second member of a slot, say)
    is drawn for all groups at once, at equally spaced points, and dealt out in random order. So
    every category comes up its share of times, while the attributes and members of any one group
    are independent, as the model says.

    columns, components, starts: as in `draw_compositions`.
    group_segments: (group attributes + 1,) the rows of each group attribute.
    slot_segments: (slots, individual attributes + 1) the rows of each individual attribute.
    mult, slot_first: (compositions, slots) how many members a slot gives, and how many come before.
    slot_roles: (slots,) the role of each slot's members.
    composition, place, first_row: (groups,) in the order of components: what the group is, where it
        goes, and the row of its first member.
    seeds: (active + 1,) a seed for each component, and one for all.
    group, individual, role: (groups, attributes), (people, attributes), (people,) the result.
    """
    attributes = len(group_segments) - 1
    personal = slot_segments.shape[1] - 1
    turns = np.array([mult[:, slot].max() for slot in range(mult.shape[1])])
    firsts = np.full((attributes + turns.sum() * personal, len(components)), -1.0)
    if stratified:
        common = seeds[-1:].copy()
        for variable in range(len(firsts)):
            firsts[variable] = spread(len(components), common)
    for active in numba.prange(len(components)):
        column = columns[components[active]]
        state = seeds[active : active + 1].copy()
        begin, end = starts[active], starts[active + 1]
        drawn = np.empty(end - begin, np.uint16)
        rows = np.empty(end - begin, np.int64)
        for attribute in range(attributes):
            low, high = group_segments[attribute], group_segments[attribute + 1]
            _deal(column[low:high], firsts[attribute, active], state, drawn, end - begin)
            for g in range(begin, end):
                group[place[g], attribute] = drawn[g - begin]
        variable = attributes
        for slot in range(len(turns)):
            for turn in range(turns[slot]):
                found = 0
                for g in range(begin, end):
                    if mult[composition[g], slot] > turn:
                        rows[found] = first_row[g] + slot_first[composition[g], slot] + turn
                        role[rows[found]] = slot_roles[slot]
                        found += 1
                for attribute in range(personal):
                    low, high = slot_segments[slot, attribute], slot_segments[slot, attribute + 1]
                    _deal(column[low:high], firsts[variable, active], state, drawn, found)
                    variable += 1
                    for member in range(found):
                        individual[rows[member], attribute] = drawn[member]


@numba.njit(cache=True, nogil=True)
def _deal(probabilities: Floats, start: float, state: Seeds, drawn: Codes, number: int) -> None:
    """Draw categories and deal them out in random order."""
    draw(probabilities, start, state, drawn, number)
    if start >= 0:
        shuffle(drawn, number, state)
