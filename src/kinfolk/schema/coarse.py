"""Bins put together: how two numbers go together shows best in few, large cells.

The large bins follow from the schema alone, so they are as public as the bins.
"""

from __future__ import annotations

from kinfolk.schema.attributes import Attribute, Numeric

BINS = 6
"""A number has so many bins at most where it is counted coarsely, ..."""
EVERYBODYS_BINS = 9
"""... and so many where everybody has one, such as the age: more is bought and known of it."""


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
    bins = len(attribute.bins) - 1 if isinstance(attribute, Numeric) else 0
    most = EVERYBODYS_BINS if is_everybodys(attribute) else BINS
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
