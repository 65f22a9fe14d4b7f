"""How often an event can happen at most, given how often it was seen: Clopper and Pearson (1934).

The bound is exact for every number of trials, however small: it inverts the binomial tail itself
and approximates nothing.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from kinfolk.errors import KinfolkError

_NORMAL = NormalDist()


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


def _log_ways(seen: int, trials: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """log(trials choose j) for j = 0, ..., seen."""
    j = np.arange(1, seen + 1)
    return np.concatenate([[0.0], np.cumsum(np.log(trials - j + 1) - np.log(j))])


def _tail(ways: np.ndarray[tuple[int], np.dtype[np.float64]], trials: int, rate: float) -> float:
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
    return _NORMAL.inv_cdf(probability)


def normal_below(point: float) -> float:
    """The probability that a standard normal variable falls below a point, right in both tails.

    >>> normal_below(-10)  # doctest: +ELLIPSIS
    7.61...e-24
    """
    return math.erfc(-point / math.sqrt(2)) / 2
