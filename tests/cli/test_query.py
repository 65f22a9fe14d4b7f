"""`kinfolk query`: what it prints, for people and for programs."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

from homes import HOMES, homes
from kinfolk import Synthesizer, load
from kinfolk.cli.main import run
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.queries.question_parser import parse
from kinfolk.release.answers import drawn_apart
from kinfolk.release.release import Release
from kinfolk.schema import Schema
from release.small import saved
from release.town import fitted


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
    assert printed.err == (
        "The model holds no replicates, so no standard errors. The method marginals makes some.\n"
    )
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


def test_figures_for_people(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    answers = load(model).answer("mean veh of homes by COUNT")
    assert answers.errors is not None
    assert run(["query", model, "mean veh of homes by COUNT"]) == 0
    title, headings, *rows = capsys.readouterr().out.split("\n\n")[0].splitlines()
    assert title.strip() == "mean veh of homes by COUNT"
    assert headings.split()[:2] == ["COUNT", "mean"]
    assert headings.split()[-3:] == ["of", "about", "(homes)"]
    assert [row.split()[0] for row in rows] == ["1", "2", "3"]
    for row, value, total in zip(rows, answers.values, answers.totals, strict=True):
        written = row.split()
        digits = len(written[1].partition(".")[2])
        # As many digits as the standard error leaves.
        assert 1 <= digits <= 4
        assert written[1] == f"{value:.{digits}f}"
        assert written[-1] == f"{total:,.0f}"
    assert run(["query", model, "mean veh"]) == 0
    first = capsys.readouterr().out.splitlines()
    assert first[0] == "Mean veh of homes"
    assert re.fullmatch(r"  answer          [\d.]+, of about 400 homes", first[1])


def test_figures_for_spreadsheets(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["query", model, "mean veh by COUNT", "people: sex = f", "--format", "csv"]) == 0
    printed = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(printed.out)))
    answers = load(model).answer(["mean veh by COUNT", "people: sex = f"])
    assert [row["COUNT"] for row in rows] == ["1", "2", "3", ""]
    assert [row["statistic"] for row in rows] == ["mean"] * 3 + ["share"]
    assert [float(row["value"]) for row in rows] == answers.values.tolist()
    assert [float(row["high"]) for row in rows] == answers.interval()[1].tolist()
    assert "weighted_value" not in rows[0]


def test_figures_for_programs(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["query", model, "median veh by COUNT", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["answers"]
    assert [row["by"] for row in rows] == [{"COUNT": "1"}, {"COUNT": "2"}, {"COUNT": "3"}]
    assert all(row["statistic"] == "median" and "share" not in row for row in rows)
    assert run(["query", model, "people: sex = f", "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["answers"]
    assert row["share"] == row["value"]


def test_weighted_answers_stand_beside_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "model.kinfolk")
    release = fitted()
    release.save(path)
    texts = ["mean wage by sex", "people: sex = f", "mean weight"]
    plain, beside = release.answer(texts), release.answer(texts[:2], weighted=True)
    assert run(["query", path, *texts, "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["answers"]
    assert [row["value"] for row in rows] == pytest.approx(plain.values)
    assert [row["weighted"]["value"] for row in rows[:3]] == pytest.approx(beside.values)
    # The weight is not weighted by itself.
    assert "weighted" not in rows[3]
    assert run(["query", path, *texts, "--format", "csv"]) == 0
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [float(line["weighted_value"]) for line in lines[:3]] == pytest.approx(beside.values)
    assert lines[3]["weighted_value"] == ""
    assert run(["query", path, *texts]) == 0
    printed = capsys.readouterr().out
    assert printed.count("weighted") == 2
    assert run(["query", path, "people: sex = f"]) == 0
    assert f"  weighted        {beside.values[2]:.5f}, standard error" in capsys.readouterr().out


def test_a_weight_is_one_attribute_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The model was fitted to pairs: a mean by sex is one, a weighted one is not."""
    path = str(tmp_path / "model.kinfolk")
    fitted().save(path)
    assert run(["query", path, "mean wage by sex"]) == 0
    printed = capsys.readouterr()
    assert printed.out.count("(*)") == 2
    assert "only indicative" in printed.err
    assert run(["query", path, "mean wage where sex = f"]) == 0
    error = next(line for line in capsys.readouterr().out.splitlines() if "weighted" in line)
    assert error.endswith(" (*)")
    assert run(["query", path, "mean wage by sex", "--format", "json"]) == 0
    for row in json.loads(capsys.readouterr().out)["answers"]:
        assert (row["in_workload"], row["weighted"]["in_workload"]) == (True, False)
    assert run(["query", path, "mean wage by sex", "mean weight", "--format", "csv"]) == 0
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [line["weighted_in_workload"] for line in lines] == ["False", "False", ""]


def test_a_table_of_counts_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "model.kinfolk")
    fitted().save(path)
    assert run(["query", path, "people by sex", "--count"]) == 0
    heads = " ".join(capsys.readouterr().out.split()).partition(" f ")[0].split()
    assert "count" in heads
    assert heads.count("share") == heads.count("weighted") == 1


def test_what_is_settled_when_tables_are_drawn_is_said() -> None:
    schema = Schema.from_text("""
group:
  table: homes
  id: home
  attributes: {size: {derived: count, values: [1, 2, 3]}, veh: {values: [0, 1, 2]}}
individual: {table: people, group_id: home, attributes: {sex: {values: [m, f]}}}
max_size: 3
oversize: first
never: ["size = 1 and veh = 2"]
on_violation: drop
workload: {k: 2}
""")
    model = HPD.random(Layout.of(schema), 2, np.random.default_rng(1))
    told = {"unit_name": "home", "epsilon": 1.0, "delta": 1e-6, "private": True, "spends": []}
    release = Release(model=model, certificate=told, groups=10, method="made up", settings={})
    assert [drawn_apart(one) for one in parse(schema, "mean veh of people by sex")] == [
        ("veh: named by rules that are kept by drawing groups again, so tables may differ a little "
         "from the model's answer.",)
    ] * 2  # fmt: skip
    (found,) = parse(schema, "mean size")
    assert drawn_apart(found)[0].startswith("size: computed from the members when tables are drawn")
    assert drawn_apart(parse(schema, "people: sex = m")[0]) == ()
    assert release.answer("mean size").errors is None
