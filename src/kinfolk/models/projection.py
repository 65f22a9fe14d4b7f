"""Entropy projection: the distribution nearest to a given one under which queries have answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kinfolk.models.collapsed import Collapsed

Floats = npt.NDArray[np.float64]

FREE = 20.0
"""How large a multiplier may become at no charge: odds change by up to exp(20), or 5e8."""
CHARGE = 1e-3
"""How far an answer stays off for every unit that its multiplier is larger than that."""
STRIDE = 10.0
"""How far the logarithm of a probability may move along one direction in one step."""
FLAT = 1e-14
"""A variance that is rounding error: along such a direction no answer moves."""
SETTLED = 1e-10
"""A step that would move no answer further than this is not taken."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Constraints:
    """The answers that are sought, as expectations that should be zero.

    That a share of people equals its target says that the expectation of number minus target times
    size is zero, which is linear in the probabilities. The mean size of a group at the start puts
    it on the scale of shares.
    """

    seen: Collapsed
    targets: Floats
    """(queries,)"""
    people: npt.NDArray[np.bool_]
    """(queries,) which answers are shares of people, and not of groups."""
    mean_size: float
    """Members of a group, on average, at the start."""

    @property
    def scale(self) -> Floats:
        """(queries,) what a surplus is multiplied by."""
        return np.where(self.people, 1 / self.mean_size, 1.0)

    @property
    def reach(self) -> Floats:
        """(queries,) how much the surplus of two groups can differ, at most."""
        return self.scale * np.where(self.people, self.seen.sizes.max(), 1.0)

    def exponents(self, multipliers: Floats) -> Floats:
        """(casts, household kinds) the sum of multipliers times surplus."""
        weights = multipliers * self.scale
        of_people = float(weights @ np.where(self.people, self.targets, 0.0))
        of_groups = float(weights @ np.where(self.people, 0.0, self.targets))
        found = self.seen.combine(weights)
        found -= (of_people * self.seen.sizes + of_groups)[:, None]
        return found

    def moments(self, probabilities: Floats) -> tuple[Floats, Floats, Floats]:
        """The answers' distances from the targets; means and covariance of the surplus."""
        sizes = self.seen.sizes
        rows = probabilities.sum(axis=1)
        size, square = float(rows @ sizes), float(rows @ sizes**2)
        first, sized, second = self.seen.moments(probabilities)
        whole = np.where(self.people, size, 1.0)
        means = self.scale * (first - self.targets * whole)
        slope = np.where(self.people, self.targets, 0.0)
        crossed = np.outer(slope, sized)
        second += np.outer(slope, slope) * square - crossed - crossed.T
        # The targets of groups are constants, which do not vary.
        centres = first - slope * size
        covariance = np.outer(self.scale, self.scale) * (second - np.outer(centres, centres))
        return first / whole - self.targets, means, covariance


def project(
    constraints: Constraints,
    start: Floats,
    multipliers: Floats,
    *,
    tolerance: float,
    max_iterations: int,
) -> tuple[Floats, Floats]:
    """The factors of all groups, (casts, household kinds), and the multipliers behind them.

    start: (casts, household kinds) the probabilities that are projected.
    multipliers: (queries,) where the search begins; where it ends does not depend on it.

    The nearest distribution is the start times exp(multipliers times surplus). The multipliers
    minimise a convex function, the logarithm of the sum of those, and its gradient is what the
    answers are off. Newton's method finds them in a few steps. Where answers contradict each other
    the multipliers would grow without end; beyond FREE they are charged for it, so that there always
    is a minimum. In the words of the distribution: what v an answer is off costs
    FREE |v| + v^2 / (2 CHARGE), beside the relative entropy.
    """
    with np.errstate(divide="ignore"):
        origin = np.log(start)
    exponents = constraints.exponents(multipliers)
    probabilities, height = _normalised(origin + exponents)
    height += _charge(multipliers)
    for _ in range(max_iterations):
        violations, slope, covariance = constraints.moments(probabilities)
        if np.abs(violations).max() <= tolerance:
            break
        excess = np.sign(multipliers) * np.maximum(np.abs(multipliers) - FREE, 0)
        slope = slope + CHARGE * excess
        curvature = covariance + np.diag(CHARGE * (excess != 0))
        direction = _newton(slope, curvature, constraints.reach)
        if np.abs(covariance @ direction).max() <= SETTLED:
            break
        change = constraints.exponents(direction)
        expected, length = float(slope @ direction), 1.0
        while True:
            following, reached = _normalised(origin + exponents + length * change)
            reached += _charge(multipliers + length * direction)
            # What is left of rounding once the minimum is reached must not stop the last step.
            if reached <= height + 1e-4 * length * expected + 1e-12 or length < SETTLED:
                break
            length /= 2
        probabilities, height = following, reached
        exponents += length * change
        multipliers = multipliers + length * direction
    factors = np.exp(exponents - _normalised(origin + exponents)[1])
    return factors, multipliers


def _newton(slope: Floats, curvature: Floats, reach: Floats) -> Floats:
    """Newton's step, held back along every axis of the curvature on its own.

    One direction that leads nowhere, as contradicting answers give, does not shorten the others.
    """
    variances, axes = np.linalg.eigh(curvature)
    steps = np.zeros_like(slope)
    np.divide(-(axes.T @ slope), variances, out=steps, where=variances > FLAT)
    longest = STRIDE / (np.abs(axes.T) @ reach)
    found: Floats = axes @ np.clip(steps, -longest, longest)
    return found


def _charge(multipliers: Floats) -> float:
    return float(CHARGE / 2 * (np.maximum(np.abs(multipliers) - FREE, 0) ** 2).sum())


def _normalised(logarithms: Floats) -> tuple[Floats, float]:
    """Probabilities from their logarithms up to a constant, and the logarithm of their sum."""
    largest = float(logarithms.max())
    found = np.exp(logarithms - largest)
    total = float(found.sum())
    return found / total, largest + float(np.log(total))
