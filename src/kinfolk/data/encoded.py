"""Groups and their members as compact integer codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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

    def __add__(self, other: Cleaning) -> Cleaning:
        ours, theirs = vars(self), vars(other)
        return Cleaning(**{name: ours[name] + theirs[name] for name in ours})


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
    cleaning: Cleaning = field(default_factory=Cleaning)
    """What was left out on the way."""
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

    def __repr__(self) -> str:
        return f"Encoded({self.groups:,} groups, {self.people:,} people)"


def code_type(schema: Schema) -> type[np.uint8 | np.uint16]:
    """The smallest type that holds every code of the schema."""
    attributes = [*schema.group_attributes.values(), *schema.individual_attributes.values()]
    return np.uint8 if max(a.size for a in attributes) <= 256 else np.uint16


def storage_types(columns: Mapping[str, pa.ChunkedArray]) -> dict[str, pa.DataType]:
    """The Arrow types of columns."""
    return {name: column.type for name, column in columns.items()}
