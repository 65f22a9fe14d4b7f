"""Data that comes with kinfolk: real households to try everything on, and shipped schemas."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from kinfolk.data.frames import to_frame
from kinfolk.errors import KinfolkError
from kinfolk.schema import Schema

SCHEMAS = ("acs", "acs-red", "acs-rel", "afst", "detroit")
"""The paper's four, and the bundled data's."""


def load_schema(name: str) -> Schema:
    """A shipped schema by name.

    >>> load_schema("acs-red").size_limit
    3
    """
    return Schema.from_text(schema_text(name), name=f"{name}.yaml")


def schema_text(name: str) -> str:
    """A shipped schema as YAML, comments included."""
    if name not in SCHEMAS:
        raise KinfolkError(f"no schema is called {name!r}. There are: {', '.join(SCHEMAS)}.")
    return files("kinfolk.data").joinpath("schemas", f"{name}.yaml").read_text(encoding="utf-8")


class Sample(NamedTuple):
    """A schema and tables that fit it."""

    schema: Schema
    tables: dict[str, Any]


def load_detroit(*, frames: str = "pyarrow") -> Sample:
    """Real households of Detroit with their people, as 'pyarrow', 'pandas' or 'polars' tables.

    14,853 households and 31,074 people from the American Community Survey, with who is head,
    spouse or child. Source and licence: `kinfolk/data/bundled/README.md`.

    >>> schema, tables = load_detroit()
    >>> {name: table.num_rows for name, table in tables.items()}
    {'households': 14853, 'persons': 31074}
    """
    schema = load_schema("detroit")
    tables: dict[str, Any] = {}
    for name in schema.table_names:
        resource = files("kinfolk.data").joinpath("bundled", f"detroit_{name}.parquet")
        with as_file(resource) as path:
            tables[name] = to_frame(pq.read_table(path), frames)
    return Sample(schema, tables)


__all__ = ["SCHEMAS", "Sample", "load_detroit", "load_schema", "schema_text"]
