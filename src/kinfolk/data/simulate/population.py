"""One population behind the three census schemas: whole households with everything about them."""

from __future__ import annotations

import numpy as np

from kinfolk.data.simulate.ages import draw_ages
from kinfolk.data.simulate.compositions import choose_kinds, count_roles, list_members
from kinfolk.data.simulate.draw import Ints
from kinfolk.data.simulate.dwellings import Situation, describe_dwellings
from kinfolk.data.simulate.families import count_generations, relate_subfamilies
from kinfolk.data.simulate.kinds import Kind, Role
from kinfolk.data.simulate.origins import (
    NOT_CITIZEN,
    describe_origins,
    draw_citizenship,
    draw_head_origins,
    draw_origins,
)
from kinfolk.data.simulate.places import choose_places
from kinfolk.data.simulate.sample import Sample
from kinfolk.data.simulate.schooling import draw_levels, draw_schooling
from kinfolk.data.simulate.sexes import draw_sexes
from kinfolk.data.simulate.unions import draw_marital_status
from kinfolk.data.simulate.work import EMPLOYED, draw_work

# How social status differs, in standard deviations: round numbers chosen to look like published
# tables, not estimates. In the order of Origin and of Region.
STATUS_BY_ORIGIN = (0.15, -0.25, -0.35, 0.05, 0.7, 0.35, -0.8, -0.45, 0.0, -0.5, -0.1, 0.05)
STATUS_BY_REGION = (0.05, 0.25, -0.05, -0.25)

# IPUMS RELATE for each Role; people in group quarters have codes of their own.
RELATE = np.array([1, 2, 11, 3, 4, 9, 5, 6, 7, 8, 10, 10, 12])
RELATE_QUARTERS, RELATE_INSTITUTION = 12, 13


def draw_population(rng: np.random.Generator, households: int) -> Sample:
    """Whole households with the attributes of `acs`, and RELATE besides."""
    places = choose_places(rng, households)
    head_origin = draw_head_origins(rng, places.region)
    status = rng.standard_normal(households)
    status += np.asarray(STATUS_BY_ORIGIN)[head_origin]
    status += np.asarray(STATUS_BY_REGION)[places.region]

    kind = choose_kinds(rng, head_origin)
    counts = count_roles(rng, kind)
    members = list_members(counts)
    sex = draw_sexes(rng, kind, members)
    age = draw_ages(rng, kind, counts, members, sex, status)

    origin = draw_origins(rng, members, places.region, head_origin)
    race, hispan = describe_origins(rng, members, origin)
    citizen = draw_citizenship(rng, members, origin, age, places.region, status)
    level = draw_levels(rng, kind, members, status, age, sex, citizen)
    educ, school = draw_schooling(rng, kind, members, age, level)
    marst = draw_marital_status(rng, members, counts, age, sex)
    empstat, looking = draw_work(rng, kind, members, age, sex, level, school)

    head = members.role == Role.HEAD
    employed = members.household[empstat == EMPLOYED]
    situation = Situation(
        kind=kind,
        size=counts.sum(axis=1),
        children=counts[:, [Role.CHILD, Role.GRANDCHILD]].sum(axis=1),
        couple=counts[:, [Role.SPOUSE, Role.PARTNER]].sum(axis=1) > 0,
        head_age=age[head],
        head_level=level[head],
        head_is_citizen=citizen[head] != NOT_CITIZEN,
        workers=np.bincount(employed, minlength=households),
        status=status,
    )
    dwellings = describe_dwellings(rng, places, situation)
    return Sample(
        groups={
            "METRO": places.metro,
            "COUNTYFIP": places.county,
            **dwellings,
            "MULTGEN": count_generations(kind, counts),
        },
        members={
            "RELATE": _relate(kind, members.household, members.role),
            "SFRELATE": relate_subfamilies(members, households, age, sex, marst),
            "SEX": sex,
            "MARST": marst,
            "RACE": race,
            "HISPAN": hispan,
            "CITIZEN": citizen,
            "EDUC": educ,
            "SCHOOL": school,
            "EMPSTAT": empstat,
            "LOOKING": looking,
            "AGE": age,
        },
        sizes=situation.size,
    )


def _relate(kind: Ints, household: Ints, role: Ints) -> Ints:
    """IPUMS RELATE of every member: (people,)."""
    relate = RELATE[role]
    relate[kind[household] == Kind.QUARTERS] = RELATE_QUARTERS
    relate[kind[household] == Kind.INSTITUTION] = RELATE_INSTITUTION
    return relate
