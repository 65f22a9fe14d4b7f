"""Whole marginals, all bought at once: the default method.

A whole marginal costs hardly more than one of its cells, and every marginal that is bought makes
the others more certain, since the mixture must answer all of them. So the budget is spent on every
marginal of the workload, once, before any fitting; all that follows is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from kinfolk.data.shapes import SHARES
from kinfolk.errors import KinfolkError
from kinfolk.methods.method import (
    NothingLearntError,
    Progress,
    Step,
    affordable,
    buy_groups,
    first_steps,
    silent,
)
from kinfolk.methods.mixture_fit import (
    BATCHES,
    TOGETHER,
    Measured,
    MixtureFit,
    Table,
    choose_passes,
    joined,
)
from kinfolk.methods.number_shapes import fit_shapes
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout, Scheme
from kinfolk.models.mixture.factors import Factors
from kinfolk.models.mixture.prepared import Prepared
from kinfolk.privacy.accounting import Accounting
from kinfolk.privacy.curator import Curator, Measurement
from kinfolk.privacy.mechanisms import Gaussian
from kinfolk.privacy.sensitivity import moves_whole_groups
from kinfolk.privacy.view import PublicView
from kinfolk.queries.impossible import impossible_cells
from kinfolk.queries.workload import (
    Marginal,
    Workload,
    order_of,
    parts_of,
    with_lower_orders,
    with_numbers,
    with_sizes,
)
from kinfolk.schema import Schema

REPLICATES = "replicates"
"""Under this name a release keeps models fitted again to made-up noise, (replicates, rows, K)."""
NOISIEST = 0.2
"""The largest noise on a cell, as a share of all groups, with which a marginal is worth buying:
beyond it, marginals of fewer attributes leave smaller errors."""
IN_COMMON = 24
"""How many times the budget of others goes to the same attribute of two relatives,"""
OF_ROLES = 6
"""and to what members of each role are like. There are few such marginals, so that little is taken
from the rest, and all others are the better for a head that is a head."""
BY_BINS, FINELY = "numbers 1 of 2", "numbers 2 of 2"
"""What the steps are called that buy every number on its own."""
NUMBER_SHARE, NUMBERS_SHARE = Fraction(1, 100), Fraction(8, 100)
"""Of the budget, for how many are in the bins of a number: for each, and for all at most. Their
means need it: the noise of all other marginals makes rare bins, the largest ones, too full."""
CELLS_SHARE = Fraction(2, 100)
"""Of the budget, for where inside their bins numbers lie: all of them together."""
PORTION = 100_000
"""About so many cells are bought in one step, which can then be resumed from."""


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

        Marginals that are weighted by size do not tell sizes, so these are asked for if nothing
        else does. Numbers are counted finely, too.
        """
        return with_numbers(with_lower_orders(with_sizes(workload)))

    def steps(self, view: PublicView) -> list[Step]:
        """What it will buy: the number of groups, whole marginals in portions, then numbers."""
        return first_steps(view) + [
            Step(key=key, rho=one.rho, purchase=view.measure(one.marginals, rho=one.rho))
            for key, one in planned_purchases(view).items()
        ]

    def planned_noise(self, view: PublicView, workload: Workload) -> list[float | None]:
        """That of the marginals that are bought; of others, the largest of their level."""
        asked = view.workload.marginals
        bought: dict[Marginal, float] = {}
        levels: dict[str, float] = {}
        for one in planned_purchases(view).values():
            sigma = one.sigma(view)
            for at in one.marginals:
                bought[asked[at]] = sigma
                if at < len(workload.marginals) and not asked[at].alone:
                    levels[asked[at].level] = max(sigma, levels.get(asked[at].level, 0.0))
        return [bought.get(one, levels.get(one.level)) for one in workload.marginals]

    def start(self, curator: Curator, *, rng: np.random.Generator) -> MarginalsTraining:
        """Begin."""
        return MarginalsTraining(self, curator, rng)


