"""What people are: origin, citizenship, schooling, marriage, work and subfamilies.

Families are alike in most of it. All numbers are round and chosen to look like published tables,
not estimates.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from kinfolk._typing import Bools, Floats, Ints
from kinfolk.experiments.simulate.draw import Shares, curve, logistic
from kinfolk.experiments.simulate.families import FEMALE, MALE, Block, Kind, Role

Origin = IntEnum(
    "Origin",
    "WHITE BLACK NATIVE CHINESE JAPANESE OTHER_ASIAN MEXICAN PUERTO_RICAN CUBAN OTHER_HISPANIC "
    "OTHER MIXED",
    start=0,
)
"""Race and Hispanic origin together: what families share."""

# Percent of heads by origin, in the order of Region.
ORIGIN = Shares.of(
    range(len(Origin)),
    (38, 22, 0.3, 6.5, 0.6, 7, 2.6, 8, 0.5, 11.5, 1.2, 1.8),  # big city
    (73, 9, 0.2, 1.4, 0.25, 4, 1.0, 2.6, 0.4, 6.5, 0.55, 1.1),  # suburb
    (83, 8, 0.4, 0.8, 0.15, 1.8, 0.45, 2.3, 0.2, 0.9, 0.4, 1.6),  # upstate
    (93, 1.5, 0.9, 0.25, 0.05, 0.6, 0.5, 1.0, 0.1, 0.4, 0.3, 1.4),  # rural
)
# Chance that a spouse is of the head's own origin for sure, in the order of Origin.
SAME_AS_SPOUSE = np.array([0.88, 0.86, 0.35, 0.87, 0.55, 0.88, 0.80, 0.60, 0.35, 0.76, 0.55, 0.25])
# A child of parents of two origins: like the head, like the spouse, or both at once.
CHILD_OF_TWO = Shares.of(range(3), (0.36, 0.34, 0.30))

# RACE given origin. Hispanic origins are of any race; families mostly agree on which.
RACE = Shares.of(
    range(1, 10),
    *np.eye(9)[:6],  # white, black, native, Chinese, Japanese, other Asian
    (48, 1, 3, 0.1, 0.1, 0.3, 42, 5, 0.5),  # Mexican
    (46, 10, 1, 0.1, 0.1, 0.3, 34, 7.5, 1),  # Puerto Rican
    (80, 5, 0.5, 0.2, 0.1, 0.2, 10, 4, 0.3),  # Cuban
    (42, 9, 1.5, 0.1, 0.1, 0.4, 40, 6, 0.8),  # other Hispanic
    (0, 0, 0, 0, 0, 0, 1, 0, 0),  # other
    (0, 0, 0, 0, 0, 0, 0, 92, 8),  # two or more
)
HISPAN = Shares.of(
    range(5),
    *((1, 0, 0, 0, 0),) * 6,
    *np.eye(5)[1:],  # Mexican, Puerto Rican, Cuban, other Hispanic
    (1, 0, 0, 0, 0),
    (84, 2, 6, 1, 7),
)

# Chance that a head in the big city was born abroad, by origin, and how other regions compare.
BORN_ABROAD = np.array([0.25, 0.36, 0.05, 0.80, 0.68, 0.80, 0.66, 0.01, 0.52, 0.70, 0.60, 0.20])
BORN_ABROAD_BY_REGION = np.array([1.0, 0.7, 0.4, 0.22])
CHILD_OF_IMMIGRANT = ((0, 0.03), (10, 0.10), (18, 0.22), (30, 0.30), (50, 0.55))
NATURALIZED = ((0, 0.12), (18, 0.28), (30, 0.36), (45, 0.58), (65, 0.78), (85, 0.84))
BORN_CITIZEN, BORN_TO_AMERICANS, NATURALIZED_CITIZEN, NOT_CITIZEN = range(4)

# The EDUC codes of the ACS, and the level (in standard deviations) above which each next one lies.
EDUC_CODES = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11])
EDUC_CUTS = np.array([-2.15, -1.95, -1.60, -1.47, -1.33, -1.17, -0.18, 0.18, 0.42, 1.02])
GRADE_9 = 3
# How much of a person's level is the household's, in the order of Role: two partners end up with a
# correlation near 0.6, parents and children near 0.45.
SHARED_LEVEL = np.array(
    [0.76, 0.82, 0.74, 0.60, 0.60, 0.50, 0.60, 0.60, 0.60, 0.55, 0.50, 0.50, 0.40]
)
COHORT = ((25, 0.20), (45, 0.12), (65, -0.08), (80, -0.50), (95, -0.85))
# The highest position in EDUC_CODES that each age from 0 to 24 can have reached.
REACHABLE = np.array([0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 4, 5, 6, 7, 7, 8, 9, 9, 10])
IN_SCHOOL = (
    (3, 0.40), (4, 0.66), (5, 0.93), (6, 0.985), (15, 0.985), (16, 0.96), (17, 0.93), (18, 0.74),
    (19, 0.64), (20, 0.55), (21, 0.47), (22, 0.32), (24, 0.21), (28, 0.12), (35, 0.06),
    (45, 0.03), (60, 0.012), (80, 0.004),
)  # fmt: skip
SCHOOL_NOT_ASKED, NOT_IN_SCHOOL, ATTENDS = range(3)

MARRIED, SPOUSE_ABSENT, SEPARATED, DIVORCED, WIDOWED, NEVER_MARRIED = range(1, 7)
# Of people without a spouse in the household: absent, separated, divorced, widowed, never married.
UNMARRIED_AGES = np.array([20, 25, 35, 45, 55, 65, 75, 85])
UNMARRIED = Shares.of(
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

TOO_YOUNG, EMPLOYED, UNEMPLOYED, INACTIVE = range(4)
NOT_ASKED, NOT_LOOKING, LOOKING, NOT_REPORTED = range(4)
# Log-odds of having a job by age.
MEN_WORK = (
    (16, -1.4), (18, -0.2), (20, 0.6), (22, 1.0), (25, 1.5), (30, 1.9), (45, 1.9), (52, 1.6),
    (58, 1.1), (62, 0.3), (65, -0.4), (70, -1.3), (75, -2.0), (80, -2.8), (90, -4.2),
)  # fmt: skip
WOMEN_WORK = (
    (16, -1.2), (18, 0.0), (20, 0.6), (22, 0.9), (25, 1.3), (30, 1.3), (45, 1.3), (52, 1.1),
    (58, 0.6), (62, -0.1), (65, -0.8), (70, -1.8), (75, -2.6), (80, -3.4), (90, -4.8),
)  # fmt: skip
# Of those without a job, the share that wants one.
WANTS_WORK = (
    (16, 0.10), (20, 0.21), (25, 0.27), (40, 0.22), (55, 0.14), (62, 0.06), (70, 0.015), (85, 0.002)
)  # fmt: skip

NO_SUBFAMILY, REFERENCE, SUBFAMILY_SPOUSE, SUBFAMILY_CHILD = range(4)


def draw_origins(block: Block, head_origin: Ints) -> Ints:
    """The `Origin` of every member: (people,)."""
    house, role = block.house, block.role
    head = head_origin[house]
    stranger = ORIGIN.draw(block.rng, block.region[house])
    couple = block.having(Role.SPOUSE, Role.PARTNER)
    same = np.where(couple, SAME_AS_SPOUSE[head], 0.95)
    same[role == Role.LODGER] = 0.35
    same[role == Role.HEAD] = 1.0
    origin = np.where(block.coin(same), head, stranger)

    # Children take after both parents, wherever both are here; their parents' draw stands.
    other = head_origin.copy()
    other[house[couple]] = origin[couple]
    choice = CHILD_OF_TWO.draw_many(block.rng, block.people)
    both = np.where(choice == 0, head, np.where(choice == 1, other[house], Origin.MIXED))
    both = np.where(head == other[house], head, both)
    origin = np.where(role == Role.CHILD, both, origin)
    # Whoever is related by marriage shares no blood: the chance of a spouse, not of family.
    in_law = block.having(Role.CHILD_IN_LAW, Role.SIBLING_IN_LAW, Role.PARENT_IN_LAW)
    return np.where(in_law & ~block.coin(SAME_AS_SPOUSE[head]), stranger, origin)


def describe_origins(block: Block, origin: Ints) -> tuple[Ints, Ints]:
    """RACE and HISPAN of every member: two arrays (people,)."""
    shared = block.rng.random(block.households)[block.house]
    own = block.rng.random(block.people)
    agrees = block.coin(0.88) & (block.role != Role.LODGER)
    uniform = np.where(agrees, shared, own)
    return RACE.at(uniform, origin), HISPAN.at(uniform, origin)


def draw_citizenship(block: Block, origin: Ints, age: Ints) -> Ints:
    """CITIZEN of every member: (people,)."""
    house, role, rng = block.house, block.role, block.rng
    abroad = block.coin(BORN_ABROAD[origin] * BORN_ABROAD_BY_REGION[block.region[house]])
    head = abroad[role == Role.HEAD]

    # Whoever is of the head's generation tends to have come along, or not.
    peers = (role != Role.HEAD) & (role != Role.LODGER)
    along = peers & block.coin(0.82) & (origin != Origin.PUERTO_RICAN)
    abroad = np.where(along, head[house], abroad)
    of_native, of_immigrant = block.coin(0.10), block.coin(0.97)
    elder = block.having(Role.PARENT, Role.PARENT_IN_LAW)
    abroad = np.where(elder, np.where(head[house], of_immigrant, of_native), abroad)

    immigrant = head.copy()
    couple = block.having(Role.SPOUSE, Role.PARTNER)
    immigrant[house[couple]] |= abroad[couple]
    # Siblings share one draw, so that the elder ones came and the younger were born here.
    came = rng.random(block.households)[house] < curve(CHILD_OF_IMMIGRANT, age)
    born_abroad = np.where(immigrant[house], came, block.coin(0.006))
    below = block.having(Role.CHILD, Role.GRANDCHILD, Role.NEPHEW)
    abroad = np.where(below, born_abroad, abroad)

    chance = curve(NATURALIZED, age) + 0.05 * block.status[house]
    shared = block.coin(0.75) & (role != Role.LODGER)
    uniform = np.where(shared, rng.random(block.households)[house], rng.random(block.people))
    foreign = np.where(uniform < chance, NATURALIZED_CITIZEN, NOT_CITIZEN)
    born = np.where(block.coin(0.011), BORN_TO_AMERICANS, BORN_CITIZEN)
    return np.where(abroad, foreign, born).astype(np.int64)


def draw_levels(block: Block, age: Ints, sex: Ints, citizen: Ints) -> Floats:
    """The level of education each member will end with, in standard deviations: (people,)."""
    house, shared = block.house, SHARED_LEVEL[block.role]
    own = np.sqrt(1 - shared**2) * block.rng.standard_normal(block.people)
    # Immigrants are more often at both ends.
    own = np.where(citizen > BORN_TO_AMERICANS, 1.3 * own, own)
    women = np.where(age < 50, 0.10, -0.08) * (sex == FEMALE)
    level: Floats = shared * block.status[house] + own + curve(COHORT, age) + women
    level += -0.55 * (block.kind[house] == Kind.INSTITUTION)
    # Some partners met at school, and have reached exactly the same.
    couple = block.having(Role.SPOUSE, Role.PARTNER) & block.coin(0.15)
    level[couple] = level[block.role == Role.HEAD][house[couple]]
    return level


def draw_schooling(block: Block, age: Ints, level: Floats) -> tuple[Ints, Ints]:
    """EDUC and SCHOOL of every member: two arrays (people,).

    The young have only got as far as their age allows. After 17, the level that people are heading
    for draws them to school.
    """
    dormitory = (block.kind[block.house] == Kind.QUARTERS) & (age < 24)
    level = np.where(dormitory, np.maximum(level, 0.0), level)
    chance = curve(IN_SCHOOL, age)
    odds = np.log(np.clip(chance, 1e-4, 0.9999) / (1 - np.clip(chance, 1e-4, 0.9999)))
    chance = np.where(age > 17, logistic(odds + 1.1 * np.clip(level, -2, 2) - 0.1), chance)
    attends = block.coin(np.where(dormitory, 0.97, chance)) & (age >= 3)

    final: Ints = np.searchsorted(EDUC_CUTS, level).astype(np.int64)
    held_back = block.coin(0.12) & (age > 6)
    limit = REACHABLE[np.minimum(age - held_back, len(REACHABLE) - 1)]
    # School is compulsory: below 17 everyone is where their age puts them.
    reached = np.where(age < 17, limit, np.minimum(np.maximum(final, GRADE_9), limit))
    reached = np.where(age >= 25, final, reached)
    reached = np.where((age < 5) & ~attends, 0, reached)
    school = np.where(age < 3, SCHOOL_NOT_ASKED, np.where(attends, ATTENDS, NOT_IN_SCHOOL))
    return EDUC_CODES[reached], school.astype(np.int64)


def draw_marital_status(block: Block, age: Ints, sex: Ints) -> Ints:
    """MARST of every member, from who lives with whom, or else from age and sex: (people,)."""
    role, first, present = block.role, block.rank == 0, block.counts[block.house]
    row = np.searchsorted(UNMARRIED_AGES, age, side="right")
    alone = UNMARRIED.draw(block.rng, row + (len(UNMARRIED_AGES) + 1) * (sex == FEMALE))
    # Whoever has a child or grandchild here in an elder's role has usually been married.
    elder = block.having(Role.PARENT, Role.PARENT_IN_LAW)
    once_married = np.where(age >= 65, WIDOWED, DIVORCED)
    alone = np.where(elder & (alone == NEVER_MARRIED), once_married, alone)
    # A grown child at home is often single whatever the table says.
    grown = (role == Role.CHILD) & block.coin(0.55)
    alone = np.where(grown | (age < 15), NEVER_MARRIED, alone)

    married = block.having(Role.SPOUSE, Role.CHILD_IN_LAW, Role.SIBLING_IN_LAW)
    for one, spouse in (
        (Role.HEAD, Role.SPOUSE),
        (Role.CHILD, Role.CHILD_IN_LAW),
        (Role.SIBLING, Role.SIBLING_IN_LAW),
    ):
        married |= (role == one) & first & (present[:, spouse] > 0)
    for one in (Role.PARENT, Role.PARENT_IN_LAW):
        married |= (role == one) & (present[:, one] == 2)
    return np.where(married, MARRIED, alone)


def draw_work(block: Block, age: Ints, sex: Ints, level: Floats, school: Ints) -> tuple[Ints, Ints]:
    """EMPSTAT and LOOKING of every member: two arrays (people,)."""
    woman = sex == FEMALE
    mother = woman & block.having(Role.HEAD, Role.SPOUSE, Role.PARTNER)
    mother &= block.living_with((age < 6) & (block.role == Role.CHILD))
    institution = block.kind[block.house] == Kind.INSTITUTION

    odds = np.where(woman, curve(WOMEN_WORK, age), curve(MEN_WORK, age))
    odds = odds + 0.45 * np.clip(level, -2.5, 2)
    odds += -0.7 * (school == ATTENDS) + -0.65 * mother
    employed = block.coin(logistic(odds + -5.0 * institution))
    wants = np.where(institution, 0.02, curve(WANTS_WORK, age))
    jobless = np.where(block.coin(wants), UNEMPLOYED, INACTIVE)
    empstat = np.where(age < 16, TOO_YOUNG, np.where(employed, EMPLOYED, jobless))

    # The questionnaire skips the question for those at work, which the ACS records as "not
    # reported"; "not asked" is left for children. Some are employed, but were absent last week and
    # so are asked; some wait to be called back rather than look; some do not answer.
    answer = np.array([NOT_ASKED, NOT_REPORTED, LOOKING, NOT_LOOKING])[empstat]
    absent = (empstat == EMPLOYED) & block.coin(0.03)
    layoff = (empstat == UNEMPLOYED) & block.coin(0.12)
    refused = (empstat == INACTIVE) & block.coin(0.03)
    answer = np.where(absent | layoff, NOT_LOOKING, np.where(refused, NOT_REPORTED, answer))
    return empstat.astype(np.int64), answer.astype(np.int64)


def relate_subfamilies(block: Block, age: Ints, sex: Ints, marst: Ints) -> Ints:
    """SFRELATE of every member: (people,).

    A subfamily is a couple, or a parent with young unmarried children, within a household headed by
    someone else: a child's family, a sibling's, or the head's parents. As in the census, the
    husband is the reference person of a couple.
    """
    role = block.role
    relation = np.full(block.people, NO_SUBFAMILY, dtype=np.int64)
    husband_first = np.where(sex == MALE, REFERENCE, SUBFAMILY_SPOUSE)
    young: Bools = (age < 18) & (marst == NEVER_MARRIED)
    for parent, spouse, child in (
        (Role.CHILD, Role.CHILD_IN_LAW, Role.GRANDCHILD),
        (Role.SIBLING, Role.SIBLING_IN_LAW, Role.NEPHEW),
    ):
        lead, partner = (role == parent) & (block.rank == 0), role == spouse
        offspring = (role == child) & young
        relation[lead & block.living_with(offspring)] = REFERENCE
        couple = partner | (lead & block.living_with(partner))
        relation[couple] = husband_first[couple]
        relation[offspring & block.living_with(lead)] = SUBFAMILY_CHILD
    couple = block.having(Role.PARENT, Role.PARENT_IN_LAW) & (marst == MARRIED)
    relation[couple] = husband_first[couple]
    return relation
