"""Numbers in a release: bought, fitted, kept in the model file, and drawn as they were learnt."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow.csv import read_csv

from kinfolk import KinfolkError, Schema, Synthesizer, load
from kinfolk.cli.main import run
from kinfolk.data.shapes import SHARES
from kinfolk.methods.allocate import BY_BINS, FINELY, planned_purchases
from kinfolk.methods.marginals import Marginals
from kinfolk.privacy.curator import Curator
from kinfolk.queries.workload import Workload
from kinfolk.release.file import EXTRA, read_archive, write_archive
from kinfolk.release.verify import verify
from promises import REPLACE, promise

SCHEMA = Schema.from_text("""
group:
  table: homes
  id: home
  attributes:
    rent: {bins: [0, 1000, 100000], special: [0], decimals: 2}
    weight: {bins: [0, 50, 100]}
individual:
  table: people
  group_id: home
  attributes:
    sex: {values: [m, f]}
    hours: {bins: [0, 30, 45, 60], integer: true, missing: true}
max_size: 3
workload: {k: 2}
""")
QUICK: dict[str, Any] = {"components": 20, "parts": 1, "replicates": 0, "max_passes": 10}


def tables(groups: int = 4000) -> dict[str, pa.Table]:
    """Half pay no rent and the others 980 to 1000 or, some, about 1500; most work 40 hours."""
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 4, size=groups)
    people = int(sizes.sum())
    rent = np.where(rng.random(groups) < 0.8, rng.uniform(980, 1000, groups), 0)
    rent = np.where(rng.random(groups) < 0.3, 1000 + rng.exponential(500, groups), rent)
    rent[rng.random(groups) < 0.5] = 0
    hours = np.where(rng.random(people) < 0.8, 40, rng.integers(0, 61, people))
    return {
        "homes": pa.table(
            {
                "home": np.arange(groups),
                "rent": rent.round(2),
                "weight": rng.uniform(40, 60, groups),
            }
        ),
        "people": pa.table(
            {
                "home": np.repeat(np.arange(groups), sizes),
                "sex": np.array(["m", "f"])[rng.integers(2, size=people)],
                "hours": pa.array(hours, mask=rng.random(people) < 0.1),
            }
        ),
    }


def fitted(**told: Any) -> Synthesizer:
    settings = {"unit": "household", "epsilon": 8.0, "delta": 1e-6, "seed": 5, **QUICK, **told}
    return Synthesizer(
        replace(SCHEMA, group=replace(SCHEMA.group, table="households")), **settings
    ).fit({"households": tables()["homes"], "people": tables()["people"]})


@pytest.fixture(scope="module")
def made() -> Synthesizer:
    return fitted()


def test_numbers_are_drawn_as_they_lie_in_their_bins(made: Synthesizer) -> None:
    real, drawn = tables(), made.sample(8000, seed=2)
    rent, true = drawn["households"]["rent"].to_numpy(), real["homes"]["rent"].to_numpy()
    assert abs((rent == 0).mean() - (true == 0).mean()) < 0.03
    small, small_true = (x[(x > 0) & (x < 1000)] for x in (rent, true))
    assert small.mean() == pytest.approx(small_true.mean(), rel=0.05)
    large, large_true = (x[x >= 1000] for x in (rent, true))
    assert large.mean() == pytest.approx(large_true.mean(), rel=0.15)
    assert rent.mean() == pytest.approx(true.mean(), rel=0.08)
    hours = drawn["people"]["hours"].drop_null().to_numpy()
    assert abs((hours == 40).mean() - 0.8) < 0.06
    assert hours.min() >= 0
    assert hours.max() <= 60


def test_a_run_that_stopped_before_the_cells_goes_on(tmp_path: Path) -> None:
    method = Marginals(**QUICK)
    guarantee = promise(REPLACE, epsilon=8.0, accounting=method.accounting)

    def shares(ledger: str, *, stop: bool = False) -> Any:
        gate = Curator.of_tables(
            tables(400),
            method.asks(Workload.of(SCHEMA)),
            guarantee=guarantee,
            ledger=tmp_path / ledger,
            seed=1,
            size_weighted=True,
        )
        with gate:
            training = method.start(gate, rng=np.random.default_rng(1))
            if stop:
                planned = planned_purchases(gate.view.knowing(groups=400))
                for key, one in planned.items():
                    if key != FINELY:
                        gate.measure(one.marginals, rho=one.rho, step=key)
                return None
            training.run()
            assert [one.key for one in gate.own.spends].count(FINELY) == 1
            assert gate.spent <= guarantee.rho
            return training.extra()[SHARES]

    shares("stopped", stop=True)
    np.testing.assert_array_equal(shares("stopped"), shares("whole"))


def test_without_shapes_numbers_are_drawn_evenly(made: Synthesizer) -> None:
    even = replace(made.release, extra={})
    assert even.shapes is None
    hours = even.sample(4000, seed=2)["people"]["hours"].drop_null().to_numpy()
    assert (hours == 40).mean() < 0.1


def test_a_file_keeps_the_shapes(made: Synthesizer, tmp_path: Path) -> None:
    path = tmp_path / "model.kinfolk"
    made.save(path)
    again = load(path)
    assert again.shapes is not None
    for name, table in made.release.sample(300, seed=1).items():
        assert table.equals(again.sample(300, seed=1)[name])
    header, arrays = read_archive(path)
    arrays[EXTRA + SHARES] = arrays[EXTRA + SHARES][:-1]
    write_archive(path, header, arrays)
    with pytest.raises(KinfolkError, match="certificate of another model"):
        load(path)


def test_files_are_written_with_the_shapes(made: Synthesizer, tmp_path: Path) -> None:
    made.save(tmp_path / "model.kinfolk")
    assert run(["sample", str(tmp_path / "model.kinfolk"), "-o", str(tmp_path / "out")]) == 0
    hours = read_csv(tmp_path / "out" / "people.csv")["hours"].drop_null().to_numpy()
    assert (hours == 40).mean() > 0.5


@pytest.mark.parametrize(
    "told",
    [{"neighbours": "add-remove"}, {"neighbours": "replace"}, {"unit": "person"}],
    ids=lambda told: next(iter(told.values())),
)
def test_the_certificate_says_what_was_bought(told: dict[str, str]) -> None:
    maker = fitted(**told, max_passes=1, components=3)
    stated = json.loads(json.dumps(dict(maker.release.certificate)))
    schema = maker.release.schema
    assert verify(stated, schema) == []
    spends = {spend["step"]: spend for spend in stated["spends"]}
    for step, how in ((BY_BINS, "by bins"), (FINELY, "finely")):
        bought = spends[step]["bought"]["marginals"]
        assert [one.get("group", one.get("individual")) for one in bought] == [
            ["rent"],
            ["weight"],
            ["hours"],
        ]
        assert {one["number"] for one in bought} == {how}
    # One number less, or something that is no number: either is found out.
    for change in (
        lambda spend: spend["bought"]["marginals"].pop(),
        lambda spend: spend["bought"]["marginals"][-1].update(individual=["sex"]),
    ):
        forged = copy.deepcopy(stated)
        change(forged["spends"][list(spends).index(FINELY)])
        assert verify(forged, schema) != []
