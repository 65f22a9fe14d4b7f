"""Noisy counts of cells -> shares of every bin's cells.

Noise must not pass for a shape. A bin gets a smooth curve (in tails, one that decays), as steep as
counts and neighbouring bins make likely; on top of it heaps, single cells clearly above the curve
and the noise; and of what is left as much as stands out of the noise. Where people round, curves
are higher at multiples of 5 and 10: whether they do, and how much, all bins say together.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kinfolk._typing import Floats
from kinfolk.schema import Numeric
from kinfolk.schema.bins import NARROW, SPAN, bin_of_cells, first_width, sets_round_apart, tail_of

SLOPES = np.linspace(-8, 8, 81)
"""By how much the logarithm of the density may change across a bin."""
SLOPE_DEVIATION = 1.0
"""How far from what the neighbouring bins suggest it usually is."""
HEAP = 4.5
"""A heap is so many standard deviations of the noise above the curve. A release has hundreds of
cells: with 4, noise alone made a heap in one of fifty, with 4.5 in one of five hundred."""
TRIED = 6
"""So many cells are tried as the next heap: those that are farthest above the curve."""
TAIL_SHAPES = np.linspace(-0.4, 0.8, 13)
"""Shapes of a generalised Pareto distribution; 0 is the exponential one."""
TAIL_SHAPE = (0.2, 0.2)
"""What they usually are, and by how much they differ from it."""
TAIL_SCALES = np.exp(np.linspace(-4, 6, 81))
"""Scales of tails, in widths of the first cells."""
SCALE_DEVIATION = 0.7
"""How far, as a logarithm, the scale usually is from a density without a jump, ..."""
SCALE_AT_ZERO = 2.0
"""... and where the tail begins at zero."""
NEAR_LIMIT = 0.01
"""The last quarter of a tail usually has no more of it than this: limits are named far out."""
ROUNDINGS = ((1, 1, 1), (1, 3, 3), (1, 3, 9), (1, 10, 10), (1, 10, 30), (1, 30, 30), (1, 30, 90))
"""How often other numbers, odd multiples of 5 and multiples of 10 may be named; first: alike."""
ROUNDED = 10.0
"""People round if that makes the counts of all bins so much likelier, as a logarithm, ..."""
MOST_OF_A_BIN = 8.0
"""... of which any bin may say so much: not enough alone."""


def fit_shares(
    attribute: Numeric, cells: Numeric, counts: Floats, *, sigma: float, totals: Floats | None
) -> Floats:
    """Shares of every bin's cells, 1 in total for a bin; arguments as for `Shape.fitted`."""
    bins = np.array(bin_of_cells(attribute, cells))
    known = np.bincount(bins, weights=counts) if totals is None else np.asarray(totals, np.float64)
    # So few are as good as none: a floor keeps densities comparable.
    least = max(1e-4 * np.abs(known).sum(), sigma / 2 if totals is None else 0.0, 1e-9)
    totals = np.maximum(known, least)
    round_numbers = _round_numbers(attribute, cells, bins)
    speaking = np.unique(bins[(round_numbers[1:] == 1).any(axis=0)])
    tried = ROUNDINGS if speaking.size > 1 else ROUNDINGS[:1]
    found = [
        _fit_column(attribute, cells, bins, counts, factors @ round_numbers, sigma, totals)
        for factors in np.array(tried)
    ]
    # One heap, or one bin with a shape unlike any curve, must not pass for rounding.
    gains = [float(np.minimum(likely - found[0][1], MOST_OF_A_BIN).sum()) for _, likely in found]
    best = int(np.argmax(gains))
    return found[best if gains[best] > ROUNDED else 0][0]


def _round_numbers(attribute: Numeric, cells: Numeric, bins: npt.NDArray[np.int64]) -> Floats:
    """(3, cells) the shares of other numbers, of odd multiples of 5, of multiples of 10.

    Zero is not a rounded number. Bins in which cells hold several of these have them everywhere.
    """
    found = np.zeros((3, bins.size))
    found[0] = 1
    if attribute.places != 0:
        return found
    taken = set(attribute.special_steps())
    for code in range(len(attribute.bins) - 1):
        own = np.flatnonzero(bins == code)
        if len(attribute.writable(code)) > NARROW and not sets_round_apart(attribute, code):
            found[:, own] = [[0.8], [0.1], [0.1]]
            continue
        for cell in own.tolist():
            free = [k for k in cells.writable(cell) if k not in taken]
            kinds = [0 if k % 5 or k == 0 else 1 if k % 10 else 2 for k in free]
            found[:, cell] = np.bincount(kinds, minlength=3) / len(kinds)
    return found


