"""Formulas give what plain loops give, in the attribute's own domain."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kinfolk.errors import SchemaError
from kinfolk.schema import Attribute, Categorical, Numeric, Schema
from kinfolk.schema.formulas import Formula
from schema.obvious_rules import ROLE, computed, name_of, written
from schema.ruled import as_values, conditions, homes, is_number, kind_of, ruled_schemas


@given(st.data())
def test_a_formula_gives_what_loops_give(data: st.DataObject) -> None:
    schema = data.draw(ruled_schemas())
    spec = data.draw(formulas(schema))
    formula = Formula.parse(formula_text(schema, spec), schema)
    assert formula.kind == spec[0]
    low, high = formula.bounds
    target: Attribute
    if spec[0] == "count" and data.draw(st.booleans()):
        target = Categorical(values=range(data.draw(st.integers(int(low), int(high))) + 1))
    elif spec[0] == "sum" or (
        spec[0] != "any" and not math.isnan(low) and data.draw(st.booleans())
    ):
        target = Numeric(bins=[low - 1, high + 1], special=_special(formula), missing=True)
    else:
        target = formula.domain()
    formula.check_target(target)
    found = data.draw(homes(schema))
    column = formula.compute(as_values(schema, found), target)
    expected = [computed(schema, spec, target, home) for home in found]
    assert [plain(target, cell) for cell in column] == expected


def _special(formula: Formula) -> list[float]:
    source = formula.schema.individual_attributes[formula.ref.name] if formula.ref else None
    return list(source.special) if isinstance(source, Numeric) else []


def plain(target: Attribute, cell: Any) -> Any:
    """A cell of a column as a plain value."""
    if isinstance(target, Categorical):
        return target.values[cell] if cell < len(target.values) else None
    return None if math.isnan(cell) else cell


@st.composite
def formulas(draw: st.DrawFn, schema: Schema) -> tuple:
    """A kind, an attribute or None, and a condition or None."""
    own = [("person", None, name) for name in schema.individual_attributes]
    anybody = [*own, *([("person", None, ROLE)] if schema.roles else [])]
    numbers = [ref for ref in own if is_number(kind_of(schema, ref))]
    kinds = ["count", "any", *(["sum", "min", "max"] if numbers else [])]
    kind = draw(st.sampled_from([*kinds, *(["role"] if schema.roles else [])]))
    if kind == "role":
        role = draw(st.sampled_from(["head", "spouse"]))
        return ("role", ("person", role, draw(st.sampled_from(own))[2]), None)
    condition = draw(conditions(schema, anybody, depth=1))
    if kind in ("count", "any"):
        return (kind, None, None if kind == "count" and draw(st.booleans()) else condition)
    return (kind, draw(st.sampled_from(numbers)), draw(st.sampled_from([None, condition])))


def formula_text(schema: Schema, spec: tuple) -> str:
    kind, ref, condition = spec
    if kind == "role":
        return name_of(schema, ref)
    if condition is None and ref is None:
        return "count"
    such = "" if condition is None else written(schema, condition)
    if ref is None:
        return f"{kind}({such})"
    return f"{kind}({name_of(schema, ref)}{' where ' if such else ''}{such})"


@given(st.data())
def test_a_schema_with_formulas_and_rules_survives_writing(data: st.DataObject) -> None:
    schema = data.draw(ruled_schemas())
    assert schema.group is not None
    attributes = dict(schema.group.attributes)
    for name in ("one", "two"):
        formula = Formula.parse(formula_text(schema, data.draw(formulas(schema))), schema)
        assume(formula.kind != "sum")
        attributes[name] = formula.domain()
    group = replace(
        schema.group, attributes=attributes, weight=data.draw(st.sampled_from(["one", None]))
    )
    rule = "`one` missing" if attributes["one"].missing else "not (two in (0)) and one = 3"
    try:
        full = replace(schema, group=group, never=[rule], on_violation="drop")
    except SchemaError:
        return
    assert Schema.from_text(full.to_yaml()) == full
    assert list(full.formulas) == ["one", "two"]


def test_the_formula_says_what_can_be_where_nothing_is_declared() -> None:
    text = """
    group:
      table: homes
      id: id
      attributes:
        size: {derived: count}
        old: {derived: count(age >= 65)}
        young: {derived: any(age < 18)}
        head_age: {derived: head.age}
        spouse_age: {derived: spouse.age}
        least: {derived: min(age where sex = f)}
    individual:
      table: people
      group_id: id
      attributes: {age: {bins: [0, 18, 120], integer: true}, sex: {values: [f, m]}}
    max_size: 3
    roles: {column: relate, head: {values: [0], min: 1}, spouse: {values: [1]}, others: keep}
    """
    schema = Schema.from_text(text)
    ages = {"bins": (0, 18, 120), "integer": True}
    assert schema.group_attributes == {
        "size": Categorical(values=[1, 2, 3], derived="count"),
        "old": Categorical(values=[0, 1, 2, 3], derived="count(age >= 65)"),
        "young": Categorical(values=[False, True], derived="any(age < 18)"),
        "head_age": Numeric(**ages, derived="head.age"),
        "spouse_age": Numeric(**ages, missing=True, derived="spouse.age"),
        "least": Numeric(**ages, missing=True, derived="min(age where sex = f)"),
    }
    assert Schema.from_text(schema.to_yaml()) == schema
    with pytest.raises(SchemaError, match="a sum needs bins"):
        Schema.from_text(text.replace("count(age >= 65)", "sum(age)"))
