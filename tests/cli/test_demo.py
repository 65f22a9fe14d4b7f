"""The demo: from bundled tables to a report, without a word from the user."""

import json
import sys
from pathlib import Path

import pytest

from kinfolk.cli.demo import CLOSING, run_demo
from kinfolk.cli.main import cli, run
from kinfolk.schema import Schema

SMALL = ["--method", "hpd-fixed", "--rounds", "2", "--components", "10", "--max-iterations", "2"]


def small(output: Path) -> int:
    """The demo with single attributes and hardly any fitting."""
    return run_demo(output, workload="workload: {k: 1,", settings=SMALL)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("new") / "demo"
    assert small(output) == 0
    return output


def test_everything_it_speaks_of_is_there(done: Path) -> None:
    ledger = "release.ledger.jsonl"
    assert {path.name for path in done.iterdir()} == {
        "schema.yaml", "households.csv", "persons.csv", "release", "report",
        ledger, f"{ledger}.head", f"{ledger}.lock",
    }  # fmt: skip
    assert {path.name for path in (done / "report").iterdir()} == {"report.html", "metrics.json"}
    released = {
        "households.csv", "persons.csv", "privacy.json", "model.kinfolk",
        "codebook.html", "codebook.xml",
    }  # fmt: skip
    assert released == {path.name for path in (done / "release").iterdir()}
    certificate = json.loads((done / "release" / "privacy.json").read_text(encoding="utf-8"))
    stated = certificate["unit"], certificate["epsilon"], certificate["private"]
    assert stated == ("group", 1.0, True)
    metrics = json.loads((done / "report" / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["queries"] == 507
    assert {"group", "individual", "relation"} <= set(metrics)


def test_it_asks_for_pairs_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shipped schema asks for triples; the demo changes that, and must go on doing so."""
    monkeypatch.setattr(sys.modules["kinfolk.cli.main"], "run", lambda _: 7)
    assert run(["demo", "-o", str(tmp_path)]) == 7
    written = Schema.from_yaml(tmp_path / "schema.yaml").workload
    assert (written.k, written.levels) == (2, ("group", "individual", "relation"))


def test_again_in_the_same_folder(done: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A demo can be run again, and buys nothing twice."""
    ledger, tables = done / "release.ledger.jsonl", done / "release" / "persons.csv"
    before = ledger.read_bytes(), tables.read_bytes()
    assert small(done) == 0
    assert (ledger.read_bytes(), tables.read_bytes()) == before
    printed = capsys.readouterr().out
    commands = [line.split()[2] for line in printed.splitlines() if line.startswith("$ kinfolk ")]
    assert commands == ["validate", "synth", "evaluate"]
    assert "They are public" in printed
    assert (done / "report" / "report.html").as_uri() in printed


def test_what_it_tells_to_try_exists() -> None:
    told = [line.split()[1] for line in CLOSING.splitlines() if line.startswith("  kinfolk ")]
    assert told == ["init", "validate", "synth"]
    assert set(told) <= set(cli.commands)


@pytest.mark.parametrize("name", ["schema.yaml", "persons.csv"])
def test_files_of_others_are_left_alone(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text("mine", encoding="utf-8")
    assert run(["demo", "-o", str(tmp_path)]) == 2
    assert f"{name}: is not the demo's" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text(encoding="utf-8") == "mine"
