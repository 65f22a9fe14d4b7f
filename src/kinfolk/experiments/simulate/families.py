"""Who lives together: kinds of household, how many members of each role, and their sexes.

All numbers are round, chosen to look like published census tables for a populous state with one
very large city; none is estimated from a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np

from kinfolk._typing import Bools, Floats, Ints
from kinfolk.experiments.simulate.draw import Shares, coin

Kind = IntEnum(
    "Kind",
    "INSTITUTION QUARTERS ALONE COUPLE COUPLE_CHILDREN COHABITING COHABITING_CHILDREN LONE_PARENT "
    "GRANDPARENT SKIPPED_GENERATION ELDER KIN ROOMMATES",
    start=0,
)
"""The kind of household; the first two are people in group quarters, one to a record."""

Role = IntEnum(
    "Role",
    "HEAD SPOUSE PARTNER CHILD CHILD_IN_LAW GRANDCHILD PARENT PARENT_IN_LAW SIBLING SIBLING_IN_LAW "
    "NEPHEW COUSIN LODGER",
    start=0,
)
"""The role of a person, in the order in which a household lists its members.

As IPUMS RELATE, a little finer: a nephew and a cousin are both "other relative" there, but of
different generations.
"""

OUTSIDE = 9
"""The generation of someone who is not family, and so belongs to none."""
GENERATION: Ints = np.array([1, 1, 1, 2, 2, 3, 0, 0, 1, 1, 2, 1, OUTSIDE])
"""The generation of each role, counted down from the parents of the head: (roles,)."""

MALE, FEMALE = 1, 2
MAX_MEMBERS = 10

# Per mille of all records, in the order of Kind. About one record in eleven is a person in group
# quarters; that is what brings the mean size from 2.4 per household down to 2.26 per record.
KIND_SHARE = (42, 48, 268, 188, 188, 38, 18, 100, 26, 5, 26, 20, 33)
# How much likelier each kind is for a head of each origin than for everyone.
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
KINDS = Shares.of(range(len(Kind)), *np.asarray(KIND_SHARE) * np.asarray(KIND_TILT))

# Children at home, and the row for each Kind (-1: none). Very large families are rare.
CHILDREN = Shares.of(
    range(9),
    (0, 400, 376, 150, 50, 14, 6, 3, 1),  # couple
    (0, 520, 320, 110, 36, 10, 3, 1, 0),  # unmarried couple
    (0, 560, 290, 105, 32, 9, 3, 1, 0),  # lone parent
    (0, 620, 290, 90, 0, 0, 0, 0, 0),  # with grandchildren: the middle generation and siblings
    (450, 250, 200, 80, 20, 0, 0, 0, 0),  # with an elderly parent
)
CHILDREN_ROW = np.array([-1, -1, -1, -1, 0, -1, 1, 2, 3, -1, 4, -1, -1])
GRANDCHILDREN = Shares.of(range(1, 5), (53, 32, 11, 4))
SKIPPED_GRANDCHILDREN = Shares.of(range(1, 4), (65, 25, 10))
SIBLINGS = Shares.of(range(4), (25, 60, 12, 3))
LODGERS = Shares.of(range(1, 6), (70, 19, 8, 2, 1))

# Share of men among heads, in the order of Kind.
MALE_HEAD = (0.62, 0.48, 0.44, 0.60, 0.58, 0.52, 0.46, 0.20, 0.32, 0.30, 0.48, 0.46, 0.54)


@dataclass(frozen=True, kw_only=True)
class Block:
    """Some households while they are made up, and their people, a household's members together."""

    rng: np.random.Generator
    region: Ints
    """The `Region` of each household: (households,)."""
    status: Floats
    """Its social status, in standard deviations: (households,)."""
    kind: Ints
    """Its `Kind`: (households,)."""
    counts: Ints
    """How many members it has of each `Role`: (households, roles)."""

    @cached_property
    def _cell(self) -> Ints:
        return np.repeat(np.arange(self.counts.size), self.counts.ravel())

    @cached_property
    def house(self) -> Ints:
        """The position of each person's household in the block: (people,)."""
        return self._cell // len(Role)

    @cached_property
    def role(self) -> Ints:
        """Each person's `Role`: (people,)."""
        return self._cell % len(Role)

    @cached_property
    def rank(self) -> Ints:
        """0 for the first of that role in the household, 1 for the next ...: (people,)."""
        flat = self.counts.ravel()
        rank: Ints = np.arange(self.people) - (np.cumsum(flat) - flat)[self._cell]
        return rank

    @property
    def households(self) -> int:
        """How many households there are."""
        return len(self.kind)

    @property
    def people(self) -> int:
        """How many people there are."""
        return len(self._cell)

    @property
    def quarters(self) -> Bools:
        """Which records are a person in group quarters rather than a household: (households,)."""
        return self.kind <= Kind.QUARTERS

    def having(self, *roles: int) -> Bools:
        """Which people have one of these roles: (people,)."""
        return np.isin(self.role, roles)

    def living_with(self, which: Bools) -> Bools:
        """Whose household has one of these people, perhaps themselves: (people,)."""
        return np.bincount(self.house[which], minlength=self.households)[self.house] > 0

    def coin(self, chance: Floats | float) -> Bools:
        """True with the given chance, for everyone: (people,)."""
        return coin(self.rng, chance, self.people)


