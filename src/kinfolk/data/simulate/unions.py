"""Marital status: from who lives with whom, and otherwise from age and sex.

All shares are round numbers chosen to look like published census tables, not estimates.
"""

from __future__ import annotations

import numpy as np

from kinfolk.data.simulate.compositions import Members
from kinfolk.data.simulate.draw import Bools, Ints, coin, shares
from kinfolk.data.simulate.kinds import Role
from kinfolk.data.simulate.sexes import FEMALE

MARRIED, SPOUSE_ABSENT, SEPARATED, DIVORCED, WIDOWED, NEVER_MARRIED = range(1, 7)
YOUNGEST_TO_MARRY = 15

# Of people without a spouse in the household: absent, separated, divorced, widowed, never married.
AGE_EDGES = np.array([20, 25, 35, 45, 55, 65, 75, 85])
UNMARRIED = shares(
    range(SPOUSE_ABSENT, NEVER_MARRIED + 1),
    (0.6, 0.3, 0.2, 0.1, 98.8),  # men below 20
    (1.4, 0.6, 0.8, 0.1, 97.1),
    (4, 2, 5, 0.3, 88.7),
    (7, 6, 18, 1, 68),
    (7, 8, 31, 3, 51),
    (6, 8, 38, 8, 40),
    (6, 7, 39, 22, 26),
    (5, 4, 24, 50, 17),
    (5, 2, 9, 75, 9),
    (0.7, 0.4, 0.3, 0.1, 98.5),  # women below 20
    (1.6, 1.4, 1.2, 0.2, 95.6),
    (3, 4, 8, 0.7, 84.3),
    (4, 9, 25, 2, 60),
    (4, 9, 37, 7, 43),
    (3, 7, 39, 20, 31),
    (2, 4, 32, 42, 20),
    (2, 2, 15, 70, 11),
    (1, 0.6, 6, 85, 7.4),
)
GROWN_CHILD_SINGLE = 0.55
"""Chance that a grown child at home is single whatever the table says."""


def draw_marital_status(
    rng: np.random.Generator, members: Members, counts: Ints, age: Ints, sex: Ints
) -> Ints:
    """MARST of every member: (people,)."""
    role, house = members.role, members.household
    row = np.searchsorted(AGE_EDGES, age, side="right") + (len(AGE_EDGES) + 1) * (sex == FEMALE)
    alone = UNMARRIED.draw(rng, row)

    # Whoever has a child or grandchild here in an elder's role has usually been married.
    elder = members.having(Role.PARENT, Role.PARENT_IN_LAW)
    once_married = np.where(age >= 65, WIDOWED, DIVORCED)
    alone = np.where(elder & (alone == NEVER_MARRIED), once_married, alone)
    grown = (role == Role.CHILD) & coin(rng, GROWN_CHILD_SINGLE, len(role))
    alone = np.where(grown | (age < YOUNGEST_TO_MARRY), NEVER_MARRIED, alone)
    status: Ints = np.where(_lives_with_spouse(members, counts, house), MARRIED, alone)
    return status


def _lives_with_spouse(members: Members, counts: Ints, house: Ints) -> Bools:
    """Whose spouse is in the same household: (people,)."""
    role, first = members.role, members.rank == 0
    present = counts[house]
    married = members.having(Role.SPOUSE, Role.CHILD_IN_LAW, Role.SIBLING_IN_LAW)
    married |= (role == Role.HEAD) & (present[:, Role.SPOUSE] > 0)
    married |= (role == Role.CHILD) & first & (present[:, Role.CHILD_IN_LAW] > 0)
    married |= (role == Role.SIBLING) & first & (present[:, Role.SIBLING_IN_LAW] > 0)
    for elder in (Role.PARENT, Role.PARENT_IN_LAW):
        married |= (role == elder) & (present[:, elder] == 2)
    return married
