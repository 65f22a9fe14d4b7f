"""Whatever is thrown at kinfolk, it either works or raises a KinfolkError: nothing else leaks."""

import copy
import datetime
import decimal
import math
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bad_input.cases import HOUSEHOLDS, PERSONS, SCHEMA, households, persons
from kinfolk.data.decode import decode
from kinfolk.data.encode import encode
from kinfolk.errors import KinfolkError, SchemaError
from kinfolk.schema import Schema
from kinfolk.schema.yaml_text import load_yaml

FAST = settings(
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

YAML_PIECES = st.sampled_from(
    [
        *"{}[]:,-?&*!|>'\"%@`#~\\ \n\t0a",
        *("&a ", "*a", "<<: ", "!!int ", "- ", ": ", "0x1", "1e9", "group:", "values:", "\n  "),
        *("\ufeff", "\x85", '"\\ud800"', '"\\UFFFFFFFF"', "9" * 5000),
    ]
)


@FAST
@given(st.one_of(st.text(), st.lists(YAML_PIECES, max_size=30).map("".join)))
def test_any_text_as_a_schema(text: str) -> None:
    with suppress(SchemaError):
        Schema.from_text(text)


@FAST
@given(st.binary())
def test_any_bytes_as_a_schema(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "schema.yaml").write_bytes(content)
    with suppress(KinfolkError):
        Schema.from_yaml(tmp_path / "schema.yaml")


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(),
    st.sampled_from([10**30, -(2**63), 2**64, 1e308, -1e308, 5e-324, 300, 255]),
    st.floats(),
    st.text(max_size=4),
    st.sampled_from(["head", "veh", "sex", "household_id", "relate", "COUNT", "drop", "keep"]),
    st.sampled_from(["other", "group", "relation", "/", "..", "a b", "\0", "\ud7ff", "\n"]),
)
NODES = st.recursive(
    SCALARS,
    lambda node: st.one_of(
        st.lists(node, max_size=3),
        st.dictionaries(st.one_of(SCALARS.filter(lambda s: s == s)), node, max_size=3),
    ),
    max_leaves=6,
)


