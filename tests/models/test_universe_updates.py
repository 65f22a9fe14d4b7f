"""MWEM does what the paper's algorithm says; PEP finds the nearest distribution that fits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generators import part, random_dataset
from kinfolk.models.histogram import Histogram
from kinfolk.models.mwem import Statistic, mwem_update
from kinfolk.models.pep import EntropyProjection
from kinfolk.queries.counting import count
from kinfolk.queries.workload import Query, Workload
from kinfolk.schema import Schema
from models.listed import all_groups, tiny_schema, tiny_schemas
from models.test_universe_histogram import empirical


def pep_update(
    start: Histogram, queries: Sequence[Query], measured: npt.ArrayLike, **options: float
) -> Histogram:
    """One projection, which remembers nothing."""
    return EntropyProjection(start, **options).onto(queries, measured)  # type: ignore[arg-type]


class ByHand:
    """A distribution over groups with their members in order, and the algorithm as it is printed.

    f[q, x] is what group x adds to query q.
    """

    def __init__(self, schema: Schema, workload: Workload) -> None:
        groups = all_groups(schema)
        self.sizes = groups.sizes
        self.of_people = np.concatenate(
            [np.full(marginal.cells, marginal.level != "group") for marginal in workload.marginals]
        )
        self.f = np.array([count(part(groups, g, g + 1), workload) for g in range(groups.groups)]).T
        self.largest = self.f.max(axis=1).clip(1)
        self.probabilities = np.full(groups.groups, 1 / groups.groups)

    def answers(self) -> np.ndarray:
        rates = self.f @ self.probabilities
        return np.where(self.of_people, rates / (self.probabilities @ self.sizes), rates)

    def update(
        self, numbers: list[int], measured: np.ndarray, most: int, rng: np.random.Generator
    ) -> None:
        errors = np.abs(measured - self.answers()[numbers])
        top = np.argsort(-errors, kind="stable")[:most]
        threshold = top[errors[top] >= errors.max() / 2]
        for t in rng.permutation(threshold):
            q = numbers[t]
            # The paper divides individual queries by M.
            scale = self.sizes.max() if self.of_people[q] else 1
            step = self.f[q] / scale * (measured[t] - self.answers()[q]) / 2
            self.probabilities = self.probabilities * np.exp(step)
            self.probabilities /= self.probabilities.sum()


def measured_queries(
    workload: Workload, number: int, rng: np.random.Generator
) -> tuple[list[int], list[Query]]:
    numbers = rng.choice(workload.size, size=min(number, workload.size), replace=False).tolist()
    return numbers, [workload.query(index) for index in numbers]


@pytest.mark.parametrize("max_iterations", [2, 100])
@settings(max_examples=15)
@given(data=st.data())
def test_mwem_is_the_papers_algorithm(max_iterations: int, data: st.DataObject) -> None:
    schema = data.draw(tiny_schemas(k=2))
    workload = Workload.of(schema, levels=["group", "individual"])
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    numbers, queries = measured_queries(workload, 6, rng)
    measured = rng.uniform(size=len(numbers))
    by_hand, histogram = ByHand(schema, workload), Histogram.uniform(schema)
    for turn in range(3):
        by_hand.update(numbers, measured, max_iterations, np.random.default_rng(turn))
        histogram = mwem_update(
            histogram,
            queries,
            measured,
            max_iterations=max_iterations,
            rng=np.random.default_rng(turn),
        )
    np.testing.assert_allclose(histogram.answer(workload), by_hand.answers(), atol=1e-12)


FLAT = Schema.from_text("""
individual:
  table: people
  attributes: {sex: {values: [m, f]}, age: {values: [0, 1, 2, 3]}, farm: {values: [0, 1, 2]}}
