"""Data flows one way: imports go left only, and private data is visible in one place."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import kinfolk

ROOT = Path(kinfolk.__file__).parent

LAYERS = [
    {"_io", "_surface", "_typing", "chart", "compiled", "errors", "template"},
    {"schema"},
    {"data", "datasets"},
    {"queries"},
    {"privacy"},
    {"models"},
    {"methods"},
    {"release"},
    {"audit", "evaluate"},
    {"experiments"},
    {"cli", "__main__"},
]
"""From left to right; a module imports from its own layer or from one to its left."""

PRIVATE = {
    "kinfolk.data.buckets": "rows of private tables",
    "kinfolk.data.encode": "rows of private tables",
    "kinfolk.data.membership": "rows of private tables",
    "kinfolk.data.undeclared": "rows of private tables",
    "kinfolk.data.spark_file": "rows of private tables",
    "kinfolk.data.tables": "rows of private tables",
    "kinfolk.queries.counting": "exact answers",
    "kinfolk.queries.kernel": "exact answers",
    "kinfolk.queries.streaming": "exact answers",
    "kinfolk.queries.spark": "exact answers",
    "kinfolk.queries.spark_task": "exact answers",
    "kinfolk.queries.validation": "true figures of private tables",
}
"""What holds or makes private values."""

GATES = {
    "kinfolk.privacy.curator": "the only gate on the way to a release",
    "kinfolk.release.public": "reads tables that their owner has named as public",
    "kinfolk.audit": "attacks made-up data",
    "kinfolk.evaluate": "labelled NOT PRIVATE",
    "kinfolk.experiments": "labelled NOT PRIVATE",
    "kinfolk.cli.validate": "speaks to the data holder about their own files; releases nothing",
}
"""Who may import it from outside the packages that make it, and why."""


def modules() -> dict[str, Path]:
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        found[".".join(("kinfolk", *parts))] = path
    return found


def exports() -> dict[str, str]:
    """The names that packages export, and the modules that they come from."""
    packages = ("kinfolk", *(f"kinfolk.{part}" for part in ("data", "privacy", "queries")))
    return {
        f"{package}.{name}": module
        for package in packages
        for name, module in vars(importlib.import_module(package))["_places"].items()
    }


def imports(path: Path, known: Mapping[str, Path]) -> set[str]:
    """The modules of kinfolk that a file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level:
            found.add(f"kinfolk.{'.' * node.level}{node.module or ''}")
        elif isinstance(node, ast.ImportFrom) and node.module:
            full = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {EXPORTS.get(name, name if name in known else node.module) for name in full}
    return {name for name in found if name.startswith("kinfolk.")}


EXPORTS = exports()


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    """What every module imports from kinfolk; the top of the package may import anything."""
    known = modules()
    return {name: imports(path, known) for name, path in known.items() if name != "kinfolk"}


def layer(module: str) -> int:
    part = module.split(".")[1]
    return next(index for index, names in enumerate(LAYERS) if part in names)


def wrong_direction(module: str, imported: set[str]) -> list[str]:
    return sorted(name for name in imported if ".." not in name and layer(name) > layer(module))


def through_the_wall(module: str, imported: set[str]) -> list[str]:
    inside = module.startswith(("kinfolk.data", "kinfolk.queries"))
    allowed = inside or any(module == gate or module.startswith(f"{gate}.") for gate in GATES)
    return [] if allowed else sorted(name for name in imported if name in PRIVATE)


def offenders(graph: dict[str, set[str]], rule: Callable[[str, set[str]], list[str]]) -> list[str]:
    """One line for every module that breaks a rule."""
    broken = {module: rule(module, imported) for module, imported in graph.items()}
    return [f"{module} imports {', '.join(names)}" for module, names in broken.items() if names]


def test_every_module_is_read(graph: dict[str, set[str]]) -> None:
    """A rule over no modules would hold."""
    assert len(graph) > 100
    parts = {part for names in LAYERS for part in names}
    assert parts == {module.split(".")[1] for module in graph}
    assert "kinfolk.queries.counting" in graph["kinfolk.privacy.curator"]


def relative(module: str, imported: set[str]) -> list[str]:
    return sorted(name for name in imported if ".." in name)


def test_imports_are_written_in_full(graph: dict[str, set[str]]) -> None:
    assert offenders(graph, relative) == []


def test_imports_go_left(graph: dict[str, set[str]]) -> None:
    assert offenders(graph, wrong_direction) == []


def test_private_data_is_visible_in_one_place(graph: dict[str, set[str]]) -> None:
    assert offenders(graph, through_the_wall) == []


def test_the_rules_have_teeth() -> None:
    """A planted import in the wrong direction, or past the curator, is found."""
    assert wrong_direction("kinfolk.queries.counting", {"kinfolk.privacy.curator"})
    assert through_the_wall("kinfolk.models.hpd", {"kinfolk.queries.counting"})
    assert through_the_wall("kinfolk.methods.adaptive", {"kinfolk.data.encode"})
    assert through_the_wall("kinfolk.privacy.ledger", {"kinfolk.queries.counting"})
    assert not through_the_wall("kinfolk.privacy.curator", {"kinfolk.queries.counting"})


def test_an_offender_is_named_with_what_it_imports(tmp_path: Path) -> None:
    planted = tmp_path / "hpd.py"
    planted.write_text("from kinfolk.queries import counting\nfrom . import layout\n", "utf-8")
    found = {"kinfolk.models.hpd": imports(planted, modules())}
    said = offenders(found, through_the_wall)
    assert said == ["kinfolk.models.hpd imports kinfolk.queries.counting"]
    assert offenders(found, relative) == ["kinfolk.models.hpd imports kinfolk.."]


def test_an_exported_name_is_no_way_around(tmp_path: Path) -> None:
    planted = tmp_path / "hpd.py"
    planted.write_text(
        "from kinfolk.queries import count\nfrom kinfolk.data import encode\n", "utf-8"
    )
    found = through_the_wall("kinfolk.models.hpd", imports(planted, modules()))
    assert found == ["kinfolk.data.encode", "kinfolk.queries.counting"]


def test_everything_private_and_every_gate_exists() -> None:
    """A renamed module must not slip out of the rules."""
    known = modules()
    missing = [name for name in PRIVATE if name not in known]
    assert missing == []
    assert "kinfolk.privacy.curator" in known


def test_only_the_curator_knows_the_name_of_its_counts() -> None:
    users = [
        name for name, path in modules().items() if "__counts" in path.read_text(encoding="utf-8")
    ]
    assert users == ["kinfolk.privacy.curator"]


EXTRAS = ["pandas", "polars", "opendp", "pyspark", "ipumspy", "jax", "scipy", "torch"]


@pytest.mark.parametrize(
    ("started", "heavy"),
    [
        ("kinfolk.datasets", [*EXTRAS, "numba", "jinja2"]),
        ("kinfolk.cli.main", [*EXTRAS, "numba", "jinja2", "numpy", "pyarrow"]),
        ("kinfolk", [*EXTRAS, "numba", "jinja2", "numpy", "pyarrow", "yaml", "click", "rich"]),
    ],
)
def test_starting_up_is_quick(started: str, heavy: list[str]) -> None:
    """Without pandas, polars, opendp, Spark, ipumspy or JAX, which need not be there.

    The others are no extras, but few commands need them, and Numba takes a second to load.
    """
    code = f"import sys, {started}; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
