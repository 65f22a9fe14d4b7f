"""The schema: two linked tables, their declared domain, and what is asked of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kinfolk.errors import Findings, KinfolkError, SchemaError, did_you_mean
from kinfolk.schema.attributes import Attribute, Categorical, shown
from kinfolk.schema.conditions import has_numbers
from kinfolk.schema.names import AttributeNames, UnknownAttributeError, unfit
from kinfolk.schema.roles import MOST_COMPOSITIONS, Roles, check_relations, is_whole
from kinfolk.schema.workload_spec import Level, WorkloadSpec, is_list

if TYPE_CHECKING:
    from kinfolk.schema.formulas import Formula
    from kinfolk.schema.rules import Rule


@dataclass(frozen=True, kw_only=True)
class GroupTable:
    """The table with one row per group."""

    table: str
    """Its name, and the name of its file."""
    id: str
    """The column that identifies a group."""
    attributes: Mapping[str, Attribute]
    """Its declared columns, in order."""
    weight: str | None = None
    """The attribute that says how many groups of the population one stands for."""


@dataclass(frozen=True, kw_only=True)
class IndividualTable:
    """The table with one row per individual."""

    table: str
    """Its name, and the name of its file."""
    group_id: str | None
    """The column that says which group somebody belongs to; None for flat data."""
    attributes: Mapping[str, Attribute]
    """Its declared columns, in order."""


def spoilt(findings: Findings) -> bool:
    """Whether something is wrong with what rules and formulas name."""
    sections = ("group", "individual", "roles", "max_size", "count")
    return any(problem.where.startswith(sections) for problem in findings.problems)


@dataclass(frozen=True, kw_only=True)
class Schema:
    """Everything that is public about the data: tables, domain, sizes, roles, queries.

    >>> from kinfolk.schema import Categorical
    >>> schema = Schema(
    ...     group=GroupTable(
    ...         table="households",
    ...         id="household_id",
    ...         attributes={"veh": Categorical(values=[0, 1, 2])},
    ...     ),
    ...     individual=IndividualTable(
    ...         table="persons",
    ...         group_id="household_id",
    ...         attributes={"sex": Categorical(values=[1, 2], labels=["male", "female"])},
    ...     ),
    ...     max_size=4,
    ...     workload=WorkloadSpec(k=2),
    ... )
    >>> schema.size_limit, list(schema.sizes), schema.count
    (4, [1, 2, 3, 4], 'COUNT')
    """

    group: GroupTable | None
    """The group table; None for flat data, where every row is a group of its own."""
    individual: IndividualTable
    """The individual table."""
    max_size: int
    """M: how many members a group has at most."""
    oversize: Literal["drop", "first"] = "drop"
    """What becomes of larger groups: left out, or cut to their first members."""
    count: str = "COUNT"
    """The name under which a group's size is queried."""
    roles: Roles | None = None
    """Who the members are, where that is known."""
    relations: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    """Named relations, each a list of (person, relative) role pairs."""
    workload: WorkloadSpec = field(default_factory=WorkloadSpec)
    """The queries that the synthetic data should answer well."""
    domain: Literal["declared", "drafted"] = "declared"
    """Where the domain comes from: public knowledge, or a draft read off the data (a leak)."""
    never: Sequence[str] = ()
    """Rules: what cannot be. Public knowledge, never read off the data."""
    on_violation: Literal["error", "drop"] = "error"
    """What becomes of groups in the data that break a rule: refused, or left out."""

    def __post_init__(self) -> None:
        findings = Findings()
        self._check_names(findings)
        self._check_sizes(findings)
        try:
            object.__setattr__(self, "relations", check_relations(self.relations, self.roles))
        except SchemaError as error:
            findings.absorb(error, under="relations")
        self._check_workload(findings)
        if self.domain not in ("declared", "drafted"):
            what = f"{shown(self.domain)} is neither declared nor drafted."
            findings.add("domain", what, "Write declared once every value is public knowledge.")
        self._check_rules(findings)
        findings.raise_if_any("schema")

    def _check_names(self, findings: Findings) -> None:
        individual = self.individual
        for name, attribute in individual.attributes.items():
            if attribute.derived:
                fix = "Only group attributes can be derived; remove it."
                findings.add(
                    f"individual.attributes.{name}.derived",
                    "an individual attribute is not computed from members.",
                    fix,
                )
        if not individual.attributes:
            findings.add("individual.attributes", "there are none.", "Declare at least one.")
        role = self.roles.column if self.roles else None
        for column, holds in ((individual.group_id, "the group's id"), (role, "the roles")):
            if column in individual.attributes:
                what = f"{column!r} is also the column that holds {holds}."
                fix = "Remove it here; kinfolk writes that column itself."
                findings.add(f"individual.attributes.{column}", what, fix)
        if role is not None and role == individual.group_id:
            what = f"{role!r} is also the column that holds the group's id."
            findings.add("roles.column", what, "Name the column that says who is who.")
        for section, table in (("group", self.group), ("individual", individual)):
            if table is not None and (reason := unfit(table.table)):
                findings.add(f"{section}.table", *reason)
        if self.group is None:
            return
        if individual.group_id is None:
            fix = "Name the column that holds the group's id."
            findings.add("individual.group_id", "it is not given.", fix)
        if self.group.table.casefold() == individual.table.casefold():
            # Some systems do not tell upper case from lower case in the names of files.
            names = list(dict.fromkeys(map(repr, self.table_names)))
            what = f"both tables are called {' or '.join(names)}."
            findings.add("individual.table", what, "Give them different names.")
        if self.group.id in self.group.attributes:
            what = f"{self.group.id!r} is also the id."
            findings.add(f"group.attributes.{self.group.id}", what, "An id is not an attribute.")
        if self.count in self.group.attributes or self.count in individual.attributes:
            what = f"{self.count!r} is also an attribute."
            findings.add("count", what, "Choose another name for the size of a group.")

    def _check_sizes(self, findings: Findings) -> None:
        if not is_whole(self.max_size) or self.max_size < 1:
            what = f"{shown(self.max_size)} is not a whole number of at least 1."
            findings.add("max_size", what, "Say how many members a group has at most.")
        elif self.max_size > 255:
            what = f"{self.max_size} members are more than kinfolk handles."
            findings.add("max_size", what, "Use at most 255 and choose what happens above.")
        elif self.group is None and self.max_size != 1:
            fix = "Declare `group:`, or set max_size: 1 where every row stands alone."
            findings.add("max_size", f"{self.max_size} without a group table.", fix)
        elif self.roles and self.group is not None:
            required = sum(role.min for role in self.roles.roles.values())
            if required > self.max_size:
                what = f"the roles require {required} members, max_size allows {self.max_size}."
                findings.add("max_size", what, "Raise max_size or lower the roles' min.")
            elif (number := self.roles.number_of_compositions(self.max_size)) > MOST_COMPOSITIONS:
                what = (
                    f"groups can be made up of the roles in {number:,} ways, more than the "
                    f"{MOST_COMPOSITIONS:,} that kinfolk handles."
                )
                fix = "Lower max_size or the roles' max, or put rare roles together."
                findings.add("roles", what, fix)
        if self.oversize not in ("drop", "first"):
            what = f"{shown(self.oversize)} is neither drop nor first."
            findings.add("oversize", what, "Write drop (leave large groups out) or first.")
        if self.group is None and self.roles:
            findings.add("roles", "roles need a group table.", "Declare `group:`.")

    def _check_workload(self, findings: Findings) -> None:
        spec, names = self.workload, AttributeNames(self)
        available = len(names.all)
        if spec.k > available:
            counted = f" ({self.count} included)" if self.group else ""
            what = f"k = {spec.k}, but there are {available} attributes{counted}."
            findings.add("workload.k", what, f"Use k of at most {available}.")
        if Level.RELATION in spec.levels and not self.relations:
            fix = "Declare `relations:` or remove the level."
            place = f"workload.levels[{list(spec.levels).index(Level.RELATION)}]"
            findings.add(place, "relation queries need relations, and there are none.", fix)

        listed = [(f"attributes[{i}]", name) for i, name in enumerate(spec.attributes)]
        listed += [
            (f"sets[{i}][{j}]", name)
            for i, one in enumerate(spec.sets)
            for j, name in enumerate(one)
        ]
        listed += [
            (f"priorities[{i}].attributes[{j}]", name)
            for i, one in enumerate(spec.priorities)
            for j, name in enumerate(one.attributes)
        ]
        for i, one in enumerate(spec.priorities):
            if one.relation is not None and one.relation not in self.relations:
                fix = did_you_mean(one.relation, self.relations)
                place = f"workload.priorities[{i}].relation"
                findings.add(place, f"{shown(one.relation)} is not a relation.", fix)
        for place, name in listed:
            try:
                names.find(name)
            except UnknownAttributeError as error:
                findings.add(f"workload.{place}", error.what, error.fix)
        if spec.attributes and not spec.sets and spec.k > len(spec.attributes):
            what = f"k = {spec.k}, but only {len(spec.attributes)} attributes are listed."
            findings.add("workload.k", what, f"Use k of at most {len(spec.attributes)}.")

    def _check_rules(self, findings: Findings) -> None:
        if self.on_violation not in ("error", "drop"):
            what = f"{shown(self.on_violation)} is neither error nor drop."
            fix = "Write error (refuse such data) or drop (leave such groups out)."
            findings.add("on_violation", what, fix)
        weight = self.group.weight if self.group else None
        if weight is not None and weight not in self.group_attributes:
            fix = did_you_mean(weight, self.group_attributes)
            findings.add("group.weight", f"{shown(weight)} is not a group attribute.", fix)
        elif weight is not None and not has_numbers(self.group_attributes[weight]):
            what = f"{shown(weight)} has no numbers."
            findings.add("group.weight", what, "A weight is a number.")
        if not is_list(self.never):
            fix = "Write a list of rules, such as `- age < 16 and marital not missing`."
            findings.add("never", f"{shown(self.never)} is not a list.", fix)
            return
        object.__setattr__(self, "never", tuple(self.never))
        if spoilt(findings):
            # Names and domains must stand before anything can be said with them.
            return
        # Looked up here, so that a command that has no schema starts without NumPy.
        from kinfolk.schema.formulas import Formula
        from kinfolk.schema.rules import check_rules

        for name, attribute in self.group_attributes.items():
            if isinstance(attribute.derived, str):
                try:
                    Formula.parse(attribute.derived, self).check_target(attribute)
                except SchemaError as error:
                    findings.absorb(error, under=f"group.attributes.{name}.derived")
        check_rules(self.never, self, findings)

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, as they are checked."""
        from kinfolk.schema.rules import Rule

        return tuple(Rule.parse(text, self) for text in self.never)

    @cached_property
    def formulas(self) -> Mapping[str, Formula]:
        """How group attributes are computed from the members, where that is known, by name."""
        from kinfolk.schema.formulas import Formula

        return {
            name: Formula.parse(attribute.derived, self)
            for name, attribute in self.group_attributes.items()
            if isinstance(attribute.derived, str)
        }

    @property
    def group_attributes(self) -> Mapping[str, Attribute]:
        """The group's attributes without its size; empty for flat data."""
        return self.group.attributes if self.group else {}

    @property
    def individual_attributes(self) -> Mapping[str, Attribute]:
        """The individual's attributes."""
        return self.individual.attributes

    @cached_property
    def member_attributes(self) -> Mapping[str, Attribute]:
        """What can be asked of a member: the individual attributes, and the role where it differs.

        A role is asked for by its name, such as `relate = head`. Who has which is not drawn like an
        attribute: it follows from the composition of the group.
        """
        if self.roles is None or len(self.roles.names) < 2:
            return self.individual.attributes
        return {**self.individual.attributes, self.roles.column: self.roles.by_name}

    @cached_property
    def size_attribute(self) -> Categorical:
        """The size of a group, as if it were an attribute like the others."""
        return Categorical(values=list(self.sizes))

    @cached_property
    def columns(self) -> Mapping[str, Mapping[str, Attribute | None]]:
        """The columns of each table that matter, groups and ids first; an id is no attribute."""
        own: dict[str, Attribute | None] = {}
        if self.individual.group_id is not None:
            own[self.individual.group_id] = None
        if self.roles is not None:
            own[self.roles.column] = self.roles.attribute()
        people = {self.individual.table: {**own, **self.individual.attributes}}
        if self.group is None:
            return people
        return {self.group.table: {self.group.id: None, **self.group.attributes}, **people}

    @property
    def size_limit(self) -> int:
        """M in effect: `max_size`, or what the roles leave room for if that is less."""
        if self.roles is None:
            return self.max_size
        return min(self.max_size, sum(high for _, high in self.roles.limits(self.max_size)))

    @property
    def sizes(self) -> range:
        """The sizes a group can have."""
        required = sum(role.min for role in self.roles.roles.values()) if self.roles else 1
        return range(max(1, required), self.size_limit + 1)

    @cached_property
    def compositions(self) -> tuple[tuple[int, ...], ...]:
        """How many members of each role a group can have; without roles, its sizes."""
        if self.roles is None:
            return tuple((size,) for size in self.sizes)
        return self.roles.compositions(self.max_size)

    @property
    def table_names(self) -> tuple[str, ...]:
        """The names of the tables, groups first."""
        own = (self.individual.table,)
        return (self.group.table, *own) if self.group else own

    @classmethod
    def of(cls, given: Schema | str | os.PathLike[str]) -> Schema:
        """A schema as it is, or the one in the file that a path names."""
        if isinstance(given, cls):
            return given
        if not isinstance(given, str | os.PathLike):
            raise KinfolkError(
                f"got {type(given).__name__} instead of a schema. Pass a Schema, or the path of a "
                "schema.yaml."
            )
        return cls.from_yaml(os.fspath(given))

    @classmethod
    def from_yaml(cls, path: str | Path) -> Schema:
        """Read a schema file; every mistake in it is reported at once."""
        from kinfolk.schema.reading import read_schema

        return read_schema(path)

    @classmethod
    def from_text(cls, text: str, *, name: str = "schema") -> Schema:
        """Read a schema from YAML text; `name` is what messages call it."""
        from kinfolk.schema.reading import parse_schema

        return parse_schema(text, name=name)

    def to_yaml(self, path: str | Path | None = None) -> str:
        """Write the schema as YAML, to a file where one is named, and return the text."""
        from kinfolk.schema.writing import schema_as_yaml

        text = schema_as_yaml(self)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def to_sdv_metadata(self) -> dict[str, Any]:
        """The metadata that SDV and SDMetrics ask for; `kinfolk init` reads such files."""
        from kinfolk.schema.writing import sdv_metadata

        return sdv_metadata(self)

    def _repr_html_(self) -> str:
        from kinfolk.schema.writing import schema_html

        return schema_html(self)
