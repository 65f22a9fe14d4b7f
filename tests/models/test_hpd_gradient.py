"""Gradients equal central differences, for whole marginals and for single queries."""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np
import pytest

from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.models.mixture import schedule
from kinfolk.models.mixture.factors import Factors
from kinfolk.models.mixture.prepared import Prepared
from kinfolk.privacy.sensitivity import workload_weights
from kinfolk.privacy.unit import Unit
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema

PLAIN = """
group: {table: homes, id: home, attributes: {veh: {values: [0, 1]}, own: {values: [0, 1]}}}
individual:
  table: people
  group_id: home
  attributes: {sex: {values: [m, f]}, age: {values: [0, 1, 2]}, job: {values: [0, 1]}}
max_size: 5
"""
FAMILY = """
roles:
  column: relate
  head: {values: [0], min: 1, max: 1}
  spouse: {values: [1], min: 0, max: 1}
  child: {values: [2], min: 0, max: 3}
relations:
  married_to: [[head, spouse], [spouse, head]]
  has_parent: [[child, head], [child, spouse]]
  has_sibling: [[child, child]]
workload: {k: 3, levels: [group, individual, relation], relation_counts: pairs}
"""
CASES = [
    (PLAIN, None, False),
    (PLAIN, [1, 4], True),
    (PLAIN + FAMILY, None, True),
    (PLAIN + FAMILY, {"child": [1, 2]}, False),
]


