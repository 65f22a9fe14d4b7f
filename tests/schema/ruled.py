"""Hypothesis strategies: schemas, rules and formulas on them, and households of plain values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from generators import FAMILY, numerics
from kinfolk.schema import (
    Attribute,
    Categorical,
    GroupTable,
    IndividualTable,
    Numeric,
    Schema,
    WorkloadSpec,
)
from kinfolk.schema.condition_evaluator import GroupValues
from kinfolk.schema.conditions import Condition
from kinfolk.schema.language import Reader
from schema.obvious_rules import COUNT, ROLE

NAMES = st.sampled_from(["age", "wage", "no", "a b", "x-y", "missing", "été", "a.b", "m2"])
WORDS = ["self", "self-employed", "no", "and", "a, b", "it's", "010", "Self", "true"]
NUMBERS = st.integers(-480, 960).map(lambda n: n / 8)


@st.composite
def categoricals(draw: st.DrawFn) -> Categorical:
    values: Any = draw(
        st.one_of(
            st.lists(st.integers(-3, 9), min_size=1, max_size=4, unique=True),
            st.lists(st.sampled_from(WORDS), min_size=1, max_size=4, unique=True),
            st.just([True, False]),
        )
    )
    return Categorical(values=values, missing=draw(st.booleans()))


@st.composite
def ruled_schemas(draw: st.DrawFn, *, roles: bool | None = None) -> Schema:
    """A schema whose numbers are exact as floating-point numbers, whatever is added."""
    some = st.one_of(categoricals(), numerics())
    group = draw(st.dictionaries(NAMES, some, min_size=1, max_size=2))
    individual = draw(st.dictionaries(NAMES, some, min_size=1, max_size=3))
    with_roles = draw(st.booleans()) if roles is None else roles
    return Schema(
        group=GroupTable(table="homes", id="home no", attributes=group),
        individual=IndividualTable(table="people", group_id="home no", attributes=individual),
        max_size=draw(st.integers(1, 4)),
        count=draw(st.sampled_from(["COUNT", "how many"])),
        roles=FAMILY if with_roles else None,
        workload=WorkloadSpec(k=1),
    )


def kind_of(schema: Schema, ref: tuple) -> Attribute:
    table, _, name = ref
    if name == COUNT:
        return Categorical(values=list(schema.sizes))
    if name == ROLE:
        return Categorical(values=schema.roles.names if schema.roles else [""])
    return (schema.individual_attributes if table == "person" else schema.group_attributes)[name]


def is_number(attribute: Attribute) -> bool:
    return isinstance(attribute, Numeric) or attribute.kind == "number"


@st.composite
def conditions(draw: st.DrawFn, schema: Schema, refs: list[tuple], *, depth: int = 2) -> tuple:
    """A condition that names some of these attributes."""
    kinds = ["and", "or", "not"] if depth else []
    kind = draw(st.sampled_from([*kinds, "atom", "atom"]))
    inner = conditions(schema, refs, depth=depth - 1)
    if kind in ("and", "or"):
        return (kind, *draw(st.lists(inner, min_size=2, max_size=3)))
    return ("not", draw(inner)) if kind == "not" else draw(_atoms(schema, refs))


@st.composite
def _atoms(draw: st.DrawFn, schema: Schema, refs: list[tuple]) -> tuple:
    ref = draw(st.sampled_from(refs))
    attribute = kind_of(schema, ref)
    kinds = ["in", *(["missing"] if attribute.missing else [])]
    numbers = [one for one in refs if is_number(kind_of(schema, one))]
    kind = draw(st.sampled_from([*kinds, *(["sum", "sum"] if numbers else [])]))
    if kind == "missing":
        return ("missing", ref, draw(st.booleans()))
    if kind == "in":
        return ("in", ref, draw(_options(schema, ref)), draw(st.booleans()))
    sign = draw(st.sampled_from(["=", "!=", "<", "<=", ">", ">="]))
    chosen = draw(st.lists(st.sampled_from(numbers), min_size=1, max_size=2, unique=True))
    signs = draw(st.lists(st.sampled_from([1, 1, -1]), min_size=2, max_size=2))
    terms = [(one, ("ref", named)) for one, named in zip(signs, chosen, strict=False)]
    some = draw(st.sampled_from([0.0, *edges(kind_of(schema, chosen[0]))]) | NUMBERS)
    constant = (-1 if some < 0 else 1, ("number", abs(some)))
    several = [(terms, [constant]), ([*terms, constant], [(1, ("number", 3))])]
    if len(terms) > 1:
        several += [(terms[:1], terms[1:]), (terms[:1], [terms[1], constant])]
    sides = draw(st.sampled_from(several))
    if all(isinstance(kind_of(schema, one), Categorical) for one in chosen) and sign in "!=":
        # The values are listed: what is not among them cannot be named.
        sides = ([*sides[0], (1, ("number", 1))], sides[1])
    return ("compare", sides[0], sign, sides[1])


@st.composite
def _options(draw: st.DrawFn, schema: Schema, ref: tuple) -> list:
    attribute = kind_of(schema, ref)
    if isinstance(attribute, Categorical):
        return draw(st.lists(st.sampled_from(list(attribute.values)), min_size=1, max_size=3))
    number = st.sampled_from(edges(attribute)) | NUMBERS
    pair = st.tuples(number, number).map(lambda ends: tuple(sorted(ends)))
    return draw(st.lists(number | pair, min_size=1, max_size=3))


def edges(attribute: Attribute) -> list[float]:
    """Numbers at which something may change."""
    if isinstance(attribute, Categorical):
        return [float(v) for v in attribute.values] if attribute.kind == "number" else [0.0]
    return [float(one) for one in (*attribute.bins, *attribute.special)]


@st.composite
def rules(draw: st.DrawFn, schema: Schema) -> tuple[tuple, list[str]]:
    """A condition, and the roles it is about."""
    group = [("group", None, name) for name in (*schema.group_attributes, COUNT)]
    own = [("person", None, name) for name in schema.individual_attributes]
    anybody = [*own, *([("person", None, ROLE)] if schema.roles else [])]
    nobody = conditions(schema, anybody, depth=1).map(lambda one: ("nobody", one))
    scopes = ["person", "household", "nobody", *(["members"] * 2 if schema.roles else [])]
    scope = draw(st.sampled_from(scopes))
    roles: list[str] = []
    if scope == "person":
        condition = draw(conditions(schema, [*anybody, *group]))
    elif scope == "household":
        condition = draw(conditions(schema, group))
    elif scope == "nobody":
        condition = draw(nobody | st.tuples(st.just("and"), conditions(schema, group), nobody))
    else:
        some = draw(st.lists(st.sampled_from(["head", "spouse", "child"]), min_size=1, unique=True))
        refs = [("person", role, name) for role in some for _, _, name in own]
        condition = draw(conditions(schema, [*refs, *group]))
        roles = [role for role in some if _names(condition, role)]
    return condition, roles


def _names(condition: Any, role: str) -> bool:
    if isinstance(condition, tuple) and condition[:2] == ("person", role):
        return True
    return isinstance(condition, tuple | list) and any(_names(one, role) for one in condition)


@st.composite
def homes(draw: st.DrawFn, schema: Schema, *, most: int = 5) -> list[dict]:
    """Households of plain values."""
    names = schema.roles.names if schema.roles else ("",)
    found = []
    for composition in draw(st.lists(st.sampled_from(schema.compositions), max_size=most)):
        roles = [role for role, many in zip(names, composition, strict=True) for _ in range(many)]
        members = [
            {ROLE: role, **{n: draw(values(a)) for n, a in schema.individual_attributes.items()}}
            for role in draw(st.permutations(roles))
        ]
        own = {n: draw(values(a)) for n, a in schema.group_attributes.items()}
        found.append({**own, "members": members})
    return found


def values(attribute: Attribute) -> st.SearchStrategy[Any]:
    """What may stand in a column; None for a blank."""
    blank = [None] if attribute.missing else []
    if isinstance(attribute, Categorical):
        return st.sampled_from([*attribute.values, *blank])
    return st.sampled_from([*inside(attribute), *attribute.special, *blank])


def inside(attribute: Numeric) -> list[float]:
    """Numbers in the bins: at the edges, close to them, and in between."""
    low, high = attribute.bins[0], attribute.bins[-1]
    if attribute.integer:
        return list(range(math.ceil(low), math.floor(high) + 1))
    near = [edge + step for edge in attribute.bins for step in (-0.125, 0, 0.125)]
    return [one for one in (*near, (low + high) / 2) if low <= one <= high]


def as_values(schema: Schema, found: list[dict]) -> GroupValues:
    """The same households as columns."""
    people = [one for home in found for one in home["members"]]
    sizes = [len(home["members"]) for home in found]
    own, theirs = schema.group_attributes.items(), schema.individual_attributes.items()
    role = [schema.roles.names.index(one[ROLE]) for one in people] if schema.roles else None
    return GroupValues(
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        group={name: column(one, [home[name] for home in found]) for name, one in own},
        individual={name: column(one, [who[name] for who in people]) for name, one in theirs},
        role=None if role is None else np.array(role, np.uint8),
    )


def column(attribute: Attribute, cells: list) -> np.ndarray:
    """Plain values as a column: codes, or numbers."""
    if isinstance(attribute, Numeric):
        return np.array([math.nan if cell is None else cell for cell in cells], np.float64)
    codes = {value: code for code, value in enumerate(attribute.values)}
    return np.array([codes.get(cell, len(codes)) for cell in cells], np.int64)


def parse_condition(text: str, schema: Schema) -> Condition:
    reader = Reader(text, schema)
    condition = reader.condition()
    reader.end()
    return condition
