"""Exact counts equal the obvious ones, in any chunks, weighted or not."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generators import RELATIONS, datasets, part, random_dataset, schemas
from kinfolk.queries.counting import Counter, count
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema
from obvious import obvious_counts

SIBLINGS = {**RELATIONS, "has_sibling": (("child", "child"),)}


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("roles", [False, True])
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_counts_are_exact(k: int, roles: bool, data: st.DataObject) -> None:
    schema = data.draw(schemas(k=k, roles=roles))
    dataset = data.draw(datasets(schema, most=4))
    workload = Workload.of(schema)
    if workload.size > 3000:
        workload = replace(workload, marginals=workload.marginals[:: 1 + workload.size // 3000])
    assert count(dataset, workload).tolist() == obvious_counts(dataset, workload)


@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_nobody_is_their_own_relative(data: st.DataObject) -> None:
    schema = replace(data.draw(schemas(k=2, roles=True)), relations=SIBLINGS)
    dataset = data.draw(datasets(schema, most=4))
    workload = Workload.of(schema, levels=["relation"])
    assert count(dataset, workload).tolist() == obvious_counts(dataset, workload)


@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_chunks_merge_by_addition(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    dataset = data.draw(datasets(schema, most=12))
    workload = Workload.of(schema)
    cut = data.draw(st.integers(0, dataset.groups))
    counter = Counter(workload)
    counter.add(part(dataset, 0, cut))
    counter.add(part(dataset, cut, dataset.groups))
    assert counter.counts.tolist() == count(dataset, workload).tolist()
    assert (counter.groups, counter.people) == (dataset.groups, dataset.people)


@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_a_weight_multiplies_what_a_group_adds(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    dataset = data.draw(datasets(schema))
    workload = Workload.of(schema)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    weights = rng.integers(0, 5, size=(len(workload.marginals), schema.size_limit + 1))
    expected = np.zeros(workload.size, np.int64)
    for g in range(dataset.groups):
        one = count(part(dataset, g, g + 1), workload)
        for (_, place), weight in zip(workload.slices(), weights, strict=True):
            expected[place] += one[place] * weight[dataset.sizes[g]]
    assert count(dataset, workload, weights=weights).tolist() == expected.tolist()


def test_more_groups_than_a_tile_holds() -> None:
    schema = Schema.from_text("""
group: {table: homes, id: home, attributes: {veh: {values: [0, 1, 2]}}}
individual: {table: people, group_id: home, attributes: {sex: {values: [m, f]}}}
max_size: 4
workload: {k: 2}
""")
    dataset = random_dataset(schema, groups=5000, rng=np.random.default_rng(1))
    workload = Workload.of(schema)
    assert count(dataset, workload).tolist() == obvious_counts(dataset, workload)


def test_flat_data_has_individual_queries_only() -> None:
    schema = Schema.from_text(
        "individual: {table: rows, attributes: {a: {values: [1, 2]}, b: {values: [1, 2, 3]}}}\n"
        "max_size: 1\n"
    )
    dataset = random_dataset(schema, groups=50, rng=np.random.default_rng(1))
    workload = Workload.of(schema)
    assert workload.size == 6
    assert count(dataset, workload).sum() == 50
    assert count(dataset, workload).tolist() == obvious_counts(dataset, workload)


def test_another_schema_is_refused() -> None:
    one = Schema.from_text("individual: {table: a, attributes: {x: {values: [1]}}}\nmax_size: 1\n")
    two = Schema.from_text("individual: {table: b, attributes: {x: {values: [1]}}}\nmax_size: 1\n")
    dataset = random_dataset(two, groups=2, rng=np.random.default_rng(1))
    with pytest.raises(ValueError, match="another schema"):
        count(dataset, Workload.of(one))
