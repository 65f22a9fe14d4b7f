"""Which compositions a fit needs: those that some groups may well have.

Roles make hundreds of compositions possible, and a survey has a few dozen. All marginals of groups
are sums over compositions, so that leaving out what hardly anybody has makes a fit several times as
fast. All that is seen here is released.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinfolk.methods.mixture_fit import Measured, MixtureFit
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout

COMPONENTS = 128
"""Of the small mixture that is asked how likely compositions are."""
LIKELY = 3e-5
"""A composition with this share of all groups is kept,"""
OF_A_SIZE = 8
"""and in any case so many of every size, the most likely ones."""


def likely_compositions(
    layout: Layout, batches: Sequence[Measured], *, rng: np.random.Generator
) -> Layout:
    """The layout with the compositions that a small first fit makes likely."""
    sizes = layout.sizes
    if layout.schema.roles is None or len(sizes) <= OF_A_SIZE * len(layout.schema.sizes):
        return layout
    fit = MixtureFit.random(layout, batches, components=COMPONENTS, rng=rng)
    shares = fit.probabilities[: layout.group_start].mean(axis=1, dtype=np.float64)
    kept = set(np.flatnonzero(shares >= LIKELY).tolist())
    for size in layout.schema.sizes:
        own = np.flatnonzero(sizes == size)
        kept.update(own[np.argsort(-shares[own], kind="stable")[:OF_A_SIZE]].tolist())
    return layout.keeping(kept)


def fitted_layout(model: HPD) -> Layout:
    """The layout of a fit like the one that the model is from."""
    some = model.composition.any(axis=1)
    return model.layout if some.all() else model.layout.keeping(np.flatnonzero(some).tolist())
