"""The three census samples of the paper, each cut out of the same simulated population.

Households get a place, then people, then a dwelling that fits both. The counties are those an IPUMS
extract for New York identifies. All numbers are round and chosen to look like published tables, not
estimates.

With the same seed, `acs-red` holds the small households of `acs`, and `acs-rel` the heads, spouses
and children of its households: the samples differ as the paper's do, by selection and recoding.
"""

from __future__ import annotations

import numpy as np

from kinfolk._typing import Floats, Ints
from kinfolk.experiments.simulate import families, people
from kinfolk.experiments.simulate.draw import Shares, Simulated, coin, curve, logistic
from kinfolk.experiments.simulate.families import GENERATION, OUTSIDE, Block, Kind, Role

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

# How social status differs, in standard deviations. In the order of Origin and of Region.
STATUS_BY_ORIGIN = (0.15, -0.25, -0.35, 0.05, 0.7, 0.35, -0.8, -0.45, 0.0, -0.5, -0.1, 0.05)
STATUS_BY_REGION = (0.05, 0.25, -0.05, -0.25)

# IPUMS RELATE for each Role; people in group quarters have codes of their own.
RELATE = np.array([1, 2, 11, 3, 4, 9, 5, 6, 7, 8, 10, 10, 12])
RELATE_QUARTERS, RELATE_INSTITUTION = 12, 13
HEAD, CHILD = 1, 3

CITY, SUBURB, UPSTATE, RURAL = range(4)
"""Four kinds of surroundings, which no extract tells and which shape the rest: the `Region`."""
METRO_UNCLEAR, METRO_OUTSIDE, METRO_CENTRE, METRO_SUBURB, METRO_MIXED = range(5)

# Region, weights of METRO 0..4, and counties: COUNTYFIP (0: not identified), per mille of all.
PLACES = (
    (CITY, (0, 0, 1, 0, 0), ((5, 70), (47, 129), (61, 98), (81, 108), (85, 23))),
    (SUBURB, (0, 0, 0, 1, 0), ((59, 62), (103, 67), (87, 14))),
    (SUBURB, (0, 0, 0, 60, 40), ((71, 18), (27, 15))),
    (SUBURB, (4, 0, 12, 60, 24), ((0, 64),)),
    (UPSTATE, (0, 0, 35, 55, 10), ((1, 18), (29, 53), (55, 42), (93, 9))),
    (UPSTATE, (0, 0, 0, 35, 65), ((63, 12), (83, 9), (91, 13), (75, 6))),
    (UPSTATE, (0, 0, 0, 0, 1), ((109, 6),)),
    (UPSTATE, (10, 0, 22, 28, 40), ((0, 92),)),
    (RURAL, (0, 1, 0, 0, 0), ((13, 7), (89, 6))),
    (RURAL, (18, 82, 0, 0, 0), ((0, 59),)),
)
_EVERY = [(region, metro, *one) for region, metro, several in PLACES for one in several]
_REGION, _METROS, _COUNTY, _WEIGHT = zip(*_EVERY, strict=True)
_PLACE = Shares.of(range(len(_EVERY)), _WEIGHT)
_METRO = Shares.of(range(5), *_METROS)

NO_TENURE, OWNED, RENTED = range(3)
NO_ACREAGE, BELOW_TEN_ACRES, TEN_ACRES = range(3)
NO_SALES_ASKED, NO_SALES, SALES_BELOW_1000, SALES_FROM_1000 = range(4)
NOT_A_FARM, A_FARM = 1, 2
NO_STAMPS, STAMPS = 1, 2

# Log-odds of owning and of food stamps, by Region; of owning, by the head's age.
OWNS_BY_REGION = np.array([-1.15, 1.15, 0.55, 0.95])
STAMPS_BY_REGION = np.array([0.35, -0.35, 0.0, 0.05])
OWNS_BY_AGE = ((20, -2.4), (30, -0.9), (40, 0.0), (50, 0.4), (65, 1.1), (80, 1.0))

