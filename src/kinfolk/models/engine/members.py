"""Member factors: what a group's members add to a query, as sums of a few features.

Let f_j be the chance that a member drawn from slot j has the attributes in question. A *feature* is
the chance that at least one of several members has them: 1 - prod_j (1 - f_j)^n_j, where n_j of
them are drawn from slot j. For every composition, what its members add is a sum of features:

individual   sum_j mult[c, j] f_j, which are features of one member
group        the feature of all members
relation     for everybody who asks, the feature of their relatives (nobody is their own relative)

Adding a member drawn from slot j to a feature u gives f_j + u (1 - f_j), so features form a tree.
That form never subtracts nearly equal numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kinfolk.models.engine.jobs import Programs
from kinfolk.models.layout import Ints, Layout
from kinfolk.queries.ties import ties

Members = tuple[int, ...]
"""How many members are drawn from each slot."""

NOBODY = -1
"""In the place of the slot of those who ask, where it does not matter who asks."""


class Wanted(NamedTuple):
    """What blocks of one kind want to know about the members of a group."""

    level: str
    relation: str | None
    weights: tuple[int, ...]
    """What a group of each size counts for."""
    split: bool
    """Whether those who ask are told apart by slot, because their own attributes matter."""


Output = dict[Members, Ints]
"""A sum of features: for each its coefficients, (compositions,)."""


@dataclass(frozen=True, kw_only=True)
class _Program:
    slots: list[int]
    nodes: list[tuple[int, int]]
    outputs: list[list[tuple[int, int]]]


class Book:
    """Collects programs, and the rows of composition weights that they share."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._numbers: dict[tuple[tuple[Wanted, int | None], ...], int] = {}
        self._outputs: dict[tuple[Wanted, int | None], list[Output]] = {}
        self._rows: dict[bytes, int] = {}
        self._programs: list[_Program] = []

    def outputs(self, wanted: Wanted, size: int | None) -> list[Output]:
        """What is wanted of groups of one size, or of any: one output per slot that asks."""
        key = wanted, size
        if key not in self._outputs:
            self._outputs[key] = _outputs(self.layout, wanted, size)
        return self._outputs[key]

    def program(self, parts: tuple[tuple[Wanted, int | None], ...]) -> int:
        """The number of the program with the outputs of all `parts`, in order."""
        if parts not in self._numbers:
            outputs = [output for part in parts for output in self.outputs(*part)]
            self._numbers[parts] = len(self._programs)
            self._programs.append(self._compile(outputs))
        return self._numbers[parts]

    def _compile(self, outputs: list[Output]) -> _Program:
        needed = _closed(members for output in outputs for members in output)
        number: dict[Members, int] = {}
        nodes: list[tuple[int, int]] = []
        for members in sorted(needed, key=lambda one: (sum(one), one)):
            slot = _last(members)
            if sum(members) == 1:
                number[members] = slot
            else:
                number[members] = self.layout.slots + len(nodes)
                nodes.append((number[_without(members, slot)], slot))
        return _Program(
            slots=sorted({slot for members in needed for slot in np.flatnonzero(members).tolist()}),
            nodes=nodes,
            outputs=[
                [(number[members], self._row(c)) for members, c in output.items()]
                for output in outputs
            ],
        )

    def _row(self, coefficients: Ints) -> int:
        return self._rows.setdefault(coefficients.tobytes(), len(self._rows))

    def programs(self) -> Programs:
        """Everything collected so far."""
        known = self._programs
        outputs = [output for program in known for output in program.outputs]
        nodes = [node for program in known for node in program.nodes]
        entries = [entry for terms in outputs for entry in terms]
        return Programs(
            slot_count=self.layout.slots,
            slot_rows=self.layout.slot_rows,
            most_features=self.layout.slots + max((len(p.nodes) for p in known), default=0),
            slot_starts=_starts([program.slots for program in known]),
            slots=_ints([slot for program in known for slot in program.slots]),
            node_starts=_starts([program.nodes for program in known]),
            parents=_ints([parent for parent, _ in nodes]),
            added=_ints([slot for _, slot in nodes]),
            output_starts=_starts([program.outputs for program in known]),
            entry_starts=_starts(outputs),
            features=_ints([feature for feature, _ in entries]),
            rows=_ints([row for _, row in entries]),
        )

    def coefficients(self) -> Ints:
        """(rows, compositions) what the weights of entries are in terms of the compositions."""
        rows = [np.frombuffer(row, np.int64) for row in self._rows]
        return np.array(rows, np.int64).reshape(-1, len(self.layout.sizes))


def _outputs(layout: Layout, wanted: Wanted, size: int | None) -> list[Output]:
    found: dict[int, Output] = {asker: {} for asker in askers(layout, wanted)}
    for index, total in enumerate(layout.sizes.tolist()):
        weight = wanted.weights[total]
        if weight == 0 or size not in (None, total):
            continue
        for asker, members, times in _added(layout, wanted, index):
            terms = found[asker if wanted.split else NOBODY]
            if members not in terms:
                terms[members] = np.zeros(len(layout.sizes), np.int64)
            terms[members][index] += weight * times
    return list(found.values())


def askers(layout: Layout, wanted: Wanted) -> tuple[int, ...]:
    """The slots of those who ask, or nobody in particular."""
    if not wanted.split:
        return (NOBODY,)
    asking = {who for who, _ in ties(layout.schema, wanted.relation or "")}
    return tuple(slot for slot, role in enumerate(layout.slot_roles) if role in asking)


def _added(layout: Layout, wanted: Wanted, index: int) -> Iterator[tuple[int, Members, int]]:
    """What a composition adds: who asks, the members of the feature, and how often."""
    mult = layout.mult[index].tolist()
    if wanted.level == "group":
        yield NOBODY, tuple(mult), 1
    elif wanted.level == "individual":
        for slot, number in enumerate(mult):
            if number:
                yield NOBODY, _one(layout, slot), number
    else:
        for who, whom in ties(layout.schema, wanted.relation or ""):
            relatives = [
                n if role in whom else 0 for n, role in zip(mult, layout.slot_roles, strict=True)
            ]
            for slot, number in enumerate(mult):
                if number and layout.slot_roles[slot] == who:
                    others = list(relatives)
                    others[slot] -= who in whom
                    if any(others):
                        yield slot, tuple(others), number


def _one(layout: Layout, slot: int) -> Members:
    return tuple(int(j == slot) for j in range(layout.slots))


def _last(members: Members) -> int:
    return max(slot for slot, number in enumerate(members) if number)


def _without(members: Members, slot: int) -> Members:
    return tuple(number - (j == slot) for j, number in enumerate(members))


def _closed(wanted: Iterable[Members]) -> set[Members]:
    """The features, and those that they are built from, one member fewer each time."""
    found: set[Members] = set()
    for members in wanted:
        while any(members) and members not in found:
            found.add(members)
            members = _without(members, _last(members))
    return found


def _ints(numbers: list[int]) -> Ints:
    return np.array(numbers, np.int64)


def _starts(parts: Iterable[Sequence[object]]) -> Ints:
    return np.cumsum([0, *map(len, parts)], dtype=np.int64)
