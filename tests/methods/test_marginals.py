"""Whole marginals: what is bought, what it costs, what is learnt, and when a fit should end."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from generators import random_dataset
from kinfolk.datasets import load_schema
from kinfolk.errors import KinfolkError
from kinfolk.methods.allocate import (
    GROUP_ATTRIBUTES,
    LEAST_SHARE,
    MOST_SHARE,
    NOISIEST,
    NOISY,
    ROLES,
    SIZES,
    TINY_SHARE,
    allocate_budget,
    noisy,
    not_bought,
    planned_purchases,
    too_noisy,
)
from kinfolk.methods.marginals import Marginals
from kinfolk.methods.method import (
    LEAST_GROUPS_SHARE,
    MOST_GROUPS_SHARE,
    NothingLearntError,
    first_steps,
)
from kinfolk.methods.mixture_fit import Measured, MixtureFit, choose_passes, joined
from kinfolk.methods.priority import IN_COMMON, priority
from kinfolk.methods.refits import deal_batches
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.models.mixture.prepared import Prepared
from kinfolk.privacy.accounting import Accounting
from kinfolk.privacy.certificate import check_certificate
from kinfolk.privacy.curator import Curator
from kinfolk.privacy.sensitivity import paired_marginals, workload_weights
from kinfolk.privacy.unit import Neighbours
from kinfolk.privacy.view import PublicView, Sensitivities
from kinfolk.queries.added_marginals import (
    coarse_marginal,
    is_roles,
    is_sizes,
    with_lower_orders,
)
from kinfolk.queries.counting import Counter, count
from kinfolk.queries.naming import describe_marginal
from kinfolk.queries.workload import Marginal, Workload, order_of
from kinfolk.schema import Schema
from kinfolk.schema.bins import is_everybodys
from promises import ADD_REMOVE, IN_PLACE, REPLACE, certified, promise

SCHEMA = Schema.from_text("""
group:
  table: homes
  id: home
  attributes: {veh: {values: [0, 1, 2]}, own: {values: [0, 1]}}
individual:
  table: people
  group_id: home
  attributes: {sex: {values: [m, f]}, old: {values: [0, 1]}, job: {values: [0, 1, 2]}}