@dataclass(frozen=True, kw_only=True)
class MeasurementGroup:
    """Marginals that are bought together, with one noise."""

    marginals: tuple[int, ...]
    """By position in the workload."""
    rho: Fraction
    """What they may cost together."""

    def sigma(self, view: PublicView) -> float:
        """The standard deviation of the noise on a cell, in groups or people."""
        unit = int(view.weights[list(self.marginals)].max(axis=1).min())
        squares = _squares(view, self.marginals)
        noise = Gaussian.for_rho(self.rho, squared_sensitivity=squares, accounting=view.accounting)
        return noise.sigma / unit


def allocate_budget(view: PublicView) -> dict[str, MeasurementGroup]:
    """What to buy, step by step: everything of the highest order with bearable noise; public.

    The levels share the budget by the weights that the workload gives them. Plain counts of groups
    are shares of a smaller total than counts of people, so they get more. Relations, of which there
    are many, may have to do with fewer attributes than the rest.
    """
    if view.groups is None:
        raise KinfolkError("how much noise can be borne depends on how many groups there are.")
    rho = view.rho - sum((step.rho for step in first_steps(view)), Fraction(0))
    marginals = view.workload.marginals
    rho -= sum((one.rho for one in _numbers(view).values()), Fraction(0))
    orders: dict[bool, set[int]] = {}
    for marginal in marginals:
        if not marginal.alone:
            orders.setdefault(_related(marginal), set()).add(order_of(marginal))
    most = {kind: max(found) for kind, found in orders.items()}
    while True:
        groups = _grouped(view, _needed(view, most), rho)
        noisy = {
            _related(marginals[one.marginals[0]])
            for one in groups
            if one.sigma(view) / view.groups > NOISIEST
        }
        fewer = {kind: most[kind] - 1 for kind in noisy if most[kind] > min(orders[kind])}
        if not fewer:
            of = len(groups)
            return {f"marginals {at} of {of}": one for at, one in enumerate(groups, 1)}
        most |= fewer


def planned_purchases(view: PublicView) -> dict[str, MeasurementGroup]:
    """All that is bought beside the number of groups, step by step: marginals, then numbers."""
    return allocate_budget(view) | _numbers(view)


def _numbers(view: PublicView) -> dict[str, MeasurementGroup]:
    """Every number on its own: how many are in its bins, and where inside of these they lie."""
    marginals = view.workload.marginals
    bins, cells = (
        tuple(at for at, one in enumerate(marginals) if one.alone and one.fine is fine)
        for fine in (False, True)
    )
    if not bins:
        return {}
    share = min(NUMBER_SHARE * len(bins), NUMBERS_SHARE)
    return {
        BY_BINS: MeasurementGroup(marginals=bins, rho=view.rho * share),
        FINELY: MeasurementGroup(marginals=cells, rho=view.rho * CELLS_SHARE),
    }


def _whole(view: PublicView, marginal: int) -> bool:
    """Whether the unit can move whole groups in a marginal, which are then weighted by size."""
    return moves_whole_groups(view.workload.schema, view.workload.marginals[marginal], view.unit)


def _squares(view: PublicView, marginals: Sequence[int]) -> int:
    """By how much these marginals are charged together: the squared L2 sensitivity."""
    return view.sensitivities.joint(marginals).l2_squared


def _related(marginal: Marginal) -> bool:
    """Whether a marginal is about a relation; such marginals are bought apart from others."""
    return marginal.level == "relation"


def _needed(view: PublicView, most: Mapping[bool, int]) -> list[int]:
    """Marginals of at most so many attributes, but none that follows from others by adding up."""
    marginals = view.workload.marginals
    chosen: list[int] = []
    covered: set[Marginal] = set()
    for at in sorted(_distinct(view), key=lambda at: -order_of(marginals[at])):
        if (
            order_of(marginals[at]) <= most[_related(marginals[at])]
            and marginals[at] not in covered
        ):
            chosen.append(at)
            covered.update(parts_of(marginals[at]))
    return sorted(chosen)


def _distinct(view: PublicView) -> list[int]:
    """The marginals that differ: weighted, group attributes alone are the same at either level."""
    kept: dict[object, int] = {}
    for at, marginal in enumerate(view.workload.marginals):
        if marginal.alone:
            continue
        alone = not marginal.individual and not marginal.relative
        level = "either" if alone and _whole(view, at) else (marginal.level, marginal.relation)
        kept.setdefault((level, marginal.group, marginal.individual, marginal.relative), at)
    return sorted(kept.values())


