"""A mixture fitted to noisy marginals, for as long as it learns more than noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from kinfolk.methods.adam import Adam
from kinfolk.methods.smooth import NumberTable, smooth
from kinfolk.models.layout import Layout
from kinfolk.models.mixture.derived import DerivedColumns
from kinfolk.models.mixture.prepared import softmax, softmax_vjp
from kinfolk.queries.workload import Marginal

Floats = npt.NDArray[np.float64]
Table = npt.NDArray[np.floating[Any]]

BATCHES = 20
"""Steps in a pass over all marginals, and the most parts that these are cut into."""
TOGETHER = 50
"""Marginals in a part, at least. Steps on a few marginals each undo one another; where there are
too few to make 20 parts, a pass goes over all of them more than once."""
START = 0.2
"""How far the logits lie apart at first. Little: what the data does not say stays independent."""
RATE = 0.1
"""Of Adam, on the logits."""
FORGETTING = (0.8, 0.7)
"""What Adam keeps of its mean and of its squares from step to step. With the usual 0.999 for the
squares, probabilities that must become small take ten times as many steps to get there."""
PATIENCE = 3
"""After so many passes that learnt nothing, a trial ends."""
AHEAD = 60
"""Steps on what has a priority, before all else is looked at, ..."""
EVERY = 2
"""... after which every second step looks at it too, and counts for both."""
COOLING = 0.25
"""How many more passes there are in which the rate falls to nothing, as a share of the others."""


class Answering(Protocol):
    """Marginals that are prepared for being answered again and again."""

    def answers(self, probabilities: Table) -> Floats:
        """(queries,) what one group adds on average. probabilities: (rows, K)."""

    def vjp(self, probabilities: Table, cotangent: Floats) -> Table:
        """(rows, K) the gradient by the probabilities; cotangent: (queries,), by the answers."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Some marginals as they were released."""

    prepared: Answering
    """Answers them."""
    rates: Floats
    """(queries,) the noisy count of each, by the number of groups."""
    precision: Floats
    """(queries,) one over the variance of each."""
    impossible: npt.NDArray[np.bool_] | None = None
    """(queries,) which of them the rules make certain: the rate is 0, and there is no noise."""
    ahead: bool = False
    """Whether they are learnt before the others, and then looked at all the time."""
    own: tuple[Marginal, ...] = ()
    """Where they are sizes and numbers on their own, to which a mixture is tilted in the end
    (`calibrate`): the marginals, in their order."""
    tables: tuple[NumberTable, ...] = ()
    """Which of them are a number by the same number of a relative."""

    def __post_init__(self) -> None:
        if self.impossible is not None:
            object.__setattr__(self, "rates", np.where(self.impossible, 0.0, self.rates))

    def smoothed(self) -> Measured:
        """The same with the noise taken out of unlikely cells, where `smooth` can tell."""
        rates, precision = self.rates.copy(), self.precision.copy()
        for one in self.tables:
            noise = 1 / np.sqrt(float(self.precision[one.start]))
            rates[one.place], variances = smooth(one, rates[one.place], noise)
            precision[one.place] = 1 / variances
        return replace(self, rates=rates, precision=precision)

    def misfit(self, answers: Floats) -> float:
        """The sum of squared distances of answers, (queries,), in units of the noise."""
        distance = answers - self.rates
        return float(self.precision @ (distance * distance))

    def gradient(self, probabilities: Table) -> Table:
        """Half the gradient of the misfit by the probabilities, (rows, K)."""
        distance = self.prepared.answers(probabilities) - self.rates
        return self.prepared.vjp(probabilities, self.precision * distance)

    def split_noise(self, rng: np.random.Generator) -> tuple[Measured, Measured]:
        """Two measurements with noise of their own, each of half the precision.

        Noise that is added to one and taken from the other makes theirs independent: so one can
        tell how much of what was learnt from the other is true.
        """
        noise = rng.standard_normal(len(self.rates)) / np.sqrt(self.precision)
        half = replace(self, precision=self.precision / 2)
        return replace(half, rates=self.rates + noise), replace(half, rates=self.rates - noise)

    def parametric_bootstrap(
        self, probabilities: Table, rng: np.random.Generator, *, scale: float = 1.0
    ) -> Measured:
        """What would have been released, had these probabilities been the truth.

        scale: by how much rates are too large, as the number of groups was thought to be smaller.
        """
        noise = rng.standard_normal(len(self.rates)) / np.sqrt(self.precision)
        rates = scale * (self.prepared.answers(probabilities) + noise)
        return replace(self, rates=rates, precision=self.precision / scale**2)


