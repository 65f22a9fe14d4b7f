"""The accuracy bench, small: what is run, kept, not run again, and written."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import pytest

from kinfolk.datasets import load_schema
from kinfolk.experiments.reproducing import fit_seeded
from kinfolk.experiments.simulate import simulate_tables
from kinfolk.methods.marginals import Marginals

sys.path.append(str(Path(__file__).parents[2]))

from bench import accuracy_runs
from bench.accuracy_runs import AccuracyRun, Data, measure_accuracy, plain, runs


def tiny() -> Data:
    return Data.of(plain(load_schema("acs-red")), simulate_tables("acs-red", groups=200, seed=1))


def test_a_run_is_kept_and_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(accuracy_runs, "EPSILONS", (0.5, 1.0))
    monkeypatch.setattr(accuracy_runs, "ROUNDS", (1, 2))
    told = {"seeds": 1, "components": 3, "only": "paper accounting"}
    measure_accuracy({"tiny": tiny}, tmp_path, **told)
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 4
    assert said[0].startswith("tiny hpd-fixed, paper accounting person 1.0 1 3 1 seconds ")
    before = (tmp_path / "runs.csv").read_text(encoding="utf-8")
    assert before.count("NOT PRIVATE: true errors") == 4
    page = (tmp_path / "index.md").read_text(encoding="utf-8")
    assert "## Tiny" in page
    assert page.count("| hpd-fixed, paper accounting, K = 3 | person | 0.5 |") == 2
    assert "NOT PRIVATE" in (tmp_path / "tiny.svg").read_text(encoding="utf-8")

    # Cut off in the middle of a line: that run is done again, with the same errors.
    (tmp_path / "runs.csv").write_text(before[:-9], encoding="utf-8")
    measure_accuracy({"tiny": tiny}, tmp_path, **told)
    assert len(capsys.readouterr().out.splitlines()) == 1
    after = (tmp_path / "runs.csv").read_text(encoding="utf-8")
    assert [line.partition(" model")[2] for line in after.splitlines()] == [
        line.partition(" model")[2] for line in before.splitlines()
    ]
    assert (tmp_path / "index.md").read_text(encoding="utf-8") == page


def test_every_method_and_unit_is_run_with_every_seed() -> None:
    every = list(runs(["atlanta", "atlanta derived"], 2, 9))
    assert len(every) == len(set(every)) == 2 * (1 + 4 * (3 + 3 * 3) + 4)
    assert every[0] == AccuracyRun("atlanta", "no noise", "none", math.inf, 0, 0, 1)
    # A bench that is stopped is balanced: the second seed comes after all of the first.
    assert [run.seed for run in every] == sorted(run.seed for run in every)


def test_the_baseline_has_the_accounting_that_it_is_called_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And measures what it is said to; all of them are compared with the default."""
    seen: dict[tuple[str, str], bool] = {}

    def kept(method: Any, counter: Any, guarantee: Any, **more: Any) -> Any:
        if method.name == "hpd-fixed":
            seen[guarantee.accounting.value, method.loop.measure] = method.loop.repeats
        return fit_seeded(method, counter, guarantee, **more)

    monkeypatch.setattr(accuracy_runs, "EPSILONS", (1.0,))
    monkeypatch.setattr(accuracy_runs, "ROUNDS", (2,))
    monkeypatch.setattr(accuracy_runs, "fit_seeded", kept)
    quick = Marginals(components=3, parts=1, max_passes=1, replicates=0)
    monkeypatch.setattr(accuracy_runs, "Marginals", lambda **_: quick)
    for only in ("person", "hpd-fixed"):
        measure_accuracy({"tiny": tiny}, tmp_path, seeds=1, components=3, only=only)
    assert seen == {("zcdp", "query"): True, ("zcdp", "marginal"): False, ("paper", "query"): True}
    page = (tmp_path / "index.md").read_text(encoding="utf-8")
    heads = (
        "hpd-fixed, K = 3 | hpd-fixed, paper accounting, K = 3 | hpd-fixed, whole marginals, K = 3"
    )
    (row,) = (line for line in page.split(heads)[1].splitlines()[2:] if line.startswith("| person"))
    assert row.count(" / ") == 3


def test_nothing_is_taken_as_derived() -> None:
    schema = load_schema("acs-red")
    assert not any(one.derived for one in plain(schema).group_attributes.values())
