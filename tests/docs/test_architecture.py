"""The page about the architecture names only modules, classes and functions that are there."""

from __future__ import annotations

import importlib
import re
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

import kinfolk

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
TEXT = PAGE.read_text(encoding="utf-8")
NAMES = sorted(set(re.findall(r"`(kinfolk\.[\w.]+)`", TEXT)))
PACKAGE = Path(kinfolk.__file__).parent


def section(title: str) -> str:
    """What stands under a heading, up to the next of its kind."""
    return TEXT.split(f"\n## {title}", 1)[1].split("\n## ", 1)[0]


def find(path: str) -> object:
    """What a dotted path names: a module, or something in it."""
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        # Not by getattr: a package may have a function that is called like one of its modules.
        try:
            found: object = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError as error:
            if not path.startswith(error.name or "?"):
                raise
            continue
        for name in parts[end:]:
            found = member(found, name)
        return found
    raise ModuleNotFoundError(path)


def member(owner: object, name: str) -> object:
    """An attribute; a field without a default counts as one."""
    if isinstance(owner, type) and is_dataclass(owner):
        declared = {one.name: one for one in fields(owner)}
        if name in declared:
            return declared[name]
    return getattr(owner, name)


@pytest.mark.parametrize("name", NAMES)
def test_everything_named_is_there(name: str) -> None:
    find(name)


@pytest.mark.parametrize(
    "name", ["kinfolk.gone", "kinfolk.gone.too", "kinfolk.cli.main.gone", "kinfolk.errors.Gone.at"]
)
def test_what_is_gone_is_missed(name: str) -> None:
    with pytest.raises((ModuleNotFoundError, AttributeError)):
        find(name)


def test_the_tree_has_every_folder_and_file() -> None:
    told = set(re.findall(r"`kinfolk\.(\w+)`", section("The tree")))
    there = {
        path.stem
        for path in PACKAGE.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert told == there - {"__init__"}


@pytest.mark.parametrize("walk", range(1, 5))
def test_every_stop_of_a_walk_is_named_and_numbered(walk: int) -> None:
    stops = re.split(r"^(\d+)\. ", section(f"Walk {walk}"), flags=re.MULTILINE)[1:]
    numbers, texts = stops[::2], stops[1::2]
    assert [int(one) for one in numbers] == list(range(1, len(numbers) + 1))
    assert [one for one in texts if "`kinfolk." not in one] == []
