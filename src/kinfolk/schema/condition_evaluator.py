"""Whether conditions hold: for the values of whole tables, and for cells of codes.

A blank is equal to nothing, in no list that does not name it, and neither below nor above anything:
`age != 40`, `age not in (40)` and `not age = 40` all hold for it. A special value outside the bins
(-9 for "not applicable") is no quantity: it can be named with =, != and in, but is neither below
nor above anything, and adds to nothing. One inside the bins is a number like any other.

A code stands for one value, or for all numbers of a bin. A bin is cut where a condition compares
its attribute with a number, so that within a piece all numbers are alike: what is said of a cell is
exact, whether or not thresholds lie on the edges of bins. Sums of several attributes are bounded
piece by piece: what is said to hold for every value does, but may do so in more cells than said.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from kinfolk._typing import Bools, Floats, Ints
from kinfolk.schema.attributes import Attribute, Categorical, Numeric
from kinfolk.schema.conditions import (
    Both,
    Condition,
    Linear,
    Listed,
    Missing,
    Nobody,
    Not,
    Ref,
    Same,
    atoms,
    attribute_of,
    is_code,
    refs,
)

if TYPE_CHECKING:
    from kinfolk.schema.schema import Schema


Column: TypeAlias = npt.NDArray[Any]

COMPARE = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupValues:
    """Groups and their members as values, to be looked at by rules and formulas.

    A column of an attribute that lists its values holds their codes, a blank being the last; one of
    an attribute with bins holds the numbers themselves, a blank being NaN.
    """

    offsets: Ints
    """(groups + 1,) where each group's members begin."""
    group: Mapping[str, Column]
    """The group's columns by name, (groups,) each."""
    individual: Mapping[str, Column]
    """The members' columns by name, (people,) each, group by group."""
    role: Column | None = None
    """(people,) index into the roles' names, where there are roles."""

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len(self.offsets) - 1

    @property
    def sizes(self) -> Ints:
        """(groups,) how many members each has."""
        return np.diff(self.offsets)

    @property
    def owners(self) -> Ints:
        """(people,) the group each belongs to."""
        return np.repeat(np.arange(self.groups), self.sizes)


class Columns(Protocol):
    """Where the attributes of a condition are looked up."""

    @property
    def schema(self) -> Schema:
        """What the attributes are."""
        ...

    def column(self, ref: Ref) -> Column:
        """Codes of an attribute that lists its values, numbers of one with bins."""
        ...

    def compare(self, condition: Linear, *, surely: bool) -> Bools:
        """Whether a comparison of sums holds."""
        ...

    def nobody(self, condition: Condition) -> Bools:
        """Whether no member of the group is such."""
        ...


def holds(condition: Condition, columns: Columns, *, surely: bool = True) -> Bools:
    """Where a condition holds; in cells of codes: surely, or otherwise for some values."""
    if isinstance(condition, Both):
        parts = [holds(part, columns, surely=surely) for part in condition.parts]
        return reduce(np.logical_or if condition.any else np.logical_and, parts)
    if isinstance(condition, Not):
        return ~holds(condition.part, columns, surely=not surely)
    if isinstance(condition, Nobody):
        return columns.nobody(condition.part)
    if isinstance(condition, Linear):
        return columns.compare(condition, surely=surely)
    if isinstance(condition, Missing):
        return blank(condition.ref, columns) ^ condition.negated
    if isinstance(condition, Same):
        left, right = columns.column(condition.left), columns.column(condition.right)
        ours, theirs = (
            attribute_of(columns.schema, one) for one in (condition.left, condition.right)
        )
        assert isinstance(ours, Categorical) and isinstance(theirs, Categorical)  # noqa: S101, PT018
        known = list(ours.values)
        same = [known.index(value) if value in known else -1 for value in theirs.values]
        equal: Bools = left == np.array([*same, -1])[right]
        present = ~blank(condition.left, columns) & ~blank(condition.right, columns)
        return np.asarray((present & equal) ^ condition.negated)
    return _listed(condition, columns)


