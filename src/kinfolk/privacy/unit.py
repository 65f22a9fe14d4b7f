"""The privacy unit and its neighbours: whom a guarantee protects, against what, what is public.

There is no default. A guarantee for one person's attributes and a guarantee for a whole household
differ by more than any epsilon, so the unit is chosen by name and printed wherever epsilon is.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kinfolk.errors import KinfolkError
from kinfolk.schema import Schema
from kinfolk.schema.names import singular


class Unit(StrEnum):
    """Whom the guarantee protects.

    >>> Unit.parse("household")
    <Unit.GROUP: 'group'>
    >>> Unit.parse("visits", group_table="patients", individual_table="visits")
    <Unit.INDIVIDUAL: 'individual'>
    """

    GROUP = "group"
    """A whole group: its members, their number, and its own attributes."""
    INDIVIDUAL = "individual"
    """One member's attributes, inside a group that otherwise stays as it is."""

    @classmethod
    def parse(
        cls, text: str, *, group_table: str = "households", individual_table: str = "persons"
    ) -> Unit:
        """The unit a user names: household, person, group, individual, or a table of the schema.

        A word that fits both units is refused: where the group table is called persons, "person"
        may mean either.
        """
        word = singular(text)
        # `group` and `individual` mean what they say, whatever the tables are called.
        if word in (cls.GROUP.value, cls.INDIVIDUAL.value):
            return cls(word)
        group, individual = singular(group_table), singular(individual_table)
        found = [
            unit
            for unit, words in (
                (cls.GROUP, {"household", group}),
                (cls.INDIVIDUAL, {"person", individual}),
            )
            if word in words
        ]
        if len(found) == 1:
            return found[0]
        if found:
            raise KinfolkError(
                f"The unit {text!r} could mean either table. Write 'group' for one row of "
                f"{group_table} with all its members, or 'individual' for one row of "
                f"{individual_table}."
            )
        raise KinfolkError(
            f"The privacy unit is {text!r}. Choose {group!r} (or 'group'), which protects a whole "
            f"{group} with all its members, or {individual!r} (or 'individual'), which protects "
            f"one {individual}'s attributes only. There is no default."
        )


class Neighbours(StrEnum):
    """Which two datasets the guarantee makes hard to tell apart.

    >>> Neighbours.parse(None, unit=Unit.GROUP), Neighbours.parse("replace", unit=Unit.GROUP)
    (<Neighbours.ADD_REMOVE: 'add-remove'>, <Neighbours.REPLACE: 'replace'>)
    >>> Neighbours.IN_PLACE.unit
    <Unit.INDIVIDUAL: 'individual'>
    """

    ADD_REMOVE = "add-remove"
    """One whole group more or less."""
    REPLACE = "replace"
    """One whole group by another."""
    IN_PLACE = "in-place"
    """One member's attributes by others."""

    @property
    def unit(self) -> Unit:
        """Whom it protects."""
        return Unit.INDIVIDUAL if self is Neighbours.IN_PLACE else Unit.GROUP

    @classmethod
    def parse(cls, text: str | None, *, unit: Unit) -> Neighbours:
        """The neighbours a user names; by default one whole group more or less."""
        if text is None:
            return cls.IN_PLACE if unit is Unit.INDIVIDUAL else cls.ADD_REMOVE
        known = [one for one in cls if one.unit is unit]
        if text in known:
            return cls(text)
        choices = " or ".join(repr(one.value) for one in known)
        raise KinfolkError(
            f"neighbours is {text!r}. With the {unit.value} as the unit, it can be {choices}."
        )


