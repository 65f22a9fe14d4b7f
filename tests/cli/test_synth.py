"""`synth`, `fit` and `sample`, from files to files; stopped, killed and resumed."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from homes import HOMES, homes, written
from kinfolk import load
from kinfolk.cli.main import run
from kinfolk.data.encode import encode
from kinfolk.methods.paper import AdaptiveTraining
from kinfolk.privacy.account import read_account
from kinfolk.privacy.certificate import check_certificate, read_certificate
from release.small import FLAT, flat_people

PROMISE = ["--unit", "household", "--epsilon", "1", "--delta", "1e-6"]
HPD_FIXED = ["--method", "hpd-fixed"]
QUICK = [*HPD_FIXED, "--rounds", "3", "--components", "5", "--max-iterations", "2"]


@pytest.fixture
def inputs(tmp_path: Path) -> list[str]:
    """A schema and two files."""
    HOMES.to_yaml(tmp_path / "schema.yaml")
    files = written(tmp_path, homes(), {"homes": "csv", "people": "parquet"})
    return [str(tmp_path / "schema.yaml"), *map(str, files.values())]


def synth(inputs: list[str], output: Path, *more: str) -> int:
    return run(["synth", *inputs, *PROMISE, *QUICK, "-o", str(output), *more])


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_synth_writes_what_was_promised(
    inputs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "new" / "release"
    assert synth(inputs, output) == 0
    printed = capsys.readouterr()
    assert "epsilon = 1, delta = 1e-06 for one home. Spent: 100.0% of the budget" in printed.out
    assert printed.err.startswith("Counting took")
    assert set(contents(output)) == {
        "homes.csv",
        "people.csv",
        "privacy.json",
        "model.kinfolk",
        "ledger.jsonl",
        "ledger.jsonl.lock",
    }
    drawn = {name: output / f"{name}.csv" for name in HOMES.table_names}
    assert encode(HOMES, drawn).groups == 400
    certificate = read_certificate(output / "privacy.json")
    assert check_certificate(certificate) == []
    assert certificate["private"] is True
    assert load(output / "model.kinfolk").certificate == certificate
    with (output / "homes.csv").open(encoding="utf-8") as file:
        assert [row["home"] for row in csv.DictReader(file)] == [str(n) for n in range(1, 401)]


def test_a_seed_gives_the_same_bytes_and_says_not_private(
    inputs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("first", "again"):
        assert synth(inputs, tmp_path / name, "--seed", "3", "--groups", "17") == 0
        assert "NOT PRIVATE" in capsys.readouterr().out
    assert contents(tmp_path / "first") == contents(tmp_path / "again")
    assert json.loads((tmp_path / "first" / "privacy.json").read_text())["private"] is False
    assert len((tmp_path / "first" / "homes.csv").read_text().splitlines()) == 18


def test_fit_then_sample(
    inputs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "models" / "one.kinfolk"
    assert run(["fit", *inputs, *PROMISE, *QUICK, "-o", str(model)]) == 0
    command = ["sample", str(model), "--groups", "25", "--format", "parquet"]
    assert run([*command, "-o", str(tmp_path / "drawn")]) == 0
    assert pq.read_table(tmp_path / "drawn" / "homes.parquet").num_rows == 25
    assert (tmp_path / "drawn" / "privacy.json").exists()
    capsys.readouterr()
    assert run([*command, "-o", str(tmp_path / "drawn")]) == 2
    assert "the file exists" in capsys.readouterr().err
    assert run([*command, "-o", str(tmp_path / "drawn"), "--force"]) == 0
    assert run(["fit", *inputs, *PROMISE, *QUICK, "-o", str(model), "--force"]) == 2
    assert "Add --resume" in capsys.readouterr().err
    model.write_bytes(b"PK")
    assert run(["sample", str(model), "-o", str(tmp_path / "none")]) == 2
    assert "is damaged, or no model file" in capsys.readouterr().err


def test_flat_data_takes_one_file(tmp_path: Path) -> None:
    FLAT.to_yaml(tmp_path / "schema.yaml")
    files = written(tmp_path, flat_people(), "csv")
    inputs = [str(tmp_path / "schema.yaml"), *map(str, files.values())]
    more = ["--unit", "person", "--epsilon", "1", "--delta", "1e-6", "-o", str(tmp_path / "out")]
    assert run(["synth", *inputs, *more, *QUICK]) == 0
    assert encode(FLAT, {"people": tmp_path / "out" / "people.csv"}).groups == 300


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--method", "mwem"], "the method mwem has no components"),
        (["--method", "best"], "no method is called 'best'"),
        (["--noise", "fixed"], "has no noise"),
        (["--accounting", "none"], "accounting is 'none'"),
        (["--unit", "village"], "The privacy unit is 'village'"),
        (["--epsilon", "0"], "epsilon is 0.0"),
        (["--groups", "0"], "--groups is 0"),
        (["--seed", "-1"], "seed: -1"),
        (["--alpha", "1"], "'--alpha'"),
        (["--rounds", "0"], "rounds is 0"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    inputs: list[str],
    tmp_path: Path,
    more: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert synth(inputs, tmp_path / "out", *more) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out" / "ledger.jsonl").exists()


def test_nothing_is_overwritten_or_spent_twice(
    inputs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out"
    output.mkdir()
    (output / "people.csv").write_text("mine", encoding="utf-8")
    assert synth(inputs, output) == 2
    assert "people.csv: the file exists" in capsys.readouterr().err
    assert synth(inputs, output, "--force") == 0
    before = contents(output)
    for more in ([], ["--force"]):
        capsys.readouterr()
        assert synth(inputs, output, *more) == 2
        assert "Add --resume" in capsys.readouterr().err
    assert synth(inputs, output, "--resume", "--rounds", "4") == 2
    assert "begun with rounds = 3, not 4" in capsys.readouterr().err
    assert synth(inputs, output, "--resume", "--epsilon", "2") == 2
    assert "begun with epsilon = 1.0, and this run has 2.0" in capsys.readouterr().err
    assert contents(output) == before
    assert synth(inputs, output, "--resume") == 0
    assert contents(output) == before


def test_private_tables_are_never_overwritten(
    tmp_path: Path, inputs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert synth(inputs, tmp_path, "--force") == 2
    assert "would be overwritten by its synthetic copy" in capsys.readouterr().err


def test_ctrl_c_leaves_a_release_and_resume_ends_where_it_would_have(
    inputs: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    seeded = ["--seed", "2"]
    assert synth(inputs, tmp_path / "calm", *seeded) == 0
    straight = AdaptiveTraining.run

    def stopped(self: AdaptiveTraining, progress: object) -> None:
        def stop(doing: str, done: int, total: int) -> None:
            if done == 2:
                raise KeyboardInterrupt

        straight(self, stop)

    with monkeypatch.context() as patch:
        patch.setattr(AdaptiveTraining, "run", stopped)
        capsys.readouterr()
        assert synth(inputs, tmp_path / "out", *seeded) == 130
    printed = capsys.readouterr()
    assert "in 5 steps" in printed.out
    assert "Run the same command with --resume to go on." in printed.err
    certificate = read_certificate(tmp_path / "out" / "privacy.json")
    assert check_certificate(certificate) == []
    assert len(certificate["spends"]) == 5
    drawn = {name: tmp_path / "out" / f"{name}.csv" for name in HOMES.table_names}
    assert encode(HOMES, drawn).groups == 400
    assert load(tmp_path / "out" / "model.kinfolk").certificate == certificate
    assert synth(inputs, tmp_path / "out", *seeded, "--resume") == 0
    assert contents(tmp_path / "out") == contents(tmp_path / "calm")


def test_a_debit_that_was_lost_stays_spent(
    inputs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As after a crash between a debit and its release: the last step cannot be paid any more."""
    ledger = tmp_path / "out" / "ledger.jsonl"
    assert synth(inputs, tmp_path / "calm") == 0
    ledger.parent.mkdir()
    whole = (tmp_path / "calm" / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    # The header, people, and the first round, each debited and released; a debit of the second.
    ledger.write_bytes(b"".join(whole[:8]))
    assert [spend.key for spend in read_account(ledger).unreleased] == ["select 2"]
    capsys.readouterr()
    assert synth(inputs, tmp_path / "out", "--resume") == 0
    assert "steps that were lost in a crash stay paid for" in capsys.readouterr().err
    certificate = read_certificate(tmp_path / "out" / "privacy.json")
    assert check_certificate(certificate) == []
    assert [(spend["step"], spend["released"]) for spend in certificate["spends"]][3:] == [
        ("select 2", False),
        ("select 2", True),
        ("measure 2", True),
    ]
    drawn = {name: tmp_path / "out" / f"{name}.csv" for name in HOMES.table_names}
    assert encode(HOMES, drawn).groups == 400


@pytest.mark.slow
def test_kill_and_resume(inputs: list[str], tmp_path: Path) -> None:
    """`kill -9` in the middle of a private run: what was bought stays bought, once."""
    more = [*HPD_FIXED, "--rounds", "40", "--components", "200"]
    words = ["synth", *inputs, *PROMISE, *more, "-o", str(tmp_path / "out"), "--resume"]
    command = [sys.executable, "-c", f"from kinfolk.cli import main; main({words!r})"]
    ledger = tmp_path / "out" / "ledger.jsonl"
    seen: list[int] = []
    for bought in (5, 25, 50):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 600
        while process.poll() is None and time.monotonic() < deadline:
            if ledger.exists() and ledger.read_bytes().count(b'"kind":"spend"') >= bought:
                break
            time.sleep(0.002)
        process.kill()
        assert process.wait() == -signal.SIGKILL, "the run ended before it was killed"
        account = read_account(ledger)
        seen.append(len(account.spends))
        assert account.spent <= account.terms.rho
    assert seen == sorted(set(seen))
    before = read_account(ledger)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = read_account(ledger)
    assert done.returncode == 0
    assert after.spends[: len(before.spends)] == before.spends
    assert before.releases.items() <= after.releases.items()
    # People, then two steps for each round; a step whose debit was lost may be missing at the end.
    lost = len(before.unreleased) + bool(before.torn)
    assert 81 - 2 * lost <= len(after.releases) <= 81
    assert len(after.spends) == len(after.releases) + len(before.unreleased)
    assert check_certificate(read_certificate(tmp_path / "out" / "privacy.json")) == []
