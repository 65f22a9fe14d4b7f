"""Left factors: products of rows of probabilities, for all components, and their gradient."""

from __future__ import annotations

import numba
import numpy as np

from kinfolk.models.engine.tile import FAST, TILE, Floats
from kinfolk.models.layout import Ints


@numba.njit(cache=True, nogil=True, parallel=True, fastmath=FAST)
def products(table: Floats, index: Ints, out: Floats) -> None:
    """The product of rows index[i] of the table, for every i.

    table: (rows, K), index: (products, factors) row numbers, or -1 where there are fewer factors,
    out: (products, K).
    """
    for i in numba.prange(len(index)):
        for k in range(table.shape[1]):
            out[i, k] = 1
        for position in range(index.shape[1]):
            row = index[i, position]
            if row >= 0:
                for k in range(table.shape[1]):
                    out[i, k] *= table[row, k]


@numba.njit(cache=True, nogil=True, parallel=True, fastmath=FAST)
def products_back(table: Floats, index: Ints, out_pull: Floats, table_pull: Floats) -> None:
    """Add the gradient of `products`: each row gets the product of the others.

    out_pull: (products, K) the gradient by the products; table_pull: (rows, K), added to.
    """
    for tile in numba.prange((table.shape[1] + TILE - 1) // TILE):
        start, stop = tile * TILE, min(table.shape[1], (tile + 1) * TILE)
        rest = np.empty(TILE, table.dtype)
        for i in range(len(index)):
            for position in range(index.shape[1]):
                if index[i, position] < 0:
                    continue
                for k in range(start, stop):
                    rest[k - start] = out_pull[i, k]
                for other in range(index.shape[1]):
                    row = index[i, other]
                    if other != position and row >= 0:
                        for k in range(start, stop):
                            rest[k - start] *= table[row, k]
                row = index[i, position]
                for k in range(start, stop):
                    table_pull[row, k] += rest[k - start]
