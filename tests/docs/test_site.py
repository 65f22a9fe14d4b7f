"""The documentation is complete and up to date, has no dead links, and loads nothing from afar."""

from __future__ import annotations

import importlib
import importlib.util
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import kinfolk
from docs.cli_page import PAGE, page
from kinfolk import DataError, KinfolkError, SchemaError

ROOT = Path(__file__).parents[2]


def test_the_page_of_commands_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python tests/docs/cli_page.py"


BELOW = ("privacy", "queries", "data", "errors", "experiments")
PUBLIC = {
    name: importlib.import_module(name)
    for name in ("kinfolk", *(f"kinfolk.{part}" for part in BELOW))
}
"""The modules that are public, as the package itself says."""


def test_the_package_says_what_is_public() -> None:
    said = set(re.findall(r"`kinfolk\.(\w+)`", kinfolk.__doc__ or ""))
    assert said == set(BELOW)
    assert len(kinfolk.__all__) <= 28


def test_every_public_name_has_its_place() -> None:
    """On the page about Python in a heading or a table, and on that of all names."""
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    named = {f"kinfolk.{word}" for line in headings for word in line.split()}
    module = "kinfolk"
    for line in text.splitlines():
        if line.startswith("| name in `"):
            module = line.split("`")[1]
        elif line.startswith("| "):
            named |= {f"{module}.{name}" for name in re.findall(r"`(\w+)`", line.split(" | ")[0])}
    public = {
        f"{name}.{own}": getattr(at, own) for name, at in PUBLIC.items() for own in at.__all__
    }
    # The errors are exported by the package, too.
    errors = {f"kinfolk.errors.{one.__name__}" for one in (KinfolkError, SchemaError, DataError)}
    assert set(public) - errors - named == set()
    reference = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    listed = re.findall(r"^::: (\S+)$", reference, re.MULTILINE)
    # Some are listed by where they are, since a folder or a file is called the same.
    assert {_meant(one) for one in listed} == set(public.values())
    assert len(listed) == len(set(public.values()))


def _meant(path: str) -> object:
    module, name = path.rsplit(".", 1)
    return getattr(importlib.import_module(module), name)


def pages_for_users() -> list[Path]:
    about_the_code = ("architecture.md", "contributing.md", "changelog.md")
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    return [page for page in pages if page.name not in about_the_code]


def test_pages_import_public_names_alone() -> None:
    """Examples that somebody may copy use nothing that may move."""
    imports = re.compile(
        r"^(?:>>> |\.\.\. )?\s*(?:from|import) (kinfolk\S*)(?: import (.+))?$", re.M
    )
    found = 0
    for one in pages_for_users():
        for module, names in imports.findall(one.read_text(encoding="utf-8")):
            assert module in PUBLIC, f"{one.name} imports {module}"
            public = set(PUBLIC[module].__all__)
            unknown = {name.strip() for name in names.split(",") if name} - public
            assert unknown == set(), f"{one.name} imports {unknown}"
            found += 1
    assert found > 10


def test_public_names_are_found_whatever_was_imported_before() -> None:
    """Some modules are called like functions; and a name in no list would be found by chance."""
    importlib.import_module("kinfolk.evaluate.metrics")
    importlib.import_module("kinfolk.audit.engine")
    importlib.import_module("kinfolk.data.encode")
    for at in PUBLIC.values():
        for name in at.__all__:
            assert not isinstance(getattr(at, name), ModuleType), name
        assert set(at.__all__) <= set(dir(at))
    with pytest.raises(AttributeError, match="gone"):
        _ = kinfolk.gone


def test_docstrings_on_a_page() -> None:
    pytest.importorskip("griffe")
    from docs.docstrings import on_a_page

    written = "Adds.\n\na, b: what to add,\n    whatever it is.\n\n>>> 1 + 1\n2\n\nNote: nothing."
    paged = "Adds.\n\n- `a, b`: what to add,\n    whatever it is.\n\n"
    paged += "```pycon\n>>> 1 + 1\n2\n```\n\nNote: nothing."
    assert on_a_page(written) == paged


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "CHANGELOG.md"])
def test_pages_of_the_repository_are_not_copied(name: str) -> None:
    """The site shows the files themselves; a copy would fall behind."""
    shown = ROOT / "docs" / name.lower()
    assert shown.read_bytes() == (ROOT / name).read_bytes(), f"link docs/{name.lower()} to it"


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_of_pages_outside_the_site(name: str) -> None:
    """The builder checks those inside."""
    text = (ROOT / name).read_text(encoding="utf-8")
    targets = [one.split("#")[0] for one in re.findall(r"\]\(([^)\s]+)\)", text)]
    assert [one for one in targets if one and ":" not in one and not (ROOT / one).exists()] == []


class Assets(HTMLParser):
    """What a page loads by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        for name, value in attrs:
            if name in ("src", "srcset") or (name == "href" and tag == "link"):
                self.found.append(value or "")


NEEDED = ("mkdocs", "material", "mkdocstrings")


@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in NEEDED),
    reason="the extra `docs` is not installed",
)
def test_the_site_is_sound_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    pages = sorted(tmp_path.rglob("*.html"))
    assert {"index.html", "cli.html", "privacy.html", "reference.html", "contributing.html"} <= {
        page.name for page in pages
    }
    assets = Assets()
    for one in pages:
        assets.feed(one.read_text(encoding="utf-8"))
    assert len(assets.found) > len(pages)
    assert [one for one in assets.found if re.match(r"(\w+:)?//", one)] == []
    styles = "".join(one.read_text(encoding="utf-8") for one in tmp_path.rglob("*.css"))
    assert re.findall(r"url\(['\"]?(?:\w+:)?//|@import", styles) == []
    # With it, a page that is opened from disk can be searched.
    assert (tmp_path / "search" / "search_index.js").exists()