@dataclass(frozen=True, kw_only=True)
class Wording:
    """A guarantee in the words of one schema: what a certificate prints.

    >>> from kinfolk.datasets import load_schema
    >>> wording = Wording.of(load_schema("acs-red"), Neighbours.IN_PLACE)
    >>> wording.name, wording.protects
    ('person', 'the attributes of one person')
    """

    name: str
    """What the schema calls the unit."""
    neighbours: str
    """The change that the guarantee hides."""
    protects: str
    """What is protected."""
    public: tuple[str, ...]
    """What is treated as public: the guarantee says nothing about it."""

    @classmethod
    def of(cls, schema: Schema, neighbours: Neighbours, *, derived: bool = True) -> Wording:
        """The words for a schema, made from what its sensitivities are made from.

        `derived` says whether a group's attributes that are computed from its members are taken to
        change with them. Without it, the promise is for changes that leave them as they are.
        """
        tables = schema.table_names
        # Without a group table every row stands for itself.
        flat = schema.group is None
        group_table, member_table = tables[0], tables[-1]
        group, member = singular(group_table), singular(member_table)
        if flat and neighbours is Neighbours.IN_PLACE:
            return cls(
                name=member,
                neighbours=f"Replace the attributes of one {member} by others.",
                protects=f"the attributes of one {member}",
                public=(f"the number of {member_table}", _DOMAIN, *_rules(schema)),
            )
        if neighbours.unit is Unit.GROUP:
            return _of_groups(schema, neighbours, group, group_table)
        computed = derived and any(one.derived for one in schema.group_attributes.values())
        where = "" if derived else f", where no attribute of a {group} is computed from them"
        kept = ", except attributes derived from its members" if computed else ""
        public = ", except those derived from its members" if computed else ""
        return cls(
            name=member,
            neighbours=f"Replace the attributes of one {member} in place{where}; every {group} "
            f"keeps its size and its own attributes{kept}.",
            protects=f"the attributes of one {member}",
            public=(
                f"the number of {group_table} kept",
                f"the number of {member_table}",
                f"the size of every {group}",
                *((f"the role of every {member}",) if schema.roles is not None else ()),
                f"the own attributes of every {group}{public}",
                f"the maximum size, {schema.size_limit}",
                _DOMAIN,
                *_rules(schema),
            ),
        )


_DOMAIN = "the domain: every attribute and the values it can take"


def _rules(schema: Schema) -> tuple[str, ...]:
    return ("the rules: what the schema says cannot be",) if schema.never else ()


def _of_groups(schema: Schema, neighbours: Neighbours, group: str, table: str) -> Wording:
    """For a whole group: one that cleaning drops counts for as much as any other."""
    losses = dropped(schema)
    dropping = f", whether it is kept or dropped ({'; '.join(losses)})" if losses else ""
    if neighbours is Neighbours.ADD_REMOVE:
        change = f"Add or remove one whole {group} of any kind{dropping}."
        numbers: tuple[str, ...] = ()
    else:
        change = f"Replace one whole {group} by any other {group}{dropping}."
        all_kept = "" if losses else ", all of which are kept"
        numbers = (f"the number of {table} in the file{all_kept}",)
    there = "that it is there, " if neighbours is Neighbours.ADD_REMOVE else ""
    what = (
        "its values"
        if schema.group is None
        else ("its members and their attributes, their number, and its own attributes")
    )
    limit = () if schema.group is None else (f"the maximum size, {schema.size_limit}",)
    return Wording(
        name=group,
        neighbours=change,
        protects=f"everything about a {group}: {there}{what}",
        public=(*numbers, *limit, _DOMAIN, *_rules(schema)),
    )


def dropped(schema: Schema) -> tuple[str, ...]:
    """Which groups cleaning leaves out, in words; where there are none, all groups are kept.

    A group without a member that it must have, or with a second one of a unique role, is not left
    out: it is a mistake in the data, which is refused.

    >>> from kinfolk.datasets import load_schema
    >>> dropped(load_schema("acs-red"))
    ('more than 3 members',)
    """
    ruled = ("against a rule",) if schema.never and schema.on_violation == "drop" else ()
    if schema.group is None:
        return ruled
    losses: list[str] = []
    roles = () if schema.roles is None else tuple(schema.roles.roles.values())
    if schema.oversize == "drop":
        losses.append(f"more than {schema.size_limit} members")
        if any(role.max > 1 for role in roles):
            losses.append("more members of a role than it can have")
    others = schema.roles is not None and schema.roles.others == "drop"
    if others and not any(role.min for role in roles):
        losses.append("nobody in a declared role")
    return (*losses, *ruled)


def check_rules_fit_unit(schema: Schema, neighbours: Neighbours) -> None:
    """Refuse to drop whole groups for what one member is like, where one member is protected.

    Another value for one member could make the group vanish with everybody in it, which is more
    than the sensitivities of that unit allow for.
    """
    if neighbours is Neighbours.IN_PLACE and schema.never and schema.on_violation == "drop":
        raise KinfolkError(
            "the unit is one individual, and `on_violation: drop` leaves out whole groups for what "
            "one of their members is like: more than this unit's promise covers. Mend the data and "
            "write `on_violation: error`, or protect whole groups (--unit household)."
        )
