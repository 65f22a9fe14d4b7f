"""The compiled loops behind counts of members: how many there are who are so, and the vjp of that.

In a component members are independent, so that the count of a composition is a sum of independent
yes-or-no draws, one for each member: its law is worked out member by member.
"""

from __future__ import annotations

import numba
import numpy as np

from kinfolk.compiled import compiled
from kinfolk.models.layout import Floats, Ints


@numba.njit(error_model="numpy")
def _add_member(before: Floats, after: Floats, odds: Floats, members: int) -> None:
    """The law of the count with one member more, of so many; may be done in place."""
    for count in range(members, 0, -1):
        for k in range(len(odds)):
            step = odds[k] * (before[count - 1, k] - before[count, k])
            after[count, k] = before[count, k] + step
    for k in range(len(odds)):
        after[0, k] = before[0, k] * (1 - odds[k])


@compiled(error_model="numpy")
def count_law(mult: Ints, chances: Floats, odds: Floats, law: Floats) -> None:
    """Add up the law of the count over compositions, in `law`, (counts, K), which begins as 0.

    mult: (compositions, slots); chances: (compositions, K); odds: (slots, K).
    """
    counts, number = law.shape
    poly = np.empty((counts, number), law.dtype)
    for composition in range(len(mult)):
        poly[:] = 0
        poly[0] = 1
        members = 0
        for slot in range(mult.shape[1]):
            for _ in range(mult[composition, slot]):
                members += 1
                _add_member(poly, poly, odds[slot], members)
        for count in range(members + 1):
            for k in range(number):
                law[count, k] += chances[composition, k] * poly[count, k]


@compiled(error_model="numpy")
def count_law_vjp(
    mult: Ints,
    chances: Floats,
    odds: Floats,
    cotangent: Floats,
    by_chances: Floats,
    by_odds: Floats,
) -> None:
    """From the cotangent of the law, (counts, K), add to those of what it was made of."""
    counts, number = cotangent.shape
    stages = np.empty((counts, counts, number), cotangent.dtype)
    taken = np.empty(counts, np.int64)
    back = np.empty((counts + 1, number), cotangent.dtype)
    for composition in range(len(mult)):
        stages[0] = 0
        stages[0, 0] = 1
        members = 0
        for slot in range(mult.shape[1]):
            for _ in range(mult[composition, slot]):
                taken[members] = slot
                members += 1
                stages[members] = 0
                _add_member(stages[members - 1], stages[members], odds[slot], members)
        back[:] = 0
        for count in range(members + 1):
            for k in range(number):
                by_chances[composition, k] += cotangent[count, k] * stages[members, count, k]
                back[count, k] = cotangent[count, k] * chances[composition, k]
        for member in range(members, 0, -1):
            slot, before = taken[member - 1], stages[member - 1]
            for count in range(member):
                for k in range(number):
                    step = back[count + 1, k] - back[count, k]
                    by_odds[slot, k] += step * before[count, k]
                    back[count, k] += odds[slot, k] * step
