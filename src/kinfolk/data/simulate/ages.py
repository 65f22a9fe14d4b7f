"""How old everyone is. Generations are built from the youngest up, so that parents fit children.

Where there are children, the youngest child's age comes first, then the gaps between siblings,
then the mother's age at her first birth; the parents' ages follow. Otherwise the head's age comes
from a table. All numbers are round and chosen to look like published tables, not estimates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinfolk.data.simulate.compositions import Members
from kinfolk.data.simulate.draw import Bools, Floats, Ints, bands, coin, normal, shares
from kinfolk.data.simulate.kinds import Kind, Role
from kinfolk.data.simulate.sexes import FEMALE

OLDEST = 95
OLDEST_ELDER = 97
YOUNGEST_ADULT = 18
YOUNGEST_PARENT = 16
OLDEST_MOTHER = 46
WIDEST_SPREAD = 28
"""Years between the first and the last child at home, at most."""

# Age of the head where no younger generation fixes it.
HEAD_EDGES = (18, 20, 23, 26, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 96)
HEAD_AGE = bands(
    HEAD_EDGES,
    (2, 5, 7, 9, 9, 7, 5, 5, 5, 4, 4, 4, 5, 7, 9, 8, 5),  # in an institution
    (38, 35, 4, 2, 2, 1, 1, 2, 3, 3, 2, 1, 1, 1, 1, 1, 1),  # in other group quarters
    (0.5, 1.5, 3, 5.5, 6, 5, 4.5, 5, 7, 10, 11, 12, 10.5, 9, 6.5, 4, 1.6),  # alone
    (0.1, 0.4, 2, 5, 6, 4, 3, 4, 7, 12, 15, 15, 12.5, 9, 5, 2, 0.4),  # couple
    (1, 5, 11, 19, 18, 10, 7, 6, 6, 6, 4, 3, 2, 1, 0.5, 0.2, 0.1),  # unmarried couple
    (0, 1, 2, 4, 7, 8, 10, 12, 15, 18, 15, 8, 0, 0, 0, 0, 0),  # with an elderly parent
    (2, 8, 12, 14, 12, 8, 7, 7, 8, 7, 6, 4, 2, 1, 1, 0.7, 0.3),  # with brothers, sisters, cousins
    (6, 16, 22, 22, 12, 6, 4, 3, 3, 2, 1.5, 1, 0.7, 0.4, 0.2, 0.1, 0.1),  # roommates
)
# The row of HEAD_AGE for each Kind; kinds with a younger generation use the couple's as a stub.
HEAD_ROW = np.array([0, 1, 2, 3, 3, 4, 4, 3, 3, 3, 5, 6, 7])

# Age of the youngest child at home.
CHILD_EDGES = (0, 1, 3, 6, 10, 14, 18, 21, 25, 30, 40, 55)
CHILD_AGE = bands(
    CHILD_EDGES,
    (7, 11, 15, 15, 14, 12, 8, 9, 6, 4, 1),  # couple
    (12, 19, 19, 15, 12, 9, 5, 4, 2.5, 2, 0.5),  # unmarried couple
    (4, 8, 12, 14, 13, 13, 8, 10, 9, 7, 4),  # lone parent
    (4, 9, 15, 20, 20, 16, 8, 6, 2, 0, 0),  # with an elderly parent
)
CHILD_ROW = {
    Kind.COUPLE_CHILDREN: 0,
    Kind.COHABITING_CHILDREN: 1,
    Kind.LONE_PARENT: 2,
    Kind.ELDER: 3,
}
GRANDCHILD_AGE = bands((0, 1, 3, 6, 10, 14, 18, 22), (12, 20, 23, 19, 14, 9, 3))

# Years from one child to the next; 0 is twins.
GAP = shares(range(9), (2, 13, 30, 25, 13, 8, 5, 3, 1))
FIRST_BIRTH, FIRST_BIRTH_BY_STATUS, FIRST_BIRTH_SD = 27.0, 2.5, 4.8
EARLY_BIRTH, EARLY_BIRTH_SD = 23.0, 4.5
"""Mothers of the middle generation in a three-generation household started earlier."""

# How many years older the man is: most couples are close, a few are not.
HUSBAND_OLDER, HUSBAND_OLDER_SD = 2.0, 2.8
UNUSUAL_COUPLE, UNUSUAL_COUPLE_SD = 0.12, 8.5
WIDEST_COUPLE = (-12, 20)
SIBLING_SD, COUSIN_SD, ROOMMATE_SD, LODGER_SD = 4.5, 16.0, 4.0, 14.0


@dataclass(frozen=True)
class _Family:
    """A block of households while their ages are worked out."""

    rng: np.random.Generator
    kind: Ints
    counts: Ints
    status: Floats

    @property
    def size(self) -> int:
        return len(self.kind)

    def ladder(self, youngest: Ints, number: Ints, widest: int) -> Ints:
        """Ages of `number` siblings, oldest first, the last being `youngest`: (households, 8)."""
        longest = max(int(number.max(initial=1)), 1)
        gaps = GAP.draw_many(self.rng, (self.size, longest))
        gaps[:, 0] = 0
        steps = np.minimum(np.cumsum(gaps, axis=1), widest)
        turn = np.clip(number[:, None] - 1 - np.arange(longest), 0, None)
        ages: Ints = youngest[:, None] + np.take_along_axis(steps, turn, axis=1)
        return ages

    def birth(self, mean: Floats | float, sd: float, latest: Ints | int) -> Ints:
        """A mother's age at a birth, at most `latest`: (households,)."""
        drawn = normal(self.rng, mean, sd, self.size)
        return np.maximum(np.minimum(drawn, latest), YOUNGEST_PARENT)

    def husband_older(self) -> Ints:
        """How many years each husband is older than his wife: (households,)."""
        close = normal(self.rng, HUSBAND_OLDER, HUSBAND_OLDER_SD, self.size)
        wide = normal(self.rng, HUSBAND_OLDER, UNUSUAL_COUPLE_SD, self.size)
        drawn = np.where(coin(self.rng, UNUSUAL_COUPLE, self.size), wide, close)
        return np.clip(drawn, *WIDEST_COUPLE)


