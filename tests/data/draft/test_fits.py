"""Whatever the tables hold, a draft fits the tables it was drafted from."""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk.data.draft import draft_schema
from kinfolk.data.encode import encode
from kinfolk.errors import KinfolkError
from kinfolk.schema import Schema

TRICKY = (
    "", " ", "0", "1", "01", "-0", "+3", ".5", "5.", "1.0", "1e5", "1e999", "-9", "NA", "null", "~",
    "true", "TRUE", "false", "no", "yes", "3\n", "a: b", "# x", "[", "'", '"', "\\", "2019-01-02",
    "é", "\u00a0", "\u2028", "\ufffe", "😀", "<<", "=", "12:30", "0x1F", "1_000", "inf", "nan",
)  # fmt: skip

NAMES = ("x", "COUNT", "relate", "age", "true", "1", "a b", "y: #", "a\u2028b", "a\nb", "\ufeffz")

CELLS: dict[str, st.SearchStrategy[Any]] = {
    "code": st.integers(0, 5),
    "amount": st.integers(-20, 10**6),
    "huge": st.integers(-(2**62), 2**62),
    "coded amount": st.one_of(st.just(-9), st.just(9999), st.integers(0, 60)),
    "measure": st.floats(allow_nan=False, allow_infinity=False),
    "share": st.floats(0, 1),
    "any number": st.floats(),
    "tricky": st.sampled_from(TRICKY),
    "word": st.text(st.characters(codec="utf-8", exclude_characters="\x00\r"), max_size=6),
    "flag": st.booleans(),
    "digits": st.sampled_from(["001", "002", "010", "1"]),
    "nothing": st.none(),
}


@st.composite
def columns(draw: st.DrawFn, rows: int, *, least: int) -> dict[str, list[Any]]:
    kinds = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=least, max_size=4))
    made: dict[str, list[Any]] = {}
    for index, kind in enumerate(kinds):
        cells = CELLS[kind]
        if draw(st.booleans()):
            cells = st.one_of(st.none(), cells)
        name = draw(st.sampled_from(NAMES))
        made[f"{name}{index or ''}"] = draw(st.lists(cells, min_size=rows, max_size=rows))
    return made


@st.composite
def two_tables(draw: st.DrawFn) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=25))
    ids = draw(st.permutations(range(100, 100 + len(sizes))))
    members = [i for i, size in zip(ids, sizes, strict=True) for _ in range(size)]
    homes = {"hh_id": list(ids), **draw(columns(len(ids), least=0))}
    people = {"hh_id": members, **draw(columns(len(members), least=1))}
    return homes, people


def draft_and_encode(homes: Any, people: Any) -> None:
    try:
        draft = draft_schema(homes, people)
    except KinfolkError as error:
        assert "no column can be an attribute" in str(error)  # noqa: PT017
        return
    schema = Schema.from_text(draft.text)
    assert schema.domain == "drafted"
    names = schema.table_names
    encode(schema, {names[0]: homes, names[1]: people})


def write_csv(path: Path, table: dict[str, list[Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    return path


QUICK = settings(max_examples=150)


@QUICK
@given(two_tables())
def test_a_draft_fits_its_own_csv(tables: tuple[dict[str, list[Any]], ...]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        homes, people = tables
        draft_and_encode(
            write_csv(Path(folder) / "homes.csv", homes),
            write_csv(Path(folder) / "people.csv", people),
        )


@QUICK
@given(two_tables())
def test_a_draft_fits_its_own_parquet(tables: tuple[dict[str, list[Any]], ...]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / "homes.parquet", Path(folder) / "people.parquet"]
        for path, table in zip(paths, tables, strict=True):
            pq.write_table(pa.table(table), path)
        draft_and_encode(*paths)
