"""Rules and formulas on the way in: groups that break a rule, columns that the members contradict.

Everything here looks at one group alone, at its values and not only at their codes, and involves no
chance: dropping a group that breaks a rule leaves the privacy unit what it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from kinfolk._typing import Bools, Ints
from kinfolk.data.columns import Codes, column_numbers, join_truncated, number_codes, written
from kinfolk.data.membership import Links, Members, nobody_left
from kinfolk.data.tables import Source
from kinfolk.errors import Problem, private, redacting
from kinfolk.schema import Attribute, Categorical, Numeric, Schema
from kinfolk.schema.attributes import shown
from kinfolk.schema.condition_evaluator import Column, GroupValues, holds
from kinfolk.schema.conditions import Ref
from kinfolk.schema.formulas import Formula
from kinfolk.schema.names import singular
from kinfolk.schema.rules import Rule

LISTED = 5
"""Groups that a message names."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Check:
    """Tables that were linked and encoded, to be checked against rules and formulas."""

    schema: Schema
    homes: Source | None
    people: Source
    links: Links
    group: dict[str, Codes]
    """(groups,) codes of the group's attributes by name; -1 where a cell does not fit."""
    individual: dict[str, Codes]
    """(people,) likewise of the members'."""

    def apply(
        self, members: Members, problems: list[Problem], *, part: bool = False
    ) -> Members | None:
        """Check computed columns, and check or drop what breaks a rule.

        A group that lost members to cleaning gets in `group` what formulas make of the others. What
        names a column in which something does not fit is not looked at.
        """
        schema = self.schema
        formulas = {
            name: one
            for name, one in schema.formulas.items()
            if self._fits(Ref(level="group", name=name), *one.refs)
        }
        rules = [(at, one) for at, one in enumerate(schema.rules) if self._fits(*one.refs)]
        if not formulas and not rules:
            return members
        values = self._values(members)
        if formulas:
            values = self._computed_again(members, values, formulas)
        broken = np.zeros(values.groups, np.bool_)
        against = [0] * len(schema.rules)
        for at, rule in rules:
            found = rule.violated(values)
            broken |= found
            against[at] = int(found.sum())
            if found.any() and schema.on_violation == "error":
                problems.append(self._violation(at, rule, members, values, found))
        for name, formula in formulas.items():
            wrong = disagreeing(formula, values, name) & ~broken
            if wrong.any():
                problems.append(self._mismatch(name, formula, members, values, wrong))
        if schema.on_violation == "error" or not broken.any():
            return members
        left = replace(without(members, broken), against=tuple(against))
        if not len(left.groups) and not part:
            if not problems:
                problems.append(nobody_left(schema, self.people.name, left.cleaning))
            return None
        return left

    def _fits(self, *refs: Ref) -> bool:
        """Whether all cells of these attributes fit."""
        columns = {"group": self.group, "individual": self.individual}
        own = [(columns[ref.level], ref.name) for ref in refs if ref.level in columns]
        return all(name in column and not (column[name] < 0).any() for column, name in own)

    def _values(self, members: Members) -> GroupValues:
        """What rules and formulas look at: codes, and the numbers themselves."""
        schema = self.schema
        named = {ref.name for rule in schema.rules for ref in rule.refs} | set(schema.formulas)
        named |= {ref.name for one in schema.formulas.values() for ref in one.refs}
        group = _columns(schema.group_attributes, self.homes, self.group, named, members.groups)
        individual = _columns(
            schema.individual_attributes, self.people, self.individual, named, members.people
        )
        return GroupValues(
            offsets=members.offsets, group=group, individual=individual, role=members.role
        )

    def _computed_again(
        self, members: Members, values: GroupValues, formulas: Mapping[str, Formula]
    ) -> GroupValues:
        """What was computed from people who are not there any more is computed without them."""
        linked = self.links.group_of[self.links.group_of >= 0]
        cut = np.bincount(linked, minlength=self.links.groups)[members.groups] != values.sizes
        if not cut.any():
            return values
        group = dict(values.group)
        for name, formula in formulas.items():
            attribute = self.schema.group_attributes[name]
            computed = formula.compute(values, attribute)
            group[name] = np.where(cut, computed, group[name])
            codes = (
                number_codes(computed, attribute) if isinstance(attribute, Numeric) else computed
            )
            self.group[name] = self.group[name].copy()
            self.group[name][members.groups[cut]] = codes[cut]
        return replace(values, group=group)

    def _violation(
        self, at: int, rule: Rule, members: Members, values: GroupValues, found: Bools
    ) -> Problem:
        place = self._place(int(members.groups[found][0]))
        if rule.scope == "person":
            rows = rule.rows(values)
            people = rows.members[None][holds(rule.condition, rows)]
            place = self.people.place(int(members.people[people].min()))
        groups = members.groups[found]
        who = "it"
        if self.schema.group is not None:
            who = f"{singular(self.schema.group.table)} {self.links.name(int(groups[0]))}"
        return Problem(
            where=f"{place}, never[{at}]",
            what=f"{who} breaks the rule {shown(rule.text, most=120)}{self._such(groups)}.",
            fix="Mend the data or the rule, or leave such groups out: `on_violation: drop`.",
        )

    def _mismatch(
        self, name: str, formula: Formula, members: Members, values: GroupValues, wrong: Bools
    ) -> Problem:
        attribute = self.schema.group_attributes[name]
        first = int(np.flatnonzero(wrong)[0])
        groups = members.groups[wrong]
        computed = formula.compute(values, attribute)
        there, right = (
            _said(column[first], attribute) for column in (values.group[name], computed)
        )
        return Problem(
            where=f"{self._place(int(groups[0]))}, column {name}",
            what=f"it is {there}, and {shown(formula.text, most=120)} of the members is {right}"
            f"{self._such(groups)}.",
            fix="Mend the column or the formula; with `derived: true`, nobody looks.",
        )

    def _place(self, group: int) -> str:
        return (self.homes or self.people).place(group)

    def _such(self, groups: Ints) -> str:
        """How many groups there are, and the first ones."""
        if len(groups) < 2 or redacting():
            return ""
        names = [self.links.name(int(group)) for group in groups[:LISTED]]
        listed = join_truncated(names, of=len(groups), most=LISTED)
        noun = "groups" if self.homes is not None else "rows"
        return f" ({private(f'{len(groups):,}')} such {noun}: {listed})"


