"""What the default method buys, and for how much of the budget: worked out from public things."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kinfolk.errors import KinfolkError
from kinfolk.methods.method import Step, first_steps
from kinfolk.privacy.mechanisms import Gaussian
from kinfolk.privacy.sensitivity import moves_whole_groups
from kinfolk.privacy.view import PublicView
from kinfolk.queries.added_marginals import coarse_marginal, parts_of
from kinfolk.queries.workload import Marginal, order_of
from kinfolk.schema import Schema

NOISIEST = 0.2
"""The largest noise on a cell, as a share of all groups, with which a marginal is worth buying:
beyond it, marginals of fewer attributes leave smaller errors."""
IN_COMMON = 40
"""How many times the budget of others goes to the same attribute of two relatives (of numbers with
many bins, to their large bins;"""
IN_DETAIL = 4
"""to the bins themselves so many times),"""
AMOUNTS = 6
"""to large bins of a number of the group with one of its members,"""
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
    shares = {at: Fraction(priority(view.workload.schema, marginals[at])) for at in chosen}
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


def priority(schema: Schema, marginal: Marginal) -> int:
    """How much more of the budget a marginal gets than others of its level; public.

    Who is who, what relatives have in common, and what members have of what the group has, makes a
    household: with the noise of all the other marginals little of it would be left.
    """
    if marginal.relation is not None:
        if marginal.individual != marginal.relative:
            return 1
        detailed = not marginal.coarse and coarse_marginal(schema, marginal) is not None
        return IN_DETAIL if detailed else IN_COMMON
    if marginal.coarse:
        return AMOUNTS
    return OF_ROLES if len(schema.individual_attributes) in marginal.individual else 1


def comes_ahead(schema: Schema, marginal: Marginal) -> bool:
    """Whether a marginal is learnt before others: it is known better, or a number's own."""
    return marginal.alone or priority(schema, marginal) > IN_DETAIL


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