def _grouped(view: PublicView, chosen: Sequence[int], rho: Fraction) -> list[MeasurementGroup]:
    """What is bought with one noise, in portions that are bought one by one.

    The marginals of a level share its budget by their priorities. Where whole groups can move, what
    is asked of groups and of people is cheaper together, so it is bought together, for the budgets
    of both.
    """
    marginals = view.workload.marginals
    levels = [marginals[at].level for at in chosen]
    first = dict(zip(reversed(levels), reversed(chosen), strict=True))
    pressure = {level: _pressure(view, marginals[at]) for level, at in first.items()}
    priority = {at: Fraction(_priority(view.workload.schema, marginals[at])) for at in chosen}
    total = dict.fromkeys(first, Fraction(0))
    for at, level in zip(chosen, levels, strict=True):
        total[level] += priority[at]
    alike: dict[tuple[str, Fraction], list[int]] = {}
    for at, level in zip(chosen, levels, strict=True):
        bought = "both" if _whole(view, at) and not _related(marginals[at]) else level
        alike.setdefault((bought, priority[at]), []).append(at)
    found: list[MeasurementGroup] = []
    for (_, often), own in alike.items():
        each = [pressure[marginals[at].level] * often / total[marginals[at].level] for at in own]
        share = sum(each, Fraction(0)) / sum(pressure.values())
        portions = _portions(_sets(view, own), [marginal.cells for marginal in marginals])
        squares = [_squares(view, portion) for portion in portions]
        found += [
            MeasurementGroup(marginals=portion, rho=rho * share * Fraction(square, sum(squares)))
            for portion, square in zip(portions, squares, strict=True)
        ]
    return found


def _priority(schema: Schema, marginal: Marginal) -> int:
    """How much more of the budget a marginal gets than others of its level; public.

    Who is who, and what relatives have in common, makes a household: with the noise of all the
    other marginals little of it would be left.
    """
    if marginal.relation is not None:
        return IN_COMMON if marginal.individual == marginal.relative else 1
    return OF_ROLES if len(schema.individual_attributes) in marginal.individual else 1


def _sets(view: PublicView, chosen: Sequence[int]) -> list[tuple[int, ...]]:
    """The marginals by what they are about: pairs stay together."""
    found: dict[object, list[int]] = {}
    for at in chosen:
        marginal = view.workload.marginals[at]
        about = (marginal.relation, marginal.group, marginal.individual, marginal.relative)
        found.setdefault(about, []).append(at)
    return [tuple(one) for one in found.values()]


def _pressure(view: PublicView, marginal: Marginal) -> Fraction:
    """How much of the budget a marginal's level asks for, beside the others.

    The sum of errors as shares is least if budgets go by the two-thirds power of what one count is
    worth.
    """
    worth = 1.0
    if view.groups is not None and view.people is not None and marginal.level != "group":
        worth = view.groups / view.people
    return Fraction(marginal.weight * worth ** (2 / 3)).limit_denominator(10**6)


def _portions(sets: Sequence[tuple[int, ...]], cells: Sequence[int]) -> list[tuple[int, ...]]:
    """Sets of marginals in portions of about as many cells each."""
    ends = np.cumsum([sum(cells[at] for at in one) for one in sets])
    count = max(1, round(int(ends[-1]) / PORTION))
    found: list[list[int]] = [[] for _ in range(count)]
    for one, end in zip(sets, ends / ends[-1] * count, strict=True):
        found[min(count - 1, math.ceil(end) - 1)] += one
    return [tuple(portion) for portion in found if portion]


def _tell(progress: Progress, before: int, total: int, done: int) -> None:
    progress("fitting", before + done, total)


