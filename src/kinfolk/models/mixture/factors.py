"""What a marginal asks, as factors: of the group and the person who asks, and of the members.

Let f_j be the chance that a member drawn from slot j has the attributes in question: a sum, over
the slot's kinds of people, of products. A *feature* is the chance that at least one of several
members has them: 1 - prod_j (1 - f_j)^n_j, where n_j of them are drawn from slot j. For every
composition, what its members add is a sum of features:

individual   sum_j mult[c, j] f_j, which are features of one member
group        the feature of all members
relation     for everybody who asks, the feature of their relatives (nobody is their own relative)

Adding a member drawn from slot j to a feature u gives f_j + u (1 - f_j), so features form a tree.
That form never subtracts nearly equal numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.models.layout import Ints, Layout
from kinfolk.queries.workload import Marginal, ties

Attributes = tuple[int, ...]
"""Attributes by position."""
Members = tuple[int, ...]
"""How many members are drawn from each slot."""

NOBODY = -1
"""In the place of the slot of those who ask, where it does not matter who asks."""


class MemberFactor(NamedTuple):
    """What is asked of the members of a group, whatever their attributes."""

    level: str
    relation: str | None
    weights: tuple[int, ...]
    """What a group of each size counts for."""
    split: bool
    """Whether those who ask are told apart by slot, because their own attributes matter."""

    def askers(self, layout: Layout) -> tuple[int, ...]:
        """The slots of those who ask, or nobody in particular."""
        if not self.split:
            return (NOBODY,)
        asking = {who for who, _ in ties(layout.schema, self.relation or "")}
        return tuple(slot for slot, role in enumerate(layout.slot_roles) if role in asking)

    def asking_kinds(self, layout: Layout) -> tuple[tuple[int, int], ...]:
        """Everybody who asks, by kind: the place of their slot in `askers`, and the kind."""
        if not self.split:
            return ((0, NOBODY),)
        starts = layout.kind_starts
        return tuple(
            (at, kind)
            for at, slot in enumerate(self.askers(layout))
            for kind in range(starts[slot], starts[slot + 1])
        )


@dataclass(frozen=True, kw_only=True)
class FactoredMarginal:
    """A marginal as a matrix: left cells by sizes and member cells."""

    group: Attributes
    """Of the left factor: the group's attributes, without the size,"""
    own: Attributes
    """and at the relation level those of the person who asks."""
    members: Attributes
    """The attributes of members: one's own, or at the relation level the relative's."""
    factor: MemberFactor
    sizes: tuple[int | None, ...]
    """Group sizes that are told apart, or None: all of them together."""
    start: int
    """Where the marginal begins in the vector of answers."""
    shape: tuple[int, int, int, int]
    """Cells in the order of answers: of the group, sizes, of the person who asks, of members."""

    @classmethod
    def of(
        cls, layout: Layout, marginal: Marginal, weights: Ints | None, start: int = 0
    ) -> FactoredMarginal:
        """Take a marginal apart. weights: (sizes + 1,) what a group of each size counts for.

        >>> from kinfolk.datasets import load_schema
        >>> from kinfolk.queries.workload import Workload
        >>> workload = Workload.of(load_schema("acs-red"), sets=[["METRO", "COUNT", "SEX", "AGE"]])
        >>> layout = Layout.of(workload.schema)
        >>> factored = FactoredMarginal.of(layout, workload.marginals[0], None)
        >>> factored.members, factored.sizes, factored.group, factored.own
        ((0, 1), (1, 2, 3), (0,), ())
        """
        schema = layout.schema
        size = len(schema.group_attributes)
        related = marginal.level == "relation"
        sizes = tuple(schema.sizes) if size in marginal.group else (None,)
        return cls(
            group=tuple(position for position in marginal.group if position != size),
            own=marginal.individual if related else (),
            members=marginal.relative if related else marginal.individual,
            factor=MemberFactor(
                level=marginal.level,
                relation=marginal.relation,
                weights=(1,) * (schema.size_limit + 1)
                if weights is None
                else tuple(weights.tolist()),
                split=related and bool(marginal.individual),
            ),
            sizes=sizes,
            start=start,
            shape=(
                marginal.group_cells // len(sizes),
                len(sizes),
                marginal.individual_cells if related else 1,
                marginal.relative_cells if related else marginal.individual_cells,
            ),
        )

    @property
    def left_cells(self) -> int:
        """The number of left cells."""
        return self.shape[0] * self.shape[2]

    def places(self, low: int, high: int) -> Ints:
        """(left cells, sizes * cells) where the answers for member cells low to high - 1 go."""
        numbers = np.arange(self.start, self.start + math.prod(self.shape)).reshape(self.shape)
        part = numbers[..., low:high].transpose(0, 2, 1, 3)
        return part.reshape(self.left_cells, self.shape[1] * (high - low))

    def left_rows(self, layout: Layout, kind: int) -> Ints:
        """(left cells, factors) the rows of the table whose product a left cell is.

        kind: that of those who ask, by number, or nobody in particular.
        """
        individual = layout.individual_start + max(0, kind) * layout.kind_rows
        parts = [(layout.group_start, layout.group_offsets, position) for position in self.group]
        parts += [(individual, layout.individual_offsets, position) for position in self.own]
        sizes = [offsets[position + 1] - offsets[position] for _, offsets, position in parts]
        rows = np.indices(sizes).reshape(len(sizes), self.left_cells).T
        rows = rows + ints([first + offsets[position] for first, offsets, position in parts])
        if kind == NOBODY or not layout.kinded:
            return rows
        return np.insert(rows, 0, layout.kind_start + kind, axis=1)


