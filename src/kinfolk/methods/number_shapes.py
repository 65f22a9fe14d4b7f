"""Noisy counts of cells and a model -> how numbers lie inside their bins."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kinfolk.data.shapes import Shape, Shapes
from kinfolk.models.hpd import HPD
from kinfolk.models.mixture.prepared import Prepared
from kinfolk.privacy.curator import Measurement
from kinfolk.privacy.view import PublicView
from kinfolk.queries.workload import Marginal, Workload
from kinfolk.schema import Level, Numeric, Schema

Floats = npt.NDArray[np.float64]


def fit_shapes(model: HPD, view: PublicView, bought: Measurement, groups: int) -> Shapes:
    """The shapes of all numbers: of those that were bought by what was released, else even."""
    schema = view.workload.schema
    counted = FineCounts(
        schema=schema,
        marginals=tuple(view.workload.marginals[at] for at in bought.marginals),
        weights=view.weights[list(bought.marginals)],
        sigma=bought.sigma,
        groups=groups,
    )
    even, found = Shapes.even(schema), counted.shapes(model, bought.values.astype(np.float64))
    return Shapes(
        group={**even.group, **found.group}, individual={**even.individual, **found.individual}
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class FineCounts:
    """Numbers that were counted finely: which they are, and with what noise.

    How many are in a bin the model knows best, which has learnt it from many marginals. It is asked
    with the weights that the cells were counted with, so that both are on one scale.
    """

    schema: Schema
    marginals: tuple[Marginal, ...]
    """Each by the cells of one number."""
    weights: npt.NDArray[np.int64]
    """(marginals, sizes + 1) what a group of each size counts for."""
    sigma: float
    """The noise's standard deviation, in units of the weights."""
    groups: int

    @cached_property
    def numbers(self) -> tuple[tuple[str, Numeric], ...]:
        """The name and the attribute of every marginal."""
        schema = self.schema
        found = []
        for one in self.marginals:
            own = schema.group_attributes if one.group else schema.individual_attributes
            name, attribute = list(own.items())[(one.group or one.individual)[0]]
            assert isinstance(attribute, Numeric)  # noqa: S101  (only numbers are counted finely)
            found.append((name, attribute))
        return tuple(found)

    def only(self, names: Collection[tuple[Level, str]]) -> FineCounts:
        """Those of these levels and names."""
        kept = [
            at
            for at, (one, (name, _)) in enumerate(zip(self.marginals, self.numbers, strict=True))
            if (one.level, name) in names
        ]
        return replace(
            self, marginals=tuple(self.marginals[at] for at in kept), weights=self.weights[kept]
        )

    def totals(self, model: HPD) -> list[Floats]:
        """For each number how many are in each of its categories, in units of the weights."""
        coarse = Workload(
            schema=self.schema,
            marginals=tuple(
                replace(one, shape=(attribute.size,), fine=False)
                for one, (_, attribute) in zip(self.marginals, self.numbers, strict=True)
            ),
        )
        prepared = Prepared.of(model.layout, coarse, weights=self.weights)
        return np.split(prepared.answers(model.probabilities) * self.groups, coarse.offsets[1:-1])

    def shapes(self, model: HPD, values: Floats) -> Shapes:
        """The shapes of these numbers. values: noisy counts of all cells, end to end."""
        found: dict[Level, dict[str, Shape]] = {Level.GROUP: {}, Level.INDIVIDUAL: {}}
        counts = np.split(values, np.cumsum([one.cells for one in self.marginals])[:-1])
        for at, known in enumerate(self.totals(model)):
            name, attribute = self.numbers[at]
            # In groups or people: the largest weight stands for one of them.
            unit = float(self.weights[at].max())
            found[self.marginals[at].level][name] = Shape.fitted(
                attribute,
                counts[at] / unit,
                sigma=self.sigma / unit,
                totals=known[: len(attribute.bins) - 1] / unit,
            )
        return Shapes(group=found[Level.GROUP], individual=found[Level.INDIVIDUAL])

    def expected(self, model: HPD, shapes: Shapes) -> Floats:
        """The counts of all cells, end to end, were the model and the shapes the truth."""
        parts: list[Floats] = []
        for at, known in enumerate(self.totals(model)):
            name, attribute = self.numbers[at]
            own = shapes.group if self.marginals[at].group else shapes.individual
            bins = len(attribute.bins) - 1
            parts += [known[own[name].bins] * own[name].shares, known[bins:]]
        return np.concatenate(parts)
