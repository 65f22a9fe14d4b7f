"""From the errors of a guess to what must have been spent.

Somebody who sees a release guesses which of two neighbours it came from. `false_alarms` is how
often the guess says the second when it was the first, `misses` how often the other way round. Every
promise of privacy is a floor under these two error rates, so that rates below the floor refute it:

*directly*    (epsilon, delta): misses >= 1 - delta - exp(epsilon) false_alarms, and the same with
              the two exchanged. It holds for anything that keeps the promise, whatever it does.
*Gaussian*    mu: misses >= Phi(Phi^-1(1 - false_alarms) - mu). Everything that a curator sells has
              such a floor, and over a run the squares of mu add up (Dong, Roth and Su, 2022).

What a budget rho buys, as a mu:

1. *Gaussian noise* on counts that differ by Delta has mu = Delta/sigma, and costs rho = mu^2 / 2.
   Noise on whole numbers is a little easier to see through, by a factor of at most 1 + 1/(16
   sigma^2) where sigma is at least 0.6; the tests check this by enumeration.
2. *A selection* with eps = 2 sensitivity/scale has ratios of probabilities within [exp(t - eps),
   exp(t)] for some t. The lowest floor with such ratios has one corner, and mu is largest where the
   corner is symmetrical, t = eps/2: there mu <= sqrt(pi/8) eps, while rho = eps^2 / 8.

So mu^2 <= 2 rho for what is measured and mu^2 <= pi rho for what is selected. Under `gaussian`
accounting mu^2 <= 2 rho is the claim itself, without any factor: 4 of the variance of the noise are
not counted, and pay for the whole numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from kinfolk.audit.confidence import normal_below, normal_quantile
from kinfolk.privacy.accounting import Accounting

_FINEST = 0.6
"""Below this sigma, noise on whole numbers is no longer like a Gaussian."""


@dataclass(frozen=True, kw_only=True)
class Errors:
    """The two error rates of a guess."""

    false_alarms: float
    """How often it says "the second" of the first neighbour."""
    misses: float
    """How often it says "the first" of the second neighbour."""

    @property
    def mu(self) -> float:
        """The least mu whose floor is not above these errors.

        >>> round(Errors(false_alarms=0.158655, misses=0.5).mu, 3)
        1.0
        """
        if self.false_alarms + self.misses >= 1:
            return 0.0
        return -normal_quantile(self.false_alarms) - normal_quantile(self.misses)

    def epsilon(self, delta: float) -> float:
        """The least epsilon whose floor, with this delta, is not above these errors.

        >>> round(math.exp(Errors(false_alarms=0.1, misses=0.2).epsilon(delta=0.0)), 9)
        8.0
        """
        return max(
            _log_ratio(1 - delta - self.misses, self.false_alarms),
            _log_ratio(1 - delta - self.false_alarms, self.misses),
        )


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """The mu that a budget buys at most, by what it is spent on.

    >>> round(Ceiling(selected=0.0, sigma=10.0).mu(rho=0.5), 2)
    1.0
    >>> round(Ceiling(selected=1.0).mu(rho=1 / math.pi), 2)
    1.0
    """

    selected: float
    """The share of the budget that goes into selections; the rest is measured."""
    sigma: float = math.inf
    """The least noise of any measurement, in counts."""
    accounting: Accounting = Accounting.ZCDP
    """What the budget is spent by."""

    @property
    def lattice(self) -> float:
        """How much easier it is to see through noise on whole numbers than the claim says."""
        if self.accounting is Accounting.GAUSSIAN:
            return 1.0
        return 1 + 1 / (16 * self.sigma**2) if self.sigma >= _FINEST else math.inf

    @property
    def per_rho(self) -> float:
        """The square of mu that one unit of rho buys."""
        measured = 2 * (1 - self.selected) * self.lattice**2 if self.selected < 1 else 0.0
        return measured + math.pi * self.selected

    def mu(self, rho: float) -> float:
        """The most that a budget buys.

        >>> Ceiling(selected=0.0, sigma=0.7, accounting=Accounting.GAUSSIAN).mu(rho=2.0)
        2.0
        """
        return math.sqrt(self.per_rho * rho)

    def rho(self, mu: float) -> float:
        """The least budget that buys it; 0 where nothing can be said."""
        return mu**2 / self.per_rho


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The exact epsilon of Gaussian noise at this delta, rounded down (Balle and Wang, 2018).

    >>> round(gaussian_epsilon(1.0, 1e-5), 2)
    4.38
    """
    low, high = 0.0, mu * (mu / 2 + 40)
    if mu <= 0 or gaussian_delta(mu, low) <= delta:
        return 0.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(mu, middle) > delta else (low, middle)
    return low


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The exact delta of Gaussian noise at this epsilon.

    >>> round(gaussian_delta(1.0, 1.0), 4)
    0.1269
    """
    near, far = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    return normal_below(near) - math.exp(epsilon) * normal_below(far)


def gaussian_floor(mu: float, false_alarms: float) -> float:
    """The fewest misses under a Gaussian floor.

    >>> round(gaussian_floor(1.0, 0.5), 4)
    0.1587
    """
    return normal_below(-normal_quantile(false_alarms) - mu)


def promise_floor(epsilon: float, delta: float, false_alarms: float) -> float:
    """The fewest misses under (epsilon, delta).

    >>> promise_floor(0.0, 0.0, 0.25)
    0.75
    """
    left = 1 - delta - math.exp(epsilon) * false_alarms
    return max(0.0, left, math.exp(-epsilon) * (1 - delta - false_alarms))


def _log_ratio(above: float, below: float) -> float:
    if above <= below:
        return 0.0
    return math.log(above / below) if below > 0 else math.inf
