"""The experiments, small: what is written, resumed, refused and labelled."""

from __future__ import annotations

import csv
import math
import re
import stat
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kinfolk.cli.main import run
from kinfolk.data.frames import write_table
from kinfolk.errors import KinfolkError
from kinfolk.experiments import reproducing as harness
from kinfolk.experiments.grid import Result, Run, RunFile, experiment_named, grid_for
from kinfolk.experiments.reproducing import perform, reproduce, settings_of, simulated_dataset
from kinfolk.experiments.results import BEST, Estimate, figures, summarise
from kinfolk.experiments.simulate import simulate_tables

SMALL = ["--components", "5", "--seeds", "2", "--epsilon", "0.5", "--epsilon", "1", "--jobs", "1"]
FIXED = ["--method", "hpd-fixed", "--rounds", "2", "--rounds", "3"]
DATA = ["--groups", "300"]


def small(output: Path, *more: str, data: list[str] = DATA) -> int:
    return run(["reproduce", "acs-red", *SMALL, *FIXED, *data, "-o", str(output), *more])


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """HPD-Fixed and MWEM, at two epsilons."""
    output = tmp_path_factory.mktemp("finished")
    assert small(output, "--method", "mwem") == 0
    return output


def test_every_run_is_written_once_and_summarised(finished: Path) -> None:
    runs = rows(finished / "runs.csv")
    keys = {(one["method"], one["epsilon"], one["rounds"], one["seed"]) for one in runs}
    assert len(runs) == len(keys) == 2 * 2 * 2 * 2
    # Luck is not shared: no two runs end alike.
    assert len({one["mean_error"] for one in runs}) == len(runs)
    summary = rows(finished / "summary.csv")
    assert len(summary) == 8
    one = next(row for row in summary if row["method"] == "mwem" and row["rounds"] == "3")
    same = [
        float(row["max_error"])
        for row in runs
        if (row["method"], row["rounds"], row["epsilon"]) == ("mwem", "3", one["epsilon"])
    ]
    assert float(one["max_error"]) == pytest.approx(sum(same) / 2, rel=1e-4)
    assert float(one["max_error_se"]) == pytest.approx(abs(same[0] - same[1]) / 2, rel=1e-4)


def test_everything_says_what_it_is(finished: Path) -> None:
    drawn = {path.name for path in finished.glob("*.svg")}
    assert drawn == {"errors.svg", "rounds.svg"}
    for name in ("summary.md", *drawn):
        text = (finished / name).read_text(encoding="utf-8")
        assert "NOT PRIVATE" in text
        assert "SIMULATED DATA in place of ACS (red.) NY-19: 300 groups" in text
    for name in ("summary.md", "errors.svg"):
        assert BEST in (finished / name).read_text(encoding="utf-8")
    for name in ("settings.json", "summary.csv", "runs.csv"):
        assert "NOT PRIVATE" in (finished / name).read_text(encoding="utf-8")


def test_true_errors_are_for_their_owner_alone(finished: Path) -> None:
    written = [path for path in finished.rglob("*") if path.is_file()]
    assert {path.name for path in written} >= {"runs.csv", "summary.csv", "summary.md"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in written} == {0o600}


def test_a_line_for_every_method_in_every_panel(finished: Path) -> None:
    root = ElementTree.parse(finished / "errors.svg").getroot()  # noqa: S314  (our own file)
    panels = root.findall("{http://www.w3.org/2000/svg}g")
    lines = [
        [path for path in panel.iter() if path.get("class", "").startswith("line ")]
        for panel in panels
    ]
    assert [len(one) for one in lines] == [2, 2]
    for path in (path for panel in lines for path in panel):
        numbers = [float(number) for number in re.findall(r"-?[\d.]+", path.get("d", ""))]
        assert len(numbers) == 4
        assert all(0 <= number <= 340 for number in numbers)
    words = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"HPD-Fixed", "MWEM", "Max error", "Mean error"} <= set(words)


