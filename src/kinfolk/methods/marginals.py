"""Whole marginals, all bought at once: the default method.

A whole marginal costs hardly more than one of its cells, and every marginal that is bought makes
the others more certain, since the mixture must answer all of them. So the budget is spent on every
marginal of the workload, once, before any fitting; all that follows is post-processing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from kinfolk.data.shapes import SHARES, Shapes
from kinfolk.errors import KinfolkError
from kinfolk.methods.allocate import (
    BANDS,
    BY_BINS,
    FINELY,
    GROUP_ATTRIBUTES,
    ROLES,
    SIZES,
    TOTALS,
    noisy,
    not_bought,
    planned_purchases,
    steps_of,
    too_noisy,
)
from kinfolk.methods.calibrate import calibrated
from kinfolk.methods.compositions import likely_compositions
from kinfolk.methods.method import (
    NothingLearntError,
    Progress,
    Step,
    affordable,
    buy_groups,
    first_steps,
    nothing_left,
    silent,
)
from kinfolk.methods.mixture_fit import (
    Measured,
    MixtureFit,
    Table,
    Trial,
    choose_passes,
    joined,
)
from kinfolk.methods.number_shapes import fit_shapes
from kinfolk.methods.prior import (
    PRIOR_COMPONENTS,
    PRIOR_PASSES,
    SCALES,
    PriorPlan,
    PublicRates,
    Tilt,
    choose_plan,
    fit_public,
)
from kinfolk.methods.priority import comes_ahead
from kinfolk.methods.rake import Measures, Raked, fit_raking, with_means
from kinfolk.methods.refits import PASSES, Refits, Replicate, arrays_of, deal_batches
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout, Scheme
from kinfolk.models.raking import RAKING, Features
from kinfolk.privacy.accounting import Accounting
from kinfolk.privacy.curator import Curator, Measurement
from kinfolk.privacy.view import PublicView
from kinfolk.queries.added_marginals import (
    with_coarse,
    with_lower_orders,
    with_numbers,
    with_sizes,
    with_totals,
)
from kinfolk.queries.workload import Marginal, Workload


@dataclass(frozen=True, kw_only=True)
class Marginals:
    """The method's settings; none needs tuning.

    >>> Marginals().settings["components"]
    1000
    """

    components: int = 1000
    """K: how many product distributions are mixed, ..."""
    parts: int = 4
    """... in so many mixtures that are fitted apart. Together they follow less of the noise."""
    replicates: int = 8
    """Fits to made-up noise, from which the standard errors of answers are worked out; 0: none."""
    max_passes: int = 60
    """Passes over all marginals in one fit, at most."""
    scheme: Scheme | None = None
    """How many members share a slot; by default 1, 1, 1, 2, 2, 3, and one slot for a role."""

    def __post_init__(self) -> None:
        for name, least in (("components", 1), ("parts", 1), ("replicates", 0), ("max_passes", 1)):
            if getattr(self, name) < least:
                raise KinfolkError(f"{name} is {getattr(self, name)}. Use at least {least}.")
        if self.parts > self.components:
            raise KinfolkError(f"{self.components} components cannot make {self.parts} parts.")

    @property
    def name(self) -> str:
        """How `--method` calls it."""
        return "marginals"

    @property
    def settings(self) -> Mapping[str, Any]:
        """What it was told, for the certificate."""
        return asdict(self)

    @property
    def accounting(self) -> Accounting:
        """It measures and selects nothing, so the exact accounting for Gaussian noise holds."""
        return Accounting.GAUSSIAN

    @property
    def size_weighted(self) -> bool:
        """Weights make a whole group as cheap to protect as one member."""
        return True

    def check(self) -> None:
        """Nothing can be missing."""

    def asks(self, workload: Workload) -> Workload:
        """All orders are counted; which are bought depends on how many groups there are.

        Sizes are asked for in any case. Numbers are counted finely, too, and coarsely where they
        go together.
        """
        return with_totals(with_coarse(with_numbers(with_sizes(with_lower_orders(workload)))))

    def steps(self, view: PublicView) -> list[Step]:
        """What it will buy: the number of groups, whole marginals in portions, then numbers."""
        return steps_of(view, planned_purchases(view))

    def planned_noise(self, view: PublicView, workload: Workload) -> list[float | None]:
        """That of the marginals that are bought; of what follows, the largest of their level.

        What is too noisy to be bought has none.
        """
        asked = view.workload.marginals
        bought: dict[Marginal, float] = {}
        levels: dict[str, float] = {}
        for one in planned_purchases(view).values():
            sigma = one.sigma(view)
            for at in one.marginals:
                bought[asked[at]] = sigma
                if at < len(workload.marginals) and not comes_ahead(workload.schema, asked[at]):
                    levels[asked[at].level] = max(sigma, levels.get(asked[at].level, 0.0))
        missing = {asked[at] for at in not_bought(view)}
        return [
            bought.get(one, None if one.alone or one in missing else levels.get(one.level))
            for one in workload.marginals
        ]

    def start(self, curator: Curator, *, rng: np.random.Generator) -> MarginalsTraining:
        """Begin."""
        return MarginalsTraining(self, curator, rng)


def _tell(progress: Progress, before: int, total: int, done: int) -> None:
    progress("fitting", before + done, total)


def _tell_part(progress: Progress, number: int, parts: int, done: int, passes: int) -> None:
    progress("tilting", (number - 1) * passes + done, (parts - 1) * passes)


class MarginalsTraining:
    """The method at work: buy, fit, and fit again to made-up noise."""

    def __init__(
        self,
        settings: Marginals,
        curator: Curator,
        rng: np.random.Generator,
        *,
        public: PublicRates | None = None,
    ) -> None:
        self._settings, self._curator, self._rng = settings, curator, rng
        self._public, self._plan = public, PriorPlan()
        self._view = curator.view.knowing(informed=public is not None)
        self._layout = Layout.of(curator.workload.schema, scheme=settings.scheme)
        self._parts: list[Table] = []
        self._fit: MixtureFit | None = None
        self._replicates: list[Replicate] = []
        self._passes = 0
        self._numbers: Measurement | None = None
        self._totals: dict[int, npt.NDArray[np.float64]] = {}
        self._raked: Raked | None = None
        self._groups = 0

    def run(self, progress: Progress = silent) -> None:
        """Spend the budget, then learn from what it bought."""
        view = self._view
        settings, rng = self._settings, self._rng
        found = self._buy(progress)
        progress("preparing", 0, 1)
        dealt = deal_batches(self._layout, view, found, rng)
        narrow = likely_compositions(self._layout, [one.smoothed() for one in dealt], rng=rng)
        if narrow is not self._layout:
            self._layout = narrow
            dealt = deal_batches(narrow, view, found, rng)
        batches = [batch.smoothed() for batch in dealt]
        sizes = [
            len(part) for part in np.array_split(np.arange(settings.components), settings.parts)
        ]
        # What is tried out is fitted as all of it will be, and held against what was released.
        halves = [(one.smoothed(), other) for one, other in (b.split_noise(rng) for b in dealt)]
        progress("preparing", 1, 1)
        trial = choose_passes(
            self._layout,
            halves,
            components=sizes[0],
            most=settings.max_passes,
            rng=rng,
            on_progress=lambda done: progress("trying", done, settings.max_passes),
        )
        if self._public is None or not self._informed(batches, halves, trial, sizes, progress):
            self._fit_parts(batches, trial.passes, sizes, progress)
        measures = Measures.of(view, self._totals, Features.of(view.workload.schema))
        if measures.features.size:
            progress("raking", 0, 2)
            self._raked = self._rake(measures)
            progress("raking", 1, 2)
            if self._plan.use == "none":
                # A prior is tilted to the measurements anyway.
                every = np.concatenate(self._parts, axis=1)
                self._parts = [with_means(self._layout, batches, self._raked, every, view)]
                self._raked = self._rake(measures)
            progress("raking", 2, 2)
        self._repeat(dealt, trial.passes, sizes[0], measures, progress)

    def _rake(self, measures: Measures) -> Raked:
        model = self.model()
        return fit_raking(model, measures, shapes=self._shapes(model), rng=self._rng)

    def _fit_parts(
        self, batches: Sequence[Measured], passes: int, sizes: Sequence[int], progress: Progress
    ) -> None:
        """Fit several mixtures apart, and together if there is more to learn."""
        settings, rng = self._settings, self._rng
        total = settings.parts * passes
        for number, size in enumerate(sizes):
            self._fit = MixtureFit.random(self._layout, batches, components=size, rng=rng)
            tell = partial(_tell, progress, number * passes, total)
            self._fit.run(passes, rng=rng, on_progress=tell)
            self._parts.append(self._fit.probabilities)
        if settings.parts > 1 and passes == settings.max_passes:
            # There is more to learn than the parts could hold.
            together = joined(self._layout, batches, self._parts)
            together.run(
                passes, rng=rng, on_progress=lambda done: progress("fitting together", done, passes)
            )
            self._parts = [together.probabilities]
        every = np.concatenate(self._parts, axis=1)
        self._parts = [calibrated(self._layout, batches, every)]

    def model(self) -> HPD:
        """The mixture of the parts that are finished; before, the unfinished one."""
        parts = self._parts or ([] if self._fit is None else [self._fit.probabilities])
        if not parts:
            raise NothingLearntError("the method was stopped before it had learnt anything.")
        every = np.concatenate(parts, axis=1)
        return HPD(layout=replace(self._layout, kept=None), probabilities=every)

    def extra(self) -> Mapping[str, npt.NDArray[Any]]:
        """The replicates: models fitted to this one with made-up noise, as `refits` keeps them.

        And how numbers lie inside their bins, where that was bought.
        """
        found = dict(arrays_of(self._replicates))
        if self._passes:
            found[PASSES] = np.array([self._passes], np.int64)
        shapes = self._shapes(self.model())
        if shapes is not None:
            found[SHARES] = shapes.to_arrays()[SHARES]
        if self._raked is not None:
            found[RAKING] = self._raked.raking.to_array()
        return found

    def findings(self) -> Mapping[str, Any]:
        """What noise hides, or nearly so; how far public tables were of use, if there are any."""
        view = self._view.knowing(groups=self._groups)
        found: dict[str, Any] = {"too_noisy": list(too_noisy(view)), "noisy": noisy(view)}
        if self._public is not None:
            found["prior"] = self._plan.describe()
        return {name: one for name, one in found.items() if one}

    def _informed(
        self,
        batches: Sequence[Measured],
        halves: Sequence[tuple[Measured, Measured]],
        trial: Trial,
        sizes: Sequence[int],
        progress: Progress,
    ) -> bool:
        """Learn with what the public tables say, if that is better than without.

        In parts, as without, each with a mixture of its own of the public tables.
        """
        assert self._public is not None  # noqa: S101  (the caller has checked)
        settings, rng = self._settings, self._rng
        view = self._view
        known = deal_batches(self._layout, view, self._public.certain(view.weights), rng)
        fitted = partial(
            fit_public,
            self._layout,
            known,
            components=min(PRIOR_COMPONENTS, *sizes),
            passes=min(PRIOR_PASSES, settings.max_passes),
            rng=rng,
        )
        prior = fitted(on_progress=partial(progress, "reading public tables"))
        tries = len(SCALES) + settings.max_passes
        self._plan = choose_plan(
            self._layout,
            halves,
            prior,
            without=trial,
            most=settings.max_passes,
            rng=rng,
            on_progress=lambda done: progress("trying the prior", done, tries),
        )
        if self._plan.use == "none":
            return False

        for number, size in enumerate(sizes):
            if number:
                prior = fitted(on_progress=partial(_tell_part, progress, number, len(sizes)))
            fit = Tilt(self._layout, batches, prior, scale=self._plan.scale)
            self._parts.append(fit.run(self._plan, size, rng=rng))
        return True

    def _buy(self, progress: Progress) -> dict[int, npt.NDArray[np.float64]]:
        """For each marginal the noisy rates and precisions of its cells, (2, cells)."""
        curator = self._curator
        number = self._groups = buy_groups(curator)
        groups = planned_purchases(self._view.knowing(groups=number))
        cost = affordable(curator, {key: one.rho for key, one in groups.items()})
        if not set(cost) - {SIZES, ROLES, GROUP_ATTRIBUTES, BY_BINS, FINELY, TOTALS, BANDS}:
            raise nothing_left()
        found: dict[int, npt.NDArray[np.float64]] = {}
        for done, step in enumerate(cost, 1):
            one = groups[step]
            bought = curator.measure(one.marginals, rho=cost[step], step=step)
            progress("measuring", done, len(cost))
            if step == FINELY:
                self._numbers = bought
                continue
            rates = bought.values / number
            precision = np.full(len(rates), (number / bought.sigma) ** 2)
            cells = np.cumsum([curator.workload.marginals[at].cells for at in one.marginals])[:-1]
            parts = np.split(np.stack([rates, precision]), cells, axis=1)
            whole = self._totals if step in (TOTALS, BANDS) else found
            whole.update(zip(one.marginals, parts, strict=True))
        return found

    def _repeat(
        self,
        batches: Sequence[Measured],
        passes: int,
        components: int,
        measures: Measures,
        progress: Progress,
    ) -> None:
        """What would have been learnt, had this model been the truth: again with fresh noise.

        Without a prior, also where there is one: a tilt is wrong where the data is no tilt of the
        prior, which its own spread does not show. It was chosen for being no worse than this.
        """
        model, numbers = self.model(), self._numbers
        refits = Refits(
            view=self._view.knowing(groups=self._groups),
            layout=self._layout,
            groups_sigma=self._groups_sigma(),
            batches=batches,
            passes=passes,
            components=components,
            fine=() if numbers is None else numbers.marginals,
            fine_sigma=0.0 if numbers is None else numbers.sigma,
            measures=measures,
            means=None if self._raked is None else self._raked.means,
        )
        self._passes = passes
        shapes = self._shapes(model)
        for number in range(self._settings.replicates):
            self._replicates.append(refits.make(model, shapes, rng=self._rng))
            progress("repeating", number + 1, self._settings.replicates)

    def _shapes(self, model: HPD) -> Shapes | None:
        """How numbers lie inside their bins, where that was bought."""
        if self._numbers is None:
            return None
        return fit_shapes(model, self._view, self._numbers, self._groups)

    def _groups_sigma(self) -> float:
        """The noise of the number of groups; none where it is public."""
        view = self._view
        if not view.sells_groups:
            return 0.0
        (step,) = first_steps(view)
        return float(view.measure_groups(rho=step.rho).mechanism.describe()["sigma"])
