"""Census ACS PUMS codes -> IPUMS codes, variable by variable; and PUMAs -> counties.

The left sides are those of the PUMS data dictionaries of 2012 to 2022, the right sides those of
the IPUMS USA codebook. A blank cell means that the question does not apply.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa

from kinfolk.data.sources.survey import BLANK, read_csv_columns, to_codes
from kinfolk.errors import KinfolkError, listed

Table = Mapping[int, int]


def _from(codes: Mapping[int, Iterable[int]]) -> dict[int, int]:
    """A table written the other way round: to each IPUMS code, the PUMS codes that mean it."""
    return {code: value for value, several in codes.items() for code in several}


HOUSEHOLD: Mapping[tuple[str, str], Table] = {
    ("OWNERSHP", "TEN"): {BLANK: 0, 1: 1, 2: 1, 3: 2, 4: 2},
    # A farm sells produce worth 1,000 dollars or more a year.
    ("FARM", "AGS"): {BLANK: 1, 1: 1, 2: 1, 3: 2, 4: 2, 5: 2, 6: 2},
    ("FARMPROD", "AGS"): {BLANK: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6},
    ("ACREHOUS", "ACR"): {BLANK: 0, 1: 1, 2: 1, 3: 2},
    ("ROOMS", "RMSP"): {BLANK: 0, **{rooms: min(rooms, 30) for rooms in range(1, 100)}},
    # From 2000 on IPUMS is one ahead, because its code 8, 1995 to 1999, is no longer used.
    ("BUILTYR2", "YBL"): {
        BLANK: 0,
        **{code: code for code in range(1, 8)},
        **{code: code + 1 for code in range(8, 32)},
    },
    ("FOODSTMP", "FS"): {1: 2, 2: 1},
}
"""By attribute and PUMS column, on the housing file."""

_DECADES = {1: 1939, 2: 1940, 3: 1950, 4: 1960, 5: 1970, 6: 1980, 7: 1990, 9: 2000, 15: 2010}

YRBLT: Table = _from(
    {0: [BLANK], 24: range(2020, 2040), **{code: [year] for code, year in _DECADES.items()}}
)
"""BUILTYR2 from the column that replaced YBL in 2021 and gives decades only."""

PERSON: Mapping[tuple[str, str], Table] = {
    ("SEX", "SEX"): {1: 1, 2: 2},
    ("MARST", "MSP"): {BLANK: 6, 1: 1, 2: 2, 3: 5, 4: 4, 5: 3, 6: 6},
    ("HISPAN", "HISP"): _from({0: [1], 1: [2], 2: [3], 3: [4], 4: range(5, 25)}),
    ("CITIZEN", "CIT"): {1: 0, 2: 0, 3: 1, 4: 2, 5: 3},
    ("EDUC", "SCHL"): _from(
        {
            0: [BLANK, 1],
            1: range(2, 8),
            2: range(8, 12),
            3: [12],
            4: [13],
            5: [14],
            6: range(15, 19),
            7: [19],
            8: [20],
            10: [21],
            11: range(22, 25),
        }
    ),
    ("SCHOOL", "SCH"): {BLANK: 0, 1: 1, 2: 2, 3: 2},
    ("EMPSTAT", "ESR"): {BLANK: 0, 1: 1, 2: 1, 3: 2, 4: 1, 5: 1, 6: 3},
    ("LOOKING", "NWLK"): {BLANK: 0, 1: 2, 2: 1, 3: 3},
    ("AGE", "AGEP"): {age: age for age in range(121)},
}
"""By attribute and PUMS column, on the person file."""

RELSHIPP: Table = _from(
    {
        1: [20],  # head
        2: [21, 23],  # spouse, of the other or the same sex
        3: [25, 26, 27],  # biological, adopted or stepchild
        4: [32],  # child-in-law
        5: [29],  # parent
        6: [31],  # parent-in-law
        7: [28],  # sibling
        9: [30],  # grandchild
        10: [33],  # other relative
        11: [22, 24, 34],  # unmarried partner, roommate
        12: [35, 36, 38],  # foster child, other nonrelative, noninstitutional quarters
        13: [37],  # institution
    }
)
"""RELATE from the relationship column of 2019 and later."""

RELP: Table = _from(
    {
        1: [0],
        2: [1],
        3: [2, 3, 4],
        4: [9],
        5: [6],
        6: [8],
        7: [5],
        9: [7],
        10: [10],
        11: [12, 13],
        12: [11, 14, 15, 17],  # also roomers and boarders
        13: [16],
    }
)
"""RELATE from the relationship column of 2010 to 2018."""

SUBFAMILY: Table = {BLANK: 0, 1: 1, 2: 1, 3: 1, 4: 3, 5: 3, 6: 3}
"""SFRELATE from SFR; of a couple (1 and 2) the second one listed becomes 2, the spouse."""

COUPLE = (1, 2)
"""Codes of SFR that both partners of a married-couple subfamily have."""

RACE: Table = {1: 1, 2: 2, 3: 3, 4: 3, 5: 3, 6: 6, 7: 6, 8: 7, 9: 8}
"""RACE from RAC1P; Chinese, Japanese and three or more races are told by other columns."""

ASIAN, CHINESE, JAPANESE, SEVERAL = 6, (43, 44), (48,), 9
"""Codes of RAC1P: Asian, two or more races; of RAC2P: Chinese and Taiwanese, Japanese."""

GENERATION: Mapping[int, int] = {5: 0, 6: 0, 1: 1, 2: 1, 7: 1, 8: 1, 3: 2, 4: 2, 9: 3}
"""The generation of each code of RELATE that has a certain one, as IPUMS counts MULTGEN."""

HOUSING_UNIT, INSTITUTION, QUARTERS = 1, 2, 3
"""Codes of TYPE and TYPEHUGQ."""


NY_2010 = "ny-2010"
"""The name of the built-in crosswalk."""

NY_2010_YEARS = range(2012, 2022)
"""The survey years that use the PUMAs of the 2010 census."""

_NEW_YORK: Mapping[int, tuple[int, ...]] = {
    1: (2001, 2002),  # Albany
    5: tuple(range(3701, 3711)),  # Bronx
    13: (2600,),  # Chautauqua
    27: (2801, 2802),  # Dutchess
    29: tuple(range(1201, 1208)),  # Erie
    47: tuple(range(4001, 4019)),  # Kings
    55: tuple(range(901, 907)),  # Monroe
    59: tuple(range(3201, 3213)),  # Nassau
    61: tuple(range(3801, 3811)),  # New York
    63: (1101, 1102),  # Niagara
    71: (2901, 2902, 2903),  # Orange
    75: (600,),  # Oswego
    81: tuple(range(4101, 4115)),  # Queens
    83: (1900,),  # Rensselaer
    85: (3901, 3902, 3903),  # Richmond
    87: (3001, 3002, 3003),  # Rockland
    89: (100,),  # St. Lawrence
    91: (1801, 1802),  # Saratoga
    93: (1700,),  # Schenectady
    103: tuple(range(3301, 3314)),  # Suffolk
    109: (2300,),  # Tompkins
}


def county_of_puma(crosswalk: str | Path) -> dict[int, int]:
    """The county (FIPS, New York) of each PUMA that has one.

    The crosswalk is "ny-2010" for the PUMAs of 2012 to 2021, or a CSV file with the columns PUMA
    and COUNTYFIP, one line for each pair that overlaps.

    >>> county_of_puma("ny-2010")[4101]
    81
    """
    if str(crosswalk) == NY_2010:
        return {puma: county for county, pumas in _NEW_YORK.items() for puma in pumas}
    path = Path(crosswalk)
    columns = read_csv_columns(path, ("PUMA", "COUNTYFIP"))
    lacking = [name for name in ("PUMA", "COUNTYFIP") if name not in columns]
    if lacking:
        raise KinfolkError(
            f"{path.name}: the crosswalk lacks the column {listed(lacking)}. "
            "It needs PUMA and COUNTYFIP, one line for each pair that overlaps."
        )
    pumas = to_codes(columns["PUMA"], where=f"{path.name}, column PUMA")
    counties = to_codes(columns["COUNTYFIP"], where=f"{path.name}, column COUNTYFIP")
    return whole_counties(zip(pumas.tolist(), counties.tolist(), strict=True))


def whole_counties(pairs: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Keep the pairs in which the county consists of PUMAs that lie wholly inside it.

    >>> whole_counties([(1, 10), (2, 10), (3, 20), (3, 30), (4, 30)])
    {1: 10, 2: 10}
    """
    of_puma: dict[int, set[int]] = defaultdict(set)
    of_county: dict[int, set[int]] = defaultdict(set)
    for puma, county in pairs:
        of_puma[puma].add(county)
        of_county[county].add(puma)
    return {
        puma: county
        for county, pumas in of_county.items()
        if all(len(of_puma[puma]) == 1 for puma in pumas)
        for puma in sorted(pumas)
    }


def refuse_other_years(serials: pa.Array, *, name: str) -> None:
    """PUMA numbers were dealt anew for 2022; the built-in crosswalk would misread them."""
    for serial in serials[:1].to_pylist():
        year = str(serial)[:4]
        if len(str(serial)) == 13 and year.isdigit() and int(year) >= NY_2010_YEARS.stop:
            raise KinfolkError(
                f"{name}: the crosswalk {NY_2010!r} knows the PUMAs of {NY_2010_YEARS.start} to "
                f"{NY_2010_YEARS[-1]}, but the survey is of {year}. "
                "Pass a CSV file with the columns PUMA and COUNTYFIP for that year."
            )
