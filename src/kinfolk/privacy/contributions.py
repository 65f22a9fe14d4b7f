"""How much one group can add to a marginal, and how much of that hangs on one person.

Everything is in integers: the square of a Euclidean norm of counts is a whole number, so no bound
here is subject to rounding. Groups are looked at by composition (how many members of each role), of
which there are few; attribute values are free, so that a group of a composition can fill cells in
any way its number of members allows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

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
    remains to choose is which relatives share their values. `seen(label)` is how many people see a
    label that is worn by so many members of each role (one, or several).
    """

    def seen(wearers: tuple[int, ...]) -> int:
        total = 0
        for who, whom in relation:
            number = sum(wearers[role] for role in whom)
            if number == 0:
                continue
            # Nobody is their own relative: the only wearer of a label does not see it.
            alone = number == 1 and who in whom and wearers[who] == 1
            total += composition[who] - alone
        return total

    def best(value: Callable[[int], int]) -> int:
        @cache
        def rest(left: tuple[int, ...], labels: int) -> int:
            if labels == 0 or not any(left):
                return 0
            choices = itertools.product(*(range(min(number, 2) + 1) for number in left))
            return max(
                value(seen(wearers))
                + rest(tuple(a - b for a, b in zip(left, wearers, strict=True)), labels - 1)
                for wearers in choices
                if any(wearers)
            )

        return rest(composition, cells)

    everybody = seen(tuple(min(number, 2) for number in composition))
    return Contribution(
        single=everybody, l1=best(lambda number: number), l2_squared=best(lambda number: number**2)
    )


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
