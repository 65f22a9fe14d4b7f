"""`synth`, `fit` and `sample`, from files to files; stopped, killed and resumed."""

from __future__ import annotations

import csv
import json
import shutil
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from homes import HOMES, homes, written
from kinfolk import KinfolkError, Schema, Synthesizer, load
from kinfolk.cli.main import run
from kinfolk.data.encode import encode
from kinfolk.methods.paper import AdaptiveTraining
from kinfolk.models import records
from kinfolk.privacy import Gaussian, Ledger
from kinfolk.privacy.account import read_account
from kinfolk.privacy.certificate import check_certificate, read_certificate
from kinfolk.privacy.chain import Head
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
    # What stays with the data lies beside what may be published.
    codebook = {"codebook.html", "codebook.xml"}
    published = {"homes.csv", "people.csv", "privacy.json", "model.kinfolk", *codebook}
    assert set(contents(output)) == published
    ledger = "release.ledger.jsonl"
    assert set(contents(output.parent)) == {ledger, f"{ledger}.head", f"{ledger}.lock"}
    for name in contents(output.parent):
        assert (output.parent / name).stat().st_mode & 0o077 == 0
    certificate = read_certificate(output / "privacy.json")
    groups = certificate["totals"]["groups"]
    drawn = {name: output / f"{name}.csv" for name in HOMES.table_names}
    assert encode(HOMES, drawn).groups == groups
    assert check_certificate(certificate) == []
    assert certificate["private"] is True
    model = load(output / "model.kinfolk")
    tables = certificate["release"].pop("tables")
    assert set(tables) == {"homes.csv", "people.csv"}
    assert model.certificate == certificate
    with (output / "homes.csv").open(encoding="utf-8") as file:
        keys = [row["home"] for row in csv.DictReader(file)]
    assert keys == [str(number) for number in range(1, groups + 1)]


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


@pytest.mark.parametrize(
    ("epsilon", "said"),
    [("1", set()), ("0.1", {"noisy"}), ("0.05", {"too_noisy"})],
)
def test_a_small_budget_is_said(
    inputs: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    epsilon: str,
    said: set[str],
) -> None:
    """On the screen and in the certificate: what is noisy, and what was left out for its noise."""
    small = ["--components", "4", "--parts", "1", "--replicates", "0", "--max-passes", "1"]
    promise = ["--unit", "household", "--epsilon", epsilon, "--delta", "1e-6", "--seed", "3"]
    assert run(["synth", *inputs, *promise, *small, "-o", str(tmp_path / "new")]) == 0
    told = " ".join(capsys.readouterr().err.split())
    released = json.loads((tmp_path / "new" / "privacy.json").read_bytes())["release"]
    assert said == {"noisy", "too_noisy"} & set(released)
    assert ("what is rare is noise" in told) is ("noisy" in said)
    assert ("mostly noise, and were not bought" in told) is ("too_noisy" in said)


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
    assert not (tmp_path / "out.ledger.jsonl").exists()


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
    assert "begun with epsilon = 1.0, not 2.0" in capsys.readouterr().err
    assert contents(output) == before
    assert synth(inputs, output, "--resume") == 0
    assert contents(output) == before


def test_the_ledger_of_an_earlier_version_is_no_new_budget(
    inputs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "ledger.jsonl").write_text("{}", encoding="utf-8")
    for more in ([], ["--resume"], ["--force"]):
        assert synth(inputs, tmp_path / "out", *more) == 2
        assert "an earlier version of kinfolk has spent" in capsys.readouterr().err


