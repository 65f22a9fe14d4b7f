"""From clues to a guess, and from its mistakes to what must have been spent.

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

How high an error rate can be at most, given how often it was seen, is bounded by Clopper and
Pearson (1934). The bound is exact for every number of trials, however small: it inverts the
binomial tail itself and approximates nothing.

The first quarter of the runs chooses how to guess: which clue to look at, where to put the
threshold between the two neighbours, and which of two tests to trust. All other runs are guessed
that way, once, so that the bound needs no correction for the choice. The tests:

*together*    All wrong guesses are one binomial count, because a coin chose the side. With the sum
              of the two error rates known to be at most 2 e, every bound here is least where both
              are e: both floors are convex and symmetrical.
*apart*       Each rate has its own Clopper-Pearson bound, at half of the alarm. It sees further
              where one of the two errors is rare.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from kinfolk._typing import Bools, Floats
from kinfolk.errors import KinfolkError
from kinfolk.privacy.accounting import Accounting
from kinfolk.privacy.guarantee import Guarantee

_FINEST = 0.6
"""Below this sigma, noise on whole numbers is no longer like a Gaussian."""


@dataclass(frozen=True, kw_only=True)
class ErrorRates:
    """The two error rates of a guess."""

    false_alarms: float
    """How often it says "the second" of the first neighbour."""
    misses: float
    """How often it says "the first" of the second neighbour."""

    @property
    def mu(self) -> float:
        """The least mu whose floor is not above these errors.

        >>> round(ErrorRates(false_alarms=0.158655, misses=0.5).mu, 3)
        1.0
        """
        if self.false_alarms + self.misses >= 1:
            return 0.0
        return -normal_quantile(self.false_alarms) - normal_quantile(self.misses)

    def epsilon(self, delta: float) -> float:
        """The least epsilon whose floor, with this delta, is not above these errors.

        >>> round(math.exp(ErrorRates(false_alarms=0.1, misses=0.2).epsilon(delta=0.0)), 9)
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


def highest_rate(seen: int, trials: int, *, alarm: float) -> float:
    """The upper Clopper-Pearson bound on a probability.

    The probability lies above the result in at most a share `alarm` of all experiments. Without
    trials nothing is known, and the result is 1.

    >>> round(highest_rate(0, 1000, alarm=0.001), 5)
    0.00688
    >>> highest_rate(7, 7, alarm=0.001)
    1.0
    """
    if not 0 <= seen <= trials:
        raise KinfolkError(f"{seen} of {trials} trials: give a number from 0 to {trials}.")
    if not 0 < alarm < 1:
        raise KinfolkError(f"alarm is {alarm!r}. It must lie between 0 and 1, such as 0.001.")
    if seen == trials:
        return 1.0
    ways = _log_ways(seen, trials)
    low, high = seen / trials, 1.0
    # The tail falls as the rate grows; `high` always keeps it at or below the alarm.
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if _tail(ways, trials, middle) > alarm:
            low = middle
        else:
            high = middle
    return high


def _log_ways(seen: int, trials: int) -> Floats:
    """log(trials choose j) for j = 0, ..., seen."""
    j = np.arange(1, seen + 1)
    return np.concatenate([[0.0], np.cumsum(np.log(trials - j + 1) - np.log(j))])


def _tail(ways: Floats, trials: int, rate: float) -> float:
    """The probability of at most len(ways) - 1 events in so many trials."""
    j = np.arange(len(ways))
    logs = ways + j * math.log(rate) + (trials - j) * math.log1p(-rate)
    top = float(logs.max())
    return math.exp(top) * float(np.exp(logs - top).sum())


def likely_rate(seen: int, trials: int, *, alarm: float) -> float:
    """Wilson's approximation to `highest_rate`: quick, and for choosing among thresholds only.

    >>> 0.006 < likely_rate(0, 1000, alarm=0.001) < 0.01
    True
    """
    if trials == 0:
        return 1.0
    z = normal_quantile(1 - alarm)
    share, slack = seen / trials, z * z / trials
    spread = math.sqrt(slack * (share * (1 - share) + slack / 4))
    return min(1.0, (share + slack / 2 + spread) / (1 + slack))


def normal_quantile(probability: float) -> float:
    """The point below which a standard normal variable falls with this probability.

    >>> round(normal_quantile(0.975), 3), normal_quantile(0.0)
    (1.96, -inf)
    """
    if probability <= 0:
        return -math.inf
    if probability >= 1:
        return math.inf
    return NormalDist().inv_cdf(probability)


def normal_below(point: float) -> float:
    """The probability that a standard normal variable falls below a point, right in both tails.

    >>> normal_below(-10)  # doctest: +ELLIPSIS
    7.61...e-24
    """
    return math.erfc(-point / math.sqrt(2)) / 2


Sides = Bools
Rate = Callable[..., float]

