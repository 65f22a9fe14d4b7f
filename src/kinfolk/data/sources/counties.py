"""From PUMA to county, where a PUMA lies in one county and the county is made of whole PUMAs.

That is the rule by which IPUMS identifies counties in COUNTYFIP.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa

from kinfolk.data.sources.csv_columns import listed, read_csv_columns, to_codes
from kinfolk.errors import KinfolkError

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
