"""Tables and columns that cannot be read, and what is said about them."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from kinfolk.data.draft import draft_schema
from kinfolk.data.encode import encode
from kinfolk.errors import KinfolkError
from kinfolk.schema import Schema


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def line_of(text: str, name: str) -> str:
    found = re.findall(rf"^ +# {re.escape(name)}: .*$", text, re.MULTILINE)
    return str(found[0])


def test_columns_that_frames_cannot_give() -> None:
    homes = pd.DataFrame({"hid": [1, 2, 3], "mixed": [1, "a", 2], 7: [1, 2, 3]})
    people = pa.table(
        {
            "hid": [1, 2, 3],
            "sex": ["m", "f", "m"],
            "born": pa.array([0, 1, 2], pa.date32()),
            "tags": [[1], [2], [3]],
            "parts": [{"a\nb": 1}, {"a\nb": 2}, {"a\nb": 3}],
            "limit": [1.0, float("inf"), 2.0],
            "gap": ["", "a", "b"],
            "long": [10**17, 2, 3],
            "longer": pa.array([2**63, 2**63 + 1, 2**64 - 1], pa.uint64()),
            "hour": pa.array([1, 2, 3], pa.time32("s")),
        }
    )
    draft = draft_schema(homes, people)
    encode(Schema.from_text(draft.text), {"households": homes, "persons": people})
    for name, why in {
        "mixed": "several types",
        '"7"': "not a text",
        "born": "dates",
        "tags": "list<",
        "parts": r"struct<a\nb",
        "limit": "infinite",
        "gap": "empty text",
        "long": "as large as ids",
        "longer": "as large as ids",
        "hour": "times",
    }.items():
        assert why in line_of(draft.text, name)


def test_nothing_usable() -> None:
    homes, people = pa.table({"hid": [1, 2]}), pa.table({"hid": [1, 2], "c": [1, 1]})
    with pytest.raises(KinfolkError, match="c: it has the same value in every row"):
        draft_schema(homes, people)
    with pytest.raises(KinfolkError, match="only the id"):
        draft_schema(homes, people.select(["hid"]))


def test_bad_tables(tmp_path: Path) -> None:
    good = write(tmp_path / "homes.csv", "hid,x\n1,1\n2,2\n")
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    header = write(tmp_path / "header.csv", "hid,y\n")
    broken = tmp_path / "broken.parquet"
    broken.write_text("no")
    for people, words in {
        tmp_path / "gone.csv": "no such file",
        tmp_path / "gone.xlsx": "no such file",
        empty: "is empty",
        header: "no rows",
        broken: "not a complete parquet",
    }.items():
        with pytest.raises(KinfolkError, match=words):
            draft_schema(good, people)
    with pytest.raises(KinfolkError, match="is not a table"):
        draft_schema(good, 3)
