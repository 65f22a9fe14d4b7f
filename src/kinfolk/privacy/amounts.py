"""Amounts of rho, exact.

A budget is compared with a sum of spends. In floating point that sum may round down (an overspend
nobody sees) or up (a refusal nobody understands), so an amount is a fraction on one fixed grid of
multiples of 2**-96: additions are exact, and a thousand different spends do not grow a thousand
different denominators. What is charged is rounded up to the grid, what is granted is rounded down.
"""

from __future__ import annotations

from fractions import Fraction

from kinfolk.errors import KinfolkError

GRID = 2**96
"""Amounts are multiples of 1 / GRID, about 1.3e-29."""


def round_up(value: float | Fraction) -> Fraction:
    """The smallest amount that is at least `value`: for what is charged.

    >>> round_up(Fraction(1, 3)) > Fraction(1, 3)
    True
    >>> round_up(0.25)
    Fraction(1, 4)
    """
    scaled = Fraction(value) * GRID
    return Fraction(-(-scaled.numerator // scaled.denominator), GRID)


def round_down(value: float | Fraction) -> Fraction:
    """The largest amount that is at most `value`: for what is granted.

    >>> 3 * round_down(Fraction(1, 3)) <= 1
    True
    """
    scaled = Fraction(value) * GRID
    return Fraction(scaled.numerator // scaled.denominator, GRID)


def to_text(amount: Fraction) -> str:
    """The amount as text that loses nothing.

    >>> to_text(Fraction(1, 4))
    '1/4'
    """
    return f"{amount.numerator}/{amount.denominator}"


def from_text(text: object) -> Fraction:
    """The amount that `to_text` wrote.

    >>> from_text("1/4")
    Fraction(1, 4)
    """
    if isinstance(text, str):
        numerator, slash, denominator = text.partition("/")
        if slash and _is_digits(numerator) and _is_digits(denominator) and int(denominator):
            amount = Fraction(int(numerator), int(denominator))
            if amount == round_down(amount):
                return amount
    raise KinfolkError(
        f"{text!r} is not an exact amount of rho. "
        "Write numerator/denominator, as kinfolk does, with a denominator that divides 2**96."
    )


def _is_digits(text: str) -> bool:
    """ASCII digits only, few enough that converting them cannot be made to take long."""
    return 0 < len(text) <= 200 and text.isascii() and text.isdigit()