def _listed(condition: Listed, columns: Columns) -> Bools:
    column, attribute = columns.column(condition.ref), attribute_of(columns.schema, condition.ref)
    if isinstance(attribute, Categorical):
        listed = np.zeros(attribute.size + 1, np.bool_)
        listed[list(condition.codes)] = True
        found = listed[column]
    else:
        found = np.isin(column, list(condition.numbers))
        numbers = quantities(column, attribute)
        for one in condition.ranges:
            below = np.less_equal if one.closed else np.less
            found = found | ((numbers >= one.low) & below(numbers, one.high))
    missing = blank(condition.ref, columns)
    return np.asarray(np.where(missing, condition.blank, found) ^ condition.negated)


def blank(ref: Ref, columns: Columns) -> Bools:
    """Where an attribute is blank."""
    column, attribute = columns.column(ref), attribute_of(columns.schema, ref)
    if isinstance(attribute, Categorical):
        return np.asarray(column == len(attribute.values))
    return np.isnan(column)


def as_numbers(column: Column, attribute: Attribute) -> Floats:
    """A column as numbers, blank being NaN."""
    if isinstance(attribute, Categorical):
        return np.array([*map(float, attribute.values), np.nan])[column]
    return np.asarray(column, np.float64)


def quantities(column: Column, attribute: Attribute) -> Floats:
    """A column as numbers that can be added and ordered: special codes are none."""
    numbers = as_numbers(column, attribute)
    if isinstance(attribute, Numeric) and attribute.special:
        codes = [one for one in attribute.special if is_code(one, attribute)]
        numbers = np.where(np.isin(numbers, codes), np.nan, numbers)
    return numbers


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """Rows of a table, each with a group and members of it."""

    schema: Schema
    values: GroupValues
    groups: Ints
    """(rows,) the group."""
    members: Mapping[str | None, Ints]
    """(rows,) the member in a role; under None, the person that the row is about."""

    def column(self, ref: Ref) -> Column:
        """An attribute of the row's group or members."""
        if ref.level == "group":
            return self.values.group[ref.name][self.groups]
        if ref.level == "count":
            return self.values.sizes[self.groups] - self.schema.sizes[0]
        members = self.members[ref.of]
        if ref.level == "individual":
            return self.values.individual[ref.name][members]
        assert self.values.role is not None  # noqa: S101  (a reference to the role column)
        return self.values.role[members]

    def compare(self, condition: Linear, *, surely: bool) -> Bools:
        """Whether a comparison of sums holds."""
        convert = as_numbers if condition.by_value else quantities
        total = sum(
            coefficient * convert(self.column(ref), attribute_of(self.schema, ref))
            for ref, coefficient in condition.terms
        )
        # What is blank is NaN: unequal to everything, and neither below nor above it.
        return np.asarray(COMPARE[condition.operator](total, condition.constant))

    def nobody(self, condition: Condition) -> Bools:
        """Whether no member of the row's group is such."""
        people = person_rows(self.schema, self.values)
        found = np.zeros(self.values.groups, np.bool_)
        found[people.groups[holds(condition, people)]] = True
        return ~found[self.groups]


def group_rows(schema: Schema, values: GroupValues) -> Rows:
    """One row for every group."""
    return Rows(schema=schema, values=values, groups=np.arange(values.groups), members={})


def person_rows(schema: Schema, values: GroupValues) -> Rows:
    """One row for every person."""
    owners = values.owners
    members: dict[str | None, Ints] = {None: np.arange(len(owners))}
    return Rows(schema=schema, values=values, groups=owners, members=members)


def member_rows(schema: Schema, values: GroupValues, roles: tuple[str, ...]) -> Rows:
    """One row for every group and choice of a member in each of the roles."""
    assert schema.roles is not None and values.role is not None  # noqa: S101, PT018  (roles are named)
    rows = group_rows(schema, values)
    groups, members = rows.groups, dict(rows.members)
    for role in roles:
        people = np.flatnonzero(values.role == schema.roles.names.index(role))
        first = np.searchsorted(people, values.offsets)
        many = np.diff(first)[groups]
        chosen = np.repeat(np.arange(len(groups)), many)
        turn = np.arange(len(chosen)) - np.repeat(np.cumsum(many) - many, many)
        groups = groups[chosen]
        members = {name: index[chosen] for name, index in members.items()}
        members[role] = people[first[groups] + turn]
    return Rows(schema=schema, values=values, groups=groups, members=members)


