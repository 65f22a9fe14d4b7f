"""(epsilon, delta) outside, rho inside.

Everything bought is charged in rho, under zero-concentrated differential privacy, where spends
simply add up. What is promised is (epsilon, delta). The bridge is the conversion of Canonne, Kamath
and Steinke (2020): a rho-zCDP mechanism is (epsilon, delta)-DP when, for some alpha > 1,

    log delta >= (alpha - 1) (alpha rho - epsilon) + (alpha - 1) log(1 - 1/alpha) - log(alpha)

Every alpha is a proof. The search for the best one may therefore use floating point: a poor alpha
costs accuracy, never privacy. The inequality itself is evaluated with 60 decimal digits and rounded
against the buyer. `accounting="paper"` uses the lemma of the paper, epsilon = rho + 2 sqrt(rho
log(1/delta)), which is valid and looser; it is there to repeat the paper's numbers.

Where everything bought is Gaussian noise, no conversion is needed: Gaussian mechanisms, however
they are chosen one after the other, are together as private as a single one with mu^2 = 2 rho
(Dong, Roth and Su, 2022; Smith and Thakurta, 2022), and that one has exactly

    delta = Phi(mu / 2 - epsilon / mu) - exp(epsilon) Phi(-mu / 2 - epsilon / mu)

(Balle and Wang, 2018). `accounting="gaussian"` uses this. It buys five per cent less noise for the
same promise. Our noise is a *discrete* Gaussian, of variance s^2 say. Add continuous Gaussian noise
of variance s^2 - 4 to an integer, and draw an integer z near the sum y with weights
exp(-(z - y)^2 / 8): that is post-processing, and the result is the discrete Gaussian of variance
s^2, but for factors within 1 +- 1e-33 in every cell (by Poisson summation, the sum of the weights
varies with y by 2 exp(-8 pi^2) < 1.1e-34 of itself). So a discrete Gaussian costs what a continuous
one of variance s^2 - 4 does; the factors disappear in the margin below.

Amounts of rho are exact. A budget is compared with a sum of spends. In floating point that sum may
round down (an overspend nobody sees) or up (a refusal nobody understands), so an amount is a
fraction on one fixed grid of multiples of 2**-96: additions are exact, and a thousand different
spends do not grow a thousand different denominators. What is charged is rounded up to the grid,
what is granted is rounded down.

Nothing here needs opendp, so that anybody can check a certificate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Context, Decimal
from enum import StrEnum
from fractions import Fraction

from kinfolk.errors import KinfolkError

# Always by its methods: operators on Decimals round to whatever context the caller has set.
_EXACT = Context(prec=60, rounding=ROUND_HALF_EVEN, Emin=-999_999, Emax=999_999)
# Far above what 60 digits and a last rounding to a float lose, far below what anybody notices.
_MARGIN = Fraction(1, 10**12)
_ROUNDING = 1e-12
_LOG_ALPHA_RANGE = (-100.0, 100.0)
AMOUNT_GRID = 2**96
"""Amounts are multiples of 1 / AMOUNT_GRID, about 1.3e-29."""


class Accounting(StrEnum):
    """How rho becomes (epsilon, delta), and what a selection costs.

    >>> Accounting.parse("paper")
    <Accounting.PAPER: 'paper'>
    """

    ZCDP = "zcdp"
    """The tight conversion, and selections at their bounded-range cost. The default."""
    GAUSSIAN = "gaussian"
    """Exact, where all that is bought is Gaussian noise: nothing can be selected."""
    PAPER = "paper"
    """The arithmetic of the paper: its lemma, and four times the cost for a selection."""

    @classmethod
    def parse(cls, text: str) -> Accounting:
        """The accounting of that name."""
        try:
            return cls(text)
        except ValueError:
            choices = ", ".join(f"{one.value!r}" for one in cls)
            raise KinfolkError(f"accounting is {text!r}. Choose one of {choices}.") from None


def rho_from(epsilon: float, delta: float, *, accounting: Accounting = Accounting.ZCDP) -> Fraction:
    """The largest budget rho, exact, that keeps the promise (epsilon, delta).

    Guarantee: any rho-zCDP mechanism is (epsilon, delta)-DP for the same neighbours; under
    `gaussian`, any sequence of Gaussian measurements that cost rho together. The result is rounded
    down, and checked with `delta_from` before it is returned.

    >>> float(rho_from(1.0, 1 / 197_512**2))  # doctest: +ELLIPSIS
    0.01239...
    >>> float(rho_from(1.0, 1 / 197_512**2, accounting=Accounting.GAUSSIAN))  # doctest: +ELLIPSIS
    0.01353...
    >>> float(rho_from(1.0, 1 / 197_512**2, accounting=Accounting.PAPER))  # doctest: +ELLIPSIS
    0.01004...
    """
    check_promise(epsilon, delta)
    rho = round_down(Fraction(_best_rho(epsilon, delta, accounting)) * (1 - _MARGIN))
    while rho > 0 and delta_from(rho, epsilon, accounting=accounting) > delta:
        rho = round_down(rho * (1 - _MARGIN))
    if rho <= 0:
        raise KinfolkError(
            f"epsilon = {epsilon!r} with delta = {delta!r} leaves no budget that can be measured. "
            "Raise epsilon or delta."
        )
    return rho


def epsilon_from(
    rho: Fraction | float, delta: float, *, accounting: Accounting = Accounting.ZCDP
) -> float:
    """The epsilon that rho amounts to at this delta, rounded up.

    >>> 0.999 < epsilon_from(0.01239, 1 / 197_512**2) <= 1
    True
    """
    _check_rho(rho)
    _check_delta(delta)
    if rho == 0:
        return 0.0
    if accounting is Accounting.PAPER:
        cost = _decimal(rho)
        root = _EXACT.sqrt(_EXACT.multiply(cost, _EXACT.ln(Decimal(delta)).copy_negate()))
        return _float_above(_EXACT.add(cost, _EXACT.multiply(Decimal(2), root)))
    if accounting is Accounting.GAUSSIAN:
        # Delta falls as epsilon grows.
        return _increasing_root(lambda e: delta - _gaussian_delta(math.sqrt(2 * rho), e))
    # The best alpha solves rho (alpha - 1)^2 + log(alpha) = log(1 / delta); the left side grows.
    cost_, target = float(rho), -math.log(delta)
    beta = _increasing_root(lambda b: cost_ * b * b + math.log1p(b) - target)
    alpha, log_ratio = _alpha_terms(beta)
    spread = _EXACT.divide(_EXACT.add(_EXACT.ln(Decimal(delta)), _EXACT.ln(alpha)), Decimal(beta))
    bound = _EXACT.subtract(_EXACT.add(_EXACT.multiply(alpha, _decimal(rho)), log_ratio), spread)
    return max(0.0, _float_above(bound))


def delta_from(
    rho: Fraction | float, epsilon: float, *, accounting: Accounting = Accounting.ZCDP
) -> float:
    """The delta that rho amounts to at this epsilon, rounded up and at most 1.

    >>> delta_from(0.01239, 1.0) <= 1 / 197_512**2
    True
    """
    _check_rho(rho)
    _check_epsilon(epsilon)
    if rho == 0:
        return 0.0
    if accounting is Accounting.GAUSSIAN:
        return _gaussian_delta(math.sqrt(2 * rho), epsilon)
    if accounting is Accounting.PAPER:
        cost = _decimal(rho)
        above = _EXACT.subtract(Decimal(epsilon), cost)
        if above <= 0:
            return 1.0
        four_rho = _EXACT.multiply(Decimal(4), cost)
        log_delta = _EXACT.divide(_EXACT.multiply(above, above), four_rho).copy_negate()
    else:
        # The derivative of the bound in alpha, which grows with alpha: its root is the minimum.
        cost_ = float(rho)
        beta = _increasing_root(lambda b: (2 * b + 1) * cost_ - epsilon - math.log1p(1 / b))
        log_delta = _log_delta(_decimal(rho), Decimal(epsilon), beta)
    return 1.0 if log_delta >= 0 else min(1.0, _float_above(_EXACT.exp(log_delta)))


def _best_rho(epsilon: float, delta: float, accounting: Accounting) -> Decimal:
    """The rho that (epsilon, delta) allows, to about 50 digits and before any margin."""
    log_inverse = _EXACT.ln(Decimal(delta)).copy_negate()
    if accounting is Accounting.PAPER:
        roots = _EXACT.add(
            _EXACT.sqrt(_EXACT.add(log_inverse, Decimal(epsilon))), _EXACT.sqrt(log_inverse)
        )
        ratio = _EXACT.divide(Decimal(epsilon), roots)
        return _EXACT.multiply(ratio, ratio)
    if accounting is Accounting.GAUSSIAN:
        mu = _increasing_root(lambda m: _gaussian_delta(m, epsilon) - delta)
        return _EXACT.divide(_EXACT.multiply(Decimal(mu), Decimal(mu)), Decimal(2))
    target = math.log(delta)

    def excess(beta: float) -> float:
        # Along the best alpha for each rho, the bound on log(delta) falls as alpha grows.
        log_inverse_ratio = math.log1p(1 / beta)
        rho = (epsilon + log_inverse_ratio) / (2 * beta + 1)
        bound = beta * ((beta + 1) * rho - epsilon) - beta * log_inverse_ratio - math.log1p(beta)
        return target - bound

    beta = _increasing_root(excess)
    alpha, log_ratio = _alpha_terms(beta)
    spread = _EXACT.divide(_EXACT.subtract(_EXACT.ln(alpha), log_inverse), Decimal(beta))
    return _EXACT.divide(_EXACT.add(_EXACT.subtract(Decimal(epsilon), log_ratio), spread), alpha)


def _gaussian_delta(mu: float, epsilon: float) -> float:
    """The delta of a Gaussian mechanism whose neighbours lie mu standard deviations apart.

    Rounded up: each term is taken for a part in 10^12 worse than it is, a thousand times what the
    error function and its argument are off by.
    """
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if near < -8:
        return 1.0
    above = math.erfc(near / math.sqrt(2)) / 2 * (1 + _ROUNDING)
    # exp(epsilon) Phi(-far) in logarithms: the one may overflow, the other underflow.
    tail = math.erfc(far / math.sqrt(2)) / 2
    below = math.exp(epsilon + math.log(tail)) * (1 - _ROUNDING) if tail > 0 else 0.0
    return min(1.0, max(above - below, math.ulp(0.0)))


def _log_delta(rho: Decimal, epsilon: Decimal, beta: float) -> Decimal:
    """The bound on log(delta) at alpha = 1 + beta."""
    alpha, log_ratio = _alpha_terms(beta)
    inner = _EXACT.add(_EXACT.subtract(_EXACT.multiply(alpha, rho), epsilon), log_ratio)
    return _EXACT.subtract(_EXACT.multiply(Decimal(beta), inner), _EXACT.ln(alpha))


def _alpha_terms(beta: float) -> tuple[Decimal, Decimal]:
    """The pair alpha = 1 + beta and log(1 - 1/alpha), for a beta taken as exact."""
    alpha = _EXACT.add(Decimal(1), Decimal(beta))
    return alpha, _EXACT.ln(_EXACT.divide(Decimal(beta), alpha))


def _increasing_root(function: Callable[[float], float]) -> float:
    """The number above 0 where an increasing function crosses zero, by bisection on its log."""
    low, high = _LOG_ALPHA_RANGE
    for _ in range(80):
        middle = (low + high) / 2
        if function(math.exp(middle)) < 0:
            low = middle
        else:
            high = middle
    return math.exp(high)


def _decimal(value: Fraction | float) -> Decimal:
    """The value to 60 digits."""
    exact = Fraction(value)
    return _EXACT.divide(Decimal(exact.numerator), Decimal(exact.denominator))


def _float_above(value: Decimal) -> float:
    """A float above a Decimal that is right to about 50 digits: the next one above the nearest."""
    return math.nextafter(float(value), math.inf)


def check_promise(epsilon: float, delta: float) -> None:
    """Refuse what is no promise."""
    _check_epsilon(epsilon)
    _check_delta(delta)


def _check_epsilon(epsilon: float) -> None:
    if not _is_number(epsilon) or not (math.isfinite(epsilon) and epsilon > 0):
        raise KinfolkError(f"epsilon is {epsilon!r}. It must be a number above 0, such as 1.")


def _check_delta(delta: float) -> None:
    if not _is_number(delta) or not 0 < delta < 1:
        raise KinfolkError(
            f"delta is {delta!r}. It must lie between 0 and 1 and be far below one in the number "
            "of people, such as 1e-9."
        )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_rho(rho: Fraction | float) -> None:
    if not math.isfinite(rho) or rho < 0:
        raise KinfolkError(f"rho is {rho!r}. It must be a number that is not negative.")


def round_up(value: float | Fraction) -> Fraction:
    """The smallest amount that is at least `value`: for what is charged.

    >>> round_up(Fraction(1, 3)) > Fraction(1, 3)
    True
    >>> round_up(0.25)
    Fraction(1, 4)
    """
    scaled = Fraction(value) * AMOUNT_GRID
    return Fraction(-(-scaled.numerator // scaled.denominator), AMOUNT_GRID)


def round_down(value: float | Fraction) -> Fraction:
    """The largest amount that is at most `value`: for what is granted.

    >>> 3 * round_down(Fraction(1, 3)) <= 1
    True
    """
    scaled = Fraction(value) * AMOUNT_GRID
    return Fraction(scaled.numerator // scaled.denominator, AMOUNT_GRID)


def to_text(amount: Fraction) -> str:
    """The amount as text that loses nothing.

    >>> to_text(Fraction(1, 4))
    '1/4'
    """
    return f"{amount.numerator}/{amount.denominator}"


def from_text(text: object) -> Fraction:
    """The amount that `to_text` wrote.

    >>> from_text("1/4")
    Fraction(1, 4)
    """
    if isinstance(text, str):
        numerator, slash, denominator = text.partition("/")
        if slash and _is_digits(numerator) and _is_digits(denominator) and int(denominator):
            amount = Fraction(int(numerator), int(denominator))
            if amount == round_down(amount):
                return amount
    raise KinfolkError(
        f"{text!r} is not an exact amount of rho. "
        "Write numerator/denominator, as kinfolk does, with a denominator that divides 2**96."
    )


def _is_digits(text: str) -> bool:
    """ASCII digits only, few enough that converting them cannot be made to take long."""
    return 0 < len(text) <= 200 and text.isascii() and text.isdigit()