@dataclass(frozen=True, kw_only=True, eq=False)
class FitBatches:
    """All that a fit looks at, and in which step it looks at what."""

    every: Sequence[Measured]
    """Whatever was released."""
    plain: Sequence[Measured] = field(init=False)
    """One of them is looked at in a step."""
    ahead: Sequence[Measured] = field(init=False)
    """These are learnt before the others."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "plain", [one for one in self.every if not one.ahead])
        object.__setattr__(self, "ahead", [one for one in self.every if one.ahead])

    def turns(self, steps: int, rng: np.random.Generator) -> Iterator[Turn]:
        """What each of so many steps looks at: passes over the plain batches, in random order."""
        number = len(self.plain)
        for done in range(steps):
            if done % number == 0:
                order = rng.permutation(number)
            turn = [(self.plain[order[done % number]], number)]
            yield turn + ([(one, EVERY) for one in self.ahead] if done % EVERY == 0 else [])

    def gradient(self, turn: Turn, probabilities: Table) -> Table:
        """That of one step, (rows, K), as if it had looked at everything; a mean over queries."""
        total = np.zeros_like(probabilities)
        for batch, stands_for in turn:
            total += batch.gradient(probabilities) * stands_for
        queries = sum(len(batch.rates) for batch in self.every)
        return np.asarray(total / queries, probabilities.dtype)


Turn = list[tuple[Measured, int]]
"""The batches that a step looks at, and for how many each of them stands."""


class MixtureFit:
    """A mixture in the making; all it sees is released."""

    def __init__(self, layout: Layout, batches: Sequence[Measured], logits: Table) -> None:
        self._segments = layout.segments
        self._batches = FitBatches(every=batches)
        self._logits = layout.masked(logits)
        self._derived = DerivedColumns.of(layout)
        self.probabilities = self._normal()
        """(rows, K) the mixture so far."""
        self._adam = Adam(learning_rate=RATE, decay=FORGETTING[0], square_decay=FORGETTING[1])

    @classmethod
    def random(
        cls,
        layout: Layout,
        batches: Sequence[Measured],
        *,
        components: int,
        rng: np.random.Generator,
    ) -> MixtureFit:
        """Begin with components that are nearly alike, and learn what comes ahead of all else.

        What is known best is what makes a household: it would be learnt last, as it takes the
        most steps, if it were learnt along with all the noise of the rest.
        """
        logits = START * rng.standard_normal((layout.rows, components), np.float32)
        fit = cls(layout, batches, logits)
        ahead = [(one, 1) for one in fit._batches.ahead]
        for _ in range(AHEAD if ahead else 0):
            fit._step(ahead, rate=1.0)
        return fit

    def run(
        self,
        passes: int,
        *,
        rng: np.random.Generator,
        on_progress: Callable[[int], None] | None = None,
    ) -> None:
        """Pass so many times over the marginals, and then some more to settle."""
        for done in range(1, passes + 1):
            self.steps(np.ones(BATCHES), rng)
            if on_progress is not None:
                on_progress(done)
        self.steps(cooling(passes), rng)

    def steps(self, rates: Floats, rng: np.random.Generator) -> None:
        """Steps at these rates, passing over the batches in random order."""
        for rate, turn in zip(rates, self._batches.turns(len(rates), rng), strict=True):
            self._step(turn, rate=float(rate))

    def _step(self, turn: Turn, *, rate: float) -> None:
        gradient = self._batches.gradient(turn, self.probabilities)
        self._derived.vjp(self.probabilities, gradient)
        by_logits = softmax_vjp(self.probabilities, gradient, self._segments)
        self._adam.step(self._logits, by_logits, scale=rate)
        self.probabilities = self._normal()

    def _normal(self) -> Table:
        found = softmax(self._logits, self._segments)
        self._derived.fill(found)
        return found


def cooling(passes: int) -> Floats:
    """Rates of the steps after so many passes."""
    return cooled(max(2, round(COOLING * passes)) * BATCHES)


def cooled(steps: int) -> Floats:
    """Rates of so many steps: from the full one to 0, slowly at both ends."""
    return 0.5 * (1 + np.cos(np.linspace(0, np.pi, steps + 1)[1:]))


@dataclass(frozen=True, kw_only=True, eq=False)
class Trial:
    """What was learnt from one half of the information, held against the other."""

    passes: int
    """How many were made."""
    answers: Sequence[Floats]
    """What the model says by then of every batch."""
    misfit: float
    """Of these, by the other half."""

    @classmethod
    def of(cls, passes: int, others: Sequence[Measured], probabilities: Table) -> Trial:
        """A model after so many passes."""
        answers = [one.prepared.answers(probabilities) for one in others]
        misfit = sum(one.misfit(said) for one, said in zip(others, answers, strict=True))
        return cls(passes=passes, answers=answers, misfit=misfit)

    def gain(self, without: Trial, others: Sequence[Measured]) -> float:
        """By how much it is nearer to the other half than another trial.

        In standard deviations of what the noise, which is the same for both, makes of that.
        """
        chance: float = sum(
            float(one.precision @ (said - instead) ** 2)
            for one, said, instead in zip(others, self.answers, without.answers, strict=True)
        )
        return (without.misfit - self.misfit) / max(2 * math.sqrt(chance), 1e-12)


def best_trial(
    step: Callable[[], Table],
    others: Sequence[Measured],
    *,
    first: Trial | None = None,
    most: int,
    on_progress: Callable[[int], None],
) -> Trial:
    """The best of up to so many passes, each of which `step` makes: (rows, K) probabilities.

    It ends once nothing was learnt for some passes; first: before any of them.
    """
    best = first
    for done in range(1, most + 1):
        trial = Trial.of(done, others, step())
        on_progress(done)
        if best is None or trial.misfit < best.misfit:
            best = trial
        elif done - best.passes >= PATIENCE:
            break
    assert best is not None  # noqa: S101  (there is at least one pass)
    return best


def choose_passes(
    layout: Layout,
    halves: Sequence[tuple[Measured, Measured]],
    *,
    components: int,
    most: int,
    rng: np.random.Generator,
    on_progress: Callable[[int], None],
) -> Trial:
    """How many passes a fit should make: tried with one half of the information on the other.

    More passes than these would learn the noise by heart. All of the information bears a few more
    than half of it, and gets them when the fit settles. `most` says that there was no end to it.
    """
    fit = MixtureFit.random(layout, [one for one, _ in halves], components=components, rng=rng)

    def step() -> Table:
        fit.steps(np.ones(BATCHES), rng)
        return fit.probabilities

    others = [other for _, other in halves]
    best = best_trial(step, others, most=most, on_progress=on_progress)
    return best if most - best.passes >= PATIENCE else replace(best, passes=most)


def joined(layout: Layout, batches: Sequence[Measured], parts: Sequence[Table]) -> MixtureFit:
    """Several mixtures as one with all their components, to be fitted on."""
    logits = np.log(np.maximum(np.concatenate(parts, axis=1), np.finfo(np.float32).tiny))
    return MixtureFit(layout, batches, logits.astype(np.float32))