max_size: 3
workload: {k: 2}
""")
WORKLOAD = Workload.of(SCHEMA)
LAYOUT = Layout.of(SCHEMA)


def skewed(groups: int = 4000) -> object:
    data = random_dataset(SCHEMA, groups=groups, rng=np.random.default_rng(2))
    data.group[: groups * 3 // 4] = 0
    data.individual[: groups * 3 // 2, 1] = data.individual[: groups * 3 // 2, 0]
    return data


DATA = skewed()
TRUE = count(DATA, WORKLOAD) / np.repeat(
    [DATA.groups if marginal.level == "group" else DATA.people for marginal in WORKLOAD.marginals],
    [marginal.cells for marginal in WORKLOAD.marginals],
)


def curator(
    folder: Path,
    neighbours: Neighbours,
    *,
    method: Marginals,
    epsilon: float = 2.0,
    data: object = DATA,
) -> Curator:
    asked = method.asks(WORKLOAD)
    counter = Counter(asked, weights=workload_weights(asked, neighbours.unit))
    counter.add(data)
    guarantee = promise(neighbours, epsilon=epsilon, delta=1e-8)
    return Curator(counter, guarantee=guarantee, ledger=folder / "ledger.jsonl", seed=11)


def view(gate: Curator, groups: int = DATA.groups) -> PublicView:
    """What is public once the number of groups is known."""
    return gate.view.knowing(groups=groups)


SMALL = Marginals(components=40, parts=2, replicates=2, max_passes=15)


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_it_learns_and_spends_all_it_has(tmp_path: Path, neighbours: Neighbours) -> None:
    with curator(tmp_path, neighbours, method=SMALL) as gate:
        training = SMALL.start(gate, rng=np.random.default_rng(1))
        blank = HPD.random(LAYOUT, components=40, rng=np.random.default_rng(1))
        before = np.abs(blank.answer(WORKLOAD) - TRUE).mean()
        training.run()
        assert 0 <= gate.remaining < gate.guarantee.rho / 10**6
        assert check_certificate(certified(gate)) == []
        bought = [spend.key for spend in gate.own.spends]
        assert bought == [step.key for step in SMALL.steps(view(gate))]
        assert ("groups" in bought) is (neighbours is not IN_PLACE)
    model = training.model()
    assert model.components == 40
    assert np.abs(model.answer(WORKLOAD) - TRUE).mean() < before / 5
    assert training.extra()["replicates"].shape == (2, LAYOUT.rows, 20)


def test_a_handful_of_marginals_is_fitted_to_within_the_noise(tmp_path: Path) -> None:
    """Step by step on single marginals, a fit would end at many times the noise."""
    method = Marginals(components=40, parts=2, replicates=0)
    with curator(tmp_path, REPLACE, method=method, epsilon=8.0) as gate:
        training = method.start(gate, rng=np.random.default_rng(1))
        training.run()
        bought = training._buy(lambda *_: None)
        batches = deal_batches(training._layout, gate.view, bought, np.random.default_rng(1))
    probabilities = training.model().probabilities
    misfit = sum(batch.misfit(batch.prepared.answers(probabilities)) for batch in batches)
    assert misfit < 1.2 * sum(len(batch.rates) for batch in batches)


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_nothing_is_bought_twice_and_nothing_is_left_out(
    tmp_path: Path, neighbours: Neighbours
) -> None:
    with curator(tmp_path, neighbours, method=SMALL) as gate:
        planned = planned_purchases(view(gate))
        sizes = planned.pop(SIZES, None)
        bought = planned.values()
        marginals = [gate.workload.marginals[at] for one in bought for at in one.marginals]
        first = sum(step.rho for step in SMALL.steps(view(gate)) if step.key not in planned)
        assert first + sum(one.rho for one in bought) == gate.guarantee.rho
    # Nobody's own attributes change a size: there is nothing to be bought.
    assert (sizes is None) is (neighbours is IN_PLACE)
    if sizes is not None:
        (at,) = sizes.marginals
        assert is_sizes(SCHEMA, gate.workload.marginals[at])
        assert gate.workload.marginals[at] not in marginals
    assert len(set(marginals)) == len(marginals)
    # Weighted, what groups have by themselves is the same at either level.
    alone = [marginal for marginal in WORKLOAD.marginals if not marginal.individual]
    twice = len(alone) // 2 if neighbours is not IN_PLACE else 0
    assert len(marginals) == len(WORKLOAD.marginals) - twice
    assert {order_of(marginal) for marginal in marginals} == {2}


def test_the_more_noise_the_fewer_attributes(tmp_path: Path) -> None:
    """With few groups and a small epsilon, pairs are too noisy to be worth buying."""
    few = skewed(100)
    with curator(tmp_path, REPLACE, method=SMALL, epsilon=0.2, data=few) as gate:
        offer = view(gate, few.groups)
        first, *others = allocate_budget(offer).values()
        noise = gate.measure(first.marginals, rho=first.rho, step="look").sigma
    bought = [at for one in (first, *others) for at in one.marginals]
    assert {order_of(gate.workload.marginals[at]) for at in bought} == {1}
    # It says in advance what noise there will be; that of pairs would have been too much.
    lone = offer.weights[first.marginals, 1].min()
    assert noise == pytest.approx(lone * first.sigma(offer))
    pairs = len(WORKLOAD.marginals) / len(bought)
    assert first.sigma(offer) / few.groups * np.sqrt(pairs) > NOISIEST


def test_relations_too_noisy_to_be_bought_take_nothing_from_the_rest() -> None:
    """But for what relatives have in common, which is bought at any budget."""
    workload = SMALL.asks(Workload.of(load_schema("acs-rel"), k=2))
    guarantee = promise(REPLACE, delta=1e-9, accounting=Accounting.GAUSSIAN)
    offer = PublicView.of(workload, guarantee, size_weighted=True)

    def bought(groups: int) -> dict[tuple[str, int, Fraction], float]:
        """The noise of what has this relation or none, so many attributes, and this priority."""
        found = {}
        for one in allocate_budget(offer.knowing(groups=groups)).values():
            marginal = workload.marginals[one.marginals[0]]
            level = "relation" if marginal.relation else "plain"
            key = level, order_of(marginal), priority(workload.schema, marginal)
            found[key] = max(one.sigma(offer), found.get(key, 0.0))
        return found

    many = bought(10**6)
    common = {key for key in many if key[0] == "relation" and key[2] >= IN_COMMON}
    assert common
    assert {order for _, order, _ in many} == {2}
    assert many["plain", 2, Fraction(1)] < many["relation", 2, Fraction(1)]
    # So few that pairs are bearable, but not those of relations.
    number = math.ceil(1.15 * many["relation", 2, Fraction(1)] / NOISIEST)
    few = bought(number)
    # Sizes are more of an effort with few groups, and that is all that changes.
    assert 1 < few["plain", 2, Fraction(1)] / many["plain", 2, Fraction(1)] < 1.3
    assert ("relation", 2, Fraction(1)) not in few
    # What has a priority is bearable still, and tells of single attributes.
    assert common < {key for key in few if key[0] == "relation"}
    assert not_bought(offer.knowing(groups=10**6)) == frozenset()
    missing = {workload.marginals[at] for at in not_bought(offer.knowing(groups=number))}
    assert {(one.level, order_of(one)) for one in missing} == {("relation", 2)}
    assert too_noisy(offer.knowing(groups=number)) == ("relations",)


def test_the_noisiest_sets_are_left_out_first() -> None:
    """Those of one person have many times the budget, and are bought when others no longer are."""
    workload = SMALL.asks(Workload.of(load_schema("acs-red"), k=2))
    guarantee = promise(REPLACE, epsilon=0.1, delta=1e-9, accounting=Accounting.GAUSSIAN)
    offer = PublicView.of(workload, guarantee, size_weighted=True)
    kept = {}
    for groups in (30_000, 1000, 500, 100):
        known = offer.knowing(groups=groups)
        pairs = {
            at
            for one in allocate_budget(known).values()
            for at in one.marginals
            if order_of(workload.marginals[at]) == 2
        }
        kept[groups] = pairs
        for at in pairs:
            assert workload.marginals[at] not in {
                workload.marginals[one] for one in not_bought(known)
            }
    assert kept[30_000] > kept[1000] >= kept[500] >= kept[100]
    people = {at for at in kept[30_000] if not workload.marginals[at].group}
    assert people
    assert kept[1000] & people == people


def test_a_level_gets_the_budget_of_its_weight(tmp_path: Path) -> None:
    heavy = SCHEMA.to_yaml().replace("k: 2", "k: 2, weights: {group: 3.0}")
    workload = SMALL.asks(Workload.of(Schema.from_text(heavy)))
    counter = Counter(workload)
    counter.add(random_dataset(workload.schema, groups=4000, rng=np.random.default_rng(2)))
    guarantee = promise(IN_PLACE, epsilon=2.0, delta=1e-8)
    with Curator(counter, guarantee=guarantee, ledger=tmp_path / "ledger.jsonl", seed=11) as gate:
        shares: dict[str, Fraction] = {}
        for one in allocate_budget(gate.view).values():
            level = gate.workload.marginals[one.marginals[0]].level
            shares[level] = shares.get(level, Fraction(0)) + one.rho
    worth = (counter.groups / counter.people) ** (2 / 3)
    assert float(shares["group"] / shares["individual"]) == pytest.approx(3 / worth, rel=1e-5)


def test_groups_and_people_are_asked_together(tmp_path: Path) -> None:
    """Weighted, a set of attributes costs no more at both levels than at one of them."""
    with curator(tmp_path, REPLACE, method=SMALL) as gate:
        offer = view(gate)
        pairs = [
            pair for pair in paired_marginals(gate.workload) if pair[0] < len(WORKLOAD.marginals)
        ]
        bought = allocate_budget(offer).values()
    everything = [at for one in bought for at in one.marginals]
    assert {at for pair in pairs for at in pair} <= set(everything)
    assert len(everything) - len(pairs) < 0.7 * len(everything)
    for one in bought:
        both = sum(set(pair) <= set(one.marginals) for pair in pairs)
        sets = len(one.marginals) - both
        assert offer.sensitivities.joint(one.marginals).l2_squared <= sets * 2 * 2520**2


def test_derived_attributes_cost_a_person_no_more_than_others(tmp_path: Path) -> None:
    """One member's change may move the whole group there: its size is weighted away."""
    derived = Schema.from_text(
        SCHEMA.to_yaml().replace("values: [0, 1, 2]}", "values: [0, 1, 2], derived: true}", 1)
    )
    noise = {}
    for schema in (SCHEMA, derived):
        workload = SMALL.asks(Workload.of(schema))
        counter = Counter(workload, weights=workload_weights(workload, IN_PLACE.unit))
        counter.add(replace(DATA, schema=schema))
        ledger = tmp_path / f"{len(noise)}.jsonl"
        guarantee = promise(IN_PLACE, epsilon=2.0, delta=1e-8)
        with Curator(counter, guarantee=guarantee, ledger=ledger, seed=11) as gate:
            offer = gate.view
            bought = list(allocate_budget(offer).values())
            noise[schema is derived] = max(one.sigma(offer) for one in bought)
            everything = planned_purchases(offer).values()
            assert sum(one.rho for one in everything) == gate.guarantee.rho
            twice = offer.sensitivities.joint(bought[0].marginals)
            assert twice.l2_squared <= 2 * 2520**2 * len(bought[0].marginals)
    assert noise[True] < 1.5 * noise[False]
    # Unweighted, a marginal of people is charged for the largest group.
    plain = Sensitivities(SMALL.asks(Workload.of(derived)), IN_PLACE, Accounting.GAUSSIAN)
    assert max(one.l2_squared for one in plain.single) == 2 * 3**2


