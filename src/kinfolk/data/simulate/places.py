"""Where households are: county, metropolitan status, and the kind of region that shapes the rest.

The counties are those an IPUMS extract for New York identifies; weights are round numbers chosen to
look like published population tables, not estimates.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from kinfolk.data.simulate.draw import Ints, shares


class Region(IntEnum):
    """Four kinds of surroundings."""

    CITY = 0
    SUBURB = 1
    UPSTATE = 2
    RURAL = 3


METRO_UNCLEAR, METRO_OUTSIDE, METRO_CENTRE, METRO_SUBURB, METRO_MIXED = range(5)

_BIG_CITY = (0, 0, 1, 0, 0)
_SUBURB = (0, 0, 0, 1, 0)
_EDGE = (0, 0, 0, 60, 40)
_UPSTATE_CITY = (0, 0, 35, 55, 10)
_UPSTATE = (0, 0, 0, 35, 65)

# COUNTYFIP (0: not identified), per mille of households, region, weights of METRO 0..4.
PLACES: tuple[tuple[int, int, Region, tuple[int, ...]], ...] = (
    (5, 70, Region.CITY, _BIG_CITY),
    (47, 129, Region.CITY, _BIG_CITY),
    (61, 98, Region.CITY, _BIG_CITY),
    (81, 108, Region.CITY, _BIG_CITY),
    (85, 23, Region.CITY, _BIG_CITY),
    (59, 62, Region.SUBURB, _SUBURB),
    (103, 67, Region.SUBURB, _SUBURB),
    (87, 14, Region.SUBURB, _SUBURB),
    (71, 18, Region.SUBURB, _EDGE),
    (27, 15, Region.SUBURB, _EDGE),
    (0, 64, Region.SUBURB, (4, 0, 12, 60, 24)),
    (1, 18, Region.UPSTATE, _UPSTATE_CITY),
    (29, 53, Region.UPSTATE, _UPSTATE_CITY),
    (55, 42, Region.UPSTATE, _UPSTATE_CITY),
    (93, 9, Region.UPSTATE, _UPSTATE_CITY),
    (63, 12, Region.UPSTATE, _UPSTATE),
    (83, 9, Region.UPSTATE, _UPSTATE),
    (91, 13, Region.UPSTATE, _UPSTATE),
    (75, 6, Region.UPSTATE, _UPSTATE),
    (109, 6, Region.UPSTATE, (0, 0, 0, 0, 1)),
    (0, 92, Region.UPSTATE, (10, 0, 22, 28, 40)),
    (13, 7, Region.RURAL, (0, 1, 0, 0, 0)),
    (89, 6, Region.RURAL, (0, 1, 0, 0, 0)),
    (0, 59, Region.RURAL, (18, 82, 0, 0, 0)),
)
_COUNTY = np.array([place[0] for place in PLACES])
_REGION = np.array([place[2] for place in PLACES], dtype=np.int64)
_PLACE = shares(range(len(PLACES)), [place[1] for place in PLACES])
_METRO = shares(range(5), *(place[3] for place in PLACES))


@dataclass(frozen=True, kw_only=True)
class Places:
    """Where each household of a block is."""

    county: Ints
    """COUNTYFIP, 0 where an extract would not tell: (households,)."""
    metro: Ints
    """METRO: (households,)."""
    region: Ints
    """`Region`, which no extract tells: (households,)."""


def choose_places(rng: np.random.Generator, size: int) -> Places:
    """Put `size` households somewhere."""
    place = _PLACE.draw_many(rng, size)
    return Places(
        county=_COUNTY[place],
        metro=_METRO.draw(rng, place),
        region=_REGION[place],
    )
