"""The paper's HPD-Update: gradient steps on the measured queries that are still far off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from kinfolk.errors import KinfolkError
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout, Scheme
from kinfolk.models.mixture.prepared import Prepared
from kinfolk.queries.workload import Workload

Floats = npt.NDArray[np.float64]
Table = npt.NDArray[np.floating[Any]]


class Parameters(Protocol):
    """What is learnt: it gives the logits of a mixture, and steps against their gradient."""

    def logits(self) -> Table:
        """(rows, K) the logits now."""

    def step(self, gradient: Table) -> None:
        """One step of the optimiser, from the gradient by the logits, (rows, K)."""

    def keep(self) -> None:
        """Take the parameters as they are now into their moving average."""

    def kept(self) -> Table:
        """(rows, K) the logits of the averaged parameters; those of now where none were kept."""


@dataclass(frozen=True, kw_only=True)
class UpdateSettings:
    """What the learners of mixtures are told in advance.

    The defaults are the paper's where it states them, and else those of the code its authors
    published for the flat case, from which theirs is derived: K, T_max, `patience` and both
    memories.
    """

    components: int = 1000
    """K: how many product distributions are mixed."""
    max_iterations: int = 100
    """T_max: gradient steps after a measurement, at most."""
    patience: float = 0.5
    """The threshold gamma, over the moving average of errors. The paper's text has the average
    itself, and with 1 next to nothing is learnt: steps end as soon as the largest error shrinks."""
    memory: float = 0.5
    """Of the moving average of errors: what one round leaves of the rounds before."""
    parameter_memory: float = 0.9
    """Of the moving average of parameters, likewise."""
    scheme: Scheme | None = None
    """How many members share a slot; by default 1, 1, 1, 2, 2, 3, and one slot for a role."""

    def __post_init__(self) -> None:
        if self.components < 1 or self.max_iterations < 1:
            raise KinfolkError(
                f"components is {self.components} and max_iterations {self.max_iterations}. "
                "Use at least 1 of each."
            )
        if not 0 < self.patience <= 1:
            raise KinfolkError(f"patience is {self.patience}. Use a number above 0, at most 1.")
        if not 0 <= self.memory < 1 or not 0 <= self.parameter_memory < 1:
            raise KinfolkError(
                f"memory is {self.memory} and parameter_memory {self.parameter_memory}. "
                "Use numbers from 0 up to but not including 1."
            )


class HPDLearner:
    """Learns a mixture from released values: the paper's HPD, after its select and measure.

    After each measurement, gamma is set to `patience` times a moving average, over the rounds, of
    the largest error among the measured queries. Gradient steps are taken on the queries that are
    off by gamma or more, until there are none. The loss is the paper's, the sum of their absolute
    errors. The model that is left in the end has a moving average of the parameters over the second
    half of the rounds.
    """

    def __init__(
        self,
        workload: Workload,
        *,
        rounds: int,
        layout: Layout,
        parameters: Parameters,
        settings: UpdateSettings,
    ) -> None:
        self._workload, self._layout = workload, layout
        self._prepared = Prepared.of(layout, workload)
        self._parameters = parameters
        self._settings = settings
        self._usual: float | None = None
        self._rounds, self._round = rounds, 0

    def answer(self) -> Floats:
        """Its answers to the whole workload: (queries,) shares."""
        return np.asarray(self._now().answer(self._prepared), np.float64)

    def learn(self, queries: Sequence[int], shares: Floats) -> None:
        """Gradient steps on everything measured so far that is still off."""
        self._round += 1
        measured = self._prepare(queries)
        model = self._now()
        answers = np.asarray(model.answer(measured), np.float64)
        gamma = self._threshold(float(np.abs(answers - shares).max()))
        for _ in range(self._settings.max_iterations):
            errors = answers - shares
            off = np.abs(errors) >= gamma
            if not off.any():
                break
            cotangent = np.where(off, np.sign(errors), 0.0)
            gradient = model.answer_vjp(measured, answers, cotangent)
            self._parameters.step(model.logits_vjp(gradient))
            model = self._now()
            answers = np.asarray(model.answer(measured), np.float64)
        if 2 * self._round >= self._rounds:
            self._parameters.keep()

    def model(self) -> HPD:
        """The mixture with the averaged parameters."""
        return HPD.from_logits(self._layout, self._parameters.kept())

    def _prepare(self, queries: Sequence[int]) -> Prepared:
        """What was measured, ready to be answered: whole marginals at once, if it is made of them.

        They take a fraction of the time that their queries do one by one.
        """
        whole: list[int] = []
        while (place := sum(self._workload.marginals[at].cells for at in whole)) < len(queries):
            at = self._workload.marginal_of(queries[place])
            own = range(*self._workload.offsets[at : at + 2])
            if list(queries[place : place + len(own)]) != list(own):
                return Prepared.of_queries(self._layout, self._workload, queries)
            whole.append(at)
        return Prepared.of(self._layout, self._workload, marginals=whole)

    def _now(self) -> HPD:
        return HPD.from_logits(self._layout, self._parameters.logits())

    def _threshold(self, largest: float) -> float:
        """Gamma, once the largest error of this round is known."""
        memory = self._settings.memory
        before = largest if self._usual is None else self._usual
        self._usual = memory * before + (1 - memory) * largest
        return self._settings.patience * self._usual
