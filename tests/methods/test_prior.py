"""A prior is tilted towards measurements, and left alone where they are met better without."""

from __future__ import annotations

import numpy as np
import pytest

from kinfolk._typing import Floats
from kinfolk.datasets import load_schema
from kinfolk.methods.mixture_fit import Measured, Trial
from kinfolk.methods.prior import PriorPlan, Tilt, choose_plan, numbers_of_copies
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.models.mixture.prepared import Prepared
from kinfolk.queries.workload import Workload

SCHEMA = load_schema("acs-red")
LAYOUT = Layout.of(SCHEMA)
PREPARED = Prepared.of(LAYOUT, Workload.of(SCHEMA, k=2))
K = 12


def prior_logits(seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((LAYOUT.rows, K)).astype(np.float32)


def tilted_truth(logits: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Answers of the prior after a tilt, with components of unequal weight."""
    copies = rng.multinomial(60, rng.dirichlet(np.ones(K)))
    shift = rng.standard_normal((LAYOUT.rows, 1)).astype(np.float32)
    table = HPD.from_logits(LAYOUT, np.repeat(logits + shift, copies, axis=1)).probabilities
    return PREPARED.answers(table)


def measured(rates: np.ndarray, noise: float, rng: np.random.Generator) -> Measured:
    noisy = rates + noise * rng.standard_normal(len(rates))
    return Measured(prepared=PREPARED, rates=noisy, precision=np.full(len(rates), noise**-2))


def error(table: np.ndarray, rates: np.ndarray) -> float:
    return float(np.abs(PREPARED.answers(table) - rates).mean())


def test_a_tilt_is_found_again() -> None:
    """Shifts and weights both matter, and the copies that stand for weights answer as well."""
    rng = np.random.default_rng(3)
    logits = prior_logits()
    truth = tilted_truth(logits, rng)
    fit = Tilt(LAYOUT, [measured(truth, 1e-4, rng)], logits, scale=2.0)
    before = error(fit.weighted, truth)
    table = fit.run(PriorPlan(use="tilt", scale=2.0), 120, rng=rng)
    assert table.shape == (LAYOUT.rows, 120)
    assert error(table, truth) < before / 15


def test_what_noise_hides_stays_as_the_prior_has_it() -> None:
    """Nothing is learnt from noise alone, and much of what is measured well."""
    rng = np.random.default_rng(3)
    logits = prior_logits()
    truth = tilted_truth(logits, rng)
    moved = {}
    for noise in (1e-3, 100.0):
        fit = Tilt(LAYOUT, [measured(truth, noise, rng)], logits, scale=1.0)
        before = fit.weighted.copy()
        fit.tilt()
        moved[noise] = np.abs(fit.weighted - before).mean()
    assert moved[1e-3] > 100 * moved[100.0]


def test_all_slots_move_alike_unless_there_is_reason_not_to() -> None:
    """What is measured of everybody together moves the categories of every slot."""
    logits = prior_logits()
    workload = Workload.of(SCHEMA, k=1, levels=["individual"])
    prepared = Prepared.of(LAYOUT, workload)
    shift = np.zeros((LAYOUT.rows, 1), np.float32)
    first = [LAYOUT.individual_start + kind * LAYOUT.kind_rows for kind in range(LAYOUT.kinds)]
    shift[first] = 1.0
    rates = prepared.answers(HPD.from_logits(LAYOUT, logits + shift).probabilities)
    told = Measured(prepared=prepared, rates=rates, precision=np.full(len(rates), 1e6))
    fit = Tilt(LAYOUT, [told], logits, scale=1.0)
    before = fit.weighted[first].mean(axis=1)
    fit.tilt()
    assert (fit.weighted[first].mean(axis=1) > before + 0.02).all()


def test_weights_are_part_of_the_answers() -> None:
    """As if a component were there as often as its weight says."""
    rng = np.random.default_rng(4)
    told = measured(tilted_truth(prior_logits(), rng), 1e-3, rng)
    fit = Tilt(LAYOUT, [told], prior_logits(), scale=1.0)
    fit.tilt()
    first = fit.weighted[: LAYOUT.group_start].sum(axis=0) / K
    assert first.std() > 0.01
    assert first.sum() == pytest.approx(1, abs=1e-5)
    probabilities = fit.weighted.copy()
    probabilities[: LAYOUT.group_start] /= first * K
    copies = numbers_of_copies(first, 20_000)
    many = PREPARED.answers(np.repeat(probabilities, copies, axis=1))
    assert np.abs(many - PREPARED.answers(fit.weighted)).max() < 2e-4


def test_copies_are_as_many_as_wanted() -> None:
    weights = np.random.default_rng(1).dirichlet(np.full(50, 0.2))
    copies = numbers_of_copies(weights, 1000)
    assert copies.sum() == 1000
    assert np.abs(copies - 1000 * weights).max() < 1.01


def plan(halves: list[tuple[Measured, Measured]], logits: np.ndarray, said: Floats) -> PriorPlan:
    """said: (queries,) what is answered without a prior."""
    rng = np.random.default_rng(2)
    misfit = sum(other.misfit(said) for _, other in halves)
    without = Trial(passes=1, answers=[said], misfit=misfit)
    return choose_plan(
        LAYOUT, halves, logits, without=without, most=10, rng=rng, on_progress=lambda done: None
    )


def test_a_prior_is_used_where_it_helps_and_left_where_it_does_not() -> None:
    rng = np.random.default_rng(5)
    logits = prior_logits()
    truth = tilted_truth(logits, rng)
    halves = [measured(truth, 0.02, rng).split_noise(rng)]
    poor = truth + 0.02 * rng.standard_normal(len(truth))
    assert plan(halves, logits, poor).use != "none"
    assert plan(halves, 40 * prior_logits(seed=9), poor).use == "none"
    # Nothing does better than the truth but by chance.
    assert plan(halves, logits, truth).use == "none"


def test_a_prior_is_held_against_none_without_the_noise_of_both() -> None:
    """Measurements of nothing but noise, ten for one that tells, hide no difference."""
    rng = np.random.default_rng(5)
    logits = prior_logits()
    truth = tilted_truth(logits, rng)
    told = measured(truth, 0.02, rng).split_noise(rng)
    deaf = [measured(truth, 20.0, rng).split_noise(rng) for _ in range(10)]
    poor = truth + 0.01 * rng.standard_normal(len(truth))
    others = [other for _, other in (told, *deaf)]
    good, bad = (
        Trial(
            passes=1,
            answers=[said] * len(others),
            misfit=sum(other.misfit(said) for other in others),
        )
        for said in (truth, poor)
    )
    # By a misfit alone, whose deviation is that of all the noise, nobody could tell.
    assert bad.misfit - good.misfit < np.sqrt(2 * bad.misfit)
    assert good.gain(bad, others) > 2
