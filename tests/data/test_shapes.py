"""Numbers inside their bins: what is drawn fits the schema, what is fitted follows the counts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators import numerics, schemas
from kinfolk.data.columns import encode_column
from kinfolk.data.decode import decode
from kinfolk.data.encoded import Encoded
from kinfolk.data.shapes import Shape, Shapes
from kinfolk.data.shapes import numerics as numerics_of
from kinfolk.errors import KinfolkError
from kinfolk.schema import IndividualTable, Numeric, Schema, WorkloadSpec
from kinfolk.schema.bins import fine

HOURS = Numeric(bins=[1, 20, 35, 45, 60, 99], integer=True)
INCOME = Numeric(
    bins=[-100_000, 0, 5000, 10_000, 20_000, 30_000, 50_000, 1_000_000], decimals=2, special=[0]
)


def decode_column(
    codes: np.ndarray,
    attribute: Numeric,
    rng: np.random.Generator,
    kind: pa.DataType | None,
    *,
    shape: Shape | None = None,
) -> pa.ChunkedArray:
    """Codes of one number as a column of that storage type."""
    schema = Schema(
        group=None,
        individual=IndividualTable(table="people", group_id=None, attributes={"number": attribute}),
        max_size=1,
        workload=WorkloadSpec(k=1),
    )
    data = Encoded(
        schema=schema,
        group=np.empty((len(codes), 0), np.uint16),
        individual=codes.astype(np.uint16).reshape(-1, 1),
        offsets=np.arange(len(codes) + 1),
        types={} if kind is None else {"people": {"number": kind}},
    )
    shapes = None if shape is None else Shapes(group={}, individual={"number": shape})
    return decode(data, rng=rng, shapes=shapes)["people"]["number"]


def counted(attribute: Numeric, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes, counts of bins and counts of cells."""
    column = pa.chunked_array([pa.array(numbers)])
    codes, _ = encode_column(column, attribute, untyped=False)
    cells = fine(attribute)
    found, _ = encode_column(column, cells, untyped=False)
    bins = np.bincount(codes, minlength=attribute.size)[: len(attribute.bins) - 1]
    return codes, bins.astype(float), np.bincount(found, minlength=cells.size).astype(float)


def incomes() -> np.ndarray:
    rng = np.random.default_rng(5)
    drawn = np.round(np.exp(rng.normal(10, 0.8, 13_000)), 2)
    drawn[rng.random(drawn.size) < 0.1] = 0
    drawn[rng.random(drawn.size) < 0.01] *= -0.3
    return np.clip(np.round(drawn, 2), -100_000, 1_000_000)


@given(st.data())
def test_what_is_drawn_lies_in_its_bin(data: st.DataObject) -> None:
    attribute = data.draw(numerics())
    cells = len(fine(attribute).bins) - 1
    noisy = data.draw(st.lists(st.floats(-1e6, 1e6), min_size=cells, max_size=cells))
    sigma = data.draw(st.sampled_from([0.0, 1e-3, 1.0, 1e4]))
    shape = Shape.fitted(attribute, np.array(noisy), sigma=sigma)
    codes = np.repeat(np.arange(attribute.size), 20)
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    kind = data.draw(st.sampled_from([None, pa.float64(), pa.float32(), pa.int64(), pa.int32()]))
    column = decode_column(codes, attribute, rng, kind, shape=shape)
    found, misfits = encode_column(column, attribute, untyped=False)
    assert not misfits
    np.testing.assert_array_equal(found, codes)


@given(numerics(), st.integers(0, 1000))
def test_decimals_are_kept(attribute: Numeric, seed: int) -> None:
    if attribute.places is None:
        return
    codes = np.repeat(np.arange(len(attribute.bins) - 1), 30)
    drawn = Shape.even(attribute).draw(codes, np.random.default_rng(seed))
    np.testing.assert_array_equal(np.round(drawn, attribute.places), drawn)


