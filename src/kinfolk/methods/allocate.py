"""What the default method buys, and for how much of the budget: worked out from public things."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kinfolk.errors import KinfolkError
from kinfolk.methods.method import Step, first_steps
from kinfolk.methods.priority import BY_ITSELF, comes_ahead, priority
from kinfolk.privacy.mechanisms import Gaussian
from kinfolk.privacy.sensitivity import moves_whole_groups
from kinfolk.privacy.view import PublicView
from kinfolk.queries.added_marginals import is_roles, is_sizes, parts_of
from kinfolk.queries.workload import Marginal, order_of
from kinfolk.schema import Level, Schema

NOISIEST = 1.0
"""The largest noise on a cell, as a share of all groups, with which a marginal is worth buying: a
model learns from all of them together what one hides. Beyond it, marginals of fewer attributes
leave smaller errors."""
NOISY = 0.2
"""From this noise on a run says that the budget is small."""
ABOUT = {False: "groups and individuals", True: "relations"}
"""What sets of attributes are about, in words: those that are not about a relation, and those that
are."""
SIZES, ROLES = "sizes", "roles"
"""What the steps are called that buy how many groups there are of each size, and how many members
of each role."""
SIZE_NOISE = 0.0025
"""The noise on either that is aimed at, as a share of all groups: they come first, ..."""
LEAST_SHARE = Fraction(1, 100)
"""... for so much of the budget at least ..."""
MOST_SHARE = {SIZES: Fraction(10, 100), ROLES: Fraction(3, 100)}
"""... and at most; ..."""
TINY_SIZE_NOISE, TINY_SHARE = 0.015, Fraction(50, 100)
"""... but for sizes up to this share where their noise would be larger than that: with a budget so
tiny, little else can be learnt."""
BY_BINS, FINELY = "numbers 1 of 2", "numbers 2 of 2"
"""What the steps are called that buy every number on its own."""
NUMBER_SHARE, NUMBERS_SHARE = Fraction(3, 400), Fraction(6, 100)
"""Of the budget, for how many are in the bins of a number: for each, and for all at most. Their
means need it: the noise of all other marginals makes rare bins, the largest ones, too full."""
GROUP_ATTRIBUTES = "attributes of groups"
"""What the step is called that buys attributes of groups one by one, where there are public tables:
how frequent their categories are is what is left to learn."""
GROUP_SHARE, GROUPS_SHARE = Fraction(3, 400), Fraction(6, 100)
"""Of the budget, for each, and for all at most."""
TOTALS, BANDS = "totals 1 of 2", "totals 2 of 2"
"""What the steps are called that buy what groups have of amounts."""
TOTAL_SHARE, TOTALS_SHARE = Fraction(2, 100), Fraction(10, 100)
"""Of the budget, for how much all groups have of an amount: for each, and for all at most."""
TOTALS_NOISIEST = 0.01
"""The largest noise, as a share of all groups, with which either is worth buying."""
BANDS_SHARE = Fraction(3, 100)
"""Of the budget, for how a group's amount goes with what its members have together."""
CELLS_SHARE = Fraction(2, 100)
"""Of the budget, for where inside their bins numbers lie: all of them together."""
PORTION = 100_000
"""About so many cells are bought in one step, which can then be resumed from."""


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


def steps_of(view: PublicView, planned: Mapping[str, MeasurementGroup]) -> list[Step]:
    """The steps of a method that measures what is planned, after the number of groups."""
    return first_steps(view) + [
        Step(key=key, rho=one.rho, purchase=view.measure(one.marginals, rho=one.rho))
        for key, one in planned.items()
    ]


def allocate_budget(view: PublicView) -> dict[str, MeasurementGroup]:
    """What to buy, step by step: everything of the highest order with bearable noise; public.

    The levels share the budget by the weights that the workload gives them. Plain counts of groups
    are shares of a smaller total than counts of people, so they get more. What would be too noisy
    is left out, those sets of attributes first that have the most noise, as the budget for them
    goes to the others then; and sets of fewer attributes are bought that no longer follow.
    """
    if view.groups is None:
        raise KinfolkError("how much noise can be borne depends on how many groups there are.")
    rho = view.rho - sum((step.rho for step in first_steps(view)), Fraction(0))
    apart = _sizes(view) | _numbers(view) | _totals(view) | _group_attributes(view)
    rho -= sum((one.rho for one in apart.values()), Fraction(0))
    left_out: set[int] = set()
    while True:
        groups = _grouped(view, _needed(view, left_out), rho)
        noise = {one.marginals: one.sigma(view) for one in groups}
        noisy = {
            at: sigma
            for some, sigma in noise.items()
            if sigma / view.groups > NOISIEST
            for at in some
            if _may_be_left_out(view, at)
        }
        if not noisy:
            of = len(groups)
            return {f"marginals {at} of {of}": one for at, one in enumerate(groups, 1)}
        # All that is bought with this much noise: those of a priority, in several portions.
        left_out.update(at for at, sigma in noisy.items() if sigma > 0.999 * max(noisy.values()))


