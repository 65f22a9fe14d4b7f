"""Who lives together: kinds of household, members of each role, their sexes, and how old they are.

All numbers are round, chosen to look like published census tables for a populous state with one
very large city; none is estimated from a file.

Generations are built from the youngest up, so that parents fit children. Where there are children,
the youngest child's age comes first, then the gaps between siblings, then the mother's age at her
first birth; the parents' ages follow. Otherwise the head's age comes from a table.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np

from kinfolk._typing import Bools, Floats, Ints
from kinfolk.experiments.simulate.draw import Bands, Shares, coin, normal, years_above

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


# Age of the head where no younger generation fixes it, and the row for each Kind; kinds with a
# younger generation use the couple's as a stub.
HEAD_AGE = Bands(
    (18, 20, 23, 26, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 96),
    (2, 5, 7, 9, 9, 7, 5, 5, 5, 4, 4, 4, 5, 7, 9, 8, 5),  # in an institution
    (38, 35, 4, 2, 2, 1, 1, 2, 3, 3, 2, 1, 1, 1, 1, 1, 1),  # in other group quarters
    (0.5, 1.5, 3, 5.5, 6, 5, 4.5, 5, 7, 10, 11, 12, 10.5, 9, 6.5, 4, 1.6),  # alone
    (0.1, 0.4, 2, 5, 6, 4, 3, 4, 7, 12, 15, 15, 12.5, 9, 5, 2, 0.4),  # couple
    (1, 5, 11, 19, 18, 10, 7, 6, 6, 6, 4, 3, 2, 1, 0.5, 0.2, 0.1),  # unmarried couple
    (0, 1, 2, 4, 7, 8, 10, 12, 15, 18, 15, 8, 0, 0, 0, 0, 0),  # with an elderly parent
    (2, 8, 12, 14, 12, 8, 7, 7, 8, 7, 6, 4, 2, 1, 1, 0.7, 0.3),  # with brothers, sisters, cousins
    (6, 16, 22, 22, 12, 6, 4, 3, 3, 2, 1.5, 1, 0.7, 0.4, 0.2, 0.1, 0.1),  # roommates
)
HEAD_ROW = np.array([0, 1, 2, 3, 3, 4, 4, 3, 3, 3, 5, 6, 7])
# Age of the youngest child at home, and the row for each Kind.
CHILD_AGE = Bands(
    (0, 1, 3, 6, 10, 14, 18, 21, 25, 30, 40, 55),
    (7, 11, 15, 15, 14, 12, 8, 9, 6, 4, 1),  # couple
    (12, 19, 19, 15, 12, 9, 5, 4, 2.5, 2, 0.5),  # unmarried couple
    (4, 8, 12, 14, 13, 13, 8, 10, 9, 7, 4),  # lone parent
    (4, 9, 15, 20, 20, 16, 8, 6, 2, 0, 0),  # with an elderly parent
)
CHILD_ROW = np.array([0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 3, 0, 0])
GRANDCHILD_AGE = Bands((0, 1, 3, 6, 10, 14, 18, 22), (12, 20, 23, 19, 14, 9, 3))
# Years from one child to the next; 0 is twins.
GAP = Shares.of(range(9), (2, 13, 30, 25, 13, 8, 5, 3, 1))

OLDEST, OLDEST_ELDER = 95, 97
YOUNGEST_ADULT, YOUNGEST_PARENT, OLDEST_MOTHER = 18, 16, 46
FIRST_BIRTH, FIRST_BIRTH_SD = 27.0, 4.8
# Mothers of the middle generation in a three-generation household started earlier.
EARLY_BIRTH, EARLY_BIRTH_SD = 23.0, 4.5


def draw_ages(block: Block, sex: Ints) -> Ints:
    """The age of every member: (people,)."""
    kind, counts, rng = block.kind, block.counts, block.rng
    female_head = sex[block.role == Role.HEAD] == FEMALE
    ages = np.zeros(block.people, dtype=np.int64)

    def put(role: int, values: Ints) -> None:
        """Hand out one column per rank: values (households,) or (households, ranks)."""
        who = block.role == role
        table = values if values.ndim == 2 else values[:, None]
        ages[who] = table[block.house[who], block.rank[who]]

    children, grandchildren, in_law, mother, from_below = _descent(block)
    # The kinds without a younger generation start from the head; the wife is the anchor either way.
    older = _husband_older(block)
    head = HEAD_AGE.draw(rng, HEAD_ROW[kind])
    wife = np.where(from_below, mother, np.where(female_head, head, head - older))
    floor = np.where(from_below, children[:, 0] + YOUNGEST_PARENT, YOUNGEST_ADULT)
    floor = np.maximum(floor, YOUNGEST_ADULT)
    wife = np.maximum(wife, floor)
    husband = np.maximum(wife + older, floor)
    head = np.where(from_below | female_head, np.where(female_head, wife, husband), head)
    other = np.where(female_head, husband, wife)

    # A family that came out too old is made younger as a whole, which keeps every difference.
    limit = np.where(kind == Kind.ELDER, OLDEST_ELDER - 2 * YOUNGEST_PARENT, OLDEST)
    paired = counts[:, [Role.SPOUSE, Role.PARTNER]].sum(axis=1) > 0
    shift = np.maximum(np.where(paired, np.maximum(head, other), head) - limit, 0)
    put(Role.HEAD, head - shift)
    put(Role.SPOUSE, other - shift)
    put(Role.PARTNER, other - shift)
    put(Role.CHILD, np.maximum(children - shift[:, None], 0))
    put(Role.CHILD_IN_LAW, np.maximum(in_law - shift, YOUNGEST_ADULT))
    put(Role.GRANDCHILD, np.maximum(grandchildren - shift[:, None], 0))
    put(Role.PARENT, _elders(block, head - shift))
    put(Role.PARENT_IN_LAW, _elders(block, other - shift))
    siblings, sibling_in_law, nephews = _collateral(block, head - shift)
    put(Role.SIBLING, siblings)
    put(Role.SIBLING_IN_LAW, sibling_in_law)
    put(Role.NEPHEW, nephews)

    # Cousins are of about any age; roommates are of an age, other lodgers less so.
    for role, spread, least in (
        (Role.COUSIN, np.full(block.households, 16.0), 5),
        (Role.LODGER, np.where(kind == Kind.ROOMMATES, 4.0, 14.0), YOUNGEST_ADULT),
    ):
        who = block.role == role
        house = block.house[who]
        drawn = np.rint(head[house] + spread[house] * rng.standard_normal(int(who.sum())))
        ages[who] = np.clip(drawn.astype(np.int64), least, 90)
    return ages


def _siblings(block: Block, youngest: Ints, number: Ints, widest: int) -> Ints:
    """Ages of siblings, oldest first: (households, ranks)."""
    longest = max(int(number.max(initial=1)), 1)
    above = years_above(block.rng, GAP, number, longest=longest, widest=widest)
    return youngest[:, None] + above


def _birth(block: Block, mean: Floats | float, sd: float, latest: Ints | int) -> Ints:
    """A mother's age at a birth, at most `latest`: (households,)."""
    drawn = normal(block.rng, mean, sd, block.households)
    return np.maximum(np.minimum(drawn, latest), YOUNGEST_PARENT)


