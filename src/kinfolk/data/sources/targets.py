"""The schemas that a public source can fill."""

from __future__ import annotations

from kinfolk.data.shipped import load_schema
from kinfolk.errors import KinfolkError
from kinfolk.schema import Schema

TARGETS = ("acs", "acs-red", "acs-rel")
"""The data behind `afst` is confidential."""


def target_schema(name: str) -> Schema:
    """The schema that a reader is asked to fill.

    >>> target_schema("acs-red").size_limit
    3
    """
    if name == "afst":
        raise KinfolkError(
            "the target 'afst' has no public source: that data is confidential. "
            f"Use simulated data for it, or one of the targets {', '.join(TARGETS)}."
        )
    if name not in TARGETS:
        raise KinfolkError(f"the target {name!r} is unknown. Choose one of {', '.join(TARGETS)}.")
    return load_schema(name)