def planned_purchases(view: PublicView) -> dict[str, MeasurementGroup]:
    """All that is bought beside the number of groups, in order."""
    first = _sizes(view) | _group_attributes(view)
    return first | allocate_budget(view) | _numbers(view) | _totals(view)


def _on_their_own(view: PublicView) -> set[int]:
    """What is bought on its own: sizes, if that has a step, attributes of groups, and numbers."""
    apart = (_sizes(view) | _group_attributes(view)).values()
    numbers = (at for at, one in enumerate(view.workload.marginals) if one.alone)
    return {*numbers, *(at for one in apart for at in one.marginals)}


def is_own(schema: Schema, marginal: Marginal) -> bool:
    """Whether a marginal is about sizes or one number, measured on its own with little noise."""
    return (marginal.alone and not marginal.total) or is_sizes(schema, marginal)


def _sizes(view: PublicView) -> dict[str, MeasurementGroup]:
    """Sizes and roles, as precisely as it takes, if there are several."""
    schema = view.workload.schema
    if len(schema.sizes) == 1:
        return {}
    places = {
        SIZES if is_sizes(schema, one) else ROLES: at
        for at, one in reversed(list(enumerate(view.workload.marginals)))
        # Where no unit can change a size, sizes are public, and not worth a step of their own.
        if _whole(view, at)
        and (is_sizes(schema, one) or (is_roles(schema, one) and one.level is Level.INDIVIDUAL))
    }
    found = {}
    for key in sorted(places, reverse=True):
        at = places[key]
        share = min(max(_needed_share(view, at, SIZE_NOISE), LEAST_SHARE), MOST_SHARE[key])
        if key == SIZES:
            share = max(share, min(_needed_share(view, at, TINY_SIZE_NOISE), TINY_SHARE))
        rho = view.rho * share.limit_denominator(10**6)
        found[key] = MeasurementGroup(marginals=(at,), rho=rho)
    return found


def _needed_share(view: PublicView, marginal: int, noise: float) -> Fraction:
    """Of the budget, for a noise on a marginal's cells of this share of all groups."""
    aim = noise * (view.groups or 1) * int(view.weights[marginal].max())
    return Fraction(_squares(view, [marginal])) / Fraction(2 * aim**2) / view.rho


def not_bought(view: PublicView) -> frozenset[int]:
    """Sets of attributes that nothing bought tells, as they would be mostly noise; public.

    By position in the workload; of those that are the same, the first.
    """
    marginals = view.workload.marginals
    bought = {at for one in allocate_budget(view).values() for at in one.marginals}
    told = {part for at in bought for part in (marginals[at], *parts_of(marginals[at]))}
    return frozenset(at for at in _distinct(view) if marginals[at] not in told)


def too_noisy(view: PublicView) -> tuple[str, ...]:
    """What sets of attributes are about of which some are not bought; public."""
    related = {_related(view.workload.marginals[at]) for at in not_bought(view)}
    return tuple(name for kind, name in ABOUT.items() if kind in related)


def noisy(view: PublicView) -> dict[str, float]:
    """The largest noise on a cell of sets of attributes, where it is large; public.

    By what they are about, as a share of all groups.
    """
    marginals = view.workload.marginals
    found: dict[str, float] = {}
    for one in allocate_budget(view).values():
        share = one.sigma(view) / (view.groups or 1)
        if share > NOISY and any(order_of(marginals[at]) > 1 for at in one.marginals):
            name = ABOUT[_related(marginals[one.marginals[0]])]
            found[name] = max(share, found.get(name, 0.0))
    return found


def _group_attributes(view: PublicView) -> dict[str, MeasurementGroup]:
    """Where public tables say what goes together: how frequent each category of a group is.

    Numbers are bought by their bins anyway.
    """
    schema, marginals = view.workload.schema, view.workload.marginals
    numbers = {one.group for one in marginals if one.alone}
    own = tuple(
        at
        for at, one in enumerate(marginals)
        if one.level == Level.GROUP and order_of(one) == len(one.group) == 1
        if one.group not in numbers and not is_sizes(schema, one)
    )
    if not own or not view.informed:
        return {}
    share = min(GROUP_SHARE * len(own), GROUPS_SHARE)
    return {GROUP_ATTRIBUTES: MeasurementGroup(marginals=own, rho=view.rho * share)}


def _numbers(view: PublicView) -> dict[str, MeasurementGroup]:
    """Every number on its own: how many are in its bins, and where inside of these they lie."""
    marginals = view.workload.marginals
    bins, cells = (
        tuple(
            at
            for at, one in enumerate(marginals)
            if one.alone and not one.total and one.fine is fine
        )
        for fine in (False, True)
    )
    if not bins:
        return {}
    share = min(NUMBER_SHARE * len(bins), NUMBERS_SHARE)
    return {
        BY_BINS: MeasurementGroup(marginals=bins, rho=view.rho * share),
        FINELY: MeasurementGroup(marginals=cells, rho=view.rho * CELLS_SHARE),
    }


