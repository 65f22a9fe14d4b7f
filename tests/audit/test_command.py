"""`kinfolk audit` teaches, draws, and says no with status 2."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from audit.planted import select_the_best
from kinfolk.cli.main import run

PROMISE = ["--epsilon", "4", "--delta", "1e-5"]


def test_a_consistent_promise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plot = tmp_path / "audit.svg"
    command = ["audit", "--what", "select", "--unit", "household", *PROMISE, "--runs", "60"]
    assert run([*command, "--confidence", "0.999999", "-o", str(plot)]) == 0
    printed = capsys.readouterr().out
    assert "Verdict    consistent" in printed
    assert "Add or remove one whole household" in printed
    assert "(zcdp)" in printed
    drawn = ElementTree.fromstring(plot.read_text(encoding="utf-8"))  # noqa: S314  (our own)
    assert drawn.tag.endswith("svg")
    (panel,) = (part for part in drawn if part.tag.endswith("}g"))
    kinds = [part.get("class", "").split(" ")[0] for part in panel]
    assert kinds.count("line") == 4
    assert kinds.count("mark") == 1


def test_the_default_is_the_default_method(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["audit", "--unit", "household", "--neighbours", "replace", *PROMISE, "--runs", "40"]
    assert run([*command, "--confidence", "0.999999"]) == 0
    printed = capsys.readouterr().out
    assert "Audited    default, 40 runs" in printed
    assert "Replace one whole household by any other household, whether it is kept" in printed
    assert "(gaussian)" in printed
    assert "Guessed by " in printed


def test_a_violated_promise(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    select_the_best(monkeypatch)
    assert run(["audit", "--what", "select", "--unit", "person", *PROMISE, "--runs", "80"]) == 2
    printed = capsys.readouterr()
    assert "Verdict    violated" in printed.out
    assert "kinfolk: the promise is violated: " in printed.err
    assert "once in 1,000 audits at most" in printed.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--unit", "house"], "Choose 'household'"),
        (["--unit", "person", "--what", "runs"], "Did you mean 'run'?"),
        (["--unit", "person", "--neighbours", "replace"], "it can be 'in-place'"),
        (["--unit", "person", "--accounting", "zdcp"], "accounting is 'zdcp'"),
        (["--unit", "person", "--what", "run", "--accounting", "gaussian"], "under 'zcdp'"),
        (["--unit", "person", "--accounting", "paper"], "'gaussian' or 'zcdp'"),
        (["--unit", "person", "-o", "audit.png"], "ends in .svg"),
        (["--unit", "person", "--runs", "1"], "at least 40"),
    ],
)
def test_mistakes(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", *PROMISE, *options]) == 2
    assert message in capsys.readouterr().err


def test_few_runs_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    options = [
        "--what",
        "measure",
        "--unit",
        "person",
        "--epsilon",
        "0.1",
        "--delta",
        "1e-9",
        "--runs",
        "40",
    ]
    assert run(["audit", "--confidence", "0.999999", *options]) == 0
    assert "Try --runs" in capsys.readouterr().out
