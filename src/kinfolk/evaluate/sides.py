"""One side of a comparison: all groups counted as they come, and some held to be looked at.

However large the tables are, no more than HELD bytes of each side stay, and one number for each
group, by which copies are found.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import numpy as np

from kinfolk._typing import Floats
from kinfolk.data.encoded import Encoded
from kinfolk.evaluate.groups import CHUNK, SEED, Hashes, identities
from kinfolk.queries.counting import Counter
from kinfolk.queries.workload import Workload

HELD = 96 * 2**20
"""Bytes that the groups which are held of each side take, with ROW for ..."""
ROW = 32
"""... whoever looks at them: so many bytes for every group and every person."""


class Tally:
    """What is counted of all groups."""

    def __init__(self, workload: Workload) -> None:
        self.counter = Counter(workload)
        self._hashes: list[Hashes] = []

    def add(self, part: Encoded) -> None:
        """Count some more groups."""
        count(self.counter, part)
        self._hashes.append(identities(part))

    @property
    def identities(self) -> Hashes:
        """(groups,) a number for each; identical groups have the same."""
        return np.concatenate(self._hashes)


def count(counter: Counter, data: Encoded) -> None:
    """Some groups at a time: the compiled loop wants their codes in another order."""
    codes = replace(data, numbers=None)
    for start in range(0, data.groups, CHUNK):
        counter.add(codes.take(np.arange(start, min(start + CHUNK, data.groups))))


class Held:
    """The groups that are looked at one by one: all, or as many of them, at random, as HELD holds.

    Each group has a random rank, and those of the lowest ranks stay.
    """

    def __init__(self) -> None:
        self._rng = np.random.default_rng(SEED)
        self._parts: list[Encoded] = []
        self._ranks: list[Floats] = []
        self._below = 1.0

    def add(self, part: Encoded) -> None:
        """Hold some more groups."""
        ranks = self._rng.random(part.groups)
        self._parts.append(part)
        self._ranks.append(ranks)
        if self._below < 1:
            self._keep(len(self._parts) - 1)
        # Not for every few bytes too many: those that stay are copied.
        if sum(map(_bytes, self._parts)) > 1.25 * HELD:
            self._thin()

    def data(self) -> Encoded:
        """The groups that stay, with what was left out of all parts."""
        self._thin()
        if len(self._parts) == 1:
            return self._parts[0]
        against = [part.against for part in self._parts if part.against]
        return replace(
            Encoded.joined(self._parts),
            cleaning=reduce(lambda one, other: one + other, (p.cleaning for p in self._parts)),
            against=tuple(map(sum, zip(*against, strict=True))),
        )

    def _thin(self) -> None:
        """Let go of the highest ranks, so that the rest has room."""
        held = sum(map(_bytes, self._parts))
        if held <= HELD:
            return
        ranks = np.concatenate(self._ranks)
        number = max(int(len(ranks) * HELD / held), 1)
        self._below = float(np.partition(ranks, number)[number]) if number < len(ranks) else 1.0
        for at in range(len(self._parts)):
            self._keep(at)

    def _keep(self, at: int) -> None:
        low = np.flatnonzero(self._ranks[at] < self._below)
        self._parts[at], self._ranks[at] = self._parts[at].take(low), self._ranks[at][low]


def _bytes(data: Encoded) -> int:
    numbers = data.numbers
    columns = [*numbers.group.values(), *numbers.individual.values()] if numbers else []
    roles = [] if data.role is None else [data.role]
    codes = (data.group, data.individual, data.offsets, *roles, *columns)
    return sum(one.nbytes for one in codes) + ROW * (data.groups + data.people)
