"""Kinds of people have nothing in common, and together are all whom the rules allow."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.models.mixture.prepared import Prepared
from kinfolk.models.person_kinds import Forbidden, Kind, cut, person_kinds
from kinfolk.queries.workload import Workload
from kinfolk.schema import Categorical, Schema
from models.listed import tiny_schema
from models.reference import reference_answers, reference_vjp


def people_of(kind: Kind) -> set[tuple[int, ...]]:
    return set(itertools.product(*(np.flatnonzero(one).tolist() for one in kind)))


@st.composite
def problems(draw: st.DrawFn) -> tuple[Kind, list[Forbidden]]:
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    forbidden: list[Forbidden] = []
    for _ in range(draw(st.integers(0, 3))):
        positions = tuple(
            sorted(draw(st.sets(st.integers(0, len(sizes) - 1), min_size=1, max_size=3)))
        )
        shape = [sizes[position] for position in positions]
        rng = np.random.default_rng(draw(st.integers(0, 2**20)))
        forbidden.append((positions, rng.random(shape) < draw(st.sampled_from([0.2, 0.6]))))
    return tuple(np.ones(size, np.bool_) for size in sizes), forbidden


@given(problems(), st.integers(1, 8))
def test_kinds_make_up_all_that_may_be(problem: tuple[Kind, list[Forbidden]], most: int) -> None:
    whole, forbidden = problem
    allowed = {
        person
        for person in people_of(whole)
        if not any(cells[tuple(person[p] for p in positions)] for positions, cells in forbidden)
    }
    kinds = cut(whole, forbidden, most=10_000)
    found = [people_of(kind) for kind in kinds]
    if allowed:
        assert set.union(*found) == allowed
        assert sum(map(len, found)) == len(allowed)
    # Where there is room for few, nobody who may be is lost, and nobody stands in two.
    few = [people_of(kind) for kind in cut(whole, forbidden, most=most)]
    assert len(few) <= most
    assert set.union(*few) >= allowed
    assert sum(map(len, few)) == len(set.union(*few))


RULES = (
    "i0 = 0 and i1 in (1, 2)",
    "head.i1 = 0",
    "child.i0 = 1 and child.i2 = 1",
)


@pytest.fixture
def ruled() -> Schema:
    schema = tiny_schema([2], [2, 3, 2], max_size=4, roles=True, k=2)
    return replace(schema, never=RULES)


def test_rules_become_kinds(ruled: Schema) -> None:
    by_role = dict(zip(["head", "spouse", "child"], map(len, person_kinds(ruled)), strict=False))
    # A head of whom i1 = 0 cannot be, and who has i1 > 0, has i0 = 1.
    assert by_role == {"head": 1, "spouse": 2, "child": 2}
    assert all(len(kinds) == 1 for kinds in person_kinds(replace(ruled, never=())))


def test_answers_and_vjp_equal_the_reference_with_kinds(ruled: Schema) -> None:
    layout = Layout.of(ruled, scheme={"child": [1, 2]})
    assert layout.kinded
    workload = Workload.of(ruled)
    rng = np.random.default_rng(3)
    table = HPD.random(layout, 2, rng).probabilities
    queries = [workload.query(number) for number in range(workload.size)]
    nothing = [None] * len(queries)
    right = reference_answers(layout, table, queries, nothing)
    whole = Prepared.of(layout, workload)
    np.testing.assert_allclose(whole.answers(table), right, rtol=1e-12, atol=1e-14)

    numbers = rng.choice(workload.size, 40, replace=False)
    single = Prepared.of_queries(layout, workload, numbers.tolist())
    np.testing.assert_allclose(single.answers(table), right[numbers], rtol=1e-12, atol=1e-14)
    cotangent = rng.standard_normal(len(numbers))
    few = [queries[number] for number in numbers]
    gradient = reference_vjp(layout, table, few, nothing[:40], cotangent)
    np.testing.assert_allclose(single.vjp(table, cotangent), gradient, rtol=1e-11, atol=1e-13)
    given_all = np.zeros(workload.size)
    given_all[numbers] = cotangent
    np.testing.assert_allclose(whole.vjp(table, given_all), gradient, rtol=1e-11, atol=1e-13)


def test_nobody_breaks_a_rule_in_the_answers(ruled: Schema) -> None:
    workload = Workload.of(ruled, sets=[["i0", "i1"]], levels=["group", "individual"])
    model = HPD.random(Layout.of(ruled), 3, np.random.default_rng(1))
    for answers in model.answer(workload).reshape(2, 2, 3):
        assert answers[0, 1] == answers[0, 2] == 0
        assert (answers[[0, 1, 1, 1], [0, 0, 1, 2]] > 0).all()
    # Without the rules they are there.
    free = replace(ruled, never=())
    workload = Workload.of(free, sets=[["i0", "i1"]], levels=["individual"])
    assert (HPD.random(Layout.of(free), 3, np.random.default_rng(1)).answer(workload) > 0).all()


def test_a_role_is_an_attribute_of_which_a_slot_has_its_own(ruled: Schema) -> None:
    assert ruled.roles is not None
    assert ruled.member_attributes["relate"] == Categorical(values=ruled.roles.names)
    workload = Workload.of(ruled, sets=[["relate"]], levels=["individual"])
    model = HPD.random(Layout.of(ruled), 3, np.random.default_rng(1))
    numbers = np.array(ruled.compositions).T @ model.composition.mean(axis=1)
    np.testing.assert_allclose(model.answer(workload), numbers / numbers.sum(), rtol=1e-12)
