"""A line of text that is read from left to right, once."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NoReturn

from kinfolk.errors import Problem, SchemaError
from kinfolk.schema.attributes import LARGEST_EDGE, shown
from kinfolk.schema.spelling import NUMBER


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