@dataclass(frozen=True, kw_only=True, eq=False)
class Cells:
    """A condition over the product of the categories of the attributes that it names."""

    refs: tuple[Ref, ...]
    """The attributes, one axis each, in the order of the text."""
    every: Bools
    """(categories, ...) whether the condition holds for every value in the cell."""
    some: Bools
    """(categories, ...) whether it holds for some value in the cell."""


def cells_of(condition: Condition, schema: Schema) -> Cells:
    """What a condition says of every cell; it must not be about nobody.

    The axis of the size has an entry for each of `schema.sizes`, that of the role column for each
    of the roles' names.

    >>> from kinfolk.datasets import load_schema
    >>> from kinfolk.schema.language import Reader
    >>> schema = load_schema("detroit")
    >>> cells = cells_of(Reader("age < 20", schema).condition(), schema)
    >>> cells.every[2:5].tolist(), cells.some[2:5].tolist()
    ([True, False, False], [True, True, False])
    """
    named = refs(condition)
    pieces = {
        ref: _Pieces.of(attribute_of(schema, ref), _thresholds(condition, ref)) for ref in named
    }
    columns = _PieceColumns(schema=schema, refs=named, pieces=pieces)
    shape = [len(pieces[ref].values) for ref in named]
    every = np.broadcast_to(holds(condition, columns, surely=True), shape)
    some = np.broadcast_to(holds(condition, columns, surely=False), shape)
    for axis, ref in enumerate(named):
        starts = pieces[ref].starts
        every = np.logical_and.reduceat(every, starts, axis=axis)
        some = np.logical_or.reduceat(some, starts, axis=axis)
    return Cells(refs=named, every=every, some=some)


def _thresholds(condition: Condition, ref: Ref) -> set[float]:
    """The numbers that a condition compares an attribute with."""
    found: set[float] = set()
    for atom in atoms(condition):
        if isinstance(atom, Linear) and len(atom.terms) == 1 and atom.terms[0][0] == ref:
            found.add(atom.constant / atom.terms[0][1])
        elif isinstance(atom, Listed) and atom.ref == ref:
            found |= atom.numbers
            found |= {end for one in atom.ranges for end in (one.low, one.high)}
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class _Pieces:
    """The categories of an attribute, cut into pieces."""

    values: Column
    """(pieces,) a value of each: a code, or a number."""
    low: Floats
    high: Floats
    """(pieces,) the least and the largest number in each, or what they come close to."""
    reached: Bools
    """(pieces,) whether these two belong to the piece."""
    starts: Column
    """(categories,) where the pieces of each category begin."""

    @staticmethod
    def of(attribute: Attribute, thresholds: Iterable[float]) -> _Pieces:
        if isinstance(attribute, Categorical):
            codes = np.arange(attribute.size)
            numbers = np.zeros(attribute.size)
            if attribute.kind == "number":
                numbers = as_numbers(np.minimum(codes, len(attribute.values)), attribute)
            reached = np.ones(attribute.size, np.bool_)
            return _Pieces(values=codes, low=numbers, high=numbers, reached=reached, starts=codes)
        rows: list[tuple[float, float, float, bool]] = []
        starts: list[int] = []
        for code in range(len(attribute.bins) - 1):
            starts.append(len(rows))
            cut = _whole_pieces if attribute.integer else _real_pieces
            rows += cut(attribute, code, thresholds)
        for special in (*attribute.special, *([math.nan] if attribute.missing else [])):
            starts.append(len(rows))
            rows.append((special, special, special, True))
        values, low, high, reached = np.array(rows, np.float64).T
        low, high = (
            np.where(np.isnan(quantities(values, attribute)), np.nan, x) for x in (low, high)
        )
        return _Pieces(
            values=values,
            low=low,
            high=high,
            reached=reached.astype(np.bool_),
            starts=np.array(starts),
        )


