"""Turns a case into files or tables, and hands them to kinfolk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bad_input.cases import ABSENT, FOLDER, HOUSEHOLDS, PERSONS, SCHEMA, Case
from kinfolk.cli.console import name_tables
from kinfolk.data.encode import encode
from kinfolk.data.encoded import Encoded
from kinfolk.schema import Schema

GOOD = {"schema.yaml": SCHEMA, "households.csv": HOUSEHOLDS, "persons.csv": PERSONS}


def write_files(case: Case, folder: Path) -> None:
    """Write the good files, and over them what the case spoils."""
    for name, content in {**GOOD, **case.files}.items():
        write(folder / name, content)


def write(path: Path, content: Any) -> None:
    """Write text, bytes or a table; or make a folder; or nothing."""
    if isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    elif isinstance(content, bytes):
        path.write_bytes(content)
    elif isinstance(content, pa.Table):
        pq.write_table(content, path)
    elif content is FOLDER:
        path.mkdir()
    else:
        assert content is ABSENT


def read_and_encode(case: Case) -> Encoded:
    """What an analyst does in Python; the files are in the current folder."""
    schema = Schema.from_yaml(case.arguments[0])
    if case.tables is not None:
        return encode(schema, case.tables())
    return encode(schema, name_tables(schema, tuple(map(Path, case.arguments[1:]))))
