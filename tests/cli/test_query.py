"""`kinfolk query`: what it prints, for people and for programs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from homes import HOMES, homes
from kinfolk import Synthesizer, load
from kinfolk.cli.main import run
from release.small import saved


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("model") / "model.kinfolk"
    maker = Synthesizer(
        HOMES, unit="group", epsilon=1.0, delta=1e-6, neighbours="replace", seed=1,
        method="marginals", components=8, parts=2, replicates=3, max_passes=4,
    )  # fmt: skip
    maker.fit(homes()).save(path)
    return str(path)


def test_for_people(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    answers = load(model).answer("homes: veh = 1, sex = f")
    assert run(["query", model, "homes: veh = 1, sex = f"]) == 0
    first, last = capsys.readouterr().out.split("\n\n")
    share, (low, high) = answers.shares[0], (end[0] for end in answers.interval())
    assert answers.errors is not None
    assert first.splitlines() == [
        "Share of homes with veh = 1 that contain at least one person who has sex = f",
        f"  answer          {share:.5f}, which is about {400 * share:,.0f} of 400 homes",
        f"  standard error  {answers.errors[0]:.5f}",
        f"  90% interval    {low:.5f} to {high:.5f}",
    ]
    assert last.startswith("From the model alone (marginals; epsilon = 1 and delta = 1e-06 for one")
    assert "no data was touched" in last
    assert "NOT PRIVATE" in last
    assert run(["query", model, "people with sex = m"]) == 0
    assert re.search(r"which is about [\d,]+ of about [\d,]+ people\n", capsys.readouterr().out)


def test_several_questions_are_a_table(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["homes: veh = 1", "people with sex = m"]
    assert run(["query", model, *texts, "people: sex by veh"]) == 0
    first, second, _ = capsys.readouterr().out.split("\n\n")
    title, headings, *_ = first.splitlines()
    assert title.strip() == "Answers"
    assert headings.split("  ")[0] == "question"
    # Long words are folded, numbers are not.
    assert all(f"{share:.5f}" in first for share in load(model).answer(texts).shares)
    title, headings, *rows = second.splitlines()
    assert title.strip() == "people: sex by veh"
    assert headings.split()[:3] == ["veh", "sex", "share"]
    found = load(model).answer("people: sex by veh")
    assert [row.split()[:3] for row in rows] == [
        [one.cell["veh"], one.cell["sex"], f"{share:.5f}"]
        for one, share in zip(found.asked, found.shares, strict=True)
    ]
    # Two shares in each cell make up the whole.
    assert found.shares.reshape(3, 2).sum(axis=1) == pytest.approx(1)


def test_counts(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["query", model, "homes: veh = 1", "--count", "--level", "0.5"]) == 0
    printed = capsys.readouterr().out
    low, high = (400 * end[0] for end in load(model).answer("homes: veh = 1").interval(0.5))
    assert f"  50% interval    {low:,.0f} to {high:,.0f}\n" in printed


def test_for_programs(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = "homes: veh, sex = f, COUNT > 1"
    assert run(["query", model, text, "--json", "--level", "0.95"]) == 0
    found = json.loads(capsys.readouterr().out)
    answers = load(model).answer(text)
    assert answers.errors is not None
    assert (found["epsilon"], found["private"], found["level"]) == (1.0, False, 0.95)
    rows = found["answers"]
    assert [row["share"] for row in rows] == answers.shares.tolist()
    assert [row["standard_error"] for row in rows] == answers.errors.tolist()
    ends = [list(pair) for pair in zip(*answers.interval(0.95), strict=True)]
    assert [row["interval"] for row in rows] == ends
    # The model was fitted to pairs of attributes.
    assert [row["in_workload"] for row in rows] == [False] * 3


def test_beyond_the_workload_is_marked(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["query", model, "homes: veh = 0, sex = f, COUNT = 1"]) == 0
    printed = capsys.readouterr()
    assert printed.out.count(" (*)\n") == 2
    assert "only indicative" in printed.err


def test_a_method_without_errors_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(saved(tmp_path))
    assert run(["query", path, "homes: veh = 1"]) == 0
    printed = capsys.readouterr()
    assert "interval" not in printed.out
    assert printed.err == "The method hpd-fixed gives no standard errors; `marginals` does.\n"
    assert run(["query", path, "homes: veh = 1", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["answers"]
    assert (row["standard_error"], row["interval"]) == (None, None)


def test_mistakes(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["query", model, "homes: vhe = 1"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("kinfolk: 'homes: vhe = 1': attribute 'vhe' is unknown. Did you")
    assert run(["query", model]) == 2
    assert run(["query", model, "homes: veh = 1", "--level", "1"]) == 2
