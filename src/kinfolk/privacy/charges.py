"""By how much every purchase is charged: the sensitivity of what it touches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kinfolk.errors import KinfolkError
from kinfolk.privacy.accounting import Accounting
from kinfolk.privacy.paper import charged_workload
from kinfolk.privacy.sensitivity import (
    Sensitivity,
    paired_sensitivities,
    total_sensitivity,
    workload_sensitivities,
)
from kinfolk.privacy.unit import Neighbours
from kinfolk.queries.workload import Workload


class Charges:
    """The sensitivities of a workload's marginals, alone and together: public.

    Where the unit leaves a marginal untouched (a household's own attributes under `person`), it is
    charged as if one count could change: exact counts are not for sale at any price.
    """

    def __init__(
        self,
        workload: Workload,
        neighbours: Neighbours,
        accounting: Accounting,
        *,
        weights: npt.NDArray[np.int64] | None = None,
    ) -> None:
        """`weights` is what a group of each size adds, (marginals, sizes + 1)."""
        charged = charged_workload(workload, accounting)
        every = workload_sensitivities(charged, neighbours, weights=weights)
        one = [1] * len(every) if weights is None else weights.max(axis=1).tolist()
        self.alone = tuple(
            Sensitivity(
                single=max(bound.single, count),
                l1=max(bound.l1, count),
                l2_squared=max(bound.l2_squared, count**2),
            )
            for bound, count in zip(every, one, strict=True)
        )
        """Marginal by marginal."""
        self._pairs = paired_sensitivities(charged, neighbours, weights=weights)

    def of(self, marginal: int) -> Sensitivity:
        """How much one unit can change a marginal, by its position in the workload."""
        # A negative position would take the cells of one marginal at the price of another.
        if not 0 <= marginal < len(self.alone):
            raise KinfolkError(
                f"marginal {marginal}: there are marginals 0 to {len(self.alone) - 1}. "
                "Use one of them."
            )
        return self.alone[marginal]

    def together(self, marginals: Sequence[int]) -> Sensitivity:
        """How much one unit can change several marginals: their sum, but for pairs."""
        left = Counter(marginals)
        parts: list[Sensitivity] = []
        for pair, both in self._pairs.items():
            times = min(left[at] for at in pair)
            parts += [both] * times
            left.subtract(dict.fromkeys(pair, times))
        return total_sensitivity([*parts, *(self.of(marginal) for marginal in left.elements())])
