"""Dwellings: OWNERSHP, ROOMS, BUILTYR2, ACREHOUS, FARMPROD, FARM and FOODSTMP.

All numbers are round and chosen to look like published housing tables, not estimates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinfolk.data.simulate.draw import Bools, Floats, Ints, coin, curve, logistic, shares
from kinfolk.data.simulate.kinds import Kind, is_quarters
from kinfolk.data.simulate.places import METRO_CENTRE, Places

NO_TENURE, OWNED, RENTED = range(3)
NO_ACREAGE, BELOW_TEN_ACRES, TEN_ACRES = range(3)
NO_SALES_ASKED, NO_SALES, SALES_BELOW_1000, SALES_FROM_1000 = range(4)
NOT_A_FARM, A_FARM = 1, 2
NO_STAMPS, STAMPS = 1, 2
MOST_ROOMS = 14

# Log-odds of owning: by Region, by the head's age, by income, and by kind of household.
OWNS_BY_REGION = np.array([-1.15, 1.15, 0.55, 0.95])
OWNS_BY_AGE = ((20, -2.4), (30, -0.9), (40, 0.0), (50, 0.4), (65, 1.1), (80, 1.0))
OWNS_BY_INCOME = 0.8
OWNS_COUPLE, OWNS_LONE_PARENT, OWNS_ROOMMATES, OWNS_NOT_CITIZEN = 0.7, -0.5, -1.2, -0.8

# Share living in a house of their own rather than a flat, and land around it, by Region.
HOUSE_OWNED = np.array([0.42, 0.90, 0.92, 0.90])
HOUSE_RENTED = np.array([0.04, 0.25, 0.26, 0.42])
AN_ACRE = np.array([0.004, 0.12, 0.36, 0.50])
TEN_OF_THOSE = np.array([0.02, 0.05, 0.14, 0.30])
CENTRAL_CITY_LAND = 0.03
"""How much rarer an acre is inside a central city."""
SALES = shares(
    range(NO_SALES, 7),
    (955, 22, 9, 5, 4, 5),  # an acre to ten
    (740, 70, 40, 35, 35, 80),  # ten acres or more
)

ROOMS_OWNED = np.array([5.6, 7.2, 6.8, 6.7])
ROOMS_RENTED = np.array([3.6, 4.2, 4.4, 4.9])
ROOMS_PER_PERSON, ROOMS_PER_STATUS, ROOMS_SPREAD = 0.35, 0.35, 0.25
STUDIO = np.array([0.07, 0.03, 0.02, 0.015])
"""Share of rented dwellings for one or two people that are a single room, by Region."""

# Year built, by Region: BUILTYR2 1 to 7 and 9 (2000 to 2004) by period, 10 to 24 by single year.
BUILT_CODES = (1, 2, 3, 4, 5, 6, 7, 9, *range(10, 25))
BUILT_YEARLY = (7, 7, 6, 5, 4, 3, 2.5, 3, 3.5, 4, 4.5, 5, 5, 4.5, 2.5)
BUILT = shares(
    BUILT_CODES,
    (440, 105, 125, 120, 65, 45, 30, 25, *BUILT_YEARLY),  # big city
    (200, 80, 250, 165, 105, 75, 65, 30, *(0.7 * year for year in BUILT_YEARLY)),  # suburb
    (325, 75, 145, 110, 115, 80, 75, 32, *(0.8 * year for year in BUILT_YEARLY)),  # upstate
    (370, 55, 90, 85, 130, 105, 95, 42, *(0.7 * year for year in BUILT_YEARLY)),  # rural
)

# Log-odds of food stamps.
STAMPS_BASE, STAMPS_BY_REGION = -2.1, np.array([0.35, -0.35, 0.0, 0.05])
STAMPS_BY_INCOME, STAMPS_OWNER, STAMPS_LONE_PARENT, STAMPS_CHILD = -0.95, -1.0, 0.55, 0.12
STAMPS_NO_WORKER = 0.75
STAMPS_IN_QUARTERS = 0.03

INCOME_OF_LEVEL, INCOME_OF_WORKERS = 0.55, 0.45


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What the dwelling depends on, one entry per household."""

    kind: Ints
    size: Ints
    children: Ints
    couple: Bools
    head_age: Ints
    head_level: Floats
    head_is_citizen: Bools
    workers: Ints
    status: Floats

    @property
    def income(self) -> Floats:
        """A latent income, about standard: status, the head's education, and who works."""
        earners = INCOME_OF_WORKERS * (np.minimum(self.workers, 3) - 1)
        return 0.5 * self.status + INCOME_OF_LEVEL * self.head_level + earners


