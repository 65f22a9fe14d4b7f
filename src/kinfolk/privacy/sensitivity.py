"""How much the answers can change when one unit of privacy changes.

The neighbours are those of `privacy.unit`: one whole group more or less, one whole group replaced
by any other, or one person's attributes replaced in place while every size, role and own attribute
of a group stays. A group that cleaning drops adds nothing, which the bounds allow for: they are
sums of what one group, or an old and a new one, can add at most. All values are in counts, and
exact integers: the L2 sensitivity is kept as its square.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from kinfolk._typing import Ints
from kinfolk.privacy.contributions import Contribution, group_contribution, person_shares
from kinfolk.privacy.unit import Neighbours, Unit
from kinfolk.queries.workload import Marginal, Workload
from kinfolk.schema import Schema

WEIGHT_SCALE = 2520
"""Size weights are multiples of 1/2520, which holds 1/1 to 1/10 exactly."""


@dataclass(frozen=True, kw_only=True)
class Sensitivity:
    """The most that one unit's change moves a marginal's counts."""

    single: int
    """One query."""
    l1: int
    """The whole marginal, in the sum of absolute changes."""
    l2_squared: int
    """The whole marginal, in the sum of squared changes."""

    @property
    def l2(self) -> float:
        """The whole marginal, as a Euclidean distance."""
        return math.sqrt(self.l2_squared)


def marginal_sensitivity(
    schema: Schema,
    marginal: Marginal,
    neighbours: Neighbours,
    *,
    weights: Ints | None = None,
) -> Sensitivity:
    """The sensitivity of one marginal; `weights` is what a group of each size adds, (sizes + 1,).

    Guarantee: for every pair of `neighbours`, kept by cleaning or dropped, no query of the marginal
    changes by more than `single`, and the marginal as a whole by no more than `l1` and
    sqrt(`l2_squared`).

    >>> from kinfolk.datasets import load_schema
    >>> schema = load_schema("acs-rel")
    >>> married = Workload.of(schema, levels=["relation"]).marginals[0]
    >>> marginal_sensitivity(schema, married, Neighbours.REPLACE).single, married.relation
    (2, 'married_to')
    """
    found: list[Sensitivity] = []
    for composition in schema.compositions:
        weight = 1 if weights is None else int(weights[sum(composition)])
        changes = _changes(schema, marginal, neighbours, composition)
        found += [_scale(part, weight) for part in changes]
    return Sensitivity(
        single=max((part.single for part in found), default=0),
        l1=max((part.l1 for part in found), default=0),
        l2_squared=max((part.l2_squared for part in found), default=0),
    )


def total_sensitivity(parts: Iterable[Sensitivity]) -> Sensitivity:
    """Several marginals released together: the most that one unit moves all of them."""
    marginals = list(parts)
    return Sensitivity(
        single=max((part.single for part in marginals), default=0),
        l1=sum(part.l1 for part in marginals),
        l2_squared=sum(part.l2_squared for part in marginals),
    )


def paired_marginals(workload: Workload) -> list[tuple[int, int]]:
    """Which marginals ask the same of groups and of individuals: positions, the group's first.

    A number that is counted on its own, by bins or by cells, has no partner.
    """
    levels: dict[str, dict[object, int]] = {"group": {}, "individual": {}}
    for at, marginal in enumerate(workload.marginals):
        if marginal.level in levels and marginal.individual and not marginal.alone:
            asked = (marginal.group, marginal.individual, marginal.coarse)
            levels[marginal.level].setdefault(asked, at)
    individual = levels["individual"]
    return [(at, individual[asked]) for asked, at in levels["group"].items() if asked in individual]


def paired_sensitivities(
    workload: Workload, neighbours: Neighbours, *, weights: Ints | None = None
) -> dict[tuple[int, int], Sensitivity]:
    """The sensitivities of pairs that are released together, where that is less than their sum.

    Members who differ fill many cells of the group's marginal, and pile up in none of the
    individual's; members who are alike do the reverse. So no group moves both marginals as far as
    it could move either.

    Guarantee: for all `neighbours`, both marginals together change by no more than stated. One
    person's change in place can move both as far as it goes: no pairs there.
    """
    schema = workload.schema
    if weights is None:
        weights = np.ones((len(workload.marginals), schema.size_limit + 1), np.int64)
    known: dict[object, Sensitivity] = {}
    found: dict[tuple[int, int], Sensitivity] = {}
    for pair in paired_marginals(workload):
        marginals, rows = [workload.marginals[at] for at in pair], weights[list(pair)]
        if not moves_whole_groups(schema, marginals[0], neighbours.unit):
            continue
        cells = marginals[0].individual_cells
        key = (min(cells, schema.size_limit), rows.tobytes())
        if key not in known:
            whole = _of_whole_groups(neighbours)
            alone = [
                marginal_sensitivity(schema, marginal, whole, weights=row)
                for marginal, row in zip(marginals, rows, strict=True)
            ]
            squares = max(
                _paired_squares(size, cells, *rows[:, size].tolist()) for size in schema.sizes
            )
            known[key] = replace(total_sensitivity(alone), l2_squared=_turns(whole) * squares)
        found[pair] = known[key]
    return found


def _paired_squares(size: int, cells: int, group: int, individual: int) -> int:
    """The most that a group of a size can add to a pair with these weights, in squares.

    It fills some number of cells; the squares of its members' numbers are largest if all who need
    not be in another cell are in one.
    """
    return max(
        group**2 * filled + individual**2 * _piled(size, filled)
        for filled in range(1, min(size, cells) + 1)
    )


def _piled(size: int, filled: int) -> int:
    """The largest sum of squares of so many positive whole numbers that add up to the size."""
    return (size - filled + 1) ** 2 + filled - 1


def size_weights(schema: Schema, marginal: Marginal, unit: Unit, *, paired: bool = False) -> Ints:
    """What a group of each size adds, so that no size dominates: (sizes + 1,) integers.

    What a group adds is divided by how far a unit can move it in a group of its size, in units of
    1/2520 and rounded down. If the unit is the group, that makes 1/s for an individual marginal and
    1/sqrt(s) for a group marginal: every group then adds at most 1 to the marginal in L2, and
    replacing it moves the marginal by sqrt 2, instead of up to M times that. One that is `paired`
    leaves room for the other: a group adds at most 1 to both together.

    >>> from kinfolk.datasets import load_schema
    >>> workload = Workload.of(load_schema("acs-red"), k=1, attributes=["AGE"])
    >>> schema, (group, individual) = workload.schema, workload.marginals
    >>> size_weights(schema, individual, Unit.GROUP).tolist()
    [0, 2520, 1260, 840]
    >>> size_weights(schema, individual, Unit.INDIVIDUAL).tolist()
    [0, 2520, 2520, 2520]
    >>> [size_weights(schema, one, Unit.GROUP, paired=True).tolist() for one in (group, individual)]
    [[0, 1781, 1454, 1397], [0, 1781, 1028, 698]]
    """
    weights = np.zeros(schema.size_limit + 1, np.int64)
    exchange = Neighbours.REPLACE if unit is Unit.GROUP else Neighbours.IN_PLACE
    for size in schema.sizes:
        if paired:
            squares = _paired_shares(size, min(size, marginal.individual_cells))
            share = squares[0] if marginal.level == "group" else squares[1]
        else:
            compositions = [c for c in schema.compositions if sum(c) == size]
            changes = [
                part for c in compositions for part in _changes(schema, marginal, exchange, c)
            ]
            most = max((part.l2_squared for part in changes), default=0)
            # Whatever changes leaves one cell and enters another: 2 is the least. A size that adds
            # nothing gets the full weight.
            share = Fraction(2, most or 2)
        # floor(scale * sqrt(share)), in integers.
        weights[size] = math.isqrt(math.floor(WEIGHT_SCALE**2 * share))
    return weights


def _paired_shares(size: int, cells: int) -> tuple[Fraction, Fraction]:
    """The squared weights of a group's and an individual's marginal that are a pair.

    Both extremes move them by exactly one: all members alike, and members in as many cells as there
    are. What lies between moves them less, as the squares are convex in the number of cells.
    """
    if cells == 1:
        return Fraction(1, 2), Fraction(1, 2 * size**2)
    individual = Fraction(cells - 1, cells * size**2 - _piled(size, cells))
    return 1 - size**2 * individual, individual


def moves_whole_groups(schema: Schema, marginal: Marginal, unit: Unit) -> bool:
    """Whether a change of one unit can move all that a group adds to the marginal.

    So it is if the unit is the group, and if one of the marginal's group attributes is computed
    from the members, or a total of theirs is counted: with one of them, the whole group may change
    its place.
    """
    totalled = bool(marginal.total and marginal.individual)
    return unit is Unit.GROUP or totalled or _touches_derived(schema, marginal)


def _touches_derived(schema: Schema, marginal: Marginal) -> bool:
    """Whether a group attribute of the marginal is computed from the members."""
    attributes = list(schema.group_attributes.values())
    return any(p < len(attributes) and attributes[p].derived for p in marginal.group)


def _changes(
    schema: Schema, marginal: Marginal, neighbours: Neighbours, composition: tuple[int, ...]
) -> list[Sensitivity]:
    """What can differ in a marginal between neighbours, in a group of a composition."""
    if moves_whole_groups(schema, marginal, neighbours.unit):
        part: Contribution = group_contribution(schema, marginal, composition)
        turns = _turns(_of_whole_groups(neighbours))
        return [
            Sensitivity(single=part.single, l1=turns * part.l1, l2_squared=turns * part.l2_squared)
        ]
    return _in_place(schema, marginal, composition)


def _of_whole_groups(neighbours: Neighbours) -> Neighbours:
    """What a change amounts to where it moves all that a group adds.

    A member who changes in place takes the whole group out of one cell and into another.
    """
    return Neighbours.REPLACE if neighbours is Neighbours.IN_PLACE else neighbours


def _turns(neighbours: Neighbours) -> int:
    """How many groups' contributions differ between neighbours: one, or an old one and a new one.

    Both are non-negative, so the change is at most the larger of the two in any cell, and their sum
    (of absolutes, of squares) overall; two groups in different cells attain it.
    """
    return 1 if neighbours is Neighbours.ADD_REMOVE else 2


def _in_place(
    schema: Schema, marginal: Marginal, composition: tuple[int, ...]
) -> list[Sensitivity]:
    """One person's attributes by others, in a group that otherwise stays as it is."""
    if marginal.level != "relation":
        # The person leaves one cell and enters another; without individual attributes, neither.
        moved = 1 if marginal.individual_cells > 1 else 0
        return [Sensitivity(single=moved, l1=2 * moved, l2_squared=2 * moved)]
    found: list[Sensitivity] = []
    # Without attributes of their own, those who ask cannot be told apart by their values.
    asks = marginal.individual_cells > 1
    for share in person_shares(schema, marginal, composition):
        asked = share.asked if asks else 0
        l1 = (share.asked_l1 if asks else 0) + share.seen
        squares = (share.asked_l2_squared if asks else 0) + share.seen**2
        # Old and new values each fill a row (as somebody who asks) and a column (as a relative).
        # Row and column meet in one cell, and can reinforce each other for the old values or for
        # the new ones, but where they do for one they cancel for the other: 2ab once, not twice.
        l2_squared = 2 * squares + 2 * asked * share.seen
        found.append(Sensitivity(single=asked + share.seen, l1=2 * l1, l2_squared=l2_squared))
    return found


