"""The shipped schemas: their sizes against the paper's, and that the readers fill them."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from kinfolk.data.sources import (
    read_ipums,
    read_pums,
)
from kinfolk.data.sources.pums_codes import county_of_puma
from kinfolk.datasets import load_schema
from kinfolk.errors import KinfolkError
from kinfolk.schema import Attribute, Categorical, Schema


def sizes(schema: Schema) -> tuple[list[int], list[int]]:
    assert schema.group is not None
    group = [attribute.size for attribute in schema.group.attributes.values()]
    return group, [attribute.size for attribute in schema.individual.attributes.values()]


@pytest.mark.parametrize(
    ("name", "queries"),
    [("acs", 526_684), ("acs-red", 1_333), ("acs-rel", 485_964), ("afst", 127_593)],
)
def test_three_way_queries(name: str, queries: int) -> None:
    schema = load_schema(name)
    group, individual = sizes(schema)
    every = [schema.max_size, *group, *individual]
    assert sum(math.prod(three) for three in combinations(every, 3)) == queries


def test_the_reduced_universe() -> None:
    group, individual = sizes(load_schema("acs-red"))
    households = sum(math.prod(individual) ** size for size in (1, 2, 3))
    assert math.prod(group) * households == 262_080


def test_every_category_has_a_name_of_its_own() -> None:
    for name in ("acs", "acs-red", "acs-rel", "afst"):
        schema = load_schema(name)
        assert schema.group is not None
        for attribute in (
            *schema.group.attributes.values(),
            *schema.individual.attributes.values(),
        ):
            labels = [attribute.label(code) for code in range(attribute.size)]
            assert len(set(labels)) == attribute.size
            assert not any(label.isdigit() for label in labels)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(KinfolkError, match="no schema is called 'acs-new'"):
        load_schema("acs-new")


def test_the_crosswalk_covers_the_counties_of_the_schema() -> None:
    schema = load_schema("acs")
    assert schema.group is not None
    listed = schema.group.attributes["COUNTYFIP"]
    assert isinstance(listed, Categorical)
    assert {0, *county_of_puma("ny-2010").values()} == set(listed.values)


def inside(column: pa.ChunkedArray, attribute: Attribute) -> bool:
    values = column.to_numpy()
    if isinstance(attribute, Categorical):
        return bool(np.isin(values, attribute.values).all())
    return bool((values >= attribute.bins[0]).all() and (values <= attribute.bins[-1]).all())


@pytest.mark.parametrize("target", ["acs", "acs-red", "acs-rel"])
def test_what_the_readers_return_is_in_the_domain(
    ipums: Callable[..., Path], pums: Callable[..., tuple[Path, Path]], target: str
) -> None:
    schema = load_schema(target)
    assert schema.group is not None
    quarters = target != "acs-rel"
    for read in (
        read_ipums(ipums("hierarchical"), target=target, group_quarters=quarters),
        read_pums(*pums(), target=target, group_quarters=quarters, county_crosswalk="ny-2010"),
    ):
        for part in (schema.group, schema.individual):
            table = read.tables[part.table]
            assert all(inside(table[name], part.attributes[name]) for name in part.attributes)
            role = {schema.roles.column} if schema.roles and part is schema.individual else set()
            assert set(table.column_names) == {"SERIAL", *part.attributes, *role}
