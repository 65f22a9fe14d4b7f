"""Every simulated table fits the schema shipped under its name."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import yaml

from kinfolk.datasets import schema_text
from kinfolk.experiments.simulate import NAMES, simulate_tables

GROUPS = 20_000


@cache
def _tables(name: str) -> dict[str, pa.Table]:
    return simulate_tables(name, groups=GROUPS, seed=11)


def _schema(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(schema_text(name))
    return loaded


def _array(table: pa.Table, column: str) -> np.ndarray:
    return table[column].to_numpy()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("part", ["group", "individual"])
def test_every_value_is_in_the_declared_domain(name: str, part: str) -> None:
    schema = _schema(name)
    table = _tables(name)[schema[part]["table"]]
    for column, spec in schema[part]["attributes"].items():
        values = _array(table, column)
        if "values" in spec:
            assert set(np.unique(values).tolist()) <= set(spec["values"]), column
        else:
            assert values.min() >= spec["bins"][0], column
            assert values.max() <= spec["bins"][-1], column


@pytest.mark.parametrize("name", NAMES)
def test_columns_are_those_of_the_schema(name: str) -> None:
    schema = _schema(name)
    tables = _tables(name)
    group, individual = schema["group"], schema["individual"]
    assert list(tables) == [group["table"], individual["table"]]
    assert tables[group["table"]].column_names == [group["id"], *group["attributes"]]
    role = [schema["roles"]["column"]] if "roles" in schema else []
    expected = [individual["group_id"], *role, *individual["attributes"]]
    assert tables[individual["table"]].column_names == expected


@pytest.mark.parametrize("name", NAMES)
def test_ids_count_from_one_and_sizes_are_allowed(name: str) -> None:
    schema = _schema(name)
    groups = _tables(name)[schema["group"]["table"]]
    members = _tables(name)[schema["individual"]["table"]]
    ids = _array(groups, schema["group"]["id"])
    owners = _array(members, schema["individual"]["group_id"])
    assert ids.dtype == owners.dtype == np.int64
    assert np.array_equal(ids, np.arange(1, GROUPS + 1))
    assert np.all(np.diff(owners) >= 0), "members follow the order of their groups"
    sizes = np.bincount(owners, minlength=GROUPS + 1)[1:]
    assert sizes.min() == 1
    assert sizes.max() <= schema["max_size"]


def test_roles_of_related_households_are_valid() -> None:
    schema = _schema("acs-rel")
    persons = _tables("acs-rel")["persons"]
    owners = _array(persons, "SERIAL") - 1
    relate = _array(persons, "RELATE")
    seen = np.zeros(len(relate), dtype=bool)
    roles = {name: spec for name, spec in schema["roles"].items() if isinstance(spec, dict)}
    for role, spec in roles.items():
        has = np.isin(relate, spec["values"])
        seen |= has
        number = np.bincount(owners[has], minlength=GROUPS)
        assert number.min() >= spec["min"], role
        assert number.max() <= spec["max"], role
        assert number.max() == spec["max"], f"the largest number of {role} occurs"
    assert seen.all()


def test_no_column_is_blank_and_types_are_small() -> None:
    for name in NAMES:
        for table in _tables(name).values():
            assert sum(column.null_count for column in table.columns) == 0
            kinds = set(table.schema.types[1:])
            assert kinds <= {pa.int16(), pa.string()}
