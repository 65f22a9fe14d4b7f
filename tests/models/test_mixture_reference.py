"""Answers and vector-Jacobian products equal those of the slow reference, on schemas made up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.models.mixture.prepared import Prepared
from kinfolk.privacy.sensitivity import workload_weights
from kinfolk.privacy.unit import Unit
from kinfolk.queries.workload import Workload
from models.listed import tiny_schema, tiny_schemas
from models.reference import reference_answers, reference_vjp


@settings(max_examples=25)
@given(data=st.data())
def test_answers_and_vjp_equal_the_reference(data: st.DataObject) -> None:
    schema = data.draw(tiny_schemas())
    schema = replace(schema, max_size=data.draw(st.integers(schema.max_size, 5)))
    schemes = [None, {"child": [1, 2, 2]}] if schema.roles else [None, [5], [1, 4], [2, 1, 2]]
    layout = Layout.of(schema, scheme=data.draw(st.sampled_from(schemes)))
    workload = Workload.of(schema)
    weights = data.draw(st.sampled_from([None, workload_weights(workload, Unit.GROUP)]))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    table = HPD.random(layout, 2, rng).probabilities

    numbers = rng.integers(workload.size, size=12)
    queries = [workload.query(number) for number in numbers.tolist()]
    rows = [workload.marginal_of(number) for number in numbers.tolist()]
    own = [None if weights is None else weights[row].tolist() for row in rows]
    scale = 1 if weights is None else weights.max()
    cotangent = rng.standard_normal(len(numbers)) * (rng.random(len(numbers)) < 0.8) / scale
    answers = reference_answers(layout, table, queries, own)
    gradient = reference_vjp(layout, table, queries, own, cotangent)

    single = Prepared.of_queries(layout, workload, numbers.tolist(), weights=weights)
    np.testing.assert_allclose(single.answers(table), answers, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(single.vjp(table, cotangent), gradient, rtol=1e-11, atol=1e-13)

    whole = Prepared.of(layout, workload, weights=weights)
    np.testing.assert_allclose(whole.answers(table)[numbers], answers, rtol=1e-12, atol=1e-14)
    given_all = np.zeros(workload.size)
    np.add.at(given_all, numbers, cotangent)
    np.testing.assert_allclose(whole.vjp(table, given_all), gradient, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("counts", ["people", "pairs"])
def test_a_wrong_reading_is_noticed(counts: str) -> None:
    """The comparison has teeth: another reading of a relation, or one weight more, fails it."""
    schema = tiny_schema([2], [2, 2], max_size=4, roles=True, counts=counts)
    other = replace(
        schema,
        workload=replace(
            schema.workload, relation_counts="pairs" if counts == "people" else "people"
        ),
    )
    workload = Workload.of(schema, levels=["relation"])
    layout, wrong = Layout.of(schema), Layout.of(other)
    table = HPD.random(layout, 2, np.random.default_rng(1)).probabilities
    queries = [workload.query(number) for number in range(workload.size)]
    nothing = [None] * len(queries)
    found = Prepared.of(layout, workload).answers(table)
    right = reference_answers(layout, table, queries, nothing)
    np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-14)
    assert np.abs(found - reference_answers(wrong, table, queries, nothing)).max() > 0.01
    heavier = [[1, 1, 1, 2, 1]] * len(queries)
    assert np.abs(found - reference_answers(layout, table, queries, heavier)).max() > 0.01
