"""Run something private many times, guess, and bound from below what it must have cost.

Each run tosses a coin and takes one of the two neighbours. The first quarter of the runs chooses
how to guess: where to put the threshold between the two, and which of two tests to trust. All other
runs are guessed that way, once, so that the bound needs no correction for the choice. The tests:

*together*    All wrong guesses are one binomial count, because a coin chose the side. With the sum
              of the two error rates known to be at most 2 e, every bound here is least where both
              are e: the floors of `tradeoff` are convex and symmetrical.
*apart*       Each rate has its own Clopper-Pearson bound, at half of the alarm. It sees further
              where one of the two errors is rare.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kinfolk.audit.confidence import highest_rate, likely_rate
from kinfolk.audit.result import AuditResult
from kinfolk.audit.subjects import SUBJECTS
from kinfolk.audit.tradeoff import Ceiling, Errors, gaussian_epsilon
from kinfolk.errors import KinfolkError
from kinfolk.privacy.accounting import rho_from
from kinfolk.privacy.curator import Promise
from kinfolk.privacy.scratch import quick_folder
from kinfolk.queries.units import Unit
from kinfolk.schema.findings import did_you_mean

FEWEST = 40
_CHOICE = 15
"""Thresholds to choose from: with many, luck chooses."""
_POINTS = 80
"""Points of a curve."""

Rate = Callable[..., float]


def audit(
    what: str,
    *,
    unit: Unit,
    epsilon: float,
    delta: float,
    runs: int = 2000,
    confidence: float = 0.999,
    advance: Callable[[], object] = lambda: None,
) -> AuditResult:
    """Audit one of `SUBJECTS` at a budget; `advance` is called after every run.

    Guarantee: if everything costs what the ledger says, the verdict is "violated" in at most a
    share 1 - confidence of all audits. A verdict of "consistent" proves nothing.

    >>> result = audit("select", unit=Unit.GROUP, epsilon=2.0, delta=1e-5, runs=40)
    >>> result.verdict.value, result.epsilon <= 2.0
    ('consistent', True)
    """
    if what not in SUBJECTS:
        raise KinfolkError(f"what is {what!r}. {did_you_mean(what, tuple(SUBJECTS))}")
    if runs < FEWEST:
        raise KinfolkError(f"runs is {runs}. Use at least {FEWEST}; thousands show more.")
    if not 0.5 <= confidence < 1:
        raise KinfolkError(f"confidence is {confidence}. Use 0.5 or more, below 1: 0.999, say.")
    rho = rho_from(epsilon, delta)
    subject = SUBJECTS[what](unit)
    promise = Promise(unit=unit, epsilon=epsilon, delta=delta)
    sides = np.array([secrets.randbelow(2) for _ in range(runs)], dtype=np.bool_)
    clues = np.empty(runs)
    with tempfile.TemporaryDirectory(dir=quick_folder(), prefix="kinfolk-audit-") as folder:
        for turn, second in enumerate(sides):
            # A ledger that survives is not what is audited here: each lives for one run.
            ledger = Path(folder) / f"{turn}.jsonl"
            data = subject.pair.second if second else subject.pair.first
            clues[turn] = subject.run(data, promise, ledger)
            for used in Path(folder).iterdir():
                used.unlink()
            advance()
    claim = _Claim(
        ceiling=subject.ceiling(float(rho)),
        rho=float(rho),
        epsilon=epsilon,
        delta=delta,
        alarm=1 - confidence,
    )
    pilot = runs // 4
    test = _choose(clues[:pilot], sides[:pilot], claim)
    judged, truth = clues[pilot:], sides[pilot:]
    errors = test.bound(judged, truth, alarm=claim.alarm, rate=highest_rate)
    return AuditResult(
        what=what,
        terms=unit.within(max_size=subject.pair.workload.schema.size_limit),
        claimed_epsilon=epsilon,
        delta=delta,
        claimed_rho=float(rho),
        epsilon=claim.least_epsilon(errors),
        rho=claim.ceiling.rho(errors.mu),
        confidence=confidence,
        runs=runs,
        errors=errors,
        ceiling_mu=claim.ceiling.mu(float(rho)),
        curve=_curve(judged, truth),
    )


@dataclass(frozen=True, kw_only=True)
class _Claim:
    """What is claimed, and what errors say against it."""

    ceiling: Ceiling
    rho: float
    epsilon: float
    delta: float
    alarm: float

    def least_epsilon(self, errors: Errors) -> float:
        """The least epsilon that allows such errors."""
        direct = errors.epsilon(self.delta)
        if self.ceiling.selected > 0:
            # A selection's floor lies above a Gaussian one at its ends, where epsilon is read.
            return direct
        return max(direct, gaussian_epsilon(errors.mu / self.ceiling.lattice, self.delta))

    def used(self, errors: Errors) -> float:
        """How much of the claim the errors use up; above 1 they refute it."""
        return max(
            self.ceiling.rho(errors.mu) / self.rho, self.least_epsilon(errors) / self.epsilon
        )


@dataclass(frozen=True, kw_only=True)
class _Test:
    """A way to guess."""

    threshold: float
    together: bool
    """Whether wrong guesses are counted together or apart."""

    def bound(
        self,
        clues: npt.NDArray[np.float64],
        truth: npt.NDArray[np.bool_],
        *,
        alarm: float,
        rate: Rate,
    ) -> Errors:
        """Upper bounds on the error rates."""
        guess = clues > self.threshold
        false_alarms, misses = int((guess & ~truth).sum()), int((~guess & truth).sum())
        firsts, seconds = int((~truth).sum()), int(truth.sum())
        if self.together:
            either = rate(false_alarms + misses, firsts + seconds, alarm=alarm)
            return Errors(false_alarms=either, misses=either)
        return Errors(
            false_alarms=rate(false_alarms, firsts, alarm=alarm / 2),
            misses=rate(misses, seconds, alarm=alarm / 2),
        )


def _choose(clues: npt.NDArray[np.float64], truth: npt.NDArray[np.bool_], claim: _Claim) -> _Test:
    """The test that says most against the claim, on these runs."""
    # A clue of 0 favours neither side, if clues are what they should be.
    tests = [
        _Test(threshold=threshold, together=together)
        for together in (True, False)
        for threshold in (0.0, *_thresholds(clues, _CHOICE))
    ]
    return max(
        tests,
        key=lambda test: claim.used(test.bound(clues, truth, alarm=claim.alarm, rate=likely_rate)),
    )


def _thresholds(clues: npt.NDArray[np.float64], most: int) -> list[float]:
    """Places between the values seen."""
    values = np.unique(clues)
    middles = (values[1:] + values[:-1]) / 2
    if len(middles) > most:
        middles = np.quantile(middles, np.linspace(0, 1, most + 2)[1:-1])
    return [float(middle) for middle in middles]


def _curve(clues: npt.NDArray[np.float64], truth: npt.NDArray[np.bool_]) -> tuple[Errors, ...]:
    """The error rates seen, threshold by threshold, from no false alarms to no misses."""
    firsts, seconds = clues[~truth], clues[truth]
    if not len(firsts) or not len(seconds):
        return ()
    places = [np.inf, *reversed(_thresholds(clues, _POINTS)), -np.inf]
    return tuple(
        Errors(false_alarms=float((firsts > place).mean()), misses=float((seconds <= place).mean()))
        for place in places
    )
