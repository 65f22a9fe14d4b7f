"""Every example in a docstring or a page of the docs runs and shows what it says."""

import doctest
import importlib
import importlib.util
import pkgutil
from pathlib import Path

import pytest

import kinfolk

MODULES = sorted(module.name for module in pkgutil.walk_packages(kinfolk.__path__, "kinfolk."))
ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def shows_something(name: str) -> bool:
    """Whether there is an example in a module's file, which need not be imported for that."""
    found = importlib.util.find_spec(name)
    assert found is not None
    assert found.origin is not None
    return ">>> " in Path(found.origin).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in MODULES if shows_something(name)])
def test_docstrings(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0
    assert results.attempted > 0


def test_every_module_can_be_imported() -> None:
    """Those without an example as well."""
    for name in MODULES:
        importlib.import_module(name)


NEEDED = {"sdmetrics.md": ("sdmetrics", "sdmetrics is not installed; see `make test-sdmetrics`")}
"""What a page needs that may not be installed, and what is said then."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages(page: Path) -> None:
    if page.name in NEEDED:
        name, reason = NEEDED[page.name]
        pytest.importorskip(name, reason=reason)
    results = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert results.failed == 0
