"""What is odd but not wrong is read as it is meant; what is wrong is found at its own line."""

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bad_input.cases import HOUSEHOLDS, PERSONS, SCHEMA, households, persons, swap
from kinfolk.data.decode import decode
from kinfolk.data.encode import encode
from kinfolk.data.encoded import Encoded
from kinfolk.errors import KinfolkError
from kinfolk.schema import Schema


def encode_all(groups: Any, individuals: Any, schema: str = SCHEMA) -> Encoded:
    tables = {"households": groups, "persons": individuals}
    return encode(Schema.from_text(schema), tables)


def message(groups: Any, individuals: Any, schema: str = SCHEMA) -> str:
    with pytest.raises(KinfolkError) as caught:
        encode_all(groups, individuals, schema)
    return str(caught.value)


def csv(folder: Path, text: str, name: str = "households.csv", encoding: str = "utf-8") -> Path:
    (folder / name).write_bytes(text.encode(encoding))
    return folder / name


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_as_an_editor_counts_them(tmp_path: Path, end: str) -> None:
    """Cells with line breaks and empty lines come before the line in question."""
    text = 'note,household_id,veh,rent\n"two\nlines",901,1,1\n\n\nx,902,9,1\n,903,1,1\n'
    path = csv(tmp_path, text.replace("\n", end))
    assert "households.csv, line 6, column veh: '9'" in message(path, persons())


def test_odd_but_good_csv_files(tmp_path: Path) -> None:
    good = encode_all(households(), persons())
    tabs = csv(tmp_path, HOUSEHOLDS.replace(",", "\t"), "households.tsv")
    mark = csv(tmp_path, "\ufeff" + HOUSEHOLDS)
    sizes = HOUSEHOLDS.replace("\n", ",size\n")
    inch = csv(tmp_path, swap(sizes, ("750,size", '750,5" pipe')), "inch.csv")
    foreign = csv(tmp_path, PERSONS.replace("\n", ",é\n"), "foreign.csv", "latin-1")
    packed = tmp_path / "households.csv.gz"
    packed.write_bytes(gzip.compress(HOUSEHOLDS.encode()))
    for path in (tabs, mark, inch, packed):
        np.testing.assert_array_equal(encode_all(path, persons()).group, good.group)
    header = swap(foreign.read_text("latin-1"), ("age,é", "age,note"))
    foreign = csv(tmp_path, header, "foreign.csv", "latin-1")
    np.testing.assert_array_equal(encode_all(households(), foreign).individual, good.individual)


def test_a_folder_of_parquet_files_is_a_table(tmp_path: Path) -> None:
    folder = tmp_path / "persons.parquet"
    folder.mkdir()
    table = pa.Table.from_pandas(persons(), preserve_index=False)
    pq.write_table(table[:3], folder / "part-0.parquet")
    pq.write_table(table[3:], folder / "part-1.parquet")
    assert encode_all(households(), folder).people == 6
    (tmp_path / "empty.parquet").mkdir()
    assert "is a folder. Name the file in it." in message(households(), tmp_path / "empty.parquet")


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Permissions do not bind root, so the refusal is played."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "some words of the library", "path")

    path = csv(tmp_path, HOUSEHOLDS)
    monkeypatch.setattr(Path, "open", refuse)
    reason = os.strerror(13)
    assert f"households.csv: cannot be read as csv ({reason})." in message(path, persons())


def test_a_column_of_blanks_may_have_any_type() -> None:
    schema = swap(SCHEMA, ("female]}", "female], missing: true}"))
    for blanks in ([None] * 6, [np.nan] * 6, pd.Series([pd.NaT] * 6)):
        encoded = encode_all(households(), persons(sex=blanks), schema)
        assert set(encoded.individual[:, 0].tolist()) == {2}


def test_ids_are_never_confused() -> None:
    """Unsigned and signed, large and rounded: equal means equal."""
    large = np.array([2**64 - 1, 902, 903], np.uint64)
    signed = np.array([-1, -1, -1, 902, 903, 903], np.int64)
    found = message(households(household_id=large), persons(household_id=signed))
    assert "persons, row 1, column household_id: -1 is not in households" in found
    near = [2.0**60, 902.0, 903.0]
    rounded = [2**60 + 1, 2**60 + 1, 2**60 + 1, 902, 903, 903]
    found = message(households(household_id=near), persons(household_id=rounded))
    assert "1152921504606846977 is not in households" in found


def test_a_number_with_a_line_break_is_no_number(tmp_path: Path) -> None:
    path = csv(tmp_path, swap(HOUSEHOLDS, ("901,1", '901,"1\n"')))
    assert r"column veh: '1\n' is not among" in message(path, persons())


def test_storage_types_too_small_for_the_domain_are_widened() -> None:
    """Pandas' categories have 8-bit indices, half floats few digits; the domain may need more."""
    values = ", ".join(map(str, range(200)))
    schema = Schema.from_text(
        f"individual: {{table: p, attributes: {{a: {{values: [{values}]}}, "
        "x: {bins: [0, 0.5, 1000]}, y: {bins: [0, 0.1, 1]}}}\nmax_size: 1\n"
    )
    frame = pd.DataFrame({"a": pd.Categorical([0, 199, 7]), "x": [0.1, 9, 1000], "y": [0, 1, 0.05]})
    encoded = encode(schema, {"p": frame.astype({"x": "float16", "y": "float32"})})
    for seed in range(20):
        table = decode(encoded, rng=np.random.default_rng(seed))["p"]
        again = encode(schema, {"p": table})
        np.testing.assert_array_equal(again.individual, encoded.individual)
    assert table["x"].type == pa.float16()
    assert table["y"].type == pa.float64()


def test_a_column_that_the_schema_names_is_not_taken_for_a_missing_one() -> None:
    schema = Schema.from_text(
        "{individual: {table: p, attributes: {age: {bins: [0, 120]}, wage: {bins: [0, 9]}}}, "
        "max_size: 1}"
    )
    with pytest.raises(KinfolkError) as caught:
        encode(schema, {"p": pa.table({"wage": [1]})})
    assert "column age: there is no such column; there are wage. Add the column" in str(
        caught.value
    )
