"""Parts of a dataset, group by group: halves, and a second survey drawn with replacement."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kinfolk.data.encoded import Encoded

SEED = 20_240_229
"""These draws only set a yardstick; the same data gives the same report."""


def take(data: Encoded, groups: npt.NDArray[np.int64]) -> Encoded:
    """The groups at these positions, each as often as it is named."""
    sizes = data.sizes[groups]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)
    people = np.repeat(data.offsets[groups], sizes) + within
    return replace(
        data,
        group=data.group[groups],
        individual=data.individual[people],
        offsets=offsets,
        role=None if data.role is None else data.role[people],
    )


def bootstrap_resample(data: Encoded) -> Encoded:
    """As many groups, drawn with replacement: what another survey of the same size would look like.

    Its errors are what chance alone does to a survey of this size: a yardstick for all others.
    """
    rng = np.random.default_rng(SEED)
    return take(data, rng.integers(data.groups, size=data.groups))


def halves(data: Encoded) -> tuple[Encoded, Encoded]:
    """Two random halves."""
    order = np.random.default_rng(SEED).permutation(data.groups)
    middle = (data.groups + 1) // 2
    return take(data, order[:middle]), take(data, order[middle:])
