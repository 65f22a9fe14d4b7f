"""Marginals of either grain, by bins and by large bins, answered by one table of probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kinfolk.models.layout import Floats, Ints, Layout
from kinfolk.models.mixture.factors import Factors
from kinfolk.models.mixture.prepared import Answers, Prepared
from kinfolk.queries.workload import Workload


@dataclass(frozen=True, kw_only=True, eq=False)
class CoarsePrepared:
    """Coarse marginals: inside a component, the chance of a large bin is the sum of its bins'."""

    prepared: Prepared
    """Answers them, from the rows of the coarsened layout."""
    rows: Ints
    """(rows,) which of them a row of the table is a part of; never falling."""

    @property
    def size(self) -> int:
        """The number of queries."""
        return self.prepared.size

    def answers(self, probabilities: Floats) -> Answers:
        """(queries,) what one group adds on average. probabilities: (rows, K)."""
        return self.prepared.answers(self._coarse(probabilities))

    def vjp(self, probabilities: Floats, cotangent: npt.ArrayLike) -> Floats:
        """(rows, K) the gradient by the probabilities; cotangent: (queries,) that by the answers.

        What cannot occur has a gradient too, where its large bin can: its probability is fixed.
        """
        by_coarse = self.prepared.vjp(self._coarse(probabilities), cotangent)
        return np.asarray(by_coarse[self.rows])

    def _coarse(self, probabilities: Floats) -> Floats:
        first = np.flatnonzero(np.diff(self.rows, prepend=-1))
        return np.asarray(np.add.reduceat(probabilities, first, axis=0))


class Grains:
    """Prepares marginals of a workload, those of each grain together."""

    def __init__(self, layout: Layout, workload: Workload, weights: Ints) -> None:
        self._layout, self._workload, self._weights = layout, workload, weights
        self._factors = {coarse: Factors(_grain(layout, coarse)) for coarse in (False, True)}

    def prepare(self, marginals: Sequence[int]) -> BothGrains:
        """The marginals at these positions, in increasing order; coarse ones come last."""
        asked = self._workload.marginals
        parts: list[Prepared | CoarsePrepared] = []
        for coarse in (False, True):
            own = [at for at in marginals if asked[at].coarse is coarse]
            if not own:
                continue
            prepared = Prepared.of(
                _grain(self._layout, coarse),
                self._workload,
                weights=self._weights,
                marginals=own,
                factors=self._factors[coarse],
            )
            rows = self._layout.coarse_rows
            parts.append(CoarsePrepared(prepared=prepared, rows=rows) if coarse else prepared)
        return BothGrains(parts=tuple(parts))


@dataclass(frozen=True, kw_only=True, eq=False)
class BothGrains:
    """Marginals of several grains, laid end to end."""

    parts: tuple[Prepared | CoarsePrepared, ...]

    def answers(self, probabilities: Floats) -> Answers:
        """(queries,) what one group adds on average. probabilities: (rows, K)."""
        return np.concatenate([part.answers(probabilities) for part in self.parts])

    def vjp(self, probabilities: Floats, cotangent: npt.NDArray[np.float64]) -> Floats:
        """(rows, K) the gradient by the probabilities; cotangent: (queries,), by the answers."""
        given = np.split(cotangent, np.cumsum([one.size for one in self.parts])[:-1])
        found = [one.vjp(probabilities, own) for one, own in zip(self.parts, given, strict=True)]
        return found[0] if len(found) == 1 else np.asarray(sum(found[1:], found[0]))


def _grain(layout: Layout, coarse: bool) -> Layout:
    return layout.coarsened if coarse else layout
