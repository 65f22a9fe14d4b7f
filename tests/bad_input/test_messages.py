"""Every kind of bad input gets exactly its message, and the command line prints it."""

from pathlib import Path

import pytest

from bad_input.cases import Case
from bad_input.catalogue import CASES
from bad_input.making import GOOD, read_and_encode, write, write_files
from bad_input.page import PAGE, page
from kinfolk.cli.main import run
from kinfolk.errors import KinfolkError

NAMES = [case.name for case in CASES]
PRINTED = [
    "an unknown key",
    "a schema that does not exist",
    "missing columns in both tables",
    "several values outside the domain",
    "a file in UTF-16",
    "a Parquet file that is cut off",
    "one file too few",
    "a file on another machine",
]
"""Cases for the command: one problem and several, with a heading and without, from every stage."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, so that messages show names and not this machine's paths."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_python_raises_the_message(case: Case, folder: Path) -> None:
    write_files(case, folder)
    with pytest.raises(KinfolkError) as caught:
        read_and_encode(case)
    assert str(caught.value) == case.message


@pytest.mark.parametrize("name", PRINTED)
def test_the_command_prints_the_message(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it prints is what Python raises, so a few are enough."""
    case = CASES[NAMES.index(name)]
    write_files(case, folder)
    assert run(["validate", *case.arguments]) == 2
    printed = capsys.readouterr()
    assert printed.err == f"kinfolk: {case.message}\n"
    assert printed.out == ""


def test_without_the_mistake_there_is_no_message(folder: Path) -> None:
    for name, content in GOOD.items():
        write(folder / name, content)
    assert run(["validate", *GOOD]) == 0


def test_the_docs_hold_the_catalogue() -> None:
    """After changing a case: `python tests/bad_input/write_docs.py`."""
    assert PAGE.read_text(encoding="utf-8") == page()
    assert len(set(NAMES)) == len(NAMES) >= 40
