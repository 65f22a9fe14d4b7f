"""Left factors: products of rows of probabilities, for all components, and their gradient."""

from __future__ import annotations

import numpy as np

from kinfolk.models.engine.kernel import TILE, Floats, compiled
from kinfolk.models.layout import Ints


@compiled
def products(table: Floats, index: Ints, first: int, step: int, out: Floats) -> None:
    """The product of rows index[i] of the table, for every i.

    table: (rows, K) the stacked probabilities.
    index: (products, factors) row numbers, or -1 where there are fewer factors.
    first, step: which tiles of components to work on: the first, and then every step-th.
    out: (products, K).
    """
    for tile in range(first, (table.shape[1] + TILE - 1) // TILE, step):
        start, stop = tile * TILE, min(table.shape[1], (tile + 1) * TILE)
        for i in range(len(index)):
            for k in range(start, stop):
                out[i, k] = 1
            for position in range(index.shape[1]):
                row = index[i, position]
                if row >= 0:
                    for k in range(start, stop):
                        out[i, k] *= table[row, k]


@compiled
def unproducts(
    table: Floats, index: Ints, first: int, step: int, out_pull: Floats, pull: Floats
) -> None:
    """The inverse of `products`: add to every row's pull that of the product times the others.

    out_pull: (products, K) the pulls on the products; pull: (rows, K) those on the table.
    """
    rest = np.empty(TILE, table.dtype)
    for tile in range(first, (table.shape[1] + TILE - 1) // TILE, step):
        start, width = tile * TILE, min(TILE, table.shape[1] - tile * TILE)
        for i in range(len(index)):
            for position in range(index.shape[1]):
                row = index[i, position]
                if row < 0:
                    continue
                for k in range(width):
                    rest[k] = out_pull[i, start + k]
                for another in range(index.shape[1]):
                    other = index[i, another]
                    if another != position and other >= 0:
                        for k in range(width):
                            rest[k] *= table[other, start + k]
                for k in range(width):
                    pull[row, start + k] += rest[k]
