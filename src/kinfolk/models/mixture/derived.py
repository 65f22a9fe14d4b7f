"""Columns with a formula in a mixture: their law follows from that of the members, in closed form.

A column that is computed from the members is written as the members who are drawn make it. With a
distribution of its own it would say nothing of them: its answers and the tables would differ. So
its rows are no parameters of a fit. They are worked out from the others, and what is measured of
the column teaches these.

Within a component the column is still taken as independent of all else, of the members too: what
goes together with it is left to what differs between components.

Copies of an attribute of whoever every group has one of (`head.age`), counts and `any` are known in
this way. Where categories do not go together, such as bins with other edges, a column keeps its own
distribution; so do sums, the least and the largest, and copies of members who may be missing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from kinfolk.models.layout import Floats, Ints, Layout
from kinfolk.models.mixture._derived_kernel import count_law, count_law_vjp
from kinfolk.schema import Attribute, Categorical, Numeric
from kinfolk.schema.attributes import Value
from kinfolk.schema.formulas import Formula

MOST_CELLS = 4096
"""Of a condition on members; what is said of more is not worked out."""
LETTERS = "abcdefghij"
"""What the axes of its attributes are called."""


class Column(Protocol):
    """A column whose rows follow from others."""

    def fill(self, table: Floats) -> None:
        """Work out its rows of a table of probabilities, (rows, K), in place."""

    def vjp(self, table: Floats, cotangent: Floats) -> None:
        """Hand the gradient by its rows, (rows, K), on to those they follow from, in place."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PeopleKind:
    """Those of a kind of people in a slot who matter."""

    chance: int | None
    """The row of how likely the kind is, if the slot has several."""
    attributes: tuple[slice, ...]
    """The rows of the attributes that say who matters."""
    cells: Floats
    """(kept, categories, ...) who matters, an axis for every attribute."""

    def share(self, table: Floats) -> Floats:
        """(kept, K) how likely somebody of the slot is of this kind, and matters."""
        found = self._contracted(table)
        return found if self.chance is None else found * table[self.chance]

    def share_vjp(self, table: Floats, cotangent: Floats, out: Floats) -> None:
        """Add the gradient by the rows, in `out`, from that by the share, (kept, K)."""
        if self.chance is not None:
            out[self.chance] += (self._contracted(table) * cotangent).sum(axis=0)
            cotangent = cotangent * table[self.chance]
        for at, own in enumerate(self.attributes):
            out[own] += self._contracted_vjp(table, at, cotangent)

    def _contracted(self, table: Floats) -> Floats:
        """(kept, K) within the kind."""
        if len(self.attributes) == 1:
            return np.asarray(self.cells @ table[self.attributes[0]])
        if not self.attributes:
            return np.repeat(self.cells[:, None], table.shape[1], axis=1)
        axes = LETTERS[: len(self.attributes)]
        text = f"z{axes},{','.join(f'{one}k' for one in axes)}->zk"
        return np.asarray(
            np.einsum(text, self.cells, *(table[own] for own in self.attributes), optimize=True)
        )

    def _contracted_vjp(self, table: Floats, at: int, cotangent: Floats) -> Floats:
        """(categories, K) the gradient by the rows of one attribute."""
        if len(self.attributes) == 1:
            return np.asarray(self.cells.T @ cotangent)
        axes = LETTERS[: len(self.attributes)]
        others = [(axes[o], own) for o, own in enumerate(self.attributes) if o != at]
        text = f"z{axes},zk,{','.join(f'{one}k' for one, _ in others)}->{axes[at]}k"
        tables = (table[own] for _, own in others)
        return np.asarray(np.einsum(text, self.cells, cotangent, *tables, optimize=True))


@dataclass(frozen=True, kw_only=True, eq=False)
class Copied:
    """An attribute of the one member in a role."""

    place: slice
    """The column's rows."""
    kinds: tuple[PeopleKind, ...]
    """Of people in the role; what is kept of them is the category of the column."""

    def fill(self, table: Floats) -> None:
        """Work out its rows."""
        table[self.place] = sum(kind.share(table) for kind in self.kinds)

    def vjp(self, table: Floats, cotangent: Floats) -> None:
        """Hand the gradient on."""
        own = cotangent[self.place].copy()
        cotangent[self.place] = 0
        for kind in self.kinds:
            kind.share_vjp(table, own, cotangent)


