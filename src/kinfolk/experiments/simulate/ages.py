"""How old everyone is. Generations are built from the youngest up, so that parents fit children.

Where there are children, the youngest child's age comes first, then the gaps between siblings,
then the mother's age at her first birth; the parents' ages follow. Otherwise the head's age comes
from a table. All numbers are round and chosen to look like published tables, not estimates.
"""

from __future__ import annotations

import numpy as np

from kinfolk._typing import Bools, Floats, Ints
from kinfolk.experiments.simulate.draw import Bands, Shares, coin, normal, years_above
from kinfolk.experiments.simulate.families import FEMALE, Block, Kind, Role

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
