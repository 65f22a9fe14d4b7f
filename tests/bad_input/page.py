"""The catalogue as a page of the docs."""

from __future__ import annotations

import re
from pathlib import Path

from bad_input.cases import HOUSEHOLDS, PERSONS, SCHEMA, Case
from bad_input.file_mistakes import FILE_CASES
from bad_input.frame_mistakes import FRAME_CASES
from bad_input.rule_mistakes import RULE_CASES
from bad_input.schema_mistakes import SCHEMA_CASES

PAGE = Path(__file__).parents[2] / "docs" / "bad-input.md"

INTRO = """\
# Bad input and what kinfolk says to it

Everything that is wrong is shown in one run, with its place, its value and what to do. `kinfolk
validate` then exits with status 2, and Python raises `KinfolkError` with the same text. Each row is
a test; `python tests/bad_input/write_docs.py` writes this page from the cases in that folder.
"""

SECTIONS = (
    ("The schema", SCHEMA_CASES),
    ("Rules and formulas", RULE_CASES),
    ("The tables as files", FILE_CASES),
    ("The tables in memory", FRAME_CASES),
)


def page() -> str:
    """The whole page."""
    parts = [INTRO]
    for title, cases in SECTIONS:
        rows = [f"| {case.name}{_snippet(case)} | {_message(case)} |" for case in cases]
        parts.append("\n".join([f"## {title}\n", "| input | message |", "|---|---|", *rows, ""]))
    return "\n".join(parts)


def _message(case: Case) -> str:
    return "<br>".join(_code(line) for line in case.says)


def _snippet(case: Case) -> str:
    """The first line that differs from the good files, where one line shows the mistake."""
    good = {"schema.yaml": SCHEMA, "households.csv": HOUSEHOLDS, "persons.csv": PERSONS}
    for name, content in case.files.items():
        if isinstance(content, str) and name in good:
            known = good[name].splitlines()
            new = [line for line in content.splitlines() if line not in known]
            if new and new[0] == "never:":
                return f": {_code('; '.join(line.strip(' -') for line in new[1:]))}"
            if new and len(content.splitlines()) >= len(known):
                return f": {_code(re.sub('(?<=:) +', ' ', new[0].strip()))}"
    return ""


def _code(text: str) -> str:
    """Text as it is, inside a table of Markdown."""
    fence = "``" if "`" in text else "`"
    pad = " " if fence == "``" else ""
    return f"{fence}{pad}{text.replace('|', chr(92) + '|')}{pad}{fence}"
