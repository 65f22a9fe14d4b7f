"""Replicates: what would have been learnt, had a model been the truth.

All that was bought is made up again: what the model says, with noise of the same size. What is then
fitted to it differs from the model as the model differs from the data, as far as noise and fitting
go. Nothing is needed for it but what is released.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kinfolk.data.shapes import SHARES, Shapes
from kinfolk.methods.allocate import is_own
from kinfolk.methods.calibrate import calibrated
from kinfolk.methods.mixture_fit import BATCHES, TOGETHER, Measured, MixtureFit, Table
from kinfolk.methods.number_shapes import expected_counts, fit_shapes
from kinfolk.methods.priority import comes_ahead
from kinfolk.methods.rake import Measures, fit_raking, with_means
from kinfolk.methods.smooth import NumberTable
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.models.mixture.prepared import Grains
from kinfolk.privacy.curator import Measurement
from kinfolk.privacy.view import PublicView
from kinfolk.queries.impossible import impossible_queries
from kinfolk.queries.workload import Marginal, order_of
from kinfolk.schema import Numeric, Schema
from kinfolk.schema.bins import is_coarser

REPLICATES = "replicates"
"""Under this name a release keeps models fitted again to made-up noise, (replicates, rows, K),"""
REPLICATE_SHARES = "replicate_shares"
"""how numbers lie inside their bins in each, (replicates, cells),"""
REPLICATE_RAKING = "replicate_raking"
"""how groups are raked in each, (replicates, features + sizes),"""
REPLICATE_GROUPS = "replicate_groups"
"""how many groups there would have been taken to be, (replicates,),"""
PASSES = "passes"
"""and how many passes a fit has made, (1,), so that more of them can be made."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Replicate:
    """A model fitted to made-up noise."""

    probabilities: Table
    """(rows, K) the mixture."""
    shares: npt.NDArray[np.float64] | None
    """(cells,) how its numbers lie inside their bins, where that was bought."""
    groups: int
    """How many groups there would have been taken to be."""
    raking: npt.NDArray[np.float64] | None = None
    """(features + sizes,) how its groups are raked, where that was learnt."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Refits:
    """What it takes to make replicates of a model; all of it is released."""

    view: PublicView
    """What could be bought; it knows the number of groups."""
    layout: Layout
    """With the compositions that are fitted."""
    groups_sigma: float
    """The noise of the number of groups; 0 where it is public."""
    batches: Sequence[Measured]
    """Of the marginals that were bought, their noise; the values do not matter."""
    passes: int
    """How many passes a fit makes."""
    components: int
    """How many components it has."""
    fine: tuple[int, ...] = ()
    """The marginals of numbers that were counted finely, by position in the workload, ..."""
    fine_sigma: float = 0.0
    """... and their noise."""
    measures: Measures | None = None
    """What was measured of whole groups; of it, the noise matters."""
    means: npt.NDArray[np.float64] | None = None
    """(features,) what the model's groups are like, as they are drawn."""

    @property
    def groups(self) -> int:
        """How many groups there are taken to be."""
        return self.view.groups or 1

    def noisy_groups(self, rng: np.random.Generator) -> int:
        """How many groups there might have been taken to be, with other noise."""
        noise = self.groups_sigma * rng.standard_normal()
        return self.view.settled_groups(round(self.groups + noise))

    def make(self, model: HPD, shapes: Shapes | None, *, rng: np.random.Generator) -> Replicate:
        """Make up what was bought, and learn from it."""
        groups = self.noisy_groups(rng)
        # Counts are divided by the number of groups, whose noise is that of all rates.
        scale = self.groups / groups
        again = [
            batch.parametric_bootstrap(model.probabilities, rng, scale=scale).smoothed()
            for batch in self.batches
        ]
        fit = MixtureFit.random(self.layout, again, components=self.components, rng=rng)
        fit.run(self.passes, rng=rng)
        probabilities = calibrated(self.layout, again, fit.probabilities)
        fitted, found = HPD(layout=model.layout, probabilities=probabilities), shapes
        if shapes is not None and self.fine:
            counts = expected_counts(model, shapes, self.view, self.fine, self.groups)
            noise = self.fine_sigma * rng.standard_normal(len(counts))
            made_up = Measurement(
                marginals=self.fine,
                values=np.rint(counts + noise).astype(np.int64),
                sigma=self.fine_sigma,
            )
            found = fit_shapes(fitted, self.view, made_up, groups)
        raking = None
        if self.measures is not None and self.means is not None:
            measures = self.measures.around(self.means * scale, rng)
            raked = fit_raking(fitted, measures, shapes=found, rng=rng)
            probabilities = with_means(self.layout, again, raked, probabilities, self.view)
            fitted = HPD(layout=model.layout, probabilities=probabilities)
            raked = fit_raking(fitted, measures, shapes=found, rng=rng)
            raking = raked.raking.to_array()
        return Replicate(
            probabilities=probabilities,
            shares=found.to_arrays()[SHARES] if found is not None and self.fine else None,
            groups=groups,
            raking=raking,
        )


