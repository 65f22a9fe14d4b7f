"""Tiny schemas, and all their groups the slow, obvious way: every order of members on its own."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import strategies as st

from generators import FAMILY, RELATIONS
from kinfolk.data.encoded import Encoded, code_type
from kinfolk.schema import (
    Categorical,
    GroupTable,
    IndividualTable,
    Schema,
    WorkloadSpec,
)


def tiny_schema(
    group: list[int],
    individual: list[int],
    *,
    max_size: int,
    roles: bool = False,
    k: int = 2,
    counts: str = "people",
) -> Schema:
    """A schema whose attributes have so many categories."""
    return Schema(
        group=GroupTable(table="homes", id="home", attributes=_attributes("g", group)),
        individual=IndividualTable(
            table="people", group_id="home", attributes=_attributes("i", individual)
        ),
        max_size=max_size,
        roles=FAMILY if roles else None,
        relations={**RELATIONS, "has_sibling": (("child", "child"),)} if roles else {},
        workload=WorkloadSpec(
            k=min(k, len(group) + len(individual) + 1),
            levels=("group", "individual", *(("relation",) if roles else ())),
            relation_counts=counts,  # type: ignore[arg-type]
        ),
    )


@st.composite
def tiny_schemas(draw: st.DrawFn, *, k: int | None = None) -> Schema:
    categories = st.integers(1, 3)
    return tiny_schema(
        draw(st.lists(categories, max_size=2)),
        draw(st.lists(st.integers(1, 2), min_size=1, max_size=2)),
        max_size=draw(st.integers(1, 3)),
        roles=draw(st.booleans()),
        k=k or draw(st.integers(1, 4)),
        counts=draw(st.sampled_from(["people", "pairs"])),
    )


def all_groups(schema: Schema) -> Encoded:
    """Every group of a schema once, each order of members on its own."""
    group_codes = _product(schema.group_attributes)
    person_codes = _product(schema.individual_attributes)
    groups, people, roles, sizes = [], [], [], []
    for codes in group_codes:
        for composition in schema.compositions:
            for members in itertools.product(person_codes, repeat=sum(composition)):
                groups.append(codes)
                people += members
                roles += np.repeat(np.arange(len(composition)), composition).tolist()
                sizes.append(sum(composition))
    dtype = code_type(schema)
    return Encoded(
        schema=schema,
        group=np.array(groups, dtype).reshape(len(groups), -1),
        individual=np.array(people, dtype),
        offsets=np.cumsum([0, *sizes]).astype(np.int64),
        role=np.array(roles, np.uint8) if schema.roles else None,
    )


def group_keys(data: Encoded) -> list[tuple[object, ...]]:
    """What each group is, up to the order of members of a role."""
    keys: list[tuple[object, ...]] = []
    for g in range(data.groups):
        rows = range(data.offsets[g], data.offsets[g + 1])
        role = [0 if data.role is None else int(data.role[i]) for i in rows]
        members = sorted((r, *data.individual[i].tolist()) for r, i in zip(role, rows, strict=True))
        keys.append((tuple(data.group[g].tolist()), tuple(members)))
    return keys


def _attributes(letter: str, sizes: list[int]) -> dict[str, Categorical]:
    return {f"{letter}{i}": Categorical(values=range(size)) for i, size in enumerate(sizes)}


def _product(attributes: object) -> list[tuple[int, ...]]:
    return list(itertools.product(*(range(a.size) for a in attributes.values())))  # type: ignore[attr-defined]