def test_a_second_call_does_only_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert small(tmp_path) == 0
    before = (tmp_path / "runs.csv").read_text(encoding="utf-8")
    # As a crash in the middle of a line leaves it: the last run is lost, no more.
    (tmp_path / "runs.csv").write_text(before[:-9], encoding="utf-8")
    assert small(tmp_path) == 0
    after = (tmp_path / "runs.csv").read_text(encoding="utf-8").splitlines()
    assert after[:-1] == before.splitlines()[:-1]
    # The same seed gives the same run; only the time it took differs.
    assert after[-1].split(",")[:9] == before.splitlines()[-1].split(",")[:9]

    def none(*told: object, **more: object) -> Result:
        raise AssertionError("everything is there")

    monkeypatch.setattr(harness, "perform", none)
    assert small(tmp_path) == 0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (["--components", "6"], "methods.hpd-fixed.components = 5, not 6"),
        (["--accounting", "zcdp"], "accounting = 'paper', not 'zcdp'"),
        (["--groups", "301"], "groups = 300, not 301"),
    ],
)
def test_runs_with_other_settings_are_refused(
    finished: Path, capsys: pytest.CaptureFixture[str], change: list[str], says: str
) -> None:
    before = (finished / "runs.csv").read_bytes(), (finished / "settings.json").read_bytes()
    assert small(finished, *change) == 2
    assert says in capsys.readouterr().err
    assert (
        (finished / "runs.csv").read_bytes(),
        (finished / "settings.json").read_bytes(),
    ) == before


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("settings.json", "[]", "holds no settings of runs"),
        ("settings.json", None, "there is no settings.json beside it"),
        ("runs.csv", "a,b\n", "is not a file of runs"),
        ("runs.csv", "{head}\nall,mwem,much\n", "line 2 is not a run"),
    ],
)
def test_files_of_something_else_are_refused(
    finished: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    text: str | None,
    says: str,
) -> None:
    for kept in ("settings.json", "runs.csv"):
        (tmp_path / kept).write_bytes((finished / kept).read_bytes())
    if text is None:
        (tmp_path / name).unlink()
    else:
        head = (finished / "runs.csv").read_text(encoding="utf-8").splitlines()[0]
        (tmp_path / name).write_text(text.replace("{head}", head), encoding="utf-8")
    assert small(tmp_path) == 2
    assert says in capsys.readouterr().err


