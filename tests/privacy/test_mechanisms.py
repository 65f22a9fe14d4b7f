"""Costs: exact, never rounded in the buyer's favour, and never refused for a rounding."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk.errors import KinfolkError
from kinfolk.privacy import (
    Accounting,
    Exponential,
    Gaussian,
    mechanism_from,
    rho_from,
    round_shares,
)
from kinfolk.privacy.accounting import AMOUNT_GRID, from_text, round_down, round_up, to_text
from kinfolk.privacy.noise import gaussian_measurement, noisy_max_measurement

budgets = st.fractions(Fraction(1, 10**8), 10)
sensitivities = st.integers(1, 10**6) | st.fractions(Fraction(1, 100), 100)
SELECTING = (Accounting.ZCDP, Accounting.PAPER)


@settings(max_examples=150, deadline=None)
@given(budgets, sensitivities, st.sampled_from(Accounting))
def test_the_least_noise_that_a_budget_buys(
    rho: Fraction, sensitivity: int | Fraction, accounting: Accounting
) -> None:
    noise = Gaussian.for_rho(rho, squared_sensitivity=sensitivity, accounting=accounting)
    assert noise.rho(accounting) <= rho
    less = replace(noise, sigma=math.nextafter(noise.sigma, 0))
    assert less.rho(accounting) > round_down(rho)


@settings(max_examples=150, deadline=None)
@given(budgets, sensitivities, st.sampled_from(SELECTING))
def test_the_sharpest_choice_that_a_budget_buys(
    rho: Fraction, sensitivity: int | Fraction, accounting: Accounting
) -> None:
    choice = Exponential.for_rho(rho, sensitivity=sensitivity, accounting=accounting)
    assert choice.rho(accounting) <= rho
    sharper = replace(choice, scale=math.nextafter(choice.scale, 0))
    assert sharper.rho(accounting) > round_down(rho)


@settings(max_examples=60, deadline=None)
@given(budgets, st.integers(1, 3000))
def test_equal_parts_always_fit_together(rho: Fraction, parts: int) -> None:
    one = Gaussian.for_rho(rho / parts, squared_sensitivity=2).rho()
    assert parts * one <= rho
    assert parts * one == pytest.approx(float(rho), rel=1e-12)


@pytest.mark.parametrize("accounting", SELECTING)
def test_rounds_of_the_paper_use_the_whole_budget_and_no_more(accounting: Accounting) -> None:
    rho = rho_from(1.0, 1e-9, accounting=accounting)
    shares = round_shares(rho, rounds=300, alpha=0.67, accounting=accounting)
    choice = Exponential.for_rho(shares.select, sensitivity=1, accounting=accounting)
    noise = Gaussian.for_rho(shares.measure, squared_sensitivity=1)
    spent = 300 * (choice.rho(accounting) + noise.rho(accounting))
    assert spent <= rho
    assert float(spent) == pytest.approx(float(rho), rel=1e-12)
    # The defining property of the split: eps of the selection over eps of the measurement.
    assert (2 / choice.scale) * noise.sigma == pytest.approx(0.67 / 0.33, rel=1e-12)


def test_gaussian_accounting_has_no_price_for_a_choice() -> None:
    choice = Exponential(sensitivity=1, scale=9.0)
    with pytest.raises(KinfolkError, match="covers measurements alone"):
        choice.rho(Accounting.GAUSSIAN)
    with pytest.raises(KinfolkError, match="covers measurements alone"):
        round_shares(Fraction(1), rounds=2, alpha=0.5, accounting=Accounting.GAUSSIAN)
    with pytest.raises(KinfolkError, match="must be above 2"):
        Gaussian(squared_sensitivity=1, sigma=2.0).rho(Accounting.GAUSSIAN)


@given(sensitivities, st.floats(0.01, 1e9))
def test_a_description_says_everything(sensitivity: int | Fraction, scale: float) -> None:
    noise = Gaussian(squared_sensitivity=sensitivity, sigma=scale)
    assert mechanism_from(noise.describe()) == noise
    choice = Exponential(sensitivity=sensitivity, scale=scale)
    assert mechanism_from(choice.describe()) == choice


@pytest.mark.parametrize(
    "description",
    [
        {},
        {"mechanism": "laplace", "sensitivity": "1", "scale": 1.0},
        {"mechanism": "gaussian", "squared_sensitivity": "2"},
        {"mechanism": "gaussian", "squared_sensitivity": "2", "sigma": 1.0, "also": 1},
        {"mechanism": "gaussian", "squared_sensitivity": "0", "sigma": 1.0},
        {"mechanism": "gaussian", "squared_sensitivity": "1e999999999", "sigma": 1.0},
        {"mechanism": "gaussian", "squared_sensitivity": "2", "sigma": math.inf},
        {"mechanism": "exponential", "sensitivity": "-1", "scale": 1.0},
    ],
)
def test_an_unknown_description_is_refused(description: dict[str, object]) -> None:
    with pytest.raises(KinfolkError):
        mechanism_from(description)


def test_a_float_sensitivity_is_refused() -> None:
    with pytest.raises(KinfolkError, match="a float would not be exact"):
        Gaussian(squared_sensitivity=math.sqrt(2), sigma=1.0)  # type: ignore[arg-type]  # the point
    with pytest.raises(KinfolkError, match="sigma is 1e\\+30"):
        Gaussian(squared_sensitivity=2, sigma=1e30)
    with pytest.raises(KinfolkError, match="too little"):
        Gaussian.for_rho(1e-40, squared_sensitivity=2)


@pytest.mark.parametrize("scale", [0.5, 3.0, 90.5])
def test_opendp_charges_the_same(scale: float) -> None:
    assert gaussian_measurement(scale).map(math.sqrt(2)) == pytest.approx(
        float(Gaussian(squared_sensitivity=2, sigma=scale).rho()), rel=1e-12
    )
    assert noisy_max_measurement(scale).map(3) == pytest.approx(
        float(Exponential(sensitivity=3, scale=scale).rho()), rel=1e-12
    )


@given(st.fractions(0, 100))
def test_amounts_round_against_the_buyer_and_survive_text(value: Fraction) -> None:
    low, high = round_down(value), round_up(value)
    assert low <= value <= high
    assert high - low <= Fraction(1, AMOUNT_GRID)
    assert from_text(to_text(high)) == high


@pytest.mark.parametrize(
    "text", ["", "1", "1/0", "1/3", "-1/2", "1/2 ", "٣/4", "9" * 300 + "/1", 5]
)
def test_other_text_is_no_amount(text: object) -> None:
    with pytest.raises(KinfolkError, match="not an exact amount"):
        from_text(text)
