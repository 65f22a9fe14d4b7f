"""The arithmetic by which a certificate is checked, from scratch.

Nothing here is shared with the accountant that it checks: no formula is evaluated by the same
lines, and every one with many more digits. Probabilities are kept as logarithms, so that a delta of
1e-30 is as exact as one of 0.1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

_DIGITS = Context(prec=130, rounding=ROUND_HALF_EVEN, Emin=-999_999_999, Emax=999_999_999)
_PI = Decimal(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534"
    "2117067982148086513282306647093844609550582231725359408128"
)
_FAR = 12
"""From here on the tail of the normal distribution is a continued fraction, before it a series."""
_LARGEST_RHO = Fraction(10**6)
_LONGEST = 90
"""Digits of either part of a fraction: amounts have at most 29 + 29."""


def exact(text: object) -> Fraction:
    """The fraction that a text such as '1/4' or '3' stands for; nothing else is read.

    >>> exact("1/4")
    Fraction(1, 4)
    """
    if not isinstance(text, str) or not re.fullmatch(
        rf"[0-9]{{1,{_LONGEST}}}(/[1-9][0-9]{{0,{_LONGEST - 1}}})?", text, re.ASCII
    ):
        raise ValueError(f"{str(text)[:40]!r} is not an exact amount")
    return Fraction(text)


def price(mechanism: Mapping[str, Any], accounting: str) -> Fraction:
    """What a mechanism costs, from its definition, exact and before any rounding."""
    if mechanism["mechanism"] == "gaussian":
        # Exact accounting for the discrete Gaussian leaves a variance of 4 out.
        variance = _scale(mechanism["sigma"]) ** 2 - (4 if accounting == "gaussian" else 0)
        if variance <= 0:
            raise ValueError(f"sigma = {mechanism['sigma']} is too small for its accounting")
        return exact(mechanism["squared_sensitivity"]) / (2 * variance)
    if mechanism["mechanism"] == "exponential" and accounting != "gaussian":
        range_bound = 2 * exact(mechanism["sensitivity"]) / _scale(mechanism["scale"])
        return range_bound**2 / (2 if accounting == "paper" else 8)
    raise ValueError(f"{mechanism['mechanism']!r} has no price under {accounting!r} accounting")


def _scale(value: object) -> Fraction:
    if not isinstance(value, float) or not 2.0**-40 <= value <= 2.0**56:
        raise ValueError(f"{str(value)[:40]!r} is no scale of noise")
    return Fraction(value)


@lru_cache(maxsize=256)
def keeps(rho: Fraction, epsilon: float, delta: float, accounting: str) -> bool:
    """Whether a budget of rho keeps the promise (epsilon, delta), decided to fifty digits.

    >>> keeps(Fraction(1, 100), 1.0, 1e-9, "zcdp"), keeps(Fraction(1, 50), 1.0, 1e-9, "zcdp")
    (True, False)
    """
    return log_delta(rho, epsilon, accounting) <= _DIGITS.ln(Decimal(delta))


def log_delta(rho: Fraction, epsilon: float, accounting: str) -> Decimal:
    """The logarithm of the delta that rho amounts to at this epsilon."""
    if rho <= 0:
        return Decimal("-Infinity")
    if rho >= _LARGEST_RHO:
        return Decimal(0)
    cost = _DIGITS.divide(Decimal(rho.numerator), Decimal(rho.denominator))
    return min(_LOG_DELTA[accounting](cost, Decimal(epsilon)), Decimal(0))


def _paper(rho: Decimal, epsilon: Decimal) -> Decimal:
    """The paper's lemma, solved for delta."""
    above = _DIGITS.subtract(epsilon, rho)
    if above <= 0:
        return Decimal(0)
    return _DIGITS.divide(_DIGITS.multiply(above, above), _DIGITS.multiply(rho, -4))


def _zcdp(rho: Decimal, epsilon: Decimal) -> Decimal:
    """The conversion of Canonne, Kamath and Steinke, where its derivative by alpha vanishes.

    Any alpha = 1 + beta is a proof; the best one only proves more. It is found in floating point
    and then made exact by two of Newton's steps, each of which doubles the number of its digits.
    """
    d, one = _DIGITS, Decimal(1)
    cost, promised = float(rho), float(epsilon)
    low, high = -700.0, 700.0
    for _ in range(70):
        middle = (low + high) / 2
        beta_ = math.exp(middle)
        rising = (2 * beta_ + 1) * cost - promised - math.log1p(1 / beta_) < 0
        low, high = (middle, high) if rising else (low, middle)
    beta = Decimal(math.exp(high))
    for _ in range(2):
        alpha = d.add(beta, one)
        slope = d.subtract(d.multiply(d.add(alpha, beta), rho), epsilon)
        slope = d.add(slope, d.ln(d.divide(beta, alpha)))
        bend = d.add(d.multiply(rho, 2), d.divide(one, d.multiply(alpha, beta)))
        beta = max(d.subtract(beta, d.divide(slope, bend)), d.divide(beta, 2))
    alpha = d.add(beta, one)
    inner = d.add(d.fma(alpha, rho, epsilon.copy_negate()), d.ln(d.divide(beta, alpha)))
    return d.subtract(d.multiply(beta, inner), d.ln(alpha))


def _gaussian(rho: Decimal, epsilon: Decimal) -> Decimal:
    """One Gaussian mechanism with mu^2 = 2 rho: Phi(-near) - exp(epsilon) Phi(-far)."""
    mu = _DIGITS.sqrt(_DIGITS.multiply(rho, 2))
    middle, half = _DIGITS.divide(epsilon, mu), _DIGITS.divide(mu, 2)
    first = _log_tail(_DIGITS.subtract(middle, half))
    second = _DIGITS.add(_log_tail(_DIGITS.add(middle, half)), epsilon)
    # log(exp(first) - exp(second)), where second is the smaller one.
    gap = _DIGITS.exp(_DIGITS.subtract(second, first))
    return _DIGITS.add(first, _DIGITS.ln(_DIGITS.subtract(1, gap)))


def _log_tail(x: Decimal) -> Decimal:
    """Log P(N > x) for a standard normal N."""
    d = _DIGITS
    square = d.multiply(x, x)
    log_density = d.divide(d.add(square, d.ln(d.multiply(_PI, 2))), -2)
    if x > _FAR:
        fraction = x
        for number in range(300, 0, -1):
            fraction = d.add(x, d.divide(number, fraction))
        return d.subtract(log_density, d.ln(fraction))
    if x < -_FAR:
        return d.ln(d.subtract(1, d.exp(_log_tail(x.copy_negate()))))
    # P(0 < N < x) = density(x) (x + x^3 / 3 + x^5 / (3 5) + ...), whose terms have one sign.
    term = total = x
    number = 1
    while abs(term) > Decimal("1e-125"):
        number += 2
        term = d.divide(d.multiply(term, square), number)
        total = d.add(total, term)
    inside = d.multiply(d.exp(log_density), total)
    return d.ln(d.subtract(Decimal("0.5"), inside))


_LOG_DELTA: Mapping[str, Callable[[Decimal, Decimal], Decimal]] = {
    "zcdp": _zcdp,
    "gaussian": _gaussian,
    "paper": _paper,
}

ACCOUNTINGS = tuple(_LOG_DELTA)
"""The accountings that can be checked."""