def disagreeing(formula: Formula, values: GroupValues, name: str) -> Bools:
    """(groups,) where an attribute is not what its formula makes of the members.

    Numbers may differ by half of the last decimal that the schema says they have.
    """
    attribute = formula.schema.group_attributes[name]
    column, computed = values.group[name], formula.compute(values, attribute)
    if isinstance(attribute, Categorical):
        return np.asarray(column != computed)
    within = 0.5 * 10.0**-attribute.places if attribute.places else 0.0
    return ~np.isclose(column, computed, rtol=1e-9, atol=within * 1.000001, equal_nan=True)


def without(members: Members, broken: Bools) -> Members:
    """The groups that break no rule; the others are counted."""
    sizes = np.diff(members.offsets)
    staying = np.repeat(~broken, sizes)
    cleaning = replace(
        members.cleaning,
        groups_against_rules=int(broken.sum()),
        people_against_rules=int((~staying).sum()),
    )
    return Members(
        groups=members.groups[~broken],
        people=members.people[staying],
        offsets=np.concatenate([[0], np.cumsum(sizes[~broken])]),
        role=None if members.role is None else members.role[staying],
        cleaning=cleaning,
    )


def _columns(
    attributes: Mapping[str, Attribute],
    source: Source | None,
    codes: Mapping[str, Codes],
    named: set[str],
    rows: Ints,
) -> dict[str, Column]:
    found: dict[str, Column] = {}
    for name, attribute in attributes.items():
        if source is None or name not in codes or name not in named:
            continue
        if isinstance(attribute, Numeric):
            found[name] = column_numbers(source.columns[name], codes[name])[rows]
        else:
            found[name] = codes[name][rows]
    return found


def _said(value: float, attribute: Attribute) -> str:
    if isinstance(attribute, Categorical):
        blank = value == len(attribute.values)
        return private("blank" if blank else written(attribute.values[int(value)]))
    return private("blank" if np.isnan(value) else f"{value:.15g}")
