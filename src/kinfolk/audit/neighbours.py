"""Two tiny datasets that differ in one unit, by as much as the unit allows.

The marginal is that of people by sex and by the size of their household. Replacing a household of
ten women by one of nine men empties one cell and fills another: nearly the most that any household
can do, and the sizes change with it. The size is where the paper's sensitivity goes wrong, so an
audit of the household unit has to look there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from kinfolk.data.encoded import Encoded
from kinfolk.queries.counting import Counter
from kinfolk.queries.units import Unit
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema

SCHEMA = """
group: {table: households, id: household_id, attributes: {}}
individual:
  table: persons
  group_id: household_id
  attributes: {sex: {values: [woman, man]}}
max_size: 10
count: COUNT
workload: {levels: [individual], sets: [[COUNT, sex]]}
"""

_WOMAN, _MAN = 0, 1

_SIDES = {
    Unit.GROUP: (([_WOMAN] * 10, [_WOMAN, _MAN], [_MAN]), ([_MAN] * 9, [_WOMAN, _MAN], [_MAN])),
    Unit.INDIVIDUAL: (([_WOMAN], [_WOMAN, _MAN], [_MAN]), ([_MAN], [_WOMAN, _MAN], [_MAN])),
}
"""The households on either side, each as the sexes of its members; the first one is replaced."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Pair:
    """Two neighbours, counted. The people are made up, so nothing here is private."""

    unit: Unit
    """What the two differ in."""
    first: Counter
    second: Counter

    @property
    def workload(self) -> Workload:
        """What was counted: one marginal."""
        return self.first.workload

    @property
    def difference(self) -> npt.NDArray[np.int64]:
        """(queries,) what the second has more than the first."""
        return self.second.counts - self.first.counts

    @property
    def distance(self) -> float:
        """The Euclidean length of the difference."""
        return float(np.linalg.norm(self.difference))


@cache
def neighbours(unit: Unit) -> Pair:
    """The pair for a unit.

    >>> pair = neighbours(Unit.GROUP)
    >>> sorted(pair.difference.tolist())[:1], sorted(pair.difference.tolist())[-1:]
    ([-10], [9])
    """
    schema = Schema.from_text(SCHEMA)
    workload = Workload.of(schema)
    first, second = (_count(workload, side) for side in _SIDES[unit])
    return Pair(unit=unit, first=first, second=second)


def _count(workload: Workload, households: tuple[list[int], ...]) -> Counter:
    counter = Counter(workload)
    counter.add(
        Encoded(
            schema=workload.schema,
            group=np.zeros((len(households), 0), np.uint8),
            individual=np.array([[sex] for home in households for sex in home], np.uint8),
            offsets=np.cumsum([0, *map(len, households)], dtype=np.int64),
        )
    )
    return counter
