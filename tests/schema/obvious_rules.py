"""Rules and formulas by plain loops over plain values: slow, and obviously right.

A condition is a nested tuple; a household is a dict of its own values with a list of members, each
a dict. A blank is None. `written` says a condition in the language of the schema.
"""

from __future__ import annotations

import itertools
import operator
import re
from fractions import Fraction
from typing import Any

from kinfolk.schema import Categorical, Numeric, Schema

OPERATORS = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
COUNT, ROLE = "the size", "the role"


def value(ref: tuple[str, str | None, str], home: dict, chosen: dict) -> Any:
    """What an attribute is: ("group", None, name), or ("person", role, name)."""
    table, role, name = ref
    if table == "person":
        return chosen[role][name]
    return len(home["members"]) if name == COUNT else home[name]


def quantity(schema: Schema, ref: tuple[str, str | None, str], found: Any) -> Any:
    """A number, or None if it is a code that stands for no quantity."""
    attributes = schema.individual_attributes if ref[0] == "person" else schema.group_attributes
    attribute = attributes.get(ref[2])
    if isinstance(attribute, Numeric) and found in attribute.special:
        inside = attribute.bins[0] <= found <= attribute.bins[-1]
        return found if inside else None
    return found


def true(schema: Schema, condition: tuple, home: dict, chosen: dict) -> bool:
    """Whether a condition holds of a household and of the members chosen from it."""
    kind, *rest = condition
    if kind in ("and", "or"):
        parts = [true(schema, part, home, chosen) for part in rest]
        return all(parts) if kind == "and" else any(parts)
    if kind == "not":
        return not true(schema, rest[0], home, chosen)
    if kind == "nobody":
        return not any(true(schema, rest[0], home, {None: one}) for one in home["members"])
    if kind == "missing":
        ref, negated = rest
        return (value(ref, home, chosen) is None) != negated
    if kind == "in":
        return _in(schema, *rest, home, chosen)
    left, sign, right = rest
    alone = all(len(s) == 1 and (s[0][0] > 0 or s[0][1][0] == "number") for s in (left, right))
    if sign in ("=", "!=") and alone:
        # Values as they are, whatever they stand for.
        both = [_alone(side[0], home, chosen) for side in (left, right)]
    else:
        both = [_sum(schema, side, home, chosen) for side in (left, right)]
    if None in both:
        # A blank is equal to nothing, and neither below nor above anything.
        return sign == "!="
    return OPERATORS[sign](*both)


def _in(schema: Schema, ref: Any, options: list, negated: bool, home: dict, chosen: dict) -> bool:
    found = value(ref, home, chosen)
    if found is None:
        return negated
    for option in options:
        if isinstance(option, tuple):
            number = quantity(schema, ref, found)
            if number is not None and option[0] <= number <= option[1]:
                return not negated
        elif option == found:
            return not negated
    return negated


def _alone(item: tuple, home: dict, chosen: dict) -> Any:
    sign, term = item
    return sign * term[1] if term[0] == "number" else value(term[1], home, chosen)


def _side(term: tuple, home: dict, chosen: dict) -> Any:
    return term[1] if term[0] == "number" else value(term[1], home, chosen)


def _sum(schema: Schema, terms: list, home: dict, chosen: dict) -> Fraction | None:
    total = Fraction(0)
    for sign, term in terms:
        found = _side(term, home, chosen)
        if term[0] != "number":
            found = quantity(schema, term[1], found)
        if found is None:
            return None
        total += sign * Fraction(found)
    return total


def broken(schema: Schema, condition: tuple, roles: list[str], home: dict) -> bool:
    """Whether a household breaks a rule about these roles, or about anybody."""
    members = home["members"]
    if not roles:
        people = [{None: one} for one in members] if _personal(condition) else [{}]
        return any(true(schema, condition, home, chosen) for chosen in people)
    choices = [[one for one in members if one[ROLE] == role] for role in roles]
    return any(
        true(schema, condition, home, dict(zip(roles, some, strict=True)))
        for some in itertools.product(*choices)
    )


def _personal(condition: Any) -> bool:
    if isinstance(condition, tuple) and condition and condition[0] == "nobody":
        return False
    if isinstance(condition, tuple) and len(condition) == 3 and condition[0] == "person":
        return True
    return isinstance(condition, tuple | list) and any(map(_personal, condition))


def computed(schema: Schema, formula: tuple, target: Any, home: dict) -> Any:
    """The value of a formula: a kind, an attribute or None, and a condition or None."""
    kind, ref, condition = formula
    members = home["members"]
    if kind == "role":
        return next((one[ref[2]] for one in members if one[ROLE] == ref[1]), None)
    such = [
        one for one in members if condition is None or true(schema, condition, home, {None: one})
    ]
    if kind == "count":
        listed = isinstance(target, Categorical)
        return min(len(such), max(target.values)) if listed else len(such)
    if kind == "any":
        return bool(such)
    numbers = [quantity(schema, ref, one[ref[2]]) for one in such]
    numbers = [one for one in numbers if one is not None]
    if kind == "sum":
        return sum(numbers)
    return {"min": min, "max": max}[kind](numbers, default=None)


def written(schema: Schema, condition: tuple) -> str:
    """A condition as it stands in a schema; everything in brackets."""
    kind, *rest = condition
    if kind in ("and", "or"):
        return "(" + f" {kind} ".join(written(schema, part) for part in rest) + ")"
    if kind == "not":
        return f"not {written(schema, rest[0])}"
    if kind == "nobody":
        return f"(no person with {written(schema, rest[0])})"
    if kind == "missing":
        return f"{name_of(schema, rest[0])} {'not ' if rest[1] else ''}missing"
    if kind == "in":
        ref, options, negated = rest
        listed = ", ".join(_option(option) for option in options)
        return f"{name_of(schema, ref)} {'not ' if negated else ''}in ({listed})"
    left, sign, right = rest
    return f"{_terms(schema, left)} {sign} {_terms(schema, right)}"


def _terms(schema: Schema, side: list) -> str:
    text = ""
    for sign, term in side:
        shown = _option(term[1]) if term[0] == "number" else name_of(schema, term[1])
        text += f" {'+' if sign > 0 else '-'} {shown}" if text else f"{'-' * (sign < 0)}{shown}"
    return text


def _option(option: Any) -> str:
    if isinstance(option, tuple):
        return f"{float(option[0])!r}..{float(option[1])!r}"
    if isinstance(option, bool):
        return str(option).lower()
    if isinstance(option, int | float):
        return repr(option)
    quote = "'" if '"' in option else '"'
    return option if re.fullmatch("[a-z-]+", option) else f"{quote}{option}{quote}"


def name_of(schema: Schema, ref: tuple[str, str | None, str]) -> str:
    """An attribute as a rule names it."""
    table, role, name = ref
    if name == COUNT:
        return f"`{schema.count}`"
    if name == ROLE:
        return schema.roles.column if schema.roles else ""
    if role is None and name in schema.group_attributes and name in schema.individual_attributes:
        name = f"{schema.table_names[table == 'person']}.{name}"
    name = f"{role}.{name}" if role else name
    return name if name.rpartition(".")[2] in ("age", "wage", "m2") else f"`{name}`"
