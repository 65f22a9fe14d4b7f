"""Whether conditions hold: for the values of whole tables, and for cells of codes.

A comparison with a blank does not hold, whichever it is: `age != 40` and `age not in (40)` are
about people whose age is known; `not age = 40` is about the others as well. A special value outside
the bins (-9 for "not applicable") is no quantity: it can be named with =, != and in, but is neither
below nor above anything, and adds to nothing. One inside the bins is a number like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

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
    attribute_of,
)

if TYPE_CHECKING:
    from kinfolk.schema.schema import Schema

Bools: TypeAlias = npt.NDArray[np.bool_]
Floats: TypeAlias = npt.NDArray[np.float64]
Indices: TypeAlias = npt.NDArray[np.int64]
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

    offsets: Indices
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
    def sizes(self) -> Indices:
        """(groups,) how many members each has."""
        return np.diff(self.offsets)

    @property
    def owners(self) -> Indices:
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
        return np.asarray(present & (equal ^ condition.negated))
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
    named = condition.blank and not condition.negated
    return np.asarray(np.where(missing, named, found ^ condition.negated))


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


def is_code(special: float, attribute: Numeric) -> bool:
    """Whether a special value lies outside the bins, and is no quantity."""
    return not attribute.bins[0] <= special <= attribute.bins[-1]


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """Rows of a table, each with a group and members of it."""

    schema: Schema
    values: GroupValues
    groups: Indices
    """(rows,) the group."""
    members: Mapping[str | None, Indices]
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
        # A blank is unequal to everything, and yet no comparison with it holds.
        return COMPARE[condition.operator](total, condition.constant) & ~np.isnan(total)

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
    members: dict[str | None, Indices] = {None: np.arange(len(owners))}
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
