"""Who lives together: the kind of each household and how many members it has of each role.

All shares are round numbers chosen to look like published census tables for a populous state with
one very large city; none is estimated from a file.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinfolk.data.simulate.draw import Bools, Ints, coin, shares
from kinfolk.data.simulate.kinds import Kind, Role, is_quarters

MAX_MEMBERS = 10

# Per mille of all records, in the order of Kind. About one record in eleven is a person in group
# quarters; that is what brings the mean size from 2.4 per household down to 2.26 per record.
KIND_SHARE = (42, 48, 268, 188, 188, 38, 18, 100, 26, 5, 26, 20, 33)

# How much likelier each kind is for a head of each origin (rows in the order of origins.Origin)
# than for everyone.
KIND_TILT = (
    # inst. other alone couple +kids cohab +kids lone grand skip elder kin room
    (0.8, 1.1, 1.10, 1.20, 1.00, 1.1, 0.8, 0.65, 0.6, 0.7, 0.8, 0.7, 1.0),  # white
    (2.0, 1.0, 1.15, 0.55, 0.60, 0.8, 1.1, 1.90, 1.5, 2.2, 1.0, 1.3, 0.8),  # black
    (1.3, 0.8, 0.90, 0.70, 0.80, 1.2, 1.8, 1.60, 1.8, 2.2, 1.0, 1.3, 0.8),  # native
    (0.3, 1.4, 0.75, 1.00, 1.40, 0.6, 0.4, 0.55, 1.5, 0.4, 2.4, 1.3, 1.3),  # Chinese
    (0.3, 1.4, 1.20, 1.10, 1.10, 0.9, 0.5, 0.50, 0.5, 0.3, 0.9, 0.7, 1.4),  # Japanese
    (0.3, 0.9, 0.60, 1.00, 1.90, 0.5, 0.4, 0.55, 1.7, 0.4, 2.2, 1.5, 1.2),  # other Asian
    (0.7, 0.6, 0.40, 0.60, 1.60, 1.1, 2.8, 1.50, 1.4, 0.9, 0.8, 2.2, 1.6),  # Mexican
    (1.3, 0.7, 1.05, 0.65, 0.70, 1.0, 1.9, 1.90, 1.7, 1.8, 0.9, 1.2, 0.7),  # Puerto Rican
    (0.7, 0.7, 1.10, 1.00, 0.90, 1.0, 1.0, 1.00, 1.0, 0.8, 1.2, 0.9, 0.9),  # Cuban
    (0.8, 0.6, 0.65, 0.70, 1.10, 1.1, 2.1, 1.70, 1.8, 1.1, 1.2, 1.9, 1.2),  # other Hispanic
    (1.0, 1.0, 0.90, 0.80, 1.10, 1.0, 1.2, 1.30, 1.3, 1.0, 1.3, 1.3, 1.2),  # other
    (1.0, 1.6, 1.00, 0.70, 0.90, 1.4, 1.3, 1.20, 1.0, 1.0, 0.9, 1.1, 1.6),  # two or more
)
KINDS = shares(range(len(Kind)), *np.asarray(KIND_SHARE) * np.asarray(KIND_TILT))

# Children at home. A couple has more of them than a lone parent; very large families are rare.
CHILDREN = shares(
    range(9),
    (0, 400, 376, 150, 50, 14, 6, 3, 1),  # couple
    (0, 520, 320, 110, 36, 10, 3, 1, 0),  # unmarried couple
    (0, 560, 290, 105, 32, 9, 3, 1, 0),  # lone parent
    (0, 620, 290, 90, 0, 0, 0, 0, 0),  # with grandchildren: the middle generation and siblings
    (450, 250, 200, 80, 20, 0, 0, 0, 0),  # with an elderly parent
)
CHILDREN_ROW = {
    Kind.COUPLE_CHILDREN: 0,
    Kind.COHABITING_CHILDREN: 1,
    Kind.LONE_PARENT: 2,
    Kind.GRANDPARENT: 3,
    Kind.ELDER: 4,
}
GRANDCHILDREN = shares(range(1, 5), (53, 32, 11, 4))
SKIPPED_GRANDCHILDREN = shares(range(1, 4), (65, 25, 10))
SIBLINGS = shares(range(4), (25, 60, 12, 3))
LODGERS = shares(range(1, 6), (70, 19, 8, 2, 1))

SPOUSE_OF_GRANDPARENT = 0.50
SPOUSE_WHEN_SKIPPED = 0.45
SPOUSE_WITH_ELDER = 0.55
CHILD_IN_LAW = 0.30
BOTH_PARENTS = 0.20
PARENT_OF_SPOUSE = 0.35
NEPHEW_WITH_SIBLING = 0.25
SIBLING_IN_LAW = 0.12
COUSIN_AMONG_KIN = 0.20
EXTRA_COUSIN = 0.012
EXTRA_LODGER = 0.015


@dataclass(frozen=True, kw_only=True)
class Members:
    """The people of a block of households, one entry each, a household's members together."""

    household: Ints
    """The position of each person's household in the block: (people,)."""
    role: Ints
    """Each person's `Role`: (people,)."""
    rank: Ints
    """0 for the first of that role in the household, 1 for the next ...: (people,)."""

    def having(self, *roles: Role) -> Bools:
        """Which people have one of these roles: (people,)."""
        return np.isin(self.role, roles)


