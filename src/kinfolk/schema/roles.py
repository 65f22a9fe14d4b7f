"""Roles inside a group (head, spouse, child) and the relations between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from kinfolk.errors import Findings
from kinfolk.schema.attributes import Categorical, Value, check_values, kind_of, shown

OTHER_ROLE = "other"
"""The role that people with an unlisted value get under `others: keep`."""

MOST_COMPOSITIONS = 20_000
"""Ways in which groups can be made up of roles. Every one is looked at for what it can move, and
has a probability of its own in every component of a model."""

RESERVED = ("column", "others")
"""Keys of the `roles` section that are not role names."""


@dataclass(frozen=True, kw_only=True)
class Role:
    """One role: which values of the role column mean it, and how many a group may have.

    A role with `max: 1` is unique: a second head or spouse is a mistake in the data. A larger
    `max` is a capacity: a group that exceeds it is oversize and treated as `oversize` says.
    """

    values: Sequence[Value]
    """Values of the role column; the first is the one written into synthetic data."""
    min: int = 0
    """How many every group has at least."""
    max: int = 1
    """How many a group has at most."""

    def __post_init__(self) -> None:
        findings = Findings()
        if isinstance(self.values, str) or not isinstance(self.values, Sequence):
            fix = "List the values of the role column that mean this role, such as [0]."
            findings.add("values", f"{shown(self.values)} is not a list.", fix)
        else:
            object.__setattr__(self, "values", tuple(self.values))
            check_values(self.values, findings)
        for name, least in (("min", 0), ("max", 1)):
            number = getattr(self, name)
            if not is_whole(number) or number < least:
                what = f"{shown(number)} is not a whole number of at least {least}."
                findings.add(name, what, "Say how many members of this role a group may have.")
        if not findings.problems and self.min > self.max:
            what = f"min {self.min} is larger than max {self.max}."
            findings.add("min", what, "Lower min or raise max.")
        findings.raise_if_any("role")


@dataclass(frozen=True, kw_only=True)
class Roles:
    """The roles of a group's members, read from one column of the individual table.

    >>> roles = Roles(column="relate", roles={"head": Role(values=[0], min=1)}, others="drop")
    >>> roles.names
    ('head',)
    """

    column: str
    """The column that says who somebody is."""
    roles: Mapping[str, Role]
    """The roles by name, in order."""
    others: Literal["drop", "keep"] = "drop"
    """What becomes of people whose value no role lists: left out, or one more role, 'other'."""

    def __post_init__(self) -> None:
        findings = Findings()
        if self.others not in ("drop", "keep"):
            what = f"{shown(self.others)} is neither drop nor keep."
            findings.add("others", what, "Write `others: drop` or `others: keep`.")
        if not self.roles:
            fix = "Add at least one, such as `head: {values: [0], min: 1, max: 1}`."
            findings.add("", "no role is declared.", fix)
        taken: dict[tuple[str, Value], str] = {}
        kinds: dict[str, str] = {}
        for name, role in self.roles.items():
            if name in RESERVED or (name == OTHER_ROLE and self.others == "keep"):
                findings.add(name, f"{name!r} cannot be a role's name here.", "Rename the role.")
            kinds.setdefault(kind_of(role.values[0]), name)
            for index, value in enumerate(role.values):
                key = kind_of(value), value
                if key in taken:
                    what = f"{shown(value)} already means {taken[key]}."
                    findings.add(f"{name}.values[{index}]", what, "A value means one role only.")
                taken.setdefault(key, name)
        if len(kinds) > 1:
            mixed = " and ".join(f"{kind} ({name})" for kind, name in kinds.items())
            findings.add("", f"the roles' values mix {mixed}.", "Use one kind for all roles.")
        findings.raise_if_any("roles")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all roles; 'other' comes last under `others: keep`."""
        return (*self.roles, *((OTHER_ROLE,) if self.others == "keep" else ()))

    @cached_property
    def by_name(self) -> Categorical:
        """The role as an attribute whose values are the names."""
        return Categorical(values=self.names)

    def attribute(self, *, labels: bool = False) -> Categorical:
        """The column as an attribute: each role is written as the first of its values, or its name.

        Under `others: keep` the remaining people are written as blank.
        """
        named = [role.values[0] for role in self.roles.values()]
        return Categorical(
            values=list(self.roles) if labels else named, missing=self.others == "keep"
        )

    def limits(self, max_size: int) -> tuple[tuple[int, int], ...]:
        """How many members of each role a group of at most `max_size` may have: (min, max)."""
        required = sum(role.min for role in self.roles.values())
        # Where the others leave less room than `max`, that is the limit.
        room = max_size - required
        listed = [(role.min, min(role.max, role.min + room)) for role in self.roles.values()]
        return (*listed, *(((0, room),) if self.others == "keep" else ()))

    def number_of_compositions(self, max_size: int) -> int:
        """How many compositions there are, without listing them.

        >>> roles = Roles(column="rel", roles={"head": Role(values=[0]), "kid": Role(values=[1])})
        >>> roles.number_of_compositions(2), roles.compositions(2)
        (3, ((0, 1), (1, 0), (1, 1)))
        """
        # ways[n] is in how many ways the roles so far make up n members.
        ways = [1] + [0] * max_size
        for low, high in self.limits(max_size):
            ways = [
                sum(ways[size - number] for number in range(low, min(high, size) + 1))
                for size in range(max_size + 1)
            ]
        return sum(ways[1:])

    def compositions(self, max_size: int) -> tuple[tuple[int, ...], ...]:
        """How many members of each role a group of 1 to `max_size` can have, in order."""
        limits = self.limits(max_size)
        # What the roles after each one take at least.
        later = [sum(low for low, _ in limits[at + 1 :]) for at in range(len(limits))]
        found: list[tuple[int, ...]] = [()]
        for (low, high), rest in zip(limits, later, strict=True):
            found = [
                (*one, number)
                for one in found
                for number in range(low, min(high, max_size - rest - sum(one)) + 1)
            ]
        return tuple(one for one in found if sum(one))


