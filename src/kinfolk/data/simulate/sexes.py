"""The sex of every member: couples first, everyone else by a coin that depends on the household.

All shares are round numbers chosen to look like published census tables, not estimates.
"""

from __future__ import annotations

import numpy as np

from kinfolk.data.simulate.compositions import Members
from kinfolk.data.simulate.draw import Bools, Ints, coin
from kinfolk.data.simulate.kinds import Role

MALE, FEMALE = 1, 2

# Share of men among heads, in the order of Kind.
MALE_HEAD = (0.62, 0.48, 0.44, 0.60, 0.58, 0.52, 0.46, 0.20, 0.32, 0.30, 0.48, 0.46, 0.54)
SAME_SEX_MARRIED = 0.012
SAME_SEX_COHABITING = 0.06
BOY = 0.512
MALE_LONE_ELDER = 0.20
MALE_LODGER = 0.55


def draw_sexes(rng: np.random.Generator, kind: Ints, members: Members) -> Ints:
    """1 for male and 2 for female, for every member: (people,)."""
    households = len(kind)
    house, role, rank = members.household, members.role, members.rank
    male: Bools = coin(rng, BOY, len(house))

    male_head = coin(rng, np.asarray(MALE_HEAD)[kind], households)
    male[role == Role.HEAD] = male_head
    for other, same_sex in (
        (Role.SPOUSE, SAME_SEX_MARRIED),
        (Role.PARTNER, SAME_SEX_COHABITING),
    ):
        who = role == other
        male[who] = male_head[house[who]] ^ ~coin(rng, same_sex, int(who.sum()))

    # Someone who married into the family is the opposite of the first child or sibling.
    for other, of in ((Role.CHILD_IN_LAW, Role.CHILD), (Role.SIBLING_IN_LAW, Role.SIBLING)):
        first = np.zeros(households, dtype=np.bool_)
        lead = (role == of) & (rank == 0)
        first[house[lead]] = male[lead]
        who = role == other
        male[who] = ~first[house[who]]

    # One elderly parent is usually the mother; of two, the mother is listed first.
    for other in (Role.PARENT, Role.PARENT_IN_LAW):
        who = role == other
        pair = np.bincount(house[who], minlength=households) == 2
        lone_father = coin(rng, MALE_LONE_ELDER, int(who.sum()))
        male[who] = np.where(pair[house[who]], rank[who] == 1, lone_father)

    who = role == Role.LODGER
    male[who] = coin(rng, MALE_LODGER, int(who.sum()))
    return np.where(male, MALE, FEMALE).astype(np.int64)
