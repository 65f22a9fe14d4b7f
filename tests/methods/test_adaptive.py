"""The paper's loop with MWEM, PEP and HPD-Fixed: it learns, spends its budget, and resumes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from generators import random_dataset
from kinfolk.errors import KinfolkError
from kinfolk.methods.adaptive import AdaptiveMeasurements
from kinfolk.methods.explicit import MWEM, PEP
from kinfolk.methods.fixed import FixedSettings, HPDFixed
from kinfolk.privacy.certificate import check_certificate
from kinfolk.privacy.curator import Curator
from kinfolk.privacy.sensitivity import workload_weights
from kinfolk.privacy.unit import Neighbours
from kinfolk.queries.counting import Counter, count
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema
from promises import IN_PLACE, REPLACE, certified, promise

SCHEMA = Schema.from_text("""
group: {table: homes, id: home, attributes: {veh: {values: [0, 1, 2]}}}
individual:
  table: people
  group_id: home
  attributes: {sex: {values: [m, f]}, old: {values: [0, 1]}}
max_size: 3
workload: {k: 2}
""")
WORKLOAD = Workload.of(SCHEMA)


def skewed() -> Any:
    data = random_dataset(SCHEMA, groups=4000, rng=np.random.default_rng(2))
    data.group[:3000] = 0
    data.individual[:6000, 1] = data.individual[:6000, 0]
    return data


DATA = skewed()
TOTALS = {"group": DATA.groups, "individual": DATA.people}
TRUE = count(DATA, WORKLOAD) / np.concatenate(
    [np.full(marginal.cells, TOTALS[marginal.level]) for marginal in WORKLOAD.marginals]
)


def curator(
    folder: Path, neighbours: Neighbours = REPLACE, *, weights: np.ndarray | None = None
) -> Curator:
    counter = Counter(WORKLOAD, weights=weights)
    counter.add(DATA)
    guarantee = promise(neighbours, epsilon=2.0, delta=1e-8)
    return Curator(counter, guarantee=guarantee, ledger=folder / "ledger.jsonl", seed=11)


def learner(name: str, *, rounds: int = 30) -> MWEM | PEP | HPDFixed:
    rng = np.random.default_rng(1)
    if name == "pep":
        return PEP(WORKLOAD)
    if name == "mwem":
        return MWEM(WORKLOAD, rng=rng)
    settings = FixedSettings(components=50)
    return HPDFixed(WORKLOAD, rounds=rounds, rng=rng, settings=settings)


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize(("name", "improvement"), [("mwem", 2.0), ("pep", 8.0), ("hpd-fixed", 5.0)])
def test_it_learns_and_spends_no_more_than_it_has(
    tmp_path: Path, neighbours: Neighbours, name: str, improvement: float
) -> None:
    model = learner(name)
    before = np.abs(model.answer() - TRUE).mean()
    with curator(tmp_path, neighbours) as gate:
        AdaptiveMeasurements(rounds=30).run(gate, model)
        assert 0 <= gate.remaining < gate.guarantee.rho / 10**6
        assert check_certificate(certified(gate)) == []
        bought = [spend.key for spend in gate.own.spends]
        assert bought == [step.key for step in AdaptiveMeasurements(rounds=30).steps(gate.view)]
    totals = [] if neighbours is IN_PLACE else ["groups", "people"]
    assert bought[: len(totals)] == totals
    assert len(bought) == 60 + len(totals)
    after = np.abs(model.model().answer(WORKLOAD) - TRUE).mean()
    assert after * improvement < before


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize(("name", "improvement"), [("mwem", 2.0), ("pep", 8.0), ("hpd-fixed", 5.0)])
def test_whole_marginals_are_measured_and_learnt_from(
    tmp_path: Path, neighbours: Neighbours, name: str, improvement: float
) -> None:
    every = len(WORKLOAD.marginals)
    loop = AdaptiveMeasurements(rounds=every + 1, measure="marginal", repeats=False, clip=True)
    model = learner(name, rounds=loop.rounds)
    before = np.abs(model.answer() - TRUE).mean()
    with curator(tmp_path, neighbours) as gate:
        loop.run(gate, model)
        assert 0 <= gate.remaining < gate.guarantee.rho / 10**6
        assert check_certificate(certified(gate)) == []
        spends = [spend for spend in gate.own.spends if spend.key.startswith("measure ")]
        squares = {
            gate.view.sensitivities.of(at).l2_squared for at in range(len(WORKLOAD.marginals))
        }
        assert {spend.mechanism.squared_sensitivity for spend in spends} == squares
        chosen = [
            one.value for one in gate.own.releases.values() if one.spend.key.startswith("select ")
        ]
    # Each once, before one of them is chosen again.
    assert sorted(chosen[:every]) == list(range(every))
    after = np.abs(model.model().answer(WORKLOAD) - TRUE).mean()
    assert after * improvement < before


def test_a_share_is_clipped_if_that_is_asked_for(tmp_path: Path) -> None:
    class Listener:
        """Learns nothing; knows what it was taught."""

        def answer(self) -> np.ndarray:
            return np.full(WORKLOAD.size, 0.5)

        def learn(self, queries: Sequence[int], shares: np.ndarray) -> None:
            self.shares = shares

    told = []
    for clip in (False, True):
        folder = tmp_path / str(clip)
        folder.mkdir()
        listener = Listener()
        counter = Counter(WORKLOAD)
        counter.add(DATA)
        weak = promise(IN_PLACE, epsilon=0.01, delta=1e-8)
        with Curator(counter, guarantee=weak, ledger=folder / "l.jsonl", seed=11) as gate:
            AdaptiveMeasurements(rounds=20, clip=clip).run(gate, listener)
        told.append(listener.shares)
    assert told[0].min() < 0
    np.testing.assert_array_equal(told[1], told[0].clip(0, 1))


def test_what_is_measured_is_known() -> None:
    with pytest.raises(KinfolkError, match=r"measure is 'cell'\. Choose one of 'query'"):
        AdaptiveMeasurements(measure="cell")


def test_mwem_releases_the_last_distribution_if_that_is_asked_for(tmp_path: Path) -> None:
    found = {}
    for iterate in ("average", "last"):
        (tmp_path / iterate).mkdir()
        model = MWEM(WORKLOAD, rng=np.random.default_rng(1), iterate=iterate)
        with curator(tmp_path / iterate) as gate:
            AdaptiveMeasurements(rounds=6).run(gate, model)
        found[iterate] = model.model().answer(WORKLOAD)
        np.testing.assert_array_equal(model.answer(), model._now.answer(WORKLOAD))
        if iterate == "last":
            np.testing.assert_array_equal(found[iterate], model.answer())
    # The average has the uniform distribution in it.
    errors = {iterate: np.abs(one - TRUE).mean() for iterate, one in found.items()}
    assert errors["last"] < errors["average"]
    with pytest.raises(KinfolkError, match=r"iterate is 'best'\. Choose one of 'average', 'last'"):
        MWEM(WORKLOAD, rng=np.random.default_rng(1), iterate="best")


@pytest.mark.parametrize("name", ["mwem", "hpd-fixed"])
def test_a_resumed_run_ends_where_an_uninterrupted_one_does(tmp_path: Path, name: str) -> None:
    class InterruptionError(Exception):
        pass

    def stop(turn: int) -> None:
        if turn == 4:
            raise InterruptionError

    with curator(tmp_path) as gate, pytest.raises(InterruptionError):
        AdaptiveMeasurements(rounds=8).run(gate, learner(name, rounds=8), progress=stop)
    resumed = learner(name, rounds=8)
    with curator(tmp_path) as gate:
        AdaptiveMeasurements(rounds=8).run(gate, resumed)
        spends = len(gate.own.spends)
    (tmp_path / "other").mkdir()
    straight = learner(name, rounds=8)
    with curator(tmp_path / "other") as gate:
        AdaptiveMeasurements(rounds=8).run(gate, straight)
        assert len(gate.own.spends) == spends
    np.testing.assert_array_equal(resumed.answer(), straight.answer())


def test_weighted_counts_are_refused(tmp_path: Path) -> None:
    weights = workload_weights(WORKLOAD, REPLACE.unit)
    with (
        curator(tmp_path, weights=weights) as gate,
        pytest.raises(KinfolkError, match="Count without weights"),
    ):
        AdaptiveMeasurements(rounds=2).run(gate, learner("mwem"))
