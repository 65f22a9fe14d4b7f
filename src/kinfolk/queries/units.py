"""The privacy unit: whom the guarantee protects, against what change, and what it leaves public.

There is no default. A guarantee for one person's attributes and a guarantee for a whole household
differ by more than any epsilon, so the unit is chosen by name and printed wherever epsilon is.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kinfolk.errors import KinfolkError

_IRREGULAR = {"people": "person", "children": "child", "men": "man", "women": "woman"}


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

    def within(
        self,
        *,
        max_size: int,
        group_table: str = "households",
        individual_table: str = "persons",
        roles: bool = False,
        derived: bool = True,
    ) -> UnitTerms:
        """The unit spelled out for one schema; `roles` says whether members have roles.

        `derived` says whether a group's attributes that are computed from its members are taken to
        change with them. Without it, the promise is for changes that leave them as they are.

        >>> print(Unit.GROUP.within(max_size=9).neighbours)
        Replace one whole household by any other household of 1 to 9 members.
        >>> print(Unit.INDIVIDUAL.within(max_size=9).public[1])
        the number of persons
        """
        if max_size < 1:
            raise KinfolkError(f"max_size is {max_size!r}. A group has at least one member.")
        group, member = singular(group_table), singular(individual_table)
        domain = "the domain: every attribute and the values it can take"
        if self is Unit.GROUP:
            return UnitTerms(
                unit=self,
                name=group,
                neighbours=f"Replace one whole {group} by any other {group} of 1 to {max_size} "
                "members.",
                protects=f"everything about a {group}: its members and their attributes, their "
                "number, and its own attributes",
                public=(
                    f"the number of {group_table} kept",
                    f"the maximum size, {max_size}",
                    domain,
                ),
            )
        where = "" if derived else f", where no attribute of a {group} is computed from them"
        kept = ", except attributes derived from its members" if derived else ""
        public = ", except those derived from its members" if derived else ""
        return UnitTerms(
            unit=self,
            name=member,
            neighbours=f"Replace the attributes of one {member} in place{where}; every {group} "
            f"keeps its size and its own attributes{kept}.",
            protects=f"the attributes of one {member}",
            public=(
                f"the number of {group_table} kept",
                f"the number of {individual_table}",
                f"the size of every {group}",
                *((f"the role of every {member}",) if roles else ()),
                f"the own attributes of every {group}{public}",
                f"the maximum size, {max_size}",
                domain,
            ),
        )


@dataclass(frozen=True, kw_only=True)
class UnitTerms:
    """A unit in the words of one schema: what a certificate prints.

    >>> terms = Unit.parse("person").within(max_size=9)
    >>> terms.name, terms.protects
    ('person', 'the attributes of one person')
    """

    unit: Unit
    """The unit."""
    name: str
    """What the schema calls it."""
    neighbours: str
    """The change that the guarantee hides."""
    protects: str
    """What is protected."""
    public: tuple[str, ...]
    """What is treated as public: the guarantee says nothing about it."""
    unprotected: tuple[str, ...] = ()
    """What a reader might take to be protected and is not; said where the paper's claim is used."""


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