def paths(node: Any, prefix: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places inside a document."""
    entries: list[tuple[Any, Any]] = []
    if isinstance(node, dict):
        entries = list(node.items())
    elif isinstance(node, list):
        entries = list(enumerate(node))
    found = [] if not prefix else [prefix]
    for key, child in entries:
        found += paths(child, (*prefix, key))
    return found


TREE = load_yaml(SCHEMA, name="schema")
PLACES = paths(TREE)


@settings(FAST, max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from(PLACES), NODES, st.booleans()), min_size=1, max_size=4),
    st.one_of(st.none(), st.tuples(st.sampled_from([(), *PLACES]), st.text(max_size=9), NODES)),
)
def test_any_change_to_a_schema(
    changes: list[tuple[tuple[Any, ...], Any, bool]], addition: tuple[Any, ...] | None
) -> None:
    tree = copy.deepcopy(TREE)
    for place, junk, remove in changes:
        with suppress(KeyError, IndexError, TypeError, AttributeError):
            node = tree
            for key in place[:-1]:
                node = node[key]
            if remove:
                del node[place[-1]]
            elif place[-1] in node or isinstance(node, list):
                node[place[-1]] = junk
    if addition is not None:
        with suppress(KeyError, IndexError, TypeError, AttributeError):
            node = tree
            for key in addition[0]:
                node = node[key]
            node[addition[1]] = addition[2]
    text = yaml.safe_dump(tree, allow_unicode=True, sort_keys=False)
    try:
        schema = Schema.from_text(text)
    except SchemaError:
        return
    assert Schema.from_text(schema.to_yaml()) == schema
    assert 1 <= len(schema.sizes) <= 255


CELLS = st.one_of(
    SCALARS,
    st.sampled_from(["male", "female", "0", "1", "901", 901, 901.0, 0, 1, 2, 40, 40.5]),
    st.sampled_from([math.nan, math.inf, pd.NA, pd.NaT, b"male", [1], {"a": 1}, 1j, object()]),
    st.sampled_from(
        [
            decimal.Decimal("1.5"),
            decimal.Decimal("NaN"),
            datetime.date(2020, 1, 1),
            datetime.timedelta(1),
            np.int8(1),
            np.float32(0.5),
            np.datetime64("2020-01-01"),
        ]
    ),
)
TYPES = [
    *(pa.int8(), pa.uint64(), pa.int64(), pa.float16(), pa.float32(), pa.float64(), pa.bool_()),
    *(pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.null(), pa.date32()),
    *(pa.timestamp("ns"), pa.duration("s"), pa.time32("s"), pa.decimal128(30, 2)),
    *(pa.list_(pa.int8()), pa.struct({"a": pa.int8()}), pa.dictionary(pa.int8(), pa.string())),
]
COLUMNS = ["household_id", "veh", "rent", "relate", "sex", "age"]
MAKERS: list[Callable[[list[Any]], Any]] = [
    lambda cells: pd.Series(cells, dtype=object),
    lambda cells: pd.Series(pd.Series(cells, dtype=object).astype(str)),
    lambda cells: pd.Series(pd.Series(cells, dtype=object).astype(str), dtype="category"),
    lambda cells: pd.Series(cells, dtype=object).infer_objects(),
]


def attempt(groups: Any, individuals: Any) -> None:
    """Encode, and where that works decode what came out."""
    with suppress(KinfolkError):
        tables = {"households": groups, "persons": individuals}
        decode(encode(Schema.from_text(SCHEMA), tables), rng=np.random.default_rng(0))


@settings(FAST, max_examples=30)
@given(st.data(), st.sets(st.sampled_from(COLUMNS), min_size=1, max_size=3))
def test_any_cells_in_data_frames(data: st.DataObject, spoilt: set[str]) -> None:
    groups, individuals = households(), persons()
    for column in sorted(spoilt):
        for frame in (groups, individuals):
            if column in frame:
                rows = len(frame)
                cells = data.draw(st.lists(CELLS, min_size=rows, max_size=rows))
                frame[column] = data.draw(st.sampled_from(MAKERS))(cells)
    attempt(groups, individuals)


@settings(FAST, max_examples=30)
@given(st.data(), st.sampled_from(COLUMNS), st.booleans(), st.booleans())
def test_any_type_of_column(
    data: st.DataObject, column: str, everywhere: bool, chunked: bool
) -> None:
    """The same odd type in one table or in both, blank or not, in one piece or several."""
    dtype = data.draw(st.sampled_from(TYPES))
    tables = [pa.Table.from_pandas(f, preserve_index=False) for f in (households(), persons())]
    for index, table in enumerate(tables):
        if column in table.column_names and (everywhere or index == 1):
            blank = st.one_of(st.none(), st.integers(0, 3))
            numbers = data.draw(st.lists(blank, min_size=table.num_rows, max_size=table.num_rows))
            position = table.column_names.index(column)
            changed = table.set_column(position, column, typed(numbers, dtype))
            pieces = [changed.slice(0, 2), changed.slice(2, 0), changed.slice(2)]
            tables[index] = pa.concat_tables(pieces) if chunked else changed
    attempt(*tables)


def typed(numbers: list[int | None], dtype: pa.DataType) -> pa.Array:
    """Numbers, as whatever they look like in the given type."""
    if pa.types.is_nested(dtype):
        wrap = (lambda n: [n]) if pa.types.is_list(dtype) else (lambda n: {"a": n})
        return pa.array([None if n is None else wrap(n) for n in numbers], dtype)
    if pa.types.is_null(dtype):
        return pa.nulls(len(numbers))
    if pa.types.is_dictionary(dtype) or pa.types.is_binary(dtype):
        text = pa.array([None if n is None else str(n) for n in numbers], pa.string())
        return text.dictionary_encode() if pa.types.is_dictionary(dtype) else text.cast(dtype)
    if pa.types.is_string_view(dtype) or pa.types.is_large_string(dtype):
        return pa.array([None if n is None else str(n) for n in numbers], dtype)
    if pa.types.is_date32(dtype) or pa.types.is_time32(dtype):
        return pa.array(numbers, pa.int32()).cast(dtype)
    return pa.array(numbers, pa.int64()).cast(dtype)


POLARS = [
    *(pl.Int128, pl.UInt8, pl.Float32, pl.Boolean, pl.String, pl.Categorical, pl.Binary, pl.Null),
    *(pl.Decimal(9, 1), pl.Date, pl.Datetime("ns"), pl.Duration, pl.Time, pl.Object),
    *(pl.List(pl.Int8), pl.Struct({"a": pl.Int8}), pl.Array(pl.Int8, 1), pl.Enum(["0", "1"])),
]


@pytest.mark.parametrize("dtype", POLARS, ids=str)
def test_any_type_of_polars_column(dtype: Any) -> None:
    for column in ("household_id", "relate", "sex", "age"):
        cells = pl.Series(column, [0, 1, None, 0, 1, 0], dtype=pl.Int64)
        if dtype == pl.Object:
            cells = pl.Series(column, [object()] * 6, dtype=pl.Object)
        elif dtype in (pl.Categorical, pl.Binary) or isinstance(dtype, pl.Enum):
            cells = cells.cast(pl.String).cast(dtype)
        elif isinstance(dtype, pl.List | pl.Array | pl.Struct):
            nested = [{"a": 1} if isinstance(dtype, pl.Struct) else [1]] * 6
            cells = pl.Series(column, nested, dtype=dtype)
        elif dtype != pl.Null:
            cells = cells.cast(dtype)
        else:
            cells = pl.Series(column, [None] * 6)
        attempt(pl.from_pandas(households()).lazy(), pl.from_pandas(persons()).with_columns(cells))


CSV_PIECES = st.sampled_from(
    [*',;"\n\r\t0129 \x00é\ufeff', "901", "male", ",,", "\r\n", '""', "-1", "1e999", "9" * 5000]
)


@FAST
@given(
    st.sampled_from(["households.csv", "persons.csv"]),
    st.lists(CSV_PIECES, max_size=12).map("".join),
    st.integers(0, 120),
    st.integers(0, 20),
    st.sampled_from(["utf-8", "latin-1", "utf-16"]),
)
def test_any_change_to_a_csv_file(
    tmp_path: Path, name: str, junk: str, start: int, length: int, encoding: str
) -> None:
    files = {"households.csv": HOUSEHOLDS, "persons.csv": PERSONS}
    files[name] = files[name][:start] + junk + files[name][start + length :]
    for file, text in files.items():
        (tmp_path / file).write_bytes(text.encode(encoding, "replace"))
    attempt(tmp_path / "households.csv", tmp_path / "persons.csv")


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz", "parquet", "arrow"])
@settings(FAST, max_examples=10)
@given(st.binary(max_size=200))
def test_any_bytes_as_a_table(tmp_path: Path, suffix: str, content: bytes) -> None:
    path = tmp_path / f"persons.{suffix}"
    path.write_bytes(content)
    attempt(households(), path)