def draw_ages(
    rng: np.random.Generator,
    kind: Ints,
    counts: Ints,
    members: Members,
    sex: Ints,
    status: Floats,
) -> Ints:
    """The age of every member, given the household's social status: (people,)."""
    family = _Family(rng, kind, counts, status)
    female_head = sex[members.role == Role.HEAD] == FEMALE
    ages = np.zeros(len(members.household), dtype=np.int64)

    def put(role: Role, values: Ints) -> None:
        """Hand out one column per rank: values (households,) or (households, ranks)."""
        who = members.role == role
        table = values if values.ndim == 2 else values[:, None]
        ages[who] = table[members.household[who], members.rank[who]]

    children, grandchildren, in_law, mother, from_below = _descent(family)
    # The kinds without a younger generation start from the head; the wife is the anchor either way.
    older = family.husband_older()
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
    put(Role.PARENT, _elders(family, head - shift))
    put(Role.PARENT_IN_LAW, _elders(family, other - shift))
    siblings, sibling_in_law, nephews = _collateral(family, head - shift)
    put(Role.SIBLING, siblings)
    put(Role.SIBLING_IN_LAW, sibling_in_law)
    put(Role.NEPHEW, nephews)

    for role, spread, least in (
        (Role.COUSIN, np.full(family.size, COUSIN_SD), 5),
        (
            Role.LODGER,
            np.where(kind == Kind.ROOMMATES, ROOMMATE_SD, LODGER_SD),
            YOUNGEST_ADULT,
        ),
    ):
        who = members.role == role
        house = members.household[who]
        drawn = np.rint(head[house] + spread[house] * rng.standard_normal(int(who.sum())))
        ages[who] = np.clip(drawn.astype(np.int64), least, 90)
    return ages