def test_an_interrupted_call_keeps_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real, calls = harness.perform, []

    def twice(*told: object, scratch: Path) -> Result:
        calls.append(told)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return real(*told, scratch=scratch)  # type: ignore[arg-type]

    monkeypatch.setattr(harness, "perform", twice)
    assert small(tmp_path) == 130
    assert "2 runs are finished" in capsys.readouterr().err
    assert len(rows(tmp_path / "runs.csv")) == 2
    assert (tmp_path / "summary.md").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["acs-blue"], "no experiment is called 'acs-blue'. There are: acs-red, acs,"),
        (["acs", "--method", "mwem"], "a method that lists them takes 3,000,000"),
        (["acs-red", "--method", "gem"], "no method is called 'gem'"),
        (["acs-red", "--seeds", "0"], "seeds is 0"),
        (["acs-red", "--method", "mwem", "--rounds", "0"], "rounds is 0"),
        (["acs-red", "--tables", "a", "b", "--groups", "5"], "--groups is for simulated data"),
        (["afst", "--ipums", "a.dat"], "afst is not made from a census extract"),
    ],
)
def test_what_cannot_be_run_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    assert run(["reproduce", *arguments, "-o", str(tmp_path / "out")]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_users_own_data_is_not_called_simulated(tmp_path: Path) -> None:
    """The same households as two tables and as an IPUMS extract: the same errors."""
    tables = simulate_tables("acs-red", groups=300, seed=1)
    paths = {name: tmp_path / f"{name}.parquet" for name in tables}
    for name, rows_of in tables.items():
        write_table(rows_of, paths[name])
    homes = {home["SERIAL"]: home for home in tables["households"].to_pylist()}
    extract = tmp_path / "usa_00001.csv"
    with extract.open("w", encoding="utf-8", newline="") as file:
        people = tables["persons"].to_pylist()
        known = {"YEAR": 2019, "SAMPLE": 201901, "GQ": 1, "STATEFIP": 36, "PERNUM": 1}
        # 2, not married, is 6 in the codebook: never married.
        whole = [
            {**known, **homes[one["SERIAL"]], **one, "MARST": {1: 1, 2: 6}[one["MARST"]]}
            for one in people
        ]
        lines = csv.DictWriter(file, whole[0])
        lines.writeheader()
        lines.writerows(whole)
    told = {
        "households.parquet and persons.parquet": ["--tables", *map(str, paths.values())],
        "IPUMS extract usa_00001.csv": ["--ipums", str(extract)],
    }
    found = []
    for number, (source, data) in enumerate(told.items()):
        output = tmp_path / str(number)
        assert small(output, data=data) == 0
        text = (output / "summary.md").read_text(encoding="utf-8")
        assert f"Data: {source}, 300 groups" in text
        assert "SIMULATED" not in text
        found.append([one["max_error"] for one in rows(output / "runs.csv")])
    assert found[0] == found[1]


def test_quick_says_what_it_leaves_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--quick", *SMALL, "--method", "mwem", "--rounds", "2", *DATA]
    assert run(["reproduce", "acs-red", *arguments, "-o", str(tmp_path)]) == 0
    told = capsys.readouterr().err
    assert "T of mwem 2 (100, 200, 300, 400, 500, 750, 1000)" in told
    assert "K of hpd-fixed 5 (we assume 1000), of hpd-gen 100 (1000)" in told


def result(run: Run, error: float) -> Result:
    errors = {
        "max_error": error,
        "mean_error": error / 5,
        "sampled_max_error": error,
        "sampled_mean_error": error / 5,
    }
    return Result(run=run, errors=errors, seconds=1.0)


def test_the_best_rounds_have_the_least_mean_of_the_max_error() -> None:
    # T = 50 has the best single run, T = 100 the best mean.
    errors = {50: (0.1, 0.7), 100: (0.3, 0.3), 200: (0.4, 0.5)}
    cells = summarise(
        result(Run("all", "mwem", 1.0, rounds, seed), error)
        for rounds, both in errors.items()
        for seed, error in enumerate(both)
    )
    assert [cell.rounds for cell in cells if cell.best] == [100]
    assert math.isnan(Estimate.of([0.1]).error)


def test_both_kinds_of_noise_and_every_set_of_queries_have_figures() -> None:
    runs = [
        Run(queries, method, epsilon, 50, seed)
        for queries in ("relation", "all")
        for method in ("hpd-fixed", "hpd-gen", "hpd-gen-resampled")
        for epsilon in (0.25, 1.0)
        for seed in (1, 2)
    ]
    cells = summarise(result(run, 0.01 * run.seed / run.epsilon) for run in runs)
    drawn = figures(cells, title="acs-rel", notes=["NOT PRIVATE"])
    assert set(drawn) == {
        f"{name}-{queries}.svg" for name in ("errors", "noise") for queries in ("relation", "all")
    }
    assert "HPD-Gen, resampled noise" in drawn["noise-all.svg"]
    assert "HPD-Gen, resampled noise" not in drawn["errors-all.svg"]
    assert "HPD-Fixed" not in drawn["noise-all.svg"]


def test_more_budget_means_smaller_errors(tmp_path: Path) -> None:
    """Epsilon reaches the noise: 100 times the epsilon, and the error is a fraction."""
    experiment = experiment_named("acs-red")
    grid = grid_for(
        experiment,
        methods=["hpd-fixed"],
        rounds=[20],
        epsilons=(0.01, 10.0),
        seeds=1,
        components=20,
    )
    dataset = simulated_dataset(experiment, grid.schema, groups=2000)
    noisy, clear = (
        perform(grid, dataset, one, scratch=tmp_path).errors["max_error"] for one in grid.runs()
    )
    assert clear < noisy / 2


@pytest.mark.slow
def test_processes_give_what_one_process_gives(tmp_path: Path) -> None:
    experiment = experiment_named("acs-rel")
    grid = grid_for(
        experiment, methods=["hpd-fixed"], rounds=[2], epsilons=(1.0,), seeds=1, components=3
    )
    dataset = simulated_dataset(experiment, grid.schema, groups=200)
    found = []
    for jobs in (1, 2):
        records = RunFile.open(tmp_path / str(jobs), settings_of(grid, dataset))
        reproduce(grid, dataset, records, jobs=jobs)
        found.append({run: result.errors for run, result in records.results.items()})
    assert found[0] == found[1]
    assert {run.queries for run in found[0]} == {"relation", "all"}


def test_no_jobs_is_refused(tmp_path: Path) -> None:
    experiment = experiment_named("acs-red")
    grid = grid_for(experiment, methods=["mwem"], rounds=[1], seeds=1)
    dataset = simulated_dataset(experiment, grid.schema, groups=10)
    with pytest.raises(KinfolkError, match="jobs is 0"):
        reproduce(grid, dataset, RunFile.open(tmp_path, settings_of(grid, dataset)), jobs=0)