def describe_dwellings(
    rng: np.random.Generator, places: Places, situation: Situation
) -> dict[str, Ints]:
    """The attributes of every dwelling by their IPUMS names, each (households,)."""
    size, region = len(situation.kind), places.region
    quarters = is_quarters(situation.kind)
    owned = coin(rng, _chance_to_own(region, situation), size)
    tenure = np.where(owned, OWNED, RENTED)

    house = coin(rng, np.where(owned, HOUSE_OWNED[region], HOUSE_RENTED[region]), size)
    thinner = np.where(places.metro == METRO_CENTRE, CENTRAL_CITY_LAND, 1.0)
    acre = house & coin(rng, AN_ACRE[region] * thinner, size)
    ten = acre & coin(rng, TEN_OF_THOSE[region], size)
    acreage = np.where(ten, TEN_ACRES, np.where(house, BELOW_TEN_ACRES, NO_ACREAGE))
    sales = np.where(acre, SALES.draw(rng, ten.astype(np.int64)), NO_SALES_ASKED)

    mean = np.where(owned, ROOMS_OWNED[region], ROOMS_RENTED[region])
    mean = mean + ROOMS_PER_PERSON * (situation.size - 2) + ROOMS_PER_STATUS * situation.status
    spread = np.exp(ROOMS_SPREAD * rng.standard_normal(size))
    rooms = np.clip(np.rint(np.maximum(mean, 1.0) * spread), 1, MOST_ROOMS)
    studio = coin(rng, STUDIO[region], size) & ~owned & (situation.size <= 2)
    rooms = np.where(studio, 1, rooms)

    stamps = coin(rng, _chance_of_stamps(region, situation, owned), size)
    few = coin(rng, STAMPS_IN_QUARTERS, size)
    drawn = {
        "OWNERSHP": np.where(quarters, NO_TENURE, tenure),
        # The census counts a place of an acre as a farm from sales of $1000.
        "FARM": np.where((sales >= SALES_FROM_1000) & ~quarters, A_FARM, NOT_A_FARM),
        "FARMPROD": np.where(quarters, NO_SALES_ASKED, sales),
        "ACREHOUS": np.where(quarters, NO_ACREAGE, acreage),
        "ROOMS": np.where(quarters, 0, rooms),
        "BUILTYR2": np.where(quarters, 0, BUILT.draw(rng, region)),
        "FOODSTMP": np.where(np.where(quarters, few, stamps), STAMPS, NO_STAMPS),
    }
    return {name: values.astype(np.int64) for name, values in drawn.items()}


def _chance_to_own(region: Ints, situation: Situation) -> Floats:
    """Chance that each household owns its dwelling: (households,)."""
    odds = OWNS_BY_REGION[region] + curve(OWNS_BY_AGE, situation.head_age)
    odds = odds + OWNS_BY_INCOME * situation.income + OWNS_COUPLE * situation.couple
    odds += OWNS_LONE_PARENT * (situation.kind == Kind.LONE_PARENT)
    odds += OWNS_ROOMMATES * (situation.kind == Kind.ROOMMATES)
    return logistic(odds + OWNS_NOT_CITIZEN * ~situation.head_is_citizen)


def _chance_of_stamps(region: Ints, situation: Situation, owned: Bools) -> Floats:
    """Chance that each household receives food stamps: (households,)."""
    odds = STAMPS_BASE + STAMPS_BY_REGION[region] + STAMPS_BY_INCOME * situation.income
    odds = odds + STAMPS_OWNER * owned + STAMPS_CHILD * situation.children
    odds += STAMPS_LONE_PARENT * (situation.kind == Kind.LONE_PARENT)
    return logistic(odds + STAMPS_NO_WORKER * (situation.workers == 0))