# Share living in a house of their own rather than a flat, and land around it, by Region.
HOUSE_OWNED = np.array([0.42, 0.90, 0.92, 0.90])
HOUSE_RENTED = np.array([0.04, 0.25, 0.26, 0.42])
AN_ACRE = np.array([0.004, 0.12, 0.36, 0.50])
TEN_OF_THOSE = np.array([0.02, 0.05, 0.14, 0.30])
CENTRAL_CITY_LAND = 0.03
"""How much rarer an acre is inside a central city."""
SALES = Shares.of(
    range(NO_SALES, 7),
    (955, 22, 9, 5, 4, 5),  # an acre to ten
    (740, 70, 40, 35, 35, 80),  # ten acres or more
)

ROOMS_OWNED = np.array([5.6, 7.2, 6.8, 6.7])
ROOMS_RENTED = np.array([3.6, 4.2, 4.4, 4.9])
STUDIO = np.array([0.07, 0.03, 0.02, 0.015])
"""Share of rented dwellings for one or two people that are a single room, by Region."""

# Year built, by Region: BUILTYR2 1 to 7 and 9 (2000 to 2004) by period, 10 to 24 by single year.
BUILT_YEARLY = (7, 7, 6, 5, 4, 3, 2.5, 3, 3.5, 4, 4.5, 5, 5, 4.5, 2.5)
BUILT = Shares.of(
    (1, 2, 3, 4, 5, 6, 7, 9, *range(10, 25)),
    (440, 105, 125, 120, 65, 45, 30, 25, *BUILT_YEARLY),  # big city
    (200, 80, 250, 165, 105, 75, 65, 30, *(0.7 * year for year in BUILT_YEARLY)),  # suburb
    (325, 75, 145, 110, 115, 80, 75, 32, *(0.8 * year for year in BUILT_YEARLY)),  # upstate
    (370, 55, 90, 85, 130, 105, 95, 42, *(0.7 * year for year in BUILT_YEARLY)),  # rural
)


