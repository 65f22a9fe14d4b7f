"""Child welfare referrals in the shape of AFST: siblings alike in age and history.

The real data is confidential, and nothing here was read off it: every number is a round guess that
gives the published totals (about 3.66 children per referral) and a plausible structure.
"""

from __future__ import annotations

import numpy as np

from kinfolk._typing import Bools, Floats, Ints
from kinfolk.experiments.simulate.draw import (
    Bands,
    Shares,
    Simulated,
    coin,
    curve,
    logistic,
    years_above,
)

BLOCK = 4096
OLDEST = 18
MOST_COUNTED = 7

SIZE = Shares.of(range(1, 11), (130, 190, 210, 175, 125, 75, 43, 27, 15, 10))
YOUNGEST = Bands((0, 1, 3, 6, 10, 14, 19), (16, 22, 24, 20, 12, 6))
GAP = Shares.of(range(8), (6, 20, 28, 20, 12, 7, 4, 3))

REPORTERS = (
    "parent", "grandparent", "sibling", "other relative", "neighbor", "friend", "child",
    "school staff", "child care worker", "hospital staff", "physician", "mental health worker",
    "social worker", "police officer", "court or probation", "clergy", "landlord", "agency staff",
    "anonymous", "other reporter",
)  # fmt: skip
# Who reports depends on where children of that age are seen.
REPORTER = Shares.of(
    range(len(REPORTERS)),
    (60, 45, 3, 45, 25, 15, 0.5, 40, 20, 170, 35, 25, 90, 95, 30, 0.8, 4, 75, 130, 90),  # infant
    (75, 45, 5, 45, 28, 18, 4, 190, 30, 50, 20, 45, 80, 85, 30, 1, 4, 65, 120, 65),  # older child
    (70, 30, 6, 35, 20, 15, 25, 220, 3, 45, 15, 80, 75, 95, 70, 1.2, 3, 60, 85, 60),  # teenager
)
CITIES = (
    "Pittsburgh", "Penn Hills", "McKeesport", "Wilkinsburg", "Monroeville", "West Mifflin",
    "Bethel Park", "Mt. Lebanon", "Ross", "Shaler", "Plum", "Baldwin", "Moon", "McCandless",
    "Whitehall", "Duquesne", "Clairton", "Swissvale", "Munhall", "McKees Rocks", "Stowe",
    "Carnegie", "Brentwood", "North Versailles", "East Pittsburgh", "Braddock", "Rankin",
    "Homestead", "Coraopolis", "elsewhere",
)  # fmt: skip
CITY = Shares.of(
    range(len(CITIES)),
    (390, 38, 58, 33, 18, 20, 10, 7, 12, 11, 11, 13, 9, 7, 9, 19, 20, 15, 13, 21, 13, 10, 9, 14, 7,
     8, 6, 10, 9, 180),
)  # fmt: skip
# Families in trouble are commoner in some of these towns: added to their risk.
CITY_RISK = np.array(
    [0.1, 0, 0.3, 0.25, -0.1, 0, -0.4, -0.5, -0.3, -0.3, -0.2, -0.1, -0.3, -0.5, -0.2, 0.5, 0.45,
     0.1, 0, 0.4, 0.2, -0.1, -0.1, 0.1, 0.3, 0.5, 0.5, 0.35, 0, -0.15]
)  # fmt: skip
VERSION = Shares.of((1, 2, 3), (33, 42, 25))

OUTCOMES = ("screen in", "screen out", "other outcome")
SCREEN_IN, SCREEN_OUT, OTHER_OUTCOME = range(3)
DECISIONS = ("accept for service", "do not accept", "already open", "not investigated")
ACCEPTED, NOT_ACCEPTED, ALREADY_OPEN, NOT_INVESTIGATED = range(4)

# Referrals, services and placements over the last 548 days for a family at average risk, as the
# logarithm of their mean; and what risk adds to it.
EVENTS = ((-0.35, 0.55), (-1.0, 0.8), (-3.4, 1.2))

# On juvenile probation or in the county jail ever, by age; now, among those who ever were.
PROBATION_EVER = ((9, 0.0), (10, 0.002), (13, 0.02), (15, 0.06), (17, 0.11), (18, 0.13))
JAIL_EVER = ((13, 0.0), (14, 0.001), (16, 0.006), (17, 0.012), (18, 0.05))


