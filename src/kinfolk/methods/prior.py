"""What public tables say beforehand, and how far the measurements bear it out.

A mixture is fitted to the public tables, without noise. It is then *tilted*: every category becomes
more or less likely, mostly by one factor in all components, and components get weights. Nothing
moves further than what was measured has weight against what is usual, so that little noise is
learnt; and what goes together in the public tables stays together, unless the measurements say
otherwise. Everything here sees public tables and released values only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from kinfolk._typing import Floats, Ints
from kinfolk.methods.adam import Adam
from kinfolk.methods.mixture_fit import (
    BATCHES,
    FORGETTING,
    FitBatches,
    Measured,
    MixtureFit,
    Table,
    Trial,
    best_trial,
    cooled,
    cooling,
)
from kinfolk.models.layout import Layout
from kinfolk.models.mixture.derived import DerivedColumns
from kinfolk.models.mixture.prepared import softmax, softmax_vjp

PRIOR_COMPONENTS = 125
"""K of a mixture that is fitted to public tables, of which there is one for each part."""
PRIOR_PASSES = 30
"""Passes of that fit: there is no noise to be learnt."""
CERTAINTY = 1e4
"""Precision of a public rate, where a group counts 1."""
USUAL_SHIFT, USUAL_OWN_SHIFT, USUAL_LOGIT, USUAL_WEIGHT = 0.5, 0.2, 0.4, 1.0
"""By how much a tilt usually moves the logit of a category, in all slots alike; beyond that in one
of them; beyond that in one component; and the logarithm of a component's weight."""
SCALES = (1.0, 2.0)
"""How many times as much is tried."""
STEPS, RATE, REMEMBERING = 30, 0.25, (0.8, 0.95)
"""In which it is tilted; the rate of Adam at first, in units of what is usual, and what Adam keeps
of its mean and of its squares: every step looks at everything."""
FREE_RATE = 0.02
"""Of Adam, on all logits, once they are free."""
MARGIN, FREE_MARGIN = 1.0, 3.0
"""By how much a prior must be better than none, in standard deviations of what the noise makes of
the difference, if it is tilted, and if every logit is learnt freely after that: the trial without a
prior is of one mixture, and the real fit averages several, which is better; a tilt needs no such
average, as it learns little. What is learnt freely must be better than the tilt, too, by the first
of these."""

Use = Literal["none", "tilt", "free"]
"""Of a prior: it is not used; it is tilted; it is tilted, and then every logit is learnt freely."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PublicRates:
    """What public tables say of the marginals of a workload, counted with the curator's weights."""

    rates: Mapping[int, Floats]
    """By position in the workload: (cells,) what one group adds on average. Marginals of attributes
    that the public tables lack are not there."""
    tables: Mapping[str, str]
    """The digests (SHA-256) of the public tables, by name."""
    groups: int
    """How many public groups there are."""
    notes: tuple[str, ...] = ()
    """What the public tables lack, and what was left out of them, in words."""

    def certain(self, weights: Ints) -> dict[int, Floats]:
        """For each marginal the rates and precisions of its cells, (2, cells).

        `weights` are those that were counted with, (marginals of the workload, sizes + 1).
        """
        return {
            at: np.stack([own, np.full(len(own), CERTAINTY / float(weights[at].max()) ** 2)])
            for at, own in self.rates.items()
        }

    def describe(self) -> dict[str, object]:
        """For the ledger and the certificate."""
        return {"tables": dict(self.tables), "groups": self.groups, "notes": list(self.notes)}


@dataclass(frozen=True, kw_only=True)
class PriorPlan:
    """How a prior is used, found out with one half of the information on the other."""

    use: Use = "none"
    scale: float = SCALES[0]
    """How many times as much as is usual the tilt may be."""
    freeing: int = 0
    """Passes with all logits free, after the tilt."""
    gain: float = 0.0
    """By how much it was better than no prior: see `Trial.gain`."""

    def describe(self) -> dict[str, object]:
        """For the certificate."""
        said = {"use": self.use, "scale": self.scale, "freeing": self.freeing}
        return {**said, "gain": round(self.gain, 1)}


