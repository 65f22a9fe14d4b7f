"""The figures of the page about epsilon, unit and k are those of `plan`."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kinfolk import load_detroit, load_schema, plan

PAGE = (Path(__file__).parents[2] / "docs" / "choosing.md").read_text(encoding="utf-8")
GROUPS, PEOPLE = 14_853, 31_074
WORDS = {"one attribute": 1, "two": 2, "three": 3}
WHO = {"people": "individual", "households": "group", "spouses": "married_to"}


def rows() -> list[tuple[str, dict[tuple[str, int], str]]]:
    """Every row of the tables: its option, and what it says by whom and how many attributes."""
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", PAGE, re.MULTILINE):
        head, _, *lines = [
            [cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()
        ]
        keys = [
            (WHO[who], WORDS[many]) for who, _, many in (one.partition(", ") for one in head[1:])
        ]
        found += [(line[0], dict(zip(keys, line[1:], strict=True))) for line in lines]
    return found


def expected(option: str) -> dict[tuple[str, int], float]:
    """What `plan` says, in points."""
    schema = load_schema("detroit")
    told: dict[str, Any] = {"unit": "household", "epsilon": 1.0, "delta": 1e-9}
    size: dict[str, Any] = {"groups": GROUPS, "people": PEOPLE}
    k = int(match[1]) if (match := re.fullmatch(r"k = (\d)", option)) else 2
    for name, value in re.findall(r"--(\w+) ([\w.-]+)", option):
        if name == "groups":
            size = {"groups": int(value), "people": round(2.09 * int(value))}
        else:
            told[name] = float(value) if name == "epsilon" else value
    asked = replace(schema, workload=replace(schema.workload, k=k))
    found = plan(asked, benchmark=False, **size, **told)
    return {
        (one.relation or one.level, many): 100 * error
        for one in found.known
        for many, error in one.errors.items()
    }


def test_the_page_is_about_the_bundled_data() -> None:
    assert [table.num_rows for table in load_detroit().tables.values()] == [GROUPS, PEOPLE]
    assert len(rows()) == 16


@pytest.mark.slow
@pytest.mark.parametrize("option", dict.fromkeys(option for option, _ in rows()))
def test_a_row_is_what_plan_says(option: str) -> None:
    said = {key: text for name, cells in rows() if name == option for key, text in cells.items()}
    known = expected(option)
    for key, text in said.items():
        if key not in known:
            assert text in ("not measured", "nothing")
        else:
            assert float(text) == pytest.approx(known[key], rel=0.06), key