def test_portions_keep_pairs_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinfolk.methods.allocate.PORTION", 20)
    with curator(tmp_path, REPLACE, method=SMALL) as gate:
        offer = view(gate)
        bought = list(allocate_budget(offer).values())
        assert len(bought) > 3
        sigmas = {
            round(one.sigma(offer) * offer.weights[list(one.marginals)].max(axis=1).min(), 6)
            for one in bought
        }
        times = {
            priority(SCHEMA, gate.workload.marginals[at]) for one in bought for at in one.marginals
        }
    # Portions of what has one priority have one noise.
    assert len(sigmas) == len(times) > 1
    portion = {at: number for number, one in enumerate(bought) for at in one.marginals}
    for group, people in paired_marginals(gate.workload):
        assert portion.get(group) == portion.get(people)


def test_attribute_sets_of_any_size_are_bought(tmp_path: Path) -> None:
    """A set that is smaller than others, and no part of them, is not forgotten."""
    mixed = Workload.of(SCHEMA, sets=[["veh", "sex"], ["job"]], levels=["individual"])
    counter = Counter(with_lower_orders(mixed))
    counter.add(DATA)
    guarantee = promise(IN_PLACE, epsilon=2.0, delta=1e-8)
    with Curator(counter, guarantee=guarantee, ledger=tmp_path / "ledger.jsonl", seed=11) as gate:
        bought = [at for one in allocate_budget(gate.view).values() for at in one.marginals]
    assert [gate.workload.marginals[at] for at in bought] == list(mixed.marginals)