@dataclass(frozen=True, kw_only=True, eq=False)
class Sized:
    """How many members there are."""

    place: slice
    """The column's rows."""
    compositions: Ints
    """(kept compositions,) their rows."""
    codes: Floats
    """(categories, kept compositions) which category of the column each one is."""

    def fill(self, table: Floats) -> None:
        """Work out its rows."""
        table[self.place] = self.codes @ table[self.compositions]

    def vjp(self, table: Floats, cotangent: Floats) -> None:
        """Hand the gradient on."""
        del table  # It is linear.
        cotangent[self.compositions] += self.codes.T @ cotangent[self.place]
        cotangent[self.place] = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class Counted:
    """How many members are so, or whether any is."""

    place: slice
    """The column's rows."""
    mult: Ints
    """(kept compositions, slots) how many members are drawn from which slot."""
    compositions: Ints
    """(kept compositions,) their rows."""
    slots: tuple[tuple[PeopleKind, ...], ...]
    """The kinds of people of every slot of whom somebody counts."""
    codes: Floats
    """(categories, counts) which category of the column each number is."""

    def fill(self, table: Floats) -> None:
        """Work out its rows."""
        law = np.zeros((self.codes.shape[1], table.shape[1]), table.dtype)
        count_law(self.mult, table[self.compositions], self._odds(table), law)
        table[self.place] = self.codes @ law

    def vjp(self, table: Floats, cotangent: Floats) -> None:
        """Hand the gradient on."""
        odds, chances = self._odds(table), table[self.compositions]
        by_odds, by_chances = np.zeros_like(odds), np.zeros_like(chances)
        own = np.ascontiguousarray(self.codes.T @ cotangent[self.place])
        cotangent[self.place] = 0
        count_law_vjp(self.mult, chances, odds, own, by_chances, by_odds)
        cotangent[self.compositions] += by_chances
        for slot, kinds in enumerate(self.slots):
            for kind in kinds:
                kind.share_vjp(table, by_odds[slot][None], cotangent)

    def _odds(self, table: Floats) -> Floats:
        """(slots, K) how likely a member of a slot is to count."""
        found = np.zeros((len(self.slots), table.shape[1]), table.dtype)
        for slot, kinds in enumerate(self.slots):
            for kind in kinds:
                found[slot] += kind.share(table)[0]
        # Sums of rounded numbers may be a little more than all.
        return np.minimum(found, 1, out=found)


@dataclass(frozen=True, kw_only=True, eq=False)
class DerivedColumns:
    """The columns of a layout whose law is known.

    >>> from kinfolk.datasets import load_schema
    >>> DerivedColumns.of(Layout.of(load_schema("detroit"))).names
    ('race_id', 'age_of_head')
    """

    columns: Mapping[str, Column]

    @classmethod
    def of(cls, layout: Layout) -> Self:
        """Those with a formula whose categories go together."""
        schema = layout.schema
        found: dict[str, Column] = {}
        for at, (name, target) in enumerate(schema.group_attributes.items()):
            formula = schema.formulas.get(name)
            make = None if formula is None else MAKERS.get(formula.kind)
            if formula is not None and make is not None:
                start = layout.group_start + layout.group_offsets[at]
                column = make(layout, formula, target, slice(start, start + target.size))
                found |= {} if column is None else {name: column}
        return cls(columns=found)

    @property
    def names(self) -> tuple[str, ...]:
        """What they are called."""
        return tuple(self.columns)

    def fill(self, table: Floats) -> None:
        """Work out their rows of a table of probabilities, (rows, K), in place."""
        for one in self.columns.values():
            one.fill(table)

    def vjp(self, table: Floats, cotangent: Floats) -> None:
        """Hand the gradient by their rows, (rows, K), on to those they follow from, in place."""
        for one in self.columns.values():
            one.vjp(table, cotangent)


def _copied(layout: Layout, formula: Formula, target: Attribute, place: slice) -> Copied | None:
    roles, ref = layout.schema.roles, formula.ref
    if roles is None or ref is None or ref.of is None:
        return None
    role = roles.names.index(ref.of)
    source = layout.schema.individual_attributes.get(ref.name)
    if source is None or roles.limits(layout.schema.max_size)[role] != (1, 1):
        return None
    codes = _same(source, target)
    if codes is None:
        return None
    kinds = _people(layout, layout.slot_roles.index(role), (ref.name,), codes)
    return Copied(place=place, kinds=kinds)