def _husband_older(block: Block) -> Ints:
    """How many years each husband is older than his wife; most are close, a few are not."""
    rng, size = block.rng, block.households
    close, wide = normal(rng, 2.0, 2.8, size), normal(rng, 2.0, 8.5, size)
    return np.clip(np.where(coin(rng, 0.12, size), wide, close), -12, 20)


def _descent(block: Block) -> tuple[Ints, Ints, Ints, Ints, Bools]:
    """The generations below the head, and the mother they imply.

    Returns the ages of children (households, ranks), of grandchildren (households, ranks), of the
    child-in-law (households,), of the mother (households,), and whether there is any descent.
    """
    rng, size = block.rng, block.households
    number = block.counts[:, Role.CHILD]
    children = _siblings(block, CHILD_AGE.draw(rng, CHILD_ROW[block.kind]), number, 28)
    spread = children[:, 0] - children[:, -1]
    usual = FIRST_BIRTH + 2.5 * block.status
    mother = children[:, 0] + _birth(block, usual, FIRST_BIRTH_SD, OLDEST_MOTHER - spread)

    # Three generations: the eldest child at home is the parent of the grandchildren, even of
    # those whose parent has left.
    youngest = GRANDCHILD_AGE.draw(rng, np.zeros(size, dtype=np.int64))
    grandchildren = _siblings(block, youngest, block.counts[:, Role.GRANDCHILD], 12)
    middle = grandchildren[:, 0] + _birth(block, EARLY_BIRTH, EARLY_BIRTH_SD, 32)
    in_law = np.maximum(normal(rng, 1 + middle, 3.0, size), grandchildren[:, 0] + 15)
    in_law = np.maximum(in_law, YOUNGEST_ADULT)
    grandmother = middle + _birth(block, EARLY_BIRTH, EARLY_BIRTH_SD, 32)

    three = block.counts[:, Role.GRANDCHILD] > 0
    younger = 1 + (rng.random((size, children.shape[1])) * 12).astype(np.int64)
    younger[:, 0] = 0
    siblings = np.maximum(middle[:, None] - np.cumsum(younger, axis=1), 0)
    children = np.where(three[:, None], siblings, children)
    children[:, 0] = np.where(three, middle, children[:, 0])
    mother = np.where(three, grandmother, mother)
    return children, grandchildren, in_law, mother, three | (number > 0)


def _elders(block: Block, child: Ints) -> Ints:
    """Ages of one or two parents of someone: (households, 2), the mother first."""
    latest = np.clip(OLDEST_ELDER - child, YOUNGEST_PARENT, OLDEST_MOTHER)
    mother = child + _birth(block, FIRST_BIRTH, FIRST_BIRTH_SD, latest)
    father = np.maximum(mother + _husband_older(block), child + YOUNGEST_PARENT)
    return np.stack([mother, np.minimum(father, OLDEST_ELDER)], axis=1)


def _collateral(block: Block, head: Ints) -> tuple[Ints, Ints, Ints]:
    """Ages of siblings (households, 3), a sibling's spouse, and nephews (households, 2)."""
    rng, size = block.rng, block.households
    gaps = np.rint(4.5 * rng.standard_normal((size, 3))).astype(np.int64)
    siblings = np.clip(head[:, None] + gaps, 10, OLDEST)
    gap = _birth(block, EARLY_BIRTH, EARLY_BIRTH_SD, 40)
    parent = block.counts[:, [Role.NEPHEW, Role.SIBLING_IN_LAW]].any(axis=1)
    # A sibling with children or a spouse here is old enough to have them.
    siblings[:, 0] = np.maximum(siblings[:, 0], np.where(parent, gap + 3, 10))
    in_law = np.clip(normal(rng, siblings[:, 0], 3.0, size), 18, OLDEST)
    eldest = siblings[:, 0] - gap
    return siblings, in_law, np.stack([eldest, np.maximum(eldest - 3, 0)], axis=1)
