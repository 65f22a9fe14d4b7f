"""The errors a user can cause, and nothing else.

Every message says what is wrong, shows the value, and says what to do. The command line prints the
message and exits with status 2; only a bug in kinfolk itself ever shows a traceback.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class KinfolkError(Exception):
    """Something the caller can put right; the message says how."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing to mend: where it is, what is wrong with it, and what to do about it."""

    where: str
    """The place: a path inside a schema, or a table with its line or row."""
    what: str
    """What is wrong, with the value."""
    fix: str
    """What to do."""

    def __str__(self) -> str:
        return f"{self.where}: {self.what} {self.fix}"


class ProblemsError(KinfolkError):
    """Several problems, found in one go and shown together."""

    def __init__(self, heading: str, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        noun = "problem" if count == 1 else "problems"
        lines = [f"{heading}: {count} {noun}", *(f"  - {problem}" for problem in self.problems)]
        super().__init__("\n".join(lines))


class SchemaError(ProblemsError):
    """The schema contradicts itself or says something kinfolk does not understand."""


class DataError(ProblemsError):
    """The tables do not fit the schema."""