def count_roles(rng: np.random.Generator, kind: Ints) -> Ints:
    """How many members of each role every household has: (households, roles)."""
    size = len(kind)
    counts = np.zeros((size, len(Role)), dtype=np.int64)
    counts[:, Role.HEAD] = 1

    def where(chance: float, *kinds: int) -> Bools:
        return np.isin(kind, kinds) & coin(rng, chance, size)

    def put(role: int, which: Bools, number: Ints) -> None:
        counts[which, role] = number[which]

    married = where(1.0, Kind.COUPLE, Kind.COUPLE_CHILDREN)
    married |= where(0.50, Kind.GRANDPARENT)
    married |= where(0.45, Kind.SKIPPED_GENERATION)
    married |= where(0.55, Kind.ELDER)
    counts[:, Role.SPOUSE] = married
    counts[:, Role.PARTNER] = where(1.0, Kind.COHABITING, Kind.COHABITING_CHILDREN)

    row = CHILDREN_ROW[kind]
    counts[row >= 0, Role.CHILD] = CHILDREN.draw(rng, row[row >= 0])
    counts[:, Role.CHILD_IN_LAW] = where(0.30, Kind.GRANDPARENT)
    put(Role.GRANDCHILD, kind == Kind.GRANDPARENT, GRANDCHILDREN.draw_many(rng, size))
    skipped = SKIPPED_GRANDCHILDREN.draw_many(rng, size)
    put(Role.GRANDCHILD, kind == Kind.SKIPPED_GENERATION, skipped)

    elders = 1 + coin(rng, 0.20, size)
    of_spouse = married & coin(rng, 0.35, size)
    put(Role.PARENT, (kind == Kind.ELDER) & ~of_spouse, elders)
    put(Role.PARENT_IN_LAW, (kind == Kind.ELDER) & of_spouse, elders)

    put(Role.SIBLING, kind == Kind.KIN, SIBLINGS.draw_many(rng, size))
    with_sibling = counts[:, Role.SIBLING] > 0
    counts[:, Role.SIBLING_IN_LAW] = with_sibling & coin(rng, 0.12, size)
    nephews = 1 + coin(rng, 0.4, size)
    put(Role.NEPHEW, with_sibling & coin(rng, 0.25, size), nephews)
    # A household of kin without a sibling is one with a more distant relative.
    counts[:, Role.COUSIN] = (kind == Kind.KIN) & ~with_sibling
    counts[:, Role.COUSIN] |= where(0.20, Kind.KIN)
    put(Role.LODGER, kind == Kind.ROOMMATES, LODGERS.draw_many(rng, size))

    for role, chance in ((Role.COUSIN, 0.012), (Role.LODGER, 0.015)):
        room = (counts.sum(axis=1) < MAX_MEMBERS) & (kind > Kind.ALONE)
        counts[:, role] += room & coin(rng, chance, size)
    return counts


def draw_sexes(block: Block) -> Ints:
    """MALE or FEMALE for every member: (people,).

    Couples first, everyone else by a coin that depends on the household.
    """
    rng, house, role, rank = block.rng, block.house, block.role, block.rank
    male: Bools = block.coin(0.512)
    male_head = coin(rng, np.asarray(MALE_HEAD)[block.kind], block.households)
    male[role == Role.HEAD] = male_head
    for other, same_sex in ((Role.SPOUSE, 0.012), (Role.PARTNER, 0.06)):
        who = role == other
        male[who] = male_head[house[who]] ^ ~coin(rng, same_sex, int(who.sum()))

    # Someone who married into the family is the opposite of the first child or sibling.
    for other, of in ((Role.CHILD_IN_LAW, Role.CHILD), (Role.SIBLING_IN_LAW, Role.SIBLING)):
        first = np.zeros(block.households, dtype=np.bool_)
        lead = (role == of) & (rank == 0)
        first[house[lead]] = male[lead]
        who = role == other
        male[who] = ~first[house[who]]

    # One elderly parent is usually the mother; of two, the mother is listed first.
    for other in (Role.PARENT, Role.PARENT_IN_LAW):
        who = role == other
        pair = block.counts[house[who], other] == 2
        male[who] = np.where(pair, rank[who] == 1, coin(rng, 0.20, int(who.sum())))

    who = role == Role.LODGER
    male[who] = coin(rng, 0.55, int(who.sum()))
    return np.where(male, MALE, FEMALE).astype(np.int64)
