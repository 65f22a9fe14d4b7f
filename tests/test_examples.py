"""Every example in a docstring or a page of the docs runs and shows what it says."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import kinfolk

MODULES = [module.name for module in pkgutil.walk_packages(kinfolk.__path__, "kinfolk.")]
ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages(page: Path) -> None:
    results = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert results.failed == 0
