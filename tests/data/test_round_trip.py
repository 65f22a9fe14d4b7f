"""decode(encode(x)) is x on categorical columns, and stays in the bin on numeric ones."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generators import datasets, schemas
from kinfolk.data.decode import decode
from kinfolk.data.encode import encode
from kinfolk.data.encoded import Encoded
from kinfolk.data.frames import to_frame, write_table
from kinfolk.datasets import load_detroit
from kinfolk.schema import Categorical, Schema


def assert_same(left: Encoded, right: Encoded) -> None:
    np.testing.assert_array_equal(left.group, right.group)
    np.testing.assert_array_equal(left.individual, right.individual)
    np.testing.assert_array_equal(left.offsets, right.offsets)
    if left.role is not None:
        assert right.role is not None
        np.testing.assert_array_equal(left.role, right.role)


@given(st.data())
def test_encode_undoes_decode(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    encoded = data.draw(datasets(schema))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    assert_same(encode(schema, decode(encoded, rng=rng)), encoded)


@settings(max_examples=40)
@given(st.data(), st.sampled_from(["pandas", "polars", "csv", "parquet"]))
def test_every_way_in_gives_the_same_codes(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, way: str
) -> None:
    schema = data.draw(schemas())
    encoded = data.draw(datasets(schema))
    tables = decode(encoded, rng=np.random.default_rng(0))
    if way in ("pandas", "polars"):
        given_tables = {name: to_frame(table, way) for name, table in tables.items()}
    else:
        folder = tmp_path_factory.mktemp("tables")
        given_tables = {name: folder / f"{name}.{way}" for name in tables}
        for name, table in tables.items():
            write_table(table, given_tables[name])
    assert_same(encode(schema, given_tables), encoded)


@settings(max_examples=50)
@given(st.data())
def test_decode_undoes_encode_on_categories(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    tables = decode(data.draw(datasets(schema)), rng=np.random.default_rng(1))
    again = decode(encode(schema, tables), rng=np.random.default_rng(2))
    for name, attributes in (
        ("homes", schema.group_attributes),
        ("people", schema.individual_attributes),
    ):
        for column, attribute in attributes.items():
            if isinstance(attribute, Categorical):
                assert again[name][column].equals(tables[name][column])


def test_order_of_rows_and_columns_does_not_matter() -> None:
    schema, tables = load_detroit()
    rng = np.random.default_rng(5)
    people = tables["persons"]
    shuffled = people.take(rng.permutation(people.num_rows)).select(people.column_names[::-1])
    left = encode(schema, tables)
    right = encode(schema, {"households": tables["households"], "persons": shuffled})
    np.testing.assert_array_equal(left.group, right.group)
    np.testing.assert_array_equal(left.offsets, right.offsets)
    for one in range(0, left.groups, 997):
        rows = slice(left.offsets[one], left.offsets[one + 1])
        assert sorted(map(tuple, left.individual[rows].tolist())) == sorted(
            map(tuple, right.individual[rows].tolist())
        )


TEXT = """
group: {table: homes, id: home, attributes: {own: {values: [true, false]}, rent: {bins: [0, 9]}}}
individual:
  table: people
  group_id: home
  attributes:
    sex: {values: [m, f], labels: [male, female], missing: true}
    age: {bins: [0, 18, 120], integer: true, special: [-1]}
