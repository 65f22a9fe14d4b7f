"""Runs the compiled loops on all cores, and turns composition weights into probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kinfolk.models.engine.jobs import Jobs
from kinfolk.models.engine.kernel import TILE, Floats, sweep
from kinfolk.models.engine.members import Programs
from kinfolk.models.engine.products import products, unproducts
from kinfolk.models.engine.threads import spread
from kinfolk.models.layout import Ints, Layout

Answers = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """One table of probabilities, ready to work through jobs; collects the gradient by it."""

    table: Floats
    """(rows, K) the stacked probabilities."""
    programs: Programs
    coefficients: Ints
    """(weights, compositions) the composition weights of entries, by composition."""
    weights: Floats
    """(weights, K) the same, for every component."""
    table_pull: Floats
    weights_pull: Floats
    """The gradient so far; empty where none is wanted."""

    @classmethod
    def of(
        cls,
        layout: Layout,
        table: Floats,
        programs: Programs,
        coefficients: Ints,
        *,
        pulling: bool = False,
    ) -> Run:
        """Start a run. table: (rows, K)."""
        if table.shape[0] != layout.rows:
            raise ValueError(f"the table has {table.shape[0]} rows, expected {layout.rows}")
        weights = coefficients.astype(table.dtype) @ table[: coefficients.shape[1]]
        nothing = np.empty((0, table.shape[1]), table.dtype)
        return cls(
            table=table,
            programs=programs,
            coefficients=coefficients,
            weights=weights,
            table_pull=np.zeros_like(table) if pulling else nothing,
            weights_pull=np.zeros_like(weights) if pulling else nothing,
        )

    @property
    def components(self) -> int:
        """K, the number of components."""
        return int(self.table.shape[1])

    @property
    def _tiles(self) -> int:
        return -(-self.components // TILE)

    def forward(self, jobs: Jobs, rows: int, sums: int) -> tuple[Floats, Answers]:
        """The outputs of jobs: (rows, K) those that are stored, (sums,) those that are summed."""
        out = np.empty((rows, self.components), self.table.dtype)
        found = np.zeros((self._tiles, sums))
        self._sweep(jobs, np.arange(len(jobs.programs)), out, found, pulling=False)
        return out, np.asarray(found.sum(axis=0))

    def backward(
        self, jobs: Jobs, out_pull: Floats, sums_pull: Answers, *, chosen: Ints | None = None
    ) -> None:
        """Collect the gradient of jobs, or of the chosen ones, from the pulls on their outputs."""
        every = np.arange(len(jobs.programs)) if chosen is None else chosen
        self._sweep(jobs, every, out_pull, sums_pull[None], pulling=True)

    def _sweep(
        self, jobs: Jobs, chosen: Ints, out: Floats, sums: Answers, *, pulling: bool
    ) -> None:
        spread(
            lambda first, step: sweep(
                self.table, self.weights, self.programs, jobs, chosen, first, step,
                out, sums, pulling, self.table_pull, self.weights_pull,
            ),
            self._tiles,
        )  # fmt: skip

    def left(self, index: Ints) -> Floats:
        """Products of rows: (products, factors) row numbers -> (products, K)."""
        out = np.empty((len(index), self.components), self.table.dtype)
        spread(lambda first, step: products(self.table, index, first, step, out), self._tiles)
        return out

    def unleft(self, index: Ints, out_pull: Floats) -> None:
        """Collect the gradient of products of rows, from the pulls on them, (products, K)."""
        spread(
            lambda first, step: unproducts(
                self.table, index, first, step, out_pull, self.table_pull
            ),
            self._tiles,
        )

    def gradient(self) -> Floats:
        """The gradient by the table, (rows, K), once everything is collected."""
        self.table_pull[: self.coefficients.shape[1]] += (
            self.coefficients.T.astype(self.table.dtype) @ self.weights_pull
        )
        return self.table_pull
