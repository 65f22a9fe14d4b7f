"""The three census samples of the paper, each cut out of the same simulated population.

With the same seed, `acs-red` holds the small households of `acs`, and `acs-rel` the heads, spouses
and children of its households: the samples differ as the paper's do, by selection and recoding.
"""

from __future__ import annotations

import numpy as np

from kinfolk.experiments.simulate import ages, dwellings, families, people
from kinfolk.experiments.simulate.draw import Ints, Sample
from kinfolk.experiments.simulate.families import GENERATION, OUTSIDE, Block, Kind

BLOCK = 8192
"""Households drawn at a time: enough for fast arrays, small beside any memory limit."""

GROUP_COLUMNS = (
    "METRO", "OWNERSHP", "FARM", "COUNTYFIP", "FARMPROD", "ACREHOUS", "ROOMS", "BUILTYR2",
    "FOODSTMP", "MULTGEN",
)  # fmt: skip
MEMBER_COLUMNS = (
    "SFRELATE", "SEX", "MARST", "RACE", "HISPAN", "CITIZEN", "EDUC", "SCHOOL", "EMPSTAT",
    "LOOKING", "AGE",
)  # fmt: skip

# How social status differs, in standard deviations: round numbers chosen to look like published
# tables, not estimates. In the order of Origin and of Region.
STATUS_BY_ORIGIN = (0.15, -0.25, -0.35, 0.05, 0.7, 0.35, -0.8, -0.45, 0.0, -0.5, -0.1, 0.05)
STATUS_BY_REGION = (0.05, 0.25, -0.05, -0.25)

# IPUMS RELATE for each Role; people in group quarters have codes of their own.
RELATE = np.array([1, 2, 11, 3, 4, 9, 5, 6, 7, 8, 10, 10, 12])
RELATE_QUARTERS, RELATE_INSTITUTION = 12, 13
HEAD, CHILD = 1, 3


def draw_population(rng: np.random.Generator, households: int) -> Sample:
    """Whole households with the attributes of `acs`, and RELATE besides."""
    county, metro, region = dwellings.choose_places(rng, households)
    head_origin = people.ORIGIN.draw(rng, region)
    status = rng.standard_normal(households)
    status += np.asarray(STATUS_BY_ORIGIN)[head_origin]
    status += np.asarray(STATUS_BY_REGION)[region]
    kind = families.KINDS.draw(rng, head_origin)
    counts = families.count_roles(rng, kind)
    block = Block(rng=rng, region=region, status=status, kind=kind, counts=counts)

    sex = families.draw_sexes(block)
    age = ages.draw_ages(block, sex)
    origin = people.draw_origins(block, head_origin)
    race, hispan = people.describe_origins(block, origin)
    citizen = people.draw_citizenship(block, origin, age)
    level = people.draw_levels(block, age, sex, citizen)
    educ, school = people.draw_schooling(block, age, level)
    marst = people.draw_marital_status(block, age, sex)
    empstat, looking = people.draw_work(block, age, sex, level, school)
    housing = dwellings.describe_dwellings(block, metro, age, level, citizen, empstat)
    generations = _count_generations(block)
    return Sample(
        groups={"METRO": metro, "COUNTYFIP": county, **housing, "MULTGEN": generations},
        members={
            "RELATE": _relate(block),
            "SFRELATE": people.relate_subfamilies(block, age, sex, marst),
            "SEX": sex,
            "AGE": age,
            "MARST": marst,
            "RACE": race,
            "HISPAN": hispan,
            "CITIZEN": citizen,
            "EDUC": educ,
            "SCHOOL": school,
            "EMPSTAT": empstat,
            "LOOKING": looking,
        },
        sizes=counts.sum(axis=1),
    )


def _count_generations(block: Block) -> Ints:
    """MULTGEN: generations of relatives present, 3 for three or more, 0 in group quarters."""
    family = [generation for generation in np.unique(GENERATION) if generation != OUTSIDE]
    present = [block.counts[:, generation == GENERATION].any(axis=1) for generation in family]
    number: Ints = np.sum(present, axis=0, dtype=np.int64)
    return np.where(block.quarters, 0, np.minimum(number, 3))


def _relate(block: Block) -> Ints:
    """IPUMS RELATE of every member: (people,)."""
    relate, kind = RELATE[block.role], block.kind[block.house]
    relate[kind == Kind.QUARTERS] = RELATE_QUARTERS
    relate[kind == Kind.INSTITUTION] = RELATE_INSTITUTION
    return relate


def draw_acs(rng: np.random.Generator) -> Sample:
    """A block of `acs`: every household, with all attributes."""
    return draw_population(rng, BLOCK).pick(GROUP_COLUMNS, MEMBER_COLUMNS)


def draw_reduced(rng: np.random.Generator) -> Sample:
    """A block of `acs-red`: households of up to three people, categories merged."""
    everyone = draw_population(rng, BLOCK)
    employed = everyone.members["EMPSTAT"] == people.EMPLOYED
    married = everyone.members["MARST"] <= people.SPOUSE_ABSENT
    everyone.members["EMPSTAT"] = np.where(employed, 1, 2).astype(np.int64)
    everyone.members["MARST"] = np.where(married, 1, 2).astype(np.int64)
    groups, members = ("METRO", "OWNERSHP", "FARM", "FOODSTMP"), ("SEX", "AGE", "EMPSTAT", "MARST")
    return everyone.keep(everyone.sizes <= 3).pick(groups, members)


def draw_related(rng: np.random.Generator) -> Sample:
    """A block of `acs-rel`: heads, spouses and up to four children; everyone else is left out.

    People in group quarters head no household and so are left out with their records. Attributes
    of the household (MULTGEN) still describe it whole, as in an extract cut the same way.
    """
    everyone = draw_population(rng, BLOCK)
    relate = everyone.members["RELATE"]
    owner = np.repeat(np.arange(len(everyone)), everyone.sizes)
    heads = np.bincount(owner[relate == HEAD], minlength=len(everyone))
    children = np.bincount(owner[relate == CHILD], minlength=len(everyone))
    sample = everyone.keep((heads == 1) & (children <= 4), relate <= CHILD)
    return sample.pick(GROUP_COLUMNS, ("RELATE", *MEMBER_COLUMNS))
