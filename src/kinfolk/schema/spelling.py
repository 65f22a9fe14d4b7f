"""How conditions are written: lines of text that are read once, values, and conditions in words.

`age < 16 and marital not missing` says that nobody under 16 has a marital status, so that it is
asked of those with `age >= 16`. So do rules that leave only a code that is no answer, such as
`age < 16 and hours != -9`, where -9 is a special value or a negative code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NoReturn, TypeAlias

from kinfolk.errors import Problem, SchemaError, closest
from kinfolk.schema.attributes import (
    LARGEST_EDGE,
    Attribute,
    Categorical,
    Numeric,
    kind_of,
    shown,
    text_of,
)
from kinfolk.schema.conditions import (
    Both,
    Condition,
    Linear,
    Listed,
    Missing,
    Nobody,
    Not,
    Range,
    Ref,
    Same,
    attribute_of,
    has_codes,
    has_numbers,
    refs,
    whose,
)
from kinfolk.schema.names import singular

if TYPE_CHECKING:
    from kinfolk.schema.schema import Schema


Meaning: TypeAlias = frozenset[int] | float | Range | Literal["blank"]
"""What a value means: categories of a list, a number, the numbers of a bin, or no value."""

BLANK: Literal["blank"] = "blank"
MOST_LISTED = 30
"""Values that a message lists at most."""

NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][-+]?\d{1,3})?(?!\w)")
QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_SIGNED = re.compile(rf"-?\s*{NUMBER.pattern}")


def find_value(schema: Schema, ref: Ref, text: str, at: int) -> tuple[Meaning, int] | None:
    """The value or label that stands here, the longest that fits, and where it ends."""
    attribute = attribute_of(schema, ref)
    quoted = QUOTED.match(text, at)
    rest = quoted[1] or quoted[2] or "" if quoted else text[at:]
    spelled = list(_spellings(schema, ref, attribute))
    best: tuple[Meaning, int] | None = None
    for alike in (str, str.lower):
        fits = [
            (len(word), -index)
            for index, (word, _) in enumerate(spelled)
            if (alike(rest) == alike(word) if quoted else begins(alike(rest), alike(word)))
        ]
        if fits and best is None:
            length, index = max(fits)
            best = _meant(attribute, spelled[-index][1]), quoted.end() if quoted else at + length
    number = None if quoted or not has_numbers(attribute) else _SIGNED.match(text, at)
    if number and (best is None or number.end() > best[1]):
        found = Fraction(re.sub(r"\s", "", number[0]))
        if isinstance(attribute, Numeric):
            return float(found), number.end()
        codes = [code for code, value in enumerate(attribute.values) if fraction_of(value) == found]
        best = (frozenset(codes), number.end()) if codes else best
    return best


def _spellings(schema: Schema, ref: Ref, attribute: Attribute) -> Iterator[tuple[str, int]]:
    """How the categories of an attribute may be called; values come before labels."""
    if ref.level == "role" and schema.roles is not None:
        yield from ((name, code) for code, name in enumerate(schema.roles.names))
        for code, role in enumerate(schema.roles.roles.values()):
            if len(role.values) == 1:
                yield spelling(role.values[0]), code
        return
    if isinstance(attribute, Categorical):
        yield from ((spelling(value), code) for code, value in enumerate(attribute.values))
    yield from ((label, code) for code, label in enumerate(attribute.labels or ()))


def _meant(attribute: Attribute, code: int) -> Meaning:
    if isinstance(attribute, Categorical):
        return frozenset([code])
    bins = len(attribute.bins) - 1
    if code >= bins:
        return float(attribute.special[code - bins])
    low, high = attribute.bins[code], attribute.bins[code + 1]
    return Range(low=float(low), high=float(high), closed=code == bins - 1)


def begins(text: str, word: str) -> bool:
    """Whether a text begins with a word, and not with a longer one."""
    after = text[len(word) : len(word) + 1]
    return text.startswith(word) and not (word[-1].isalnum() and (after.isalnum() or after == "_"))


def fraction_of(value: object) -> Fraction:
    """A number as it is written; 0 for what is none."""
    return Fraction(str(value)) if kind_of(value) == "number" else Fraction(0)


def spelling(value: object) -> str:
    """A value as it is written in a rule."""
    return value if isinstance(value, str) else text_of(value)


def known_values(attribute: Attribute, word: str = "") -> str:
    """What a value could be, and which was probably meant."""
    if isinstance(attribute, Numeric):
        labels = f", or one of {', '.join(attribute.labels)}" if attribute.labels else ""
        return f"Write a number{labels}."
    values = [*map(spelling, attribute.values)]
    close = closest(word, [*values, *(attribute.labels or ())])
    guess = f"Did you mean {close!r}? " if close else ""
    if attribute.labels:
        values = [
            f"{value} ({label})" for value, label in zip(values, attribute.labels, strict=False)
        ]
    return guess + listed_words(values)


def listed_words(words: Sequence[str]) -> str:
    """What is known, as far as it is not too long."""
    more = f", and {len(words) - MOST_LISTED} more" if len(words) > MOST_LISTED else ""
    return f"Known here: {', '.join(words[:MOST_LISTED])}{more}."


class Cursor:
    """A place in a text."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def fail(self, what: str, fix: str) -> NoReturn:
        """Refuse the text."""
        what = f"in {shown(self.text, most=80)}, {what}"
        raise SchemaError("condition", [Problem(where="", what=what, fix=fix)])

    def expected(self, wanted: str) -> NoReturn:
        """Refuse what stands here."""
        self.skip()
        rest = shown(self.text[self.at :], most=30) if self.at < len(self.text) else "the end"
        self.fail(
            f"character {self.at + 1}: {rest} stands where {wanted} is expected.",
            "Write it as in `age < 16 and marital not missing`.",
        )

    def end(self) -> None:
        """Nothing may be left."""
        self.skip()
        if self.at < len(self.text):
            self.expected("`and`, `or` or the end")

    def skip(self) -> None:
        """Pass over blanks."""
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1

    def match(self, pattern: re.Pattern[str]) -> str | None:
        """Pass over what fits a pattern, if it stands here."""
        self.skip()
        found = pattern.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        return found[0]

    def looking_at(self, characters: str) -> bool:
        """Whether one of some characters stands here."""
        self.skip()
        return self.text[self.at : self.at + 1] in tuple(characters)

    def word(self, word: str) -> bool:
        """Pass over a word, if it stands here."""
        return self.match(re.compile(rf"{re.escape(word)}(?!\w)", re.I)) is not None

    def symbol(self, symbol: str) -> bool:
        """Pass over a sign, if it stands here."""
        return self.match(re.compile(re.escape(symbol))) is not None

    def close(self) -> None:
        """Pass over the closing bracket."""
        if not self.symbol(")"):
            self.expected("`)`")

    def signed(self) -> Fraction | None:
        """Pass over a number, if one stands here, with its sign."""
        before = self.at
        sign = -1 if self.symbol("-") else 1
        number = self.number()
        if number is None:
            self.at = before
            return None
        return sign * number

    def number(self) -> Fraction | None:
        """Pass over a number, if one stands here."""
        found = self.match(NUMBER)
        if found is not None and float(found) > LARGEST_EDGE:
            self.fail(f"{shown(found)} is too large.", f"Stay within {LARGEST_EDGE:g} of zero.")
        return None if found is None else Fraction(found)


_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "=": "!=", "!=": "="}
MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}


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
    if isinstance(condition, Listed) and condition.negated and not condition.blank:
        blank = compared[0].missing
        return _listed_text(replace(condition, negated=False, blank=blank), schema)
    if any(one.missing for one in compared):
        return f"not ({condition_text(condition, schema)})"
    if isinstance(condition, Listed):
        return _listed_text(replace(condition, negated=not condition.negated), schema)
    codes = any(map(has_codes, compared))
    if isinstance(condition, Linear) and (condition.by_value or not codes):
        return _linear_text(replace(condition, operator=_OPPOSITE[condition.operator]))
    return f"not ({condition_text(condition, schema)})"


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
        operator, constant = MIRRORED[operator], -constant
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
