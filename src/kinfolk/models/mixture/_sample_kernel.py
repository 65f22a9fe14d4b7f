"""The compiled loops that draw groups from the components of a mixture."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk._typing import Codes, Floats, Ints
from kinfolk.compiled import compiled
from kinfolk.models._streams import draw, shuffle

Seeds = npt.NDArray[np.uint64]


class Draws(NamedTuple):
    """What is drawn from: the components of a mixture, each for the groups it has."""

    columns: Floats
    """(K, rows) the components' distributions; the first rows are the compositions'."""
    components: Ints
    """(active,) the components that have groups."""
    starts: Ints
    """(active + 1,) where their groups begin."""
    firsts: Floats
    """(variables, active) where the points begin; negative where draws are independent."""
    seeds: Seeds
    """(active,) a seed for each component."""


class Slots(NamedTuple):
    """The layout, as arrays."""

    group_segments: Ints
    """(group attributes + 1,) the rows of each group attribute."""
    kind_starts: Ints
    """(slots + 1,) the first kind of people of each slot."""
    kind_start: int
    """The row of how likely the first kind is; -1 where every slot has only one."""
    kind_segments: Ints
    """(kinds, individual attributes + 1) the rows of each individual attribute."""
    turns: Ints
    """(slots,) how many members a slot gives at most."""
    mult: Ints
    """(compositions, slots) how many members a slot gives,"""
    slot_first: Ints
    """and how many come before."""
    slot_roles: Ints
    """(slots,) the role of each slot's members."""


class Places(NamedTuple):
    """The groups in the order of components, (groups,) each."""

    composition: Ints
    """What the group is,"""
    place: Ints
    """where it goes,"""
    first_row: Ints
    """and the row of its first member."""


class Drawn(NamedTuple):
    """The result."""

    group: Codes
    """(groups, attributes)"""
    individual: Codes
    """(people, attributes)"""
    role: Codes
    """(people,)"""


@compiled()
def draw_compositions(draws: Draws, compositions: int, out: Ints) -> None:
    """Choose every group's composition, component by component: the first variable.

    out: (groups,) the result, in the order of components.
    """
    columns, components, starts, firsts, seeds = draws
    for active in range(len(components)):
        state = seeds[active : active + 1].copy()
        begin, end = starts[active], starts[active + 1]
        column = columns[components[active]]
        draw(column[:compositions], firsts[0, active], state, out[begin:end])


@compiled()
def draw_attributes(
    draws: Draws, slots: Slots, places: Places, low_component: int, high_component: int, out: Drawn
) -> None:
    """Draw the attributes of the groups of some components, and of their members.

    Within a component, one attribute of one place in the group (the second member of a slot, say)
    is drawn for all groups at once, at equally spaced points, and dealt out in random order. So
    every category comes up its share of times, while the attributes and members of any one group
    are independent, as the model says.

    low_component, high_component: which of the active components this call draws.
    """
    columns, components, starts, firsts, seeds = draws
    group_segments, kind_starts, kind_start, kind_segments = slots[:4]
    turns, mult, slot_first, slot_roles = slots[4:]
    composition, place, first_row = places
    group, individual, role = out
    attributes = len(group_segments) - 1
    personal = individual.shape[1]
    for active in range(low_component, high_component):
        column = columns[components[active]]
        state = seeds[active : active + 1].copy()
        begin, end = starts[active], starts[active + 1]
        drawn = np.empty(end - begin, np.int64)
        rows = np.empty(end - begin, np.int64)
        kinds = np.empty(end - begin, np.int64)
        of_kind = np.empty(end - begin, np.int64)
        for attribute in range(attributes):
            low, high = group_segments[attribute], group_segments[attribute + 1]
            _deal(column[low:high], firsts[1 + attribute, active], state, drawn)
            for g in range(begin, end):
                group[place[g], attribute] = drawn[g - begin]
        variable = 1 + attributes
        for slot in range(len(turns)):
            for turn in range(turns[slot]):
                found = 0
                for g in range(begin, end):
                    if mult[composition[g], slot] > turn:
                        rows[found] = first_row[g] + slot_first[composition[g], slot] + turn
                        role[rows[found]] = slot_roles[slot]
                        found += 1
                first_kind, end_kind = kind_starts[slot], kind_starts[slot + 1]
                if end_kind > first_kind + 1:
                    likely = column[kind_start + first_kind : kind_start + end_kind]
                    _deal(likely, firsts[variable, active], state, kinds[:found])
                else:
                    kinds[:found] = 0
                variable += 1
                for kind in range(first_kind, end_kind):
                    number = 0
                    for member in range(found):
                        if kinds[member] == kind - first_kind:
                            of_kind[number] = rows[member]
                            number += 1
                    for attribute in range(personal):
                        low = kind_segments[kind, attribute]
                        high = kind_segments[kind, attribute + 1]
                        start = firsts[variable + attribute, active]
                        _deal(column[low:high], start, state, drawn[:number])
                        for member in range(number):
                            individual[of_kind[member], attribute] = drawn[member]
                variable += personal


@compiled()
def _deal(probabilities: Floats, start: float, state: Seeds, drawn: Codes) -> None:
    """Draw categories and deal them out in random order."""
    draw(probabilities, start, state, drawn)
    if start >= 0:
        shuffle(drawn, state)
