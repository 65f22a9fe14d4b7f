"""What a release says about a query, and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kinfolk.errors import KinfolkError
from kinfolk.methods.refits import REPLICATES
from kinfolk.models.base import Asked, Floats, Table
from kinfolk.notebook import show
from kinfolk.queries.question_parser import parse
from kinfolk.queries.questions import Question
from kinfolk.queries.workload import Workload
from kinfolk.release.release import Release
from kinfolk.schema import Schema

MOST_SHOWN = 30
"""Answers that a notebook shows at most."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Answers:
    """Shares, with standard errors where the method gives any."""

    asked: Asked
    """What was asked."""
    shares: Floats
    """(queries,) of groups at the group level, of people at the others."""
    totals: Floats
    """(queries,) what the shares are of: the number of groups, or about that of people."""
    errors: Floats | None = None
    """(queries,) the standard errors of the shares."""
    replicates: int = 0
    """How many fits the standard errors come from."""

    def interval(self, level: float = 0.9) -> tuple[Floats, Floats]:
        """(queries,) the lower and upper ends of intervals that hold the true share so often."""
        if not 0 < level < 1:
            raise KinfolkError(f"level is {level!r}. Use a number between 0 and 1, such as 0.9.")
        if self.errors is None:
            raise KinfolkError("the model gives no standard errors. Fit one by `marginals`.")
        reach = student(level, self.replicates) * self.errors
        return np.maximum(self.shares - reach, 0), np.minimum(self.shares + reach, 1)

    def __len__(self) -> int:
        return len(self.shares)

    def __repr__(self) -> str:
        sure = "without" if self.errors is None else "with"
        return f"Answers({len(self):,} shares, {sure} standard errors)"

    def _repr_html_(self) -> str:
        texts = map(str, () if isinstance(self.asked, Workload) else self.asked[:MOST_SHOWN])
        errors = np.full(len(self), np.nan) if self.errors is None else self.errors
        rows = [
            [text, f"{share:.4g}", "" if self.errors is None else f"{error:.2g}"]
            for text, share, error in zip(texts, self.shares, errors, strict=False)
        ]
        if len(self) > len(rows):
            rows.append([f"{len(self) - len(rows):,} more", "", ""])
        return show("Answers", rows, headings=["", "share", "standard error"])


def answer(release: Release, asked: Workload | str | Sequence[str | Question]) -> Answers:
    """Answer every query of a workload, or questions in words, from the model alone.

    The standard error is how far off the method is, on the whole, when it is given noisy answers of
    this very model: that is repeated when the model is fitted. A share stands for whole groups and
    people, so half of one is added to it.
    """
    model = release.model
    questions = asked if isinstance(asked, Workload) else _parsed(release.schema, asked)
    totals = np.where(
        _of_groups(questions, release.schema), release.groups, release.groups * model.mean_size()
    )
    shares_of = model.evaluator(questions)
    shares = shares_of(model.probabilities)
    tables = replicates(release)
    if tables is None:
        return Answers(asked=questions, shares=shares, totals=totals)
    squares = np.zeros(len(shares))
    for table in tables:
        squares += (shares_of(table) - shares) ** 2
    return Answers(
        asked=questions,
        shares=shares,
        totals=totals,
        errors=np.sqrt(squares / len(tables) + (0.5 / totals) ** 2),
        replicates=len(tables),
    )


def _parsed(schema: Schema, asked: str | Sequence[str | Question]) -> tuple[Question, ...]:
    found: list[Question] = []
    for one in [asked] if isinstance(asked, str) else asked:
        found += parse(schema, one) if isinstance(one, str) else [one]
    return tuple(found)


def _of_groups(asked: Asked, schema: Schema) -> npt.NDArray[np.bool_]:
    """(queries,) whether shares are of groups; also refuses what is asked of another schema."""
    parts = (asked,) if isinstance(asked, Workload) else asked
    if any(part.schema != schema for part in parts):
        raise KinfolkError("what is asked is for another schema than the model's.")
    if isinstance(asked, Workload):
        marginals = asked.marginals
        return np.repeat(
            [one.level == "group" for one in marginals], [one.cells for one in marginals]
        )
    return np.array([question.level == "group" for question in asked], np.bool_)


def replicates(release: Release) -> Table | None:
    """The models fitted to made-up noise, (replicates, ...), if there are any and they fit."""
    tables = release.extra.get(REPLICATES)
    return None if tables is None else release.model.check_replicates(tables)


def student(level: float, freedom: int) -> float:
    """How far Student's t lies from zero at most, so often; for whole degrees of freedom.

    >>> round(student(0.9, 8), 4), round(student(0.9, 1000), 4)
    (1.8595, 1.6464)
    """
    low, high = 0.0, math.pi / 2
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if _inside(middle, freedom) < level else (low, middle)
    return math.sqrt(freedom) * math.tan(low)


def _inside(angle: float, freedom: int) -> float:
    """How likely t / sqrt(freedom) is to be within the tangent of an angle: a finite series."""
    sine, cosine = math.sin(angle), math.cos(angle)
    term = sine if freedom % 2 == 0 else sine * cosine
    total = 0.0
    for number in range(freedom % 2 + 1, freedom, 2):
        total += term
        term *= cosine * cosine * number / (number + 1)
    return total if freedom % 2 == 0 else (angle + total) * 2 / math.pi
