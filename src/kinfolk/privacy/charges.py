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
    total_sensitivity,
    twin_sensitivities,
    workload_sensitivities,
)
from kinfolk.privacy.unit import Neighbours
from kinfolk.queries.workload import Workload


class Charges:
    """The sensitivities of a workload's blocks, alone and together: public.

    Where the unit leaves a block untouched (a household's own attributes under `person`), the block
    is charged as if one count could change: exact counts are not for sale at any price.
    """

    def __init__(
        self,
        workload: Workload,
        neighbours: Neighbours,
        accounting: Accounting,
        *,
        weights: npt.NDArray[np.int64] | None = None,
    ) -> None:
        """`weights` is what a group of each size adds, (blocks, sizes + 1)."""
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
        """Block by block."""
        self._twins = twin_sensitivities(charged, neighbours, weights=weights)

    def of(self, block: int) -> Sensitivity:
        """How much one unit can change a block, by its position in the workload."""
        # A negative position would take the cells of one block at the price of another.
        if not 0 <= block < len(self.alone):
            raise KinfolkError(
                f"block {block}: there are blocks 0 to {len(self.alone) - 1}. Use one of them."
            )
        return self.alone[block]

    def together(self, blocks: Sequence[int]) -> Sensitivity:
        """How much one unit can change several blocks: their sum, but for twins."""
        left = Counter(blocks)
        parts: list[Sensitivity] = []
        for pair, both in self._twins.items():
            times = min(left[at] for at in pair)
            parts += [both] * times
            left.subtract(dict.fromkeys(pair, times))
        return total_sensitivity([*parts, *(self.of(block) for block in left.elements())])
