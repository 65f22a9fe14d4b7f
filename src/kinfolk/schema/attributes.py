"""Attributes: a declared, finite list of categories, each with a code 0, 1, 2, ...

The domain is declared by the analyst and public. Nothing in this package reads it off the data.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import TypeAlias

from kinfolk.errors import Findings

Value: TypeAlias = bool | int | float | str
"""A category as it stands in the data. One attribute's values are all of one kind."""

MAX_CATEGORIES = 65_535
"""Codes are unsigned integers of at most 16 bits."""

LARGEST_WHOLE = 2**53
"""Up to here every whole number is also exact as a floating-point number."""

LARGEST_EDGE = 1e300
"""Bins beyond this would be wider than floating-point numbers reach."""

MOST_DECIMALS = 15
"""Floating-point numbers hold about so many digits."""

MISSING_LABEL = "missing"
"""How the category of blank cells is called in words."""


def kind_of(value: object) -> str:
    """Name the kind of a value: 'number', 'text', 'true/false', or what it is instead."""
    if isinstance(value, bool):
        return "true/false"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "text"
    return "nothing" if value is None else type(value).__name__


def text_of(value: object) -> str:
    """Write a value as it would stand in the schema file.

    >>> text_of(3), text_of(2.50), text_of("3"), text_of(True)
    ('3', '2.5', "'3'", 'true')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, str) else f"{value}"


def shown(value: object, *, most: int = 60) -> str:
    """Write a value for a message: like `text_of`, shortened where it is long.

    >>> shown(None), shown(["drop"]), shown("a" * 100, most=12)
    ('a blank', "['drop']", "'aaa...aaaa'")
    """
    if value is None:
        return "a blank"
    short = reprlib.Repr()
    short.maxstring = short.maxother = most
    text = text_of(value) if isinstance(value, bool | int | float) else short.repr(value)
    return text if len(text) <= most else f"{text[: most - 3]}..."


def check_values(values: Sequence[object], findings: Findings, where: str = "values") -> None:
    """Values must be present, of one kind, finite, not blank, and each listed once."""
    if not values:
        findings.add(where, "the list is empty.", "List the values the column may hold.")
        return
    kinds: dict[str, object] = {}
    seen: dict[object, int] = {}
    for index, value in enumerate(values):
        place = f"{where}[{index}]"
        kind = kind_of(value)
        if value is None or value == "":
            fix = "Leave it out and set `missing: true` if blanks occur."
            findings.add(place, "a blank is not a value.", fix)
        elif kind not in ("number", "text", "true/false"):
            what = f"{shown(value)} is a {kind}."
            findings.add(place, what, "Use numbers, text or true/false.")
        elif isinstance(value, float) and not math.isfinite(value):
            findings.add(place, f"{value} is not a finite number.", "Remove it.")
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            what = f"{shown(value)} is too large for a whole number of 64 bits."
            findings.add(place, what, "Put it in quotes if it is a code.")
        elif (kind, value) in seen:
            fix = f"It already stands at {where}[{seen[kind, value]}]; remove one of the two."
            findings.add(place, f"the value {shown(value)} is listed twice.", fix)
        else:
            seen[kind, value] = index
            kinds.setdefault(kind, value)
    if len(kinds) > 1:
        mixed = " and ".join(f"{kind} ({shown(value)})" for kind, value in kinds.items())
        fix = "Use one kind; quote numbers that are meant as text, such as '0', '1', '3+'."
        findings.add(where, f"values mix {mixed}.", fix)


def check_labels(labels: Sequence[str] | None, expected: int, per: str, findings: Findings) -> None:
    """Labels, where given, must be one distinct text per category."""
    if labels is None:
        return
    if len(labels) != expected and not findings.problems:
        fix = f"Give exactly one label per {per}, or leave labels out."
        noun = "label" if len(labels) == 1 else "labels"
        findings.add("labels", f"{len(labels)} {noun} for {expected} {per}s.", fix)
    seen: set[str] = set()
    for index, label in enumerate(labels):
        if not isinstance(label, str) or not label.strip():
            findings.add(
                f"labels[{index}]", f"{shown(label)} is not a text.", "Write a short text."
            )
        elif label in seen:
            fix = "Give every category its own label."
            findings.add(f"labels[{index}]", f"the label {shown(label)} is used twice.", fix)
        else:
            seen.add(label)


@dataclass(frozen=True, kw_only=True)
class Categorical:
    """An attribute whose values are listed one by one.

    >>> sex = Categorical(values=[1, 2], labels=["male", "female"], missing=True)
    >>> sex.size, sex.label(1), sex.label(2)
    (3, 'female', 'missing')
    """

    values: Sequence[Value]
    """The values as they stand in the data; code i is values[i]."""
    labels: Sequence[str] | None = None
    """How the values are called in words, one each."""
    missing: bool = False
    """Whether blank is one more category. Its code comes last."""
    derived: bool | str = False
    """Whether the column is computed from the members of the group, or a formula that says how."""
    title: str | None = None
    """What the column is about, in words: `label` in a schema file."""

    def __post_init__(self) -> None:
        findings = Findings()
        _freeze(self, "values", "labels", findings=findings)
        check_values(self.values, findings)
        check_labels(self.labels, len(self.values), "value", findings)
        _check_number(len(self.values), "values", findings)
        _check_rest(self, "missing", findings=findings)

    @property
    def size(self) -> int:
        """The number of categories, blank included."""
        return len(self.values) + self.missing

    @property
    def kind(self) -> str:
        """'number', 'text' or 'true/false'."""
        return kind_of(self.values[0])

    def label(self, code: int) -> str:
        """Say category `code` in words."""
        if code == len(self.values):
            return MISSING_LABEL
        return self.labels[code] if self.labels else str(self.values[code])


@dataclass(frozen=True, kw_only=True)
class Numeric:
    """A number, cut into bins [a, b); the last bin includes its upper end.

    `special` lists numbers that are categories of their own: codes that are no quantity, such as -9
    for "not applicable", and numbers inside the bins that many rows have, such as an income of 0.
    Codes: the bins, without the special values in them, then the special values, then blank.

    >>> age = Numeric(bins=[0, 18, 65, 120], integer=True)
    >>> [age.label(code) for code in range(age.size)]
    ['0 to 17', '18 to 64', '65 to 120']
    >>> cars = Numeric(bins=[0, 3, 9], integer=True, special=[0])
    >>> [cars.label(code) for code in range(cars.size)]
    ['1 to 2', '3 to 9', '0']
    """

    bins: Sequence[int | float]
    """The edges, increasing; n edges make n - 1 bins."""
    integer: bool = False
    """Whether only whole numbers occur."""
    decimals: int | None = None
    """How many decimals synthetic values have; None: as many as they happen to have."""
    labels: Sequence[str] | None = None
    """How the bins, and then the special values, are called in words."""
    special: Sequence[int | float] = ()
    """Numbers that are categories of their own."""
    missing: bool = False
    """Whether blank is one more category. Its code comes last."""
    derived: bool | str = False
    """Whether the column is computed from the members of the group, or a formula that says how."""
    title: str | None = None
    """What the column is about, in words: `label` in a schema file."""

    def __post_init__(self) -> None:
        findings = Findings()
        _freeze(self, "bins", "labels", "special", findings=findings)
        self._check_decimals(findings)
        self._check_bins(findings)
        if self.special:
            self._check_special(findings)
        if not findings.problems and self.places is not None:
            self._check_steps(findings)
        categories = len(self.bins) - 1 + len(self.special)
        check_labels(self.labels, categories, "bin or special value", findings)
        _check_number(categories, "bins", findings)
        _check_rest(self, "missing", "integer", findings=findings)

    def _check_decimals(self, findings: Findings) -> None:
        places = self.decimals
        if places is None:
            return
        if isinstance(places, bool) or not isinstance(places, int):
            what = f"{shown(places)} is not a whole number."
            findings.add("decimals", what, "Write how many decimals there are, such as 2.")
        elif not 0 <= places <= MOST_DECIMALS:
            what = f"{shown(places)} is not between 0 and {MOST_DECIMALS}."
            findings.add("decimals", what, "Write how many decimals there are, such as 2.")
        elif self.integer is True and places:
            fix = "Remove `integer: true` or `decimals`."
            findings.add("decimals", f"whole numbers do not have {places} decimals.", fix)

    def _check_bins(self, findings: Findings) -> None:
        largest = LARGEST_WHOLE if self.integer is True else LARGEST_EDGE
        for index, edge in enumerate(self.bins):
            if kind_of(edge) != "number" or edge != edge or abs(edge) == math.inf:
                what = f"{shown(edge)} is not a finite number."
                findings.add(f"bins[{index}]", what, "Bin edges are numbers.")
            elif abs(edge) > largest:
                what = f"{shown(edge)} lies beyond what a bin can hold."
                findings.add(f"bins[{index}]", what, f"Stay within {largest:g} of zero.")
        if findings.problems:
            return
        if len(self.bins) < 2:
            fix = "Give at least two edges, such as [0, 18, 65, 120]."
            noun = "edge does" if len(self.bins) == 1 else "edges do"
            findings.add("bins", f"{len(self.bins)} {noun} not make a bin.", fix)
        for index, (low, high) in enumerate(pairwise(self.bins), start=1):
            if float(high) <= float(low):
                what = f"the edge {high} does not lie above the one before it, {low}."
                findings.add(f"bins[{index}]", what, "List the edges in increasing order.")

    def _check_special(self, findings: Findings) -> None:
        for index, value in enumerate(self.special):
            if kind_of(value) != "number":
                fix = "Special values of a numeric column are numbers."
                findings.add(f"special[{index}]", f"{shown(value)} is not a number.", fix)
        if findings.problems:
            return
        check_values(self.special, findings, "special")

    def _check_steps(self, findings: Findings) -> None:
        """Every bin must hold a value that can be written, beside the special ones."""
        places = self.places or 0
        largest = max(abs(self.bins[0]), abs(self.bins[-1])) * 10.0**places
        if largest > LARGEST_WHOLE:
            what = f"numbers up to {largest / 10.0**places:g} do not have {places} decimals."
            fix = "Floating-point numbers have about 15 digits; ask for fewer decimals."
            findings.add("decimals", what, fix)
            return
        kind = (
            "whole number"
            if self.integer
            else f"number with {places} decimal{'s' if places != 1 else ''}"
        )
        fix = f"Widen the bin or drop `{'integer: true' if self.integer else 'decimals'}`."
        for index, (low, high) in enumerate(pairwise(self.bins), start=1):
            steps = self._steps(index - 1)
            if not steps:
                what = f"no {kind} lies in the bin from {low} to {high}."
                findings.add(f"bins[{index}]", what, fix)
            elif len(steps) <= len(self.special) and not self.writable(index - 1):
                what = f"every {kind} in the bin from {low} to {high} is a special value."
                findings.add(f"bins[{index}]", what, "Leave the bin out, or widen it.")

    @property
    def size(self) -> int:
        """The number of categories, special values and blank included."""
        return len(self.bins) - 1 + len(self.special) + self.missing

    @property
    def places(self) -> int | None:
        """To how many decimals synthetic values are rounded; 0 for whole numbers."""
        return 0 if self.integer else self.decimals

    def _steps(self, code: int) -> range:
        """The numbers of the bin that can be written, in units of the last decimal."""
        places = self.places or 0
        low, high = self.bins[code], self.bins[code + 1]
        begin = math.ceil(Decimal(str(low)).scaleb(places))
        end = math.ceil(Decimal(str(high)).scaleb(places))
        if code == len(self.bins) - 2:
            end = math.floor(Decimal(str(high)).scaleb(places)) + 1
        # The nearest floating-point number may be the edge itself.
        elif end > begin and (end - 1) / 10**places >= high:
            end -= 1
        return range(begin, end)

    def special_steps(self) -> list[int]:
        """The special values in units of the last decimal, increasing, where they can be written.

        >>> Numeric(bins=[0, 1, 9], decimals=1, special=[0, 0.5, 0.25]).special_steps()
        [0, 5]
        """
        scaled = sorted(Decimal(str(value)).scaleb(self.places or 0) for value in self.special)
        return [int(value) for value in scaled if value == value.to_integral_value()]

    def writable(self, code: int) -> range:
        """The numbers that bin `code` may be written as, in units of the last decimal.

        From the first that is no special value to the last that is none.

        >>> Numeric(bins=[0, 0.5, 9], decimals=1, special=[0]).writable(0)
        range(1, 5)
        """
        steps, taken = self._steps(code), set(self.special_steps())
        begin, end = steps.start, steps.stop
        while begin < end and begin in taken:
            begin += 1
        while begin < end and end - 1 in taken:
            end -= 1
        return range(begin, end)

    def bounds(self, code: int) -> tuple[float, float]:
        """Where bin `code` begins and ends; for whole numbers the end is one past the last.

        >>> Numeric(bins=[0, 18, 65, 120], integer=True).bounds(2)
        (65, 121)
        """
        if self.integer:
            whole = self.writable(code)
            return whole.start, whole.stop
        return self.bins[code], self.bins[code + 1]

    def label(self, code: int) -> str:
        """Say category `code` in words."""
        bins = len(self.bins) - 1
        if code == bins + len(self.special):
            return MISSING_LABEL
        if self.labels:
            return self.labels[code]
        if code >= bins:
            return str(self.special[code - bins])
        if self.integer:
            whole = self.writable(code)
            first, final = whole[0], whole[-1]
            return f"{first}" if first == final else f"{first} to {final}"
        return f"{self.bins[code]:g} to {self.bins[code + 1]:g}"


Attribute: TypeAlias = Categorical | Numeric


def _check_number(categories: int, where: str, findings: Findings) -> None:
    if categories > MAX_CATEGORIES:
        what = f"{categories:,} categories are more than kinfolk handles."
        findings.add(where, what, f"Use at most {MAX_CATEGORIES:,}; merge the rarest.")


def _check_rest(attribute: Attribute, *flags: str, findings: Findings) -> None:
    """Check what all types of attributes have, and raise everything that was found."""
    for name in flags:
        flag = getattr(attribute, name)
        if not isinstance(flag, bool):
            what = f"{shown(flag)} is neither true nor false."
            findings.add(name, what, "Write true or false.")
    derived: object = attribute.derived
    if not isinstance(derived, bool) and not (isinstance(derived, str) and derived.strip()):
        fix = "Write true, or how it is computed, such as `derived: count`."
        findings.add("derived", f"{shown(derived)} is no formula.", fix)
    title: object = attribute.title
    if title is not None and not (isinstance(title, str) and title.strip()):
        fix = "Write what the column is about, such as `label: Age in years`."
        findings.add("label", f"{shown(title)} is not a text.", fix)
    findings.raise_if_any("attribute")


def _freeze(attribute: object, *names: str, findings: Findings) -> None:
    """Turn the lists a caller passed into tuples, so that the attribute cannot change."""
    for name in names:
        given = getattr(attribute, name)
        if given is None:
            continue
        unordered = isinstance(given, str | bytes | Mapping | AbstractSet)
        if unordered or not isinstance(given, Iterable):
            findings.add(name, f"{shown(given)} is not a list.", "Write a list, such as [1, 2, 3].")
            findings.raise_if_any("attribute")
        # NumPy scalars become the Python numbers they hold.
        plain = (value.item() if hasattr(value, "item") else value for value in given)
        object.__setattr__(attribute, name, tuple(plain))
