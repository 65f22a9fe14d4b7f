"""Origin and citizenship: RACE, HISPAN and CITIZEN, alike within couples and families.

All shares are round numbers chosen to look like published census tables, not estimates.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from kinfolk.data.simulate.compositions import Members
from kinfolk.data.simulate.draw import Bools, Floats, Ints, coin, curve, shares
from kinfolk.data.simulate.kinds import Role


class Origin(IntEnum):
    """Race and Hispanic origin together: what families share."""

    WHITE = 0
    BLACK = 1
    NATIVE = 2
    CHINESE = 3
    JAPANESE = 4
    OTHER_ASIAN = 5
    MEXICAN = 6
    PUERTO_RICAN = 7
    CUBAN = 8
    OTHER_HISPANIC = 9
    OTHER = 10
    MIXED = 11


# Percent of heads by origin, in the order of Region.
ORIGIN = shares(
    range(len(Origin)),
    (38, 22, 0.3, 6.5, 0.6, 7, 2.6, 8, 0.5, 11.5, 1.2, 1.8),  # big city
    (73, 9, 0.2, 1.4, 0.25, 4, 1.0, 2.6, 0.4, 6.5, 0.55, 1.1),  # suburb
    (83, 8, 0.4, 0.8, 0.15, 1.8, 0.45, 2.3, 0.2, 0.9, 0.4, 1.6),  # upstate
    (93, 1.5, 0.9, 0.25, 0.05, 0.6, 0.5, 1.0, 0.1, 0.4, 0.3, 1.4),  # rural
)
# Chance that a spouse is of the head's own origin for sure, in the order of Origin.
SAME_AS_SPOUSE = (0.88, 0.86, 0.35, 0.87, 0.55, 0.88, 0.80, 0.60, 0.35, 0.76, 0.55, 0.25)
SAME_AS_FAMILY = 0.95
SAME_AS_LODGER = 0.35
# A child of parents of two origins: like the head, like the spouse, or both at once.
CHILD_OF_TWO = (0.36, 0.34, 0.30)

# RACE given origin. Hispanic origins are of any race; families mostly agree on which.
RACE = shares(
    range(1, 10),
    (1, 0, 0, 0, 0, 0, 0, 0, 0),  # white
    (0, 1, 0, 0, 0, 0, 0, 0, 0),  # black
    (0, 0, 1, 0, 0, 0, 0, 0, 0),  # native
    (0, 0, 0, 1, 0, 0, 0, 0, 0),  # Chinese
    (0, 0, 0, 0, 1, 0, 0, 0, 0),  # Japanese
    (0, 0, 0, 0, 0, 1, 0, 0, 0),  # other Asian
    (48, 1, 3, 0.1, 0.1, 0.3, 42, 5, 0.5),  # Mexican
    (46, 10, 1, 0.1, 0.1, 0.3, 34, 7.5, 1),  # Puerto Rican
    (80, 5, 0.5, 0.2, 0.1, 0.2, 10, 4, 0.3),  # Cuban
    (42, 9, 1.5, 0.1, 0.1, 0.4, 40, 6, 0.8),  # other Hispanic
    (0, 0, 0, 0, 0, 0, 1, 0, 0),  # other
    (0, 0, 0, 0, 0, 0, 0, 92, 8),  # two or more
)
HISPAN = shares(
    range(5),
    *((1, 0, 0, 0, 0),) * 6,
    (0, 1, 0, 0, 0),
    (0, 0, 1, 0, 0),
    (0, 0, 0, 1, 0),
    (0, 0, 0, 0, 1),
    (1, 0, 0, 0, 0),
    (84, 2, 6, 1, 7),
)
FAMILY_AGREES = 0.88

# Chance that a head in the big city was born abroad, by origin, and how other regions compare.
BORN_ABROAD = (0.25, 0.36, 0.05, 0.80, 0.68, 0.80, 0.66, 0.01, 0.52, 0.70, 0.60, 0.20)
BORN_ABROAD_BY_REGION = (1.0, 0.7, 0.4, 0.22)
SPOUSE_ALIKE = 0.82
ELDER_OF_IMMIGRANT, ELDER_OF_NATIVE = 0.97, 0.10
CHILD_OF_IMMIGRANT = ((0, 0.03), (10, 0.10), (18, 0.22), (30, 0.30), (50, 0.55))
CHILD_OF_NATIVE = 0.006
NATURALIZED = ((0, 0.12), (18, 0.28), (30, 0.36), (45, 0.58), (65, 0.78), (85, 0.84))
NATURALIZED_BY_STATUS = 0.05
AMERICAN_PARENTS = 0.011

BORN_CITIZEN, BORN_TO_AMERICANS, NATURALIZED_CITIZEN, NOT_CITIZEN = range(4)


def draw_head_origins(rng: np.random.Generator, region: Ints) -> Ints:
    """The `Origin` of each household's head: (households,)."""
    return ORIGIN.draw(rng, region)