class Programs(NamedTuple):
    """Sums of features, for the compiled loops.

    Features are numbered within a program: first the slots (one member), then its nodes in order.
    Program p has slots[slot_starts[p]:slot_starts[p + 1]], and likewise nodes and outputs; output o
    is the sum of weights[rows[e]] * feature[features[e]] over its range of entries.
    """

    slot_count: int
    """J, the slots of the layout."""
    kind_starts: Ints
    """(slots + 1,) the first kind of people of each slot."""
    kind_start: int
    """The row of how likely the first kind is; -1 where every slot has only one."""
    kind_rows: int
    """D_I, the rows of one kind."""
    possible: npt.NDArray[np.bool_]
    """(rows,) whether a category can occur there at all."""
    most_features: int
    """The features of the largest program, those of one member included."""
    slot_starts: Ints
    slots: Ints
    node_starts: Ints
    parents: Ints
    """The feature to which a member is added,"""
    added: Ints
    """and the slot that the member is drawn from."""
    output_starts: Ints
    entry_starts: Ints
    features: Ints
    rows: Ints
    weight_starts: Ints
    """(weights + 1,) where a weight's terms begin: it is the sum of some compositions' chances,"""
    compositions: Ints
    """by position,"""
    coefficients: Ints
    """times these."""


Part = tuple[MemberFactor, int | None]
"""A member factor in groups of one size, or of any."""
Output = dict[Members, Ints]
"""A sum of features: for each its coefficients, (compositions,)."""


