"""Noisy counts of cells and a model -> how numbers lie inside their bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kinfolk.data.shapes import Shape, Shapes
from kinfolk.models.hpd import HPD
from kinfolk.models.mixture.prepared import Prepared
from kinfolk.privacy.curator import Measurement
from kinfolk.privacy.view import PublicView
from kinfolk.queries.workload import Workload
from kinfolk.schema import Level, Numeric


def fit_shapes(model: HPD, view: PublicView, bought: Measurement, groups: int) -> Shapes:
    """The shapes of all numbers: of those that were bought by what was released, else even.

    How many are in a bin the model knows best, which has learnt it from many marginals. It is asked
    with the weights that the cells were counted with, so that both are on one scale.
    """
    schema = view.workload.schema
    weights = view.weights[list(bought.marginals)]
    numbers = _numbers(view, bought.marginals)
    totals = _totals(model, view, bought.marginals, groups)
    found: dict[Level, dict[str, Shape]] = {Level.GROUP: {}, Level.INDIVIDUAL: {}}
    ends = np.cumsum([view.workload.marginals[at].cells for at in bought.marginals])[:-1]
    counts = np.split(bought.values.astype(np.float64), ends)
    for at, (level, name, attribute) in enumerate(numbers):
        # In groups or people: the largest weight stands for one of them.
        unit = float(weights[at].max())
        found[level][name] = Shape.fitted(
            attribute,
            counts[at] / unit,
            sigma=bought.sigma / unit,
            totals=totals[at][: len(attribute.bins) - 1] / unit,
        )
    even = Shapes.even(schema)
    return Shapes(
        group={**even.group, **found[Level.GROUP]},
        individual={**even.individual, **found[Level.INDIVIDUAL]},
    )


def expected_counts(
    model: HPD, shapes: Shapes, view: PublicView, marginals: Sequence[int], groups: int
) -> npt.NDArray[np.float64]:
    """What counts of fine cells would be without noise, if a model and its shapes were true.

    (cells,) of all these marginals end to end, in units of the weights.
    """
    found: list[npt.NDArray[np.float64]] = []
    totals = _totals(model, view, marginals, groups)
    for (level, name, _), known in zip(_numbers(view, marginals), totals, strict=True):
        shape = (shapes.group if level == Level.GROUP else shapes.individual)[name]
        # Special values and blanks come after the cells of the bins.
        beyond = known[len(shape.attribute.bins) - 1 :]
        found += [known[shape.bins] * shape.shares, beyond]
    return np.concatenate(found)


def _numbers(view: PublicView, marginals: Sequence[int]) -> list[tuple[Level, str, Numeric]]:
    """Which numbers the fine cells of these marginals belong to."""
    schema = view.workload.schema
    own, members = list(schema.group_attributes), list(schema.individual_attributes)
    tables = {Level.GROUP: schema.group_attributes, Level.INDIVIDUAL: schema.individual_attributes}
    found: list[tuple[Level, str, Numeric]] = []
    for one in (view.workload.marginals[at] for at in marginals):
        name = own[one.group[0]] if one.group else members[one.individual[0]]
        attribute = tables[one.level][name]
        assert isinstance(attribute, Numeric)  # noqa: S101  (only numbers are counted finely)
        found.append((one.level, name, attribute))
    return found


def _totals(
    model: HPD, view: PublicView, marginals: Sequence[int], groups: int
) -> list[npt.NDArray[np.float64]]:
    """(categories,) for each of these marginals how many are in its bins, by the model."""
    coarse = Workload(
        schema=view.workload.schema,
        marginals=tuple(
            replace(view.workload.marginals[at], shape=(attribute.size,), fine=False)
            for at, (_, _, attribute) in zip(marginals, _numbers(view, marginals), strict=True)
        ),
    )
    weights = view.weights[list(marginals)]
    known = Prepared.of(model.layout, coarse, weights=weights).answers(model.probabilities)
    return np.split(np.asarray(known, np.float64) * groups, coarse.offsets[1:-1])
