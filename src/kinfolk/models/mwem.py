"""The MWEM update: multiplicative weights on the queries that were measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kinfolk.models.histogram import Histogram
from kinfolk.models.statistic import Statistic
from kinfolk.queries.workload import Query

Floats = npt.NDArray[np.float64]


def mwem_update(
    histogram: Histogram,
    queries: Sequence[Query],
    measurements: npt.ArrayLike,
    *,
    max_iterations: int = 100,
    rng: np.random.Generator,
) -> Histogram:
    """One round's update, as in the paper: every query that is at least half as far off as the
    worst is visited once, in random order, the worst `max_iterations` at most.

    measurements: (queries,) what was released, as shares of groups (group level) or of people.

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
    errors = np.abs(values - histogram.answer_queries(queries))
    worst = np.argsort(-errors, kind="stable")[:max_iterations]
    visited = worst[errors[worst] >= errors.max() / 2]
    probabilities = histogram.probabilities.copy()
    for index in rng.permutation(visited):
        statistic = Statistic.of(histogram.universe, queries[index])
        masses = statistic.masses(probabilities)
        error = values[index] - statistic.share(masses)
        exponents = statistic.numbers / statistic.bound * (error / 2)
        statistic.reweight(probabilities, masses, exponents)
    return Histogram(universe=histogram.universe, probabilities=probabilities)
