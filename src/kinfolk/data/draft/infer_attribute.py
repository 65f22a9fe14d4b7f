"""One column -> an attribute, or the reason why it cannot be one.

Edges are round: multiples of 1, 2 or 5 times a power of ten.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from kinfolk._typing import Floats, Ints
from kinfolk.data.columns import encode_column
from kinfolk.data.draft.profile import LARGEST, LeftOut, Profile, is_clean, is_number
from kinfolk.errors import SchemaError
from kinfolk.schema import Attribute, Categorical, Numeric, Value
from kinfolk.schema.attributes import kind_of

LEVELS = (0.01, 0.05, *(n / 10 for n in range(1, 10)), 0.95, 0.99)
"""Shares of the rows below the edges; the outermost only where a tail is long."""
LONG_TAIL = 3
"""A tail is long if it reaches so many times farther from the median than eight tenths do."""
GENEROUS = 2
"""So much farther than the outermost number the end of a long tail is declared."""
ZEROS = 0.05
"""A share of zeros from which they are a category of their own, ..."""
STANDS_OUT = 2
"""... if so many times as many rows have zero as any other number has."""
MOST_DECIMALS = 6
"""Numbers with more decimals than this are measured, not written."""
FEWEST_BINS = 4
"""Wherever there are more numbers than that."""

FINEST = 1e-9
"""Edges are multiples of at least this share of the largest number."""


def draft_amount(
    numbers: Floats,
    counts: Ints,
    *,
    whole: bool,
    special: Sequence[int | float] = (),
    missing: bool = False,
) -> Numeric:
    """Draft a numeric attribute.

    numbers: (distinct,) increasing, without what stands for itself outside the range (`special`);
    counts: (distinct,) how many rows have each.

    >>> wages = np.concatenate([np.zeros(50), np.round(np.exp(np.linspace(6, 12, 50)))])
    >>> draft_amount(*np.unique(wages, return_counts=True), whole=True).special
    (0,)
    """
    own = list(special)
    if stands_out(numbers, counts):
        own.append(0)
        rest = numbers != 0
        numbers, counts = numbers[rest], counts[rest]
    places = 0 if whole else decimals_of(numbers, counts)
    bins = amount_bins(numbers, counts, places=places)
    if whole or places is None or not _fits(bins, places):
        return Numeric(bins=bins, integer=whole, special=own, missing=missing)
    return Numeric(bins=bins, decimals=places, special=own, missing=missing)


def stands_out(numbers: Floats, counts: Ints) -> bool:
    """Whether so many rows have 0 that it is a category of its own, beside other numbers."""
    zero = numbers == 0
    if not zero.any() or zero.all():
        return False
    zeros, others = int(counts[zero].sum()), int(counts[~zero].max())
    return bool(zeros >= ZEROS * counts.sum() and zeros >= STANDS_OUT * others)


def decimals_of(numbers: Floats, counts: Ints) -> int | None:
    """How many decimals all but one in a hundred rows make do with; None if too many.

    >>> decimals_of(np.array([0.5, 1.25, 7.0]), np.array([1, 1, 1]))
    2
    """
    for places in range(MOST_DECIMALS + 1):
        fine = np.round(numbers, places) == numbers
        if counts[fine].sum() >= 0.99 * counts.sum():
            return places
    return None


def amount_bins(numbers: Floats, counts: Ints, *, places: int | None) -> list[int | float]:
    """Round edges near the quantiles, closer together in the tails; ends that say little.

    places: how many decimals the numbers have; every bin has room for one of them.

    >>> ages = np.arange(1.0, 98.0)
    >>> amount_bins(ages, np.ones(97, np.int64), places=0)
    [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    """
    low, high = float(numbers[0]), float(numbers[-1])
    unit = 0.0 if places is None else 10.0**-places
    finest = max(unit, max(abs(low), abs(high)) * FINEST) or 1.0
    share = np.cumsum(counts) / counts.sum()
    at = numbers[np.minimum(np.searchsorted(share, LEVELS), len(numbers) - 1)]
    middle, spread = float(at[6]), float(at[10] - at[2])
    tails = (middle - low > LONG_TAIL * spread, high - middle > LONG_TAIL * spread)
    marks = at[0 if tails[0] else 2 : None if tails[1] else 11]
    inner: set[int | float] = {0} if low < 0 < high else set()
    apart = np.diff(np.concatenate([[low], marks, [high]]))
    for mark, before, after in zip(marks.tolist(), apart[:-1], apart[1:], strict=True):
        # As round as its own size and the distance to the next ones call for: 25, not 23.
        gaps = [float(gap) for gap in (before, after) if gap > 0]
        plain = min(abs(mark) / 10, spread / 20) if spread else abs(mark) / 10
        step = step_below(max(min(gaps, default=finest), step_above(max(plain, finest)).size))
        inner.add(step.times(round(mark / step.size)))
    bottom = _end(low, inner, finest, long=tails[0], down=True)
    top = _end(high, inner, finest, long=tails[1], down=False)
    if top <= bottom:
        top = bottom + step_above(finest).times(1)
    edges = [bottom, *sorted(edge for edge in inner if bottom < edge < top), top]
    return _cut(_apart(edges), finest)


def _end(
    number: float, inner: set[int | float], finest: float, *, long: bool, down: bool
) -> int | float:
    """A round number beyond all others; far beyond where a tail is long."""
    sign = -1 if down else 1
    if long and sign * number > 0:
        step = step_above(abs(number) * GENEROUS)
        return step.times(sign)
    if down and number >= 0 and (not inner or number <= min(inner, default=0)) and long:
        return 0
    beyond = [abs(number - edge) for edge in inner if sign * (number - edge) > 0]
    step = step_above(max(min(beyond, default=0.0), finest))
    return _enclose(number, step, sign)


def _enclose(number: float, step: RoundStep, sign: int) -> int | float:
    """The nearest multiple of the step at or beyond a number."""
    count = sign * math.ceil(sign * number / step.size)
    while sign * step.times(count) < sign * number:
        count += sign
    return step.times(count)


def _apart(edges: list[int | float]) -> list[int | float]:
    """The edges without those that can hardly be told from the one before."""
    closest = (edges[-1] - edges[0]) * FINEST
    kept = edges[:1]
    for edge in edges[1:-1]:
        if edge - kept[-1] > closest and edges[-1] - edge > closest:
            kept.append(edge)
    return [*kept, edges[-1]]


def _cut(edges: list[int | float], finest: float) -> list[int | float]:
    """With a few more round edges where there are hardly any."""
    if len(edges) > FEWEST_BINS:
        return edges
    step = step_below(max((edges[-1] - edges[0]) / FEWEST_BINS, finest))
    first = math.floor(edges[0] / step.size) + 1
    count = min(10 * FEWEST_BINS, math.ceil(edges[-1] / step.size) - first)
    more = [step.times(first + n) for n in range(max(0, count))]
    between = [edge for edge in more if edges[0] < edge < edges[-1]]
    return _apart(sorted({*edges, *between}))


def _fits(bins: Sequence[int | float], places: int) -> bool:
    """Whether floating-point numbers of this size have so many decimals."""
    return max(abs(bins[0]), abs(bins[-1])) * 10.0**places <= 2**53


class RoundStep(NamedTuple):
    """A round distance: mantissa (1, 2 or 5) times ten to the exponent."""

    mantissa: int
    exponent: int

    @property
    def size(self) -> float:
        """The distance as a number."""
        return float(Decimal(self.mantissa).scaleb(self.exponent))

    def times(self, count: int) -> int | float:
        """A multiple of the step, without the dust of binary fractions.

        >>> RoundStep(1, -1).times(3), RoundStep(5, 3).times(-2)
        (0.3, -10000)
        """
        if self.exponent >= 0:
            return int(count * self.mantissa * 10**self.exponent)
        number = float(Decimal(count * self.mantissa).scaleb(self.exponent))
        return int(number) if number.is_integer() else number


def step_below(gap: float) -> RoundStep:
    """The largest round distance that is at most `gap`.

    >>> step_below(7), step_below(0.3)
    (RoundStep(mantissa=5, exponent=0), RoundStep(mantissa=2, exponent=-1))
    """
    exponent = math.floor(math.log10(gap))
    # The logarithm may land a hair on the wrong side of a power of ten.
    candidates = [RoundStep(m, e) for e in range(exponent - 1, exponent + 2) for m in (1, 2, 5)]
    return max((step for step in candidates if step.size <= gap), key=lambda step: step.size)


def step_above(gap: float) -> RoundStep:
    """The smallest round distance that is at least `gap`."""
    step = step_below(gap)
    if step.size >= gap:
        return step
    following = {1: RoundStep(2, step.exponent), 2: RoundStep(5, step.exponent)}
    return following.get(step.mantissa, RoundStep(1, step.exponent + 1))


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
    if told != "categorical":
        if profile.unique and profile.rows > SMALL_TABLE:
            return LeftOut("every row has its own text, as names and ids do")
        if len(texts) > max(10, profile.rows // 2):
            return LeftOut("nearly every row has its own text, as names do")
    most = MOST_TOLD if told == "categorical" else MOST_TEXTS
    if len(texts) > most:
        return LeftOut(f"it has more than {most} different texts; {_too_many(profile)}")
    return Categorical(values=texts, missing=profile.blanks > 0)


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
    try:
        found = draft_amount(
            profile.numbers[rest],
            counts[rest],
            whole=profile.whole,
            special=special,
            missing=profile.blanks > 0,
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