def differences(
    function: Callable[[np.ndarray], float], at: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Central differences at some places: (places, differences)."""
    places = rng.choice(at.size, size=40, replace=False)
    found = []
    for place in places:
        values = []
        for step in (1e-5, -1e-5):
            moved = at.copy()
            moved.flat[place] += step
            values.append(function(moved))
        found.append((values[0] - values[1]) / 2e-5)
    return places, np.array(found)


@pytest.mark.parametrize(("text", "scheme", "weighted"), CASES)
def test_gradients_equal_differences(text: str, scheme: object, weighted: bool) -> None:
    schema = Schema.from_text(text)
    layout, workload = Layout.of(schema, scheme=scheme), Workload.of(schema)  # type: ignore[arg-type]
    weights = workload_weights(workload, Unit.GROUP) if weighted else None
    scale = 2520 if weighted else 1
    rng = np.random.default_rng(5)
    model = HPD.random(layout, 3, rng)
    plan = Prepared.of(layout, workload, weights=weights)
    numbers = rng.integers(workload.size, size=60).tolist()
    selection = Prepared.of_queries(layout, workload, numbers, weights=weights)
    for asked in (plan, selection):
        cotangent = rng.standard_normal(asked.size) / scale

        def loss(
            table: np.ndarray, asked: Prepared = asked, cotangent: np.ndarray = cotangent
        ) -> float:
            return float(cotangent @ asked.answers(table))

        found = model.rates_vjp(asked, cotangent)
        places, expected = differences(loss, model.probabilities, rng)
        np.testing.assert_allclose(found.flat[places], expected, rtol=1e-6, atol=1e-8)


def test_shares_depend_on_the_mean_size_and_on_logits() -> None:
    schema = Schema.from_text(PLAIN + FAMILY)
    layout, workload = Layout.of(schema), Workload.of(schema)
    rng = np.random.default_rng(6)
    logits = rng.standard_normal((layout.rows, 2))
    plan = Prepared.of(layout, workload)
    cotangent = rng.standard_normal(plan.size)
    model = HPD.from_logits(layout, logits)
    gradient = model.answer_vjp(plan, model.answer(plan), cotangent)
    found = model.logits_vjp(gradient)
    places, expected = differences(
        lambda at: cotangent @ HPD.from_logits(layout, at).answer(plan), logits, rng
    )
    np.testing.assert_allclose(found.flat[places], expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("text", "scheme", "weighted"), CASES)
def test_single_queries_are_marginals_with_one_cotangent(
    text: str, scheme: object, weighted: bool
) -> None:
    schema = Schema.from_text(text)
    layout, workload = Layout.of(schema, scheme=scheme), Workload.of(schema)  # type: ignore[arg-type]
    weights = workload_weights(workload, Unit.GROUP) if weighted else None
    rng = np.random.default_rng(7)
    model = HPD.random(layout, 150, rng)
    plan = Prepared.of(layout, workload, weights=weights)
    numbers = rng.integers(workload.size, size=50)
    selection = Prepared.of_queries(layout, workload, numbers.tolist(), weights=weights)
    np.testing.assert_allclose(model.rates(selection), model.rates(plan)[numbers], rtol=1e-12)
    # Some without a cotangent: they are passed over.
    cotangent = rng.standard_normal(50) * (rng.random(50) < 0.5)
    spread = np.zeros(workload.size)
    np.add.at(spread, numbers, cotangent)
    whole, single = model.rates_vjp(plan, spread), model.rates_vjp(selection, cotangent)
    np.testing.assert_allclose(single, whole, rtol=1e-9, atol=1e-12 * np.abs(whole).max())
    nothing = model.rates_vjp(selection, np.zeros(50))
    assert not nothing.any()


def test_batches_of_marginals_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = Schema.from_text(PLAIN + FAMILY)
    layout, workload = Layout.of(schema), Workload.of(schema)
    rng = np.random.default_rng(8)
    model = HPD.random(layout, 4, rng)
    plan = Prepared.of(layout, workload)
    cotangent = rng.standard_normal(plan.size)
    whole = model.rates_vjp(plan, cotangent)
    rates = model.rates(plan)
    monkeypatch.setattr(schedule, "STORED", 9)
    monkeypatch.setattr(schedule, "RESULTS", 50)
    total, factors = np.zeros_like(whole), Factors(layout)
    for marginals in np.array_split(rng.permutation(len(workload.marginals)), 7):
        batch = Prepared.of(layout, workload, marginals=marginals.tolist(), factors=factors)
        places = np.concatenate(
            [np.arange(workload.offsets[b], workload.offsets[b + 1]) for b in marginals]
        )
        np.testing.assert_allclose(model.rates(batch), rates[places], rtol=1e-12)
        total += model.rates_vjp(batch, cotangent[places])
    np.testing.assert_allclose(total, whole, rtol=1e-9, atol=1e-13)


def test_single_precision_agrees() -> None:
    schema = Schema.from_text(PLAIN + FAMILY)
    layout, workload = Layout.of(schema), Workload.of(schema)
    rng = np.random.default_rng(9)
    double = HPD.random(layout, 200, rng)
    single = HPD(layout=layout, probabilities=double.probabilities.astype(np.float32))
    plan = Prepared.of(layout, workload)
    np.testing.assert_allclose(single.rates(plan), double.rates(plan), atol=1e-6)
    cotangent = rng.standard_normal(plan.size)
    expected, found = double.rates_vjp(plan, cotangent), single.rates_vjp(plan, cotangent)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


def test_the_number_of_threads_changes_nothing() -> None:
    schema = Schema.from_text(PLAIN)
    layout, workload = Layout.of(schema), Workload.of(schema)
    model = HPD.random(layout, 500, np.random.default_rng(10))
    plan, before = Prepared.of(layout, workload), numba.get_num_threads()
    cotangent = np.random.default_rng(11).standard_normal(plan.size)
    try:
        found = []
        for threads in {1, before}:
            numba.set_num_threads(threads)
            found.append((model.rates(plan), model.rates_vjp(plan, cotangent)))
    finally:
        numba.set_num_threads(before)
    assert np.array_equal(found[0][0], found[-1][0])
    assert np.array_equal(found[0][1], found[-1][1])


def test_a_cotangent_of_the_wrong_length_is_refused() -> None:
    schema = Schema.from_text(PLAIN)
    layout, workload = Layout.of(schema), Workload.of(schema)
    model = HPD.random(layout, 2, np.random.default_rng(1))
    for asked in (Prepared.of(layout, workload), Prepared.of_queries(layout, workload, [3])):
        with pytest.raises(ValueError, match="cotangent has shape"):
            model.rates_vjp(asked, np.ones(2))
