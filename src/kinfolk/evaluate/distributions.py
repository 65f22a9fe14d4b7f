"""Distributions side by side: sizes, compositions, one attribute, two attributes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kinfolk._typing import Codes, Ints
from kinfolk.data.encoded import Encoded
from kinfolk.queries.questions import asked_attributes
from kinfolk.schema.names import AttributeNames

FOLDS = (50, 30, 20, 12, 8)
"""Categories an attribute is shown with at most; the first of these that keeps within CELLS."""
CELLS = 150_000
"""Cells of all two-way tables together, so that a report stays small."""
OTHERS = "all others"


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """Counts of the same categories on both sides."""

    labels: tuple[str, ...]
    real: tuple[int, ...]
    synthetic: tuple[int, ...]

    @property
    def distance(self) -> float:
        """The total variation distance: the share that would have to move, from 0 to 1.

        >>> Distribution(labels=("a", "b"), real=(5, 5), synthetic=(1, 3)).distance
        0.25
        """
        return distance(np.array(self.real), np.array(self.synthetic))

    @property
    def chance(self) -> float:
        """About the distance that a second real survey would have.

        >>> round(Distribution(labels=("a", "b"), real=(50, 50), synthetic=(1, 3)).chance, 3)
        0.056
        """
        counts = np.array(self.real)
        part = counts / max(counts.sum(), 1)
        spread = np.sqrt(2 * part * (1 - part) / np.pi / max(counts.sum(), 1))
        return float(np.sqrt(2) * spread.sum() / 2)

    @property
    def shares(self) -> list[tuple[str, float, float]]:
        """Every category with its share of both sides.

        >>> Distribution(labels=("a", "b"), real=(5, 5), synthetic=(1, 3)).shares
        [('a', 0.5, 0.25), ('b', 0.5, 0.75)]
        """
        real, synthetic = max(sum(self.real), 1), max(sum(self.synthetic), 1)
        counts = zip(self.labels, self.real, self.synthetic, strict=True)
        return [(label, one / real, other / synthetic) for label, one, other in counts]

    def most_common(self, number: int) -> Distribution:
        """The categories with the largest real counts, and all others as one."""
        if len(self.labels) <= number:
            return self
        order = np.argsort(-np.array(self.real), kind="stable")
        kept, rest = order[: number - 1].tolist(), order[number - 1 :].tolist()
        return Distribution(
            labels=(*(self.labels[i] for i in kept), OTHERS),
            real=(*(self.real[i] for i in kept), sum(self.real[i] for i in rest)),
            synthetic=(*(self.synthetic[i] for i in kept), sum(self.synthetic[i] for i in rest)),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Shown:
    """An attribute as a report shows it: its rarest categories may be folded into one."""

    name: str
    level: str
    """Whether it describes a group or an individual."""
    labels: tuple[str, ...]
    fold: npt.NDArray[np.uint8]
    """(categories,) which of the labels stands for each category."""

    @property
    def size(self) -> int:
        """How many categories are shown."""
        return len(self.labels)


@dataclass(frozen=True, kw_only=True)
class TwoWay:
    """Counts of two attributes together, row by row; of groups if both describe groups."""

    rows: int
    columns: int
    """Positions in the list of attributes."""
    real: tuple[int, ...]
    synthetic: tuple[int, ...]
    distance: float
    chance: float
    """The distance of a second survey of the same size from the real table."""


def distance(real: Ints, synthetic: Ints) -> float:
    """The total variation distance between two vectors of counts."""
    if not real.sum() or not synthetic.sum():
        return 0.0 if real.sum() == synthetic.sum() else 1.0
    return float(np.abs(real / real.sum() - synthetic / synthetic.sum()).sum() / 2)


def sizes(real: Encoded, synthetic: Encoded) -> Distribution:
    """How many members groups have."""
    found = [np.bincount(d.sizes, minlength=d.schema.size_limit + 1) for d in (real, synthetic)]
    possible = real.schema.sizes
    return Distribution(
        labels=tuple(str(size) for size in possible),
        real=tuple(found[0][possible].tolist()),
        synthetic=tuple(found[1][possible].tolist()),
    )


def compositions(real: Encoded, synthetic: Encoded) -> Distribution | None:
    """How many members of each role groups have; None without roles, where that is the size."""
    roles = real.schema.roles
    if roles is None:
        return None
    found = [_compositions(data, len(roles.names)) for data in (real, synthetic)]
    seen = [c for c in real.schema.compositions if c in found[0] or c in found[1]]
    seen.sort(key=lambda c: -found[0].get(c, 0))
    return Distribution(
        labels=tuple(_composition_text(c, roles.names) for c in seen),
        real=tuple(found[0].get(c, 0) for c in seen),
        synthetic=tuple(found[1].get(c, 0) for c in seen),
    )


def _compositions(data: Encoded, width: int) -> dict[tuple[int, ...], int]:
    counts = np.bincount(data.owners * width + data.role_or_zero, minlength=data.groups * width)
    kinds, numbers = np.unique(counts.reshape(-1, width), axis=0, return_counts=True)
    return dict(zip(map(tuple, kinds.tolist()), numbers.tolist(), strict=True))


def _composition_text(composition: tuple[int, ...], names: Sequence[str]) -> str:
    """'head, spouse, 2 child'."""
    parts = zip(composition, names, strict=True)
    return ", ".join(name if n == 1 else f"{n} {name}" for n, name in parts if n)


def shown_attributes(real: Encoded) -> tuple[Shown, ...]:
    """All attributes, the size of a group among them, with as many categories as there is room."""
    attributes, asked = AttributeNames(real.schema), asked_attributes(real.schema)
    counts = [
        np.bincount(codes, minlength=attributes.size(position))
        for position, codes in _columns(real).items()
    ]
    most = next((n for n in FOLDS if _cells([len(c) for c in counts], n) <= CELLS), FOLDS[-1])
    names = attributes.by_position()
    shown = []
    for (position, name), count in zip(names.items(), counts, strict=True):
        attribute = asked[position][1]
        labels = tuple(attribute.label(code) for code in range(attribute.size))
        fold = np.arange(min(len(labels), most), dtype=np.uint8)
        if len(labels) > most:
            kept = np.sort(np.argsort(-count, kind="stable")[: most - 1])
            fold = np.full(len(labels), most - 1, np.uint8)
            fold[kept] = np.arange(most - 1)
            labels = (*(labels[code] for code in kept), OTHERS)
        level = "individual" if attributes.is_individual(position) else "group"
        shown.append(Shown(name=name, level=level, labels=labels, fold=fold))
    return tuple(shown)


def _cells(categories: list[int], most: int) -> int:
    held = [min(number, most) for number in categories]
    return sum(a * b for a, b in itertools.combinations(held, 2))


def _columns(data: Encoded) -> dict[int, Codes]:
    """The codes of every attribute by position: one per group or one per person."""
    schema = data.schema
    columns: dict[int, Codes] = {}
    if schema.group is not None:
        for position in range(data.group.shape[1]):
            columns[position] = data.group[:, position]
        columns[len(columns)] = data.sizes - schema.sizes.start
    first = AttributeNames(schema).first_individual
    for position in range(data.individual.shape[1]):
        columns[first + position] = data.individual[:, position]
    if data.role is not None and len(schema.member_attributes) > data.individual.shape[1]:
        columns[first + data.individual.shape[1]] = data.role
    return columns


def one_way(
    shown: Sequence[Shown], *, real: Encoded, synthetic: Encoded
) -> tuple[Distribution, ...]:
    """Every attribute by itself: counts of groups or of people."""
    found = [folded(shown, data) for data in (real, synthetic)]
    return tuple(
        Distribution(
            labels=attribute.labels,
            real=tuple(np.bincount(a, minlength=attribute.size).tolist()),
            synthetic=tuple(np.bincount(b, minlength=attribute.size).tolist()),
        )
        for attribute, a, b in zip(shown, *found, strict=True)
    )


def two_way(
    shown: Sequence[Shown], *, real: Encoded, synthetic: Encoded, second: Encoded
) -> tuple[TwoWay, ...]:
    """Pairs of attributes, those that differ most first, as many as there is room for.

    A pair of group attributes counts groups; all others count people.
    """
    sides = [(folded(shown, data), data.sizes) for data in (real, synthetic, second)]
    tables = []
    for rows, columns in itertools.combinations(range(len(shown)), 2):
        one, other = shown[rows], shown[columns]
        counts = []
        for codes, members in sides:
            first = codes[rows]
            if one.level != other.level:
                first = np.repeat(first, members)
            cells = first.astype(np.int32) * other.size + codes[columns]
            counts.append(np.bincount(cells, minlength=one.size * other.size))
        tables.append(
            TwoWay(
                rows=rows,
                columns=columns,
                real=tuple(counts[0].tolist()),
                synthetic=tuple(counts[1].tolist()),
                distance=distance(counts[0], counts[1]),
                chance=distance(counts[0], counts[2]),
            )
        )
    tables.sort(key=lambda table: -table.distance)
    room = itertools.accumulate(len(table.real) for table in tables)
    return tuple(table for table, used in zip(tables, room, strict=True) if used <= CELLS)


def folded(shown: Sequence[Shown], data: Encoded) -> list[npt.NDArray[np.uint8]]:
    """The codes of every attribute as it is shown: one per group or one per person."""
    columns = _columns(data).values()
    return [attribute.fold[codes] for attribute, codes in zip(shown, columns, strict=True)]
