"""A whole run on public tables: what it says of errors, sizes and records to expect."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from homes import written
from kinfolk.cli.main import run
from kinfolk.data.encode import encode
from kinfolk.datasets import load_schema
from kinfolk.errors import DataError, KinfolkError
from kinfolk.evaluate.rehearsal import for_rehearsal, rehearse
from kinfolk.experiments.simulate import simulate
from kinfolk.queries.counting import Counter
from kinfolk.queries.workload import Workload
from kinfolk.release.fitting import promised
from kinfolk.release.synthesizer import Synthesizer

ACS = load_schema("acs-red")
Tables = dict[str, pa.Table]


def town(seed: int, groups: int = 3000) -> Tables:
    return next(iter(simulate("acs-red", groups=groups, seed=seed)))


@pytest.fixture(scope="module")
def theirs() -> Tables:
    return town(2)


def maker(epsilon: float, **told: Any) -> Synthesizer:
    settings: dict[str, Any] = {"components": 20, "parts": 1, "replicates": 0, "max_passes": 8}
    return Synthesizer(
        ACS, unit="group", epsilon=epsilon, delta=1e-6, seed=1, **{**settings, **told}
    )


def test_a_run_is_rehearsed_on_public_tables(theirs: Tables) -> None:
    """With more epsilon there is less error, and about as much as in the real run."""
    asked, told = maker(0.6), list[str]()
    found = rehearse(
        ACS,
        asked.method,
        asked.guarantee,
        for_rehearsal(ACS, theirs),
        groups=3000,
        factors=(1.0, 8.0),
        on_progress=told.append,
    )
    assert [one.epsilon for one in found] == pytest.approx([0.6, 4.8])
    assert found[1].mean_error < 0.7 * found[0].mean_error < 0.7 * found[0].max_error
    assert found[1].other_size < 0.05
    assert [one.comparison.real[0] for one in found] == [3000, 3000]
    assert {verdict.topic for verdict in found[0].comparison.verdict} >= {"shares", "rules"}
    assert len(told) == 4
    ours = town(1)
    exact = Counter.of(encode(ACS, ours), Workload.of(ACS))
    release = asked.fit(ours).release
    real = float(np.abs(release.model.answer(exact.workload) - exact.shares).mean())
    assert 1 / 2 < found[0].mean_error / real < 2


def test_a_rehearsal_needs_every_column_and_a_group(theirs: Tables) -> None:
    less = {**theirs, "persons": theirs["persons"].drop_columns(["AGE"])}
    asked = maker(1.0)
    with pytest.raises(DataError, match=r"the public tables do not fit(.|\n)*AGE"):
        for_rehearsal(ACS, less)
    with pytest.raises(KinfolkError, match="groups is 0"):
        rehearse(ACS, asked.method, asked.guarantee, for_rehearsal(ACS, theirs), groups=0)


def test_public_groups_that_break_a_rule_are_left_out_also_for_a_person(theirs: Tables) -> None:
    """A run for persons may not drop groups; the public ones that are drawn from keep the rules."""
    strict = replace(ACS, never=("AGE < 18 and MARST = 1",))
    asked = maker(1.0)
    promise = promised(strict, asked.method, unit="person", epsilon=1.0, delta=1e-6)
    public = for_rehearsal(strict, theirs)
    (found,) = rehearse(strict, asked.method, promise, public, groups=500, factors=(1.0,))
    assert found.comparison.real[0] == 500
    assert found.comparison.believable.rules["any"] == (0.0, 0.0)


def test_the_plan_shows_a_rehearsal(
    theirs: Tables, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ACS.to_yaml(tmp_path / "schema.yaml")
    folder = tmp_path / "public"
    folder.mkdir()
    written(folder, theirs, "csv")
    told = ["--components=10", "--parts=1", "--max-passes=2", "--public", str(folder)]
    promise = ["--unit", "household", "--epsilon", "0.5", "--delta", "1e-6", "--groups", "500"]
    assert run(["plan", str(tmp_path / "schema.yaml"), *promise, *told]) == 0
    printed = capsys.readouterr().out
    assert "runs on 500 groups drawn from the public tables" in printed
    assert all(f"{epsilon} " in printed for epsilon in ("0.25", "0.5", "1"))
    assert "What records would be like at epsilon 0.5" in printed
    assert "Shares (" in printed
    # Public tables that do not fit are refused before anything is tried out and printed.
    (folder / "persons.csv").unlink()
    assert run(["plan", str(tmp_path / "schema.yaml"), *promise, *told]) == 2
    assert capsys.readouterr().out == ""