def fit_public(
    layout: Layout,
    batches: Sequence[Measured],
    *,
    components: int,
    passes: int,
    rng: np.random.Generator,
    on_progress: Callable[[int, int], None],
) -> Table:
    """The logits of a mixture that answers as the public tables do, (rows, K).

    What the public tables do not tell stays as it began: nearly the same in all components.
    """
    fit = MixtureFit.random(layout, batches, components=components, rng=rng)
    fit.run(passes, rng=rng, on_progress=lambda done: on_progress(done, passes))
    return np.log(np.maximum(fit.probabilities, np.finfo(np.float32).tiny))


class Tilt:
    """A prior in the course of being tilted; all it sees is released.

    How far it is tilted is a compromise: half the misfit by the measurements, and how unusual the
    tilt is by a normal density, are as small as possible together. So what is measured well moves,
    and what noise hides stays as the public tables have it.
    """

    def __init__(
        self, layout: Layout, batches: Sequence[Measured], prior: Table, *, scale: float
    ) -> None:
        self._segments, self._compositions = layout.segments, layout.group_start
        self._derived = DerivedColumns.of(layout)
        self._batches = FitBatches(every=batches)
        self._prior = self._logits = layout.masked(prior.copy())
        self._categories = _categories(layout)
        rows, components = prior.shape
        numbers = (int(self._categories[-1]) + 1, rows, rows * components, components)
        usual = (USUAL_SHIFT, USUAL_OWN_SHIFT, USUAL_LOGIT, USUAL_WEIGHT)
        self._ends = np.cumsum(numbers)[:-1]
        self._usual = scale * np.repeat(usual, numbers)
        self._learnt = np.zeros(len(self._usual))
        self._weights = np.full(components, 1 / components, prior.dtype)
        self._adam = Adam(learning_rate=FREE_RATE, decay=FORGETTING[0], square_decay=FORGETTING[1])
        self._refresh()

    @property
    def weighted(self) -> Table:
        """(rows, K) the mixture so far, with the weights of components in their compositions.

        Every answer is linear in how likely compositions are, so it comes out as weighted.
        """
        return self._weighted

    def run(self, plan: PriorPlan, components: int, *, rng: np.random.Generator) -> Table:
        """Do as planned, and settle: (rows, K) of equally likely components."""
        self.tilt()
        for _ in range(plan.freeing):
            self.free(np.ones(BATCHES), rng)
        copies = numbers_of_copies(self._weights, components)
        self._weights = (copies / components).astype(self._weights.dtype)
        self._refresh()
        # What the weights lost when they became numbers of copies is made good.
        if plan.freeing:
            self.free(cooling(plan.freeing), rng)
        else:
            self.tilt(settled=True)
        return np.repeat(self._probabilities, copies, axis=1)

    def tilt(self, *, settled: bool = False) -> None:
        """Steps that look at everything; settled: components keep their weights."""
        adam = Adam(learning_rate=RATE, decay=REMEMBERING[0], square_decay=REMEMBERING[1])
        for rate in cooled(STEPS):
            total = sum(batch.gradient(self._weighted) for batch in self._batches.every)
            by_rows, by_weights = self._gradient(np.asarray(total))
            of_rows = by_rows.sum(axis=1, dtype=np.float64)
            of_categories = np.bincount(self._categories, weights=of_rows)
            gradient = np.concatenate([of_categories, of_rows, by_rows.ravel(), by_weights])
            gradient *= self._usual
            gradient += self._learnt
            if settled:
                gradient[self._ends[-1] :] = 0.0
            adam.step(self._learnt, gradient, scale=float(rate))
            self._move(settled=settled)

    def free(self, rates: Floats, rng: np.random.Generator) -> None:
        """Steps of every logit at these rates, passing over the batches in random order."""
        for rate, turn in zip(rates, self._batches.turns(len(rates), rng), strict=True):
            by_rows, _ = self._gradient(self._batches.gradient(turn, self._weighted))
            self._adam.step(self._logits, by_rows, scale=float(rate))
            self._refresh()

    def _gradient(self, gradient: Table) -> tuple[Table, Floats]:
        """(rows, K) by the logits and (K,) by the logarithms of weights, from that by `weighted`.

        The gradient that is handed over is written into.
        """
        own, end, weights = self._probabilities, self._compositions, self._weights
        components = own.shape[1]
        by_weights = components * (gradient[:end] * own[:end]).sum(axis=0, dtype=np.float64)
        gradient[:end] *= components * weights
        self._derived.vjp(own, gradient)
        by_logs = weights * (by_weights - weights @ by_weights)
        return softmax_vjp(own, gradient, self._segments), by_logs

    def _move(self, *, settled: bool) -> None:
        """Be as was learnt."""
        categories, rows, own, logs = np.split(self._learnt * self._usual, self._ends)
        shift = own.reshape(self._prior.shape) + (categories[self._categories] + rows)[:, None]
        self._logits = self._prior + shift.astype(self._prior.dtype)
        if not settled:
            weights = np.exp(logs - logs.max())
            self._weights = (weights / weights.sum()).astype(self._weights.dtype)
        self._refresh()

    def _refresh(self) -> None:
        self._probabilities = softmax(self._logits, self._segments)
        self._derived.fill(self._probabilities)
        self._weighted = self._probabilities.copy()
        self._weighted[: self._compositions] *= self._weights * len(self._weights)