def draw_origins(
    rng: np.random.Generator, members: Members, region: Ints, head_origin: Ints
) -> Ints:
    """The `Origin` of every member: (people,)."""
    house, role = members.household, members.role
    head = head_origin[house]
    stranger = ORIGIN.draw(rng, region[house])
    couple = members.having(Role.SPOUSE, Role.PARTNER)
    same = np.where(couple, np.asarray(SAME_AS_SPOUSE)[head], SAME_AS_FAMILY)
    same[role == Role.LODGER] = SAME_AS_LODGER
    same[role == Role.HEAD] = 1.0
    origin = np.where(coin(rng, same, len(house)), head, stranger)

    # Children take after both parents, wherever both are here; their parents' draw stands.
    other = head_origin.copy()
    other[house[couple]] = origin[couple]
    own = members.having(Role.CHILD)
    choice = shares(range(3), CHILD_OF_TWO).draw_many(rng, len(house))
    both = np.where(choice == 0, head, np.where(choice == 1, other[house], Origin.MIXED))
    origin = np.where(own, np.where(head == other[house], head, both), origin)
    # A child-in-law or sibling-in-law shares no blood: the chance of a spouse, not of family.
    in_law = members.having(Role.CHILD_IN_LAW, Role.SIBLING_IN_LAW, Role.PARENT_IN_LAW)
    apart = in_law & ~coin(rng, np.asarray(SAME_AS_SPOUSE)[head], len(house))
    return np.where(apart, stranger, origin)


def describe_origins(rng: np.random.Generator, members: Members, origin: Ints) -> tuple[Ints, Ints]:
    """RACE and HISPAN of every member: two arrays (people,)."""
    house = members.household
    shared = rng.random(int(house.max()) + 1)[house]
    own = rng.random(len(house))
    agrees = coin(rng, FAMILY_AGREES, len(house)) & (members.role != Role.LODGER)
    uniform = np.where(agrees, shared, own)
    return RACE.at(uniform, origin), HISPAN.at(uniform, origin)


def draw_citizenship(
    rng: np.random.Generator,
    members: Members,
    origin: Ints,
    age: Ints,
    region: Ints,
    status: Floats,
) -> Ints:
    """CITIZEN of every member: (people,)."""
    house, role = members.household, members.role
    people = len(house)
    chance = np.asarray(BORN_ABROAD)[origin] * np.asarray(BORN_ABROAD_BY_REGION)[region[house]]
    abroad: Bools = coin(rng, chance, people)
    head = abroad[role == Role.HEAD]

    # Whoever is of the head's generation tends to have come along, or not.
    peers = (role != Role.HEAD) & (role != Role.LODGER)
    along = peers & coin(rng, SPOUSE_ALIKE, people) & (origin != Origin.PUERTO_RICAN)
    abroad = np.where(along, head[house], abroad)
    elder = members.having(Role.PARENT, Role.PARENT_IN_LAW)
    of_native = coin(rng, ELDER_OF_NATIVE, people)
    of_immigrant = coin(rng, ELDER_OF_IMMIGRANT, people)
    abroad = np.where(elder, np.where(head[house], of_immigrant, of_native), abroad)

    immigrant = head.copy()
    couple = members.having(Role.SPOUSE, Role.PARTNER)
    immigrant[house[couple]] |= abroad[couple]
    below = members.having(Role.CHILD, Role.GRANDCHILD, Role.NEPHEW)
    # Siblings share one draw, so that the elder ones came and the younger were born here.
    came = rng.random(len(region))[house] < curve(CHILD_OF_IMMIGRANT, age)
    born_abroad = np.where(immigrant[house], came, coin(rng, CHILD_OF_NATIVE, people))
    abroad = np.where(below, born_abroad, abroad)

    chance = curve(NATURALIZED, age) + NATURALIZED_BY_STATUS * status[house]
    shared = coin(rng, 0.75, people) & (role != Role.LODGER)
    uniform = np.where(shared, rng.random(len(region))[house], rng.random(people))
    foreign = np.where(uniform < chance, NATURALIZED_CITIZEN, NOT_CITIZEN)
    born = np.where(coin(rng, AMERICAN_PARENTS, people), BORN_TO_AMERICANS, BORN_CITIZEN)
    return np.where(abroad, foreign, born).astype(np.int64)
