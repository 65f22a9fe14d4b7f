"""Shapes of numbers, fitted again to made-up noise: how sure a release is of them.

A release says which numbers were counted finely and with what noise, in its certificate. With the
model and the shapes as the truth, such counts can be made up as often as one likes; nothing is
spent. Together with a replicate of the model they are what else might have been released.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from kinfolk.data.shapes import Shapes
from kinfolk.methods.allocate import FINELY
from kinfolk.methods.number_shapes import FineCounts
from kinfolk.models.base import Table
from kinfolk.models.hpd import HPD
from kinfolk.queries.naming import marginal_from
from kinfolk.release.release import Release
from kinfolk.schema import Level

SEED = 20
"""Of the made-up noise: the same release gives the same answers."""


def replicate_shapes(
    release: Release, tables: Table, names: Collection[tuple[Level, str]]
) -> list[Shapes]:
    """For each replicate of the model the shapes of some numbers, by level and name.

    tables: (replicates, rows, K). Numbers that were not counted finely are left out: nothing is
    known of them but their bins, and nobody can say how far off "evenly" is.
    """
    counted = fine_counts(release)
    model, shapes = release.model, release.shapes
    if counted is None or shapes is None or not isinstance(model, HPD):
        return [Shapes(group={}, individual={}) for _ in tables]
    own = counted.only(names)
    if not own.marginals:
        return [Shapes(group={}, individual={}) for _ in tables]
    expected = own.expected(model, shapes)
    found = []
    for number, table in enumerate(tables):
        noise = np.random.default_rng([SEED, number]).normal(0.0, own.sigma, expected.size)
        again = HPD(layout=model.layout, probabilities=table)
        found.append(own.shapes(again, expected + noise))
    return found


def fine_counts(release: Release) -> FineCounts | None:
    """Which numbers were counted finely, by the certificate; None if none were."""
    schema = release.schema
    for spend in release.certificate.get("spends", ()):
        if spend["step"] != FINELY or not spend["released"]:
            continue
        described = spend["bought"]["marginals"]
        rows = spend["bought"].get("weights")
        weights = np.ones((len(described), schema.size_limit + 1), np.int64)
        if rows is not None:
            weights = np.array([rows[one["weights"]] for one in described], np.int64)
        return FineCounts(
            schema=schema,
            marginals=tuple(marginal_from(schema, one) for one in described),
            weights=weights,
            sigma=float(spend["sigma"]),
            groups=release.groups,
        )
    return None
