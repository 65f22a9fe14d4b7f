"""The curator sells noisy answers only, at the right price, and remembers what it sold."""

from __future__ import annotations

import gc
import pickle
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from generators import random_dataset
from kinfolk.data.decode import decode
from kinfolk.data.frames import write_table
from kinfolk.errors import KinfolkError
from kinfolk.privacy import OverspendError
from kinfolk.privacy.certificate import check_certificate
from kinfolk.privacy.curator import Curator
from kinfolk.privacy.mechanisms import Exponential, Gaussian
from kinfolk.privacy.sensitivity import paired_marginals, workload_weights
from kinfolk.privacy.unit import Neighbours
from kinfolk.queries.counting import Counter, count
from kinfolk.queries.workload import Workload
from kinfolk.release.verify import recompute
from kinfolk.schema import Schema
from promises import ADD_REMOVE, IN_PLACE, REPLACE, certified, promise

SCHEMA = Schema.from_text("""
group:
  table: homes
  id: home
  attributes: {veh: {values: [0, 1, 2]}, kids: {values: [0, 1], derived: true}}
individual:
  table: people
  group_id: home
  attributes: {sex: {values: [m, f]}, age: {values: [0, 1, 2, 3, 4, 5]}}
max_size: 4
workload: {k: 2}
""")
WORKLOAD = Workload.of(SCHEMA)
DATA = random_dataset(SCHEMA, groups=300, rng=np.random.default_rng(5))
EXACT = count(DATA, WORKLOAD)


def curator(
    folder: Path,
    *,
    neighbours: Neighbours = REPLACE,
    seed: int | None = 1,
    weighted: bool = False,
) -> Curator:
    weights = workload_weights(WORKLOAD, neighbours.unit) if weighted else None
    counter = Counter(WORKLOAD, weights=weights)
    counter.add(DATA)
    guarantee = promise(neighbours, epsilon=2.0)
    return Curator(counter, guarantee=guarantee, ledger=folder / "ledger.jsonl", seed=seed)


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_a_marginal_costs_what_its_sensitivity_says(tmp_path: Path, neighbours: Neighbours) -> None:
    with curator(tmp_path, neighbours=neighbours) as gate:
        rho = gate.remaining / 4
        for marginal in range(len(WORKLOAD.marginals))[::3]:
            if gate.remaining < rho / 8:
                break
            bought = gate.measure([marginal], rho=rho / 8, step=f"measure {marginal}")
            expected = gate.view.sensitivities.of(marginal).l2_squared / (2 * bought.sigma**2)
            spend = gate.own.spends[-1]
            assert isinstance(spend.mechanism, Gaussian)
            assert float(spend.rho) == pytest.approx(expected)
            assert spend.rho <= rho / 8
            assert len(bought.values) == WORKLOAD.marginals[marginal].cells


def test_pairs_are_cheaper_together(tmp_path: Path) -> None:
    """What is asked of groups and of people alike; whatever is bought twice is paid for twice."""
    group, people = next(iter(paired_marginals(WORKLOAD)))
    with curator(tmp_path, weighted=True) as gate:
        bounds, rho = gate.view.sensitivities, gate.guarantee.rho / 8
        alone = bounds.of(group).l2_squared + bounds.of(people).l2_squared
        both = bounds.joint([people, group]).l2_squared
        assert both <= 2 * 2520**2 < 1.3 * both < alone
        assert bounds.joint([group, people, group]).l2_squared == (
            both + bounds.of(group).l2_squared
        )
        assert bounds.joint([people, people]).l2_squared == 2 * bounds.of(people).l2_squared
        gate.measure([group, people], rho=rho, step="both")
        spend = gate.own.spends[-1]
        assert isinstance(spend.mechanism, Gaussian)
        assert spend.mechanism.squared_sensitivity == both
    (tmp_path / "person").mkdir()
    with curator(tmp_path / "person", neighbours=IN_PLACE) as gate:
        assert gate.view.sensitivities.joint([group, people]).l2_squared == 4


def test_noise_has_the_stated_scale(tmp_path: Path) -> None:
    """Over a thousand cells; 6 standard errors either way are exceeded once in 5e8 runs."""
    with curator(tmp_path, seed=3) as gate:
        every = list(range(len(WORKLOAD.marginals)))
        parts = []
        for turn in range(10):
            bought = gate.measure(every, rho=gate.guarantee.rho / 10, step=f"all {turn}")
            parts.append((bought.values - EXACT) / bought.sigma)
        spread = np.concatenate(parts)
        slack = 6 * np.sqrt(2 / len(spread))
        assert abs((spread**2).mean() - 1) < slack
        assert abs(((spread / 0.67) ** 2).mean() - 1) > slack
        assert abs(((spread / 1.5) ** 2).mean() - 1) > slack


