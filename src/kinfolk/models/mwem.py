"""The MWEM update: multiplicative weights on the queries that were measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kinfolk.models.histogram import Histogram
from kinfolk.models.statistic import Statistic
from kinfolk.models.universe import Universe
from kinfolk.queries.workload import Query

Floats = npt.NDArray[np.float64]


def mwem_update(
    histogram: Histogram,
    queries: Sequence[Query],
    measurements: npt.ArrayLike,
    *,
    max_iterations: int = 100,
    rng: np.random.Generator,
    answers: npt.ArrayLike | None = None,
) -> Histogram:
    """One round's update, as in the paper: every query that is at least half as far off as the
    worst is visited once, in random order, the worst `max_iterations` at most.

    measurements: (queries,) what was released, as shares of groups (group level) or of people.
    answers: (queries,) what `histogram` has for them, where that is known already.

    A visit multiplies the probability of a group x by exp(f(x) (m - f(A)) / 2), where f(A) is the
    answer at that moment and f(x) is what the group adds, divided by the most that a group can add:
    by M for individual queries. Only released values go in, so this costs no privacy; `rng` orders
    the visits and has nothing to do with the noise.

    >>> from kinfolk.datasets import load_schema
    >>> from kinfolk.queries.workload import Workload
    >>> start = Histogram.uniform(load_schema("acs-red"))
    >>> query = Workload.of(start.schema).query(0)
    >>> after = mwem_update(start, [query], [0.5], rng=np.random.default_rng(1))
    >>> [round(float(one.answer_queries([query])[0]), 4) for one in (start, after)]
    [0.0333, 0.0417]
    """
    values = np.asarray(measurements, np.float64)
    if len(queries) != len(values):
        raise ValueError(f"{len(queries)} queries, but {len(values)} measurements")
    now = histogram.answer_queries(queries) if answers is None else np.asarray(answers, np.float64)
    errors = np.abs(values - now)
    worst = np.argsort(-errors, kind="stable")[:max_iterations]
    visited = worst[errors[worst] >= errors.max() / 2]
    probabilities = histogram.probabilities.copy()
    order = rng.permutation(visited).tolist()
    visits = [(queries[at], float(values[at])) for at in order]
    if histogram.universe.flat:
        _visit_people(histogram.universe, probabilities, visits)
    else:
        _visit_groups(histogram.universe, probabilities, visits)
    return Histogram(universe=histogram.universe, probabilities=probabilities)


def _visit_groups(
    universe: Universe, probabilities: Floats, visits: Sequence[tuple[Query, float]]
) -> None:
    """Multiplies the probabilities, in place, with one pass over all groups for each visit."""
    statistic = Statistic.of(universe, visits[0][0])
    masses = statistic.masses(probabilities)
    # The last visit has nobody to weigh for, and weighs itself.
    for (_, value), (after, _) in zip(visits, [*visits[1:], visits[-1]], strict=True):
        following = Statistic.of(universe, after)
        error = value - statistic.share(masses)
        exponents = statistic.numbers / statistic.bound * (error / 2)
        masses = statistic.reweight(probabilities, masses, exponents, following)
        statistic = following


def _visit_people(
    universe: Universe, probabilities: Floats, visits: Sequence[tuple[Query, float]]
) -> None:
    """The same where people stand alone: only those that a query counts are touched.

    The others' probabilities shrink alike, which is left to the end.
    """
    grid, total = probabilities.reshape(universe.person_grid), 1.0
    for query, value in visits:
        codes = query.codes[len(query.marginal.group) :]
        counted = grid[universe.place(query.marginal.individual, codes)]
        mass = counted.sum()
        factor = np.exp((value - mass / total) / 2)
        total += mass * (factor - 1)
        counted *= factor
    probabilities /= probabilities.sum()