def _fit_column(
    attribute: Numeric,
    cells: Numeric,
    bins: npt.NDArray[np.int64],
    counts: Floats,
    factors: Floats,
    sigma: float,
    totals: Floats,
) -> tuple[Floats, Floats]:
    """The shares, and for every bin the logarithm of how likely its counts are.

    factors: (cells,) how often their numbers are named.
    """
    edges = np.asarray(cells.bins, dtype=np.float64)
    widths = np.diff(edges)
    # What neighbouring bins say of each other, they say of numbers that are not round.
    plain = totals * np.bincount(bins, widths) / np.bincount(bins, widths * factors)
    shares, likely = np.empty(bins.size), np.empty(totals.size)
    for code in range(len(attribute.bins) - 1):
        own = bins == code
        ends = edges[np.flatnonzero(own)[0] : np.flatnonzero(own)[-1] + 2]
        curves, prior = (
            _tail_curves(attribute, code, ends, plain)
            if tail_of(attribute, code)
            else _inner_curves(attribute, code, ends, plain)
        )
        curves = curves * factors[own]
        curves /= curves.sum(axis=1, keepdims=True)
        shares[own], likely[code] = _fit(
            counts[own], curves, prior, sigma=sigma, total=float(totals[code])
        )
    return shares, likely


def _fit(
    counts: Floats, curves: Floats, prior: Floats, *, sigma: float, total: float
) -> tuple[Floats, float]:
    """One bin's shares, and how likely its counts are, as a logarithm.

    curves: (curves, cells), each a distribution; prior: (curves,) logs.
    """
    if counts.size == 1:
        return np.ones(1), 0.0
    noise = np.hypot(sigma, 1e-6 * total)
    heaped = np.zeros(counts.size, bool)
    for _ in range(counts.size - 2):
        found = _gain(counts, curves, prior, heaped, noise, total)
        if found.max() < HEAP**2 / 2:
            break
        heaped[int(np.argmax(found))] = True
    weights, level = _weigh(counts, curves, prior, heaped, noise, total)
    smooth = level * (weights @ curves)
    left = np.where(heaped, 0.0, counts - smooth)
    # What the curve misses in proportion to its height, beyond what noise alone would often do,
    # and what chance makes of any curve.
    cells = int((~heaped).sum())
    missed = max(0.0, float((left**2).sum()) - (cells + np.sqrt(2 * cells)) * noise**2)
    spread = missed / float((smooth[~heaped] ** 2).sum()) * smooth**2 + smooth
    fitted = smooth + left * spread / (spread + noise**2)
    if heaped.any():
        over = (float(counts[heaped].sum() + fitted[~heaped].sum()) - total) / heaped.sum()
        fitted[heaped] = np.maximum(counts[heaped] - over, smooth[heaped])
    fitted = np.maximum(fitted, 0.0)
    if not fitted.any():
        fitted = smooth
    likely = _likelihood(counts, curves, prior, heaped, noise, total)[0]
    evidence = np.logaddexp.reduce(likely) - np.logaddexp.reduce(prior)
    return fitted / fitted.sum(), float(evidence - heaped.sum() * HEAP**2 / 2)


def _weigh(
    counts: Floats,
    curves: Floats,
    prior: Floats,
    heaped: npt.NDArray[np.bool_],
    noise: float,
    total: float,
) -> tuple[Floats, float]:
    """How likely each curve is, (curves,), and how many the curve stands for."""
    logs, levels = _likelihood(counts, curves, prior, heaped, noise, total)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    return weights, float(weights @ levels)


def _likelihood(
    counts: Floats,
    curves: Floats,
    prior: Floats,
    heaped: npt.NDArray[np.bool_],
    noise: float,
    total: float,
) -> tuple[Floats, Floats]:
    seen, shapes = counts[~heaped], curves[:, ~heaped]
    many = int(heaped.sum())
    if not many:
        squares = ((seen - total * shapes) ** 2).sum(axis=1)
        return prior - squares / (2 * noise**2), np.full(len(curves), total)
    # The curve stands for what is not on heaps: as much as both suggest, the rest and the total.
    beside = total - float(counts[heaped].sum())
    part = shapes.sum(axis=1)
    levels = part * beside / many + shapes @ seen
    levels = np.clip(levels / (part**2 / many + (shapes**2).sum(axis=1)), 1e-3 * total, total)
    squares = ((seen - levels[:, None] * shapes) ** 2).sum(axis=1)
    squares += (beside - levels * part) ** 2 / many
    return prior - squares / (2 * noise**2), levels


