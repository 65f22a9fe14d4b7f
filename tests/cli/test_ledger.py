"""One budget for a dataset: several releases draw on it, and nothing gets round it."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

from homes import HOMES, homes, written
from kinfolk import KinfolkError, Synthesizer, load
from kinfolk.cli.main import run
from kinfolk.data.frames import write_table
from kinfolk.privacy.account import read_account
from kinfolk.privacy.certificate import read_certificate
from kinfolk.privacy.chain import Head

QUICK = ["--components", "6", "--parts", "1", "--replicates", "0", "--max-passes", "2"]
OTHER = ["--method", "hpd-fixed", "--rounds", "2", "--components", "5", "--max-iterations", "2"]


@pytest.fixture
def inputs(tmp_path: Path) -> list[str]:
    HOMES.to_yaml(tmp_path / "schema.yaml")
    files = written(tmp_path, homes(), "csv")
    return [str(tmp_path / "schema.yaml"), *map(str, files.values())]


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "survey.ledger"
    total = ["--unit", "household", "--epsilon", "2", "--delta", "1e-6"]
    assert run(["ledger", "create", str(path), *total]) == 0
    return path


def synth(inputs: list[str], ledger: Path, output: Path, *more: str, epsilon: str = "1") -> int:
    command = ["synth", *inputs, "--ledger", str(ledger), "--epsilon", epsilon]
    return run([*command, "-o", str(output), *(more or QUICK)])


def test_two_releases_from_one_ledger_and_a_third_refused(
    inputs: list[str], ledger: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert synth(inputs, ledger, tmp_path / "one", epsilon="1.4") == 0
    assert synth(inputs, ledger, tmp_path / "two", *OTHER, epsilon="1.3") == 0
    capsys.readouterr()
    # Refused before the data is read: the files need not even be there.
    nowhere = [inputs[0], str(tmp_path / "no.csv"), str(tmp_path / "none.csv")]
    assert synth(nowhere, ledger, tmp_path / "three") == 2
    assert "Nothing was read or spent. Lower epsilon." in capsys.readouterr().err
    assert not (tmp_path / "three" / "privacy.json").exists()
    # What is left is still to be had.
    assert synth(inputs, ledger, tmp_path / "three", epsilon="0.3") == 0
    account = read_account(ledger)
    assert len(account.allotments) == 3
    assert account.spent <= account.total.rho
    assert all(one.closed for one in account.allotments)
    capsys.readouterr()
    assert run(["ledger", "show", str(ledger)]) == 0
    shown = capsys.readouterr().out
    assert "Total      epsilon = 2, delta = 1e-06 for one group, neighbours add-remove" in shown
    assert shown.count("finished") == 3
    assert "recognised by a keyed digest" in shown
    for number, name in enumerate(("one", "two", "three"), 1):
        path = tmp_path / name / "privacy.json"
        options = ["--schema", inputs[0], "--ledger", str(ledger)]
        assert run(["certificate", str(path), *options]) == 0
        assert f"release {number} of a budget of epsilon = 2" in capsys.readouterr().out
        stated = read_certificate(path)
        # One accounting and one delta for all of them.
        assert (stated["accounting"], stated["delta"]) == ("zcdp", 1e-6)
        load(tmp_path / name / "model.kinfolk")


def test_the_ledgers_terms_hold(
    inputs: list[str], ledger: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for more, message in (
        (["--neighbours", "replace"], "the ledger's neighbours is 'add-remove'"),
        (["--accounting", "gaussian"], "the ledger's accounting is 'zcdp'"),
        (["--unit", "person"], "the ledger's neighbours is 'add-remove'"),
        (["--seed", "1"], "seeded and private releases cannot share a ledger"),
    ):
        neighbours = ["--neighbours", "in-place"] if "person" in more else []
        assert synth(inputs, ledger, tmp_path / "out", *QUICK, *more, *neighbours) == 2
        assert message in capsys.readouterr().err
    assert read_account(ledger).allotments == []
    assert run(["ledger", "create", str(ledger), "--unit", "person", "--epsilon", "1",
                "--delta", "1e-6"]) == 2  # fmt: skip
    assert "never overwritten" in capsys.readouterr().err
    assert synth(inputs, tmp_path / "none.ledger", tmp_path / "out") == 2
    assert "There is no ledger none.ledger" in capsys.readouterr().err
    own = tmp_path / "own.ledger.jsonl"
    promise = ["--unit", "household", "--epsilon", "1", "--delta", "1e-6"]
    assert run(["synth", *inputs, *promise, *QUICK, "-o", str(tmp_path / "own")]) == 0
    capsys.readouterr()
    assert synth(inputs, own, tmp_path / "out") == 2
    assert "is the ledger of one release" in capsys.readouterr().err
    command = ["synth", *inputs, "--epsilon", "1", *QUICK, "-o", str(tmp_path / "out")]
    assert run(command) == 2
    assert "Missing option '--unit'" in capsys.readouterr().err


def test_other_data_is_refused_also_when_resuming(
    inputs: list[str], ledger: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert synth(inputs, ledger, tmp_path / "one") == 0
    spent = read_account(ledger).spent
    people = homes()["people"]
    first = ["m" if people["sex"][0].as_py() == "f" else "f", *people["sex"].to_pylist()[1:]]
    write_table(people.set_column(0, "sex", pa.array(first)), Path(inputs[2]))
    for more in ([], ["--resume"]):
        assert synth(inputs, ledger, tmp_path / f"two{len(more)}", *QUICK, *more) == 2
        assert "is the ledger of other data" in capsys.readouterr().err
    assert read_account(ledger).spent == spent
    # Neither the data nor its digest can be told from what is published.
    digest, key = read_account(ledger).data, read_account(ledger).key
    published = (tmp_path / "one" / "privacy.json").read_text(encoding="utf-8")
    assert digest is not None
    assert digest not in published
    assert key not in published


def test_a_dedicated_ledger_knows_its_data_too(inputs: list[str], tmp_path: Path) -> None:
    promise = ["--unit", "household", "--epsilon", "1", "--delta", "1e-6"]
    command = ["synth", *inputs, *promise, *QUICK, "-o", str(tmp_path / "out")]
    assert run(command) == 0
    write_table(homes(seed=2)["people"], Path(inputs[2]))
    assert run([*command, "--resume"]) == 2


def test_a_fork_is_refused_where_a_certificate_contradicts_it(
    inputs: list[str], ledger: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Copies of a ledger that go different ways: each looks whole, and the certificates tell."""
    copy = tmp_path / "copy.ledger"
    assert synth(inputs, ledger, tmp_path / "one") == 0
    shutil.copy(ledger, copy)
    shutil.copy(Head.beside(ledger), Head.beside(copy))
    assert synth(inputs, ledger, tmp_path / "two") == 0
    certificate = str(tmp_path / "two" / "privacy.json")
    capsys.readouterr()
    assert run(["certificate", certificate, "--ledger", str(copy)]) == 2
    assert "two copies went different ways" in capsys.readouterr().err
    # Going on with the copy, where the other copy has released already.
    assert synth(inputs, copy, tmp_path / "two", *QUICK, "--resume") == 2
    assert "contradicts" in capsys.readouterr().err
    assert synth(inputs, copy, tmp_path / "two", *QUICK, "--force") == 2
    assert "contradicts" in capsys.readouterr().err
    # A tail that was cut off contradicts the companion.
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(b"".join(lines[:-3]))
    assert synth(inputs, ledger, tmp_path / "three", epsilon="0.1") == 2
    assert "was shortened or replaced" in capsys.readouterr().err
    assert run(["ledger", "show", str(ledger)]) == 2