def _scale(part: Sensitivity, weight: int) -> Sensitivity:
    return Sensitivity(
        single=part.single * weight, l1=part.l1 * weight, l2_squared=part.l2_squared * weight**2
    )


def workload_sensitivities(
    workload: Workload, neighbours: Neighbours, *, weights: Ints | None = None
) -> list[Sensitivity]:
    """The sensitivity of every marginal; `weights` is (marginals, sizes + 1)."""
    known: dict[object, Sensitivity] = {}
    found: list[Sensitivity] = []
    for index, marginal in enumerate(workload.marginals):
        row = None if weights is None else weights[index]
        key = (_kind(workload.schema, marginal), None if row is None else row.tobytes())
        if key not in known:
            known[key] = marginal_sensitivity(workload.schema, marginal, neighbours, weights=row)
        found.append(known[key])
    return found


def workload_weights(workload: Workload, unit: Unit) -> Ints:
    """The size weights of every marginal: (marginals, sizes + 1) integers, 2520 for one.

    Sizes weigh differently where more is moved in a large group: where whole groups move, and in
    relations, as all of somebody's relatives have them for a relative.
    """
    schema = workload.schema
    paired = {at for pair in paired_marginals(workload) for at in pair}
    known: dict[object, Ints] = {}
    rows: list[Ints] = []
    for at, marginal in enumerate(workload.marginals):
        joint = at in paired and moves_whole_groups(schema, marginal, unit)
        kind = (_kind(schema, marginal), joint)
        if kind not in known:
            known[kind] = size_weights(schema, marginal, unit, paired=joint)
        rows.append(known[kind])
    return np.array(rows)


def _kind(schema: Schema, marginal: Marginal) -> tuple[object, ...]:
    """Everything about a marginal that its sensitivity depends on.

    A group fills no more cells than it has members, so beyond that the number of cells is all one;
    of those who ask for relatives it only matters whether they can differ. So there are few kinds,
    however large the workload is.
    """
    most = max(schema.size_limit, 2)
    asking = 2 if marginal.level == "relation" else most
    cells = (min(marginal.individual_cells, asking), min(marginal.relative_cells, most))
    totalled = (marginal.total, bool(marginal.individual))
    return (
        marginal.level,
        marginal.relation,
        *cells,
        *totalled,
        _touches_derived(schema, marginal),
    )
