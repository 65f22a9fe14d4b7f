"""The paper's methods: Adaptive Measurements, with one learner or another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from kinfolk.methods.adaptive import AdaptiveMeasurements, Learner
from kinfolk.methods.explicit import MWEM, PEP, check_iterate
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
        """That of what is measured first, for each marginal that it may be of."""
        steps = self.steps(view)
        rho = next((step.rho for step in steps if step.key.startswith("measure ")), None)
        if rho is None:
            return [None] * len(workload.marginals)
        if self.loop.measure == "marginal":
            return [
                view.measure([at], rho=rho).mechanism.noise for at in range(len(workload.marginals))
            ]
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


def _loop(told: Mapping[str, Any]) -> tuple[AdaptiveMeasurements, dict[str, Any]]:
    """The loop, from those of the settings that are its own; and the others, the learner's."""
    own = {one.name for one in fields(AdaptiveMeasurements)} & set(told)
    rest = {name: value for name, value in told.items() if name not in own}
    return AdaptiveMeasurements(**{name: told[name] for name in own}), rest


def hpd_fixed(**settings: Any) -> AdaptiveMethod:
    """HPD-Fixed; see `AdaptiveMeasurements` and `FixedSettings`."""
    loop, told = _loop(settings)
    chosen = FixedSettings(**told)
    return AdaptiveMethod(
        name="hpd-fixed",
        loop=loop,
        make=lambda workload, rng: HPDFixed(workload, rounds=loop.rounds, rng=rng, settings=chosen),
        learner=asdict(chosen),
    )


def hpd_gen(**settings: Any) -> AdaptiveMethod:
    """HPD-Gen; see `AdaptiveMeasurements` and `GenSettings`. Needs the extra `kinfolk[gen]`."""
    loop, told = _loop(settings)
    chosen = GenSettings(**told)
    return AdaptiveMethod(
        name="hpd-gen",
        loop=loop,
        make=lambda workload, rng: HPDGen(workload, rounds=loop.rounds, rng=rng, settings=chosen),
        learner={**asdict(chosen), "hidden": list(chosen.hidden)},
        needs=jax_library,
    )


def mwem(*, max_iterations: int = 100, iterate: str = "average", **settings: Any) -> AdaptiveMethod:
    """MWEM over the explicit universe; see `AdaptiveMeasurements` and `MWEM`."""
    check_iterate(iterate)
    return AdaptiveMethod(
        name="mwem",
        loop=AdaptiveMeasurements(**settings),
        make=lambda workload, rng: MWEM(
            workload, rng=rng, max_iterations=max_iterations, iterate=iterate
        ),
        learner={"max_iterations": max_iterations, "iterate": iterate},
    )


def pep(*, max_iterations: int = 100, **settings: Any) -> AdaptiveMethod:
    """PEP over the explicit universe; see `AdaptiveMeasurements`."""
    return AdaptiveMethod(
        name="pep",
        loop=AdaptiveMeasurements(**settings),
        make=lambda workload, rng: PEP(workload, max_iterations=max_iterations),
        learner={"max_iterations": max_iterations},
    )
