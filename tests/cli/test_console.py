"""What is printed cannot act on the terminal, whoever wrote the file that it comes from."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from bad_input.cases import HOUSEHOLDS, PERSONS, SCHEMA, swap
from kinfolk.cli import console
from kinfolk.cli.main import run

ACTING = [chr(code) for code in (*range(9), *range(11, 32), 127, *range(128, 160))]
ACTING += [chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xD800, 0xDFFF)]


def test_everything_that_acts_is_escaped() -> None:
    for letter in ACTING:
        assert console.visible(f"a{letter}b") == f"a{ascii(letter)[1:-1]}b"
    assert console.visible("\x1b") == r"\x1b"
    plain = "line\n\ttab é 中 🙂 שלום [red]:x:"
    assert console.visible(plain) == plain


def test_say_tell_and_table(capsys: pytest.CaptureFixture[str]) -> None:
    bad = "\x1b[2J\u202e\x07\x9b"
    good = r"\x1b[2J\u202e\x07\x9b"
    console.say(bad)
    console.tell(bad)
    console.table(bad, [f"a{bad}", "b"], [[f"c{bad}", "[red]1[/red]"]])
    printed = capsys.readouterr()
    assert printed.err == f"{good}\n"
    assert printed.out.count(good) == 4
    assert "[red]1[/red]" in printed.out


def test_progress(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Console(force_terminal=True, stderr=True, width=120)
    monkeypatch.setattr(console, "err", terminal)
    with console.progress("reading \x1b]0;title\x07 [bold]", 2) as bar:
        bar.refresh()
    shown = capsys.readouterr().err
    assert r"reading \x1b]0;title\x07 [bold]" in shown
    assert "\x1b]0" not in shown


def test_names_and_values_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names in a schema, in a certificate and on the command line, in results and in errors."""
    monkeypatch.chdir(tmp_path)
    schema = swap(SCHEMA, ("  spouse: {", '  "sp\\e[31mouse": {'), ("veh: ", '"v\\u202eh": '))
    schema = swap(schema, ("  married_to: [[head, spouse], [spouse, head]]\n", ""))
    schema = swap(schema, ("relations:\n", ""), ("individual, relation]", "individual]"))
    Path("schema.yaml").write_text(schema, encoding="utf-8")
    Path("households.csv").write_text(HOUSEHOLDS, encoding="utf-8")
    Path("persons.csv").write_text(PERSONS, encoding="utf-8")
    assert run(["validate", "schema.yaml", "households.csv", "persons.csv"]) == 2
    printed = capsys.readouterr()
    assert r"column v\u202eh: there is no such column" in printed.err
    text = swap(HOUSEHOLDS, ("veh", "v\u202eh"))
    Path("households.csv").write_text(text, encoding="utf-8")
    assert run(["validate", "schema.yaml", "households.csv", "persons.csv"]) == 0
    printed = capsys.readouterr()
    assert r"sp\x1b[31mouse" in printed.out
    Path("privacy.json").write_text('{"format": "\\u001b[2J"}', encoding="utf-8")
    assert run(["certificate", "privacy.json"]) == 2
    for arguments in (["valid\x1b[2Jate"], ["validate", "no\x1b[2J.yaml", "a.csv", "b.csv"]):
        assert run(arguments) == 2
    assert r"\x1b[2J" in (printed := capsys.readouterr()).err
    assert "\x1b" not in printed.err + printed.out


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("kinfolk qu", ["plain,queries", "plain,query"]),
        ("kinfolk sample --repl", ["plain,--replicates"]),
        ("kinfolk query mod", ["file,mod"]),
    ],
)
def test_the_shell_completes_commands_options_and_files(words: str, completed: list[str]) -> None:
    """As the lines of docs/cli.md have it."""
    code = "import sys; sys.argv = ['kinfolk']; from kinfolk.cli.main import main; main()"
    told = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **told, "_KINFOLK_COMPLETE": "bash_complete"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split() == completed
