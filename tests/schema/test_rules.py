"""Rules hold where plain loops say so, for values and for cells of codes."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from kinfolk.schema import Categorical, Schema
from kinfolk.schema.condition_evaluator import cells_of
from kinfolk.schema.conditions import Linear, Ref, atoms, attribute_of
from kinfolk.schema.rules import Rule
from schema.obvious_rules import COUNT, ROLE, broken, true, written
from schema.ruled import as_values, conditions, homes, inside, parse_condition, ruled_schemas, rules


@given(st.data())
def test_a_rule_is_broken_where_loops_say_so(data: st.DataObject) -> None:
    schema = data.draw(ruled_schemas())
    condition, roles = data.draw(rules(schema))
    found = data.draw(homes(schema))
    rule = Rule.parse(written(schema, condition), schema)
    assert list(rule.roles) == sorted(roles, key=rule.roles.index)
    expected = [broken(schema, condition, roles, home) for home in found]
    assert rule.violated(as_values(schema, found)).tolist() == expected


@given(st.data())
def test_cells_say_what_every_value_and_some_value_do(data: st.DataObject) -> None:
    schema = data.draw(ruled_schemas())
    own = [("person", None, name) for name in schema.individual_attributes]
    named = [*own, ("group", None, COUNT), *([("person", None, ROLE)] if schema.roles else [])]
    condition = data.draw(conditions(schema, named))
    parsed = parse_condition(written(schema, condition), schema)
    cells = cells_of(parsed, schema)
    exact = all(len(atom.terms) == 1 for atom in atoms(parsed) if isinstance(atom, Linear))
    options = [_values_by_code(schema, ref, _constants(condition)) for ref in cells.refs]
    assert cells.every.shape == tuple(len(one) for one in options)
    assume(math.prod(sum(map(len, by_code)) for by_code in options) < 20_000)
    for place in np.ndindex(cells.every.shape):
        several = [by_code[code] for by_code, code in zip(options, place, strict=True)]
        held = {
            true(schema, condition, *_as_person(cells.refs, some))
            for some in itertools.product(*several)
        }
        assert not cells.every[place] or held == {True}
        assert cells.some[place] or held == {False}
        if exact:
            assert (cells.every[place], cells.some[place]) == (held == {True}, True in held)


def _constants(condition: Any) -> set[float]:
    """All numbers that stand in a condition, and their sums."""
    if isinstance(condition, bool | str) or condition is None:
        return set()
    if isinstance(condition, int | float):
        return {float(condition)}
    return {number for part in condition for number in _constants(part)}


def _values_by_code(schema: Schema, ref: Ref, numbers: set[float]) -> list[list[Any]]:
    """Values that stand for all of those with each code."""
    attribute = attribute_of(schema, ref)
    blank = [[None]] if attribute.missing else []
    if isinstance(attribute, Categorical):
        return [*([value] for value in attribute.values), *blank]
    signed = {
        sign * number + shift
        for number in numbers
        for sign in (1, -1)
        for shift in (-3, 0, 3, -1, 1)
    }
    points = sorted({*signed, *map(float, attribute.bins)})
    between = [(low + high) / 2 for low, high in itertools.pairwise(points)]
    if attribute.integer:
        near = {math.floor(one) + step for one in points for step in (-1, 0, 1)}
        points, between = [one for one in inside(attribute) if one in near], []
    by_code = []
    for code in range(len(attribute.bins) - 1):
        low, high = attribute.bins[code : code + 2]
        last = code == len(attribute.bins) - 2
        fits = [x for x in (*points, *between) if low <= x < high or (last and x == high)]
        by_code.append([x for x in fits if x not in attribute.special])
    return [*by_code, *([one] for one in attribute.special), *blank]


def _as_person(refs: tuple[Ref, ...], some: tuple) -> tuple[dict, dict]:
    """A household with the person of whom is known what a condition names."""
    home: dict[str, Any] = {"members": []}
    person: dict[str, Any] = {}
    for ref, value in zip(refs, some, strict=True):
        if ref.level == "count":
            home["members"] = [None] * value
        else:
            person[ROLE if ref.level == "role" else ref.name] = value
    return home, {None: person}
