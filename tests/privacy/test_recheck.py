"""What checks a certificate is more precise than what it checks, over all that can be promised."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest

from kinfolk.privacy import Accounting, recheck, rho_from

ACCOUNTINGS = [Accounting.ZCDP, Accounting.GAUSSIAN]


def promises(number: int, seed: int) -> list[tuple[float, float]]:
    """Epsilon from 0.001 to 100 and delta from 1e-30 to 0.1, both ends included."""
    rng = random.Random(seed)
    drawn = [(10 ** rng.uniform(-3, 2), 10 ** rng.uniform(-30, -1)) for _ in range(number - 4)]
    return [*((e, d) for e in (0.001, 100.0) for d in (1e-30, 0.1)), *drawn]


@pytest.mark.parametrize("accounting", ACCOUNTINGS)
def test_five_hundred_promises(accounting: Accounting) -> None:
    """Every honest budget verifies, and one that is a hundredth too large is refused."""
    for epsilon, delta in promises(500, seed=1):
        rho = rho_from(epsilon, delta, accounting=accounting)
        assert recheck.keeps(rho, epsilon, delta, accounting.value)
        assert not recheck.keeps(rho * Fraction(101, 100), epsilon, delta, accounting.value)


def exact_gaussian(rho: Fraction, epsilon: float) -> mpmath.mpf:
    mu = mpmath.sqrt(2 * mpmath.mpf(rho.numerator) / rho.denominator)
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    first, second = (mpmath.erfc(x / mpmath.sqrt(2)) / 2 for x in (near, far))
    return mpmath.log(first - mpmath.exp(epsilon) * second)


def exact_zcdp(rho: Fraction, epsilon: float) -> mpmath.mpf:
    cost = mpmath.mpf(rho.numerator) / rho.denominator

    def bound(log_beta: mpmath.mpf) -> mpmath.mpf:
        beta = mpmath.exp(log_beta)
        alpha = beta + 1
        return beta * (alpha * cost - epsilon) + beta * mpmath.log(beta / alpha) - mpmath.log(alpha)

    low, high = mpmath.mpf(-80), mpmath.mpf(60)
    golden = (mpmath.sqrt(5) - 1) / 2
    for _ in range(300):
        left, right = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, right) if bound(left) < bound(right) else (left, high)
    return bound((low + high) / 2)


@pytest.mark.parametrize(
    ("accounting", "reference"), [("gaussian", exact_gaussian), ("zcdp", exact_zcdp)]
)
def test_agrees_with_mpmath(accounting: str, reference: object) -> None:
    """Delta's logarithm to thirty digits; for zcdp, the search of the reference limits it."""
    with mpmath.workdps(90):
        for epsilon, delta in promises(24, seed=2):
            rho = rho_from(epsilon, delta, accounting=Accounting(accounting))
            for budget in (rho, 2 * rho, rho / 7):
                found = recheck.log_delta(budget, epsilon, accounting)
                expected = min(reference(budget, epsilon), mpmath.mpf(0))  # type: ignore[operator]
                assert abs(mpmath.mpf(str(found)) - expected) < mpmath.mpf("1e-30")


def test_the_ends_of_what_can_be_asked() -> None:
    for accounting in recheck.ACCOUNTINGS:
        assert recheck.log_delta(Fraction(0), 1.0, accounting) == Decimal("-Infinity")
        assert recheck.log_delta(Fraction(10**9), 1.0, accounting) == 0
        assert recheck.log_delta(Fraction(1, 2**96), 1.0, accounting) < -1000
        assert recheck.log_delta(Fraction(3), 1e-12, accounting) <= 0


@pytest.mark.parametrize(
    "text",
    [
        "1e999999999",
        "-1/4",
        "1/0",
        "0.5",
        "",
        "1/",
        "nan",
        "\u0661/\u0664",
        " 1/4",
        "1" * 200,
        7,
        None,
        [],
    ],
)
def test_only_fractions_are_amounts(text: object) -> None:
    with pytest.raises(ValueError, match="not an exact amount"):
        recheck.exact(text)


def test_prices_from_the_definition() -> None:
    noise = {"mechanism": "gaussian", "squared_sensitivity": "2", "sigma": 4.0}
    assert recheck.price(noise, "zcdp") == Fraction(1, 16)
    assert recheck.price({**noise, "sigma": 6.0}, "gaussian") == Fraction(1, 32)
    choice = {"mechanism": "exponential", "sensitivity": "1", "scale": 4.0}
    assert recheck.price(choice, "zcdp") == Fraction(1, 32)
    assert recheck.price(choice, "paper") == Fraction(1, 8)
    for wrong, accounting in (
        (choice, "gaussian"),
        ({**noise, "sigma": 1.0}, "gaussian"),
        ({**noise, "sigma": float("inf")}, "zcdp"),
        ({**noise, "sigma": True}, "zcdp"),
        ({**noise, "mechanism": "trust me"}, "zcdp"),
    ):
        with pytest.raises(ValueError, match=r"."):
            recheck.price(wrong, accounting)
