"""Differentially private synthetic data that keeps groups together."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kinfolk.errors import KinfolkError
    from kinfolk.release.file import load
    from kinfolk.release.release import Release
    from kinfolk.release.synthesizer import Synthesizer
    from kinfolk.schema import Schema

__version__ = "0.1.0"

__all__ = ["KinfolkError", "Release", "Schema", "Synthesizer", "load"]

# Looked up when they are wanted, so that a command that needs none of them starts at once.
_PLACES = {
    "KinfolkError": "kinfolk.errors",
    "Release": "kinfolk.release.release",
    "Schema": "kinfolk.schema",
    "Synthesizer": "kinfolk.release.synthesizer",
    "load": "kinfolk.release.file",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