class Factors:
    """Collects programs, and the rows of composition weights that they share.

    Each works out the outputs of some member factors, one for every slot that asks.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._numbers: dict[tuple[Part, ...], int] = {}
        self._outputs: dict[Part, list[Output]] = {}
        self._rows: dict[bytes, int] = {}
        # By program: the slots, the nodes, and the entries of every output.
        self._slots: list[list[int]] = []
        self._nodes: list[list[tuple[int, int]]] = []
        self._entries: list[list[list[tuple[int, int]]]] = []

    def program(self, parts: tuple[Part, ...]) -> int:
        """The number of the program with the outputs of all `parts`, in order."""
        if parts not in self._numbers:
            self._numbers[parts] = len(self._numbers)
            for part in parts:
                if part not in self._outputs:
                    self._outputs[part] = _outputs(self.layout, *part)
            self._add([output for part in parts for output in self._outputs[part]])
        return self._numbers[parts]

    def _add(self, outputs: list[Output]) -> None:
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
        self._slots.append(sorted({s for one in needed for s in np.flatnonzero(one).tolist()}))
        self._nodes.append(nodes)
        self._entries.append(
            [[(number[one], self._row(c)) for one, c in output.items()] for output in outputs]
        )

    def _row(self, coefficients: Ints) -> int:
        return self._rows.setdefault(coefficients.tobytes(), len(self._rows))

    def programs(self) -> Programs:
        """Everything collected so far."""
        nodes = [node for found in self._nodes for node in found]
        outputs = [entries for found in self._entries for entries in found]
        entries = [entry for found in outputs for entry in found]
        rows = [np.frombuffer(row, np.int64) for row in self._rows]
        terms = [np.flatnonzero(row) for row in rows]
        return Programs(
            slot_count=self.layout.slots,
            kind_starts=self.layout.kind_starts,
            kind_start=self.layout.kind_start if self.layout.kinded else -1,
            kind_rows=self.layout.kind_rows,
            possible=self.layout.possible,
            most_features=self.layout.slots + max(map(len, self._nodes), default=0),
            slot_starts=starts(self._slots),
            slots=ints([slot for found in self._slots for slot in found]),
            node_starts=starts(self._nodes),
            parents=ints([parent for parent, _ in nodes]),
            added=ints([slot for _, slot in nodes]),
            output_starts=starts(self._entries),
            entry_starts=starts(outputs),
            features=ints([feature for feature, _ in entries]),
            rows=ints([row for _, row in entries]),
            weight_starts=starts(terms),
            compositions=np.concatenate([ints([]), *terms]),
            coefficients=np.concatenate(
                [ints([]), *(r[t] for r, t in zip(rows, terms, strict=True))]
            ),
        )


def _outputs(layout: Layout, factor: MemberFactor, size: int | None) -> list[Output]:
    found: dict[int, Output] = {asker: {} for asker in factor.askers(layout)}
    for index, total in enumerate(layout.sizes.tolist()):
        weight = factor.weights[total]
        if weight == 0 or size not in (None, total) or not layout.possible[index]:
            continue
        for asker, members, times in _added(layout, factor, index):
            terms = found[asker if factor.split else NOBODY]
            if members not in terms:
                terms[members] = np.zeros(len(layout.sizes), np.int64)
            terms[members][index] += weight * times
    return list(found.values())


def _added(layout: Layout, factor: MemberFactor, index: int) -> Iterator[tuple[int, Members, int]]:
    """What a composition adds: who asks, the members of the feature, and how often."""
    mult = layout.mult[index].tolist()
    if factor.level == "group":
        yield NOBODY, tuple(mult), 1
    elif factor.level == "individual":
        for slot, number in enumerate(mult):
            if number:
                yield NOBODY, tuple(int(j == slot) for j in range(layout.slots)), number
    else:
        for who, whom in ties(layout.schema, factor.relation or ""):
            relatives = [
                n if role in whom else 0 for n, role in zip(mult, layout.slot_roles, strict=True)
            ]
            for slot, number in enumerate(mult):
                if number and layout.slot_roles[slot] == who:
                    others = list(relatives)
                    others[slot] -= who in whom
                    if any(others):
                        yield slot, tuple(others), number


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


def ints(numbers: Sequence[int]) -> Ints:
    """Whole numbers as an array."""
    return np.array(numbers, np.int64)


def starts(parts: Sequence[Sized]) -> Ints:
    """Where each part begins if all are laid end to end; the last entry is their length."""
    return np.cumsum([0, *map(len, parts)], dtype=np.int64)
