"""The schemas that a public source can fill, and IPUMS codes as their values: the last step of
every source.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from kinfolk.data.sources.survey import Codes, SourceTables, SurveyRows, Units
from kinfolk.datasets import load_schema
from kinfolk.errors import DataError, KinfolkError, Problem
from kinfolk.schema import Attribute, Categorical, Schema

TARGETS = ("acs", "acs-red", "acs-rel")
"""The data behind `afst` is confidential."""


def target_schema(name: str) -> Schema:
    """The schema that a reader is asked to fill.

    >>> target_schema("acs-red").size_limit
    3
    """
    if name == "afst":
        raise KinfolkError(
            "the target 'afst' has no public source: that data is confidential. "
            f"Use simulated data for it, or one of the targets {', '.join(TARGETS)}."
        )
    if name not in TARGETS:
        raise KinfolkError(f"the target {name!r} is unknown. Choose one of {', '.join(TARGETS)}.")
    return load_schema(name)


NEW_YORK = 36
"""The state (FIPS) whose counties the schemas `acs` and `acs-rel` list."""

MERGED: Mapping[str, Mapping[str, Mapping[int, int]]] = {
    "acs-red": {
        "EMPSTAT": {1: 1, 0: 2, 2: 2, 3: 2},
        "MARST": {1: 1, 2: 1, 3: 2, 4: 2, 5: 2, 6: 2},
    },
}
"""By target and variable, codes that a schema puts together."""

BEYOND: Mapping[str, Mapping[int, int]] = {
    # Top codes differ from state to state, so the last category is open.
    "ROOMS": dict.fromkeys(range(15, 31), 14),
    # Before 2005 the nineties had two codes; after 2019 every year adds one.
    "BUILTYR2": {8: 7, **dict.fromkeys(range(25, 41), 24)},
}
"""Codes outside a schema's list that have an evident place in it."""

RELATE: Mapping[int, int] = {code: code for code in range(1, 14)}
"""The role column keeps every relationship; the schema says which roles it drops."""


def table_for(target: str, name: str, attribute: Attribute) -> Mapping[int, int]:
    """Which IPUMS codes of a variable become which values of the attribute.

    >>> from kinfolk.data.sources.targets import target_schema
    >>> marst = target_schema("acs-red").individual.attributes["MARST"]
    >>> table_for("acs-red", "MARST", marst)[6]
    2
    """
    merged = MERGED.get(target, {}).get(name)
    if merged is not None:
        return merged
    if isinstance(attribute, Categorical):
        own = {int(value): int(value) for value in attribute.values}
    else:
        # The schema cuts the number into bins itself; here it only has to lie inside them.
        own = {value: value for value in range(int(attribute.bins[0]), int(attribute.bins[-1]) + 1)}
    return own | dict(BEYOND.get(name, {}))


def known_counties(households: SurveyRows, schema: Schema) -> tuple[SurveyRows, list[str]]:
    """Counties the schema does not list become 0, not identified; a note says how many did.

    County codes repeat from state to state, so those of other states count as not identified.
    """
    attribute = schema.group.attributes.get("COUNTYFIP") if schema.group else None
    if not isinstance(attribute, Categorical):
        return households, []
    counties = households.columns["COUNTYFIP"]
    listed = np.isin(counties, [int(value) for value in attribute.values])
    listed &= (households.columns["STATEFIP"] == NEW_YORK) | (counties == 0)
    if listed.all():
        return households, []
    columns = {**households.columns, "COUNTYFIP": np.where(listed, counties, 0)}
    other = int((~listed).sum())
    note = (
        f"COUNTYFIP: households in a county that the schema does not list: {other:,}. "
        "It names those of New York for 2012 to 2021; the others get 0, not identified."
    )
    return households.replaced(columns), [note]


def to_target(units: Units, schema: Schema, *, target: str, notes: list[str]) -> SourceTables:
    """Cut IPUMS-coded households and people down to the attributes of a target."""
    key = schema.individual.group_id
    assert schema.group is not None, "every target has households"  # noqa: S101
    assert key is not None, "and its people belong to them"  # noqa: S101
    households, county_notes = known_counties(units.households, schema)
    persons = units.persons
    problems: list[Problem] = []

    def columns(records: SurveyRows, attributes: Mapping[str, Attribute]) -> dict[str, Codes]:
        return {
            name: records.translate(name, table_for(target, name, attribute), problems)
            for name, attribute in attributes.items()
        }

    groups = columns(households, schema.group.attributes)
    people = columns(persons, schema.individual.attributes)
    if schema.roles is not None:
        people[schema.roles.column] = persons.translate(schema.roles.column, RELATE, problems)
    if problems:
        raise DataError("the survey file", problems)
    tables = {
        schema.group.table: pa.table({schema.group.id: households.ids, **groups}),
        schema.individual.table: pa.table({key: persons.ids, **people}),
    }
    return SourceTables(tables=tables, notes=(*notes, *county_notes))
