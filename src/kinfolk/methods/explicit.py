"""MWEM and PEP: learners that hold one probability for every possible group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kinfolk.errors import KinfolkError
from kinfolk.models.histogram import Histogram
from kinfolk.models.mwem import Average, mwem_update
from kinfolk.models.pep import EntropyProjection
from kinfolk.queries.workload import Workload

Floats = npt.NDArray[np.float64]


ITERATES = ("average", "last")
"""What MWEM may release."""


def check_iterate(iterate: str) -> None:
    """Refuse what MWEM cannot release."""
    if iterate not in ITERATES:
        raise KinfolkError(
            f"iterate is {iterate!r}. Choose one of {', '.join(map(repr, ITERATES))}."
        )


class MWEM:
    """Multiplicative weights with the exponential mechanism, as in the paper's appendix.

    It releases the average over all rounds, as the paper says, or the `last` distribution, as the
    authors' code evaluates it.
    """

    def __init__(
        self,
        workload: Workload,
        *,
        rng: np.random.Generator,
        max_iterations: int = 100,
        iterate: str = "average",
    ) -> None:
        check_iterate(iterate)
        self._workload = workload
        self._rng = rng
        self._max_iterations = max_iterations
        self._now = Histogram.uniform(workload.schema)
        self._average = Average() if iterate == "average" else None
        self._answers: Floats | None = None

    def answer(self) -> Floats:
        """Its answers to the whole workload: (queries,) shares."""
        if self._answers is None:
            self._answers = self._now.answer(self._workload)
        return self._answers

    def learn(self, queries: Sequence[int], shares: Floats) -> None:
        """One update; what was there before it goes into the average."""
        if self._average is not None:
            self._average.add(self._now)
        self._now = mwem_update(
            self._now,
            [self._workload.query(number) for number in queries],
            shares,
            max_iterations=self._max_iterations,
            rng=self._rng,
            answers=self.answer()[list(queries)],
        )
        self._answers = None

    def model(self) -> Histogram:
        """The average over all rounds, or the last distribution."""
        if self._average is None or not self._average.number:
            return self._now
        return self._average.histogram()


class PEP:
    """Private entropy projection: always the projection of where all began."""

    def __init__(
        self, workload: Workload, *, tolerance: float = 0.0, max_iterations: int = 100
    ) -> None:
        self._workload = workload
        self._now = Histogram.uniform(workload.schema)
        self._projection = EntropyProjection(
            self._now, tolerance=tolerance, max_iterations=max_iterations
        )

    def answer(self) -> Floats:
        """Its answers to the whole workload: (queries,) shares."""
        return self._now.answer(self._workload)

    def learn(self, queries: Sequence[int], shares: Floats) -> None:
        """Project onto everything measured so far."""
        asked = [self._workload.query(number) for number in queries]
        self._now = self._projection.onto(asked, shares)

    def model(self) -> Histogram:
        """The last projection."""
        return self._now