def draw_referrals(rng: np.random.Generator) -> Simulated:
    """A block of `afst`: referrals and the children they name."""
    size = SIZE.draw_many(rng, BLOCK)
    city = CITY.draw_many(rng, BLOCK)
    risk = rng.standard_normal(BLOCK) + CITY_RISK[city] + 0.08 * (size - 3.66)
    family = np.repeat(np.arange(BLOCK), size)
    rank = np.arange(len(family)) - np.repeat(np.cumsum(size) - size, size)
    age = _sibling_ages(rng, size)[family, rank]

    events = [_events(rng, base + slope * risk) for base, slope in EVENTS]
    referrals, services, placements = (_per_child(rng, each, family, age) for each in events)
    probation, probation_now = _ever_and_now(rng, curve(PROBATION_EVER, age), 0.40, risk[family])
    jail, jail_now = _ever_and_now(rng, curve(JAIL_EVER, age), 0.25, risk[family])

    youngest = age[np.cumsum(size) - 1]
    stage = np.searchsorted([3, 13], youngest, side="right").astype(np.int64)
    served = (events[1] > 0) | (events[2] > 0)
    outcome, decision = _decide(rng, risk, youngest < 3, np.minimum(events[0], 5), served)
    flags = {
        "ACJ_NOW_VICT_SELF": jail_now,
        "ACJ_EVERIN_VICT_SELF": jail,
        "JPO_NOW_VICT_SELF": probation_now,
        "JPO_EVERIN_VICT_SELF": probation,
    }
    return Simulated(
        groups={
            "VERSION": VERSION.draw_many(rng, BLOCK),
            "RELATIONSHIP_TO_REPORT": REPORTER.draw(rng, stage),
            "CALL_SCRN_OUTCOME": outcome,
            "SERVICE_DECISION": decision,
            "HH_CITY": city,
        },
        members={
            **{name: flag.astype(np.int64) for name, flag in flags.items()},
            "AGE_AT_RFRL_VICT_SELF": age,
            "PLSM_PAST548_COUNT_NULL": placements,
            "SER_PAST548_COUNT_VICT_SELF": services,
            "REF_PAST548_COUNT_VICT_SELF": referrals,
        },
        sizes=size,
    )


def _sibling_ages(rng: np.random.Generator, size: Ints) -> Ints:
    """Ages of up to ten siblings, oldest first, all children still: (referrals, 10)."""
    youngest = YOUNGEST.draw(rng, np.zeros(len(size), dtype=np.int64))
    above = years_above(rng, GAP, size, longest=10)
    # Large families are squeezed into the years of childhood rather than cut off at the top.
    squeeze = np.minimum(1.0, (OLDEST - youngest) / np.maximum(above[:, 0], 1))
    ages: Ints = youngest[:, None] + np.floor(above * squeeze[:, None]).astype(np.int64)
    return ages


def _events(rng: np.random.Generator, log_mean: Floats) -> Ints:
    """Counts with a geometric tail and the given mean (logarithm): the shape of `log_mean`."""
    again = np.exp(log_mean) / (1 + np.exp(log_mean))
    drawn = np.floor(np.log1p(-rng.random(log_mean.shape)) / np.log(again))
    events: Ints = np.minimum(drawn, 20).astype(np.int64)
    return events


def _per_child(rng: np.random.Generator, events: Ints, family: Ints, age: Ints) -> Ints:
    """How many of the family's events concerned each child, 7 for seven or more: (children,)."""
    # A child was now and then not part of an earlier event; an infant mostly was not there yet.
    missed = np.where(age == 0, 0.6, 0.12)
    part = rng.random((len(family), MOST_COUNTED + 1)) >= missed[:, None]
    part &= np.arange(MOST_COUNTED + 1) < events[family][:, None]
    counted: Ints = np.minimum(part.sum(axis=1), MOST_COUNTED).astype(np.int64)
    return counted


def _ever_and_now(
    rng: np.random.Generator, ever: Floats, now: float, risk: Floats
) -> tuple[Bools, Bools]:
    """Whether something ever applied to each child, and whether it does now: two (children,)."""
    chance = np.clip(ever * np.exp(0.5 * risk), 0, 0.6)
    happened = coin(rng, chance, len(ever))
    return happened, happened & coin(rng, now, len(ever))


def _decide(
    rng: np.random.Generator, risk: Floats, infant: Bools, history: Ints, served: Bools
) -> tuple[Ints, Ints]:
    """The screener's outcome and the decision on services: two arrays (referrals,)."""
    size = len(risk)
    odds = -0.35 + 0.55 * risk + 0.5 * infant + 0.12 * history
    outcome = np.where(coin(rng, logistic(odds), size), SCREEN_IN, SCREEN_OUT)
    outcome = np.where(coin(rng, 0.035, size), OTHER_OUTCOME, outcome)

    wanted = logistic(-0.9 + 0.7 * risk + 0.15 * served)
    investigated = np.where(coin(rng, wanted, size), ACCEPTED, NOT_ACCEPTED)
    decision = np.where(outcome == SCREEN_IN, investigated, NOT_INVESTIGATED)
    is_open = coin(rng, np.where(served, 0.32, 0.02), size)
    decision = np.where(is_open, ALREADY_OPEN, decision)
    return outcome.astype(np.int64), decision.astype(np.int64)


WORDS = {
    "RELATIONSHIP_TO_REPORT": REPORTERS,
    "CALL_SCRN_OUTCOME": OUTCOMES,
    "SERVICE_DECISION": DECISIONS,
    "HH_CITY": CITIES,
}
"""Columns whose numbers stand for words, and the words."""
