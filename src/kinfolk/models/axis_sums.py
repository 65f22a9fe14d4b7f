"""All marginals of a distribution over people who stand alone, by summing one attribute out at a
time: what several marginals leave out is summed out once for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Axes = tuple[int, ...]


def axis_sums(grid: Floats, wanted: Iterable[Axes]) -> dict[Axes, Floats]:
    """The sums of an array over all axes but some, for every choice of those, in increasing order.

    >>> found = axis_sums(np.arange(8.0).reshape(2, 2, 2), [(0, 2), (1,)])
    >>> found[0, 2].tolist(), found[1,].tolist()
    ([[2.0, 4.0], [10.0, 12.0]], [10.0, 18.0])
    """
    found: dict[Axes, Floats] = {}
    # The longest axes first: what is left is then small.
    order = sorted(range(grid.ndim), key=lambda axis: -grid.shape[axis])
    _sum_out(grid, tuple(range(grid.ndim)), order, set(wanted), found)
    return found


def _sum_out(
    grid: Floats, axes: Axes, order: list[int], wanted: set[Axes], found: dict[Axes, Floats]
) -> None:
    """`axes` are those that the grid still has; `order` those that somebody may not want."""
    if not wanted:
        return
    if not order:
        found[axes] = grid
        return
    axis, *rest = order
    keeping = {one for one in wanted if axis in one}
    _sum_out(grid, axes, rest, keeping, found)
    if keeping != wanted:
        at = axes.index(axis)
        left = (*axes[:at], *axes[at + 1 :])
        _sum_out(grid.sum(axis=at), left, rest, wanted - keeping, found)
