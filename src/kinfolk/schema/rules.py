"""Rules about what cannot be: `never:` in a schema.

A rule is public knowledge, from a codebook or from common sense, and is never read off the data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from kinfolk._typing import Bools
from kinfolk.errors import Findings, SchemaError
from kinfolk.schema.attributes import shown
from kinfolk.schema.condition_evaluator import (
    Cells,
    GroupValues,
    Rows,
    cells_of,
    group_rows,
    holds,
    member_rows,
    person_rows,
)
from kinfolk.schema.conditions import Condition, Nobody, Ref, atoms, attribute_of, refs, whose
from kinfolk.schema.language import Reader
from kinfolk.schema.names import AttributeNames, singular

if TYPE_CHECKING:
    from kinfolk.schema.schema import Schema

Scope: TypeAlias = Literal["person", "household", "members", "nobody"]
"""What a condition is about."""
MOST_CELLS = 2**17
"""Rules over more cells are not searched for contradictions."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Rule:
    """A condition that holds for no group.

    It is about one person (a group breaks it if some member is such), about one household, about
    members in roles (a group breaks it if some choice of one member for each role is such), or
    about nobody (a group breaks it if no member is such). What a person's condition says of the
    group is said of the group the person belongs to. A blank is equal to nothing.

    >>> from kinfolk.datasets import load_schema
    >>> rule = Rule.parse("age < 16 and esr = employed", load_schema("detroit"))
    >>> rule.scope, [ref.name for ref in rule.refs]
    ('person', ['age', 'esr'])
    """

    text: str
    """As it stands in the schema."""
    schema: Schema
    """The schema that the names in it are from."""
    condition: Condition
    """What it says."""
    scope: Scope
    """What it is about."""

    @staticmethod
    def parse(text: str, schema: Schema) -> Rule:
        """Read a rule; a mistake in it is a SchemaError."""
        reader = Reader(text, schema)
        condition = reader.condition()
        reader.end()
        scope = scope_of(condition, reader)
        return Rule(text=text, schema=schema, condition=condition, scope=scope)

    @cached_property
    def refs(self) -> tuple[Ref, ...]:
        """The attributes that it names, each once."""
        return refs(self.condition)

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles whose members it is about."""
        return tuple(dict.fromkeys(ref.of for ref in self.refs if ref.of is not None))

    @property
    def group_positions(self) -> tuple[int, ...]:
        """The group's attributes that it names, by position; the size comes after all others."""
        names = [*self.schema.group_attributes, self.schema.count]
        own = [ref for ref in self.refs if ref.level in ("group", "count")]
        return tuple(dict.fromkeys(names.index(ref.name) for ref in own))

    @property
    def individual_positions(self) -> tuple[int, ...]:
        """The members' attributes that it names, by position among them."""
        names = list(self.schema.individual_attributes)
        own = [ref for ref in self.refs if ref.level == "individual"]
        return tuple(dict.fromkeys(names.index(ref.name) for ref in own))

    @property
    def positions(self) -> tuple[int, ...]:
        """All of them as queries count them: the group's, the size, the members'."""
        first = AttributeNames(self.schema).first_individual
        return (*self.group_positions, *(first + one for one in self.individual_positions))

    @cached_property
    def cells(self) -> Cells | None:
        """Which cells of codes are impossible (`every`), and which in part; None with nobody."""
        if any(isinstance(atom, Nobody) for atom in atoms(self.condition, inside=False)):
            return None
        return cells_of(self.condition, self.schema)

    @cached_property
    def cuts_bins(self) -> bool:
        """Whether it is about one member alone, and some numbers of a bin break it, others not.

        >>> from kinfolk.datasets import load_schema
        >>> schema = load_schema("detroit")
        >>> [Rule.parse(f"age < {age} and sex = 1", schema).cuts_bins for age in (3, 12)]
        [True, False]
        """
        alone = self.scope == "person" or (self.scope == "members" and len(self.roles) == 1)
        if not alone or self.group_positions or self.cells is None:
            return False
        return bool((self.cells.some & ~self.cells.every).any())

    def rows(self, values: GroupValues) -> Rows:
        """What it is about: groups, people, or choices of members."""
        if self.scope == "members":
            return member_rows(self.schema, values, self.roles)
        make = person_rows if self.scope == "person" else group_rows
        return make(self.schema, values)

    def violated(self, values: GroupValues) -> Bools:
        """Which groups break it, (groups,): those with something that is such."""
        rows = self.rows(values)
        broken = np.zeros(values.groups, np.bool_)
        broken[rows.groups[holds(self.condition, rows)]] = True
        return broken


