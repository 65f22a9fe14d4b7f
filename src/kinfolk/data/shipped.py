"""The schemas that come with kinfolk, found by name."""

from __future__ import annotations

from importlib.resources import files

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
