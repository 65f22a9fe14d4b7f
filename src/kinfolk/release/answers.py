"""What a release says about queries and figures, and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kinfolk._typing import Floats
from kinfolk.errors import KinfolkError
from kinfolk.models.base import Asked
from kinfolk.queries.question_parser import parse
from kinfolk.queries.questions import Figure, Kind, Question, as_weighted, named_attributes
from kinfolk.queries.workload import Workload
from kinfolk.release.figures import answer_figures
from kinfolk.release.release import Release
from kinfolk.release.replicates import held, student
from kinfolk.schema import Level, Schema
from kinfolk.template import show

if TYPE_CHECKING:
    import pandas as pd

Line: TypeAlias = str | Question | Figure
"""What can be asked for: in words, or ready-made."""

MOST_SHOWN = 30
"""Answers that a notebook shows at most."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Answers:
    """Shares and other figures, with standard errors where the method gives any."""

    asked: Workload | tuple[Question | Figure, ...]
    """What was asked."""
    values: Floats
    """(answers,) the figures; NaN where the model has nobody whom one would be about."""
    totals: Floats
    """(answers,) about how many groups or people each is of."""
    ends: tuple[Floats, Floats]
    """(answers,) the least and the largest value that each can have."""
    errors: Floats | None = None
    """(answers,) the standard errors."""
    replicates: int = 0
    """How many fits the standard errors come from."""

    @property
    def shares(self) -> Floats:
        """(answers,) of groups at the group level, of people at the others."""
        if any(not is_share(one) for one in self._lines):
            raise KinfolkError("not all of these are shares. Use `values`.")
        return self.values

    @property
    def _lines(self) -> tuple[Question | Figure, ...]:
        return () if isinstance(self.asked, Workload) else self.asked

    def interval(self, level: float = 0.9) -> tuple[Floats, Floats]:
        """(answers,) the lower and upper ends of intervals that hold the true answer so often."""
        if not 0 < level < 1:
            raise KinfolkError(f"level is {level!r}. Use a number between 0 and 1, such as 0.9.")
        if self.errors is None:
            raise KinfolkError("the model gives no standard errors. Fit one by `marginals`.")
        reach = student(level, self.replicates) * self.errors
        least, most = self.ends
        return np.maximum(self.values - reach, least), np.minimum(self.values + reach, most)

    def rows(self, level: float = 0.9) -> list[dict[str, Any]]:
        """Each answer with all that belongs to it, as plain values; None where there is none."""
        if isinstance(self.asked, Workload):
            raise KinfolkError("a whole workload has no rows. Use `values`, or ask questions.")
        errors = [None] * len(self) if self.errors is None else _plain(self.errors)
        ends = [errors, errors] if self.errors is None else map(_plain, self.interval(level))
        every = zip(
            self.asked, _plain(self.values), errors, *ends, _plain(self.totals), strict=True
        )
        return [
            {
                "question": str(one),
                "statistic": one.statistic if isinstance(one, Figure) else Kind.SHARE.value,
                "by": dict(one.cell) if isinstance(one, Figure) else {},
                "value": value,
                "standard_error": error,
                "low": low,
                "high": high,
                "total": total,
                "total_is_exact": isinstance(one, Question) and one.level == Level.GROUP,
                "of": one.schema.table_names[0 if one.level == Level.GROUP else -1],
                "in_workload": one.in_workload,
            }
            for one, value, error, low, high, total in every
        ]

    def to_pandas(self, level: float = 0.9) -> pd.DataFrame:
        """A data frame: a row for each answer, a column for each attribute it is broken down by."""
        import pandas as pd

        return pd.DataFrame(flat(self.rows(level)))

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        sure = "without" if self.errors is None else "with"
        what = "shares" if all(map(is_share, self._lines)) else "answers"
        return f"Answers({len(self):,} {what}, {sure} standard errors)"

    def _repr_html_(self) -> str:
        errors = np.full(len(self), np.nan) if self.errors is None else self.errors
        rows = [
            [str(one), f"{value:.4g}", "" if self.errors is None else f"{error:.2g}"]
            for one, value, error in zip(
                self._lines[:MOST_SHOWN], self.values, errors, strict=False
            )
        ]
        if len(self) > len(rows):
            rows.append([f"{len(self) - len(rows):,} more", "", ""])
        return show("Answers", rows, headings=["", "answer", "standard error"])