def test_selection_finds_what_is_far_off(tmp_path: Path) -> None:
    estimates = EXACT.astype(float)
    estimates[17] += 250
    with curator(tmp_path) as gate:
        assert gate.select_query(estimates, rho=gate.remaining / 4, step="one") == 17
        assert isinstance(gate.own.spends[0].mechanism, Exponential)


def test_levels_are_made_comparable_by_public_multipliers(tmp_path: Path) -> None:
    with curator(tmp_path) as gate:
        gate.select_query(
            EXACT.astype(float),
            rho=gate.remaining / 9,
            step="one",
            multipliers={"group": 7, "individual": 2},
        )
        mechanism = gate.own.spends[0].mechanism
        assert isinstance(mechanism, Exponential)
        # Q_G moves by 1 count times 7, Q_I by M = 4 counts times 2.
        assert mechanism.sensitivity == 8


def test_a_marginal_with_a_query_that_is_far_off_is_selected(tmp_path: Path) -> None:
    """By its worst query, not by the sum of many that are a little off."""
    estimates = EXACT.astype(float)
    large = max(range(len(WORKLOAD.marginals)), key=lambda at: WORKLOAD.marginals[at].cells)
    estimates[WORKLOAD.offsets[large] : WORKLOAD.offsets[large + 1]] += 30
    worst = next(at for at in range(len(WORKLOAD.marginals)) if at != large)
    estimates[WORKLOAD.offsets[worst]] -= 300
    with curator(tmp_path) as gate:
        share = gate.remaining / 4
        assert gate.select_marginal(estimates, rho=share, step="one") == worst
        # A choice that was made is made for good.
        assert gate.select_marginal(estimates, rho=share, step="one", without=[worst]) == worst
        second = gate.select_marginal(estimates, rho=share, step="two", without=[worst])
        assert second != worst
        query = gate.select_query(
            estimates, rho=share, step="three", without=[WORKLOAD.offsets[worst]]
        )
        assert query != WORKLOAD.offsets[worst]
        certificate = certified(gate)
    assert check_certificate(certificate) == []
    assert recompute(certificate, gate.view) == []
    kinds = [spend["bought"]["select"] for spend in certificate["spends"]]
    assert kinds == ["marginal", "marginal", "query"]


def test_there_must_be_something_to_choose_from(tmp_path: Path) -> None:
    every = range(len(WORKLOAD.marginals))
    with curator(tmp_path) as gate:
        with pytest.raises(KinfolkError, match="nothing is left to choose from"):
            gate.select_marginal(EXACT.astype(float), rho=gate.remaining, step="s", without=every)
        assert gate.spent == 0


def test_nothing_is_bought_twice(tmp_path: Path) -> None:
    with curator(tmp_path) as gate:
        first = gate.measure([2], rho=gate.remaining / 2, step="m")
        spent = gate.spent
        again = gate.measure([2], rho=gate.remaining / 2, step="m")
        assert gate.spent == spent
        assert first.values.tolist() == again.values.tolist()
    with curator(tmp_path) as resumed:
        assert resumed.spent == spent
        assert resumed.measure([2], rho=1, step="m").values.tolist() == first.values.tolist()


def test_without_opendp_nothing_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise KinfolkError("opendp is not installed")

    monkeypatch.setattr("kinfolk.privacy.curator.opendp", missing)
    with pytest.raises(KinfolkError, match="not installed"):
        curator(tmp_path, seed=None)
    assert not (tmp_path / "ledger.jsonl").exists()


def test_overspending_touches_nothing(tmp_path: Path) -> None:
    with curator(tmp_path) as gate:
        with pytest.raises(OverspendError):
            gate.measure([0], rho=gate.remaining * 2, step="too much")
        assert gate.spent == 0


def test_another_schema_workload_or_unit_cannot_use_the_ledger(tmp_path: Path) -> None:
    curator(tmp_path).close()
    with pytest.raises(KinfolkError, match="was begun with"):
        curator(tmp_path, neighbours=IN_PLACE)
    with pytest.raises(KinfolkError, match="was begun with"):
        curator(tmp_path, weighted=True)


def test_totals_are_public_for_the_person_unit_only(tmp_path: Path) -> None:
    """Under replace the file's number of groups is public, and not how many of them are kept."""
    with curator(tmp_path / "p", neighbours=IN_PLACE) as gate:
        assert (gate.view.groups, gate.view.people) == (DATA.groups, DATA.people)
        assert gate.groups == DATA.groups
    for neighbours, read in ((REPLACE, DATA.groups), (ADD_REMOVE, None)):
        folder = tmp_path / neighbours.value
        folder.mkdir()
        with curator(folder, neighbours=neighbours) as gate:
            assert (gate.view.groups, gate.view.people) == (None, None)
            assert gate.view.groups_read == read
            assert gate.groups is None
            noisy = gate.measure_groups(rho=gate.remaining / 2)
            mechanism = gate.own.spends[0].mechanism
            assert isinstance(mechanism, Gaussian)
            assert mechanism.squared_sensitivity == 1
            assert abs(noisy - DATA.groups) < 6 * mechanism.sigma
            assert gate.groups == noisy
            assert read is None or noisy <= read
        text = (folder / "ledger.jsonl").read_text(encoding="utf-8")
        assert (f'"groups_read":{DATA.groups}' in text) is (neighbours is REPLACE)
        assert '"groups":300' not in text
        assert f'"people":{DATA.people}' not in text


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()


