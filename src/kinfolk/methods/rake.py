"""How groups are to be raked, learnt from what was measured of whole groups.

Many groups are drawn from the model, and weighted: as evenly as can be, and so that their features
(`models.raking`) are as they were measured, as far as that stands out of its noise. The weights are
exponential in the features, one coefficient each, and add up to the same in every composition. All
that is seen here is released.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from kinfolk._typing import Floats, Ints
from kinfolk.data.encoded import Encoded, composition_of
from kinfolk.data.shapes import Shapes
from kinfolk.methods.calibrate import calibrated
from kinfolk.methods.mixture_fit import Measured, Table
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.models.raking import Features, Raking
from kinfolk.models.records import Records
from kinfolk.privacy.view import PublicView
from kinfolk.queries.workload import Marginal, Workload
from kinfolk.schema import Level, Schema
from kinfolk.schema.totals import Totals

POOL = 30_000
"""Groups that are drawn from the model to find the weights of groups."""
TRUST = 150.0
"""How much the model is worth beside the measurements: as much as a survey of so many groups."""
HELD, HELD_LOOSELY = 1.0, 3.0
"""What is to stay as the model has it is held as if measured, with so many times the noise; the
second is for the bins of numbers that have a total, which is to come out. Not for special values
and blanks: who has nothing of an amount is to have nothing."""
HELD_NOISE = 0.003
"""Their noise where nothing was measured, as a share of groups."""
SHARED = 10**9
"""What a group counts for in shares of it, which its members share."""
CERTAIN = 100.0
"""How much more precisely than what was bought raked groups are believed to tell numbers."""
LARGEST = 4.0
"""How much likelier than the average of its composition a group can become: about one in so many
of those that are drawn are kept."""
KEPT = 1e9
"""The level of compositions that hardly any group has: these groups are all kept."""
TURNS, TINY = 20, 1e-6
"""Steps of Newton's method at most, and how little one gains that is the last."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Measures:
    """What was measured of features, as means over groups."""

    features: Features
    targets: Floats
    """(features,); of those that were not measured, nothing."""
    noise: Floats
    """(features,) standard deviations; infinite where nothing was measured."""

    @classmethod
    def of(
        cls, view: PublicView, found: Mapping[int, npt.NDArray[np.float64]], features: Features
    ) -> Measures:
        """From noisy rates and precisions, (2, cells), by the marginal's position in a workload."""
        places = {one: at for at, one in enumerate(view.workload.marginals)}
        targets, noise = np.zeros(features.size), np.full(features.size, np.inf)
        for marginal, first in zip(features.marginals, features.starts, strict=False):
            at = places.get(marginal, -1)
            if at in found:
                unit = float(view.weights[at].max())
                rates, precision = found[at]
                own = slice(first, first + marginal.cells)
                targets[own], noise[own] = rates / unit, 1 / np.sqrt(precision) / unit
        return cls(features=features, targets=targets, noise=noise)

    def around(self, truth: Floats, rng: np.random.Generator) -> Measures:
        """What would have been measured, had this been the truth, (features,)."""
        noise = np.where(np.isfinite(self.noise), self.noise, 0.0)
        return replace(self, targets=truth + noise * rng.standard_normal(len(truth)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Raked:
    """What was learnt."""

    raking: Raking
    means: Floats
    """(features,) the means of the groups as they will be drawn."""
    pool: Encoded
    """Groups as the model has them,"""
    weights: Floats
    """(groups,) and what each of them stands for; they add up to 1."""

    def rates(self, marginal: Marginal, by_size: Ints) -> Floats:
        """(cells,) what one group adds on average to a marginal of one attribute.

        by_size: (sizes + 1,) what a group of each size counts for.
        """
        if marginal.level is Level.GROUP:
            codes, owners = self.pool.group[:, marginal.group[0]], np.arange(self.pool.groups)
        else:
            codes = self.pool.individual[:, marginal.individual[0]]
            owners = np.repeat(np.arange(self.pool.groups), self.pool.sizes)
        counted = (self.weights * by_size[self.pool.sizes])[owners]
        return np.bincount(codes, counted, marginal.cells).astype(np.float64)


def with_means(
    layout: Layout, batches: Sequence[Measured], raked: Raked, table: Table, view: PublicView
) -> Table:
    """The mixture, tilted so that numbers with a total are as those of the raked groups.

    So answers of the model know of the totals, too, and less is left to raking.
    """
    places = {one: at for at, one in enumerate(view.workload.marginals)}
    for batch in batches:
        if not batch.own:
            continue
        totals = _with_totals(layout.schema)
        rates = [
            raked.rates(one, view.weights[places[one]])
            if _attribute_of(one) in totals
            else np.full(one.cells, np.nan)
            for one in batch.own
        ]
        wanted = np.concatenate(rates)
        known = np.isfinite(wanted)
        measured = replace(
            batch,
            rates=np.where(known, wanted, batch.rates),
            precision=np.where(known, CERTAIN, 1.0) * batch.precision,
        )
        table = calibrated(layout, [measured], table)
    return table


def fit_raking(
    model: HPD, measures: Measures, *, shapes: Shapes | None = None, rng: np.random.Generator
) -> Raked:
    """Draw groups from the model, and find how likely each is to be kept.

    shapes: how numbers lie inside their bins; evenly without.
    """
    features = measures.features
    pool = Records(model=model, shapes=shapes).draw_all(POOL, rng=rng)
    # Stratum by stratum, as their sums are worked out.
    compositions = composition_of(pool)
    order = np.argsort(compositions, kind="stable")
    pool, compositions = pool.take(order), compositions[order]
    strata = np.unique(compositions, return_inverse=True)[1]
    chosen = features.matrix(pool)
    usual = chosen.mean(axis=0, dtype=np.float64)
    known = np.isfinite(measures.noise)
    modelled = _as_modelled(model, features)
    targets = np.where(known, measures.targets, modelled)
    held = np.where(_of_totals(features), HELD_LOOSELY, HELD)
    least = measures.noise[known].min() if known.any() else HELD_NOISE
    # What the rules have moved far was hardly known.
    noise = np.where(known, measures.noise, np.hypot(held * least, usual - modelled))
    columns = np.flatnonzero(chosen.max(axis=0) > chosen.min(axis=0))
    chosen = chosen[:, columns]
    slopes = _tilted(chosen, strata, targets[columns], TRUST * noise[columns] ** 2)
    raking = _raking(features, columns, slopes, chosen @ slopes, compositions)
    # What cannot become as likely as it should be counts as it will be drawn.
    drawn = _as_drawn(raking.chances(pool), strata)
    means = usual.copy()
    means[columns] = drawn @ chosen
    return Raked(raking=raking, means=means, pool=pool, weights=drawn)


def _as_modelled(model: HPD, features: Features) -> Floats:
    """(features,) what the model itself says of those that are no totals; 0 of the others."""
    asked = [one for one in features.marginals if one.total is None]
    limit = features.schema.size_limit
    once = np.full(limit + 1, SHARED)
    each = SHARED // np.maximum(np.arange(limit + 1), 1)
    weights = np.stack([once if one.level is Level.GROUP else each for one in asked])
    rates = model.rates(Workload(schema=features.schema, marginals=tuple(asked)), weights=weights)
    return np.concatenate([np.zeros(features.size - len(rates)), rates / SHARED])


def _with_totals(schema: Schema) -> set[tuple[Level, int]]:
    """The numbers that have a total, by level and position."""
    return {(one.level, at) for one in Totals(schema=schema).sums for at in one.positions}


def _attribute_of(marginal: Marginal) -> tuple[Level, int] | None:
    """The attribute that a marginal is about, of a group or of members by role; None of a total."""
    if marginal.total:
        return None
    own = marginal.group if marginal.level is Level.GROUP else marginal.individual
    return marginal.level, own[0]


def _of_totals(features: Features) -> npt.NDArray[np.bool_]:
    """(features,) which are bins of numbers that have a total, special values and blanks apart."""
    totals = _with_totals(features.schema)
    found = [np.zeros(0, bool)]
    for marginal in features.marginals:
        loose = np.zeros(marginal.shape, bool)
        own = _attribute_of(marginal)
        if own in totals:
            loose[: len(Totals(schema=features.schema).numeric(*own).bins) - 1] = True
        found.append(loose.ravel())
    return np.concatenate(found)


def _raking(
    features: Features, columns: Ints, slopes: Floats, scores: Floats, compositions: Ints
) -> Raking:
    """From the coefficients of some columns, and what they make of groups of these compositions.

    Each composition has a level of its own: features of roles say as much of a composition as of
    the groups that have it, and it is not to become rarer.
    """
    every = np.zeros(features.size)
    every[columns] = slopes
    levels = np.full(len(features.schema.compositions), KEPT)
    for at in np.unique(compositions):
        own = scores[compositions == at]
        levels[at] = -own.max() - np.log(LARGEST * np.exp(own - own.max()).mean())
    return Raking(features=features, slopes=every, levels=levels)


def _as_drawn(chances: Floats, strata: Ints) -> Floats:
    """(groups,) what each group stands for if it is kept with a chance, and strata stay."""
    weights = np.maximum(chances, 1e-300)
    weights *= (np.bincount(strata) / np.bincount(strata, weights))[strata]
    return np.asarray(weights / len(strata))


def _tilted(
    features: npt.NDArray[np.float32], strata: Ints, targets: Floats, pull: Floats
) -> Floats:
    """The coefficients, (features,). strata: (groups,) increasing.

    By Newton's method on a convex function: in every stratum the logarithm of a sum of exponential
    weights, less the targets, and `pull` back towards none.
    """
    number = np.bincount(strata).astype(np.float64)
    shares = number / len(strata)

    def look(slopes: Floats) -> tuple[float, Floats]:
        scores = features @ slopes.astype(np.float32)
        top = np.full(len(number), -np.inf)
        np.maximum.at(top, strata, scores)
        raised = np.exp(scores - top[strata], dtype=np.float64)
        sums = np.bincount(strata, raised)
        cost = shares @ (top + np.log(sums / number)) - slopes @ targets
        return float(cost + 0.5 * pull @ slopes**2), raised * (shares / sums)[strata]

    slopes = np.zeros(features.shape[1])
    cost, weights = look(slopes)
    firsts = np.concatenate([[0], np.cumsum(number)[:-1]]).astype(np.int64)
    for _ in range(TURNS):
        weighted = features * weights[:, None].astype(np.float32)
        means = np.add.reduceat(weighted, firsts, axis=0) / shares[:, None]
        gradient = shares @ means - targets + pull * slopes
        bend = (features.T @ weighted).astype(np.float64) - means.T @ (means * shares[:, None])
        bend[np.diag_indices_from(bend)] += pull + 1e-7
        step = np.linalg.solve(bend, -gradient)
        length = 1.0
        then, found = look(slopes + step)
        while then > cost and length > 1e-3:
            length /= 2
            then, found = look(slopes + length * step)
        if not then < cost - TINY:
            break
        slopes, cost, weights = slopes + length * step, then, found
    return slopes
