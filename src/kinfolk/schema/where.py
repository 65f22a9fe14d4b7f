"""Which groups are wanted: a condition on groups, in the language of rules.

What it says of the group's own attributes and of its size can be told from codes alone, before
anything is drawn (`factors`). What it says of members, of numbers inside a bin or of computed
columns is looked at when a group is complete (`chosen`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING

import numpy as np

from kinfolk._typing import Bools, Ints
from kinfolk.errors import KinfolkError, SchemaError
from kinfolk.schema.attributes import Categorical, shown
from kinfolk.schema.condition_evaluator import Cells, GroupValues, cells_of
from kinfolk.schema.conditions import Both, Condition, Nobody, Not, Ref, attribute_of, refs
from kinfolk.schema.language import Reader
from kinfolk.schema.rules import Rule, scope_of

if TYPE_CHECKING:
    from kinfolk.schema.schema import Schema

MOST_CELLS = 8192
"""Of one factor; what is said about more is looked at when groups are complete."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Factor:
    """What groups may be like in some respects; every other factor is about other respects."""

    attributes: tuple[int, ...]
    """Group attributes, by position."""
    allowed: Bools
    """(compositions, categories, ...) the first axis has length 1 if the size does not matter."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Where:
    """A condition that groups have to meet.

    It is about the group, its size, members in roles (a group is chosen if some choice of one
    member for each role is such), or members at large: `no person with ...`, `any(...)`.

    >>> from kinfolk.datasets import load_schema
    >>> where = Where.parse("cars = no vehicle and no person with age < 18", load_schema("detroit"))
    >>> where.exact, [factor.attributes for factor in where.factors]
    (False, [(0,)])
    """

    text: str
    """As it was written."""
    schema: Schema
    """The schema that the names in it are from."""
    condition: Condition
    """What it says."""
    alternatives: tuple[Rule, ...]
    """The same as several conditions, of which one has to hold."""

    @staticmethod
    def parse(text: str, schema: Schema) -> Where:
        """Read a condition; KinfolkError where it means nothing, or what no group can be."""
        if not isinstance(text, str):
            raise KinfolkError(f"where: {shown(text)} is no text. Write it as 'region = ES51'.")
        try:
            reader = Reader(text, schema)
            condition = reader.condition()
            reader.end()
            either = isinstance(condition, Both) and condition.any
            parts = condition.parts if isinstance(condition, Both) and either else (condition,)
            rules = []
            for part in parts:
                scope = scope_of(part, reader)
                if scope == "person":
                    named = refs(part, inside=False)
                    name = next(one.name for one in named if one.level in ("individual", "role"))
                    people = schema.individual.table
                    fix = (
                        f"Write any({name} ...) for groups in which somebody is such, or "
                        f"`no person with {name} ...` for those in which nobody is."
                    )
                    reader.fail(f"{name} is of {people}, and whole groups are chosen.", fix)
                rules.append(Rule(text=text, schema=schema, condition=part, scope=scope))
        except SchemaError as error:
            (problem,) = error.problems
            raise KinfolkError(f"where: {problem.what} {problem.fix}") from None
        where = Where(text=text, schema=schema, condition=condition, alternatives=tuple(rules))
        if not all(factor.allowed.any() for factor in where.factors):
            raise KinfolkError(f"where: no group can be like {shown(text, most=80)}. Correct it.")
        return where

    @property
    def factors(self) -> tuple[Factor, ...]:
        """What a group must be like for the condition to be possible at all."""
        return self._known[0]

    @property
    def exact(self) -> bool:
        """Whether every group that is as the factors say meets the condition."""
        return self._known[1]

    def chosen(self, values: GroupValues) -> Bools:
        """(groups,) which groups meet it."""
        return reduce(np.logical_or, (one.violated(values) for one in self.alternatives))

    @cached_property
    def _known(self) -> tuple[tuple[Factor, ...], bool]:
        factors, exact = _factors(self.schema, self._parts)
        return _with_roles(self.schema, factors, self._roles), exact

    @property
    def _parts(self) -> tuple[Condition, ...]:
        """Conditions that have to hold together."""
        whole = self.condition
        return whole.parts if isinstance(whole, Both) and not whole.any else (whole,)

    @property
    def _roles(self) -> tuple[str, ...]:
        """Roles that a chosen group must have a member of."""
        return self.alternatives[0].roles if len(self.alternatives) == 1 else ()


def possible_factors(schema: Schema, where: Where | None = None) -> tuple[Factor, ...]:
    """What a group must be like for rules about the household to leave it possible.

    And for a condition, if there is one.

    >>> from kinfolk.datasets import load_schema
    >>> schema = load_schema("detroit")
    >>> [list(schema.group_attributes)[at] for at in possible_factors(schema)[0].attributes]
    ['hht']
    """
    rules = (Not(part=rule.condition) for rule in schema.rules if rule.scope == "household")
    if where is None:
        return tuple(_factors(schema, tuple(rules))[0])
    factors, _ = _factors(schema, (*where._parts, *rules))
    return _with_roles(schema, factors, where._roles)


def _factors(schema: Schema, parts: Sequence[Condition]) -> tuple[list[Factor], bool]:
    """What groups must be like for all of some conditions, and whether they then meet them."""
    exact = True
    kept: list[tuple[set[Ref], list[Condition]]] = []
    for part in parts:
        relaxed = _relaxed(part, schema, wanted=True)
        exact = exact and relaxed is part
        if isinstance(relaxed, bool):
            # What cannot be known restricts nothing.
            continue
        own, together = set(refs(relaxed)), [relaxed]
        for other in [other for other in kept if _overlap(schema, other[0], own)]:
            kept.remove(other)
            own, together = own | other[0], other[1] + together
        kept.append((own, together))
    factors: list[Factor] = []
    for own, together in kept:
        if _cells(schema, own) > MOST_CELLS:
            exact = False
            continue
        both = together[0] if len(together) == 1 else Both(parts=tuple(together), any=False)
        cells = cells_of(both, schema)
        exact = exact and bool((cells.every == cells.some).all())
        factors.append(_factor(schema, cells))
    return factors, exact


def _overlap(schema: Schema, one: set[Ref], other: set[Ref]) -> bool:
    """Whether two sets of attributes have something to do with each other."""
    sized = (any(_of_size(schema, ref) for ref in refs) for refs in (one, other))
    return bool(one & other) or all(sized)


def _cells(schema: Schema, named: set[Ref]) -> int:
    """How many cells a factor would have."""
    sized = any(_of_size(schema, ref) for ref in named)
    others = (attribute_of(schema, ref).size for ref in named if not _of_size(schema, ref))
    return math.prod(others) * (len(schema.compositions) if sized else 1)


def _relaxed(condition: Condition, schema: Schema, *, wanted: bool) -> Condition | bool:
    """A condition on what is known of a group before its members are drawn.

    It holds wherever the given one does (`wanted`), or only where that does (otherwise).
    """
    if isinstance(condition, Both):
        parts = [_relaxed(part, schema, wanted=wanted) for part in condition.parts]
        if all(new is old for new, old in zip(parts, condition.parts, strict=True)):
            return condition
        # With `or`, one that is true settles it; with `and`, one that is false.
        if any(part is condition.any for part in parts):
            return condition.any
        left = tuple(part for part in parts if not isinstance(part, bool))
        if not left:
            return not condition.any
        return left[0] if len(left) == 1 else Both(parts=left, any=condition.any)
    if isinstance(condition, Not):
        part = _relaxed(condition.part, schema, wanted=not wanted)
        if isinstance(part, bool):
            return not part
        return condition if part is condition.part else Not(part=part)
    if isinstance(condition, Nobody) or not all(_drawn(schema, one) for one in refs(condition)):
        return wanted
    return condition


def _drawn(schema: Schema, ref: Ref) -> bool:
    """Whether the model draws an attribute with the group itself; formulas are computed later."""
    if _of_size(schema, ref):
        return True
    return ref.level == "group" and ref.name not in schema.formulas


def _of_size(schema: Schema, ref: Ref) -> bool:
    """Whether an attribute is the size of the group, or lists what `derived: count` makes of it."""
    if ref.level != "group":
        return ref.level == "count"
    formula = schema.formulas.get(ref.name)
    plain = formula is not None and formula.kind == "count" and formula.condition is None
    return plain and isinstance(schema.group_attributes[ref.name], Categorical)


def _size_codes(schema: Schema, ref: Ref) -> Ints:
    """(compositions,) the code of an attribute that is the size of the group."""
    attribute = attribute_of(schema, ref)
    assert isinstance(attribute, Categorical)  # noqa: S101  (`_of_size` has seen to it)
    # The last value of a count means "or more".
    values = [int(value) for value in attribute.values]
    return np.array([values.index(min(sum(one), max(values))) for one in schema.compositions])


def _factor(schema: Schema, cells: Cells) -> Factor:
    """The size, if it is named, becomes the first axis, with an entry for every composition."""
    names = list(schema.group_attributes)
    sized = [at for at, ref in enumerate(cells.refs) if _of_size(schema, ref)]
    others = [at for at in range(len(cells.refs)) if at not in sized]
    attributes = tuple(names.index(cells.refs[at].name) for at in others)
    if not sized:
        return Factor(attributes=attributes, allowed=cells.some[None])
    codes = tuple(_size_codes(schema, cells.refs[at]) for at in sized)
    return Factor(attributes=attributes, allowed=cells.some.transpose(*sized, *others)[codes])


def _with_roles(
    schema: Schema, factors: Sequence[Factor], roles: Sequence[str]
) -> tuple[Factor, ...]:
    """The same for groups that have members in these roles."""
    if not roles or schema.roles is None:
        return tuple(factors)
    places = [schema.roles.names.index(role) for role in roles]
    there = np.array([all(one[at] for at in places) for one in schema.compositions])
    sized = [factor for factor in factors if len(factor.allowed) > 1]
    others = [factor for factor in factors if len(factor.allowed) == 1]
    first = sized[0] if sized else Factor(attributes=(), allowed=np.ones(1, np.bool_))
    wide = there.reshape(-1, *[1] * (first.allowed.ndim - 1))
    return (Factor(attributes=first.attributes, allowed=first.allowed & wide), *others)