def test_exact_counts_are_never_for_sale(tmp_path: Path) -> None:
    """The household's own attributes are public under `person`, and still get noise."""
    with curator(tmp_path, neighbours=IN_PLACE) as gate:
        own = next(
            index
            for index, marginal in enumerate(WORKLOAD.marginals)
            if marginal.level == "group" and marginal.group == (0, 2)
        )
        assert gate.view.sensitivities.of(own).l2_squared == 1
        gate.measure([own], rho=gate.remaining / 2, step="own")
        assert gate.spent > 0


def test_no_public_part_of_a_curator_holds_the_counts(tmp_path: Path) -> None:
    """Walk everything reachable from the curator without its private names."""
    with curator(tmp_path) as gate:
        gate.measure([0], rho=gate.remaining / 2, step="m")
        seen: set[int] = set()
        todo = [value for name, value in vars(gate).items() if not name.startswith("_")]
        todo += [gate.account, gate.own, gate.view, gate.spent, gate.remaining, repr(gate)]
        while todo:
            value = todo.pop()
            if id(value) in seen or isinstance(value, type) or callable(value):
                continue
            seen.add(id(value))
            if isinstance(value, np.ndarray):
                assert value.shape != EXACT.shape or not np.array_equal(value, EXACT)
            elif isinstance(value, str | int | float | Fraction):
                continue
            else:
                todo += gc.get_referents(value)
        with pytest.raises(TypeError, match="never copied or saved"):
            pickle.dumps(gate)


def test_the_ledger_holds_released_values_only(tmp_path: Path) -> None:
    with curator(tmp_path) as gate:
        gate.measure([1], rho=gate.remaining / 100, step="m")
    text = (tmp_path / "ledger.jsonl").read_text(encoding="utf-8")
    place = slice(WORKLOAD.offsets[1], WORKLOAD.offsets[2])
    assert ", ".join(map(str, EXACT[place])) not in text
    assert str(DATA.people) not in text


def test_estimates_must_fit(tmp_path: Path) -> None:
    with curator(tmp_path) as gate:
        for bad in (np.zeros(3), np.full(WORKLOAD.size, np.nan)):
            with pytest.raises(KinfolkError, match="one per query"):
                gate.select_query(bad, rho=gate.remaining, step="s")
        assert gate.spent == 0


def test_the_certificate_of_a_run_holds(tmp_path: Path) -> None:
    with curator(tmp_path, seed=None) as gate:
        gate.measure([0, 1], rho=gate.remaining / 2, step="m")
        gate.select_query(np.zeros(WORKLOAD.size), rho=gate.remaining / 2, step="s")
        certificate = certified(gate)
    assert check_certificate(certificate) == []
    assert certificate["private"] is True
    assert certificate["unit_name"] == "home"
    assert certificate["domain"] == "declared"
    assert len(certificate["spends"]) == 2


def test_files_and_frames_are_counted_alike(tmp_path: Path) -> None:
    tables = decode(DATA, rng=np.random.default_rng(0))
    paths = {name: tmp_path / f"{name}.parquet" for name in tables}
    for name, table in tables.items():
        write_table(table, paths[name])
    bought = []
    for number, source in enumerate((tables, paths)):
        ledger = tmp_path / f"ledger{number}.jsonl"
        guarantee = promise()
        with Curator.of_tables(
            source, WORKLOAD, guarantee=guarantee, ledger=ledger, seed=8
        ) as gate:
            bought.append(gate.measure([3], rho=gate.remaining, step="m").values.tolist())
    assert bought[0] == bought[1]


def test_the_number_of_people_is_bought_or_public(tmp_path: Path) -> None:
    with curator(tmp_path / "p", neighbours=IN_PLACE) as gate:
        assert gate.measure_people(groups=DATA.groups, rho=gate.remaining) == DATA.people
        assert gate.spent == 0
    with curator(tmp_path) as gate:
        noisy = gate.measure_people(groups=DATA.groups, rho=gate.remaining / 2)
        mechanism = gate.own.spends[0].mechanism
        assert isinstance(mechanism, Gaussian)
        # A household of four by one that cleaning drops.
        assert mechanism.squared_sensitivity == 16
        assert abs(noisy - DATA.people) < 6 * mechanism.sigma
