"""The paper's methods from their settings, and the noise that the paper adds in its loop."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from generators import random_dataset
from kinfolk.methods.paper import hpd_gen, mwem
from kinfolk.methods.registry import method_named
from kinfolk.privacy import Accounting, Exponential, Gaussian
from kinfolk.privacy.certificate import check_certificate
from kinfolk.privacy.curator import Curator
from kinfolk.queries.counting import Counter
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema
from promises import IN_PLACE, certified, promise

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
DATA = random_dataset(SCHEMA, groups=400, rng=np.random.default_rng(2))


def curator(folder: Path, accounting: Accounting = Accounting.PAPER) -> Curator:
    counter = Counter(WORKLOAD)
    counter.add(DATA)
    guarantee = promise(IN_PLACE, accounting=accounting)
    return Curator(counter, guarantee=guarantee, ledger=folder / "ledger.jsonl", seed=11)


@pytest.mark.parametrize("name", ["hpd-fixed", "hpd-gen", "mwem", "pep"])
def test_a_method_is_known_by_its_name_and_its_settings_are_json(name: str) -> None:
    method = method_named(name, rounds=7)
    assert method.name == name
    assert method.settings["rounds"] == 7
    assert json.loads(json.dumps(method.settings)) == method.settings


def test_the_papers_hyperparameters_are_the_defaults() -> None:
    """Its table: alpha for all, learning rates, and the hidden layers."""
    stated = {
        "hpd-fixed": {"alpha": 0.67, "learning_rate": 0.1},
        "hpd-gen": {"alpha": 0.67, "learning_rate": 0.0001, "hidden": [512, 1024]},
        "mwem": {"alpha": 0.67},
    }
    for name, expected in stated.items():
        assert expected.items() <= dict(method_named(name).settings).items()


def test_hpd_gen_runs_in_the_loop(tmp_path: Path) -> None:
    method = hpd_gen(rounds=3, components=20, hidden=[8, 8], noise_size=4)
    with curator(tmp_path, Accounting.ZCDP) as gate:
        training = method.start(gate, rng=np.random.default_rng(1))
        training.run()
        assert check_certificate(certified(gate)) == []
    assert training.model().answer(WORKLOAD).shape == (WORKLOAD.size,)


def test_the_noise_of_the_loop_is_the_papers(tmp_path: Path) -> None:
    """Worked out by hand from its algorithm, in shares, and put into the counts measured."""
    rounds, alpha = 40, 0.67
    with curator(tmp_path) as gate:
        mwem(rounds=rounds).start(gate, rng=np.random.default_rng(1)).run()
        rho, releases = float(gate.guarantee.rho), gate.own.releases
    eps0 = math.sqrt(2 * rho / (rounds * (alpha**2 + (1 - alpha) ** 2)))
    delta = 1 / DATA.groups
    totals = {"group": DATA.groups, "individual": DATA.people}
    met = set()
    for turn in range(1, rounds + 1):
        choice, noise = releases[f"select {turn}"], releases[f"measure {turn}"]
        level = WORKLOAD.query(choice.value).marginal.level
        met.add(level)
        assert isinstance(choice.spend.mechanism, Exponential)
        assert isinstance(noise.spend.mechanism, Gaussian)
        # Scores are shares times N_G N_I.
        temperature = choice.spend.mechanism.scale / (DATA.groups * DATA.people)
        assert temperature == pytest.approx(2 * delta / (alpha * eps0), rel=1e-9)
        sigma = noise.spend.mechanism.sigma / totals[level]
        assert sigma == pytest.approx(delta / ((1 - alpha) * eps0), rel=1e-9)
    assert met == {"group", "individual"}
