"""A statistic of the synthetic tables and of replicates of them -> its standard error and interval.

Write t for a statistic in the data, m for what it is in the main table, and r_1 ... r_M for what it
is in the tables of M replicates. A replicate is to the model what the model is to the data: it was
fitted to what the model says, with noise of the same size, and its table was drawn as the main one
was. So r_i - m is what m - t might have been, and

    bias       b = mean(r_i) - m
    deviation  s = standard deviation of the r_i around their own mean

are estimates of how far m is off on average, and of how much that varies. The estimate of t is
m - b. What a fit loses (associations that were not measured, above all) it loses again when it is
fitted to its own model, but not necessarily as much; and b has an error of its own. So the standard
error counts the whole of b once more,

    error = sqrt(s^2 (1 + 1/M) + b^2),

and the interval reaches as many errors to either side as Student's t with M - 1 degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kinfolk.errors import KinfolkError
from kinfolk.notebook import show
from kinfolk.release.answers import student

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Pooled:
    """A statistic with its standard error and interval, in the form that it was given in."""

    estimate: Any
    """What it is in the data, as far as can be told: that of the main table, less the bias."""
    error: Any
    """The standard error of the estimate."""
    low: Any
    """The lower end of the interval, ..."""
    high: Any
    """... and the upper one."""
    bias: Any
    """How far the replicates are off the main table on average: what was taken off."""
    level: float
    """How often such an interval should hold the answer in the data."""
    replicates: int
    """How many replicates it comes from."""

    def to_pandas(self) -> Any:
        """A data frame with a row for each number, under the labels that it was given with."""
        import pandas as pd

        columns = {name: getattr(self, name) for name in _COLUMNS}
        if isinstance(self.estimate, pd.Series):
            return pd.DataFrame(columns)
        if isinstance(self.estimate, Mapping):
            return pd.DataFrame({name: pd.Series(dict(one)) for name, one in columns.items()})
        return pd.DataFrame({name: np.ravel(one) for name, one in columns.items()})

    def __repr__(self) -> str:
        numbers = np.size(_plain(self.estimate))
        if numbers != 1:
            return f"Pooled({numbers:,} numbers from {self.replicates} replicates)"
        estimate, error, low, high = (
            float(np.ravel(_plain(getattr(self, name)))[0]) for name in _COLUMNS[:4]
        )
        return (
            f"Pooled({estimate:.4g} with a standard error of {error:.2g}, {self.level:.0%} from "
            f"{low:.4g} to {high:.4g})"
        )

    def _repr_html_(self) -> str:
        columns = [np.ravel(_plain(getattr(self, name))) for name in _COLUMNS]
        rows = [
            [name, *(f"{value:.4g}" for value in row)]
            for name, *row in zip(_names(self.estimate), *columns, strict=True)
        ]
        headings = ["", "estimate", "standard error", "low", "high", "bias taken off"]
        title = f"Pooled from {self.replicates} replicates, {self.level:.0%} intervals"
        return show(title, rows, headings=headings)


_COLUMNS = ("estimate", "error", "low", "high", "bias")


def pool(main: Any, replicates: Sequence[Any], level: float = 0.9) -> Pooled:
    """Standard errors and intervals for any statistic of synthetic tables.

    main: the statistic on the main tables: a number, an array, the coefficients of a fitted model,
        a pandas Series or DataFrame, or numbers by name.
    replicates: the same statistic on the tables of each replicate, in the same form. A pandas
        object is matched by its labels; what a replicate does not have makes the result NaN.
    level: how often intervals should hold the answer that the real tables would have given. How far
        these are from the population they were drawn from is not part of it.

    >>> pool(0.50, [0.52, 0.49, 0.53, 0.51, 0.50, 0.52])
    Pooled(0.4883 with a standard error of 0.02, 90% from 0.4486 to 0.5281)
    >>> pool([1.0, 2.0], [[1.1, 2.0], [0.9, 2.2], [1.0, 2.1]]).bias.round(3).tolist()
    [0.0, 0.1]
    """
    if not isinstance(level, int | float) or not 0 < level < 1:
        raise KinfolkError(f"level is {level!r}. Use a number between 0 and 1, such as 0.9.")
    several = list(replicates)
    if len(several) < 2:
        raise KinfolkError(
            f"replicates: {len(several)} of them say nothing about a standard error. Give the "
            "statistic on the tables of at least 2, as `Release.replicates` makes them."
        )
    value = _numbers(main, main, "main")
    again = np.stack([_numbers(one, main, f"replicate {at}") for at, one in enumerate(several, 1)])
    bias = again.mean(axis=0) - value
    spread = again.var(axis=0, ddof=1) * (1 + 1 / len(several))
    error = np.sqrt(spread + bias**2)
    reach = student(level, len(several) - 1) * error
    estimate = value - bias
    return Pooled(
        estimate=_as(main, estimate),
        error=_as(main, error),
        low=_as(main, estimate - reach),
        high=_as(main, estimate + reach),
        bias=_as(main, bias),
        level=float(level),
        replicates=len(several),
    )


def _plain(value: Any) -> Any:
    return list(value.values()) if isinstance(value, Mapping) else value


def _names(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [str(name) for name in value]
    if getattr(value, "ndim", 0) == 1 and hasattr(value, "index"):
        return [str(name) for name in value.index]
    return [str(at) for at in range(np.size(value))] if np.ndim(value) else [""]


def _numbers(value: Any, main: Any, what: str) -> Floats:
    """A statistic as an array, in the order of the main one."""
    if isinstance(main, Mapping):
        if not isinstance(value, Mapping) or set(value) != set(main):
            raise KinfolkError(f"{what} does not have the same names as main. Compute it alike.")
        value = [value[name] for name in main]
    elif hasattr(main, "reindex_like"):
        if type(value) is not type(main):
            raise KinfolkError(
                f"{what} is not a {type(main).__name__}, as main is. Compute it alike."
            )
        value = value.reindex_like(main)
    try:
        found = np.asarray(value, np.float64)
        expected = np.shape(_plain(main))
    except (TypeError, ValueError):
        raise KinfolkError(
            f"{what} is a {type(value).__name__}, which is no number and no array of numbers. Give "
            "numbers, such as a share, a mean or the coefficients of a model."
        ) from None
    if found.shape != expected:
        raise KinfolkError(
            f"{what} has the shape {found.shape}, and main {expected}. Compute it alike on all."
        )
    return found


def _as(main: Any, numbers: Floats) -> Any:
    """Numbers in the form of the main statistic."""
    if isinstance(main, Mapping):
        return dict(zip(main, numbers.tolist(), strict=True))
    if hasattr(main, "reindex_like"):
        names = {"columns": main.columns} if hasattr(main, "columns") else {}
        return type(main)(numbers, index=main.index, **names)
    return float(numbers) if numbers.ndim == 0 else numbers
