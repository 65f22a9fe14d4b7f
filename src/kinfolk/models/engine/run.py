"""Runs the compiled loops on all cores, for one table of probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kinfolk.models.engine.jobs import Floats, Jobs, Programs, Stacks, Tile
from kinfolk.models.engine.kernel import TILE, sweep
from kinfolk.models.engine.threads import spread
from kinfolk.models.layout import Ints

Answers = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """A table in tiles, ready to work through jobs; collects the gradient by it."""

    programs: Programs
    coefficients: Ints
    """(weights, compositions) the composition weights of entries, by composition."""
    components: int
    """K."""
    table: Floats
    """(tiles, rows, TILE) the stacked probabilities."""
    weights: Floats
    """(tiles, weights, TILE) the composition weights of entries, by component."""
    table_pull: Floats
    weights_pull: Floats
    """The gradient so far, in the same shapes; without rows where none is wanted."""

    @classmethod
    def of(
        cls, table: Floats, programs: Programs, coefficients: Ints, *, pulling: bool = False
    ) -> Run:
        """Start a run. table: (rows, K)."""
        tiles = _tiles(table)
        weights = coefficients.astype(table.dtype) @ tiles[:, : coefficients.shape[1]]
        nothing = np.empty((len(tiles), 0, TILE), table.dtype)
        return cls(
            programs=programs,
            coefficients=coefficients,
            components=table.shape[1],
            table=tiles,
            weights=weights,
            table_pull=np.zeros_like(tiles) if pulling else nothing,
            weights_pull=np.zeros_like(weights) if pulling else nothing,
        )

    def forward(self, jobs: Jobs, stacks: Stacks, results: int) -> Answers:
        """The results of jobs and stacks, summed over components: (results,)."""
        found = np.zeros((len(self.table), results))
        self._sweep(jobs, stacks, np.arange(len(jobs.programs)), found, pulling=False)
        return np.asarray(found.sum(axis=0))

    def backward(self, jobs: Jobs, stacks: Stacks, pulls: Answers, chosen: Ints) -> None:
        """Collect the gradient of chosen jobs. pulls: (results,), 0 for those not chosen."""
        self._sweep(jobs, stacks, chosen, pulls[None], pulling=True)

    def _sweep(
        self, jobs: Jobs, stacks: Stacks, chosen: Ints, results: Answers, *, pulling: bool
    ) -> None:
        def work(first: int, step: int) -> None:
            decoded = np.empty(len(jobs.firsts), np.int64)
            values, pulls = self._room(jobs), self._room(jobs)
            for index in range(first, len(self.table), step):
                result = results[index % len(results)]
                tile = Tile(self.table[index], self.weights[index], result, *values)
                pull = Tile(self.table_pull[index], self.weights_pull[index], result, *pulls)
                sweep(self.programs, jobs, stacks, chosen, pulling, decoded, tile, pull)

        spread(work, len(self.table))

    def _room(self, jobs: Jobs) -> tuple[Floats, ...]:
        """Stored outputs, left cells, outer products, features and an output of one tile."""
        rows = (jobs.stored, 4, self.programs.slot_count, self.programs.most_features)
        kind = self.table.dtype
        return (*(np.zeros((count, TILE), kind) for count in rows), np.zeros(TILE, kind))

    def gradient(self) -> Floats:
        """The gradient by the table, (rows, K), once everything is collected."""
        by_weights = self.coefficients.T.astype(self.table.dtype) @ self.weights_pull
        self.table_pull[:, : self.coefficients.shape[1]] += by_weights
        whole = np.empty((self.table_pull.shape[1], self.components), self.table.dtype)
        for tile, pull in enumerate(self.table_pull):
            part = whole[:, tile * TILE : (tile + 1) * TILE]
            part[...] = pull[:, : part.shape[1]]
        return whole


def _tiles(table: Floats) -> Floats:
    """(rows, K) -> (tiles, rows, TILE), filled up with zeros."""
    rows, components = table.shape
    count = -(-components // TILE)
    tiles = np.zeros((count, rows, TILE), table.dtype)
    for tile in range(count):
        part = table[:, tile * TILE : (tile + 1) * TILE]
        tiles[tile, :, : part.shape[1]] = part
    return tiles


def pulls_of(pull: npt.ArrayLike, queries: int, components: int) -> Answers:
    """The gradient by the sums over components, from that by the rates: (queries,)."""
    pulls = np.asarray(pull, np.float64) / components
    if pulls.shape != (queries,):
        raise ValueError(f"pull has shape {pulls.shape}, expected {(queries,)}")
    return pulls