def scope_of(condition: Condition, reader: Reader) -> Scope:
    """What a condition is about; it cannot be about anybody and about somebody in a role."""
    own = refs(condition, inside=False)
    person = [ref for ref in own if ref.level in ("individual", "role") and ref.of is None]
    members = [ref for ref in own if ref.of is not None]
    if person and members:
        what = f"{whose(person[0])} is anybody's, and {whose(members[0])} is one member's."
        fix = f"Write {members[0].of}.{person[0].name}, or two rules."
        reader.fail(what, fix)
    if members:
        return "members"
    if person:
        return "person"
    nobody = any(isinstance(atom, Nobody) for atom in atoms(condition, inside=False))
    return "nobody" if nobody else "household"


def check_rules(texts: Sequence[str], schema: Schema, findings: Findings) -> tuple[Rule, ...]:
    """Read all rules; note whatever is wrong with them, and what leaves nothing possible."""
    rules: list[Rule] = []
    impossible: dict[tuple[str | None, str, str], Bools] = {}
    for index, text in enumerate(texts):
        place = f"never[{index}]"
        if not isinstance(text, str) or not text.strip():
            fix = "Write what cannot be, such as `age < 16 and marital not missing`."
            findings.add(place, f"{shown(text)} is not a rule.", fix)
            continue
        if text in texts[:index]:
            findings.add(place, f"{shown(text)} is listed twice.", "Remove one.")
            continue
        try:
            rule = Rule.parse(text, schema)
        except SchemaError as error:
            findings.absorb(error, under=place)
            continue
        problem = _objection(rule) or _together(rule, impossible)
        if problem:
            findings.add(place, f"in {shown(text, most=80)}, {problem[0]}", problem[1])
        rules.append(rule)
    return tuple(rules)


def _objection(rule: Rule) -> tuple[str, str] | None:
    """Why a rule makes no sense by itself: what is wrong, and what to do."""
    schema = rule.schema
    sizes = [attribute_of(schema, ref).size for ref in rule.refs]
    if math.prod(sizes) > MOST_CELLS:
        return None
    people = singular(schema.individual.table)
    never = "it can never apply.", "Check the values, or remove the rule."
    if isinstance(rule.condition, Nobody):
        inner = cells_of(rule.condition.part, schema)
        if not inner.some.any():
            what = f"no {people} can be such, so that no group is possible."
            return what, "Check the values."
        return never if inner.every.all() else None
    cells = rule.cells
    if cells is None:
        return None
    if not cells.some.any():
        return never
    if cells.every.all():
        if rule.roles and all(_required(schema, role) for role in rule.roles):
            roles = " and a ".join(rule.roles)
            what = f"it contradicts the roles: every group has a {roles}."
            return what, "Check the values, or set the role's min to 0."
        if rule.roles:
            roles = " and a ".join(rule.roles)
            return f"it leaves no group with a {roles} possible.", "Check the values."
        what = "group" if rule.scope == "household" else people
        return f"it leaves no {what} possible.", "Check the values."
    for axis, ref in enumerate(cells.refs):
        if ref.level == "role" and schema.roles is not None:
            others = tuple(other for other in range(cells.every.ndim) if other != axis)
            gone = np.logical_and.reduce(cells.every, axis=others)
            for code, role in enumerate(schema.roles.names):
                if gone[code] and _required(schema, role):
                    what = f"it contradicts the role {role}: every group has one."
                    return what, "Check the values, or set the role's min to 0."
    return None


def _together(
    rule: Rule, impossible: dict[tuple[str | None, str, str], Bools]
) -> tuple[str, str] | None:
    """What rules about one attribute leave nothing of, all taken together."""
    if rule.cells is None or len(rule.refs) != 1:
        return None
    (ref,) = rule.refs
    key = ref.of, ref.level, ref.name
    impossible[key] = impossible.get(key, np.zeros_like(rule.cells.every)) | rule.cells.every
    everybody = None, ref.level, ref.name
    gone = impossible[key] | impossible.get(everybody, impossible[key])
    if not gone.all():
        return None
    who = f" of a {ref.of}" if ref.of else ""
    what = f"with the rules before it, it leaves no value of {ref.name}{who} possible."
    return what, "Check the values."


def _required(schema: Schema, role: str) -> bool:
    roles = schema.roles.roles if schema.roles else {}
    return role in roles and roles[role].min > 0
