"""Hypothesis strategies: small schemas and datasets that fit them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from kinfolk.data.encoded import CellCodes, Encoded, code_type
from kinfolk.errors import SchemaError
from kinfolk.models.base import Model, sample
from kinfolk.schema import (
    Attribute,
    Categorical,
    GroupTable,
    IndividualTable,
    Numeric,
    Role,
    Roles,
    Schema,
    WorkloadSpec,
)
from kinfolk.schema.bins import FineAttributes, codes_of_cells

NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp")),
    min_size=1,
    max_size=6,
).filter(lambda name: name.strip() == name and name != "relate")

TEXT_VALUES = st.lists(
    st.one_of(NAMES, st.sampled_from(["no", "yes", "010", "1", "true", "null", "a, b", "x: y"])),
    min_size=1,
    max_size=4,
    unique=True,
)
INT_VALUES = st.lists(st.integers(-20, 40), min_size=1, max_size=4, unique=True)
FLOAT_VALUES = st.lists(
    st.floats(-9, 9, allow_nan=False).filter(lambda x: x != 0 or str(x) == "0.0"),
    min_size=1,
    max_size=3,
    unique=True,
)

TITLES = st.one_of(st.none(), st.sampled_from(["Age in years", "a: b", "'#\n", "12", "<&>"]))


@st.composite
def categoricals(draw: st.DrawFn, *, derived: bool = False) -> Categorical:
    values = draw(st.one_of(INT_VALUES, TEXT_VALUES, FLOAT_VALUES, st.just([True, False])))
    labels = None
    if draw(st.booleans()):
        labels = [f"{word} {index}" for index, word in enumerate(map(str, values))]
    return Categorical(
        values=values,
        labels=labels,
        missing=draw(st.booleans()),
        derived=derived and draw(st.booleans()),
        title=draw(TITLES),
    )


@st.composite
def numerics(draw: st.DrawFn, *, derived: bool = False) -> Numeric:
    integer = draw(st.booleans())
    number = st.integers(-50, 100) if integer else st.integers(-500, 1000).map(lambda n: n / 8)
    bins = sorted(draw(st.lists(number, min_size=2, max_size=4, unique=True)))
    special = draw(st.lists(st.integers(-999, -900), max_size=2, unique=True))
    options = {
        "bins": bins,
        "integer": integer,
        "missing": draw(st.booleans()),
        "derived": derived and draw(st.booleans()),
        "title": draw(TITLES),
    }
    inside = draw(st.lists(number.filter(lambda n: bins[0] <= n <= bins[-1]), max_size=2))
    decimals = draw(st.sampled_from([None, 0] if integer else [None, 1, 3]))
    try:
        return Numeric(special=[*special, *dict.fromkeys(inside)], decimals=decimals, **options)
    except SchemaError:
        # A bin without a number that can be written beside the special ones.
        return Numeric(special=special, **options)


def attributes(*, derived: bool = False) -> st.SearchStrategy[Attribute]:
    return st.one_of(categoricals(derived=derived), numerics(derived=derived))


FAMILY = Roles(
    column="relate",
    roles={
        "head": Role(values=[0], min=1, max=1),
        "spouse": Role(values=[1], min=0, max=1),
        "child": Role(values=[2, 3], min=0, max=2),
    },
)
RELATIONS = {
    "married_to": (("head", "spouse"), ("spouse", "head")),
    "has_child": (("head", "child"), ("spouse", "child")),
    "has_parent": (("child", "head"), ("child", "spouse")),
}


@st.composite
def schemas(draw: st.DrawFn, *, k: int | None = None, roles: bool | None = None) -> Schema:
    """A schema with at most three attributes a table, with the family's roles or without."""
    group = draw(st.dictionaries(NAMES, attributes(derived=True), max_size=3))
    individual = draw(st.dictionaries(NAMES, attributes(), min_size=1, max_size=3))
    available = len(group) + len(individual) + 1
    with_roles = draw(st.booleans()) if roles is None else roles
    counts = draw(st.sampled_from(["people", "pairs"])) if with_roles else "people"
    return Schema(
        group=GroupTable(table="homes", id="home no", attributes=group),
        individual=IndividualTable(table="people", group_id="home no", attributes=individual),
        max_size=draw(st.integers(1, 4)),
        oversize=draw(st.sampled_from(["drop", "first"])),
        count="COUNT OF MEMBERS",
        roles=FAMILY if with_roles else None,
        relations=RELATIONS if with_roles else {},
        workload=WorkloadSpec(
            k=min(available, k or draw(st.integers(1, 4))),
            levels=("group", "individual", *(("relation",) if with_roles else ())),
            relation_counts=counts,
        ),
    )


@st.composite
def datasets(draw: st.DrawFn, schema: Schema, *, most: int = 8) -> Encoded:
    """Groups of random composition with random codes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return random_dataset(schema, groups=draw(st.integers(1, most)), rng=rng)


def random_dataset(schema: Schema, *, groups: int, rng: np.random.Generator) -> Encoded:
    """Groups of random composition with random codes, members of a role in random places."""
    chosen = [schema.compositions[i] for i in rng.integers(len(schema.compositions), size=groups)]
    roles = [rng.permutation(np.repeat(np.arange(len(c)), c)) for c in chosen]
    dtype = code_type(schema)

    def codes(sizes: list[int], rows: int) -> np.ndarray:
        columns = [rng.integers(size, size=rows) for size in sizes]
        return np.array(columns, dtype).T.reshape(rows, len(sizes)).copy()

    people = sum(map(len, roles))
    return Encoded(
        schema=schema,
        group=codes([a.size for a in schema.group_attributes.values()], groups),
        individual=codes([a.size for a in schema.individual_attributes.values()], people),
        offsets=np.concatenate([[0], np.cumsum([len(r) for r in roles])]).astype(np.int64),
        role=np.concatenate(roles).astype(np.uint8) if schema.roles else None,
    )


def with_cells(data: Encoded, rng: np.random.Generator) -> Encoded:
    """The same groups with numbers that lie in random cells; the bins follow from the cells."""
    schema, fine = data.schema, FineAttributes.of(data.schema)
    group, individual = data.group.copy(), data.individual.copy()
    found: list[dict[str, np.ndarray]] = []
    for attributes, own, codes in (
        (schema.group_attributes, fine.group, group),
        (schema.individual_attributes, fine.individual, individual),
    ):
        cells = {name: rng.integers(one.size, size=len(codes)) for name, one in own.items()}
        for name, cell in cells.items():
            bins = np.array(codes_of_cells(attributes[name], own[name]))
            codes[:, list(attributes).index(name)] = bins[cell]
        found.append({name: cell.astype(np.uint16) for name, cell in cells.items()})
    kept = CellCodes(group=found[0], individual=found[1])
    return replace(data, group=group, individual=individual, cells=kept)


def part(data: Encoded, start: int, stop: int) -> Encoded:
    """Some of the groups, as a dataset of their own."""
    low, high = data.offsets[start], data.offsets[stop]
    return replace(
        data,
        group=data.group[start:stop],
        individual=data.individual[low:high],
        offsets=data.offsets[start : stop + 1] - low,
        role=None if data.role is None else data.role[low:high],
    )


def sample_encoded(
    model: Model, groups: int, *, rng: np.random.Generator, stratified: bool = True
) -> Encoded:
    """So many groups drawn from a model, all in one."""
    return Encoded.joined(list(sample(model, groups, rng=rng, stratified=stratified)))
