"""Census ACS PUMS: a housing file and a person file, as CSV or zipped, for one state."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kinfolk.data.sources import pums_codes as pums
from kinfolk.data.sources.ipums import refuse_quarters
from kinfolk.data.sources.pums_codes import NY_2010, county_of_puma, refuse_other_years
from kinfolk.data.sources.survey import (
    BLANK,
    NEW_YORK,
    Codes,
    SourceTables,
    SurveyRows,
    Units,
    link,
    read_csv_columns,
    target_schema,
    to_codes,
    to_target,
)
from kinfolk.errors import DataError, KinfolkError, Problem, listed
from kinfolk.schema import Schema

SERIALNO = "SERIALNO"
TYPE = ("TYPEHUGQ", "TYPE")
STATE = ("ST", "STATE")
BUILT = ("YBL", "YRBLT")
RELATION = ("RELSHIPP", "RELP")

Needs = Sequence[tuple[str, ...]]
"""Columns that must be there, each with the names it has had over the years."""


def read_pums(
    households: str | Path,
    persons: str | Path,
    *,
    target: str = "acs",
    county_crosswalk: str | Path | None = None,
    group_quarters: bool = False,
) -> SourceTables:
    """Read Census ACS PUMS files into the tables of a shipped schema.

    - `households`: psam_hXX.csv, also gzipped or in its ZIP archive (csv_hxx.zip).
    - `persons`: psam_pXX.csv, likewise.
    - `target`: which schema to fill: acs, acs-red or acs-rel.
    - `county_crosswalk`: how to find COUNTYFIP from the PUMA: "ny-2010" for New York in 2012 to
      2021, or a CSV file with the columns PUMA and COUNTYFIP. Without it the county is 0.
    - `group_quarters`: whether to keep people in group quarters, each as a household of one. Not
      for acs-rel, where every household has a head.

    The tables are `households` and `persons`; the notes say what PUMS does not tell.
    """
    schema = target_schema(target)
    refuse_quarters(schema, target, group_quarters=group_quarters)
    assert schema.group is not None, "every target has households"  # noqa: S101
    counties = county_of_puma(county_crosswalk) if county_crosswalk is not None else None
    county_needs: Needs = [STATE, ("PUMA",)] if counties is not None else []
    homes = _read(Path(households), "h", [TYPE, *_household_needs(schema), *county_needs], target)
    people = _read(Path(persons), "p", _person_needs(schema), target)
    home = link(homes.ids, people.ids, names=(homes.name, people.name), key=SERIALNO)
    if str(county_crosswalk) == NY_2010:
        refuse_other_years(homes.ids, name=homes.name)
    units = Units(households=homes, persons=people, home=home)
    units, notes = _choose(units, group_quarters=group_quarters)
    units = _as_ipums(units, schema, counties)
    return to_target(units, schema, target=target, notes=[*notes, *_notes(schema, homes, counties)])


def _household_needs(schema: Schema) -> Needs:
    attributes = schema.group.attributes if schema.group else {}
    columns = dict.fromkeys(column for (name, column) in pums.HOUSEHOLD if name in attributes)
    needs = [BUILT if column in BUILT else (column,) for column in columns]
    return [*needs, ("MULTG",)] if "MULTGEN" in attributes else needs


def _person_needs(schema: Schema) -> Needs:
    attributes = schema.individual.attributes
    needs: list[tuple[str, ...]] = [
        (column,) for (name, column) in pums.PERSON if name in attributes
    ]
    if "SFRELATE" in attributes:
        needs += [("SFN",), ("SFR",)]
    if "RACE" in attributes:
        needs += [("RAC1P",), ("RAC2P",), ("RACNUM",)]
    if schema.roles is not None or (schema.group and "MULTGEN" in schema.group.attributes):
        needs.append(RELATION)
    return needs


def _read(path: Path, letter: str, needs: Needs, target: str) -> SurveyRows:
    """Read one of the two files; whatever it lacks is named in one message."""
    wanted = {SERIALNO, "SPORDER", *(name for names in needs for name in names)}
    columns = read_csv_columns(path, wanted, prefer=f"psam_{letter}")
    if letter == "h" and "SPORDER" in columns:
        raise KinfolkError(
            f"{path.name}: this is a person file (it has SPORDER), where the housing file belongs. "
            "Name the housing file psam_h... first and the person file psam_p... second."
        )
    if letter == "p" and SERIALNO in columns and "SPORDER" not in columns:
        raise KinfolkError(
            f"{path.name}: this is not a person file (it has no SPORDER). "
            "Name the housing file psam_h... first and the person file psam_p... second."
        )
    needed = [(SERIALNO,), *needs]
    lacking = [" or ".join(names) for names in needed if not any(n in columns for n in names)]
    if lacking:
        raise KinfolkError(
            f"{path.name}: the file lacks {listed(lacking)}, which the target {target} needs. Use "
            "the ACS PUMS file as the Census Bureau publishes it, of the years 2012 to 2022."
        )
    ids = columns.pop(SERIALNO).combine_chunks()
    codes = {
        name: to_codes(column, where=f"{path.name}, column {name}")
        for name, column in columns.items()
    }
    if ids.null_count:
        raise KinfolkError(f"{path.name}: SERIALNO is blank on {ids.null_count:,} rows. Mend it.")
    if not len(ids):
        raise KinfolkError(f"{path.name}: the file has no rows. Download it again.")
    return SurveyRows(name=path.name, ids=ids, columns=codes)


def _either(records: SurveyRows, names: tuple[str, ...]) -> str:
    return next(name for name in names if name in records.columns)


def _choose(units: Units, *, group_quarters: bool) -> tuple[Units, list[str]]:
    kind = units.households.columns[_either(units.households, TYPE)]
    quarters = np.isin(kind, (pums.INSTITUTION, pums.QUARTERS))
    people = int(quarters[units.home].sum())
    notes = []
    empty = len(kind) - len(np.unique(units.home))
    if empty:
        notes.append(f"vacant units left out: {empty:,}.")
    if people and not group_quarters:
        notes.append(f"people in group quarters left out: {people:,}.")
    kept = units.keep((kind == pums.HOUSING_UNIT) | (quarters & group_quarters))
    if not len(kept.persons.ids):
        raise KinfolkError(
            f"{units.households.name}: no household is left after leaving out vacant units and "
            "group quarters. Use the file of a whole state."
        )
    return kept, notes


def _as_ipums(units: Units, schema: Schema, counties: dict[int, int] | None) -> Units:
    """Give every attribute of the schema its IPUMS codes."""
    homes, people = units.households, units.persons
    problems: list[Problem] = []
    assert schema.group is not None, "every target has households"  # noqa: S101
    wanted = {*schema.group.attributes, *schema.individual.attributes}
    person: dict[str, Codes] = {
        name: people.translate(column, table, problems)
        for (name, column), table in pums.PERSON.items()
        if name in wanted
    }
    if "RACE" in wanted:
        person["RACE"] = _race(people, problems)
    if "SFRELATE" in wanted:
        person["SFRELATE"] = _subfamily(people, units.home, problems)
    if any(name in people.columns for name in RELATION):
        column = _either(people, RELATION)
        table = pums.RELSHIPP if column == "RELSHIPP" else pums.RELP
        person["RELATE"] = people.translate(column, table, problems)
    group: dict[str, Codes] = {"METRO": np.zeros(len(homes.ids), dtype=np.int64)}
    for (name, column), table in pums.HOUSEHOLD.items():
        if name in wanted and column in homes.columns:
            group[name] = homes.translate(column, table, problems)
        elif name in wanted:
            group[name] = homes.translate("YRBLT", pums.YRBLT, problems)
    if "MULTGEN" in wanted:
        group["MULTGEN"] = _generations(units, person["RELATE"])
    if "COUNTYFIP" in wanted:
        group["STATEFIP"] = np.full(len(homes.ids), NEW_YORK, dtype=np.int64)
        group["COUNTYFIP"] = _county(homes, counties)
    if problems:
        raise DataError("the PUMS files", problems)
    return Units(households=homes.replaced(group), persons=people.replaced(person), home=units.home)


def _race(people: SurveyRows, problems: list[Problem]) -> Codes:
    broad, detailed = people.columns["RAC1P"], people.columns["RAC2P"]
    race = people.translate("RAC1P", pums.RACE, problems)
    asian = broad == pums.ASIAN
    race[asian & np.isin(detailed, pums.CHINESE)] = 4
    race[asian & np.isin(detailed, pums.JAPANESE)] = 5
    race[(broad == pums.SEVERAL) & (people.columns["RACNUM"] >= 3)] = 9
    return race


def _subfamily(people: SurveyRows, home: Codes, problems: list[Problem]) -> Codes:
    """The first of a couple in the subfamily is its reference person, the second the spouse."""
    relation = people.translate("SFR", pums.SUBFAMILY, problems)
    couple = np.flatnonzero(np.isin(people.columns["SFR"], pums.COUPLE))
    family = home[couple] * 100 + people.columns["SFN"][couple]
    _, first = np.unique(family, return_index=True)
    relation[np.delete(couple, first)] = 2
    return relation


def _generations(units: Units, relate: Codes) -> Codes:
    """How many generations live together: (households,)."""
    homes = units.households
    count = np.zeros(len(homes.ids), dtype=np.int64)
    for generation in range(4):
        codes = [code for code, level in pums.GENERATION.items() if level == generation]
        present = np.zeros(len(count), dtype=np.int64)
        present[units.home[np.isin(relate, codes)]] = 1
        count += present
    count = np.clip(count, 1, 3)
    count[homes.columns["MULTG"] == 2] = 3
    count[homes.columns["MULTG"] == BLANK] = 0
    return count


def _county(homes: SurveyRows, counties: dict[int, int] | None) -> Codes:
    if not counties:
        return np.zeros(len(homes.ids), dtype=np.int64)
    here = [counties.get(puma, 0) for puma in homes.columns["PUMA"].tolist()]
    inside = homes.columns[_either(homes, STATE)] == NEW_YORK
    return np.where(inside, np.array(here, np.int64), 0)


def _notes(schema: Schema, homes: SurveyRows, counties: dict[int, int] | None) -> list[str]:
    """What the user should know about a table that came from PUMS."""
    wanted = schema.group.attributes if schema.group else {}
    notes = ["METRO: PUMS does not tell it; every household gets 0, metropolitan status unclear."]
    if "COUNTYFIP" in wanted and counties is None:
        notes.append(
            "COUNTYFIP: PUMS does not tell it; every household gets 0, not identified. Pass "
            'county_crosswalk="ny-2010", or a CSV file, to find it from the PUMA.'
        )
    notes.append(
        "FARM: derived from AGS, a farm being a place that sells for 1,000 dollars a year."
    )
    if "BUILTYR2" in wanted and "YBL" not in homes.columns:
        notes.append("BUILTYR2: since 2021 PUMS gives decades; each counts as its first code.")
    return notes
