"""Shapes of numbers, fitted again to made-up noise: how sure a release is of them.

A release says which numbers were counted finely and with what noise, in its certificate. With the
model and the shapes as the truth, such counts can be made up as often as one likes; nothing is
spent. Together with a replicate of the model they are what else might have been released.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from kinfolk.data.shapes import Shape, Shapes
from kinfolk.methods.allocate import FINELY
from kinfolk.methods.number_shapes import expected_counts, fit_shapes
from kinfolk.models.base import Table
from kinfolk.models.hpd import HPD
from kinfolk.privacy.curator import Measurement
from kinfolk.privacy.guarantee import Guarantee
from kinfolk.privacy.view import PublicView
from kinfolk.queries.naming import marginal_from
from kinfolk.queries.workload import Marginal, Workload
from kinfolk.release.release import Release
from kinfolk.schema import Level, Numeric, Schema

Floats = npt.NDArray[np.float64]

SEED = 20
"""Of the made-up noise: the same release gives the same answers."""
NONE = Shapes(group={}, individual={})


def replicate_shapes(
    release: Release, tables: Table, names: Collection[tuple[Level, str]]
) -> list[Shapes]:
    """For each replicate of the model the shapes of some numbers, by level and name.

    tables: (replicates, rows, K). Numbers that were not counted finely are left out: nothing is
    known of them but their bins, and nobody can say how far off "evenly" is.
    """
    model, shapes = release.model, release.shapes
    spend = finely(release.certificate)
    if spend is None or shapes is None or not isinstance(model, HPD):
        return [NONE for _ in tables]
    view = counted_finely(release.certificate, spend, release.schema, names)
    marginals = view.workload.marginals
    if not marginals:
        return [NONE for _ in tables]
    every = tuple(range(len(marginals)))
    expected = expected_counts(model, shapes, view, every, release.groups)
    sigma = float(spend["sigma"])
    kept = {(one.level, _number(release.schema, one)[0]) for one in marginals}
    found = []
    for number, table in enumerate(tables):
        noise = np.random.default_rng([SEED, number]).normal(0.0, sigma, expected.size)
        bought = Measurement(
            marginals=every,
            values=np.rint(expected + noise).astype(np.int64),
            sigma=sigma,
        )
        again = HPD(layout=model.layout, probabilities=table)
        own = fit_shapes(again, view, bought, release.groups)
        found.append(
            Shapes(
                group=_only(own.group, Level.GROUP, kept),
                individual=_only(own.individual, Level.INDIVIDUAL, kept),
            )
        )
    return found


def finely(certificate: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The spend that bought the counts of fine cells, if any did."""
    for spend in certificate.get("spends", ()):
        if spend["step"] == FINELY and spend["released"]:
            found: Mapping[str, Any] = spend
            return found
    return None


def counted_finely(
    certificate: Mapping[str, Any],
    spend: Mapping[str, Any],
    schema: Schema,
    names: Collection[tuple[Level, str]],
) -> PublicView:
    """What was bought of some numbers, by level and name: their cells, and what groups counted."""
    described, rows = spend["bought"]["marginals"], spend["bought"].get("weights")
    marginals, weights = [], []
    for one in described:
        marginal = marginal_from(schema, one)
        if (marginal.level, _number(schema, marginal)[0]) in names:
            marginals.append(marginal)
            one_each = [1] * (schema.size_limit + 1)
            weights.append(one_each if rows is None else rows[one["weights"]])
    return PublicView.weighted(
        Workload(schema=schema, marginals=tuple(marginals)),
        Guarantee.from_description(certificate),
        np.array(weights, np.int64).reshape(len(marginals), schema.size_limit + 1),
    )


def _number(schema: Schema, marginal: Marginal) -> tuple[str, Numeric]:
    """The number whose cells a marginal counts."""
    own = schema.group_attributes if marginal.group else schema.individual_attributes
    name, attribute = list(own.items())[(marginal.group or marginal.individual)[0]]
    assert isinstance(attribute, Numeric)  # noqa: S101  (only numbers are counted finely)
    return name, attribute


def _only(
    shapes: Mapping[str, Shape], level: Level, names: Collection[tuple[Level, str]]
) -> dict[str, Shape]:
    return {name: shape for name, shape in shapes.items() if (level, name) in names}
