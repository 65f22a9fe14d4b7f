"""Names that a package exports without loading what is behind them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


class _Surface(ModuleType):
    """A package with names that are looked up when they are wanted.

    Some are called like a module below it (`kinfolk.audit`, `kinfolk.data.encode`): importing such
    a module does not put it in the place of the name.
    """

    _places: Mapping[str, str]

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in self._places and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return [*vars(self), *self._places]


def export(package: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """A `__getattr__` for a package that exports names, written `{module: "name name"}`."""
    places = {name: module for module, several in names.items() for name in several.split()}

    def find(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(places[name]), name)

    module = sys.modules[package]
    vars(module)["_places"] = places
    module.__class__ = _Surface
    return find
