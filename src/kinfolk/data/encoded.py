"""Groups and their members as compact integer codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kinfolk.schema import Schema

CodeArray: TypeAlias = npt.NDArray[np.uint8 | np.uint16]


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
class Numbers:
    """The numbers that codes stand for, where they have been drawn or kept; a blank is NaN."""

    group: Mapping[str, npt.NDArray[np.float64]]
    """(groups,) of every numeric attribute of the group, by name."""
    individual: Mapping[str, npt.NDArray[np.float64]]
    """(people,) of every numeric attribute of individuals, by name."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CellCodes:
    """In which cell of its bin a number lies, as `schema.bins` cuts bins into cells."""

    group: Mapping[str, npt.NDArray[np.uint16]]
    """(groups,) of every group attribute that is counted finely, by name."""
    individual: Mapping[str, npt.NDArray[np.uint16]]
    """(people,) of every individual attribute that is counted finely, by name."""


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
    def sizes(self) -> npt.NDArray[np.int64]:
        """(groups,) how many members each group has."""
        return np.diff(self.offsets)

    def take(self, chosen: npt.NDArray[np.int64]) -> Encoded:
        """The chosen groups with their members, in that order; a group may be chosen twice."""
        offsets = np.concatenate([[0], np.cumsum(self.sizes[chosen])])
        rows = np.repeat(self.offsets[chosen] - offsets[:-1], self.sizes[chosen])
        people = rows + np.arange(offsets[-1])
        numbers = self.numbers and Numbers(
            group={name: column[chosen] for name, column in self.numbers.group.items()},
            individual={name: column[people] for name, column in self.numbers.individual.items()},
        )
        return replace(
            self,
            group=self.group[chosen],
            individual=self.individual[people],
            offsets=offsets,
            role=None if self.role is None else self.role[people],
            numbers=numbers,
            cells=self.cells
            and CellCodes(
                group={name: column[chosen] for name, column in self.cells.group.items()},
                individual={name: column[people] for name, column in self.cells.individual.items()},
            ),
        )

    @classmethod
    def joined(cls, parts: Sequence[Encoded]) -> Encoded:
        """Several datasets of one schema as one, the groups in order."""
        if len(parts) == 1:
            return parts[0]
        roles = [part.role for part in parts if part.role is not None]
        drawn = [part.numbers for part in parts if part.numbers is not None]
        numbers = drawn[0] if drawn else None
        return replace(
            parts[0],
            group=np.concatenate([part.group for part in parts]),
            individual=np.concatenate([part.individual for part in parts]),
            offsets=np.concatenate([[0], np.cumsum(np.concatenate([p.sizes for p in parts]))]),
            role=np.concatenate(roles) if roles else None,
            cells=None,
            numbers=numbers
            and Numbers(
                group={n: np.concatenate([one.group[n] for one in drawn]) for n in numbers.group},
                individual={
                    n: np.concatenate([one.individual[n] for one in drawn])
                    for n in numbers.individual
                },
            ),
        )

    def __repr__(self) -> str:
        return f"Encoded({self.groups:,} groups, {self.people:,} people)"


def code_type(schema: Schema) -> type[np.uint8 | np.uint16]:
    """The smallest type that holds every code of the schema."""
    attributes = [*schema.group_attributes.values(), *schema.individual_attributes.values()]
    return np.uint8 if max(a.size for a in attributes) <= 256 else np.uint16


def storage_types(columns: Mapping[str, pa.ChunkedArray]) -> dict[str, pa.DataType]:
    """The Arrow types of columns."""
    return {name: column.type for name, column in columns.items()}
