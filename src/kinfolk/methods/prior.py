"""What public tables say beforehand, and how far the measurements bear it out.

A mixture is fitted to the public tables, without noise. It is then *tilted*: every category becomes
more or less likely by one factor in all components, and components get weights. That is little to
learn, so that little noise is learnt with it; and what goes together in the public tables stays
together. Everything here sees public tables and released values only.
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
    cooling,
)
from kinfolk.models.layout import Layout
from kinfolk.models.mixture.derived import DerivedColumns
from kinfolk.models.mixture.prepared import softmax, softmax_vjp

PRIOR_COMPONENTS = 250
"""K of the mixture that is fitted to public tables."""
PRIOR_PASSES = 30
"""Passes of that fit: there is no noise to be learnt."""
CERTAINTY = 1e4
"""Precision of a public rate, where a group counts 1."""
RATE = 0.03
"""Of Adam, on what the tilt learns."""
FREE_RATE = 0.02
"""Of Adam, on all logits, once they are free."""
MARGIN, FREE_MARGIN = 1.0, 3.0
"""By how much a prior must be better than none, in standard deviations of what the noise makes of
the difference, if it is tilted, and if every logit is learnt freely after that: the trial without a
prior is of one mixture, and the real fit averages several, which is better; a tilt needs no such
average, as it learns little."""

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
    tilting: int = 0
    """Passes in which it is tilted."""
    freeing: int = 0
    """Passes with all logits free, after that."""
    gain: float = 0.0
    """By how much it was better than no prior: see `Trial.gain`."""

    def describe(self) -> dict[str, object]:
        """For the certificate."""
        said = {"use": self.use, "tilting": self.tilting, "freeing": self.freeing}
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
    """A prior in the course of being tilted; all it sees is released."""

    def __init__(self, layout: Layout, batches: Sequence[Measured], prior: Table) -> None:
        self._segments, self._compositions = layout.segments, layout.group_start
        self._derived = DerivedColumns.of(layout)
        self._batches = FitBatches(every=batches)
        self._logits = layout.masked(prior.copy())
        self._shift = np.zeros((len(prior), 1), prior.dtype)
        self._log_weights = np.zeros(prior.shape[1], prior.dtype)
        self._weights = np.full(prior.shape[1], 1 / prior.shape[1], prior.dtype)
        self._adams = {name: _adam(RATE) for name in ("shift", "weights")}
        self._adams["logits"] = _adam(FREE_RATE)
        self._settled = False
        self._refresh()

    @property
    def weighted(self) -> Table:
        """(rows, K) the mixture so far, with the weights of components in their compositions.

        Every answer is linear in how likely compositions are, so it comes out as weighted.
        """
        return self._weighted

    def run(self, plan: PriorPlan, components: int, *, rng: np.random.Generator) -> Table:
        """Do as planned, and settle: (rows, K) of equally likely components."""
        for _ in range(plan.tilting):
            self.steps(np.ones(BATCHES), rng)
        for _ in range(plan.freeing):
            self.steps(np.ones(BATCHES), rng, free=True)
        # The tilt makes good what the weights lose when they become numbers of copies.
        copies = numbers_of_copies(self._weights, components)
        self._weights, self._settled = (copies / components).astype(self._shift.dtype), True
        self._refresh()
        self.steps(cooling(plan.tilting + plan.freeing), rng, free=plan.use == "free")
        return np.repeat(self._probabilities, copies, axis=1)

    def steps(self, rates: Floats, rng: np.random.Generator, *, free: bool = False) -> None:
        """Steps at these rates, passing over the batches in random order."""
        for rate, turn in zip(rates, self._batches.turns(len(rates), rng), strict=True):
            gradient = self._batches.gradient(turn, self._weighted)
            self._step(gradient, float(rate), free=free)

    def _step(self, gradient: Table, rate: float, *, free: bool) -> None:
        own, end = self._probabilities, self._compositions
        components = own.shape[1]
        if not self._settled:
            by_weights = components * (gradient[:end] * own[:end]).sum(axis=0)
            by_logs = self._weights * (by_weights - self._weights @ by_weights)
            self._adams["weights"].step(self._log_weights, by_logs, scale=rate)
        gradient[:end] *= components * self._weights
        self._derived.vjp(own, gradient)
        by_logits = softmax_vjp(own, gradient, self._segments)
        if free:
            self._adams["logits"].step(self._logits, by_logits, scale=rate)
        else:
            by_shift = by_logits.sum(axis=1, keepdims=True)
            self._adams["shift"].step(self._shift, by_shift, scale=rate)
        if not self._settled:
            weights = np.exp(self._log_weights - self._log_weights.max())
            self._weights = weights / weights.sum()
        self._refresh()

    def _refresh(self) -> None:
        self._probabilities = softmax(self._logits + self._shift, self._segments)
        self._derived.fill(self._probabilities)
        self._weighted = self._probabilities.copy()
        self._weighted[: self._compositions] *= self._weights * len(self._weights)


def _adam(rate: float) -> Adam:
    return Adam(learning_rate=rate, decay=FORGETTING[0], square_decay=FORGETTING[1])


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

    def best_of(fit: Tilt, *, free: bool) -> Trial:
        def step() -> Table:
            fit.steps(np.ones(BATCHES), rng, free=free)
            return fit.weighted

        first = Trial.of(0, others, fit.weighted)
        return best_trial(step, others, first=first, most=most, on_progress=tell)

    tilted = best_of(Tilt(layout, [one for one, _ in halves], prior), free=False)
    fit = Tilt(layout, [one for one, _ in halves], prior)
    for _ in range(tilted.passes):
        fit.steps(np.ones(BATCHES), rng)
    freed = best_of(fit, free=True)
    gains = tilted.gain(without, others), freed.gain(without, others)
    if freed.misfit < tilted.misfit and freed.passes and gains[1] >= FREE_MARGIN:
        return PriorPlan(use="free", tilting=tilted.passes, freeing=freed.passes, gain=gains[1])
    if gains[0] >= MARGIN:
        return PriorPlan(use="tilt", tilting=tilted.passes, gain=gains[0])
    return PriorPlan(gain=max(gains))