max_size: 1
workload: {k: 2}
""")


@pytest.mark.parametrize("max_iterations", [2, 100])
def test_so_it_is_where_people_stand_alone(max_iterations: int) -> None:
    """There only those that a query counts are touched."""
    workload, rng = Workload.of(FLAT), np.random.default_rng(3)
    numbers, queries = measured_queries(workload, 12, rng)
    measured = rng.uniform(size=len(numbers))
    by_hand, histogram = ByHand(FLAT, workload), Histogram.uniform(FLAT)
    for turn in range(3):
        by_hand.update(numbers, measured, max_iterations, np.random.default_rng(turn))
        histogram = mwem_update(
            histogram,
            queries,
            measured,
            max_iterations=max_iterations,
            rng=np.random.default_rng(turn),
            answers=histogram.answer(workload)[numbers] if turn else None,
        )
        np.testing.assert_allclose(histogram.answer(workload), by_hand.answers(), atol=1e-12)
        np.testing.assert_allclose(
            histogram.answer_queries(queries), by_hand.answers()[numbers], atol=1e-12
        )


@pytest.mark.parametrize("roles", [False, True])
def test_mwem_approaches_what_was_measured(roles: bool) -> None:
    schema = tiny_schema([2, 3], [2, 2], max_size=3, roles=roles, k=3)
    rng = np.random.default_rng(1)
    workload = Workload.of(schema)
    truth = empirical(random_dataset(schema, groups=40, rng=rng)).answer(workload)
    numbers, queries = measured_queries(workload, 30, rng)
    histogram = Histogram.uniform(schema)
    errors = [np.abs(histogram.answer(workload)[numbers] - truth[numbers])]
    for _ in range(150):
        histogram = mwem_update(histogram, queries, truth[numbers], rng=rng)
        errors.append(np.abs(histogram.answer(workload)[numbers] - truth[numbers]))
    assert errors[1].mean() < errors[0].mean()
    assert errors[-1].mean() < 0.5 * errors[0].mean()
    assert errors[-1].max() < 0.5 * errors[0].max()
    assert histogram.probabilities.sum() == pytest.approx(1)


@pytest.mark.parametrize("roles", [False, True])
def test_pep_fits_and_is_nearest_in_entropy(roles: bool) -> None:
    """Optimality: measured answers agree, and log A / A_0 is a combination of the queries."""
    schema = tiny_schema([2], [2, 2], max_size=3, roles=roles)
    rng = np.random.default_rng(4)
    workload = Workload.of(schema)
    start = Histogram.uniform(schema)
    inner = rng.dirichlet(np.ones(start.probabilities.size)).reshape(start.probabilities.shape)
    truth = Histogram(universe=start.universe, probabilities=inner).answer(workload)
    numbers, queries = measured_queries(workload, 5, rng)
    fitted = pep_update(start, queries, truth[numbers], tolerance=1e-10)
    np.testing.assert_allclose(fitted.answer(workload)[numbers], truth[numbers], atol=1e-9)
    gain = np.log(fitted.probabilities / start.probabilities).ravel()
    columns = [np.ones_like(gain)]
    for query, share in zip(queries, truth[numbers], strict=True):
        statistic = Statistic.of(start.universe, query)
        added = statistic.added[:, None] * statistic.matching
        whole = statistic.sizes[statistic.size_index]
        columns.append((added - share * whole).ravel())
    basis = np.array(columns).T
    solution = np.linalg.lstsq(basis, gain, rcond=None)[0]
    np.testing.assert_allclose(basis @ solution, gain, atol=1e-7)


def test_pep_on_zeros_and_ones_is_the_closed_form() -> None:
    schema = tiny_schema([4], [2], max_size=2, k=1)
    start = Histogram.uniform(schema)
    query = Workload.of(schema, levels=["group"], attributes=["g0"]).query(0)
    fitted = pep_update(start, [query], [0.7])
    factor = np.where(start.universe.group_codes[:, 0] == 0, 0.7 / 0.25, 0.3 / 0.75)
    np.testing.assert_allclose(fitted.probabilities, start.probabilities * factor, rtol=1e-9)


@pytest.mark.parametrize("alone", [1.0, 1000.0])
def test_pep_converges_where_queries_say_nearly_the_same(alone: float) -> None:
    """Where most people live alone, a share of groups is nearly a share of people.

    One query after another, a hundred turns leave an error of 0.00015 or 0.0006 here.
    """
    schema = tiny_schema([2], [2, 2], max_size=3, k=2)
    uniform = Histogram.uniform(schema)
    weights = np.where(uniform.universe.sizes == 1, alone, 1.0)[:, None]
    near, rng = uniform.probabilities * weights, np.random.default_rng(3)
    start = Histogram(universe=uniform.universe, probabilities=near / near.sum())
    inner = near * np.exp(rng.normal(0, 0.5, size=near.shape))
    truth = Histogram(universe=uniform.universe, probabilities=inner / inner.sum())
    _, queries = measured_queries(Workload.of(schema), 8, rng)
    measured = truth.answer_queries(queries)
    fitted = pep_update(start, queries, measured, tolerance=1e-9)
    np.testing.assert_allclose(fitted.answer_queries(queries), measured, rtol=0, atol=1e-8)


def test_pep_shares_a_contradiction() -> None:
    """Two parts that make up the whole, and a part that is said to be larger than its whole."""
    schema = tiny_schema([2, 2], [2], max_size=2, k=2)
    start, workload = Histogram.uniform(schema), Workload.of(schema, levels=["group"])
    by_codes = {
        (query.marginal.group, query.marginal.individual, query.codes): query
        for query in map(workload.query, range(workload.size))
    }
    wide = [by_codes[(0, 1), (), codes] for codes in ((0, 0), (0, 1), (1, 0), (1, 1))]
    fitted = pep_update(start, wide, [0.3, 0.3, 0.3, 0.3])
    np.testing.assert_allclose(fitted.answer_queries(wide), 0.25, atol=1e-9)
    single = Workload.of(schema, k=1, levels=["group"], attributes=["g0"])
    nested = [single.query(0), by_codes[(0, 1), (), (0, 0)]]
    found = pep_update(start, nested, [0.3, 0.4]).answer_queries(nested)
    np.testing.assert_allclose(found, 0.35, atol=5e-3)


def test_pep_remembers_only_where_to_begin() -> None:
    """Onto more and more measurements, contradicting ones among them: as if from the beginning."""
    schema = tiny_schema([3], [3, 2], max_size=3, roles=True, k=2)
    start, rng = Histogram.uniform(schema), np.random.default_rng(5)
    _, queries = measured_queries(Workload.of(schema), 25, rng)
    measured = start.answer_queries(queries) + rng.normal(0, 0.05, size=len(queries))
    projection = EntropyProjection(start)
    for number in range(5, len(queries) + 1, 5):
        warm = projection.onto(queries[:number], measured[:number])
    cold = pep_update(start, queries, measured)
    np.testing.assert_allclose(warm.probabilities, cold.probabilities, rtol=0, atol=1e-9)
    assert np.abs(warm.answer_queries(queries) - measured).max() > 0.01


def test_pep_survives_measurements_no_distribution_attains() -> None:
    """Noise takes shares below zero and above one, and measures a query twice."""
    schema = tiny_schema([3], [3], max_size=3, roles=True, k=1)
    workload = Workload.of(schema)
    rng = np.random.default_rng(2)
    queries = [workload.query(number) for number in range(workload.size)] * 2
    measured = rng.normal(0.3, 0.7, size=len(queries))
    fitted = pep_update(Histogram.uniform(schema), queries, measured)
    assert np.isfinite(fitted.probabilities).all()
    assert (fitted.probabilities >= 0).all()
    assert fitted.probabilities.sum() == pytest.approx(1)
    twice = pep_update(Histogram.uniform(schema), [queries[0]] * 2, [0.2, 0.4])
    assert twice.answer_queries(queries[:1])[0] == pytest.approx(0.3)


@pytest.mark.parametrize("update", [mwem_update, pep_update])
def test_every_query_needs_a_measurement(update) -> None:  # type: ignore[no-untyped-def]
    start = Histogram.uniform(tiny_schema([2], [2], max_size=2))
    query = Workload.of(start.schema).query(0)
    options = {"rng": np.random.default_rng(1)} if update is mwem_update else {}
    with pytest.raises(ValueError, match="1 queries, but 2 measurements"):
        update(start, [query], [0.1, 0.2], **options)
