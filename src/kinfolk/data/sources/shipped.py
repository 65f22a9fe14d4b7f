"""The schemas that come with kinfolk, found by name."""

from __future__ import annotations

from pathlib import Path

from kinfolk.errors import KinfolkError
from kinfolk.schema import Schema
from kinfolk.schema.reading import read_schema

SHIPPED = ("acs", "acs-red", "acs-rel", "afst")
"""The names of the shipped schemas."""

TARGETS = ("acs", "acs-red", "acs-rel")
"""Those which a public source can fill; the data behind `afst` is confidential."""

_DIRECTORY = Path(__file__).resolve().parent.parent / "schemas"


def schema_path(name: str) -> Path:
    """Where the shipped schema `name` lies.

    >>> schema_path("acs-red").name
    'acs-red.yaml'
    """
    if name not in SHIPPED:
        raise KinfolkError(f"there is no shipped schema {name!r}. Choose {_listed(SHIPPED)}.")
    return _DIRECTORY / f"{name}.yaml"


def target_schema(name: str) -> Schema:
    """The schema that a reader is asked to fill."""
    if name == "afst":
        raise KinfolkError(
            "the target 'afst' has no public source: that data is confidential. "
            "Use simulated data for it, or one of the targets " + _listed(TARGETS) + "."
        )
    if name not in TARGETS:
        raise KinfolkError(f"the target {name!r} is unknown. Choose {_listed(TARGETS)}.")
    return read_schema(schema_path(name))


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names[:-1]) + " or " + names[-1]