def _counted(layout: Layout, formula: Formula, target: Attribute, place: slice) -> Column | None:
    most = last = int(layout.sizes.max())
    if isinstance(target, Categorical):
        # The last value that is listed means "or more".
        last = int(max(float(value) for value in target.values))
    codes = np.zeros((target.size, most + 1), np.float32)
    least = int(layout.sizes.min()) if formula.condition is None else 0
    for count in range(least, most + 1):
        code = _code(min(count, last), target)
        if code is None:
            return None
        codes[code, count] = 1
    kept = np.flatnonzero(layout.possible[: layout.group_start])
    known = formula.cells
    if known is None:
        return Sized(place=place, compositions=kept, codes=codes[:, layout.sizes[kept]])
    plain = all(one.level in ("individual", "role") and one.of is None for one in known.refs)
    few = len(known.refs) <= len(LETTERS) and known.every.size <= MOST_CELLS
    # Whoever may or may not be so, within a bin, is not known.
    if not (plain and few and np.array_equal(known.every, known.some)):
        return None
    names = tuple(one.name for one in known.refs)
    cells = known.every[None]
    slots = tuple(_people(layout, slot, names, cells) for slot in range(layout.slots))
    return Counted(
        place=place,
        mult=layout.mult[kept],
        compositions=kept,
        slots=slots,
        codes=codes,
    )


MAKERS = {"role": _copied, "count": _counted, "any": _counted}
"""What works out the law of a formula, by its kind."""


def _people(
    layout: Layout, slot: int, names: Sequence[str], cells: npt.NDArray[Any]
) -> tuple[PeopleKind, ...]:
    """The kinds of people of a slot of whom somebody matters, by attributes of these names."""
    known = list(layout.schema.member_attributes)
    places = [known.index(name) for name in names]
    found = []
    for kind in range(*layout.kind_starts[slot : slot + 2].tolist()):
        first = layout.individual_start + kind * layout.kind_rows
        rows = [first + np.array(layout.individual_offsets[at : at + 2]) for at in places]
        kept: list[slice] = []
        own = cells.astype(np.float32)
        for axis, (low, high) in reversed(list(enumerate(rows))):
            possible = np.flatnonzero(layout.possible[low:high])
            if len(possible) == 1 and len(rows) > 1:
                # The role of a slot, or what a kind has in common: nothing that can vary.
                own = np.take(own, possible[0], axis=axis + 1)
            else:
                kept.insert(0, slice(low, high))
        if own.any():
            chance = layout.kind_start + kind if layout.kinded else None
            found.append(PeopleKind(chance=chance, attributes=tuple(kept), cells=own))
    return tuple(found)


def _same(source: Attribute, target: Attribute) -> Floats | None:
    """(categories of the target, of the source) which are which; None where they do not nest."""
    found = np.zeros((target.size, source.size))
    for code, ends in enumerate(_values(source)):
        ways = {_code(value, target) for value in ends}
        if len(ways) > 1 or None in ways:
            return None
        found[ways.pop(), code] = 1
    if source.missing:
        found[target.size - 1, -1] = 1
    if isinstance(source, Numeric) and isinstance(target, Numeric):
        apart = set(target.special) - set(source.special)
        if any(source.bins[0] <= value <= source.bins[-1] for value in apart):
            return None
    return found


def _values(attribute: Attribute) -> list[tuple[Value, ...]]:
    """For each category but blank its value, or the first and last number in it."""
    if isinstance(attribute, Categorical):
        return [(value,) for value in attribute.values]
    bins = range(len(attribute.bins) - 1)
    if attribute.places is None:
        ends = [
            (attribute.bins[at], float(np.nextafter(attribute.bins[at + 1], -np.inf)))
            for at in bins
        ]
    else:
        steps = [attribute.writable(at) for at in bins]
        ends = [(one[0] / 10**attribute.places, one[-1] / 10**attribute.places) for one in steps]
    return [*ends, *((value,) for value in attribute.special)]


def _code(value: Value, attribute: Attribute) -> int | None:
    """The category of a value; None where there is none."""
    if isinstance(attribute, Categorical):
        values = list(attribute.values)
        return values.index(value) if value in values else None
    number = float(value)
    if number in attribute.special:
        return len(attribute.bins) - 1 + list(attribute.special).index(number)
    if not attribute.bins[0] <= number <= attribute.bins[-1]:
        return None
    return min(bisect_right(attribute.bins, number), len(attribute.bins) - 1) - 1
