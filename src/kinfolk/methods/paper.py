"""The paper's methods: Adaptive Measurements, with one learner or another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from kinfolk.methods.adaptive import AdaptiveMeasurements, Learner
from kinfolk.methods.explicit import MWEM, PEP
from kinfolk.methods.fixed import FixedSettings, HPDFixed
from kinfolk.methods.gen import GenSettings, HPDGen
from kinfolk.methods.method import Progress, Step, silent
from kinfolk.models.base import Model
from kinfolk.models.network import jax_library
from kinfolk.privacy.accounting import Accounting
from kinfolk.privacy.curator import Curator
from kinfolk.privacy.view import PublicView
from kinfolk.queries.workload import Workload


class ModelLearner(Learner, Protocol):
    """A learner that can be asked for its model."""

    def model(self) -> Model:
        """What it has learnt."""


@dataclass(frozen=True, kw_only=True)
class AdaptiveMethod:
    """One of the paper's methods: the loop, and what learns in it.

    >>> hpd_fixed(rounds=50).settings["rounds"]
    50
    """

    name: str
    """How `--method` calls it."""
    loop: AdaptiveMeasurements
    """How queries are chosen and measured."""
    make: Callable[[Workload, np.random.Generator], ModelLearner] = field(repr=False)
    """Makes the learner."""
    learner: Mapping[str, Any]
    """What the learner was told."""
    needs: Callable[[], object] = field(default=lambda: None, repr=False)
    """Raises where a library is missing that the learner needs."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What it was told, for the certificate."""
        return {**asdict(self.loop), **self.learner}

    @property
    def accounting(self) -> Accounting:
        """It selects queries, which only zCDP has a price for."""
        return Accounting.ZCDP

    @property
    def size_weighted(self) -> bool:
        """The paper asks plain queries."""
        return False

    def asks(self, workload: Workload) -> Workload:
        """The workload as it is."""
        return workload

    def check(self) -> None:
        """Refuse where a library is missing."""
        self.needs()

    def steps(self, view: PublicView) -> list[Step]:
        """What it will buy, round by round."""
        return self.loop.steps(view)

    def planned_noise(self, view: PublicView, workload: Workload) -> list[float | None]:
        """That of the first query to be measured, for each marginal that it may be of."""
        steps = self.steps(view)
        rho = next((step.rho for step in steps if step.key.startswith("measure ")), None)
        if rho is None:
            return [None] * len(workload.marginals)
        starts = workload.offsets[:-1]
        return [view.measure_query(start, rho=rho).mechanism.noise for start in starts]

    def start(self, curator: Curator, *, rng: np.random.Generator) -> AdaptiveTraining:
        """Begin."""
        return AdaptiveTraining(self.loop, curator, self.make(curator.workload, rng))


class AdaptiveTraining:
    """The loop at work."""

    def __init__(self, loop: AdaptiveMeasurements, curator: Curator, learner: ModelLearner) -> None:
        self._loop, self._curator, self._learner = loop, curator, learner

    def run(self, progress: Progress = silent) -> None:
        """Choose, measure and learn, round after round."""
        total = self._loop.rounds
        self._loop.run(
            self._curator, self._learner, progress=lambda turn: progress("rounds", turn, total)
        )

    def model(self) -> Model:
        """The learner's model."""
        return self._learner.model()

    def findings(self) -> Mapping[str, Any]:
        """Nothing."""
        return {}

    def extra(self) -> Mapping[str, npt.NDArray[Any]]:
        """Nothing more."""
        return {}


def hpd_fixed(*, rounds: int = 100, alpha: float = 0.67, **settings: Any) -> AdaptiveMethod:
    """HPD-Fixed; see `FixedSettings`."""
    chosen = FixedSettings(**settings)
    return AdaptiveMethod(
        name="hpd-fixed",
        loop=AdaptiveMeasurements(rounds=rounds, alpha=alpha),
        make=lambda workload, rng: HPDFixed(workload, rounds=rounds, rng=rng, settings=chosen),
        learner=asdict(chosen),
    )


def hpd_gen(*, rounds: int = 100, alpha: float = 0.67, **settings: Any) -> AdaptiveMethod:
    """HPD-Gen; see `GenSettings`. Needs the extra `kinfolk[gen]`."""
    chosen = GenSettings(**settings)
    return AdaptiveMethod(
        name="hpd-gen",
        loop=AdaptiveMeasurements(rounds=rounds, alpha=alpha),
        make=lambda workload, rng: HPDGen(workload, rounds=rounds, rng=rng, settings=chosen),
        learner={**asdict(chosen), "hidden": list(chosen.hidden)},
        needs=jax_library,
    )


def mwem(*, rounds: int = 100, alpha: float = 0.67, max_iterations: int = 100) -> AdaptiveMethod:
    """MWEM over the explicit universe."""
    return AdaptiveMethod(
        name="mwem",
        loop=AdaptiveMeasurements(rounds=rounds, alpha=alpha),
        make=lambda workload, rng: MWEM(workload, rng=rng, max_iterations=max_iterations),
        learner={"max_iterations": max_iterations},
    )


def pep(*, rounds: int = 100, alpha: float = 0.67, max_iterations: int = 100) -> AdaptiveMethod:
    """PEP over the explicit universe."""
    return AdaptiveMethod(
        name="pep",
        loop=AdaptiveMeasurements(rounds=rounds, alpha=alpha),
        make=lambda workload, rng: PEP(workload, max_iterations=max_iterations),
        learner={"max_iterations": max_iterations},
    )
