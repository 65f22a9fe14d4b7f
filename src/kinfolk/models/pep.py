"""The PEP update: the distribution nearest in entropy that agrees with what was measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kinfolk.models.histogram import Histogram
from kinfolk.models.readings import Readings
from kinfolk.models.statistic import Statistic
from kinfolk.queries.workload import Query

Floats = npt.NDArray[np.float64]

EDGE = 1e-6
"""How near to the ends of what is possible an answer is moved: no group ever becomes impossible."""


def pep_update(
    histogram: Histogram,
    queries: Sequence[Query],
    measurements: npt.ArrayLike,
    *,
    tolerance: float = 0.0,
    max_iterations: int = 100,
) -> Histogram:
    """Private entropy projection (Liu, Vietri and Wu, 2021): fit all measurements at once.

    measurements: (queries,) what was released, as shares of groups (group level) or of people.

    Among the distributions that agree with the measurements to within `tolerance`, the one with the
    smallest relative entropy to where all began (uniform) is sought: the query that is furthest off
    is made to agree exactly, by the smallest possible change in relative entropy, and then the next
    one, until all agree or `max_iterations` is reached. For a query of zeros and ones that change
    is the closed form of the paper; for counts of people the same problem is solved by Newton's
    method. Measurements of the same query are averaged; what no distribution can attain is moved to
    the nearest that one can. Only released values go in, so this costs no privacy.

    >>> from kinfolk.datasets import load_schema
    >>> from kinfolk.queries.workload import Workload
    >>> start = Histogram.uniform(load_schema("acs-red"))
    >>> queries = [Workload.of(start.schema).query(number) for number in (0, 1333, 2000)]
    >>> after = pep_update(start, queries, [0.1, 0.1, 0.1], tolerance=1e-9)
    >>> after.answer_queries(queries).round(6).tolist()
    [0.1, 0.1, 0.1]
    """
    values = np.asarray(measurements, np.float64)
    if len(queries) != len(values):
        raise ValueError(f"{len(queries)} queries, but {len(values)} measurements")
    different = list(dict.fromkeys(queries))
    place = {query: index for index, query in enumerate(different)}
    places = [place[query] for query in queries]
    targets = np.bincount(places, values) / np.bincount(places)
    readings = Readings(histogram.universe, different)
    statistics: dict[int, Statistic] = {}
    probabilities = histogram.probabilities.copy()
    for _ in range(max_iterations):
        violations = np.abs(targets - readings.shares(probabilities))
        worst = int(violations.argmax())
        if violations[worst] <= tolerance:
            break
        if worst not in statistics:
            statistics[worst] = Statistic.of(histogram.universe, different[worst])
        targets[worst] = _project(statistics[worst], probabilities, targets[worst])
    return Histogram(universe=histogram.universe, probabilities=probabilities)


def _project(statistic: Statistic, probabilities: Floats, target: float) -> float:
    """Make one answer agree, in place; returns the answer, the target if it can be attained."""
    masses = statistic.masses(probabilities)
    ratios = (statistic.numbers / statistic.sizes)[masses > 0]
    margin = EDGE * (ratios.max() - ratios.min())
    target = float(np.clip(target, ratios.min() + margin, ratios.max() - margin))
    if margin > 0:
        # A share of people is a ratio of two expectations. That it equals the target says that the
        # expectation of this is zero, which is linear in the probabilities.
        surplus = statistic.numbers - target * statistic.sizes
        exponent = _balance(masses, surplus)
        statistic.reweight(probabilities, masses, exponent * surplus)
    return target


def _balance(masses: Floats, surplus: Floats) -> float:
    """The exponent under which the surplus is zero on average: Newton, held inside a bracket."""
    present = masses > 0
    weights, values = np.log(masses[present]), surplus[present]
    low, high, guess = -np.inf, np.inf, 0.0
    for _ in range(200):
        tilted = np.exp(weights + guess * values - (weights + guess * values).max())
        tilted /= tilted.sum()
        mean = float(tilted @ values)
        low, high = (guess, high) if mean < 0 else (low, guess)
        variance = float(tilted @ (values - mean) ** 2)
        step = mean / variance if variance > 0 else np.sign(mean) * np.inf
        following = guess - step
        if abs(step) <= 1e-13 * (1 + abs(guess)):
            break
        if not low < following < high:
            following = _between(low, high, guess)
        guess = following
    return guess


def _between(low: float, high: float, guess: float) -> float:
    """A point well inside a bracket whose ends may be infinite."""
    if np.isinf(low):
        return guess - 1 - abs(guess)
    return guess + 1 + abs(guess) if np.isinf(high) else (low + high) / 2
