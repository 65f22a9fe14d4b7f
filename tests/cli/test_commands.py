"""The command line: help that reads well, results on stdout, one message and status 2 on stderr."""

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from kinfolk.cli.main import cli, main, run
from kinfolk.data.frames import write_table
from kinfolk.datasets import load_detroit, schema_text

COMMANDS = sorted(cli.commands)


@pytest.fixture(scope="module")
def detroit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled data as an analyst would have it: a schema and two files, in two formats."""
    folder = tmp_path_factory.mktemp("detroit")
    _, tables = load_detroit()
    (folder / "schema.yaml").write_text(schema_text("detroit"), encoding="utf-8")
    for name, table in tables.items():
        for suffix in ("csv", "parquet"):
            write_table(table, folder / f"{name}.{suffix}")
    return folder


def validate(folder: Path, *names: str) -> int:
    return run(["validate", *(str(folder / name) for name in names)])


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([command, "--help"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "Example" in printed.out
    assert f"\n    kinfolk {command}" in printed.out
    assert max(map(len, printed.out.splitlines())) <= 100


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    assert "kinfolk demo" in shown
    for name in COMMANDS:
        assert f"\n  {name} " in shown
        assert cli.commands[name].short_help


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("kinfolk ")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_validate_describes_good_data(
    detroit: Path, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("schema.yaml", f"households.{suffix}", f"persons.{suffix}")
    assert validate(detroit, *names) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "The tables fit the schema." in printed.out
    assert "not private" in printed.out
    assert "14,853" in printed.out
    assert "31,074" in printed.out
    rows = {line.split()[0]: line.split()[1:] for line in printed.out.splitlines() if line.split()}
    assert {"households", "persons", "head", "spouse", "child"} <= set(rows)
    sizes = [int(rows[str(size)][0].replace(",", "")) for size in range(1, 8)]
    assert sum(sizes) == int(rows["households"][1].replace(",", ""))


def test_validate_warns_about_a_drafted_domain(
    detroit: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = schema_text("detroit") + "domain: drafted\n"
    (detroit / "draft.yaml").write_text(text, encoding="utf-8")
    assert validate(detroit, "draft.yaml", "households.parquet", "persons.parquet") == 0
    assert "domain: drafted" in capsys.readouterr().err


def test_wide_bins_are_warned_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema, people = tmp_path / "schema.yaml", tmp_path / "people.csv"
    schema.write_text(
        "individual: {table: people, attributes: {pay: {bins: [0, 10, 20, 30, 9000]}}}\n"
        "max_size: 1\nworkload: {k: 1}\n"
    )
    people.write_text("pay\n" + "5\n25\n" * 40 + "50\n" * 20)
    assert run(["validate", str(schema), str(people)]) == 0
    shown = capsys.readouterr().err
    assert "Warning: pay of people has a bin 0 to 10 with 40% of the rows" not in shown
    assert "Warning: pay of people has a bin 30 to 9000, 299 times as long" in shown
    people.write_text("pay\n" + "5\n" * 70 + "25\n" * 30)
    assert run(["validate", str(schema), str(people)]) == 0
    assert (
        "Warning: pay of people has a bin 0 to 10 with 70% of the rows" in capsys.readouterr().err
    )
    # Nothing of the data is shown where that was asked for, and none is known to plan.
    assert run(["validate", "--redact", str(schema), str(people)]) == 0
    assert "70%" not in capsys.readouterr().err
    words = ["--groups", "1000", "--unit", "person", "--epsilon", "1", "--delta", "1e-6"]
    assert run(["plan", str(schema), *words]) == 0
    assert "299 times as long" in capsys.readouterr().err


def test_validate_refuses_bad_data(detroit: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert validate(detroit, "schema.yaml", "persons.csv", "households.csv") == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("kinfolk: the tables do not fit the schema: ")
    assert "Traceback" not in printed.err


def test_messages_are_printed_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No emoji, no colours, no line breaks, whatever stands in the data."""
    value = ":x: [red]" + "long " * 30
    (tmp_path / "people.csv").write_text(f"a\n{value}\n", encoding="utf-8")
    schema = "individual: {table: people, attributes: {a: {values: [':x:', '[b]']}}}\nmax_size: 1\n"
    (tmp_path / "schema.yaml").write_text(schema, encoding="utf-8")
    assert validate(tmp_path, "schema.yaml", "people.csv") == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert "column a: ':x: [red]long" in lines[1]
    assert "is not among the declared values :x:, [b]." in lines[1]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["validate"], "Missing argument 'SCHEMA'"),
        (["validate", "schema.yaml"], "Missing argument 'TABLES...'"),
        (["validate", "--bogus"], "--bogus"),
        (["valdate"], "valdate"),
    ],
)
def test_a_command_that_is_not_understood(
    arguments: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert hint in printed.err
    assert "--help" in printed.err
    assert printed.out == ""


def test_an_output_folder_that_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("taken").write_text("", encoding="utf-8")
    assert run(["demo", "-o", "taken"]) == 2
    expected = "kinfolk: taken: is a file, not a folder. Choose another folder.\n"
    assert capsys.readouterr().err == expected
    assert run(["demo", "-o", "taken/inside"]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("kinfolk: taken/inside: Not a directory. Check the path")


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """A command that raises whatever is put into the list."""
    errors: list[BaseException] = []

    @click.command("fail")
    def fail() -> None:
        raise errors[0]

    monkeypatch.setitem(cli.commands, "fail", fail)
    monkeypatch.delenv("KINFOLK_DEBUG", raising=False)
    return errors


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (KeyboardInterrupt(), 130, "kinfolk: stopped."),
        (OSError(28, "words", "big.csv"), 2, "kinfolk: big.csv: No space left on device. Check"),
        (PermissionError(13, "words", "out"), 2, "kinfolk: out: Permission denied. Check"),
        (MemoryError("too big"), 1, "kinfolk: internal error: MemoryError: too big"),
        (KeyError("bug"), 1, "kinfolk: internal error: KeyError: 'bug'"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_no_traceback_reaches_the_user(
    failing: list[BaseException],
    error: BaseException,
    status: int,
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    failing.append(error)
    assert run(["fail"]) == status
    printed = capsys.readouterr().err
    assert said in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize(
    "words", [["--help"], ["validate", "schema.yaml", "households.parquet", "persons.parquet"]]
)
def test_a_reader_that_has_gone_is_no_mistake(detroit: Path, words: list[str]) -> None:
    """As in `kinfolk ... | head`."""
    code = f"from kinfolk.cli import main; main({words!r})"
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=detroit, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_it_is_a_module_too() -> None:
    """The same help and the same status, under the same name."""
    for arguments, status in (["--help"], 0), (["query"], 2):
        command = [sys.executable, "-m", "kinfolk", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == status
        assert (done.stdout or done.stderr).startswith("Usage: kinfolk ")


def test_a_bug_can_be_looked_at(
    failing: list[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    failing.append(KeyError("bug"))
    monkeypatch.setenv("KINFOLK_DEBUG", "1")
    with pytest.raises(KeyError):
        run(["fail"])


def test_main_exits_with_the_status(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["validate"])
    assert caught.value.code == 2