def test_python_draws_on_it_too(ledger: Path) -> None:
    told = {"unit": "household", "delta": 1e-6, "accounting": "zcdp", "ledger": ledger}
    quick = {"components": 6, "parts": 1, "replicates": 0, "max_passes": 2}
    tables = homes()
    first = Synthesizer(HOMES, epsilon=1.4, **told, **quick).fit(tables)
    second = Synthesizer(HOMES, epsilon=1.3, **told, **quick).fit(tables)
    assert first.certificate["ledger"]["release"] == 1
    assert second.certificate["ledger"]["release"] == 2
    with pytest.raises(KinfolkError, match="the ledger's budget"):
        Synthesizer(HOMES, epsilon=1.2, **told, **quick).fit(tables)
    with pytest.raises(KinfolkError, match="other data"):
        Synthesizer(HOMES, epsilon=0.1, **told, **quick).fit(homes(seed=3))
    again = Synthesizer(HOMES, epsilon=1.3, **told, **quick).fit(tables, resume=True)
    assert again.certificate["spends"] == second.certificate["spends"]
    assert len(read_account(ledger).allotments) == 2


def test_a_run_that_bought_nothing_holds_nothing(
    inputs: list[str], ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object, **__: object) -> None:
        raise KinfolkError("the universe is too large")

    with monkeypatch.context() as patch:
        patch.setattr("kinfolk.release.fitting.run", die)
        assert synth(inputs, ledger, tmp_path / "one", epsilon="2") == 2
    account = read_account(ledger)
    assert account.remaining == account.total.rho
    assert synth(inputs, ledger, tmp_path / "two", epsilon="2") == 0


def test_an_unfinished_release_holds_its_part(
    inputs: list[str], ledger: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """What it has not spent is not for others, until it is resumed and finished."""

    def die(*_: object, **__: object) -> None:
        raise RuntimeError("the power went")

    with monkeypatch.context() as patch:
        patch.setattr("kinfolk.privacy.curator.measure", die)
        assert synth(inputs, ledger, tmp_path / "one", epsilon="1.5") == 1
    capsys.readouterr()
    assert synth(inputs, ledger, tmp_path / "two", epsilon="1.5") == 2
    assert "unfinished releases (1) still hold" in capsys.readouterr().err
    assert synth(inputs, ledger, tmp_path / "one", *QUICK, "--resume", epsilon="1.5") == 0
    account = read_account(ledger)
    assert account.allotments[0].closed
    assert [spend.key for spend in account.allotments[0].unreleased] == ["groups"]
    stated = json.loads((tmp_path / "one" / "privacy.json").read_text(encoding="utf-8"))
    assert Fraction(stated["spent"]) == account.spent
