"""From clues to a guess, and from its mistakes to what must have been spent.

The first quarter of the runs chooses how to guess: which clue to look at, where to put the
threshold between the two neighbours, and which of two tests to trust. All other runs are guessed
that way, once, so that the bound needs no correction for the choice. The tests:

*together*    All wrong guesses are one binomial count, because a coin chose the side. With the sum
              of the two error rates known to be at most 2 e, every bound here is least where both
              are e: the floors of `tradeoff` are convex and symmetrical.
*apart*       Each rate has its own Clopper-Pearson bound, at half of the alarm. It sees further
              where one of the two errors is rare.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kinfolk._typing import Bools, Floats
from kinfolk.audit.tradeoff import (
    Ceiling,
    ErrorRates,
    gaussian_epsilon,
    highest_rate,
    likely_rate,
)
from kinfolk.privacy.guarantee import Guarantee

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
