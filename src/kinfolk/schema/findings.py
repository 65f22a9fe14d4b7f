"""Collects what is wrong with a schema, so that it can all be said at once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from kinfolk.errors import Problem, SchemaError


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
