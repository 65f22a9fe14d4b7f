"""How things are called: attributes where a list names them, a row of a table, and files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from kinfolk.errors import KinfolkError, did_you_mean

if TYPE_CHECKING:
    from kinfolk.schema.schema import Schema


class UnknownAttributeError(KinfolkError):
    """A name that means no attribute, or more than one."""

    def __init__(self, what: str, fix: str) -> None:
        self.what, self.fix = what, fix
        super().__init__(f"{what} {fix}")


@dataclass(frozen=True)
class AttributeNames:
    """Attribute names -> positions: 0..g-1 group, g the size, the individual ones, the role."""

    schema: Schema

    @property
    def first_individual(self) -> int:
        """The position of the first individual attribute."""
        return len(self.schema.group_attributes) + 1

    def is_individual(self, position: int) -> bool:
        """Whether a position is an individual attribute's."""
        return position >= self.first_individual

    def is_role(self, position: int) -> bool:
        """Whether a position is that of the role."""
        return position >= self.first_individual + len(self.schema.individual_attributes)

    def size(self, position: int) -> int:
        """How many categories the attribute at a position has."""
        return self._sizes[position]

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        group, members = self.schema.group_attributes, self.schema.member_attributes
        own, theirs = ([one.size for one in part.values()] for part in (group, members))
        return (*own, len(self.schema.sizes), *theirs)

    @property
    def all(self) -> list[int]:
        """Every position; flat data has no group part and no size."""
        group = len(self.schema.group_attributes)
        first = 0 if self.schema.group is not None else group + 1
        return list(range(first, group + 1 + len(self.schema.member_attributes)))

    def find(self, name: str) -> int:
        """The position of an attribute, or of the size."""
        places = self.places()
        found = places.get(name, [])
        if len(found) == 1:
            return found[0]
        if found:
            tables = " or ".join(f"{table}.{name}" for table in self.schema.table_names)
            raise UnknownAttributeError(
                f"attribute {name!r} is in both tables.", f"Write {tables}."
            )
        hint = did_you_mean(name, places)
        raise UnknownAttributeError(f"attribute {name!r} is unknown.", hint)

    def places(self) -> dict[str, list[int]]:
        """Every name an attribute may be called by, and the positions it means."""
        group, individual = self.schema.group_attributes, self.schema.member_attributes
        places: dict[str, list[int]] = {}
        if self.schema.group is not None:
            for position, name in enumerate(group):
                places.setdefault(name, []).append(position)
            places.setdefault(self.schema.count, []).append(len(group))
        for position, name in enumerate(individual, start=len(group) + 1):
            places.setdefault(name, []).append(position)
        for name in [name for name, found in places.items() if len(found) > 1]:
            for table, position in zip(self.schema.table_names, places[name], strict=False):
                places[f"{table}.{name}"] = [position]
        return places

    def by_position(self) -> dict[int, str]:
        """Positions -> names: one name each, also where both tables share it.

        >>> from kinfolk.datasets import load_schema
        >>> names = AttributeNames(load_schema("detroit")).by_position()
        >>> names[4], names[6], names[9]
        ('households.race_id', 'COUNT', 'persons.race_id')
        """
        names = {found[0]: name for name, found in self.places().items() if len(found) == 1}
        return dict(sorted(names.items()))


_IRREGULAR = {"people": "person", "children": "child", "men": "man", "women": "woman"}


def singular(table: str) -> str:
    """One row of a table, in words.

    >>> [singular(name) for name in ("households", "Families", "people", "boxes", "class")]
    ['household', 'family', 'person', 'box', 'class']
    """
    word = table.strip().lower()
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


LONGEST = 200
"""Bytes of a name; file systems allow 255, and a suffix and a temporary name have to fit."""

_FOLDER = re.compile(r"[/\\]|^\.{1,2}$")
_FORBIDDEN = re.compile(r"[:\x00-\x1f\x7f\ud800-\udfff]")
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)


def unfit(name: str) -> tuple[str, str] | None:
    """Why something cannot be the name of a file, and what to do; None for a good name.

    >>> unfit("households")
    >>> unfit("C:x")
    ("'C:x' cannot be the name of a file: it contains ':'.", 'Leave that out.')
    >>> unfit("Con")
    ("'Con' cannot be the name of a file: Windows keeps it for a device.", 'Choose another.')
    """
    shown = ascii(name) if _FORBIDDEN.search(name) else repr(name)
    if _FOLDER.search(name):
        return f"{shown} cannot be the name of a file.", "Write a name without a folder."
    if bad := _FORBIDDEN.search(name):
        what = f"{shown} cannot be the name of a file: it contains {bad[0]!a}."
        return what, "Leave that out."
    if _RESERVED.fullmatch(name.strip()):
        what = f"{shown} cannot be the name of a file: Windows keeps it for a device."
        return what, "Choose another."
    if (length := len(name.encode())) > LONGEST:
        what = f"a name of {length} bytes ({name[:20]!r}, ...) is too long for a file."
        return what, f"Use at most {LONGEST}."
    return None