def draw_population(rng: np.random.Generator, households: int) -> Simulated:
    """Whole households with the attributes of `acs`, and RELATE besides."""
    county, metro, region = choose_places(rng, households)
    head_origin = people.ORIGIN.draw(rng, region)
    status = rng.standard_normal(households)
    status += np.asarray(STATUS_BY_ORIGIN)[head_origin]
    status += np.asarray(STATUS_BY_REGION)[region]
    kind = families.KINDS.draw(rng, head_origin)
    counts = families.count_roles(rng, kind)
    block = Block(rng=rng, region=region, status=status, kind=kind, counts=counts)

    sex = families.draw_sexes(block)
    age = families.draw_ages(block, sex)
    origin = people.draw_origins(block, head_origin)
    race, hispan = people.describe_origins(block, origin)
    citizen = people.draw_citizenship(block, origin, age)
    level = people.draw_levels(block, age, sex, citizen)
    educ, school = people.draw_schooling(block, age, level)
    marst = people.draw_marital_status(block, age, sex)
    empstat, looking = people.draw_work(block, age, sex, level, school)
    housing = describe_dwellings(block, metro, age, level, citizen, empstat)
    generations = _count_generations(block)
    return Simulated(
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


def choose_places(rng: np.random.Generator, size: int) -> tuple[Ints, Ints, Ints]:
    """COUNTYFIP, METRO and `Region` of so many households: three arrays (households,)."""
    place = _PLACE.draw_many(rng, size)
    return np.array(_COUNTY)[place], _METRO.draw(rng, place), np.array(_REGION)[place]


def describe_dwellings(
    block: Block, metro: Ints, age: Ints, level: Floats, citizen: Ints, empstat: Ints
) -> dict[str, Ints]:
    """The attributes of every dwelling by their IPUMS names, each (households,)."""
    rng, size, region, kind = block.rng, block.households, block.region, block.kind
    counts, head, quarters = block.counts, block.role == Role.HEAD, block.quarters
    members = counts.sum(axis=1)
    workers = np.bincount(block.house[empstat == people.EMPLOYED], minlength=size)
    # A latent income, about standard: status, the head's education, and who works.
    earners = 0.45 * (np.minimum(workers, 3) - 1)
    income = 0.5 * block.status + 0.55 * level[head] + earners

    odds = OWNS_BY_REGION[region] + curve(OWNS_BY_AGE, age[head])
    odds = odds + 0.8 * income + 0.7 * (counts[:, [Role.SPOUSE, Role.PARTNER]].sum(axis=1) > 0)
    odds += -0.5 * (kind == Kind.LONE_PARENT)
    odds += -1.2 * (kind == Kind.ROOMMATES)
    owned = coin(rng, logistic(odds + -0.8 * (citizen[head] == people.NOT_CITIZEN)), size)

    house = coin(rng, np.where(owned, HOUSE_OWNED[region], HOUSE_RENTED[region]), size)
    thinner = np.where(metro == METRO_CENTRE, CENTRAL_CITY_LAND, 1.0)
    acre = house & coin(rng, AN_ACRE[region] * thinner, size)
    ten = acre & coin(rng, TEN_OF_THOSE[region], size)
    acreage = np.where(ten, TEN_ACRES, np.where(house, BELOW_TEN_ACRES, NO_ACREAGE))
    sales = np.where(acre, SALES.draw(rng, ten.astype(np.int64)), NO_SALES_ASKED)

    mean = np.where(owned, ROOMS_OWNED[region], ROOMS_RENTED[region])
    mean = mean + 0.35 * (members - 2) + 0.35 * block.status
    spread = np.exp(0.25 * rng.standard_normal(size))
    rooms = np.clip(np.rint(np.maximum(mean, 1.0) * spread), 1, 14)
    studio = coin(rng, STUDIO[region], size) & ~owned & (members <= 2)
    rooms = np.where(studio, 1, rooms)

    odds = -2.1 + STAMPS_BY_REGION[region] + -0.95 * income
    odds = odds + -1.0 * owned + 0.12 * counts[:, [Role.CHILD, Role.GRANDCHILD]].sum(axis=1)
    odds += 0.55 * (kind == Kind.LONE_PARENT)
    stamps = coin(rng, logistic(odds + 0.75 * (workers == 0)), size)
    stamps = np.where(quarters, coin(rng, 0.03, size), stamps)
    drawn = {
        "OWNERSHP": np.where(quarters, NO_TENURE, np.where(owned, OWNED, RENTED)),
        # The census counts a place of an acre as a farm from sales of $1000.
        "FARM": np.where((sales >= SALES_FROM_1000) & ~quarters, A_FARM, NOT_A_FARM),
        "FARMPROD": np.where(quarters, NO_SALES_ASKED, sales),
        "ACREHOUS": np.where(quarters, NO_ACREAGE, acreage),
        "ROOMS": np.where(quarters, 0, rooms),
        "BUILTYR2": np.where(quarters, 0, BUILT.draw(rng, region)),
        "FOODSTMP": np.where(stamps, STAMPS, NO_STAMPS),
    }
    return {name: values.astype(np.int64) for name, values in drawn.items()}


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


def draw_acs(rng: np.random.Generator) -> Simulated:
    """A block of `acs`: every household, with all attributes."""
    return draw_population(rng, BLOCK).pick(GROUP_COLUMNS, MEMBER_COLUMNS)


def draw_reduced(rng: np.random.Generator) -> Simulated:
    """A block of `acs-red`: households of up to three people, categories merged."""
    everyone = draw_population(rng, BLOCK)
    employed = everyone.members["EMPSTAT"] == people.EMPLOYED
    married = everyone.members["MARST"] <= people.SPOUSE_ABSENT
    everyone.members["EMPSTAT"] = np.where(employed, 1, 2).astype(np.int64)
    everyone.members["MARST"] = np.where(married, 1, 2).astype(np.int64)
    groups, members = ("METRO", "OWNERSHP", "FARM", "FOODSTMP"), ("SEX", "AGE", "EMPSTAT", "MARST")
    return everyone.keep(everyone.sizes <= 3).pick(groups, members)


def draw_related(rng: np.random.Generator) -> Simulated:
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