def test_sizes_are_bought_where_weights_hide_them(tmp_path: Path) -> None:
    asked = Workload.of(SCHEMA, k=1, attributes=["sex"], levels=["individual"])
    everything = SMALL.asks(asked)
    counter = Counter(everything, weights=workload_weights(everything, REPLACE.unit))
    pairs = replace(DATA, group=DATA.group[:3900], offsets=np.arange(3901) * 2)
    pairs = replace(pairs, individual=DATA.individual[: pairs.offsets[-1]])
    alone = replace(DATA, group=DATA.group[:100], offsets=np.arange(101))
    alone = replace(alone, individual=DATA.individual[:100])
    counter.add(pairs)
    counter.add(alone)
    guarantee = promise(REPLACE, epsilon=5.0, delta=1e-8)
    with Curator(counter, guarantee=guarantee, ledger=tmp_path / "ledger.jsonl", seed=11) as gate:
        training = SMALL.start(gate, rng=np.random.default_rng(1))
        training.run()
    # A random mixture has a third of its groups alone.
    assert training.model().composition[0].mean() < 0.1


def test_it_resumes_with_what_it_bought(tmp_path: Path) -> None:
    with curator(tmp_path, REPLACE, method=SMALL) as gate:
        SMALL.start(gate, rng=np.random.default_rng(1))._buy(lambda *_: None)
        spent = gate.spent
    with curator(tmp_path, REPLACE, method=SMALL) as gate:
        again = SMALL.start(gate, rng=np.random.default_rng(1))
        again.run()
        assert gate.spent == spent
    (tmp_path / "other").mkdir()
    with curator(tmp_path / "other", REPLACE, method=SMALL) as gate:
        undisturbed = SMALL.start(gate, rng=np.random.default_rng(1))
        undisturbed.run()
    assert np.array_equal(again.model().probabilities, undisturbed.model().probabilities)


