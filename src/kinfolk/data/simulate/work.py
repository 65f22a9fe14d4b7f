"""Work: EMPSTAT and LOOKING, from age, sex, education, school and small children.

All numbers are round and chosen to look like published labour force tables, not estimates.
"""

from __future__ import annotations

import numpy as np

from kinfolk.data.simulate.compositions import Members
from kinfolk.data.simulate.draw import Floats, Ints, coin, curve, logistic
from kinfolk.data.simulate.kinds import Kind, Role
from kinfolk.data.simulate.schooling import ATTENDS
from kinfolk.data.simulate.sexes import FEMALE

WORKING_AGE = 16
TOO_YOUNG, EMPLOYED, UNEMPLOYED, INACTIVE = range(4)
NOT_ASKED, NOT_LOOKING, LOOKING, NOT_REPORTED = range(4)

# Log-odds of having a job by age; what education, school and small children change.
MEN = (
    (16, -1.4), (18, -0.2), (20, 0.6), (22, 1.0), (25, 1.5), (30, 1.9), (45, 1.9), (52, 1.6),
    (58, 1.1), (62, 0.3), (65, -0.4), (70, -1.3), (75, -2.0), (80, -2.8), (90, -4.2),
)  # fmt: skip
WOMEN = (
    (16, -1.2), (18, 0.0), (20, 0.6), (22, 0.9), (25, 1.3), (30, 1.3), (45, 1.3), (52, 1.1),
    (58, 0.6), (62, -0.1), (65, -0.8), (70, -1.8), (75, -2.6), (80, -3.4), (90, -4.8),
)  # fmt: skip
BY_LEVEL = 0.45
IN_SCHOOL = -0.7
SMALL_CHILD, SMALL_CHILD_MOTHER = 6, -0.65
IN_INSTITUTION = -5.0

# Of those without a job, the share that wants one.
UNEMPLOYED_BY_AGE = (
    (16, 0.10), (20, 0.21), (25, 0.27), (40, 0.22), (55, 0.14), (62, 0.06), (70, 0.015), (85, 0.002)
)  # fmt: skip
UNEMPLOYED_IN_INSTITUTION = 0.02

ON_LAYOFF = 0.12
"""Unemployed, and waiting to be called back rather than looking."""
ABSENT_FROM_JOB = 0.03
"""Employed, but absent last week, and so asked whether they look."""
REFUSED = 0.03


def draw_work(
    rng: np.random.Generator,
    kind: Ints,
    members: Members,
    age: Ints,
    sex: Ints,
    level: Floats,
    school: Ints,
) -> tuple[Ints, Ints]:
    """EMPSTAT and LOOKING of every member: two arrays (people,)."""
    house, people = members.household, len(age)
    woman = sex == FEMALE
    small = (age < SMALL_CHILD) & members.having(Role.CHILD)
    mother = woman & members.having(Role.HEAD, Role.SPOUSE, Role.PARTNER)
    mother &= np.bincount(house[small], minlength=len(kind))[house] > 0
    institution = kind[house] == Kind.INSTITUTION

    odds = np.where(woman, curve(WOMEN, age), curve(MEN, age)) + BY_LEVEL * np.clip(level, -2.5, 2)
    odds += IN_SCHOOL * (school == ATTENDS) + SMALL_CHILD_MOTHER * mother
    employed = coin(rng, logistic(odds + IN_INSTITUTION * institution), people)
    wants = np.where(institution, UNEMPLOYED_IN_INSTITUTION, curve(UNEMPLOYED_BY_AGE, age))
    jobless = np.where(coin(rng, wants, people), UNEMPLOYED, INACTIVE)
    empstat = np.where(age < WORKING_AGE, TOO_YOUNG, np.where(employed, EMPLOYED, jobless))

    # The questionnaire skips the question for those at work, which the ACS records as "not
    # reported"; "not asked" is left for children.
    answer = np.array([NOT_ASKED, NOT_REPORTED, LOOKING, NOT_LOOKING])[empstat]
    absent = (empstat == EMPLOYED) & coin(rng, ABSENT_FROM_JOB, people)
    layoff = (empstat == UNEMPLOYED) & coin(rng, ON_LAYOFF, people)
    refused = (empstat == INACTIVE) & coin(rng, REFUSED, people)
    answer = np.where(absent | layoff, NOT_LOOKING, np.where(refused, NOT_REPORTED, answer))
    return empstat.astype(np.int64), answer.astype(np.int64)
