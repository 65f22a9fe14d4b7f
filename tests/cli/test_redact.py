"""`--redact`: what a command says may stand in a log that others read."""

from pathlib import Path

import pytest

from bad_input.cases import Case
from bad_input.making import GOOD, write, write_files
from data.test_redaction import CASES, leaks
from kinfolk.cli.main import run
from kinfolk.errors import redacting

FROM_FILES = [case for case in CASES if case.tables is None]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("case", FROM_FILES, ids=[case.name for case in FROM_FILES])
def test_validate_shows_no_data(
    case: Case, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_files(case, folder)
    assert run(["validate", "--redact", *case.arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert leaks(printed.err.removeprefix("kinfolk: ")) == []
    assert not redacting()


def test_tables_that_fit_are_not_described(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, content in GOOD.items():
        write(folder / name, content)
    assert run(["validate", *GOOD, "--redact"]) == 0
    assert capsys.readouterr().out == "The tables fit the schema.\n"
    assert run(["validate", *GOOD]) == 0
    assert "Group sizes" in capsys.readouterr().out


def test_evaluate_keeps_its_figures_to_its_files(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, content in GOOD.items():
        write(folder / name, content)
    names = ["schema.yaml", "--real", "households.csv", "persons.csv", "--synthetic", ".", "-o"]
    assert run(["evaluate", *names, "report", "--redact"]) == 0
    printed = capsys.readouterr()
    assert "Errors on shares" not in printed.out
    assert not any(letter.isdigit() for letter in printed.out)
    assert (folder / "report" / "metrics.json").exists()
    write(folder / "persons.csv", GOOD["persons.csv"].replace("903,1,", "904,1,"))
    assert run(["evaluate", *names, "report", "--redact"]) == 2
    assert "line [redacted], column household_id: [redacted] is not" in capsys.readouterr().err


def test_a_bug_shows_no_data_either(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("cannot handle 'Mrs Smith'")

    monkeypatch.delenv("KINFOLK_DEBUG", raising=False)
    monkeypatch.setattr("kinfolk.queries.validation.encode", fail)
    for name, content in GOOD.items():
        write(folder / name, content)
    assert run(["validate", *GOOD, "--redact"]) == 1
    assert "internal error: RuntimeError: [redacted]\n" in capsys.readouterr().err
    monkeypatch.setenv("KINFOLK_DEBUG", "1")
    assert run(["validate", *GOOD, "--redact"]) == 1
    assert "Mrs Smith" not in capsys.readouterr().err
    monkeypatch.delenv("KINFOLK_DEBUG")
    assert run(["validate", *GOOD]) == 1
    assert "Mrs Smith" in capsys.readouterr().err
