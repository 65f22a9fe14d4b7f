"""From what somebody writes about an attribute to its categories."""

from __future__ import annotations

import math
import re

from kinfolk.errors import KinfolkError, did_you_mean
from kinfolk.queries.questions import Codes
from kinfolk.schema import Attribute, Categorical, Numeric
from kinfolk.schema.attributes import shown

NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
"""How a number is written."""

_RANGE = re.compile(rf"({NUMBER})(?:\s*(?:\.\.|to\b|-|\u2013)\s*({NUMBER}))?(?!\w|\.\d)")
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_UNKNOWN = re.compile(r"(?:(?!\s+(?:and|or)\b)[^,;|()])+")

MOST_LISTED = 30
"""Categories that a message lists at most."""


def read_value(name: str, attribute: Attribute, text: str, start: int) -> tuple[Codes, int]:
    """The categories that the text names from `start` on, and where it goes on after them.

    A value or a label, in any case and in quotes or not, or a range of numbers; the longest that
    fits. What is a value of one category and the label of another means the value.

    >>> age = Numeric(bins=[0, 18, 65, 120], integer=True)
    >>> read_value("age", age, "18 to 120, sex = 2", 0)
    ((1, 2), 9)
    """
    quoted = _QUOTED.match(text, start)
    if quoted:
        word = quoted[1] or quoted[2] or ""
        for spelling, code in _ranked(attribute, word):
            if spelling.lower() == word.lower():
                return (code,), quoted.end()
        raise _unknown(name, attribute, word)
    best: tuple[Codes, int] | None = None
    rest = text[start:]
    for spelling, code in _ranked(attribute, rest):
        if rest[: len(spelling)].lower() == spelling.lower() and _ends(rest, len(spelling)):
            best = (code,), start + len(spelling)
            break
    numbers = _RANGE.match(text, start)
    if numbers and (best is None or numbers.end() > best[1]) and _numeric(attribute):
        low = float(numbers[1])
        high = low if numbers[2] is None else float(numbers[2])
        return between(name, attribute, low, high), numbers.end()
    if best is None:
        word = _UNKNOWN.match(text, start)
        raise _unknown(name, attribute, word[0].strip() if word else "")
    return best


def codes_compared(name: str, attribute: Attribute, operator: str, text: str) -> Codes:
    """The categories whose numbers are all below or above a number.

    >>> codes_compared("age", Numeric(bins=[0, 18, 65, 120], integer=True), ">=", "18")
    (1, 2)
    """
    if not _numeric(attribute):
        raise KinfolkError(f"{name} has no numbers to compare. {_known(attribute)}")
    number = float(text)
    strict = operator in ("<", ">")
    if isinstance(attribute, Categorical):
        step = 0.0 if not strict else math.ulp(number)
        below = (-math.inf, number - step), (number + step, math.inf)
        return between(name, attribute, *below[operator.startswith(">")])
    if not attribute.integer and strict != operator.startswith("<"):
        raise KinfolkError(
            f"{name} {operator} {text}: a bin holds its lower end and not its upper one. "
            f"Write {name} {'<' if operator == '<=' else '>='} {text}."
        )
    # Whole numbers: below 5 is up to 4. Bins of others end where the next ones begin.
    if operator.startswith("<"):
        return between(name, attribute, -math.inf, number - (strict and attribute.integer))
    return between(name, attribute, number + (strict and attribute.integer), math.inf)


def between(name: str, attribute: Attribute, low: float, high: float) -> Codes:
    """The categories from one number to another, both included where numbers are whole."""
    if isinstance(attribute, Categorical):
        codes = [code for code, value in enumerate(attribute.values) if low <= float(value) <= high]
        if not codes:
            raise KinfolkError(f"{name} has no value {_span(low, high)}. {_known(attribute)}")
        return tuple(codes)
    end = high + 1 if attribute.integer else high
    bounds = [attribute.bounds(code) for code in range(len(attribute.bins) - 1)]
    touched = [code for code, (first, past) in enumerate(bounds) if first < end and low < past]
    whole = [code for code in touched if low <= bounds[code][0] and bounds[code][1] <= end]
    special = _special_between(attribute, low, end)
    if touched != whole or not whole + special:
        raise KinfolkError(
            f"{name}: {_span(low, high)} is not made of whole bins, and nothing is known inside a "
            f"bin. {_known(attribute)}"
        )
    return tuple(whole + special)


def _special_between(attribute: Numeric, low: float, end: float) -> list[int]:
    """The special values that are numbers like others: those inside the bins."""
    bottom, top = attribute.bins[0], attribute.bins[-1]
    return [
        code
        for code, value in enumerate(attribute.special, len(attribute.bins) - 1)
        if bottom <= value <= top and low <= value and (value < end or value == end == top)
    ]


def _span(low: float, high: float) -> str:
    if math.isinf(low):
        return f"up to {high:g}"
    if math.isinf(high):
        return f"from {low:g}"
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _numeric(attribute: Attribute) -> bool:
    return isinstance(attribute, Numeric) or attribute.kind == "number"


def _spellings(attribute: Attribute) -> list[tuple[str, int]]:
    """All ways to write a category, with its code: values before labels."""
    found: list[tuple[str, int]] = []
    values = attribute.values if isinstance(attribute, Categorical) else attribute.special
    first = 0 if isinstance(attribute, Categorical) else len(attribute.bins) - 1
    for code, value in enumerate(values, first):
        found.append((str(value), code))
        if isinstance(value, float) and value.is_integer():
            found.append((str(int(value)), code))
    if attribute.missing:
        found.append(("blank", attribute.size - 1))
    return found + [(attribute.label(code), code) for code in range(attribute.size)]


def _ranked(attribute: Attribute, text: str) -> list[tuple[str, int]]:
    """The ways to write a category, the longest first; of those, the one in the same case."""
    return sorted(
        _spellings(attribute), key=lambda one: (-len(one[0]), not text.startswith(one[0]))
    )


def _ends(text: str, at: int) -> bool:
    """Whether a word or number can end here."""
    return not re.match(r"\w|\.\d", text[at:]) or not re.match(r"\w", text[at - 1 :])


def _unknown(name: str, attribute: Attribute, word: str) -> KinfolkError:
    if not word:
        return KinfolkError(f"{name} is not said to be anything. {_known(attribute)}")
    spellings = dict.fromkeys(spelling for spelling, _ in _spellings(attribute))
    known = did_you_mean(word, spellings) if len(spellings) <= MOST_LISTED else _known(attribute)
    return KinfolkError(f"{name} has no value {shown(word)}. {known}")


def _known(attribute: Attribute) -> str:
    labels = [attribute.label(code) for code in range(attribute.size)]
    if isinstance(attribute, Categorical) and attribute.labels:
        values = [str(value) for value in attribute.values]
        labels = [f"{v} ({x})" for v, x in zip(values, labels, strict=False)] + labels[
            len(values) :
        ]
    elif isinstance(attribute, Numeric) and attribute.labels:
        for code in range(len(attribute.bins) - 1):
            low, high = attribute.bounds(code)
            labels[code] = f"{low:g} to {high - attribute.integer:g} ({labels[code]})"
    more = f", and {len(labels) - MOST_LISTED} more" if len(labels) > MOST_LISTED else ""
    return f"Known here: {', '.join(labels[:MOST_LISTED])}{more}."
