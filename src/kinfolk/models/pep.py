"""The PEP update: the distribution nearest in entropy that agrees with what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from kinfolk._typing import Floats
from kinfolk.models.collapsed import Collapsed
from kinfolk.models.histogram import Histogram
from kinfolk.models.projection import Constraints, Search, agree, compromise
from kinfolk.queries.workload import Query

EDGE = 1e-6
"""How near to the ends of what is possible an answer is moved, in parts of what lies between."""


class EntropyProjection:
    """Private entropy projection (Liu, Vietri and Wu, 2021) of one distribution, time after time.

    Every projection is one of `start`. What the last one came to is remembered only to find the
    next one sooner; the result is the same to within rounding.

    >>> from kinfolk.datasets import load_schema
    >>> from kinfolk.queries.workload import Workload
    >>> projection = EntropyProjection(Histogram.uniform(load_schema("acs-red")))
    >>> queries = [Workload.of(projection.start.schema).query(number) for number in (0, 1333)]
    >>> projection.onto(queries[:1], [0.1]).answer_queries(queries).round(3).tolist()
    [0.1, 0.1]
    >>> projection.onto(queries, [0.1, 0.12]).answer_queries(queries).round(3).tolist()
    [0.1, 0.12]
    """

    def __init__(
        self, start: Histogram, *, tolerance: float = 0.0, max_iterations: int = 100
    ) -> None:
        self.start = start
        self._tolerance = tolerance
        self._max_iterations = max_iterations
        self._exact: dict[Query, float] = {}
        self._soft: dict[Query, float] = {}
        self._contradiction: frozenset[tuple[Query, float]] = frozenset()

    def onto(self, queries: Sequence[Query], measurements: npt.ArrayLike) -> Histogram:
        """The projection onto all measurements.

        measurements: (queries,) what was released, as shares of groups (group level) or of people.

        Among the distributions that agree with the measurements, the one with the smallest relative
        entropy to the start is sought, by Newton's method on one multiplier for each query. The
        paper makes one query agree after another, which has the same limit but may take very many
        turns where queries say nearly the same. The search ends as soon as all answers are within
        `tolerance`, when a step would move no answer by more than 1e-10, or after `max_iterations`
        steps. Some five steps are usual.

        Measurements of the same query are averaged; what no distribution can attain is moved to the
        nearest that one can. Where measurements contradict each other, as noise makes them, a
        second search of at most as many steps fits all of them by least squares instead, and
        relative entropy decides what is left open: the further they contradict each other, the less
        closely is any of them fitted. Only released values go in, so this costs no privacy.
        """
        values = np.asarray(measurements, np.float64)
        if len(queries) != len(values):
            raise ValueError(f"{len(queries)} queries, but {len(values)} measurements")
        if not queries:
            return self.start
        different = list(dict.fromkeys(queries))
        place = {query: index for index, query in enumerate(different)}
        places = [place[query] for query in queries]
        people = np.array([query.marginal.level != "group" for query in different], np.bool_)
        seen = Collapsed(self.start.universe, different)
        low, high = seen.ranges(people)
        margin = EDGE * (high - low)
        averages = np.bincount(places, values) / np.bincount(places)
        constraints = Constraints(
            seen=seen,
            targets=np.clip(averages, low + margin, high - margin),
            people=people,
            mean_size=self.start.mean_size(),
        )
        factors = self._factors(constraints, different)
        probabilities = self.start.probabilities * seen.expand(factors)
        return Histogram(universe=self.start.universe, probabilities=probabilities)

    def _factors(self, constraints: Constraints, queries: Sequence[Query]) -> Floats:
        """What the probabilities of the start are multiplied by, (casts, household kinds)."""
        start = constraints.seen.collapse(self.start.probabilities)
        sought = set(zip(queries, constraints.targets.tolist(), strict=True))
        # More measurements do not resolve a contradiction.
        if not self._contradiction or not self._contradiction <= sought:
            self._contradiction = frozenset()
            search = Search(constraints, start, _known(self._exact, queries))
            if agree(search, tolerance=self._tolerance, steps=self._max_iterations):
                self._exact = dict(zip(queries, search.multipliers.tolist(), strict=True))
                return search.factors()
            self._contradiction = frozenset(sought)
        search = Search(constraints, start, _known(self._soft, queries))
        compromise(search, tolerance=self._tolerance, steps=self._max_iterations)
        self._soft = dict(zip(queries, search.multipliers.tolist(), strict=True))
        return search.factors()


def _known(multipliers: Mapping[Query, float], queries: Sequence[Query]) -> Floats:
    return np.array([multipliers.get(query, 0.0) for query in queries])
