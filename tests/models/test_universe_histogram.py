"""A histogram answers like the data it is the histogram of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generators import datasets, random_dataset
from kinfolk.data.encoded import Encoded
from kinfolk.datasets import load_schema
from kinfolk.models.histogram import Histogram
from kinfolk.models.mwem import Average
from kinfolk.queries.counting import count
from kinfolk.queries.workload import Workload
from models.listed import group_keys, tiny_schema, tiny_schemas
from models.test_universe import universe_keys


def empirical(data: Encoded) -> Histogram:
    """The histogram of a dataset."""
    start = Histogram.uniform(data.schema)
    place = {key: index for index, key in enumerate(universe_keys(start.universe))}
    counts = np.zeros(start.probabilities.size)
    np.add.at(counts, [place[key] for key in group_keys(data)], 1)
    return Histogram(
        universe=start.universe,
        probabilities=(counts / data.groups).reshape(start.probabilities.shape),
    )


@settings(max_examples=60)
@given(data=st.data())
def test_rates_are_counts_over_groups(data: st.DataObject) -> None:
    schema = data.draw(tiny_schemas())
    dataset = data.draw(datasets(schema))
    workload = Workload.of(schema)
    histogram = empirical(dataset)
    exact = count(dataset, workload)
    np.testing.assert_allclose(histogram.rates(workload) * dataset.groups, exact, atol=1e-9)
    assert histogram.mean_size() == pytest.approx(dataset.people / dataset.groups)
    totals = [
        dataset.groups if marginal.level == "group" else dataset.people
        for marginal in workload.marginals
        for _ in range(marginal.cells)
    ]
    np.testing.assert_allclose(histogram.answer(workload), exact / totals, atol=1e-12)


@settings(max_examples=30)
@given(data=st.data())
def test_weights_multiply_what_a_group_adds(data: st.DataObject) -> None:
    schema = data.draw(tiny_schemas())
    dataset = data.draw(datasets(schema))
    workload = Workload.of(schema)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    weights = rng.integers(0, 5, size=(len(workload.marginals), schema.size_limit + 1))
    rates = empirical(dataset).rates(workload, weights=weights)
    exact = count(dataset, workload, weights=weights)
    np.testing.assert_allclose(rates * dataset.groups, exact, atol=1e-9)


@settings(max_examples=30)
@given(data=st.data())
def test_chosen_queries_are_answered_like_the_workload(data: st.DataObject) -> None:
    schema = data.draw(tiny_schemas())
    workload = Workload.of(schema)
    histogram = empirical(data.draw(datasets(schema)))
    numbers = data.draw(st.lists(st.integers(0, workload.size - 1), min_size=1, max_size=9))
    queries = [workload.query(number) for number in numbers]
    np.testing.assert_allclose(
        histogram.answer_queries(queries), histogram.answer(workload)[numbers], atol=1e-12
    )


def test_flat_data() -> None:
    from kinfolk.schema import Schema

    schema = Schema.from_text(
        "individual: {table: rows, attributes: {a: {values: [1, 2]}, b: {values: [1, 2, 3]}}}\n"
        "max_size: 1\nworkload: {k: 2, levels: [individual]}\n"
    )
    dataset = random_dataset(schema, groups=50, rng=np.random.default_rng(1))
    histogram = empirical(dataset)
    assert histogram.probabilities.shape == (6, 1)
    workload = Workload.of(schema)
    np.testing.assert_allclose(histogram.answer(workload) * 50, count(dataset, workload))


def test_the_average_of_histograms() -> None:
    schema = tiny_schema([2], [2], max_size=2)
    rng = np.random.default_rng(5)
    start = Histogram.uniform(schema)
    average, rows = Average(), []
    for _ in range(4):
        row = rng.dirichlet(np.ones(start.probabilities.size)).reshape(start.probabilities.shape)
        rows.append(row)
        average.add(Histogram(universe=start.universe, probabilities=row))
    np.testing.assert_allclose(average.histogram().probabilities, np.mean(rows, axis=0))
    with pytest.raises(ValueError, match="another universe"):
        average.add(Histogram.uniform(schema))


def test_another_schema_is_refused() -> None:
    with pytest.raises(ValueError, match="another schema"):
        Histogram.uniform(load_schema("acs-red")).rates(Workload.of(load_schema("detroit"), k=1))
