"""What a release says about a query, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from kinfolk.errors import KinfolkError
from kinfolk.models.hpd import HPD
from kinfolk.queries.workload import Workload
from kinfolk.release.release import Release

Floats = npt.NDArray[np.float64]
REPLICATES = "replicates"
"""Under this name a release keeps models fitted again to made-up noise, (replicates, rows, K)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Answers:
    """Shares, with standard errors where the method gives any."""

    workload: Workload
    shares: Floats
    """(queries,) of groups at the group level, of people at the others."""
    errors: Floats | None
    """(queries,) the standard error of each."""

    def interval(self, level: float = 0.9) -> tuple[Floats, Floats]:
        """(queries,) the lower and upper ends of intervals that hold the true share so often."""
        if not 0 < level < 1:
            raise KinfolkError(f"level is {level!r}. Use a number between 0 and 1, such as 0.9.")
        if self.errors is None:
            raise KinfolkError("the method gives no standard errors. Use the method marginals.")
        reach = NormalDist().inv_cdf((1 + level) / 2) * self.errors
        return np.maximum(self.shares - reach, 0), np.minimum(self.shares + reach, 1)


def answer(release: Release, asked: Workload) -> Answers:
    """Answer every query of a workload from the model alone; no data is touched.

    The standard error is how far off the method is, on the whole, when it is given noisy answers of
    this very model: that is repeated when the model is fitted. A share stands for whole groups and
    people, so half of one is added to it.
    """
    model = release.model
    shares = np.asarray(model.answer(asked), np.float64)
    table: npt.NDArray[Any] | None = release.extra.get(REPLICATES)
    if table is None or not isinstance(model, HPD):
        return Answers(workload=asked, shares=shares, errors=None)
    squares = np.zeros_like(shares)
    for probabilities in table:
        again = HPD(layout=model.layout, probabilities=probabilities).answer(asked)
        squares += (np.asarray(again, np.float64) - shares) ** 2
    people = release.groups * model.mean_size()
    totals = np.repeat(
        [release.groups if block.level == "group" else people for block in asked.blocks],
        [block.cells for block in asked.blocks],
    )
    errors = np.sqrt(squares / len(table) + (0.5 / totals) ** 2)
    return Answers(workload=asked, shares=shares, errors=errors)
