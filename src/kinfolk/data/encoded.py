"""Groups and their members as compact integer codes; and their totals, see `schema.totals`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from kinfolk._typing import Ints
from kinfolk.schema import Level, Numeric, Schema
from kinfolk.schema.bins import finer, in_bands
from kinfolk.schema.totals import BANDS, LARGEST, UNITS, GroupTotal, Totals

CodeArray: TypeAlias = npt.NDArray[np.uint8 | np.uint16]
Entry = TypeVar("Entry", np.float64, np.uint16)


@dataclass(frozen=True, kw_only=True)
class Cleaning:
    """What was left out of the tables on the schema's instructions, group by group."""

    groups_read: int = 0
    people_read: int = 0
    people_outside_roles: int = 0
    """Their role is not declared (`others: drop`)."""
    groups_outside_roles: int = 0
    """Groups in which nobody has a declared role."""
    groups_oversize: int = 0
    """Groups with too many members, dropped or cut as `oversize` says."""
    people_oversize: int = 0
    """People who left with them, or were cut."""
    groups_against_rules: int = 0
    """Groups that break a rule (`on_violation: drop`)."""
    people_against_rules: int = 0
    """People who left with them."""

    def __add__(self, other: Cleaning) -> Cleaning:
        ours, theirs = vars(self), vars(other)
        return Cleaning(**{name: ours[name] + theirs[name] for name in ours})


@dataclass(frozen=True, kw_only=True, eq=False)
class AttributeArrays(Generic[Entry]):
    """Arrays that belong to attributes, by name."""

    group: Mapping[str, npt.NDArray[Entry]]
    """(groups,) each, of attributes of the group."""
    individual: Mapping[str, npt.NDArray[Entry]]
    """(people,) each, of attributes of individuals."""

    def take(self, groups: Ints, people: Ints) -> AttributeArrays[Entry]:
        """The rows of some groups and of some people."""
        return AttributeArrays(
            group={name: column[groups] for name, column in self.group.items()},
            individual={name: column[people] for name, column in self.individual.items()},
        )

    @classmethod
    def joined(cls, parts: Sequence[AttributeArrays[Entry]]) -> AttributeArrays[Entry]:
        """The rows of several, one after the other."""
        group, individual = (
            {name: np.concatenate([one[name] for one in side]) for name in side[0]}
            for side in ([one.group for one in parts], [one.individual for one in parts])
        )
        return cls(group=group, individual=individual)


