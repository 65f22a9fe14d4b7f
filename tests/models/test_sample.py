"""Samples follow the model, group by group, and are more even than chance."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generators import sample_encoded
from kinfolk.data.encoded import Encoded
from kinfolk.datasets import load_schema
from kinfolk.errors import KinfolkError
from kinfolk.models import base
from kinfolk.models.base import Model, sample
from kinfolk.models.histogram import Histogram
from kinfolk.models.layout import Layout
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema
from models.agreement import disagreement, shares
from models.listed import tiny_schema, tiny_schemas
from models.mixtures import as_histogram, random_mixture, with_parts

FLAT = Schema.from_text(
    "individual: {table: rows, attributes: {a: {values: [1, 2]}, b: {values: [1, 2, 3]}}}\n"
    "max_size: 1\nworkload: {k: 2, levels: [individual]}\n"
)
PLAIN = tiny_schema([2, 3], [2, 2], max_size=3, k=3)
ROLES = tiny_schema([2], [2, 2], max_size=4, roles=True, k=3)
SCHEMAS = pytest.mark.parametrize("schema", [FLAT, PLAIN, ROLES], ids=["flat", "plain", "roles"])
KINDS = pytest.mark.parametrize("kind", ["mixture", "histogram"])


def model_of(kind: str, schema: Schema, seed: int, concentration: float = 0.5) -> Model:
    """A random model; the histogram's groups are as uneven as a mixture's."""
    rng = np.random.default_rng(seed)
    mixture = random_mixture(schema, components=20, rng=rng, concentration=concentration)
    return mixture if kind == "mixture" else as_histogram(mixture)


def histogram_of(model: Model) -> Histogram:
    return model if isinstance(model, Histogram) else as_histogram(model)


def same(one: Encoded, other: Encoded) -> bool:
    roles = one.role is None if other.role is None else np.array_equal(one.role, other.role)
    return roles and all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("group", "individual", "offsets")
    )


@SCHEMAS
def test_both_models_answer_alike(schema: Schema) -> None:
    """The mixture's own answers are those of the same distribution, group by group."""
    workload = Workload.of(schema)
    model = random_mixture(schema, components=20, rng=np.random.default_rng(15))
    expected = as_histogram(model)
    np.testing.assert_allclose(model.rates(workload), expected.rates(workload), atol=1e-12)
    np.testing.assert_allclose(model.answer(workload), expected.answer(workload), atol=1e-12)


@SCHEMAS
@KINDS
@pytest.mark.parametrize("stratified", [True, False])
def test_samples_agree_with_the_model(kind: str, schema: Schema, stratified: bool) -> None:
    """False alarm: one in a million; another random model of the same kind is rejected."""
    workload = Workload.of(schema)
    model, other = model_of(kind, schema, 1), model_of(kind, schema, 2)
    rng = np.random.default_rng(3)
    data = sample_encoded(model, 20_000, rng=rng, stratified=stratified)
    assert disagreement(data, workload, histogram_of(model).rates(workload)) < 1
    assert disagreement(data, workload, histogram_of(other).rates(workload)) > 1


@SCHEMAS
@KINDS
def test_stratified_answers_are_closer_to_the_model(kind: str, schema: Schema) -> None:
    """Measured: mean squared errors fall to a third or less; asserted with a margin."""
    workload = Workload.of(schema)
    model = model_of(kind, schema, 4)
    truth = histogram_of(model).answer(workload)
    rng = np.random.default_rng(5)
    errors = {
        stratified: np.mean(
            [
                (shares(data, workload) - truth) ** 2
                for _ in range(40)
                for data in [sample_encoded(model, 400, rng=rng, stratified=stratified)]
            ]
        )
        for stratified in (True, False)
    }
    assert errors[True] < 0.5 * errors[False]


def test_members_of_one_slot_are_independent() -> None:
    """Evenness must not make brothers differ: both are 1 a quarter of the time, with p = 1/2.

    Two groups for each of 20,000 components, so that sharing one set of points between the two
    members would show: then it would be a sixth. False alarm: one in a million.
    """
    schema = tiny_schema([], [2], max_size=2)
    layout = Layout.of(schema, scheme=[2])
    rng = np.random.default_rng(6)
    model = random_mixture(schema, components=20_000, rng=rng, layout=layout)
    model = with_parts(
        model,
        composition=np.array([[0.0], [1.0]]).repeat(20_000, axis=1),
        individual=np.full_like(model.individual, 0.5),
    )
    data = sample_encoded(model, 40_000, rng=rng)
    pairs = data.individual[:, 0].reshape(-1, 2)
    both = int((pairs.sum(axis=1) == 2).sum())
    assert abs(both - 10_000) < 4.9 * np.sqrt(40_000 * 3 / 16)
    # Evenness itself: in each place the ones are half, far closer than chance would have it.
    assert abs(int(pairs[:, 0].sum()) - 20_000) < 100


@settings(max_examples=40)
@given(schema=tiny_schemas(), groups=st.integers(1, 60), kind=st.booleans(), even=st.booleans())
def test_every_group_is_allowed(schema: Schema, groups: int, kind: bool, even: bool) -> None:
    rng = np.random.default_rng(7)
    model: Model = random_mixture(schema, components=7, rng=rng)
    if kind:
        model = Histogram.uniform(schema)
    data = sample_encoded(model, groups, rng=rng, stratified=even)
    assert data.groups == groups
    assert (data.role is None) == (schema.roles is None)
    allowed = set(schema.compositions)
    roles = np.zeros(data.people, np.uint8) if data.role is None else data.role
    for low, high in itertools.pairwise(data.offsets):
        counts = np.bincount(roles[low:high], minlength=len(schema.compositions[0]))
        assert tuple(counts.tolist()) in allowed
    for codes, attributes in (
        (data.group, schema.group_attributes),
        (data.individual, schema.individual_attributes),
    ):
        assert codes.shape[1] == len(attributes)
        for column, attribute in zip(codes.T, attributes.values(), strict=True):
            assert column.max() < attribute.size


