"""HPD-Fixed: a mixture whose parameters are the tables themselves, fitted by gradient steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kinfolk.errors import KinfolkError
from kinfolk.methods.adam import Adam
from kinfolk.models.engine.plan import Plan
from kinfolk.models.engine.selection import Selection
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout, Scheme
from kinfolk.queries.workload import Workload

Floats = npt.NDArray[np.float64]
Parameters = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, kw_only=True)
class FixedSettings:
    """What HPD-Fixed is told in advance; the defaults are the paper's where it states them."""

    components: int = 1000
    """K: how many product distributions are mixed."""
    learning_rate: float = 0.1
    """Of Adam, on the logits."""
    max_iterations: int = 100
    """T_max: gradient steps after a measurement, at most."""
    patience: float = 0.5
    """How far below the moving average of errors gamma lies: with 1, steps stop where they start
    to help, since the newest error is about as large as the average."""
    memory: float = 0.5
    """Of the exponential moving averages: of the threshold gamma, and of the parameters."""
    scheme: Scheme | None = None
    """How many members share a slot; by default 1, 1, 1, 2, 2, 3, and one slot for a role."""
    single: bool = True
    """Whether numbers have 32 bits, which is faster and as good."""

    def __post_init__(self) -> None:
        if self.components < 1 or self.max_iterations < 1:
            raise KinfolkError(
                f"components is {self.components} and max_iterations {self.max_iterations}. "
                "Use at least 1 of each."
            )
        if self.learning_rate <= 0 or not 0 <= self.memory < 1:
            raise KinfolkError(
                f"learning_rate is {self.learning_rate} and memory {self.memory}. "
                "Use a positive rate, and a memory from 0 up to but not including 1."
            )


class HPDFixed:
    """The paper's HPD-Update: gradient steps on the measured queries that are off by gamma or more.

    gamma is half a moving average of how far off the newest measurement was; the model that is kept
    in the end is a moving average of the parameters over the second half of the rounds. Everything
    here sees released values only.
    """

    def __init__(
        self,
        workload: Workload,
        *,
        rounds: int,
        rng: np.random.Generator,
        settings: FixedSettings | None = None,
    ) -> None:
        self.settings = settings or FixedSettings()
        self._workload = workload
        self._layout = Layout.of(workload.schema, scheme=self.settings.scheme)
        self._plan = Plan.of(self._layout, workload)
        dtype = np.float32 if self.settings.single else np.float64
        shape = (self._layout.rows, self.settings.components)
        self._logits: Parameters = rng.standard_normal(shape).astype(dtype)
        self._adam = Adam(learning_rate=self.settings.learning_rate)
        self._usual: float | None = None
        self._rounds, self._round = rounds, 0
        self._kept: Parameters | None = None

    def answer(self) -> Floats:
        """Its answers to the whole workload: (queries,) shares."""
        return np.asarray(self._now().answer(self._plan), np.float64)

    def learn(self, queries: Sequence[int], shares: Floats) -> None:
        """Gradient steps on everything measured so far that is still off."""
        self._round += 1
        selection = Selection.of(self._layout, self._workload, queries)
        model = self._now()
        errors = np.asarray(model.answer(selection), np.float64) - shares
        newest = abs(float(errors[-1]))
        memory = self.settings.memory
        self._usual = newest if self._usual is None else _blend(self._usual, newest, memory)
        gamma = self.settings.patience * self._usual
        for _ in range(self.settings.max_iterations):
            off = np.abs(errors) >= gamma
            if not off.any():
                break
            # The Euclidean norm of the errors that are off; Adam does not mind its scale.
            pull = np.where(off, errors, 0.0) / np.sqrt((errors[off] ** 2).sum())
            answers = errors + shares
            gradient = model.answer_gradient(selection, answers, pull)
            self._adam.step(self._logits, model.logits_gradient(gradient))
            model = self._now()
            errors = np.asarray(model.answer(selection), np.float64) - shares
        if 2 * self._round > self._rounds:
            self._keep()

    def model(self) -> HPD:
        """The mixture with the averaged parameters."""
        logits = self._logits if self._kept is None else self._kept
        return HPD.from_logits(self._layout, logits)

    def _now(self) -> HPD:
        return HPD.from_logits(self._layout, self._logits)

    def _keep(self) -> None:
        if self._kept is None:
            self._kept = self._logits.copy()
        else:
            self._kept += (1 - self.settings.memory) * (self._logits - self._kept)


def _blend(old: float, new: float, memory: float) -> float:
    return memory * old + (1 - memory) * new