def test_a_model_is_there_at_any_time(tmp_path: Path) -> None:
    def stop(doing: str, done: int, total: int) -> None:
        if doing == "fitting":
            raise KeyboardInterrupt

    with curator(tmp_path, REPLACE, method=SMALL) as gate:
        training = SMALL.start(gate, rng=np.random.default_rng(1))
        with pytest.raises(NothingLearntError, match="before it had learnt anything"):
            training.model()
        with pytest.raises(KeyboardInterrupt):
            training.run(stop)
    assert training.model().components == 20
    assert training.extra() == {}


def measured(truth: HPD, noise: float, rng: np.random.Generator) -> list[Measured]:
    every = range(len(WORKLOAD.marginals))
    parts = [Prepared.of(LAYOUT, WORKLOAD, marginals=every[first::4]) for first in range(4)]
    precision = [np.full(part.size, 1 / noise**2) for part in parts]
    exact = [
        Measured(prepared=part, rates=part.answers(truth.probabilities), precision=one)
        for part, one in zip(parts, precision, strict=True)
    ]
    return [batch.parametric_bootstrap(truth.probabilities, rng) for batch in exact]


def test_halves_are_independent() -> None:
    """Over 20,000 pairs, a correlation of 0.05 would be seven standard deviations."""
    rng = np.random.default_rng(3)
    truth = HPD.random(LAYOUT, 5, rng)
    batch = measured(truth, 0.1, rng)[0]
    exact = batch.prepared.answers(truth.probabilities)
    firsts, seconds = [], []
    for _ in range(20_000 // len(exact) + 1):
        one, other = batch.parametric_bootstrap(truth.probabilities, rng).split_noise(rng)
        firsts.append(one.rates - exact)
        seconds.append(other.rates - exact)
    first, second = np.concatenate(firsts), np.concatenate(seconds)
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.05
    assert np.allclose([first.var(), second.var()], 1 / one.precision[0], rtol=0.1)


def test_with_more_noise_fewer_passes_are_worthwhile() -> None:
    rng = np.random.default_rng(4)
    truth = HPD.random(LAYOUT, 5, rng)
    passes = [
        choose_passes(
            LAYOUT,
            [batch.split_noise(rng) for batch in measured(truth, noise, rng)],
            components=30,
            most=60,
            rng=np.random.default_rng(1),
            on_progress=lambda done: None,
        ).passes
        for noise in (0.3, 0.001)
    ]
    assert passes[0] < passes[1]


def test_as_many_passes_as_may_be_where_there_is_no_end_to_learning() -> None:
    rng = np.random.default_rng(4)
    truth = HPD.random(LAYOUT, 5, rng)
    told: list[int] = []
    halves = [batch.split_noise(rng) for batch in measured(truth, 1e-6, rng)]
    trial = choose_passes(LAYOUT, halves, components=30, most=4, rng=rng, on_progress=told.append)
    assert (trial.passes, told) == (4, [1, 2, 3, 4])


def test_a_fit_comes_close_to_answers_without_noise() -> None:
    rng = np.random.default_rng(5)
    truth = HPD.random(LAYOUT, 5, rng)
    batches = measured(truth, 1e-6, rng)
    fit = MixtureFit.random(LAYOUT, batches, components=60, rng=rng)
    fit.run(150, rng=rng)
    found = HPD(layout=LAYOUT, probabilities=fit.probabilities).answer(WORKLOAD)
    assert np.abs(found - truth.answer(WORKLOAD)).max() < 0.004


def test_parts_are_joined_as_they_are() -> None:
    rng = np.random.default_rng(6)
    parts = [HPD.random(LAYOUT, number, rng, dtype=np.float32).probabilities for number in (3, 4)]
    whole = joined(LAYOUT, [], parts).probabilities
    assert np.allclose(whole, np.concatenate(parts, axis=1), atol=1e-6)


def test_lower_orders_add_up() -> None:
    everything = with_lower_orders(WORKLOAD)
    assert everything.marginals[: len(WORKLOAD.marginals)] == WORKLOAD.marginals
    counts = count(DATA, everything)
    totals = {
        marginal.level: counts[place].sum()
        for marginal, place in everything.slices()
        if order_of(marginal) == 1 and marginal.group
    }
    assert totals == {"group": DATA.groups, "individual": DATA.people}


@pytest.mark.parametrize("wrong", [{"components": 0}, {"parts": 0}, {"components": 2, "parts": 3}])
def test_settings_are_checked(wrong: dict[str, int]) -> None:
    with pytest.raises(KinfolkError):
        Marginals(**wrong)


def test_what_makes_a_household_gets_more_of_the_budget() -> None:
    """By public rules: what relatives and numbers have in common, and what each role is like."""
    schema = load_schema("acs-rel")
    workload = SMALL.asks(Workload.of(schema, k=2))
    guarantee = promise(REPLACE, delta=1e-9, accounting=Accounting.GAUSSIAN)
    offer = PublicView.of(workload, guarantee, size_weighted=True).knowing(groups=10**6)
    role, size = len(schema.individual_attributes), len(schema.group_attributes)
    members = list(schema.individual_attributes.values())
    noise: dict[str, set[float]] = {}
    for one in allocate_budget(offer).values():
        for marginal in (workload.marginals[at] for at in one.marginals):
            kind = "other relations" if marginal.relation else "others"
            if marginal.relation and marginal.individual == marginal.relative:
                detailed = not marginal.coarse and coarse_marginal(schema, marginal) is not None
                kind = "in detail" if detailed else "in common"
            elif role in marginal.individual and not marginal.group:
                kind = "roles"
            elif len(marginal.individual) == 2 and not marginal.relation:
                ages = any(is_everybodys(members[at]) for at in marginal.individual)
                kind = "persons by age" if ages else "persons"
            elif not marginal.individual and not marginal.relation:
                kind = "households by size" if size in marginal.group else "households"
            elif marginal.individual == (role,) and marginal.group == (size,):
                kind = "sizes and roles"
            elif marginal.coarse:
                kind = "sizes and ages"
            noise.setdefault(kind, set()).add(one.sigma(offer))
    assert max(noise["in common"]) < min(noise["other relations"]) / 4
    assert max(noise["in detail"]) < min(noise["other relations"]) / 1.9
    less = {
        "roles": 3.9,
        "sizes and ages": 6,
        "sizes and roles": 6,
        "persons by age": 4.5,
        "persons": 3.2,
        "households by size": 3.2,
        "households": 1.8,
    }
    for kind, times in less.items():
        assert max(noise[kind]) < min(noise["others"]) / times, kind
    # Everything else is still bought.
    assert set(noise) == {*less, "in common", "in detail", "others", "other relations"}


def test_roles_are_bought_on_their_own() -> None:
    schema = load_schema("acs-rel")
    workload = SMALL.asks(Workload.of(schema, k=2))
    for neighbours in (REPLACE, IN_PLACE):
        guarantee = promise(neighbours, delta=1e-9, accounting=Accounting.GAUSSIAN)
        offer = PublicView.of(workload, guarantee, size_weighted=True).knowing(groups=10**5)
        planned = planned_purchases(offer)
        # Where nobody's own attributes change a size, roles are public, and not worth a step.
        assert (ROLES in planned) is (neighbours is REPLACE)
        if ROLES in planned:
            (at,) = planned[ROLES].marginals
            assert is_roles(schema, workload.marginals[at])
            assert planned[ROLES].rho <= MOST_SHARE[ROLES] * guarantee.rho
        everything = [at for one in planned.values() for at in one.marginals]
        assert len(everything) == len(set(everything))


def test_small_budgets_set_sizes_right_by_groups_alone() -> None:
    """They buy people by the size of their group, too, with far more noise."""
    workload = SMALL.asks(Workload.of(load_schema("acs-rel"), k=2))
    guarantee = promise(REPLACE, delta=1e-9, accounting=Accounting.GAUSSIAN)
    offer = PublicView.of(workload, guarantee, size_weighted=True).knowing(groups=50)
    bought = [at for one in planned_purchases(offer).values() for at in one.marginals]
    chosen = [workload.marginals[at] for at in bought]
    size = (len(workload.schema.group_attributes),)
    of_sizes = [one.level for one in chosen if one.group == size and not one.individual]
    assert sorted(of_sizes) == ["group", "individual"]
    found = {
        at: np.ones((2, one.cells))
        for at, one in zip(bought, chosen, strict=True)
        if not (one.fine or one.total)
    }
    layout = Layout.of(workload.schema)
    batches = deal_batches(layout, offer, found, np.random.default_rng(1))
    own = [one for batch in batches for one in batch.own if one.group == size]
    assert [one.level for one in own] == ["group"]


def test_the_smaller_the_budget_the_more_of_it_tells_how_many_groups_there_are() -> None:
    """In all, and of each size: all else is divided by the one, and little else is learnt."""
    workload = SMALL.asks(Workload.of(load_schema("acs-rel"), k=2))
    shares = []
    for epsilon in (10.0, 1.0, 0.03):
        guarantee = promise(ADD_REMOVE, epsilon, delta=1e-9, accounting=Accounting.GAUSSIAN)
        offer = PublicView.of(workload, guarantee, size_weighted=True)
        (first,) = first_steps(offer)
        planned = planned_purchases(offer.knowing(groups=10_000))
        shares.append((first.rho / offer.rho, planned[SIZES].rho / offer.rho))
    (plenty, some), (_, usual), (scarce, most) = shares
    assert plenty == LEAST_GROUPS_SHARE
    assert scarce == MOST_GROUPS_SHARE
    assert some == LEAST_SHARE
    assert LEAST_SHARE < usual <= MOST_SHARE[SIZES] < most <= TINY_SHARE


def test_with_public_tables_single_attributes_of_groups_are_bought_beside_pairs() -> None:
    """Each once, and for the same budget."""
    workload = SMALL.asks(Workload.of(load_schema("acs-rel"), k=2))
    guarantee = promise(REPLACE, delta=1e-9, accounting=Accounting.GAUSSIAN)
    offer = PublicView.of(workload, guarantee, size_weighted=True).knowing(groups=30_000)
    plain, informed = (planned_purchases(offer.knowing(informed=known)) for known in (False, True))
    assert sum(one.rho for one in plain.values()) == sum(one.rho for one in informed.values())
    assert set(informed) - set(plain) == {GROUP_ATTRIBUTES}
    own = [workload.marginals[at] for at in informed[GROUP_ATTRIBUTES].marginals]
    assert [one.group for one in own] == [
        (at,) for at in range(len(workload.schema.group_attributes))
    ]
    bought = [at for one in informed.values() for at in one.marginals]
    assert len(set(bought)) == len(bought)


def test_how_large_the_noise_is_is_said_where_it_is_large() -> None:
    """As a share of all groups; until the sets are not bought at all."""
    workload = SMALL.asks(Workload.of(load_schema("acs-rel"), k=2))
    guarantee = promise(REPLACE, delta=1e-9, accounting=Accounting.GAUSSIAN)
    offer = PublicView.of(workload, guarantee, size_weighted=True)
    said = {groups: noisy(offer.knowing(groups=groups)) for groups in (30_000, 2000, 1000, 300)}
    missing = {groups: too_noisy(offer.knowing(groups=groups)) for groups in said}
    both = {"groups and individuals", "relations"}
    assert said[30_000] == {}
    assert set(said[2000]) == both
    assert all(NOISY < share < said[1000][name] <= NOISIEST for name, share in said[2000].items())
    assert [len(one) for one in missing.values()] == [0, 0, 0, 2]
    # What makes a household is bought at any budget, and bears noise at a tiny one.
    assert set(said[300]) == both


def test_the_user_says_what_matters_more() -> None:
    """Times the budget that it would have had; everything else is still bought."""
    schema = load_schema("acs-rel")
    wanted = [
        {"attributes": ["FARM", "SEX"], "times": 9},
        {"attributes": ["SEX", "SEX"], "relation": "married_to", "times": 4},
    ]
    other = replace(schema, workload=replace(schema.workload, priorities=wanted))
    assert Schema.from_text(other.to_yaml()) == other
    noise: list[dict[Marginal, float]] = []
    for one in (schema, other):
        workload = SMALL.asks(Workload.of(one, k=2))
        guarantee = promise(REPLACE, delta=1e-9, accounting=Accounting.GAUSSIAN)
        offer = PublicView.of(workload, guarantee, size_weighted=True).knowing(groups=10**6)
        bought = allocate_budget(offer).values()
        noise.append({workload.marginals[at]: p.sigma(offer) for p in bought for at in p.marginals})
    usual, now = noise
    assert set(usual) == set(now)
    names = describe_marginal
    gained: dict[int, set[str]] = {}
    for one in usual:
        gained.setdefault(round(usual[one] / now[one]), set()).add(str(names(schema, one)))
    assert set(gained) == {1, 2, 3}
    assert all("FARM" in one and "SEX" in one for one in gained[3])
    assert all(one in "".join(gained[3]) for one in ("'group', 'group'", "'individual', 'group'"))
    (married,) = gained[2]
    assert "married_to" in married


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("5", "is not a list"),
        ("[5]", "says neither attributes nor how many times"),
        ("[{attributes: [veh], times: 0}]", "is not a number from"),
        ("[{attributes: [veh], times: lots}]", "is not a number from"),
        ("[{attributes: veh, times: 2}]", "is not a list of names"),
        ("[{attributes: [vehs], times: 2}]", "vehs"),
        ("[{attributes: [veh], times: 2, often: 3}]", "the key is unknown"),
        ("[{attributes: [veh], times: 2, relation: married}]", "is not a relation"),
    ],
)
def test_wrong_priorities_are_told(wrong: str, message: str) -> None:
    text = SCHEMA.to_yaml().replace("k: 2", f"k: 2, priorities: {wrong}")
    with pytest.raises(KinfolkError, match=message):
        Schema.from_text(text)


def test_what_rules_make_certain_has_no_noise() -> None:
    """Neither as it was released, nor in halves, nor in what is made up for the replicates."""
    workload = Workload.of(DATA.schema, k=1)
    prepared = Prepared.of(Layout.of(DATA.schema), workload)
    certain = np.arange(prepared.size) % 3 == 0
    ones = np.ones(prepared.size)
    measured = Measured(prepared=prepared, rates=ones, precision=ones, impossible=certain)
    rng = np.random.default_rng(1)
    table = HPD.random(Layout.of(DATA.schema), 3, rng).probabilities
    made_up = measured.parametric_bootstrap(table, rng)
    for one in (measured, *measured.split_noise(rng), made_up):
        assert (one.rates[certain] == 0).all()
        assert (one.rates[~certain] != 0).all()
