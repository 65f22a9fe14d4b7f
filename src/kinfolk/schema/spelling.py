"""How the values of an attribute are written in rules: as in the data, or by their labels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeAlias

from kinfolk.errors import closest
from kinfolk.schema.attributes import Attribute, Categorical, Numeric, kind_of, text_of
from kinfolk.schema.conditions import Range, Ref, attribute_of, has_numbers

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
