"""The errors a user can cause, and what collects them, so that all can be said at once.

Every message says what is wrong, shows the value, and says what to do. The command line prints the
message and exits with status 2; only a bug in kinfolk itself ever shows a traceback.

Messages about data are for whoever holds the data. `redacted` takes out of them what came from it,
so that they may stand in a log that somebody else reads.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

__all__ = ["DataError", "KinfolkError", "SchemaError", "redacted"]

REDACTED = "[redacted]"
"""What stands in a message instead of something private."""

_redacting: ContextVar[bool] = ContextVar("redacting", default=False)


def private(text: object) -> str:
    """Something taken from the data, for a message: a value, an id, a line or a number of rows.

    Every message shows such things through here, and only through here.

    >>> private(901)
    '901'
    >>> with redacted():
    ...     private(901)
    '[redacted]'
    """
    return REDACTED if _redacting.get() else str(text)


@contextmanager
def redacted(on: bool = True) -> Iterator[None]:
    """Messages made meanwhile keep tables, columns, the mistake and its remedy, but no data.

    It holds for this thread, or this task of asyncio.

    >>> import pyarrow as pa
    >>> from kinfolk import Schema
    >>> from kinfolk.data import encode
    >>> text = "{individual: {table: p, attributes: {sex: {values: [m, f]}}}, max_size: 1}"
    >>> with redacted():
    ...     try:
    ...         encode(Schema.from_text(text), {"p": pa.table({"sex": ["m", "Mrs Smith"]})})
    ...     except DataError as error:
    ...         print(error.problems[0])  # doctest: +NORMALIZE_WHITESPACE
    p, row [redacted], column sex: [redacted] is not among the declared values m, f. Correct the
    rows, or add the value to the schema.
    """
    before = _redacting.set(on)
    try:
        yield
    finally:
        _redacting.reset(before)


def redact() -> None:
    """Redact from here to the end of the context, for a program that redacts all it says."""
    _redacting.set(True)


def redacting() -> bool:
    """Whether messages are being redacted."""
    return _redacting.get()


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


def join(prefix: str, where: str) -> str:
    """Extend a path inside the schema.

    >>> join("group.attributes.veh", "values[3]"), join("relations.has_child", "[0]")
    ('group.attributes.veh.values[3]', 'relations.has_child[0]')
    """
    if not prefix or not where:
        return prefix or where
    return f"{prefix}{where}" if where.startswith("[") else f"{prefix}.{where}"


class Findings:
    """A list of problems that is raised as one error at the end."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def add(self, where: str, what: str, fix: str) -> None:
        """Note one problem at a path relative to the object being checked."""
        self.problems.append(Problem(where=where, what=what, fix=fix))

    def absorb(self, error: SchemaError, *, under: str) -> None:
        """Take over the problems of a part, seen from the whole."""
        for problem in error.problems:
            self.add(join(under, problem.where), problem.what, problem.fix)

    def raise_if_any(self, heading: str) -> None:
        """Raise everything found so far as one error."""
        if self.problems:
            raise SchemaError(heading, self.problems)


def listed(words: Sequence[str], last: str = "and") -> str:
    """Words in a sentence.

    >>> listed(["METRO", "FARM", "EDUC"])
    'METRO, FARM and EDUC'
    """
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def closest(word: object, choices: Iterable[str]) -> str | None:
    """The choice that was probably meant, if one is close.

    >>> closest("atributes", ["table", "attributes"]), closest("x", ["table", "attributes"])
    ('attributes', None)
    """
    close = difflib.get_close_matches(str(word), list(choices), n=1)
    return close[0] if close else None


def did_you_mean(word: object, choices: Iterable[str]) -> str:
    """Say which of the choices was probably meant, or list them all.

    >>> did_you_mean("atributes", ["table", "id", "attributes"])
    "Did you mean 'attributes'? Known here: table, id, attributes."
    """
    known = list(choices)
    close = closest(word, known)
    guess = f"Did you mean {close!r}? " if close else ""
    return f"{guess}Known here: {', '.join(known)}."
