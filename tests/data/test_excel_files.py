"""Excel workbooks: the cells of one sheet, as a CSV file would have them."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from kinfolk.data.draft import draft_schema
from kinfolk.data.encode import encode
from kinfolk.data.tables import UnreadableError, read_source
from kinfolk.errors import DataError, KinfolkError, redacted
from kinfolk.schema import Schema


def workbook(path: Path, **sheets: list[list[Any]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_cells_are_those_of_a_csv_file(tmp_path: Path) -> None:
    rows = [
        ["id", "size", "x", "own", "day", "extra"],
        [1, 1, 0.5, True, datetime.date(2020, 1, 2)],
        [2.0, "3+", None, False, datetime.datetime(2020, 1, 2, 3, 4)],
        [None, None],
    ]
    path = workbook(tmp_path / "t.xlsx", data=rows, notes=[])
    source = read_source(path, ["id", "size", "x", "own", "day", "extra"], name="t")
    assert {name: column.to_pylist() for name, column in source.columns.items()} == {
        "id": ["1", "2"],
        "size": ["1", "3+"],
        "x": ["0.5", None],
        "own": ["true", "false"],
        "day": ["2020-01-02", "2020-01-02T03:04:00"],
        "extra": [None, None],
    }


def test_it_fits_a_schema_and_mistakes_have_their_line(tmp_path: Path) -> None:
    schema = Schema.from_text("""
    group: {table: homes, id: hid, attributes: {cars: {values: ["1", "2", "3+"]}}}
    individual: {table: people, group_id: hid, attributes: {age: {bins: [0, 120], integer: true}}}
    max_size: 2
    """)
    homes = workbook(tmp_path / "homes.xlsx", a=[["hid", "cars"], [7, 1], [8, "3+"]])
    people = workbook(tmp_path / "people.xlsx", a=[["hid", "age"], [8, 30], [7, 41.0]])
    assert encode(schema, {"homes": homes, "people": people}).group[:, 0].tolist() == [0, 2]
    workbook(people, a=[["hid", "age"], [8, 30], [7, "old"]])
    with pytest.raises(DataError, match=r"people\.xlsx, line 3, column age: 'old' is not a number"):
        encode(schema, {"homes": homes, "people": people})
    assert draft_schema(homes, people).schema.table_names == ("homes", "people")


def test_two_sheets_are_two_files(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", homes=[["a"], [1]], people=[["b"], [2]])
    with pytest.raises(UnreadableError, match=r"2 sheets have cells \(homes, people\)"):
        read_source(path, ["a"], name="t")
    with redacted(), pytest.raises(UnreadableError) as caught:
        read_source(path, ["a"], name="t")
    assert "people" not in str(caught.value)


def test_an_empty_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="is empty"):
        read_source(workbook(tmp_path / "t.xlsx", a=[]), ["a"], name="t")


def test_without_the_extra_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = workbook(tmp_path / "t.xlsx", a=[["a"], [1]])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(KinfolkError, match=r"t\.xlsx: .*pip install 'kinfolk\[files\]'"):
        read_source(path, ["a"], name="t")
