"""Every attribute by itself: a baseline that shows what associations are worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from kinfolk.data.shapes import SHARES
from kinfolk.methods.allocate import MeasurementGroup, steps_of
from kinfolk.methods.method import (
    NothingLearntError,
    Progress,
    Step,
    affordable,
    buy_groups,
    first_steps,
    silent,
)
from kinfolk.methods.mixture_fit import Measured, MixtureFit
from kinfolk.methods.number_shapes import fit_shapes
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.models.mixture.prepared import Prepared
from kinfolk.privacy.accounting import Accounting
from kinfolk.privacy.curator import Curator, Measurement
from kinfolk.privacy.view import PublicView
from kinfolk.queries.added_marginals import with_numbers
from kinfolk.queries.impossible import impossible_queries
from kinfolk.queries.workload import Workload
from kinfolk.schema import Level
from kinfolk.schema.names import AttributeNames

NUMBERS = "numbers"
"""What the step is called that buys where numbers lie inside their bins."""
PASSES = 60
"""Of the fit. With a number for every cell there is no noise to be learnt by heart in more."""


@dataclass(frozen=True, kw_only=True)
class Independent:
    """The method, which has no settings.

    >>> from kinfolk import Workload, load_schema
    >>> Independent().asks(Workload.of(load_schema("acs-red")))
    Workload(51 queries in 10 marginals: 15 group, 36 individual)
    """

    @property
    def name(self) -> str:
        """How `--method` calls it."""
        return "independent"

    @property
    def settings(self) -> Mapping[str, Any]:
        """Nothing, for the certificate."""
        return asdict(self)

    @property
    def accounting(self) -> Accounting:
        """It measures and selects nothing."""
        return Accounting.GAUSSIAN

    @property
    def size_weighted(self) -> bool:
        """By weights, people in large groups would count less, and nothing else tells of them."""
        return False

    def check(self) -> None:
        """Nothing can be missing."""

    def asks(self, workload: Workload) -> Workload:
        """Every attribute alone: those of groups and the size by groups, the others by people.

        Numbers are counted finely, too.
        """
        names = list(AttributeNames(workload.schema).by_position().values())
        levels = [Level.GROUP, Level.INDIVIDUAL]
        alone = Workload.of(workload.schema, k=1, levels=levels, attributes=names)
        own = [one for one in alone.marginals if bool(one.group) is (one.level is Level.GROUP)]
        fine = [one for one in with_numbers(alone).marginals if one.fine]
        return replace(alone, marginals=(*own, *fine))

    def steps(self, view: PublicView) -> list[Step]:
        """What it will buy: the number of groups, then all that is planned."""
        return steps_of(view, _planned_purchases(view))

    def planned_noise(self, view: PublicView, workload: Workload) -> list[float | None]:
        """That of single attributes; of nothing else."""
        asked = view.workload.marginals
        noise = {
            asked[at]: one.sigma(view)
            for one in _planned_purchases(view).values()
            for at in one.marginals
        }
        return [noise.get(one) for one in workload.marginals]

    def start(self, curator: Curator, *, rng: np.random.Generator) -> IndependentTraining:
        """Begin."""
        return IndependentTraining(curator, rng)


def _planned_purchases(view: PublicView) -> dict[str, MeasurementGroup]:
    """The attributes of groups, those of people, and numbers, for the same budget each; public."""
    rho = view.rho - sum((step.rho for step in first_steps(view)), Fraction(0))
    marginals = view.workload.marginals
    found: dict[str, list[int]] = {}
    for at, one in enumerate(marginals):
        found.setdefault(NUMBERS if one.fine else f"{one.level} attributes", []).append(at)
    return {
        key: MeasurementGroup(marginals=tuple(own), rho=rho * Fraction(len(own), len(marginals)))
        for key, own in found.items()
    }


class IndependentTraining:
    """The method at work: buy, and fit a mixture of one component."""

    def __init__(self, curator: Curator, rng: np.random.Generator) -> None:
        self._curator, self._rng = curator, rng
        schema = curator.workload.schema
        # Members share a slot: whoever comes first in a group is like all others.
        scheme = (schema.size_limit,) if schema.roles is None else None
        self._layout = Layout.of(schema, scheme=scheme)
        self._fit: MixtureFit | None = None
        self._numbers: Measurement | None = None
        self._groups = 0

    def run(self, progress: Progress = silent) -> None:
        """Spend the budget, then learn from what it bought."""
        curator, workload = self._curator, self._curator.workload
        groups = self._groups = buy_groups(curator)
        planned = _planned_purchases(curator.view)
        cost = affordable(curator, {key: one.rho for key, one in planned.items()})
        found: dict[str, Measurement] = {}
        for done, (key, rho) in enumerate(cost.items(), 1):
            found[key] = curator.measure(planned[key].marginals, rho=rho, step=key)
            progress("measuring", done, len(cost))
        self._numbers = found.pop(NUMBERS, None)
        bought = found.values()
        own = [at for one in bought for at in one.marginals]
        rates = np.concatenate([one.values for one in bought]) / groups
        precision = [np.full(len(one.values), (groups / one.sigma) ** 2) for one in bought]
        prepared = Prepared.of(self._layout, workload, weights=curator.weights, marginals=own)
        measured = Measured(
            prepared=prepared,
            rates=rates,
            precision=np.concatenate(precision),
            impossible=impossible_queries(workload, own),
        )
        # All alike at first: what nobody was asked, such as the ages of a role, stays alike.
        logits = np.zeros((self._layout.rows, 1), np.float32)
        self._fit = MixtureFit(self._layout, [measured], logits)
        self._fit.run(
            PASSES, rng=self._rng, on_progress=lambda done: progress("fitting", done, PASSES)
        )

    def model(self) -> HPD:
        """The one component."""
        if self._fit is None:
            raise NothingLearntError("the method was stopped before it had learnt anything.")
        return HPD(layout=self._layout, probabilities=self._fit.probabilities)

    def findings(self) -> Mapping[str, Any]:
        """Nothing."""
        return {}

    def extra(self) -> Mapping[str, npt.NDArray[Any]]:
        """How numbers lie inside their bins, where that was bought."""
        if self._numbers is None:
            return {}
        shapes = fit_shapes(self.model(), self._curator.view, self._numbers, self._groups)
        return {SHARES: shapes.to_arrays()[SHARES]}