def _categories(layout: Layout) -> Ints:
    """(rows,) which category a row is of: people's are the same ones in all slots and kinds."""
    rows, start = np.arange(layout.rows), layout.individual_start
    return np.where(rows < start, rows, start + (rows - start) % layout.kind_rows)


def numbers_of_copies(weights: Table, total: int) -> Ints:
    """How many of `total` equally likely components stand for each weighted one.

    >>> numbers_of_copies(np.array([0.5, 0.3, 0.2]), 10).tolist()
    [5, 3, 2]
    """
    ends = np.cumsum(weights, dtype=np.float64)
    places = (np.arange(total) + 0.5) / total * ends[-1]
    found = np.searchsorted(ends, places)
    return np.bincount(np.minimum(found, len(weights) - 1), minlength=len(weights))


def choose_plan(
    layout: Layout,
    halves: Sequence[tuple[Measured, Measured]],
    prior: Table,
    *,
    without: Trial,
    most: int,
    rng: np.random.Generator,
    on_progress: Callable[[int], None],
) -> PriorPlan:
    """How to use a prior, if at all: tried with one half of the information on the other.

    `without` is the trial without a prior.
    """
    others = [other for _, other in halves]
    done = 0

    def tell(_: int) -> None:
        nonlocal done
        done += 1
        on_progress(done)

    tilts: list[tuple[Trial, float, Tilt]] = []
    for scale in SCALES:
        fit = Tilt(layout, [one for one, _ in halves], prior, scale=scale)
        fit.tilt()
        tilts.append((Trial.of(0, others, fit.weighted), scale, fit))
        tell(0)
    tilted, scale, fit = min(tilts, key=lambda one: one[0].misfit)

    def step() -> Table:
        fit.free(np.ones(BATCHES), rng)
        return fit.weighted

    freed = best_trial(step, others, first=tilted, most=most, on_progress=tell)
    gains = tilted.gain(without, others), freed.gain(without, others)
    if gains[1] >= FREE_MARGIN and freed.gain(tilted, others) >= MARGIN:
        return PriorPlan(use="free", scale=scale, freeing=freed.passes, gain=gains[1])
    if gains[0] >= MARGIN:
        return PriorPlan(use="tilt", scale=scale, gain=gains[0])
    return PriorPlan(gain=max(gains))