@given(numerics(), st.integers(0, 1000))
def test_one_and_the_same_generator_draws_the_same(attribute: Numeric, seed: int) -> None:
    codes = np.arange(len(attribute.bins) - 1)
    one, two = (Shape.even(attribute).draw(codes, np.random.default_rng(seed)) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_a_tiny_number_does_not_become_a_special_zero_when_stored_as_float32() -> None:
    attribute = Numeric(bins=[0, 1e-44, 1], special=[0])
    codes = np.zeros(100, np.int64)
    column = decode_column(codes, attribute, np.random.default_rng(0), pa.float64())
    assert (column.to_numpy() > 0).all()
    attribute = Numeric(bins=[0, 1], special=[0])
    shares = np.zeros(len(fine(attribute).bins) - 1)
    shares[0] = 1
    column = decode_column(
        codes,
        attribute,
        np.random.default_rng(0),
        pa.float32(),
        shape=Shape(attribute=attribute, shares=shares),
    )
    assert (column.to_numpy() > 0).all()


def test_without_noise_the_shares_are_those_of_the_counts() -> None:
    numbers = incomes()
    _, bins, cells = counted(INCOME, numbers)
    shape = Shape.fitted(INCOME, cells, sigma=1e-3, totals=bins)
    exact = cells[: shape.bins.size] / bins[shape.bins]
    np.testing.assert_allclose(shape.shares, exact, atol=2e-3)


@pytest.mark.parametrize("seed", range(3))
def test_moments_survive_much_noise(seed: int) -> None:
    """Noise as large as most cells; wrong by more than this would need noise ten times as large."""
    numbers = incomes()
    codes, bins, cells = counted(INCOME, numbers)
    rng = np.random.default_rng(seed)
    shape = Shape.fitted(INCOME, cells + rng.normal(0, 90, cells.size), sigma=90, totals=bins)
    inside = codes < len(INCOME.bins) - 1
    drawn = np.where(inside, shape.draw(np.where(inside, codes, 0), rng), 0.0)
    even = Shape.even(INCOME).draw(np.where(inside, codes, 0), rng) * inside
    assert abs(drawn.mean() / numbers.mean() - 1) < 0.05
    assert abs(drawn.std() / numbers.std() - 1) < 0.2
    assert even.mean() / numbers.mean() > 1.5


def test_a_heap_is_kept_and_noise_is_no_heap() -> None:
    rng = np.random.default_rng(1)
    numbers = np.clip(np.round(rng.normal(38, 9, 4000)), 1, 99)
    numbers[:3000] = 40
    codes, bins, cells = counted(HOURS, numbers)
    noisy = cells + rng.normal(0, 60, cells.size)
    shape = Shape.fitted(HOURS, noisy, sigma=60, totals=bins)
    drawn = shape.draw(codes, rng)
    assert abs((drawn == 40).mean() - (numbers == 40).mean()) < 0.03
    flat = Shape.fitted(
        HOURS, rng.normal(0, 60, cells.size), sigma=60, totals=np.full(bins.size, 20.0)
    )
    assert flat.shares[flat.bins == 2].max() < 0.35


def test_a_model_file_keeps_shapes() -> None:
    schema = Schema.from_text(
        "group: {table: h, id: home, attributes: {income: {bins: [0, 10, 900], special: [0]}}}\n"
        "individual: {table: p, group_id: home, attributes: {age: {bins: [0, 9, 99]}}}\n"
        "max_size: 2\n"
    )
    shapes = Shapes.even(schema)
    arrays = shapes.to_arrays()
    again = Shapes.from_arrays(schema, arrays)
    np.testing.assert_array_equal(again.group["income"].shares, shapes.group["income"].shares)
    np.testing.assert_array_equal(again.individual["age"].shares, shapes.individual["age"].shares)


@given(schemas())
def test_every_schema_has_shapes(schema: Schema) -> None:
    shapes = Shapes.from_arrays(schema, Shapes.even(schema).to_arrays())
    assert set(shapes.group) == {name for name, _ in numerics_of(schema.group_attributes)}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda shares: shares[:-1],
        lambda shares: shares * 2,
        lambda shares: -shares,
        lambda shares: np.full_like(shares, np.nan),
        lambda shares: shares.astype(np.float32),
        lambda shares: shares.tolist(),
        lambda shares: None,
    ],
)
def test_damaged_shapes_are_refused(spoil: object) -> None:
    schema = Schema.from_text(
        "individual: {table: p, attributes: {age: {bins: [0, 9, 99]}}}\nmax_size: 1\n"
    )
    shares = Shapes.even(schema).to_arrays()["shares"]
    with pytest.raises(KinfolkError):
        Shapes.from_arrays(schema, {"shares": spoil(shares)})  # type: ignore[operator]


def test_counts_that_do_not_fit_are_refused() -> None:
    for counts in (np.zeros(3), np.full(200, np.nan)):
        with pytest.raises(KinfolkError, match="finite counts"):
            Shape.fitted(HOURS, counts, sigma=1.0)