class MarginalsTraining:
    """The method at work: buy, fit, and fit again to made-up noise."""

    def __init__(self, settings: Marginals, curator: Curator, rng: np.random.Generator) -> None:
        self._settings, self._curator, self._rng = settings, curator, rng
        self._layout = Layout.of(curator.workload.schema, scheme=settings.scheme)
        self._parts: list[Table] = []
        self._fit: MixtureFit | None = None
        self._replicates: list[Table] = []
        self._numbers: Measurement | None = None
        self._groups = 0

    def run(self, progress: Progress = silent) -> None:
        """Spend the budget, then learn from what it bought."""
        batches = self._batches(*self._buy(progress))
        settings, rng = self._settings, self._rng
        sizes = [
            len(part) for part in np.array_split(np.arange(settings.components), settings.parts)
        ]
        passes = choose_passes(
            self._layout,
            batches,
            components=sizes[0],
            most=settings.max_passes,
            rng=rng,
            on_progress=lambda done: progress("trying", done, settings.max_passes),
        )
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
        self._repeat(batches, passes, sizes[0], progress)

    def model(self) -> HPD:
        """The mixture of the parts that are finished; before, the unfinished one."""
        parts = self._parts or ([] if self._fit is None else [self._fit.probabilities])
        if not parts:
            raise NothingLearntError("the method was stopped before it had learnt anything.")
        return HPD(layout=self._layout, probabilities=np.concatenate(parts, axis=1))

    def extra(self) -> Mapping[str, npt.NDArray[Any]]:
        """The replicates, (replicates, rows, K): models fitted to this one with made-up noise.

        And how numbers lie inside their bins, where that was bought.
        """
        found: dict[str, npt.NDArray[Any]] = {}
        if self._replicates:
            found[REPLICATES] = np.stack(self._replicates)
        if self._numbers is not None:
            shapes = fit_shapes(self.model(), self._curator.view, self._numbers, self._groups)
            found[SHARES] = shapes.to_arrays()[SHARES]
        return found

    def _buy(self, progress: Progress) -> tuple[list[int], list[npt.NDArray[np.float64]]]:
        """Marginals, and for each the noisy rates and precisions of its cells, (2, cells)."""
        curator = self._curator
        number = self._groups = buy_groups(curator)
        groups = planned_purchases(curator.view.knowing(groups=number))
        cost = affordable(curator, {key: one.rho for key, one in groups.items()})
        marginals: list[int] = []
        found: list[npt.NDArray[np.float64]] = []
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
            marginals += one.marginals
            found += np.split(np.stack([rates, precision]), cells, axis=1)
        return marginals, found

    def _batches(
        self, marginals: Sequence[int], found: Sequence[npt.NDArray[np.float64]]
    ) -> list[Measured]:
        """The marginals in random batches, each with its share of every level."""
        curator = self._curator
        factors = Factors(self._layout)
        values = dict(zip(marginals, found, strict=True))
        levels = [curator.workload.marginals[at].level for at in marginals]
        dealt = [
            at
            for level in dict.fromkeys(levels)
            for at in self._rng.permutation(
                [b for b, own in zip(marginals, levels, strict=True) if own == level]
            )
        ]
        batches = []
        parts = min(BATCHES, max(1, len(dealt) // TOGETHER))
        for first in range(parts):
            own = sorted(int(at) for at in dealt[first::parts])
            rates, precision = np.concatenate([values[at] for at in own], axis=1)
            prepared = Prepared.of(
                self._layout,
                curator.workload,
                weights=curator.weights,
                marginals=own,
                factors=factors,
            )
            batches.append(
                Measured(
                    prepared=prepared,
                    rates=rates,
                    precision=precision,
                    impossible=self._impossible(own),
                )
            )
        return batches

    def _impossible(self, marginals: Sequence[int]) -> npt.NDArray[np.bool_]:
        """(cells,) which cells of some marginals, laid end to end, the rules leave empty."""
        workload = self._curator.workload
        own = [impossible_cells(workload.schema, workload.marginals[at]) for at in marginals]
        return np.concatenate(own)

    def _repeat(
        self, batches: Sequence[Measured], passes: int, components: int, progress: Progress
    ) -> None:
        """What would have been learnt, had this model been the truth: again with fresh noise."""
        truth = self.model().probabilities
        for number in range(self._settings.replicates):
            again = [batch.parametric_bootstrap(truth, self._rng) for batch in batches]
            fit = MixtureFit.random(self._layout, again, components=components, rng=self._rng)
            fit.run(passes, rng=self._rng)
            self._replicates.append(fit.probabilities)
            progress("repeating", number + 1, self._settings.replicates)
