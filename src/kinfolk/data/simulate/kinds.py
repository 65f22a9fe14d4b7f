"""What a household can be, and what a person can be in it.

The names follow IPUMS RELATE (related to the head), a little finer where the simulator has to
know more: a nephew and a cousin are both "other relative" there, but of different generations.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from kinfolk.data.simulate.draw import Ints


class Kind(IntEnum):
    """The kind of household; the first two are people in group quarters, one to a record."""

    INSTITUTION = 0
    QUARTERS = 1
    ALONE = 2
    COUPLE = 3
    COUPLE_CHILDREN = 4
    COHABITING = 5
    COHABITING_CHILDREN = 6
    LONE_PARENT = 7
    GRANDPARENT = 8
    SKIPPED_GENERATION = 9
    ELDER = 10
    KIN = 11
    ROOMMATES = 12


class Role(IntEnum):
    """The role of a person, in the order in which a household lists its members."""

    HEAD = 0
    SPOUSE = 1
    PARTNER = 2
    CHILD = 3
    CHILD_IN_LAW = 4
    GRANDCHILD = 5
    PARENT = 6
    PARENT_IN_LAW = 7
    SIBLING = 8
    SIBLING_IN_LAW = 9
    NEPHEW = 10
    COUSIN = 11
    LODGER = 12


OUTSIDE = 9
"""The generation of someone who is not family, and so belongs to none."""

GENERATION: Ints = np.array([1, 1, 1, 2, 2, 3, 0, 0, 1, 1, 2, 1, OUTSIDE])
"""The generation of each role, counted down from the parents of the head: (roles,)."""

CLOSE_FAMILY = np.array([True] * Role.LODGER + [False])
"""Roles that share origin and upbringing with the head: (roles,)."""


def is_quarters(kind: Ints) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Whether each record is a person in group quarters rather than a household."""
    return kind <= Kind.QUARTERS