def _gain(
    counts: Floats,
    curves: Floats,
    prior: Floats,
    heaped: npt.NDArray[np.bool_],
    noise: float,
    total: float,
) -> Floats:
    """(cells,) by how much everything else becomes likelier if a cell is a heap."""
    best, level = _weigh(counts, curves, prior, heaped, noise, total)
    now = _likelihood(counts, curves, prior, heaped, noise, total)[0].max()
    found = np.full(counts.size, -np.inf)
    smooth = level * (best @ curves)
    excess = np.where(heaped, -np.inf, counts - smooth)
    for cell in np.argsort(excess)[-TRIED:]:
        if excess[cell] <= 0:
            continue
        without = heaped.copy()
        without[cell] = True
        found[cell] = _likelihood(counts, curves, prior, without, noise, total)[0].max() - now
    return found


def _inner_curves(
    attribute: Numeric, code: int, ends: Floats, totals: Floats
) -> tuple[Floats, Floats]:
    """Densities that rise or fall evenly, on the scale of the cells."""
    edges = np.asarray(attribute.bins, dtype=np.float64)
    closer, farther = sorted(np.abs(ends[[0, -1]]))
    grown = ends[0] * ends[-1] > 0 and farther > SPAN * closer

    def scale(x: Floats) -> Floats:
        return np.sign(x) * np.log(np.abs(x)) if grown else x

    near = [c for c in (code - 1, code, code + 1) if _comparable(attribute, code, c)]
    around = edges[near[0] : near[-1] + 2]
    usual = 0.0
    if len(near) > 1 and (not grown or (around * ends[0] > 0).all()):
        places = scale(around)
        middles, logs = (places[1:] + places[:-1]) / 2, np.log(totals[near] / np.diff(places))
        rise = (logs[-1] - logs[0]) / (middles[-1] - middles[0])
        usual = float(np.clip(rise * np.ptp(scale(ends)), -3, 3))
    at = scale(ends)
    middle = ((at[1:] + at[:-1]) / 2 - at[0]) / (at[-1] - at[0]) - 0.5
    curves = np.diff(at) * np.exp(SLOPES[:, None] * middle)
    curves /= curves.sum(axis=1, keepdims=True)
    return curves, -((SLOPES - usual) ** 2) / (2 * SLOPE_DEVIATION**2)


def _tail_curves(
    attribute: Numeric, code: int, ends: Floats, totals: Floats
) -> tuple[Floats, Floats]:
    """Generalised Pareto distributions from the inner end of a tail outwards."""
    down = tail_of(attribute, code) < 0
    away = ends[-1] - ends[::-1] if down else ends - ends[0]
    unit = first_width(attribute, code)
    scales, shapes = (one.ravel() for one in np.meshgrid(TAIL_SCALES, TAIL_SHAPES))

    def beyond(distance: Floats) -> Floats:
        """(curves, distances) the part of an unlimited tail that is farther out."""
        with np.errstate(divide="ignore", invalid="ignore"):
            z = distance / (unit * scales[:, None])
            k = shapes[:, None]
            power = np.log1p(np.maximum(k * z, -1.0)) / np.where(np.abs(k) < 1e-9, 1.0, k)
            return np.asarray(np.exp(-np.where(np.abs(k) < 1e-9, z, power)))

    curves = np.maximum(-np.diff(beyond(away), axis=1), 1e-12)
    curves /= curves.sum(axis=1, keepdims=True)
    before, last, end = beyond(away[-1] * np.array([0.0, 0.75, 1.0])).T
    near_limit = (last - end) / (before - end)
    prior = -((shapes - TAIL_SHAPE[0]) ** 2) / (2 * TAIL_SHAPE[1] ** 2)
    prior -= (near_limit / NEAR_LIMIT) ** 2 / 2
    if len(totals) > 1:
        next_to = 1 if code == 0 else code - 1
        width = attribute.bins[next_to + 1] - attribute.bins[next_to]
        usual = np.log(totals[code] / totals[next_to] * width / unit)
        # There is no jump to expect, but at zero: debts are unlike small incomes.
        inner = attribute.bins[1] if down else attribute.bins[-2]
        spread = SCALE_DEVIATION if inner else SCALE_AT_ZERO
        prior = prior - (np.log(scales) - usual) ** 2 / (2 * spread**2)
    return (curves[:, ::-1] if down else curves), prior


def _comparable(attribute: Numeric, code: int, other: int) -> bool:
    """Whether the density of another bin tells something about the slope of this one."""
    if code == other:
        return True
    if not 0 <= other < len(attribute.bins) - 1 or tail_of(attribute, other):
        return False
    return attribute.bins[max(code, other)] != 0
