"""Education: what people reach (EDUC) and whether they attend school now (SCHOOL).

Everyone has a level they will end with, alike within families through the household's status; the
young have only got as far as their age allows. All numbers are round and chosen to look like
published tables, not estimates.
"""

from __future__ import annotations

import numpy as np

from kinfolk.data.simulate.compositions import Members
from kinfolk.data.simulate.draw import Bools, Floats, Ints, coin, curve, logistic
from kinfolk.data.simulate.kinds import Kind, Role
from kinfolk.data.simulate.origins import BORN_TO_AMERICANS
from kinfolk.data.simulate.sexes import FEMALE

# The EDUC codes of the ACS, and the level (in standard deviations) above which each next one lies.
EDUC_CODES = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11])
EDUC_CUTS = np.array([-2.15, -1.95, -1.60, -1.47, -1.33, -1.17, -0.18, 0.18, 0.42, 1.02])
GRADE_9, GRADE_10, SOME_COLLEGE = 3, 4, 7

# How much of a person's level is the household's, in the order of Role: two partners end up with a
# correlation near 0.6, parents and children near 0.45.
SHARED = (0.76, 0.82, 0.74, 0.60, 0.60, 0.50, 0.60, 0.60, 0.60, 0.55, 0.50, 0.50, 0.40)
MET_AT_SCHOOL = 0.15
"""Chance that two partners have reached exactly the same, whatever the rest says."""
COHORT = ((25, 0.20), (45, 0.12), (65, -0.08), (80, -0.50), (95, -0.85))
WOMEN_YOUNG, WOMEN_OLD = 0.10, -0.08
ABROAD_WIDER = 1.3
"""Immigrants are more often at both ends."""
INSTITUTION = -0.55

# The highest position in EDUC_CODES that each age from 0 to 24 can have reached.
REACHABLE = np.array(
    [0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 4, 5, 6, 7, 7, 8, 9, 9, 10], dtype=np.int64
)
HELD_BACK = 0.12

IN_SCHOOL = (
    (3, 0.40), (4, 0.66), (5, 0.93), (6, 0.985), (15, 0.985), (16, 0.96), (17, 0.93), (18, 0.74),
    (19, 0.64), (20, 0.55), (21, 0.47), (22, 0.32), (24, 0.21), (28, 0.12), (35, 0.06),
    (45, 0.03), (60, 0.012), (80, 0.004),
)  # fmt: skip
STUDENT_LEVEL = 1.1
"""How strongly the level someone is heading for draws them to school after 17 (log-odds)."""
DORMITORY = 0.97

SCHOOL_NOT_ASKED, NOT_IN_SCHOOL, ATTENDS = range(3)


def draw_levels(
    rng: np.random.Generator,
    kind: Ints,
    members: Members,
    status: Floats,
    age: Ints,
    sex: Ints,
    citizen: Ints,
) -> Floats:
    """The level of education each member will end with, in standard deviations: (people,)."""
    house = members.household
    shared = np.asarray(SHARED)[members.role]
    own = np.sqrt(1 - shared**2) * rng.standard_normal(len(house))
    own = np.where(citizen > BORN_TO_AMERICANS, ABROAD_WIDER * own, own)
    women = np.where(age < 50, WOMEN_YOUNG, WOMEN_OLD) * (sex == FEMALE)
    level: Floats = shared * status[house] + own + curve(COHORT, age) + women
    level += INSTITUTION * (kind[house] == Kind.INSTITUTION)
    couple = members.having(Role.SPOUSE, Role.PARTNER) & coin(rng, MET_AT_SCHOOL, len(house))
    level[couple] = level[members.role == Role.HEAD][house[couple]]
    return level


def draw_schooling(
    rng: np.random.Generator, kind: Ints, members: Members, age: Ints, level: Floats
) -> tuple[Ints, Ints]:
    """EDUC and SCHOOL of every member: two arrays (people,)."""
    people = len(age)
    dormitory = (kind[members.household] == Kind.QUARTERS) & (age < 24)
    level = np.where(dormitory, np.maximum(level, 0.0), level)
    chance = curve(IN_SCHOOL, age)
    odds = np.log(np.clip(chance, 1e-4, 0.9999) / (1 - np.clip(chance, 1e-4, 0.9999)))
    grown = age > 17
    chance = np.where(grown, logistic(odds + STUDENT_LEVEL * np.clip(level, -2, 2) - 0.1), chance)
    chance = np.where(dormitory, DORMITORY, chance)
    attends = coin(rng, chance, people) & (age >= 3)

    final: Ints = np.searchsorted(EDUC_CUTS, level).astype(np.int64)
    held_back: Bools = coin(rng, HELD_BACK, people) & (age > 6)
    limit = REACHABLE[np.minimum(np.where(held_back, age - 1, age), len(REACHABLE) - 1)]
    # School is compulsory: below 17 everyone is where their age puts them.
    reached = np.where(age < 17, limit, np.minimum(np.maximum(final, GRADE_9), limit))
    reached = np.where(age >= 25, final, reached)
    reached = np.where((age < 5) & ~attends, 0, reached)
    school = np.where(age < 3, SCHOOL_NOT_ASKED, np.where(attends, ATTENDS, NOT_IN_SCHOOL))
    return EDUC_CODES[reached], school.astype(np.int64)