@KINDS
@pytest.mark.parametrize("batch", [50, base.BATCH])
def test_chunks_do_not_change_the_groups(
    kind: str, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "BATCH", batch)
    model = model_of(kind, ROLES, 8)
    whole = sample_encoded(model, 333, rng=np.random.default_rng(9))
    assert whole.groups == 333
    for chunk in (1, 7, 100, 1000):
        parts = list(sample(model, 333, rng=np.random.default_rng(9), chunk=chunk))
        assert [part.groups for part in parts[:-1]] == [chunk] * (len(parts) - 1)
        assert same(Encoded.joined(parts), whole)
    assert not same(sample_encoded(model, 333, rng=np.random.default_rng(10)), whole)


@pytest.mark.parametrize("groups", [5, 30, 1000, 1007])
def test_components_get_their_share_and_are_mixed(
    groups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of 30 components writes its number into a group attribute."""
    monkeypatch.setattr(base, "BATCH", 97)
    schema = tiny_schema([30], [2], max_size=2)
    rng = np.random.default_rng(11)
    model = with_parts(random_mixture(schema, components=30, rng=rng), group=np.eye(30))
    marks = sample_encoded(model, groups, rng=rng).group[:, 0]
    counts = np.bincount(marks, minlength=30)
    assert counts.min() >= groups // 30
    assert counts.max() <= -(-groups // 30)
    if groups >= 1000:
        # Independent neighbours are equal one time in 30; false alarm below one in a million.
        assert (marks[1:] == marks[:-1]).mean() < 1 / 30 + 5 * np.sqrt(1 / 30 / groups)
        assert (marks[30:] == marks[:-30]).mean() < 1 / 30 + 5 * np.sqrt(1 / 30 / groups)


def test_impossible_categories_never_come_up() -> None:
    schema = tiny_schema([4], [4], max_size=2)
    rng = np.random.default_rng(12)
    model = random_mixture(schema, components=9, rng=rng)
    group, individual = model.group.copy(), model.individual.copy()
    group[[0, 3]] = 0
    individual[:, [1, 3]] = 0
    model = with_parts(
        model,
        # Sums a little off one, as rounding leaves them.
        group=group / group.sum(axis=0) * (1 - 1e-12),
        individual=individual / individual.sum(axis=1, keepdims=True) * (1 - 1e-12),
    )
    for stratified in (True, False):
        data = sample_encoded(model, 5000, rng=rng, stratified=stratified)
        assert set(data.group[:, 0].tolist()) == {1, 2}
        assert set(data.individual[:, 0].tolist()) == {0, 2}


def test_the_number_of_threads_changes_nothing() -> None:
    import numba

    model = model_of("mixture", PLAIN, 13)
    threads = numba.get_num_threads()
    several = sample_encoded(model, 500, rng=np.random.default_rng(14))
    numba.set_num_threads(1)
    try:
        one = sample_encoded(model, 500, rng=np.random.default_rng(14))
    finally:
        numba.set_num_threads(threads)
    assert same(one, several)


@pytest.mark.parametrize("groups", [0, -3, 2.5, True])
def test_a_number_of_groups_that_is_none(groups: int) -> None:
    model = Histogram.uniform(PLAIN)
    with pytest.raises(KinfolkError, match="not a whole number of at least 1"):
        sample(model, groups, rng=np.random.default_rng(1))
    with pytest.raises(KinfolkError, match="chunk"):
        sample(model, 5, rng=np.random.default_rng(1), chunk=groups)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["acs-red", "acs-rel", "afst"])
def test_a_million_groups_of_the_papers_schemas(name: str) -> None:
    """False alarm: one in a million. Two-way queries of all families, on some attributes."""
    schema = load_schema(name)
    group, individual = list(schema.group_attributes), list(schema.individual_attributes)
    attributes = [*group[:3], schema.count, *individual[:4]]
    workload = Workload.of(schema, k=2, attributes=attributes)
    rng = np.random.default_rng(16)
    model = random_mixture(schema, components=300, rng=rng)
    rates = np.asarray(model.rates(workload), np.float64).clip(0)
    for stratified in (True, False):
        data = sample_encoded(model, 1_000_000, rng=rng, stratified=stratified)
        assert disagreement(data, workload, rates) < 1
        assert disagreement(data, workload, np.roll(rates, 1)) > 1


@pytest.mark.slow
@KINDS
@pytest.mark.parametrize("schema", [PLAIN, ROLES], ids=["plain", "roles"])
def test_a_million_groups_agree_with_the_model(kind: str, schema: Schema) -> None:
    """False alarm: one in a million; a model that is off by two percent is rejected."""
    workload = Workload.of(schema)
    model, other = model_of(kind, schema, 1), model_of(kind, schema, 2)
    rates = histogram_of(model).rates(workload)
    wrong = 0.98 * rates + 0.02 * histogram_of(other).rates(workload)
    for stratified in (True, False):
        rng = np.random.default_rng(3)
        data = sample_encoded(model, 1_000_000, rng=rng, stratified=stratified)
        assert data.groups == 1_000_000
        assert disagreement(data, workload, rates) < 1
        assert disagreement(data, workload, wrong) > 1