def flat(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without a mapping inside: every attribute of `by` is a column, blank where not used."""
    names = dict.fromkeys(name for row in rows for name in row["by"])
    found = []
    for row in rows:
        by = {name: row["by"].get(name) for name in names}
        rest = {name: value for name, value in row.items() if name != "by"}
        # A name that rows have anyway is not theirs alone.
        found.append(
            {**{name if name not in rest else f"by {name}": by[name] for name in by}, **rest}
        )
    return found


def drawn_apart(asked: Question | Figure) -> tuple[str, ...]:
    """Why tables that are drawn may say something else than the model, in words."""
    schema, named = asked.schema, named_attributes(asked)
    computed = [name for name in schema.formulas if name in named]
    again: dict[str, None] = {}
    for rule in schema.rules:
        # What a rule says of one member alone, the model keeps by itself.
        alone = rule.scope == "person" or (rule.scope == "members" and len(rule.roles) == 1)
        if not alone or rule.group_positions:
            again |= dict.fromkeys(ref.name for ref in rule.refs if ref.name in named)
    found = []
    if computed:
        found.append(
            f"{', '.join(computed)}: computed from the members when tables are drawn, and may "
            "differ there from the model's answer."
        )
    if again:
        found.append(
            f"{', '.join(again)}: named by rules that are kept by drawing groups again, so tables "
            "may differ a little from the model's answer."
        )
    return tuple(found)


def is_share(asked: Question | Figure) -> bool:
    """Whether the answer is a share."""
    return isinstance(asked, Question) or asked.kind is Kind.SHARE


def answer(
    release: Release, asked: Workload | Line | Sequence[Line], *, weights: bool = False
) -> Answers:
    """Answer every query of a workload, or questions in words, from the model alone.

    The standard error is how far off the method is, on the whole, when it is given noisy answers of
    this very model: that is repeated when the model is fitted. A share stands for whole groups and
    people, so half of one is added to it. With `weights`, groups and their people count for their
    survey weight.
    """
    if isinstance(asked, Workload):
        if weights:
            raise KinfolkError("a workload is answered without weights. Ask questions instead.")
        return _answer_shares(release, asked)
    lines = _parsed(release.schema, asked)
    if weights:
        lines = tuple(map(as_weighted, lines))
    plain = tuple(one for one in lines if isinstance(one, Question))
    shares = _answer_shares(release, plain)
    if len(plain) == len(lines):
        return shares
    figures = [one for one in lines if isinstance(one, Figure)]
    _of_groups(tuple(one.of for one in figures), release.schema)
    again = held(release)
    found = answer_figures(release, figures, again)
    order = np.argsort([isinstance(one, Figure) for one in lines], kind="stable")
    # Questions were answered first, then figures: back to where each was asked.
    back = np.argsort(order)

    def placed(first: Floats, second: Floats) -> Floats:
        both: Floats = np.concatenate([first, second])[back]
        return both

    return Answers(
        asked=lines,
        values=placed(shares.values, found.values),
        totals=placed(shares.totals, found.totals),
        ends=(placed(shares.ends[0], found.ends[0]), placed(shares.ends[1], found.ends[1])),
        errors=None
        if found.errors is None
        else placed(np.zeros(0) if shares.errors is None else shares.errors, found.errors),
        replicates=len(again),
    )


def _answer_shares(release: Release, asked: Asked) -> Answers:
    """Plain shares, of all groups or of all people."""
    model = release.model
    totals = np.where(
        _of_groups(asked, release.schema), release.groups, release.groups * model.mean_size()
    )
    shares_of = model.evaluator(asked)
    shares = shares_of(model.probabilities)
    ends = np.zeros(len(shares)), np.ones(len(shares))
    again = held(release)
    if not again:
        return Answers(asked=asked, values=shares, totals=totals, ends=ends)
    squares = np.zeros(len(shares))
    for one in again:
        squares += (shares_of(one.probabilities) - shares) ** 2
    return Answers(
        asked=asked,
        values=shares,
        totals=totals,
        ends=ends,
        errors=np.sqrt(squares / len(again) + (0.5 / totals) ** 2),
        replicates=len(again),
    )


def _plain(found: Floats) -> list[Any]:
    """As a list, None for what is not a number."""
    return [None if math.isnan(one) else one for one in found.tolist()]


def _parsed(schema: Schema, asked: Line | Sequence[Line]) -> tuple[Question | Figure, ...]:
    lines = [asked] if isinstance(asked, str | Question | Figure) else asked
    found: list[Question | Figure] = []
    for one in lines if isinstance(lines, Iterable) else [lines]:
        if not isinstance(one, str | Question | Figure):
            raise KinfolkError(
                f"got {type(one).__name__} instead of a question. Ask in words, such as "
                "'mean wage by sex', in a list of such texts, or with a Workload."
            )
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
