"""Bins of ages: five years each, from 0 to a limit that anyone could name."""

from __future__ import annotations

import re

from kinfolk._typing import Floats, Ints

AGE = re.compile(r"(?i)(.*_)?(age|agep|edad|alter|idade|leeftijd)(_.*)?")
"""Names of columns that hold ages."""
OLDEST = 120
"""Nobody is older."""
STEP = 5
"""Years in a bin."""
TAIL = 0.01
"""The last bin begins where so few of the rows are left."""
HEAP = 2
"""The largest age is a bin of its own if so many times as many rows have it ..."""
BEFORE = 5
"""... as have any of so many ages below."""
ENOUGH = 30
"""A heap has at least so many rows."""


def are_ages(name: str, numbers: Floats) -> bool:
    """Whether a column of whole numbers holds ages in years: by its name, and within limits.

    >>> import numpy as np
    >>> [are_ages(name, np.arange(95.0)) for name in ("AGEP", "age_of_head", "wage", "mileage")]
    [True, True, False, False]
    """
    within = numbers[0] >= 0 and STEP < numbers[-1] <= OLDEST
    return bool(AGE.fullmatch(name) and within)


def age_bins(numbers: Floats, counts: Ints) -> list[int | float]:
    """Edges every five years; a heap at the end, 85 for 85 or more, has a bin of its own.

    That bin ends at 85.5: a bin has its upper end, and nobody is to become 86.

    numbers: (distinct,) increasing; counts: (distinct,) how many rows have each.

    >>> import numpy as np
    >>> age_bins(np.arange(18.0, 43.0), np.ones(25, np.int64))
    [0, 15, 20, 25, 30, 35, 40, 120]
    """
    first = max(STEP, int(numbers[0]) // STEP * STEP)
    top = int(numbers[-1])
    if is_top_coded(counts):
        return [0, *range(first, top, STEP), top, top + 0.5]
    rest = counts.sum() - counts.cumsum() + counts
    last = int(numbers[rest >= TAIL * counts.sum()][-1]) // STEP * STEP
    return [0, *range(first, max(first, last) + 1, STEP), OLDEST]


def is_top_coded(counts: Ints) -> bool:
    """Whether the last of the ages, (distinct,) with their counts, stands for all above as well."""
    before = counts[-BEFORE - 1 : -1]
    return len(before) == BEFORE and bool(counts[-1] >= max(ENOUGH, HEAP * before.max()))