def _descent(family: _Family) -> tuple[Ints, Ints, Ints, Ints, Bools]:
    """The generations below the head, and the mother they imply.

    Returns the ages of children (households, ranks), of grandchildren (households, ranks), of the
    child-in-law (households,), of the mother (households,), and whether there is any descent.
    """
    kind, rng = family.kind, family.rng
    number = family.counts[:, Role.CHILD]
    rows = np.zeros(len(Kind), dtype=np.int64)
    rows[list(CHILD_ROW)] = list(CHILD_ROW.values())
    children = family.ladder(CHILD_AGE.draw(rng, rows[kind]), number, WIDEST_SPREAD)
    spread = children[:, 0] - children[:, -1]
    usual = FIRST_BIRTH + FIRST_BIRTH_BY_STATUS * family.status
    mother = children[:, 0] + family.birth(usual, FIRST_BIRTH_SD, OLDEST_MOTHER - spread)

    # Three generations: the eldest child at home is the parent of the grandchildren, even of
    # those whose parent has left.
    youngest = GRANDCHILD_AGE.draw(rng, np.zeros(family.size, dtype=np.int64))
    grandchildren = family.ladder(youngest, family.counts[:, Role.GRANDCHILD], 12)
    middle = grandchildren[:, 0] + family.birth(EARLY_BIRTH, EARLY_BIRTH_SD, 32)
    in_law = np.maximum(normal(rng, 1 + middle, 3.0, family.size), grandchildren[:, 0] + 15)
    in_law = np.maximum(in_law, YOUNGEST_ADULT)
    grandmother = middle + family.birth(EARLY_BIRTH, EARLY_BIRTH_SD, 32)

    three = family.counts[:, Role.GRANDCHILD] > 0
    younger = 1 + (rng.random((family.size, children.shape[1])) * 12).astype(np.int64)
    younger[:, 0] = 0
    siblings = np.maximum(middle[:, None] - np.cumsum(younger, axis=1), 0)
    children = np.where(three[:, None], siblings, children)
    children[:, 0] = np.where(three, middle, children[:, 0])
    return (
        children,
        grandchildren,
        in_law,
        np.where(three, grandmother, mother),
        three | (number > 0),
    )


def _elders(family: _Family, child: Ints) -> Ints:
    """Ages of one or two parents of someone: (households, 2), the mother first."""
    latest = np.clip(OLDEST_ELDER - child, YOUNGEST_PARENT, OLDEST_MOTHER)
    mother = child + family.birth(FIRST_BIRTH, FIRST_BIRTH_SD, latest)
    father = np.maximum(mother + family.husband_older(), child + YOUNGEST_PARENT)
    return np.stack([mother, np.minimum(father, OLDEST_ELDER)], axis=1)


def _collateral(family: _Family, head: Ints) -> tuple[Ints, Ints, Ints]:
    """Ages of siblings (households, 3), a sibling's spouse, and nephews (households, 2)."""
    gaps = np.rint(SIBLING_SD * family.rng.standard_normal((family.size, 3))).astype(np.int64)
    siblings = np.clip(head[:, None] + gaps, 10, OLDEST)
    gap = family.birth(EARLY_BIRTH, EARLY_BIRTH_SD, 40)
    parent = (family.counts[:, Role.NEPHEW] > 0) | (family.counts[:, Role.SIBLING_IN_LAW] > 0)
    # A sibling with children or a spouse here is old enough to have them.
    least = np.where(parent, gap + 3, 10)
    siblings[:, 0] = np.maximum(siblings[:, 0], least)
    in_law = np.clip(normal(family.rng, siblings[:, 0], 3.0, family.size), 18, OLDEST)
    eldest = siblings[:, 0] - gap
    nephews = np.stack([eldest, np.maximum(eldest - 3, 0)], axis=1)
    return siblings, in_law, nephews