def arrays_of(replicates: Sequence[Replicate]) -> Mapping[str, npt.NDArray[Any]]:
    """What a release keeps of replicates."""
    if not replicates:
        return {}
    shares = [one.shares for one in replicates if one.shares is not None]
    raking = [one.raking for one in replicates if one.raking is not None]
    return {
        REPLICATES: np.stack([one.probabilities for one in replicates]),
        REPLICATE_GROUPS: np.array([one.groups for one in replicates], np.int64),
        **({REPLICATE_SHARES: np.stack(shares)} if shares else {}),
        **({REPLICATE_RAKING: np.stack(raking)} if raking else {}),
    }


def deal_batches(
    layout: Layout,
    view: PublicView,
    found: Mapping[int, npt.NDArray[np.float64]],
    rng: np.random.Generator,
) -> list[Measured]:
    """Marginals in random batches, each with its share of every level.

    First come sizes and numbers on their own, then what else comes ahead of the rest.

    found: for each marginal the noisy rates and precisions of its cells, (2, cells).
    """
    workload = view.workload
    schema, marginals = workload.schema, workload.marginals
    grains = Grains(layout, workload, view.weights)
    own = [at for at in found if is_own(schema, marginals[at])]
    ahead = [at for at in found if at not in own and comes_ahead(schema, marginals[at])]
    levels = {at: marginals[at].level for at in found if at not in {*own, *ahead}}
    dealt = [
        int(at)
        for level in dict.fromkeys(levels.values())
        for at in rng.permutation([one for one, named in levels.items() if named == level])
    ]
    parts = min(BATCHES, max(1, len(dealt) // TOGETHER))
    plain = [dealt[first::parts] for first in range(parts)] if dealt else [ahead or own]
    batches = []
    for number, some in enumerate([own, ahead, *plain]):
        if not some or (number < 2 and some == plain[0]):
            continue
        chosen = sorted(some)
        rates, precision = np.concatenate([found[at] for at in chosen], axis=1)
        batches.append(
            Measured(
                prepared=grains.prepare(chosen),
                rates=rates,
                precision=precision,
                impossible=impossible_queries(workload, chosen),
                ahead=number < 2,
                own=tuple(marginals[at] for at in chosen) if some == own else (),
                tables=tuple(_number_tables(schema, [marginals[at] for at in chosen])),
            )
        )
    return batches


def _number_tables(schema: Schema, marginals: Sequence[Marginal]) -> Iterator[NumberTable]:
    """Those of a number by the same number of a relative that have a priority, in a batch.

    Coarse marginals come after all others there.
    """
    members = list(schema.individual_attributes.values())
    start = 0
    for one in sorted(marginals, key=lambda one: one.coarse):
        if one.relation is not None and one.individual == one.relative and order_of(one) == 2:
            attribute = members[one.individual[0]]
            detailed = not one.coarse and is_coarser(attribute)
            if isinstance(attribute, Numeric) and not detailed:
                beyond = attribute.size - (len(attribute.bins) - 1)
                yield NumberTable(start=start, size=one.shape[0], bins=one.shape[0] - beyond)
        start += one.cells
