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


NEEDED = {"sdmetrics.md": ("sdmetrics", "sdmetrics is not installed; see `make test-sdmetrics`")}
"""What a page needs that may not be installed, and what is said then."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages(page: Path) -> None:
    if page.name in NEEDED:
        name, reason = NEEDED[page.name]
        pytest.importorskip(name, reason=reason)
    results = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert results.failed == 0