def test_into_the_folder_one_is_in(
    inputs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert synth(inputs, Path()) == 0
    assert (tmp_path / "here.ledger.jsonl").exists()
    assert (tmp_path / "here" / "homes.csv").exists()


def test_a_refused_run_leaves_nothing_behind(inputs: list[str], tmp_path: Path) -> None:
    before = set(tmp_path.iterdir())
    assert synth(inputs, tmp_path / "out", "--epsilon", "0") == 2
    assert synth([inputs[0], "no.csv", "none.csv"], tmp_path / "out") == 2
    assert set(tmp_path.iterdir()) == before


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
    assert "in 6 steps" in printed.out
    assert "Run the same command with --resume to go on." in printed.err
    certificate = read_certificate(tmp_path / "out" / "privacy.json")
    assert check_certificate(certificate) == []
    assert len(certificate["spends"]) == 6
    drawn = {name: tmp_path / "out" / f"{name}.csv" for name in HOMES.table_names}
    assert encode(HOMES, drawn).groups == certificate["totals"]["groups"]
    assert load(tmp_path / "out" / "model.kinfolk").certificate["spends"] == certificate["spends"]
    assert synth(inputs, tmp_path / "out", *seeded, "--resume") == 0
    calm, resumed = contents(tmp_path / "calm"), contents(tmp_path / "out")
    for name in ("homes.csv", "people.csv"):
        assert resumed[name] == calm[name]
    assert (
        load(tmp_path / "out" / "model.kinfolk").certificate["spends"]
        == load(tmp_path / "calm" / "model.kinfolk").certificate["spends"]
    )


def lost_debit(ledger: Path, key: str) -> None:
    """Cut a ledger off after a debit, as a crash would before its release."""
    lines = ledger.read_bytes().splitlines(keepends=True)
    place = next(
        at for at, line in enumerate(lines) if b'"kind":"spend"' in line and key.encode() in line
    )
    kept = lines[: place + 1]
    ledger.write_bytes(b"".join(kept))
    check = json.loads(kept[-1])["check"]
    Head.beside(ledger).write_bytes(Head(lines=len(kept), check=check).content)


def test_what_still_fits_the_budget_is_bought_after_a_loss(
    inputs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As after a crash between a debit and its release: the rest makes do with what is left."""
    ledger = tmp_path / "out.ledger.jsonl"
    assert synth(inputs, tmp_path / "out") == 0
    shutil.rmtree(tmp_path / "out")
    lost_debit(ledger, "select 2")
    assert [spend.key for spend in read_account(ledger).last.unreleased] == ["select 2"]
    capsys.readouterr()
    assert synth(inputs, tmp_path / "out", "--resume") == 0
    assert "1 steps that were lost in a crash stay paid for" in capsys.readouterr().err
    certificate = read_certificate(tmp_path / "out" / "privacy.json")
    assert [(spend["step"], spend["released"]) for spend in certificate["spends"]][4:] == [
        ("select 2", False),
        ("select 2", True),
        ("measure 2", True),
        ("select 3", True),
        ("measure 3", True),
    ]
    spent, budget = Fraction(certificate["spent"]), Fraction(certificate["rho"])
    assert 0.999 < spent / budget <= 1
    schema = ["--schema", inputs[0], "--ledger", str(ledger)]
    assert run(["certificate", str(tmp_path / "out" / "privacy.json"), *schema]) == 0
    load(tmp_path / "out" / "model.kinfolk")


MARGINALS = ["--components", "6", "--parts", "1", "--replicates", "0", "--max-passes", "2"]


@pytest.mark.parametrize("portions", [1, 2])
def test_a_lost_debit_is_never_passed_off_as_a_release(
    inputs: list[str],
    tmp_path: Path,
    portions: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nothing but the number of groups is known: there is nothing to make tables of.

    With two portions, the second one is left, and with it some of the budget.
    """
    monkeypatch.setattr("kinfolk.methods.allocate.priority", lambda *_: Fraction(1))
    if portions == 2:
        monkeypatch.setattr("kinfolk.methods.allocate.PORTION", 12)
    ledger, output = tmp_path / "out.ledger.jsonl", tmp_path / "out"
    command = ["synth", *inputs, *PROMISE, *MARGINALS, "-o", str(output)]
    assert run(command) == 0
    shutil.rmtree(output)
    lost_debit(ledger, "marginals 1 of")
    lost = read_account(ledger).last
    if portions == 2:
        assert 0.1 < lost.remaining / lost.guarantee.rho < 0.9
    capsys.readouterr()
    status = run([*command, "--resume"])
    printed = capsys.readouterr()
    assert "complete" not in printed.out
    if portions == 1:
        assert status == 2
        assert "there is nothing to learn from. Nothing was written." in printed.err
        assert not (output / "homes.csv").exists()
        return
    learnt = 1 - sum(spend.rho for spend in lost.unreleased) / lost.guarantee.rho
    assert status == (2 if learnt < 0.5 else 0)
    certificate = read_certificate(output / "privacy.json")
    assert 0.999 < Fraction(certificate["spent"]) / Fraction(certificate["rho"]) <= 1
    assert ("of the budget was learnt from" in printed.err) is (learnt < 0.5)


def test_python_says_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinfolk.methods.allocate.priority", lambda *_: Fraction(1))
    ledger = tmp_path / "ledger.jsonl"
    quick = {"components": 6, "parts": 1, "replicates": 0, "max_passes": 2}
    maker = Synthesizer(
        HOMES, unit="home", epsilon=1.0, delta=1e-6, ledger=ledger, seed=1, **quick
    ).fit(homes())
    lost_debit(ledger, "marginals 1 of")
    with pytest.raises(KinfolkError, match="there is nothing to learn from"):
        maker.fit(homes(), resume=True)


def test_most_of_a_budget_lost_is_said(
    inputs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first round's measurement was released; all others were debited by runs that died."""
    ledger, output = tmp_path / "out.ledger.jsonl", tmp_path / "out"
    assert synth(inputs, output) == 0
    shutil.rmtree(output)
    lost_debit(ledger, "select 2")
    before = read_account(ledger).last
    with Ledger(ledger, before.guarantee, run=before.run) as open_ledger:
        noise = Gaussian.for_rho(open_ledger.remaining * Fraction(99, 100), squared_sensitivity=1)
        open_ledger.debit("measure 2", noise)
    capsys.readouterr()
    assert synth(inputs, output, "--resume") == 2
    printed = capsys.readouterr().err
    assert "of the budget was learnt from: the rest was paid for, and lost in a crash" in printed
    assert (output / "homes.csv").exists()
    maker = Synthesizer(
        HOMES, unit="household", epsilon=1.0, delta=1e-6, ledger=ledger, method="hpd-fixed",
        rounds=3, components=5, max_iterations=2,
    )  # fmt: skip
    tables = dict(zip(HOMES.table_names, inputs[1:], strict=True))
    with pytest.raises(KinfolkError, match="of the budget was learnt from"):
        maker.fit(tables, resume=True)
    assert maker.release.groups >= 1


@pytest.mark.slow
def test_kill_and_resume(inputs: list[str], tmp_path: Path) -> None:
    """`kill -9` in the middle of a private run: what was bought stays bought, once."""
    more = [*HPD_FIXED, "--rounds", "40", "--components", "200"]
    words = ["synth", *inputs, *PROMISE, *more, "-o", str(tmp_path / "out"), "--resume"]
    command = [sys.executable, "-c", f"from kinfolk.cli import main; main({words!r})"]
    ledger = tmp_path / "out.ledger.jsonl"
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
        account = read_account(ledger).last
        seen.append(len(account.spends))
        assert account.spent <= account.guarantee.rho
    assert seen == sorted(set(seen))
    before = read_account(ledger).last
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = read_account(ledger).last
    assert done.returncode == 0, done.stderr
    assert after.spends[: len(before.spends)] == before.spends
    assert before.releases.items() <= after.releases.items()
    # Groups and people, then two steps for each round; what was lost is bought again for less.
    assert len(after.releases) == 82
    assert len(after.spends) == len(after.releases) + len(before.unreleased)
    assert check_certificate(read_certificate(tmp_path / "out" / "privacy.json")) == []


def test_rules_are_kept_and_what_is_hard_about_them_is_said(
    inputs: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Most homes break it: they are dropped, and a model of few rounds does not know it well.
    monkeypatch.setattr(records, "LOW", 0.95)
    text = HOMES.to_yaml() + "never: [COUNT >= 2 and veh >= 1]\non_violation: drop\n"
    Path(inputs[0]).write_text(text, encoding="utf-8")
    assert synth(inputs, tmp_path / "release", "--seed", "1") == 0
    said = capsys.readouterr().out
    stated = read_certificate(tmp_path / "release" / "privacy.json")
    rate = stated["release"]["acceptance"]["rate"]
    assert rate < 0.95
    note = f"Note: only {rate:.0%} of the groups kept the rules when they were first drawn"
    assert note in said
    drawn = {name: tmp_path / "release" / f"{name}.csv" for name in HOMES.table_names}
    schema = Schema.from_yaml(inputs[0])
    assert encode(schema, drawn).cleaning.groups_against_rules == 0
    model = str(tmp_path / "release" / "model.kinfolk")
    assert run(["sample", model, "--groups", "50", "-o", str(tmp_path / "more")]) == 0
    assert "of the groups kept the rules when they were first drawn" in capsys.readouterr().out
    # One person's values do not decide over a whole home.
    person = ["--unit", "person", "--epsilon", "1", "--delta", "1e-6", *QUICK]
    assert run(["synth", *inputs, *person, "-o", str(tmp_path / "person")]) == 2
    assert "`on_violation: drop` leaves out whole groups" in capsys.readouterr().err
    assert not (tmp_path / "person").exists()


@pytest.mark.parametrize("form", ["dta", "sav"])
def test_tables_for_other_programs(inputs: list[str], tmp_path: Path, form: str) -> None:
    assert synth(inputs, tmp_path / "release", "--format", form) == 0
    paths = {name: tmp_path / "release" / f"{name}.{form}" for name in HOMES.table_names}
    assert encode(HOMES, paths).groups > 0
    more = str(tmp_path / "more")
    model = str(tmp_path / "release" / "model.kinfolk")
    assert run(["sample", model, "--groups", "7", "--format", form, "-o", more]) == 0
    assert encode(HOMES, {n: Path(more) / f"{n}.{form}" for n in HOMES.table_names}).groups == 7


def test_what_a_program_cannot_hold_is_refused_before_anything_is_spent(
    inputs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = Path(inputs[0]).read_text(encoding="utf-8").replace("  id: ", "  id: odd ", 1)
    Path(inputs[0]).write_text(text, encoding="utf-8")
    before = set(tmp_path.iterdir())
    assert synth(inputs, tmp_path / "release", "--format", "dta") == 2
    assert "cannot be the name of a column in Stata" in capsys.readouterr().err
    assert set(tmp_path.iterdir()) == before


def test_a_run_that_is_stopped_before_there_is_a_model_says_how_to_go_on(
    inputs: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """All is bought by then, and nothing fitted: whoever presses Ctrl-C has made no mistake."""
    output, ledger = tmp_path / "release", tmp_path / "release.ledger.jsonl"
    settings = ["--components", "5", "--parts", "1", "--replicates", "2", "--max-passes", "2"]
    command = ["synth", *inputs, *PROMISE, *settings, "-o", str(output)]

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("kinfolk.methods.marginals.choose_passes", stop)
        assert run(command) == 130
    told = capsys.readouterr().err
    assert f"stands in {ledger}: the same command with --resume goes on." in told
    assert told.endswith("kinfolk: stopped.\n")
    assert not output.exists()
    spent = read_account(ledger).spent
    assert spent
    assert run([*command, "--resume"]) == 0
    assert read_account(ledger).spent == spent
