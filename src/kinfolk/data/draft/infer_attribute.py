"""One column -> an attribute, or the reason why it cannot be one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from kinfolk._typing import Floats
from kinfolk.data.columns import encode_column
from kinfolk.data.draft.ages import age_bins, are_ages
from kinfolk.data.draft.amounts import draft_amount
from kinfolk.data.draft.profile import LARGEST, LeftOut, Profile, is_clean, is_number
from kinfolk.errors import SchemaError
from kinfolk.schema import Attribute, Categorical, Numeric, Value
from kinfolk.schema.attributes import kind_of

MOST_CODES = 25
"""Whole numbers with at most this many distinct values may be codes."""
MOST_TEXTS = 64
"""A text column with more values than this is not a list of categories."""
MOST_TOLD = 256
"""How many values are listed where metadata says that the column is categorical."""
MOST_LABELLED = 10
"""Numbers among amounts that have labels, and stand for something else: refused, not asked."""
LONGEST_TEXT = 80
"""A longer cell is prose."""
SMALL_TABLE = 5
"""In a table of so few rows, values that differ in every row mean nothing."""

_DATE = re.compile(
    r"(\d{4}[-/]\d{1,2}[-/]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{2}|\d{4}))([T ]\d.*)?", re.ASCII
)
_SENTINEL = re.compile(r"-[1-9]|-(7+|8+|9+|9+[78])")
_TOP_SENTINEL = re.compile(r"9{3,}|9{2,}[678]")
_WEIGHT = re.compile(
    r"(?i)(p?wgtp|repwtp?)[0-9]*|perwt|hhwt|(sample|sampling|survey|design)_?(weight|wt|wgt)"
)


def judge(
    profile: Profile,
    *,
    told: str | None = None,
    labels: Mapping[Value, str] = MappingProxyType({}),
    title: str | None = None,
) -> Attribute | LeftOut:
    """Draft an attribute; `told` is what metadata says: 'categorical' or 'numerical'.

    `labels` and `title` are what the file calls the values and the column.
    """
    if len(profile.tally) == 1 and not profile.blanks:
        return LeftOut("it has the same value in every row")
    known = {v: " ".join(text.split()) for v, text in labels.items() if kind_of(v) == profile.kind}
    found = _draft(profile, told, known)
    if isinstance(found, LeftOut):
        return found
    found = replace(with_labels(found, known), title=" ".join((title or "").split()) or None)
    # A draft must fit the data it was drafted from; whatever does not is left to the analyst.
    try:
        _, misfits = encode_column(profile.column, found, untyped=profile.untyped)
    except (pa.ArrowException, ValueError, OverflowError):
        return LeftOut("kinfolk cannot read its cells; convert it to plain numbers or text")
    return LeftOut("its cells fit neither a list of values nor bins") if misfits else found


def with_labels(found: Attribute, known: Mapping[Value, str]) -> Attribute:
    """An attribute whose categories are called as the file calls them.

    >>> with_labels(Categorical(values=[1, 2, 9]), {1: "yes", 2: "no", 8: "other"}).labels
    ('yes', 'no', '9')
    """
    values = found.values if isinstance(found, Categorical) else found.special
    if not any(value in known for value in values):
        return found
    words = [found.label(code) for code in range(found.size - found.missing)]
    own = len(words) - len(values)
    words[own:] = [known.get(value, word) for value, word in zip(values, words[own:], strict=True)]
    taken = Counter(words)
    words[own:] = [
        f"{word} ({value})" if taken[word] > 1 else word
        for value, word in zip(values, words[own:], strict=True)
    ]
    try:
        return replace(found, labels=words)
    except SchemaError:
        # An empty label, or one that reads like another value with its own.
        return found


def _draft(profile: Profile, told: str | None, labels: Mapping[Value, str]) -> Attribute | LeftOut:
    if told == "numerical" and profile.kind != "number":
        return LeftOut(f"the metadata says numerical, but {_not_numbers(profile)}")
    if told is None and labels and set(profile.tally) <= set(labels) and len(labels) <= MOST_TOLD:
        # Values that nobody has are the codebook's, too.
        return Categorical(values=sorted(labels), missing=profile.blanks > 0)
    if profile.kind == "true/false":
        return Categorical(values=[False, True], missing=profile.blanks > 0)
    if profile.kind == "text":
        return _draft_text(profile, told)
    return _draft_number(profile, told, labels)


def _draft_text(profile: Profile, told: str | None) -> Attribute | LeftOut:
    texts = [str(value) for value in profile.tally]
    if all(_DATE.fullmatch(text) for text in texts):
        return LeftOut("it holds dates; turn them into a year, an age or a season")
    if "" in texts:
        return LeftOut("some cells are empty text instead of blank; make them blank")
    if any(len(text) > LONGEST_TEXT or not is_clean(text) for text in texts):
        return LeftOut("it holds free text (long cells, line breaks or control characters)")
    most = MOST_TOLD if told == "categorical" else MOST_TEXTS
    if len(texts) > most and profile.untyped and _with_commas(texts):
        return LeftOut("its numbers have commas; write them with a point alone, such as 1234.5")
    if told != "categorical":
        if profile.unique and profile.rows > SMALL_TABLE:
            return LeftOut("every row has its own text, as names and ids do")
        if len(texts) > max(10, profile.rows // 2):
            return LeftOut("nearly every row has its own text, as names do")
    if len(texts) > most:
        return LeftOut(f"it has more than {most} different texts; {_too_many(profile)}")
    return Categorical(values=texts, missing=profile.blanks > 0)


def _with_commas(texts: Sequence[str]) -> bool:
    """Whether all cells are numbers as much of Europe writes them.

    >>> _with_commas(["966,88", "25849"]), _with_commas(["1", "2"]), _with_commas(["1,000", "a"])
    (True, False, False)
    """
    commas = [text.replace(",", ".") for text in texts if text.count(",") == 1]
    others = [text for text in texts if text.count(",") != 1]
    return bool(commas) and all(is_number(text) for text in commas + others)


def _too_many(profile: Profile) -> str:
    texts = [str(value) for value in profile.tally]
    numeric = sum(is_number(text) for text in texts)
    if profile.untyped and numeric > len(texts) // 2:
        return f"{_not_numbers(profile)}; make such cells blank to treat the rest as numbers"
    return "merge them into fewer, or list them from the codebook"


def _not_numbers(profile: Profile) -> str:
    odd = next((value for value in profile.tally if not is_number(str(value))), None)
    if not profile.untyped or odd is None:
        return f"the column holds {profile.kind}"
    shown = ascii(odd if len(str(odd)) <= 20 else f"{str(odd)[:20]}...")
    return f"the cell {shown} is not a number"


def _draft_number(
    profile: Profile, told: str | None, labels: Mapping[Value, str]
) -> Attribute | LeftOut:
    numbers, blank = profile.numbers, profile.blanks > 0
    if not np.isfinite(numbers).all():
        return LeftOut("it holds infinite numbers; make them blank")
    if np.abs(numbers).max() > LARGEST:
        return LeftOut("its numbers are as large as ids are; list or cut them by hand")
    if told is None and _WEIGHT.fullmatch(profile.name):
        return LeftOut("it looks like a survey weight, which is not a trait of anybody")
    if told is None and _are_dates(profile):
        return LeftOut("it holds dates written as numbers; turn them into a year or an age")
    if told != "categorical" and looks_like_id(profile):
        return LeftOut("every row has its own number, as ids do")
    few = len(profile.tally) <= (MOST_TOLD if told == "categorical" else MOST_CODES)
    special = specials(profile)
    if few and (told == "categorical" or (told is None and _are_codes(profile, special))):
        listed = sorted({*profile.tally, *labels}) if labels else list(profile.tally)
        return Categorical(values=listed, missing=blank)
    if told == "categorical":
        return LeftOut(f"it has more than {MOST_TOLD} different values; merge them into fewer")
    whole = [int(value) for value in labels if float(value).is_integer()]
    meant = whole if len(whole) <= MOST_LABELLED else []
    return _binned(profile, sorted({*special, *meant}), meant)


def _are_codes(profile: Profile, special: list[int]) -> bool:
    """Few distinct whole numbers, close together or often repeated."""
    if not profile.whole:
        return False
    rest = [number for number in profile.numbers if number not in special]
    close = not rest or rest[-1] - rest[0] <= MOST_CODES
    return close or len(profile.tally) <= profile.rows // 4


def _binned(profile: Profile, special: list[int], meant: list[int]) -> Attribute | LeftOut:
    """Bins for an amount; special values inside them stay only where they are `meant` so."""
    rest = ~np.isin(profile.numbers, special)
    counts = np.array(list(profile.tally.values()), np.int64)
    if not rest.any():
        return Categorical(values=list(profile.tally), missing=profile.blanks > 0)
    numbers, blank = profile.numbers[rest], profile.blanks > 0
    try:
        if profile.whole and are_ages(profile.name, numbers):
            bins = age_bins(numbers, counts[rest])
            found = Numeric(bins=bins, integer=True, special=special, missing=blank)
        else:
            found = draft_amount(
                numbers, counts[rest], whole=profile.whole, special=special, missing=blank
            )
        low, high = found.bins[0], found.bins[-1]
        stay = [v for v in special if v in meant or not low <= v <= high]
        return found if len(stay) == len(special) else _binned(profile, stay, meant)
    except SchemaError:
        return LeftOut("no round bins could be found for its numbers")


def specials(profile: Profile) -> list[int]:
    """Numbers that stand for themselves: frequent, outside the range, and written like a code.

    -9 below amounts that are never negative, or 9999999 far above all others.
    """
    frequent = max(2, profile.rows // 100)
    whole = {int(n): c for n, c in profile.tally.items() if float(n).is_integer()}
    below = [n for n in whole if _SENTINEL.fullmatch(str(n)) and whole[n] >= frequent]
    # Many small negative numbers, or others among them, are amounts and not codes.
    if len(below) > 3 or (profile.numbers[~np.isin(profile.numbers, below)] < 0).any():
        below = []
    above = [n for n in whole if _TOP_SENTINEL.fullmatch(str(n)) and whole[n] >= frequent]
    rest = profile.numbers[~np.isin(profile.numbers, above)]
    return below + [n for n in above if len(rest) and n > 2 * rest[-1] and n > 0]


def looks_like_id(profile: Profile) -> bool:
    """A different whole number in every row, called an id, without gaps, or in rising order."""
    if not profile.unique or not profile.whole or profile.rows < 3:
        return False
    if re.search(r"(?i)(^|_)(id|uuid|guid|key|index|serial|serialno)$|ID$", profile.name):
        return True
    rows = np.asarray(profile.at(), dtype=float)
    dense = float(np.ptp(rows)) < 2 * len(rows)
    return len(rows) >= 20 and (dense or bool((np.diff(rows) > 0).all()))


def _are_dates(profile: Profile) -> bool:
    numbers: Floats = profile.numbers
    if not profile.whole or numbers[0] < 1800_01_01 or numbers[-1] > 2200_12_31:
        return False
    months, days = numbers // 100 % 100, numbers % 100
    return bool(((months >= 1) & (months <= 12) & (days >= 1) & (days <= 31)).all())
