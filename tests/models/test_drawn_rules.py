"""Whatever the schema, its rules and the model are: what is written keeps every rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kinfolk.data.decode import decode
from kinfolk.errors import KinfolkError, SchemaError
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.models.records import Records
from kinfolk.schema import Attribute, Numeric, Schema
from schema.obvious_rules import ROLE, broken, written
from schema.ruled import ruled_schemas, rules

GROUPS = 60


def exact(attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
    """Without decimals: tenths, added up, are not what loops over fractions make of them."""
    return {
        name: replace(one, decimals=None) if isinstance(one, Numeric) else one
        for name, one in attributes.items()
    }


@st.composite
def exact_schemas(draw: st.DrawFn) -> Schema:
    found = draw(ruled_schemas())
    assert found.group is not None
    return replace(
        found,
        group=replace(found.group, attributes=exact(found.group_attributes)),
        individual=replace(found.individual, attributes=exact(found.individual_attributes)),
    )


def plain_homes(schema: Schema, tables: dict[str, Any]) -> list[dict]:
    """Written tables as households of plain values."""
    homes = {
        row["home no"]: {**{name: row[name] for name in schema.group_attributes}, "members": []}
        for row in tables["homes"].to_pylist()
    }
    named = {}
    if schema.roles is not None:
        named = {value: name for name, one in schema.roles.roles.items() for value in one.values}
    for row in tables["people"].to_pylist():
        own = {name: row[name] for name in schema.individual_attributes}
        role = named.get(row[schema.roles.column]) if schema.roles else ""
        homes[row["home no"]]["members"].append({ROLE: role, **own})
    return list(homes.values())


@settings(max_examples=40)
@given(st.data())
def test_what_is_written_keeps_every_rule(data: st.DataObject) -> None:
    schema = data.draw(exact_schemas())
    several = data.draw(st.lists(rules(schema), min_size=1, max_size=3))
    texts = list(dict.fromkeys(written(schema, condition) for condition, _ in several))
    try:
        ruled = replace(schema, never=texts)
    except SchemaError:
        # A rule that can never apply, or leaves nothing possible, is refused.
        assume(False)
    seed = data.draw(st.integers(0, 2**32 - 1))
    model = HPD.random(Layout.of(ruled), 3, np.random.default_rng(seed))
    try:
        drawn = Records(model=model).draw_all(GROUPS, rng=np.random.default_rng(seed))
    except KinfolkError as error:
        # Several rules together leave nothing that can be drawn, which is said.
        assume("rules" not in str(error))
        raise
    homes = plain_homes(ruled, decode(drawn, rng=np.random.default_rng(seed)))
    assert len(homes) == GROUPS
    for condition, roles in several:
        assert not any(broken(schema, condition, roles, home) for home in homes)