max_size: 2
workload: {k: 2}
"""


def small() -> dict[str, pd.DataFrame]:
    homes = pd.DataFrame({"home": ["a", "b"], "own": [True, False], "rent": [1.5, 9.0]})
    people = pd.DataFrame({"home": ["b", "a", "b"], "sex": ["m", None, "f"], "age": [17, -1, 120]})
    return {"homes": homes, "people": people}


def test_storage_types_come_back() -> None:
    schema = Schema.from_text(TEXT)
    frames = small()
    frames["people"] = frames["people"].astype({"sex": "category", "age": "int16"})
    tables = decode(encode(schema, frames), rng=np.random.default_rng(0))
    out = {name: to_frame(table, "pandas") for name, table in tables.items()}
    assert out["people"].dtypes["age"] == np.int16
    assert list(out["people"]["sex"].cat.categories) == ["m", "f"]
    assert out["homes"].dtypes["own"] == np.bool_
    assert out["homes"]["home"].tolist() == ["1", "2"]  # text keys stay text
    assert out["people"]["home"].tolist() == ["1", "2", "2"]


def test_a_type_too_small_for_the_domain_is_not_kept() -> None:
    schema = Schema.from_text(TEXT.replace("[0, 18, 120]", "[0, 18, 300]"))
    frames = small()
    frames["people"] = frames["people"].astype({"age": "int8"})
    tables = decode(encode(schema, frames), rng=np.random.default_rng(0))
    assert tables["people"]["age"].type == pa.int64()


def test_labels_and_special_values() -> None:
    schema = Schema.from_text(TEXT)
    encoded = encode(schema, small())
    words = decode(encoded, rng=np.random.default_rng(0), labels=True)["people"]
    assert words["sex"].to_pylist() == [None, "male", "female"]
    assert words["age"].to_pylist() == ["-1", "0 to 17", "18 to 120"]
    ages = decode(encoded, rng=np.random.default_rng(0))["people"]["age"].to_pylist()
    assert ages[0] == -1
    assert 0 <= ages[1] < 18 <= ages[2] <= 120


def test_special_values_inside_the_bins() -> None:
    schema = Schema.from_text(
        "individual: {table: people, attributes: {x: {bins: [-9, 0, 5, 9], special: [0, 9, -8]}}}\n"
        "max_size: 1\n"
    )
    people = pa.table({"x": [-9.0, -8, -7.9, 0, -0.0, 0.1, 5, 8.9, 9]})
    encoded = encode(schema, {"people": people})
    assert encoded.individual[:, 0].tolist() == [0, 5, 0, 3, 3, 1, 2, 2, 4]


def test_decimals_round_inside_the_bin() -> None:
    schema = Schema.from_text(
        "individual: {table: people, attributes: {x: {bins: [0.05, 0.26, 0.31], decimals: 1}}}\n"
        "max_size: 1\n"
    )
    encoded = encode(schema, {"people": pa.table({"x": [0.07, 0.29] * 50})})
    drawn = decode(encoded, rng=np.random.default_rng(0))["people"]["x"].to_pylist()
    assert set(drawn[::2]) == {0.1, 0.2}
    assert set(drawn[1::2]) == {0.3}


def test_numbers_are_uniform_inside_their_bin() -> None:
    """A chi-square test of 20,000 draws; a false alarm once in a million runs."""
    from scipy.stats import chisquare

    schema = Schema.from_text(
        "individual: {table: people, attributes: {age: {bins: [3, 5, 9], integer: true}}}\n"
        "max_size: 1\n"
    )
    people = pl.DataFrame({"age": [9] * 20_000})
    encoded = encode(schema, {"people": people})
    ages = decode(encoded, rng=np.random.default_rng(3))["people"]["age"].to_numpy()
    counts = np.bincount(ages)
    assert counts[:5].sum() == 0
    assert chisquare(counts[5:]).pvalue > 1e-6


def test_flat_data_needs_one_table_only() -> None:
    schema = Schema.from_text(
        "individual: {table: people, attributes: {sex: {values: [m, f]}, x: {values: [1, 2]}}}\n"
        "max_size: 1\n"
    )
    table = pa.table({"sex": ["m", "f", "f"], "x": [2, 1, 1]})
    encoded = encode(schema, {"people": table})
    assert encoded.groups == encoded.people == 3
    assert decode(encoded, rng=np.random.default_rng(0)) == {"people": table}


def test_first_keeps_required_members_and_file_order(tmp_path: Path) -> None:
    schema = Schema.from_text("""
group: {table: homes, id: home, attributes: {}}
individual: {table: people, group_id: home, attributes: {age: {bins: [0, 200], integer: true}}}
max_size: 3
oversize: first
roles:
  column: relate
  head: {values: [0], min: 1, max: 1}
  child: {values: [2], min: 0, max: 2}
  others: keep
workload: {k: 1}
""")
    homes = pa.table({"home": [1, 2]})
    people = pa.table(
        {
            "home": [1, 1, 1, 1, 1, 2],
            "relate": [2, 2, 2, 9, 0, 0],
            "age": [1, 2, 3, 4, 50, 60],
        }
    )
    encoded = encode(schema, {"homes": homes, "people": people})
    assert encoded.offsets.tolist() == [0, 3, 4]
    assert encoded.role is not None
    # The head stays although it comes last; then the first two children.
    assert encoded.role.tolist() == [1, 1, 0, 0]
    assert encoded.cleaning.groups_oversize == 1
    assert encoded.cleaning.people_oversize == 2


def test_cleaning_adds_up() -> None:
    schema, tables = load_detroit()
    encoded = encode(schema, tables)
    cleaning = encoded.cleaning
    assert cleaning.groups_read - cleaning.groups_oversize == encoded.groups
    left = cleaning.people_read - cleaning.people_outside_roles - cleaning.people_oversize
    assert left == encoded.people


def test_groups_with_nobody_in_a_role_are_counted() -> None:
    schema = Schema.from_text("""
group: {table: homes, id: home, attributes: {}}
individual: {table: people, group_id: home, attributes: {sex: {values: [m, f]}}}
max_size: 3
roles: {column: relate, child: {values: [2], min: 0, max: 2}, others: drop}
workload: {k: 1}
""")
    people = pa.table({"home": [1, 1, 2], "relate": [2, 9, 9], "sex": ["m", "f", "m"]})
    encoded = encode(schema, {"homes": pa.table({"home": [1, 2]}), "people": people})
    assert encoded.groups == 1
    assert encoded.cleaning.groups_outside_roles == 1
    assert encoded.cleaning.people_outside_roles == 2
