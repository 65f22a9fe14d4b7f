# mypy: disallow-untyped-decorators=False
"""The compiled loops that draw groups from the components of a mixture."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from kinfolk.sampling.streams import draw, shuffle

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.integer[Any]]
Seeds = npt.NDArray[np.uint64]


@numba.njit(cache=True, nogil=True)
def draw_compositions(
    columns: Floats,
    components: Ints,
    starts: Ints,
    firsts: Floats,
    seeds: Seeds,
    compositions: int,
    out: Ints,
) -> None:
    """Choose every group's composition, component by component.

    columns: (K, rows) the components' distributions; the first rows are the compositions'.
    components: (active,) the components that have groups; starts: (active + 1,) where they begin.
    firsts: (active,) where the points begin; negative where draws are independent.
    seeds: (active,) a seed for each component.
    out: (groups,) the result, in the order of components.
    """
    for active in range(len(components)):
        state = seeds[active : active + 1].copy()
        begin, end = starts[active], starts[active + 1]
        column = columns[components[active]]
        draw(column[:compositions], firsts[active], state, out[begin:end])


@numba.njit(cache=True, nogil=True)
def draw_attributes(
    columns: Floats,
    components: Ints,
    starts: Ints,
    firsts: Floats,
    seeds: Seeds,
    low_component: int,
    high_component: int,
    group_segments: Ints,
    slot_segments: Ints,
    turns: Ints,
    mult: Ints,
    slot_first: Ints,
    slot_roles: Ints,
    composition: Ints,
    place: Ints,
    first_row: Ints,
    group: Codes,
    individual: Codes,
    role: Codes,
) -> None:
    """Draw the attributes of the groups of some components, and of their members.

    Within a component, one attribute of one place in the group (the second member of a slot, say)
    is drawn for all groups at once, at equally spaced points, and dealt out in random order. So
    every category comes up its share of times, while the attributes and members of any one group
    are independent, as the model says.

    columns, components, starts: as in `draw_compositions`.
    firsts: (variables, active) where the points begin; negative where draws are independent.
    seeds: (active,) a seed for each component.
    low_component, high_component: which of the active components this call draws.
    group_segments: (group attributes + 1,) the rows of each group attribute.
    slot_segments: (slots, individual attributes + 1) the rows of each individual attribute.
    turns: (slots,) how many members a slot gives at most.
    mult, slot_first: (compositions, slots) how many members a slot gives, and how many come before.
    slot_roles: (slots,) the role of each slot's members.
    composition, place, first_row: (groups,) in the order of components: what the group is, where it
        goes, and the row of its first member.
    group, individual, role: (groups, attributes), (people, attributes), (people,) the result.
    """
    attributes = len(group_segments) - 1
    personal = slot_segments.shape[1] - 1
    for active in range(low_component, high_component):
        column = columns[components[active]]
        state = seeds[active : active + 1].copy()
        begin, end = starts[active], starts[active + 1]
        drawn = np.empty(end - begin, np.int64)
        rows = np.empty(end - begin, np.int64)
        for attribute in range(attributes):
            low, high = group_segments[attribute], group_segments[attribute + 1]
            _deal(column[low:high], firsts[attribute, active], state, drawn)
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
                    _deal(column[low:high], firsts[variable, active], state, drawn[:found])
                    variable += 1
                    for member in range(found):
                        individual[rows[member], attribute] = drawn[member]


@numba.njit(cache=True, nogil=True)
def _deal(probabilities: Floats, start: float, state: Seeds, drawn: Codes) -> None:
    """Draw categories and deal them out in random order."""
    draw(probabilities, start, state, drawn)
    if start >= 0:
        shuffle(drawn, state)
