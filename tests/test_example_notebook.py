"""The example notebook runs from top to bottom, and what it shows can be shown."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parent.parent / "examples" / "detroit.ipynb"


def code_cells() -> list[str]:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """Run a cell; its last line, if it is an expression, is what it shows."""
    tree = ast.parse(source)
    shown = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, NOTEBOOK.name, "exec"), names)  # noqa: S102
    if not isinstance(shown, ast.Expr):
        return None
    return eval(compile(ast.Expression(shown.value), NOTEBOOK.name, "eval"), names)  # noqa: S307


def test_it_holds_no_results() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)


@pytest.mark.slow
def test_it_runs(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    shown = [run_cell(source, names) for source in code_cells()]
    views = [one._repr_html_() for one in shown if hasattr(one, "_repr_html_")]
    assert len(views) >= 5
    assert all(view.lstrip().startswith("<") for view in views)
    assert "household_id" in capsys.readouterr().out
    assert (True, [-9]) in [one for one in shown if isinstance(one, tuple)]
    assert shown[-1] == [
        "codebook.html", "codebook.xml", "households.dta", "persons.dta", "privacy.json",
    ]  # fmt: skip
    assert names["found"].metrics["all"]["mean"] < 0.02
