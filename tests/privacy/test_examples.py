"""Every example in a docstring runs."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import tempfile
from pathlib import Path

import pytest

import kinfolk.privacy

MODULES = [module.name for module in pkgutil.iter_modules(kinfolk.privacy.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Examples make folders that they do not take away again.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    module = importlib.import_module(f"kinfolk.privacy.{name}")
    assert doctest.testmod(module).failed == 0
