"""What was measured, with the noise of unlikely cells taken out: of relatives' numbers, of sizes.

Relatives' ages lie near a diagonal. In a noisy table, cells far from it are as often above zero as
below, and what is above would be learnt: couples of 25 and 70. A small model of the table knows
better: rows, columns, and how fast the chance falls with the distance, a dozen numbers in all. What
it misses is added back as far as it stands out of the noise, so that with less noise the table
becomes what was measured. All that is seen here is released.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kinfolk._typing import Floats

USUAL = 2.0
"""How far from 0 the model's coefficients usually are, but for rows and columns."""
LEAST = 0.05
"""The least variance that is believed of a cell, as a share of what was measured with."""
USUAL_BEND = (0.25, 1.0)
"""By how much the logarithms of neighbouring categories usually bend, up and down: what is rare
becomes rarer towards the ends, and does not rise again, unless it stands out of the noise."""
TURNS = 200
"""Steps of a fit, at most."""


@dataclass(frozen=True, kw_only=True)
class NumberTable:
    """Where in a batch the table of a number by the same number of a relative stands."""

    start: int
    """Its first cell; the last attribute is fastest."""
    size: int
    """Categories of the number, on either side: ..."""
    bins: int
    """... first the bins in their order, then special values and blank."""

    @property
    def place(self) -> slice:
        """All its cells."""
        return slice(self.start, self.start + self.size**2)


def smooth(table: NumberTable, rates: Floats, noise: float) -> tuple[Floats, Floats]:
    """What was measured of a table, without what is only noise, and its variances, (cells,) each.

    noise: the standard deviation of a cell.
    """
    terms, margins = _terms(table)
    if len(rates) <= terms.shape[1]:
        return rates, np.full(len(rates), noise**2)
    seen = rates / noise
    held = np.where(np.arange(terms.shape[1]) < margins, 1e-6, 1 / USUAL**2)
    model, variances = _fitted(terms, held, seen)
    missed = seen - model
    # By how much the model misses more than noise alone would, as Stein's estimator does.
    chance = max(len(seen) - float(variances.sum()), 0.0)
    kept = max(0.0, 1 - chance / max(float(missed @ missed), 1e-12))
    left = np.maximum(kept + (1 - kept) * variances, LEAST)
    return np.asarray((model + kept * missed) * noise), np.asarray(left * noise**2)


def _terms(table: NumberTable) -> tuple[Floats, int]:
    """(cells, terms) what the logarithm of a cell is made of; rows and columns come first."""
    size, bins = table.size, table.bins
    row, column = (one.ravel() for one in np.indices((size, size)))
    place = np.where(np.arange(size) < bins, np.arange(size) / max(bins - 1, 1) * 2 - 1, 0.0)
    ways = [place, place**2, *(np.eye(size)[bins:])]
    both = (row < bins) & (column < bins)
    found = [*(row == at for at in range(size)), *(column == at for at in range(1, size))]
    margins = len(found)
    found += [one[row] * other[column] for one in ways for other in ways]
    found += [both * np.abs(place[row] - place[column]), both & (row == column)]
    return np.array(found, np.float64).T, margins


def _fitted(terms: Floats, held: Floats, seen: Floats) -> tuple[Floats, Floats]:
    """The likeliest table where the noise of a cell is 1, and its variances, (cells,) each.

    held: (terms,) how much every coefficient is held back.
    """
    size = round(len(seen) ** 0.5)
    square = seen.reshape(size, size)
    rows, columns = (np.maximum(square.sum(axis=axis), 1.0) for axis in (1, 0))
    total = max(float(square.sum()), 1.0)
    at = np.zeros(terms.shape[1])
    at[:size] = np.log(rows / rows.sum() * columns[0] / columns.sum() * total)
    at[size : 2 * size - 1] = np.log(columns[1:] / columns[0])

    def table(where: Floats) -> Floats:
        return np.asarray(np.exp(np.clip(terms @ where, -30.0, 30.0)))

    def cost(where: Floats) -> float:
        off = table(where) - seen
        return float(off @ off + held @ where**2)

    def around(where: Floats) -> tuple[Floats, Floats]:
        own = table(where)
        slope = terms * own[:, None]
        return slope.T @ (own - seen) + held * where, slope.T @ slope + np.diag(held)

    own = table(_lowest(at, cost, around))
    slope = terms * own[:, None]
    known = slope.T @ slope
    spread = np.linalg.solve(known + np.diag(held), slope.T)
    return own, np.asarray((slope * spread.T).sum(axis=1))


def falling(rates: Floats, precision: Floats) -> Floats:
    """Noisy shares of ordered categories, with the noise of rare ones taken out.

    As near to what was measured as a curve can be whose logarithm bends no more than is usual. What
    stands out of its noise stays where it is; rare categories, at the ends, follow their
    neighbours.

    >>> falling(np.array([0.5, 0.3, 0.12, -0.01, 0.03]), np.full(5, 1e4)).round(3).tolist()
    [0.5, 0.3, 0.118, 0.01, 0.001]
    """
    number = len(rates)
    noise = 1 / np.sqrt(precision)
    bends = np.diff(np.eye(number), n=2, axis=0)

    def stiff(at: Floats) -> Floats:
        usual = np.where(bends @ at > 0, *USUAL_BEND)
        return np.asarray(bends.T @ (bends / usual[:, None] ** 2))

    def cost(at: Floats) -> float:
        off = (np.exp(at) - rates) / noise
        return float(off @ off + at @ stiff(at) @ at)

    def around(at: Floats) -> tuple[Floats, Floats]:
        # A little more, as nothing holds what has all but vanished.
        own, held = np.exp(at), stiff(at) + 1e-6 * np.eye(number)
        return own * precision * (own - rates) + held @ at, np.diag(own * own * precision) + held

    return np.asarray(np.exp(_lowest(np.log(np.maximum(rates, noise)), cost, around)))


def _lowest(
    at: Floats,
    cost: Callable[[Floats], float],
    around: Callable[[Floats], tuple[Floats, Floats]],
) -> Floats:
    """Where a cost is lowest, by steps of Levenberg and Marquardt.

    around: half its gradient, (numbers,), and about half its curvature, (numbers, numbers).
    """
    damping, now = 1.0, cost(at)
    for _ in range(TURNS):
        pull, bend = around(at)
        step = np.linalg.solve(bend + damping * np.diag(np.diag(bend)), -pull)
        then = cost(at + step)
        if then < now:
            at, now, damping = at + step, then, damping / 4
            if np.abs(step).max() < 1e-9:
                break
        elif damping > 1e9:
            break
        else:
            damping *= 4
    return at