def check_relations(
    relations: Mapping[str, Sequence[Sequence[str]]], roles: Roles | None
) -> dict[str, tuple[tuple[str, str], ...]]:
    """Check that relations are lists of [person, relative] pairs of declared roles."""
    findings = Findings()
    checked: dict[str, tuple[tuple[str, str], ...]] = {}
    if relations and roles is None:
        fix = "Declare `roles:` (who is head, spouse, child), or remove the relations."
        findings.add("", "relations need roles, and there are none.", fix)
        findings.raise_if_any("relations")
    for name, pairs in relations.items():
        if isinstance(pairs, str) or not isinstance(pairs, Sequence) or not pairs:
            fix = "Write [[person, relative], ...], such as [[head, spouse]]."
            findings.add(name, f"{shown(pairs)} is not a list of pairs.", fix)
            continue
        for index, pair in enumerate(pairs):
            place = f"{name}[{index}]"
            if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
                fix = "Write [person, relative], such as [head, spouse]."
                findings.add(place, f"{shown(pair)} is not a pair of roles.", fix)
                continue
            for role in pair:
                if roles is not None and role not in roles.names:
                    fix = f"Declared roles: {', '.join(roles.names)}."
                    findings.add(place, f"{shown(role)} is not a declared role.", fix)
            if pair in pairs[:index]:
                findings.add(place, f"the pair {shown(pair)} is listed twice.", "Remove one.")
        if not findings.problems:
            checked[name] = tuple((str(pair[0]), str(pair[1])) for pair in pairs)
    findings.raise_if_any("relations")
    return checked


def is_whole(number: object) -> bool:
    """Whether something is a whole number; true and false are not."""
    return isinstance(number, int) and not isinstance(number, bool)
