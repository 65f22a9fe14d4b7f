"""Noisy counts of cells and a model -> how numbers lie inside their bins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

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
    fine = [view.workload.marginals[at] for at in bought.marginals]
    own, members = list(schema.group_attributes), list(schema.individual_attributes)
    names = [own[one.group[0]] if one.group else members[one.individual[0]] for one in fine]
    tables = {Level.GROUP: schema.group_attributes, Level.INDIVIDUAL: schema.individual_attributes}
    attributes = [tables[one.level][name] for one, name in zip(fine, names, strict=True)]
    coarse = Workload(
        schema=schema,
        marginals=tuple(
            replace(one, shape=(attribute.size,), fine=False)
            for one, attribute in zip(fine, attributes, strict=True)
        ),
    )
    weights = view.weights[list(bought.marginals)]
    known = Prepared.of(model.layout, coarse, weights=weights).answers(model.probabilities)
    known *= groups
    found: dict[Level, dict[str, Shape]] = {Level.GROUP: {}, Level.INDIVIDUAL: {}}
    ends = np.cumsum([one.cells for one in fine])[:-1]
    counts = np.split(bought.values.astype(np.float64), ends)
    totals = np.split(known, coarse.offsets[1:-1])
    for at, (one, name, attribute) in enumerate(zip(fine, names, attributes, strict=True)):
        assert isinstance(attribute, Numeric)  # noqa: S101  (only numbers are counted finely)
        # In groups or people: the largest weight stands for one of them.
        unit = float(weights[at].max())
        found[one.level][name] = Shape.fitted(
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
