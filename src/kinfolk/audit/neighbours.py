"""Two tiny datasets that differ in one unit, by as much as the neighbours allow.

The marginal is that of people by sex and by the size of their household. A household of ten women
fills one cell, and nine men another: nearly the most that any household can do, and the sizes
change with it. The size is where the paper's sensitivity goes wrong, so an audit of the household
unit has to look there. People by size alone are counted beside it, for selections. Households by
size are another pair: there a household changes one count by one, and the noise is smallest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from kinfolk.data.encoded import Encoded
from kinfolk.privacy.unit import Neighbours
from kinfolk.queries.counting import Counter
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
workload: {levels: [individual], sets: [[COUNT, sex], [COUNT]]}
"""

_WOMAN, _MAN = 0, 1
_OTHERS = ([_WOMAN, _MAN], [_MAN])
_SIDES = {
    Neighbours.ADD_REMOVE: (_OTHERS, ([_WOMAN] * 10, *_OTHERS)),
    Neighbours.REPLACE: (([_WOMAN] * 10, *_OTHERS), ([_MAN] * 9, *_OTHERS)),
    Neighbours.IN_PLACE: (([_WOMAN], *_OTHERS), ([_MAN], *_OTHERS)),
}
"""The households on either side, each as the sexes of its members."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Pair:
    """Two neighbours, counted. The people are made up, so nothing here is private."""

    first: Counter
    second: Counter

    @property
    def workload(self) -> Workload:
        """What was counted."""
        return self.first.workload

    @property
    def difference(self) -> npt.NDArray[np.int64]:
        """(queries,) what the second has more than the first."""
        return self.second.counts - self.first.counts

    @property
    def distance(self) -> float:
        """The Euclidean length of the difference in the first marginal."""
        return float(np.linalg.norm(self.difference[: self.workload.offsets[1]]))


@cache
def pair_of(neighbours: Neighbours) -> Pair:
    """The pair for some neighbours, with people counted.

    >>> pair = pair_of(Neighbours.REPLACE)
    >>> sorted(set(pair.difference.tolist()))
    [-10, 0, 9]
    """
    return _pair(neighbours, Workload.of(Schema.from_text(SCHEMA)))


@cache
def sizes_of(neighbours: Neighbours) -> Pair:
    """The same pair, with households counted by their sizes.

    >>> sizes_of(Neighbours.ADD_REMOVE).difference.tolist()
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    """
    schema = Schema.from_text(SCHEMA)
    return _pair(neighbours, Workload.of(schema, levels=["group"], sets=[["COUNT"]]))


def _pair(neighbours: Neighbours, workload: Workload) -> Pair:
    first, second = (_count(workload, side) for side in _SIDES[neighbours])
    return Pair(first=first, second=second)


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