def _totals(view: PublicView) -> dict[str, MeasurementGroup]:
    """What groups have of every amount, and how two amounts go together."""
    marginals = view.workload.marginals
    sums, bands = (
        tuple(at for at, one in enumerate(marginals) if one.total == kind)
        for kind in ("sum", "bands")
    )
    found = {}
    if sums:
        share = min(TOTAL_SHARE * len(sums), TOTALS_SHARE)
        found[TOTALS] = MeasurementGroup(marginals=sums, rho=view.rho * share)
    if bands:
        found[BANDS] = MeasurementGroup(marginals=bands, rho=view.rho * BANDS_SHARE)
    most = TOTALS_NOISIEST * (view.groups or 1)
    return {key: one for key, one in found.items() if one.sigma(view) <= most}


def _whole(view: PublicView, marginal: int) -> bool:
    """Whether the unit can move whole groups in a marginal, which are then weighted by size."""
    return moves_whole_groups(view.workload.schema, view.workload.marginals[marginal], view.unit)


def _squares(view: PublicView, marginals: Sequence[int]) -> int:
    """By how much these marginals are charged together: the squared L2 sensitivity."""
    return view.sensitivities.joint(marginals).l2_squared


def _related(marginal: Marginal) -> bool:
    """Whether a marginal is about a relation; such marginals are bought apart from others."""
    return marginal.level == "relation"


def _needed(view: PublicView, left_out: Collection[int]) -> list[int]:
    """Marginals of as many attributes as may be, but none that follows from others by adding up.

    What makes a household is bought at any budget, and then no reason to leave out its parts.
    """
    marginals = view.workload.marginals
    order = sorted(_distinct(view), key=lambda at: -order_of(marginals[at]))
    most: dict[bool, int] = {}
    for at in reversed(order):
        if at not in left_out and _may_be_left_out(view, at):
            most[_related(marginals[at])] = order_of(marginals[at])
    chosen: list[int] = []
    covered: set[Marginal] = set()
    for at in order:
        one = marginals[at]
        if at not in left_out and one not in covered:
            chosen.append(at)
            if order_of(one) <= most.get(_related(one), 1):
                covered.update(parts_of(one))
    return sorted(chosen)


def _may_be_left_out(view: PublicView, at: int) -> bool:
    """Whether a set of attributes is bought only where its noise is bearable.

    Single attributes and what makes a household are bought at any budget; but not how amounts go
    together.
    """
    one = view.workload.marginals[at]
    ahead = comes_ahead(view.workload.schema, one) and (_related(one) or not one.coarse)
    return order_of(one) > 1 and not ahead


def _distinct(view: PublicView) -> list[int]:
    """The marginals that differ: weighted, group attributes alone are the same at either level."""
    kept: dict[object, int] = {}
    own = _on_their_own(view)
    for at, marginal in enumerate(view.workload.marginals):
        if at in own:
            continue
        alone = not marginal.individual and not marginal.relative
        level = "either" if alone and _whole(view, at) else (marginal.level, marginal.relation)
        about = (marginal.group, marginal.individual, marginal.relative, marginal.coarse)
        kept.setdefault((level, *about), at)
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
    shares = _shares(view, chosen)
    total = dict.fromkeys(first, Fraction(0))
    for at, level in zip(chosen, levels, strict=True):
        total[level] += shares[at]
    alike: dict[tuple[str, Fraction], list[int]] = {}
    for at, level in zip(chosen, levels, strict=True):
        bought = "both" if _whole(view, at) and not _related(marginals[at]) else level
        alike.setdefault((bought, shares[at]), []).append(at)
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


def _shares(view: PublicView, chosen: Sequence[int]) -> dict[int, Fraction]:
    """How much of the budget of its level each marginal gets, beside the others.

    Single attributes are bought where nothing of more attributes tells them: they are few, and get
    more of it.
    """
    schema, marginals = view.workload.schema, view.workload.marginals
    single = {
        at
        for at in chosen
        if order_of(marginals[at]) == 1 and not comes_ahead(schema, marginals[at])
    }
    return {
        at: priority(schema, marginals[at]) * (BY_ITSELF if at in single else 1) for at in chosen
    }


def _sets(view: PublicView, chosen: Sequence[int]) -> list[tuple[int, ...]]:
    """The marginals by what they are about: pairs stay together."""
    found: dict[object, list[int]] = {}
    for at in chosen:
        marginal = view.workload.marginals[at]
        named = (marginal.group, marginal.individual, marginal.relative)
        found.setdefault((marginal.relation, *named, marginal.coarse), []).append(at)
    return [tuple(one) for one in found.values()]


def _pressure(view: PublicView, marginal: Marginal) -> Fraction:
    """How much of the budget a marginal's level asks for, beside the others.

    The sum of errors as shares is least if budgets go by the two-thirds power of what one count is
    worth.
    """
    worth = 1.0
    # How many people there are is known to `plan`, and to a run only where it is public.
    if view.groups and view.people and not view.sells_people and marginal.level != "group":
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