def choose_kinds(rng: np.random.Generator, origin: Ints) -> Ints:
    """The kind of each household, given the origin of its head: (households,)."""
    return KINDS.draw(rng, origin)


def count_roles(rng: np.random.Generator, kind: Ints) -> Ints:
    """How many members of each role every household has: (households, roles)."""
    size = len(kind)
    counts = np.zeros((size, len(Role)), dtype=np.int64)
    counts[:, Role.HEAD] = 1

    def where(chance: float, *kinds: Kind) -> Bools:
        return np.isin(kind, kinds) & coin(rng, chance, size)

    married = where(1.0, Kind.COUPLE, Kind.COUPLE_CHILDREN)
    married |= where(SPOUSE_OF_GRANDPARENT, Kind.GRANDPARENT)
    married |= where(SPOUSE_WHEN_SKIPPED, Kind.SKIPPED_GENERATION)
    married |= where(SPOUSE_WITH_ELDER, Kind.ELDER)
    counts[:, Role.SPOUSE] = married
    counts[:, Role.PARTNER] = where(1.0, Kind.COHABITING, Kind.COHABITING_CHILDREN)

    rows = np.full(len(Kind), -1)
    rows[list(CHILDREN_ROW)] = list(CHILDREN_ROW.values())
    parent = rows[kind] >= 0
    counts[parent, Role.CHILD] = CHILDREN.draw(rng, rows[kind][parent])
    counts[:, Role.CHILD_IN_LAW] = where(CHILD_IN_LAW, Kind.GRANDPARENT)
    _put(counts, Role.GRANDCHILD, kind == Kind.GRANDPARENT, GRANDCHILDREN.draw_many(rng, size))
    skipped = SKIPPED_GRANDCHILDREN.draw_many(rng, size)
    _put(counts, Role.GRANDCHILD, kind == Kind.SKIPPED_GENERATION, skipped)

    elders = 1 + coin(rng, BOTH_PARENTS, size)
    of_spouse = married & coin(rng, PARENT_OF_SPOUSE, size)
    _put(counts, Role.PARENT, (kind == Kind.ELDER) & ~of_spouse, elders)
    _put(counts, Role.PARENT_IN_LAW, (kind == Kind.ELDER) & of_spouse, elders)

    _put(counts, Role.SIBLING, kind == Kind.KIN, SIBLINGS.draw_many(rng, size))
    with_sibling = counts[:, Role.SIBLING] > 0
    counts[:, Role.SIBLING_IN_LAW] = with_sibling & coin(rng, SIBLING_IN_LAW, size)
    nephews = 1 + coin(rng, 0.4, size)
    _put(counts, Role.NEPHEW, with_sibling & coin(rng, NEPHEW_WITH_SIBLING, size), nephews)
    # A household of kin without a sibling is one with a more distant relative.
    counts[:, Role.COUSIN] = (kind == Kind.KIN) & ~with_sibling
    counts[:, Role.COUSIN] |= where(COUSIN_AMONG_KIN, Kind.KIN)
    _put(counts, Role.LODGER, kind == Kind.ROOMMATES, LODGERS.draw_many(rng, size))

    for role, chance in ((Role.COUSIN, EXTRA_COUSIN), (Role.LODGER, EXTRA_LODGER)):
        room = (counts.sum(axis=1) < MAX_MEMBERS) & ~is_quarters(kind) & (kind != Kind.ALONE)
        counts[:, role] += room & coin(rng, chance, size)
    return counts


def _put(counts: Ints, role: Role, where: Bools, number: Ints) -> None:
    """Write the numbers of one role for some households."""
    counts[where, role] = number[where]


def list_members(counts: Ints) -> Members:
    """Spell the counts out as people, in the order of the roles."""
    flat = counts.ravel()
    cell = np.repeat(np.arange(flat.size), flat)
    first = np.cumsum(flat) - flat
    household, role = np.divmod(cell, counts.shape[1])
    return Members(household=household, role=role, rank=np.arange(cell.size) - first[cell])
