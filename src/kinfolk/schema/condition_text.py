"""Conditions in words, and who is asked: the universe of an attribute.

`age < 16 and marital not missing` says that nobody under 16 has a marital status, so that it is
asked of those with `age >= 16`. So do rules that leave only a code that is no answer, such as
`age < 16 and hours != -9`, where -9 is a special value or a negative code.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from kinfolk.schema.attributes import Attribute, Categorical, Numeric
from kinfolk.schema.condition_evaluator import is_code
from kinfolk.schema.conditions import (
    Both,
    Condition,
    Linear,
    Listed,
    Missing,
    Nobody,
    Not,
    Ref,
    Same,
    attribute_of,
    refs,
    whose,
)
from kinfolk.schema.names import singular
from kinfolk.schema.spelling import spelling

if TYPE_CHECKING:
    from kinfolk.schema.schema import Schema


_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "=": "!=", "!=": "="}
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}


def universe(schema: Schema, level: Literal["group", "individual"], name: str) -> str:
    """Of whom an attribute says something, as a condition; empty where of everybody.

    >>> from kinfolk.datasets import load_schema
    >>> schema = load_schema("detroit")
    >>> universe(schema, "individual", "mil"), universe(schema, "individual", "sex")
    ('age >= 17', '')
    """
    ref = Ref(level=level, name=name)
    unless: list[Condition] = []
    for rule in schema.rules:
        condition = rule.condition
        parts = condition.parts if isinstance(condition, Both) and not condition.any else ()
        others = tuple(part for part in parts if not _is_answered(part, ref, schema))
        if others and len(others) < len(parts) and ref not in refs(_all(others)):
            unless.append(_all(others))
    texts = [negated_text(one, schema) for one in unless]
    if len(texts) > 1:
        texts = [f"({text})" if " or " in text else text for text in texts]
    return " and ".join(dict.fromkeys(texts))


def _all(parts: tuple[Condition, ...]) -> Condition:
    return parts[0] if len(parts) == 1 else Both(parts=parts, any=False)


def _is_answered(part: Condition, ref: Ref, schema: Schema) -> bool:
    """Whether a condition says no more than that there is an answer."""
    if isinstance(part, Missing):
        return part.ref == ref and part.negated
    attribute = attribute_of(schema, ref)
    if isinstance(attribute, Numeric):
        if not isinstance(part, Linear) or part.terms != ((ref, 1.0),) or part.operator != "!=":
            return False
        return part.constant in attribute.special
    if not isinstance(part, Listed) or part.ref != ref or not part.negated:
        return False
    values = [attribute.values[code] for code in part.codes]
    return attribute.kind == "number" and all(float(value) < 0 for value in values)


def condition_text(condition: Condition, schema: Schema) -> str:
    """A condition in the words of a rule.

    >>> from kinfolk.datasets import load_schema
    >>> schema = load_schema("detroit")
    >>> [condition_text(rule.condition, schema) for rule in schema.rules[15:18]]
    ['child.age > head.age - 12', 'hht in (4, 6) and COUNT > 1', 'hht not in (4, 6) and COUNT = 1']
    """
    if isinstance(condition, Both):
        texts = [condition_text(part, schema) for part in condition.parts]
        mixed = [isinstance(p, Both) and p.any != condition.any for p in condition.parts]
        texts = [f"({text})" if odd else text for text, odd in zip(texts, mixed, strict=True)]
        return (" or " if condition.any else " and ").join(texts)
    if isinstance(condition, Not):
        return f"not ({condition_text(condition.part, schema)})"
    if isinstance(condition, Nobody):
        people = singular(schema.individual.table)
        return f"no {people} with {condition_text(condition.part, schema)}"
    if isinstance(condition, Missing):
        return f"{whose(condition.ref)} {'not ' if condition.negated else ''}missing"
    if isinstance(condition, Same):
        operator = "!=" if condition.negated else "="
        return f"{whose(condition.left)} {operator} {whose(condition.right)}"
    if isinstance(condition, Listed):
        return _listed_text(condition, schema)
    return _linear_text(condition)


def negated_text(condition: Condition, schema: Schema) -> str:
    """The opposite of a condition in the words of a rule; a comparison with a blank never holds."""
    if isinstance(condition, Not):
        return condition_text(condition.part, schema)
    if isinstance(condition, Missing):
        return condition_text(Missing(ref=condition.ref, negated=not condition.negated), schema)
    if isinstance(condition, Both):
        texts = [negated_text(part, schema) for part in condition.parts]
        # What one of them says in several ways is kept together.
        texts = [f"({text})" if " or " in text or " and " in text else text for text in texts]
        return (" and " if condition.any else " or ").join(texts)
    compared = [attribute_of(schema, ref) for ref in refs(condition)]
    if any(one.missing for one in compared):
        return f"not ({condition_text(condition, schema)})"
    if isinstance(condition, Listed):
        return _listed_text(replace(condition, negated=not condition.negated), schema)
    codes = any(map(_has_codes, compared))
    if isinstance(condition, Linear) and (condition.by_value or not codes):
        return _linear_text(replace(condition, operator=_OPPOSITE[condition.operator]))
    return f"not ({condition_text(condition, schema)})"


def _has_codes(attribute: Attribute) -> bool:
    """Whether some of its values are no quantities, with which no comparison holds."""
    return isinstance(attribute, Numeric) and any(is_code(x, attribute) for x in attribute.special)


def _listed_text(condition: Listed, schema: Schema) -> str:
    attribute = attribute_of(schema, condition.ref)
    values = [f"{number:g}" for number in sorted(condition.numbers)]
    if isinstance(attribute, Categorical):
        values = [spelling(attribute.values[code]) for code in sorted(condition.codes)]
    values += [f"{one.low:g} to {one.high:g}" for one in condition.ranges]
    values += ["missing"] if condition.blank else []
    name = whose(condition.ref)
    if len(values) == 1 and not condition.ranges:
        return f"{name} {'!=' if condition.negated else '='} {values[0]}"
    return f"{name} {'not in' if condition.negated else 'in'} ({', '.join(values)})"


def _linear_text(condition: Linear) -> str:
    """Added on the left, subtracted on the right, as people write it."""
    operator, constant = condition.operator, condition.constant
    terms = dict(condition.terms)
    if all(weight < 0 for weight in terms.values()):
        terms = {ref: -weight for ref, weight in terms.items()}
        operator, constant = _MIRRORED[operator], -constant
    left = [_term(ref, weight) for ref, weight in terms.items() if weight > 0]
    right = [_term(ref, -weight) for ref, weight in terms.items() if weight < 0]
    total = " + ".join(right)
    if constant or not right:
        number = f"{abs(constant):g}"
        sign = "-" if constant < 0 else ("+" if right else "")
        total = f"{total} {sign} {number}" if right else f"{sign}{number}"
    return f"{' + '.join(left)} {operator} {total}"


def _term(ref: Ref, weight: float) -> str:
    return whose(ref) if weight == 1 else f"{weight:g} * {whose(ref)}"
