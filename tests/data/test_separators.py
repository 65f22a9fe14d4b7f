"""CSV files whose cells are separated by something else than commas."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from kinfolk.data.draft import draft_schema
from kinfolk.data.tables import read_source
from kinfolk.errors import KinfolkError

ROWS = [["id", "na,me", "x"], ["1", "a,b", "2.5"], ["", "c", "7"]]


@pytest.mark.parametrize(
    ("name", "separator"),
    [("t.csv", ";"), ("t.csv", "\t"), ("t.csv", "|"), ("t.tsv", "\t"), ("t.csv.gz", ";")],
)
def test_the_first_line_tells(name: str, separator: str, tmp_path: Path) -> None:
    text = "\n".join(separator.join(f'"{c}"' if "," in c else c for c in row) for row in ROWS)
    raw = f"\ufeff\n{text}\n".encode()
    (tmp_path / name).write_bytes(gzip.compress(raw) if name.endswith("gz") else raw)
    source = read_source(tmp_path / name, ["id", "na,me", "x"], name="t")
    cells = [column.to_pylist() for column in source.columns.values()]
    assert cells == [["1", None], ["a,b", "c"], ["2.5", "7"]]
    assert source.place(1) == f"{name}, line 4"


def test_a_comma_comes_first(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b;c\n1,2\n")
    assert read_source(tmp_path / "t.csv", [], name="t").names == ("a", "b;c")


def test_one_column_needs_no_separator(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n")
    assert read_source(tmp_path / "t.csv", ["a"], name="t").columns["a"].to_pylist() == ["1"]


def test_a_line_with_too_few_cells_is_found(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a;b\n1;2\n3\n")
    with pytest.raises(KinfolkError, match=r"line 3: 1 cell, .* an unquoted semicolon"):
        read_source(tmp_path / "t.csv", ["a"], name="t")


def test_decimal_commas_are_not_numbers(tmp_path: Path) -> None:
    """A draft leaves such a column to its owner, and says which cell is meant."""
    homes, people = tmp_path / "homes.csv", tmp_path / "people.csv"
    homes.write_text("hid;x\n" + "".join(f"{n};{n % 2}\n" for n in range(100)))
    people.write_text("hid;wage;sex\n" + "".join(f"{n};{n},5;{n % 2}\n" for n in range(100)))
    found = draft_schema(homes, people)
    assert list(found.schema.individual_attributes) == ["sex"]
