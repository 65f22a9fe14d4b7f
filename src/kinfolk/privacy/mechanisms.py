"""What can be bought, as data: a mechanism says its sensitivity, its noise and its cost.

A mechanism is a frozen description. The ledger charges for the description, the sampler adds the
noise the description states, and a certificate repeats it, so that the cost can be worked out again
by somebody who trusts none of them. Costs are exact: sensitivities are whole numbers or fractions,
and a float scale stands for the exact number that it is.

Sensitivities are in counts. The Gaussian takes the *square* of its L2 sensitivity, because that is
a whole number where the sensitivity itself (the square root of 2, say) is not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from kinfolk.errors import KinfolkError
from kinfolk.privacy.accounting import Accounting, round_down, round_up

GRID = 4
"""Of the variance of a discrete Gaussian, so much does not count under `gaussian` accounting: it
hides that the noise is on a grid of whole numbers (`privacy.accounting` says how)."""


def selection_factor(accounting: Accounting) -> Fraction:
    """The cost of a selection over eps^2: 1/8, or 1/2 in the paper.

    >>> selection_factor(Accounting.PAPER)
    Fraction(1, 2)
    """
    if accounting is Accounting.GAUSSIAN:
        raise KinfolkError(
            "accounting is 'gaussian', which covers measurements alone, and this step selects. "
            "Choose the accounting 'zcdp'."
        )
    return Fraction(1, 2) if accounting is Accounting.PAPER else Fraction(1, 8)


@dataclass(frozen=True, kw_only=True)
class Gaussian:
    """Discrete Gaussian noise on a vector of integer counts.

    Guarantee: if neighbours' count vectors differ by at most sqrt(squared_sensitivity) in L2, the
    noisy vector costs `rho()`, whatever its length (Canonne, Kamath and Steinke, 2020; up to 10^12
    cells under `gaussian` accounting).

    >>> noise = Gaussian.for_rho(Fraction(1, 16), squared_sensitivity=2)
    >>> noise.sigma, noise.rho()
    (4.0, Fraction(1, 16))
    """

    squared_sensitivity: int | Fraction
    """The square of the L2 sensitivity, in counts: 2 for one whole marginal of individuals."""
    sigma: float
    """The parameter of the discrete Gaussian, in counts: its standard deviation or a hair more."""

    def __post_init__(self) -> None:
        _positive(self.squared_sensitivity, "squared_sensitivity")
        _check_scale(self.sigma, "sigma")

    @classmethod
    def for_rho(
        cls,
        rho: Fraction | float,
        *,
        squared_sensitivity: int | Fraction,
        accounting: Accounting = Accounting.ZCDP,
    ) -> Gaussian:
        """The least noise that costs at most rho."""
        square = _positive(squared_sensitivity, "squared_sensitivity")
        sigma = _smallest_scale(square / 2, rho, free=_grid(accounting))
        return cls(squared_sensitivity=squared_sensitivity, sigma=sigma)

    def rho(self, accounting: Accounting = Accounting.ZCDP) -> Fraction:
        """The cost: sensitivity^2 / (2 sigma^2), rounded up to an exact amount.

        Under `gaussian` accounting, 4 of the variance do not count.

        >>> Gaussian(squared_sensitivity=2, sigma=6.0).rho(Accounting.GAUSSIAN)
        Fraction(1, 32)
        """
        variance = Fraction(self.sigma) ** 2 - _grid(accounting)
        if variance <= 0:
            raise KinfolkError(
                f"sigma is {self.sigma!r}. Under gaussian accounting it must be above "
                f"{GRID**0.5:g}; zcdp accounting has no such limit."
            )
        return round_up(self.squared_sensitivity / (2 * variance))

    @property
    def noise(self) -> float:
        """How large the noise is, in counts."""
        return self.sigma

    def describe(self) -> dict[str, str | float]:
        """What a ledger or a certificate writes down: `mechanism_from` reads it back."""
        return {
            "mechanism": "gaussian",
            "squared_sensitivity": str(self.squared_sensitivity),
            "sigma": self.sigma,
        }


@dataclass(frozen=True, kw_only=True)
class Exponential:
    """The exponential mechanism: choose one candidate, with P ~ exp(score / scale).

    Guarantee: if no score differs by more than `sensitivity` between neighbours, the choice costs
    `rho()`, however many candidates there are.

    >>> choice = Exponential.for_rho(Fraction(1, 32), sensitivity=1)
    >>> choice.scale, choice.rho()
    (4.0, Fraction(1, 32))
    """

    sensitivity: int | Fraction
    """The most that one score can change between neighbours, in counts."""
    scale: float
    """The temperature, in counts: a lead of `scale` makes a candidate e times as likely."""

    def __post_init__(self) -> None:
        _positive(self.sensitivity, "sensitivity")
        _check_scale(self.scale, "scale")

    @classmethod
    def for_rho(
        cls,
        rho: Fraction | float,
        *,
        sensitivity: int | Fraction,
        accounting: Accounting = Accounting.ZCDP,
    ) -> Exponential:
        """The sharpest choice that costs at most rho."""
        eps_times_scale = 2 * _positive(sensitivity, "sensitivity")
        scale = _smallest_scale(eps_times_scale**2 * selection_factor(accounting), rho)
        return cls(sensitivity=sensitivity, scale=scale)

    def rho(self, accounting: Accounting = Accounting.ZCDP) -> Fraction:
        """The cost, rounded up to an exact amount.

        With eps = 2 sensitivity / scale, the choice is eps-bounded-range, which costs eps^2 / 8
        (Cesar and Rogers, 2020). The paper charges eps^2 / 2, as for any eps-DP mechanism.

        >>> Exponential(sensitivity=1, scale=4.0).rho(Accounting.PAPER)
        Fraction(1, 8)
        """
        eps = 2 * self.sensitivity / Fraction(self.scale)
        return round_up(eps**2 * selection_factor(accounting))

    @property
    def noise(self) -> float:
        """How large the noise is, in counts."""
        return self.scale

    def describe(self) -> dict[str, str | float]:
        """What a ledger or a certificate writes down: `mechanism_from` reads it back."""
        return {
            "mechanism": "exponential",
            "sensitivity": str(self.sensitivity),
            "scale": self.scale,
        }


Mechanism = Gaussian | Exponential
"""Anything that can be bought."""


def mechanism_from(description: Mapping[str, object]) -> Mechanism:
    """The mechanism that `describe` wrote down; anything unknown is refused, not guessed.

    >>> mechanism_from({"mechanism": "gaussian", "squared_sensitivity": "2", "sigma": 4.0}).rho()
    Fraction(1, 16)
    """
    match dict(description):
        case {
            "mechanism": "gaussian",
            "squared_sensitivity": str(square),
            "sigma": float(sigma),
            **rest,
        } if not rest:
            return Gaussian(squared_sensitivity=_fraction(square), sigma=sigma)
        case {
            "mechanism": "exponential",
            "sensitivity": str(sensitivity),
            "scale": float(scale),
            **rest,
        } if not rest:
            return Exponential(sensitivity=_fraction(sensitivity), scale=scale)
    raise KinfolkError(
        f"{dict(description)!r} does not describe a mechanism of this version of kinfolk. "
        "Read it with the version that wrote it."
    )


@dataclass(frozen=True, kw_only=True)
class RoundShares:
    """What one round of select-then-measure may cost."""

    select: Fraction
    """For the selection."""
    measure: Fraction
    """For the measurement."""


def round_shares(
    rho: Fraction, *, rounds: int, alpha: float, accounting: Accounting = Accounting.ZCDP
) -> RoundShares:
    """The shares of one of `rounds` equal rounds, split as in the paper.

    With some eps0, a round selects with eps = alpha eps0 and measures with sigma = sensitivity /
    ((1 - alpha) eps0). The shares are rounded down, so `rounds` of them never exceed rho.

    >>> shares = round_shares(Fraction(1, 100), rounds=100, alpha=0.5)
    >>> round(float(shares.measure / shares.select), 9)
    4.0
    """
    if rounds < 1:
        raise KinfolkError(f"rounds is {rounds!r}. It must be at least 1.")
    if not 0 < alpha < 1:
        raise KinfolkError(f"alpha is {alpha!r}. It must lie between 0 and 1, such as 0.67.")
    select = Fraction(alpha) ** 2 * selection_factor(accounting)
    measure = (1 - Fraction(alpha)) ** 2 / 2
    one_round = rho / rounds / (select + measure)
    return RoundShares(
        select=round_down(one_round * select), measure=round_down(one_round * measure)
    )


def _smallest_scale(numerator: Fraction, rho: Fraction | float, *, free: int = 0) -> float:
    """The smallest float s with numerator / (s^2 - free) <= rho, on the grid of amounts."""
    granted = round_down(rho) if math.isfinite(rho) else Fraction(0)
    if granted <= 0:
        raise KinfolkError(
            f"rho is {float(rho)!r}, too little to buy anything. Raise epsilon or buy fewer things."
        )
    needed = numerator / granted + free
    scale = math.sqrt(needed)
    while Fraction(scale) ** 2 < needed:
        scale = math.nextafter(scale, math.inf)
    while Fraction(below := math.nextafter(scale, 0)) ** 2 >= needed:
        scale = below
    return scale


def _grid(accounting: Accounting) -> int:
    return GRID if accounting is Accounting.GAUSSIAN else 0


def _positive(value: int | Fraction, name: str) -> Fraction:
    if not isinstance(value, int | Fraction) or isinstance(value, bool) or value <= 0:
        raise KinfolkError(
            f"{name} is {value!r}. Give a whole number or a Fraction above 0: "
            "a float would not be exact."
        )
    return Fraction(value)


def _check_scale(value: float, name: str) -> None:
    # Beyond these bounds int64 noise makes no sense, and a float's square may leave its range.
    if not isinstance(value, float) or not 2.0**-40 <= value <= 2.0**56:
        raise KinfolkError(
            f"{name} is {value!r}. Give a float between 2**-40 and 2**56 counts: "
            "more noise would not fit the 64-bit integers it is added to."
        )


def _fraction(text: str) -> Fraction:
    if re.fullmatch(r"[0-9]{1,40}(/[1-9][0-9]{0,39})?", text) is None:
        raise KinfolkError(f"{text!r} is not a sensitivity. Write it as 2 or 1/3.")
    return Fraction(text)