def _whole_pieces(
    attribute: Numeric, code: int, thresholds: Iterable[float]
) -> list[tuple[float, float, float, bool]]:
    begin, end = (int(one) for one in attribute.bounds(code))
    cuts = {begin, end}
    for one in (*thresholds, *attribute.special):
        if abs(one) < math.inf:
            cuts |= {cut for cut in (math.ceil(one), math.floor(one) + 1) if begin < cut < end}
    edges = sorted(cuts)
    return [
        (low, low, above - 1, True)
        for low, above in pairwise(edges)
        if low not in attribute.special
    ]


def _real_pieces(
    attribute: Numeric, code: int, thresholds: Iterable[float]
) -> list[tuple[float, float, float, bool]]:
    begin, end = float(attribute.bins[code]), float(attribute.bins[code + 1])
    cuts = {float(one) for one in (*thresholds, *attribute.special) if begin < one < end}
    edges = [begin, *sorted(cuts), end]
    pieces: list[tuple[float, float, float, bool]] = []
    for low, high in pairwise(edges):
        between = low + (high - low) / 2
        if low not in attribute.special:
            pieces.append((low, low, low, True))
        if low < between < high:
            pieces.append((between, low, high, False))
    if code == len(attribute.bins) - 2 and end not in attribute.special:
        pieces.append((end, end, end, True))
    return pieces


@dataclass(frozen=True, kw_only=True, eq=False)
class _PieceColumns:
    """All combinations of pieces; an attribute is an array along its own axis."""

    schema: Schema
    refs: tuple[Ref, ...]
    pieces: dict[Ref, _Pieces]

    def column(self, ref: Ref) -> Column:
        return self._along(ref, self.pieces[ref].values)

    def _along(self, ref: Ref, values: Column) -> Column:
        axis = self.refs.index(ref)
        return values.reshape([-1 if other == axis else 1 for other in range(len(self.refs))])

    def compare(self, condition: Linear, *, surely: bool) -> Bools:
        """Exact for one attribute; for several, what the ends of their pieces allow."""
        if len(condition.terms) == 1:
            ((ref, coefficient),) = condition.terms
            convert = as_numbers if condition.by_value else quantities
            numbers = convert(self.column(ref), attribute_of(self.schema, ref))
            # The threshold as the pieces were cut at it.
            return np.asarray(
                COMPARE[condition.operator](numbers, condition.constant / coefficient)
            )
        low = high = np.zeros((1,) * len(self.refs))
        reached = np.ones_like(low, np.bool_)
        for ref, coefficient in condition.terms:
            one = self.pieces[ref]
            low_of, high_of = one.low, one.high
            if condition.by_value:
                codes = np.isnan(low_of)
                low_of = np.where(codes, self._raw(ref), low_of)
                high_of = np.where(codes, self._raw(ref), high_of)
            ends = [coefficient * self._along(ref, x) for x in (low_of, high_of)]
            low = low + np.minimum(*ends)
            high = high + np.maximum(*ends)
            reached = reached & self._along(ref, one.reached)
        return _bounded(condition, low, high, reached, surely=surely)

    def _raw(self, ref: Ref) -> Floats:
        return as_numbers(self.pieces[ref].values, attribute_of(self.schema, ref))

    def nobody(self, condition: Condition) -> Bools:
        raise NotImplementedError("cells of codes are about one person at a time")


def _bounded(
    condition: Linear, low: Floats, high: Floats, reached: Bools, *, surely: bool
) -> Bools:
    """Whether a sum between two bounds surely compares so, or may do so."""
    operator, constant = condition.operator, condition.constant
    known: Bools = ~np.isnan(low)
    found: Bools
    if operator in (">", ">="):
        operator, constant, low, high = operator.replace(">", "<"), -constant, -high, -low
    if operator in ("=", "!="):
        equal = (low == constant) & (high == constant) & reached
        inside = (low < constant) & (constant < high)
        possible = inside | (((low == constant) | (high == constant)) & reached)
        if operator == "=":
            found = equal if surely else possible
        else:
            found = (~possible if surely else ~equal) | ~known
        return found if operator == "!=" else known & found
    end = high if surely else low
    found = end < constant
    # For all: an end that is not reached lies below it. For some: one that is reached is enough.
    if operator == "<" and surely:
        found = found | ((end == constant) & ~reached)
    elif operator == "<=":
        found = found | ((end == constant) & (surely | reached))
    return known & found