_CHOICE = 15
"""Thresholds to choose from: with many, luck chooses."""
_CLEARLY = 1.5
"""So many times as much must be seen with another threshold than with 0: less may be luck."""
_POINTS = 80
"""Points of a curve."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What is claimed, and what errors say against it."""

    ceiling: Ceiling
    promise: Guarantee
    alarm: float
    """How often a true claim may be refuted."""

    def least_epsilon(self, errors: ErrorRates) -> float:
        """The least epsilon that allows such errors."""
        delta = self.promise.delta
        direct = errors.epsilon(delta)
        if self.ceiling.selected > 0:
            # A selection's floor lies above a Gaussian one at its ends, where epsilon is read.
            return direct
        return max(direct, gaussian_epsilon(errors.mu / self.ceiling.lattice, delta))

    def used(self, errors: ErrorRates) -> float:
        """How much of the claim the errors use up; above 1 they refute it."""
        return max(
            self.ceiling.rho(errors.mu) / float(self.promise.rho),
            self.least_epsilon(errors) / self.promise.epsilon,
        )


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A guess that was chosen, and how it fared on the runs that had no part in the choice."""

    clue: str
    """What it looked at."""
    errors: ErrorRates
    """Upper bounds on the error rates."""
    curve: tuple[ErrorRates, ...]
    """The error rates seen, threshold by threshold."""


def judge_clues(names: Sequence[str], clues: Floats, sides: Sides, claim: Claim) -> Judged:
    """Choose a guess on a quarter of the runs, and judge it on the others.

    clues: (runs, names) larger for the second neighbour; sides: (runs,) whether it was the second.
    """
    pilot = len(sides) // 4
    columns = dict(zip(names, clues.T, strict=True))
    if len(columns) > 1:
        weights, middle = _weights(clues[:pilot], sides[:pilot])
        columns[" and ".join(columns)] = (clues - middle) @ weights
    chosen = {
        name: choose(column[:pilot], sides[:pilot], claim) for name, column in columns.items()
    }
    best = max(
        columns,
        key=lambda name: claim.used(
            chosen[name].bound(
                columns[name][:pilot], sides[:pilot], alarm=claim.alarm, rate=likely_rate
            )
        ),
    )
    rest, truth = columns[best][pilot:], sides[pilot:]
    errors = chosen[best].bound(rest, truth, alarm=claim.alarm, rate=highest_rate)
    return Judged(clue=best, errors=errors, curve=_curve(rest, truth))


@dataclass(frozen=True, kw_only=True)
class Test:
    """A way to guess."""

    threshold: float
    together: bool
    """Whether wrong guesses are counted together or apart."""

    def bound(self, clues: Floats, truth: Sides, *, alarm: float, rate: Rate) -> ErrorRates:
        """Upper bounds on the error rates."""
        guess = clues > self.threshold
        false_alarms, misses = int((guess & ~truth).sum()), int((~guess & truth).sum())
        firsts, seconds = int((~truth).sum()), int(truth.sum())
        if self.together:
            either = rate(false_alarms + misses, firsts + seconds, alarm=alarm)
            return ErrorRates(false_alarms=either, misses=either)
        return ErrorRates(
            false_alarms=rate(false_alarms, firsts, alarm=alarm / 2),
            misses=rate(misses, seconds, alarm=alarm / 2),
        )


def choose(clues: Floats, truth: Sides, claim: Claim) -> Test:
    """The test of one clue that says most against the claim, on these runs."""
    # A clue of 0 favours neither side, if clues are what they should be.
    middle = Test(threshold=0.0, together=True)
    tests = [
        Test(threshold=threshold, together=together)
        for together in (True, False)
        for threshold in (0.0, *_thresholds(clues, _CHOICE))
    ]

    def used(test: Test) -> float:
        return claim.used(test.bound(clues, truth, alarm=claim.alarm, rate=likely_rate))

    best = max(tests, key=used)
    return best if used(best) > _CLEARLY * used(middle) else middle


def _weights(clues: Floats, truth: Sides) -> tuple[Floats, Floats]:
    """(clues,) how much each counts, were they Gaussian and independent; and their middles."""
    firsts, seconds = clues[~truth], clues[truth]
    if not len(firsts) or not len(seconds):
        return np.ones(clues.shape[1]), np.zeros(clues.shape[1])
    spread = (firsts.var(axis=0) + seconds.var(axis=0)) / 2
    low, high = firsts.mean(axis=0), seconds.mean(axis=0)
    # What never varies but by the side tells everything.
    return (high - low) / np.maximum(spread, 1e-9), (low + high) / 2


def _thresholds(clues: Floats, most: int) -> list[float]:
    """Places between the values seen."""
    values = np.unique(clues)
    middles = (values[1:] + values[:-1]) / 2
    if len(middles) > most:
        middles = np.quantile(middles, np.linspace(0, 1, most + 2)[1:-1])
    return [float(middle) for middle in middles]


def _curve(clues: Floats, truth: Sides) -> tuple[ErrorRates, ...]:
    """The error rates seen, threshold by threshold, from no false alarms to no misses."""
    firsts, seconds = clues[~truth], clues[truth]
    if not len(firsts) or not len(seconds):
        return ()
    places = [np.inf, *reversed(_thresholds(clues, _POINTS)), -np.inf]
    return tuple(
        ErrorRates(
            false_alarms=float((firsts > place).mean()), misses=float((seconds <= place).mean())
        )
        for place in places
    )
