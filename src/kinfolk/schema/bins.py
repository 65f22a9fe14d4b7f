"""Bins cut into cells, and bins put together.

Where inside a bin the numbers lie is learnt by counting cells; how two numbers go together shows
best in few, large bins. Both follow from the schema alone: they are as public as the bins.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kinfolk.schema.attributes import LARGEST_WHOLE, MAX_CATEGORIES, Attribute, Numeric

if TYPE_CHECKING:
    from kinfolk.schema.schema import Schema


NARROW = 24
"""A bin with at most so many numbers that can be written has a cell for each of them."""
ROUND = 5
"""People round to multiples of this: whole numbers that have a cell of their own, ..."""
MIDDLING = 60
"""... in bins with at most so many numbers, where cells would be narrower than that anyway."""
CELLS = 10
"""The cells of other bins, ..."""
MOST_CELLS = 40
"""... and of bins in which cells grow, at most."""
GROWTH = 1.2
"""How much wider a cell is than the one before it, where cells grow."""
WIDE = 3
"""The first and the last bin are tails where they are so many times wider than the next."""
SPAN = 4
"""A bin whose ends differ by more than this factor has cells that grow, too."""
BINS = 6
"""A number has so many bins at most where it is counted coarsely, ..."""
EVERYBODYS_BINS = 9
"""... and so many where everybody has one, such as the age: more is bought and known of it."""


def fine(attribute: Numeric) -> Numeric:
    """The same number with cells as its bins; every cell lies in one bin.

    Whole numbers in a narrow bin have a cell each, multiples of 5 in a wider one as well. In tails
    the cells grow from the inner end outwards. Where there would be more cells than categories can
    be, the bins stay as they are.

    >>> fine(Numeric(bins=[0, 2, 4], integer=True)).bins
    (0, 1, 2, 3, 4, 4.5)
    >>> fine(Numeric(bins=[0, 10, 20, 1000], decimals=0)).bins[20:30]
    (20, 21, 22, 23, 25, 27, 29, 32, 36, 41)
    """
    edges: list[int | float] = []
    for code in range(len(attribute.bins) - 1):
        edges += [attribute.bins[code], *_inner(attribute, code)]
    if len(edges) + attribute.size >= MAX_CATEGORIES:
        return replace(attribute, labels=None)
    top = attribute.bins[-1]
    if edges[-1] == top and attribute.places is not None:
        # The last number has a cell of its own, which must end beyond it.
        top += 0.5 / 10**attribute.places
    return replace(attribute, bins=[*edges, top], labels=None)


@dataclass(frozen=True, kw_only=True)
class FineAttributes:
    """The numbers of a schema that are counted finely, with their cells as bins, by name.

    Not those that are computed by a formula, and not those whose bins say it all.

    >>> from kinfolk.schema import Schema
    >>> schema = Schema.from_text('''
    ... individual:
    ...   table: people
    ...   attributes: {age: {bins: [0, 18, 120]}, cars: {bins: [0, 1, 2], integer: true}}
    ... max_size: 1
    ... ''')
    >>> list(FineAttributes.of(schema).individual)
    ['age', 'cars']
    """

    group: Mapping[str, Numeric]
    individual: Mapping[str, Numeric]

    @classmethod
    def of(cls, schema: Schema) -> FineAttributes:
        """Those of a schema."""
        own = {
            name: one
            for name, one in schema.group_attributes.items()
            if name not in schema.formulas
        }
        return cls(group=_finer(own), individual=_finer(schema.individual_attributes))


def _finer(attributes: Mapping[str, Attribute]) -> dict[str, Numeric]:
    found = ((name, finer(attribute)) for name, attribute in attributes.items())
    return {name: cells for name, cells in found if cells is not None}


def finer(attribute: Attribute) -> Numeric | None:
    """The attribute with cells as its bins, if it is a number and its bins do not say it all.

    >>> finer(Numeric(bins=[0, 1, 2, 3], special=[3], integer=True)) is None
    True
    """
    if not isinstance(attribute, Numeric):
        return None
    cells = fine(attribute)
    return cells if attribute.size < cells.size else None


def codes_of_cells(attribute: Numeric, cells: Numeric) -> list[int]:
    """The attribute's code for every code of its cells, special values and blank included.

    >>> hours = Numeric(bins=[0, 2, 4], integer=True, special=[99], missing=True)
    >>> codes_of_cells(hours, fine(hours))
    [0, 0, 1, 1, 1, 2, 3]
    """
    return [*bin_of_cells(attribute, cells), *range(len(attribute.bins) - 1, attribute.size)]


def bin_of_cells(attribute: Numeric, cells: Numeric) -> list[int]:
    """In which bin each cell lies. cells: what `fine` made of the attribute.

    >>> age = Numeric(bins=[0, 2, 4], integer=True)
    >>> bin_of_cells(age, fine(age))
    [0, 0, 1, 1, 1]
    """
    starts = attribute.bins[1:-1]
    return [bisect_left(starts, edge) + (edge in starts) for edge in cells.bins[:-1]]


def tail_of(attribute: Numeric, code: int) -> int:
    """Whether a bin is a tail: 1 where its numbers thin out upwards, -1 downwards, 0 not at all.

    >>> [tail_of(Numeric(bins=[-500, 0, 10, 20, 1000]), code) for code in range(4)]
    [-1, 0, 0, 1]
    """
    bins = attribute.bins
    last = len(bins) - 2
    if last == 0:
        # A single bin: away from zero.
        return 1 if bins[0] >= 0 else -1 if bins[1] <= 0 else 0
    width = bins[code + 1] - bins[code]
    if code == last and width > WIDE * (bins[code] - bins[code - 1]):
        return 1
    return -1 if code == 0 and width > WIDE * (bins[2] - bins[1]) else 0


def first_width(attribute: Numeric, code: int) -> float:
    """How wide the first cell of a tail is."""
    bins = attribute.bins
    if len(bins) == 2:
        return (bins[1] - bins[0]) / 1000
    next_to = bins[2] - bins[1] if code == 0 else bins[code] - bins[code - 1]
    return next_to / 4


def _inner(attribute: Numeric, code: int) -> list[int | float]:
    """The edges of cells inside one bin, increasing."""
    low, high = attribute.bins[code], attribute.bins[code + 1]
    if attribute.places is None:
        found = _candidates(attribute, code)
        kept: list[int | float] = []
        for edge in found:
            if (kept[-1] if kept else low) < edge < high:
                kept.append(edge)
        return kept
    return _written(attribute, code)


def _written(attribute: Numeric, code: int) -> list[int | float]:
    """Edges that can be written, so that every cell holds a number that can be written too."""
    unit = 10 ** (attribute.places or 0)
    allowed = attribute.writable(code)
    taken = [k for k in attribute.special_steps() if k in allowed]
    if len(allowed) - len(taken) <= NARROW:
        steps = [k for k in allowed if k not in taken]
    elif sets_round_apart(attribute, code):
        steps = [k for k in allowed if k % ROUND in (0, 1)]
    else:
        steps = [math.ceil(edge * unit) for edge in _candidates(attribute, code)]
    kept: list[int] = [allowed.start]
    for step in steps:
        # A cell of special values alone, or of nothing, joins the next one.
        if allowed.start < step < allowed.stop and _free(taken, kept[-1], step):
            kept.append(step)
    while len(kept) > 1 and not _free(taken, kept[-1], allowed.stop):
        kept.pop()
    if kept[-1] == allowed.stop - 1 > LARGEST_WHOLE // 4:
        kept.pop()
    return [k // unit if k % unit == 0 else k / unit for k in kept[1:]]


def sets_round_apart(attribute: Numeric, code: int) -> bool:
    """Whether multiples of 5 have cells of their own in a bin that is not a narrow one.

    >>> hours = Numeric(bins=[0, 20, 35, 40, 50, 90], integer=True)
    >>> sets_round_apart(hours, 4), fine(hours).bins[-8:]
    (True, (75, 76, 80, 81, 85, 86, 90, 90.5))
    """
    if attribute.places != 0 or len(attribute.bins) == 2:
        return False
    if len(attribute.writable(code)) > MIDDLING:
        return False
    if tail_of(attribute, code):
        return first_width(attribute, code) < ROUND
    return attribute.bins[code + 1] - attribute.bins[code] < ROUND * CELLS


def _free(taken: list[int], begin: int, end: int) -> bool:
    """Whether a number from `begin` on and below `end` is left beside the special ones."""
    return end - begin > bisect_left(taken, end) - bisect_left(taken, begin)


def _candidates(attribute: Numeric, code: int) -> list[float]:
    low, high = float(attribute.bins[code]), float(attribute.bins[code + 1])
    tail = tail_of(attribute, code)
    if tail:
        offsets = _growing(first_width(attribute, code), high - low)
        return [low + one for one in offsets] if tail > 0 else [high - one for one in offsets[::-1]]
    near, far = sorted((abs(low), abs(high)))
    if low * high > 0 and far > SPAN * near:
        count = _between(math.log(far / near) / math.log(GROWTH))
        ratios = [(far / near) ** (i / count) for i in range(1, count)]
        return [math.copysign(near * one, low) for one in (ratios if low > 0 else ratios[::-1])]
    return [low + (high - low) * i / CELLS for i in range(1, CELLS)]


def _growing(first: float, width: float) -> list[float]:
    """Distances from the inner end at which cells end, each wider than the one before."""
    count = _between(math.log1p(width / first * (GROWTH - 1)) / math.log(GROWTH))
    growth = 1 + width / first
    return [first * (growth ** (i / count) - 1) for i in range(1, count)]


def _between(count: float) -> int:
    return min(MOST_CELLS, max(CELLS, math.ceil(count)))


def is_everybodys(attribute: Attribute) -> bool:
    """Whether it is a number that nobody lacks.

    >>> is_everybodys(Numeric(bins=[0, 18, 120])), is_everybodys(Numeric(bins=[0, 9], special=[0]))
    (True, False)
    """
    return isinstance(attribute, Numeric) and not attribute.missing and not attribute.special


def coarse_codes(attribute: Attribute) -> tuple[int, ...]:
    """For every code the coarse one: neighbouring bins together, special values and blank apart.

    >>> coarse_codes(Numeric(bins=range(0, 90, 10), special=[99], missing=True))
    (0, 0, 1, 2, 3, 3, 4, 5, 6, 7)
    >>> coarse_codes(Numeric(bins=[0, 18, 120]))
    (0, 1)
    """
    return in_bands(attribute, EVERYBODYS_BINS if is_everybodys(attribute) else BINS)


def in_bands(attribute: Attribute, most: int) -> tuple[int, ...]:
    """For every code its band: at most so many of neighbouring bins, all other categories apart."""
    bins = len(attribute.bins) - 1 if isinstance(attribute, Numeric) else 0
    if bins <= most:
        return tuple(range(attribute.size))
    large = [code * most // bins for code in range(bins)]
    return (*large, *range(most, most + attribute.size - bins))


def coarse_size(attribute: Attribute) -> int:
    """How many categories it has where it is counted coarsely.

    >>> coarse_size(Numeric(bins=range(0, 90, 10), missing=True))
    7
    """
    return max(coarse_codes(attribute), default=-1) + 1


def is_coarser(attribute: Attribute) -> bool:
    """Whether some of its bins are put together."""
    return coarse_size(attribute) < attribute.size
