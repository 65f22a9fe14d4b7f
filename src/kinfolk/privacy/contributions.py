"""How much one group can add to a marginal, and how much of that hangs on one person.

Everything is in integers: the square of a Euclidean norm of counts is a whole number, so no bound
here is subject to rounding. Groups are looked at by composition (how many members of each role), of
which there are few; attribute values are free, so that a group of a composition can fill cells in
any way its number of members allows.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np

from kinfolk._typing import Ints
from kinfolk.queries.workload import Marginal, Tie, ties
from kinfolk.schema import Schema


@dataclass(frozen=True, kw_only=True)
class Contribution:
    """The largest contributions to a marginal, each attained by some group on its own."""

    single: int
    """To one cell."""
    l1: int
    """To all cells together: the sum."""
    l2_squared: int
    """To all cells together: the sum of squares."""


def group_contribution(
    schema: Schema, marginal: Marginal, composition: Sequence[int]
) -> Contribution:
    """What a whole group of a composition can add."""
    size = sum(composition)
    if marginal.total:
        # At most one cap, or one cell of all.
        return Contribution(single=1, l1=1, l2_squared=1)
    if marginal.level == "individual":
        # Everybody may fall into the same cell.
        return Contribution(single=size, l1=size, l2_squared=size * size)
    if marginal.level == "group":
        filled = min(size, marginal.individual_cells)
        return Contribution(single=1, l1=filled, l2_squared=filled)
    assert marginal.relation is not None  # noqa: S101  (the relation level always names one)
    # A group has no more labels than members, so beyond that the number of cells is all one.
    cells = min(marginal.relative_cells, size)
    return _relation_total(ties(schema, marginal.relation), tuple(composition), cells)


@cache
def _relation_total(
    relation: tuple[Tie, ...], composition: tuple[int, ...], cells: int
) -> Contribution:
    """What the people of a group add, by whom they have as relatives.

    Everybody asking has the same values, which is the worst case: contributions then pile up. What
    remains to choose is which relatives share their values, that is, wear the same label.
    """
    asking = [(who, whom) for who, whom in relation if composition[who]]
    alone = {who for who, whom in asking if who in whom}
    # Roles that are relatives in the same ties are one kind, unless its members ask one another.
    kinds: dict[object, list[int]] = {}
    for role, number in enumerate(composition):
        part = tuple(role in whom for _, whom in asking)
        if number and any(part):
            kinds.setdefault((part, role if role in alone else None), []).append(role)
    held = list(kinds.values())
    ties = tuple(
        (
            composition[who],
            tuple(kind for kind, roles in enumerate(held) if roles[0] in whom),
            next((kind for kind, roles in enumerate(held) if who in roles and who in whom), None),
        )
        for who, whom in asking
    )
    most = _most_seen(ties, tuple(sum(composition[role] for role in roles) for roles in held))
    return most[min(cells, len(most) - 1)]


KindTie: TypeAlias = tuple[int, tuple[int, ...], int | None]
"""How many ask, of which kinds their relatives are, and which of these they are themselves."""


@cache
def _most_seen(ties: tuple[KindTie, ...], numbers: tuple[int, ...]) -> tuple[Contribution, ...]:
    """The most that can be seen with 0, 1, 2, ... labels, worn by so many of each kind.

    One wearer of a kind is seen like several, but for those who look for others of their own kind:
    nobody is their own relative, so the only wearer of a label does not see it; two do.
    """
    own = {kind for _, _, kind in ties}
    worn = [range(min(number, 2 if kind in own else 1) + 1) for kind, number in enumerate(numbers)]
    values = {
        wearers: seen for wearers in itertools.product(*worn) if (seen := _seen(ties, wearers))
    }
    single = _seen(ties, tuple(min(number, 2) for number in numbers))
    # best[0] for the sum, best[1] for the squares, by how many of each kind are there to wear it.
    best: Ints = np.zeros((2, *(number + 1 for number in numbers)), np.int64)
    found = [Contribution(single=single, l1=0, l2_squared=0)]
    for _ in range(sum(numbers)):
        more = best.copy()
        for wearers, value in values.items():
            after = (slice(None), *(slice(number, None) for number in wearers))
            before = (
                slice(None),
                *(slice(0, n + 1 - number) for n, number in zip(numbers, wearers, strict=True)),
            )
            for row, gain in enumerate((value, value**2)):
                place = more[after][row]
                np.maximum(place, best[before][row] + gain, out=place)
        best = more
        l1, squares = (int(best[row].flat[-1]) for row in range(2))
        found.append(Contribution(single=single, l1=l1, l2_squared=squares))
    return tuple(found)


def _seen(ties: tuple[KindTie, ...], wearers: tuple[int, ...]) -> int:
    """How many people see a label that is worn by so many of each kind (one, or several)."""
    total = 0
    for asking, relatives, own in ties:
        number = sum(wearers[kind] for kind in relatives)
        if number:
            total += asking - (number == 1 and own is not None and wearers[own] == 1)
    return total


@dataclass(frozen=True, kw_only=True)
class Share:
    """What hangs on one person of a role: as somebody who asks, and as somebody's relative."""

    asked: int
    """How many of the person's ties hold a relative: the most to add to one cell."""
    asked_l1: int
    asked_l2_squared: int
    """What the person adds for their own relatives, over all cells."""
    seen: int
    """How many others (by tie) have the person as a relative."""


def person_shares(schema: Schema, marginal: Marginal, composition: Sequence[int]) -> list[Share]:
    """One share per role that is present, for a relation marginal."""
    assert marginal.relation is not None  # noqa: S101  (the relation level always names one)
    relation = ties(schema, marginal.relation)
    shares: list[Share] = []
    for role, number in enumerate(composition):
        if number == 0:
            continue
        others = [count - (index == role) for index, count in enumerate(composition)]
        own = [sum(others[r] for r in whom) for who, whom in relation if who == role]
        own = [relatives for relatives in own if relatives]
        # One tie sees each label once; several ties pile up where their relatives look alike.
        distinct = sum(min(relatives, marginal.relative_cells) for relatives in own)
        shares.append(
            Share(
                asked=len(own),
                asked_l1=distinct,
                asked_l2_squared=_overlap(own, marginal.relative_cells),
                seen=sum(others[who] for who, whom in relation if role in whom),
            )
        )
    return shares


def _overlap(relatives: list[int], cells: int) -> int:
    """The largest sum of squares of several ties' labels: as many as possible share theirs.

    Ties see min(relatives, cells) distinct labels each; nested label sets are the worst case.
    """
    numbers = sorted((min(number, cells) for number in relatives), reverse=True)
    depth = [sum(number > level for number in numbers) for level in range(max(numbers, default=0))]
    return sum(number**2 for number in depth)