Numbers: TypeAlias = AttributeArrays[np.float64]
"""The numbers that codes stand for, where they have been drawn or kept; a blank is NaN."""
CellCodes: TypeAlias = AttributeArrays[np.uint16]
"""In which cell of its bin a number lies, as `schema.bins` cuts bins into cells: of every attribute
that is counted finely."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Encoded:
    """Groups in order, each followed by its members in order.

    Members of group g are rows offsets[g] to offsets[g + 1] of `individual`. The same container
    holds private and synthetic data; which of the two may see it is decided by imports, not here.
    """

    schema: Schema
    group: CodeArray
    """(groups, group attributes) codes in the schema's order, the size not included."""
    individual: CodeArray
    """(people, individual attributes) codes in the schema's order."""
    offsets: npt.NDArray[np.int64]
    """(groups + 1,) where each group's members begin."""
    role: npt.NDArray[np.uint8] | None = None
    """(people,) index into the roles' names, where there are roles."""
    numbers: Numbers | None = None
    """The numbers themselves, where they have been drawn (synthetic ones) or kept on request."""
    cells: CellCodes | None = None
    """More about numbers than their bins, where it was asked for; `joined` drops it."""
    cleaning: Cleaning = field(default_factory=Cleaning)
    """What was left out on the way."""
    against: tuple[int, ...] = ()
    """How many groups broke each rule and were left out; nothing where there were none."""
    types: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Storage types (Arrow) of the columns of typed sources, by table and column."""

    @property
    def groups(self) -> int:
        """N_G, the number of groups."""
        return len(self.offsets) - 1

    @property
    def people(self) -> int:
        """N_I, the number of individuals."""
        return int(self.offsets[-1])

    @property
    def sizes(self) -> Ints:
        """(groups,) how many members each group has."""
        return np.diff(self.offsets)

    @property
    def owners(self) -> Ints:
        """(people,) the group each belongs to."""
        return np.repeat(np.arange(self.groups), self.sizes)

    @property
    def role_or_zero(self) -> npt.NDArray[np.uint8]:
        """(people,) the role; 0 where there are none."""
        return np.zeros(self.people, np.uint8) if self.role is None else self.role

    def take(self, chosen: Ints) -> Encoded:
        """The chosen groups with their members, in that order; a group may be chosen twice."""
        offsets = np.concatenate([[0], np.cumsum(self.sizes[chosen])])
        rows = np.repeat(self.offsets[chosen] - offsets[:-1], self.sizes[chosen])
        people = rows + np.arange(offsets[-1])
        return replace(
            self,
            group=self.group[chosen],
            individual=self.individual[people],
            offsets=offsets,
            role=None if self.role is None else self.role[people],
            numbers=self.numbers and self.numbers.take(chosen, people),
            cells=self.cells and self.cells.take(chosen, people),
        )

    @classmethod
    def joined(cls, parts: Sequence[Encoded]) -> Encoded:
        """Several datasets of one schema as one, the groups in order."""
        if len(parts) == 1:
            return parts[0]
        roles = [part.role for part in parts if part.role is not None]
        drawn = [part.numbers for part in parts if part.numbers is not None]
        return replace(
            parts[0],
            group=np.concatenate([part.group for part in parts]),
            individual=np.concatenate([part.individual for part in parts]),
            offsets=np.concatenate([[0], np.cumsum(np.concatenate([p.sizes for p in parts]))]),
            role=np.concatenate(roles) if roles else None,
            cells=None,
            numbers=Numbers.joined(drawn) if drawn else None,
        )

    def __repr__(self) -> str:
        return f"Encoded({self.groups:,} groups, {self.people:,} people)"


def code_type(schema: Schema) -> type[np.uint8 | np.uint16]:
    """The smallest type that holds every code of the schema."""
    attributes = [*schema.group_attributes.values(), *schema.individual_attributes.values()]
    return np.uint8 if max(a.size for a in attributes) <= 256 else np.uint16


def composition_of(groups: Encoded) -> Ints:
    """(groups,) which of the schema's compositions each group has."""
    schema: Schema = groups.schema
    if groups.role is None:
        return groups.sizes - schema.sizes.start
    base = schema.size_limit + 1
    powers = np.array([base**role for role in range(len(schema.compositions[0]))])
    keys = np.bincount(groups.owners, powers[groups.role], minlength=groups.groups).astype(np.int64)
    known = np.array(schema.compositions) @ powers
    order = np.argsort(known)
    return order[np.searchsorted(known[order], keys)]


def capped_units(encoded: Encoded, total: GroupTotal) -> Ints:
    """(groups,) a total of each group, from 0 to the cap."""
    return np.clip(total_units(encoded, total), 0, UNITS)


def total_units(encoded: Encoded, total: GroupTotal) -> Ints:
    """(groups,) a total of each group, however large: of the numbers, or else of their cells."""
    found = sum(
        (_column_units(encoded, total, at) for at in total.positions), np.zeros(1, np.int64)
    )
    if total.level is Level.GROUP:
        return found
    before = np.concatenate([[0], np.cumsum(found)])
    return np.asarray(before[encoded.offsets[1:]] - before[encoded.offsets[:-1]])


def joint_bands(encoded: Encoded, totals: Totals) -> tuple[Ints, Ints]:
    """(groups,) the band of a group's own largest amount; and of what its members have together."""
    assert totals.joint is not None  # noqa: S101  (whoever asks knows that there is one)
    at, total = totals.joint
    attribute = list(encoded.schema.group_attributes.values())[at]
    assert isinstance(attribute, Numeric)  # noqa: S101  (only numbers are amounts)
    own = np.array(in_bands(attribute, BANDS))[encoded.group[:, at]]
    members = np.searchsorted(totals.edges(), total_units(encoded, total), side="right")
    return own, members


def _column_units(encoded: Encoded, total: GroupTotal, at: int) -> Ints:
    """(rows,) how much everybody has of one of a total's numbers; a blank is nothing."""
    schema = encoded.schema
    group = total.level is Level.GROUP
    attributes = schema.group_attributes if group else schema.individual_attributes
    name, attribute = list(attributes.items())[at]
    assert isinstance(attribute, Numeric)  # noqa: S101  (only numbers are amounts)
    if encoded.numbers is not None:
        numbers = (encoded.numbers.group if group else encoded.numbers.individual)[name]
        units = np.nan_to_num(numbers, nan=0.0) * (UNITS / total.cap)
        return np.rint(np.clip(units, -LARGEST, LARGEST)).astype(np.int64)
    cells = encoded.cells and (encoded.cells.group if group else encoded.cells.individual)
    if cells and name in cells:
        return np.array(total.units(finer(attribute) or attribute))[cells[name]]
    codes = encoded.group if group else encoded.individual
    return np.array(total.units(attribute))[codes[:, at]]
