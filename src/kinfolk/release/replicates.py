"""The replicates of a release: models fitted again to made-up noise, and what their tables tell.

A statistic of the synthetic tables and of replicates of them has a standard error and an interval.
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

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from kinfolk._typing import Floats
from kinfolk.data.shapes import SHARES, Shapes
from kinfolk.errors import KinfolkError
from kinfolk.methods.allocate import BANDS, FINELY, TOTALS, planned_purchases
from kinfolk.methods.compositions import fitted_layout
from kinfolk.methods.marginals import Marginals
from kinfolk.methods.method import Progress, silent
from kinfolk.methods.rake import POOL, Measures
from kinfolk.methods.refits import (
    PASSES,
    REPLICATE_GROUPS,
    REPLICATE_RAKING,
    REPLICATE_SHARES,
    REPLICATES,
    Refits,
    Replicate,
    arrays_of,
    deal_batches,
)
from kinfolk.methods.registry import method_named
from kinfolk.models.hpd import HPD
from kinfolk.models.raking import RAKING, Features, Raking
from kinfolk.models.records import Records
from kinfolk.privacy.certificate import PUBLIC, Certificate
from kinfolk.privacy.view import GROUPS
from kinfolk.queries.workload import Workload
from kinfolk.release.file import PROBABILITIES, model_digest
from kinfolk.release.release import Release
from kinfolk.release.verify import view_of
from kinfolk.template import show

MOST_PASSES = 100_000
"""That a model file may say."""


def held(release: Release) -> list[Replicate]:
    """The replicates that a release holds; KinfolkError where they are damaged."""
    tables = release.extra.get(REPLICATES)
    checked = None if tables is None else release.model.check_replicates(tables)
    if checked is None:
        return []
    number = len(checked)
    groups = release.extra.get(REPLICATE_GROUPS, np.full(number, release.groups))
    if groups.shape != (number,) or groups.dtype != np.int64 or (groups < 1).any():
        raise _damaged("numbers of groups")
    shares = release.extra.get(REPLICATE_SHARES)
    if shares is not None and (shares.ndim != 2 or len(shares) != number):
        raise _damaged("shapes of numbers")
    if shares is not None:
        for one in shares:
            Shapes.from_arrays(release.schema, {SHARES: one})
    raking = release.extra.get(REPLICATE_RAKING)
    if raking is not None:
        if len(raking) != number:
            raise _damaged("raking")
        for one in raking:
            Raking.of(release.schema, one)
    return [
        Replicate(
            probabilities=table,
            shares=None if shares is None else shares[at],
            raking=None if raking is None else raking[at],
            groups=int(groups[at]),
        )
        for at, table in enumerate(checked)
    ]


def _damaged(what: str) -> KinfolkError:
    return KinfolkError(
        f"the model is damaged: the {what} of its replicates are not what they should be. Get "
        "another copy."
    )


def replicate_releases(release: Release, number: int | None) -> list[Release]:
    """So many replicates as releases, by default all: each draws its own groups and numbers.

    How many groups each would have been taken to have is as noisy as it was for the release.
    """
    found = held(release)
    if not found:
        raise KinfolkError(
            "the model holds no replicates. Fit it by the method `marginals`, with `--replicates` "
            "(`replicates=` in Python) of at least 2."
        )
    wanted = len(found) if number is None else number
    if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 1:
        raise KinfolkError(f"replicates: {wanted!r} is not a whole number of at least 1.")
    if wanted > len(found):
        raise KinfolkError(
            f"the model holds {len(found)} replicates, not {wanted}. Use as many, or make more "
            "from it: `kinfolk sample --refit`, or `release.with_replicates(...)` in Python. That "
            "takes as long as fitting does, and costs no privacy."
        )
    return [_as_release(release, one, at) for at, one in enumerate(found[:wanted], 1)]


def _as_release(release: Release, one: Replicate, number: int) -> Release:
    model = release.model
    assert isinstance(model, HPD)  # noqa: S101  (others hold no replicates)
    kept = {} if SHARES not in release.extra else {SHARES: release.extra[SHARES]}
    own = {SHARES: one.shares, RAKING: one.raking}
    stated = {**release.certificate["release"], "replicate": number}
    return replace(
        release,
        model=HPD(layout=model.layout, probabilities=one.probabilities),
        groups=one.groups,
        extra={**kept, **{name: array for name, array in own.items() if array is not None}},
        certificate=Certificate({**release.certificate, "release": stated}),
    )


def replicate_seed(seed: int | None, number: int) -> int | None:
    """The seed of a replicate's table: it has nothing to do with that of the others."""
    if seed is None:
        return None
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


def with_replicates(
    release: Release, number: int, *, seed: int | None = None, progress: Progress = silent
) -> Release:
    """The same release with at least so many replicates, made from what it holds.

    Guarantee: the data is not touched. All that is used is released: the model, how noisy what it
    was fitted to is, and how many passes it was fitted for.
    """
    found = held(release)
    if number <= len(found):
        return release
    refits = refits_of(release, np.random.default_rng(None if seed is None else [seed, 0]))
    model = release.model
    assert isinstance(model, HPD)  # noqa: S101  (`refits_of` has seen to it)
    made: list[Replicate] = []
    for at in range(len(found), number):
        rng = np.random.default_rng(None if seed is None else [seed, 1 + at])
        made.append(refits.make(model, release.shapes, rng=rng))
        progress("repeating", len(made), number - len(found))
    arrays: Mapping[str, npt.NDArray[Any]] = arrays_of([*found, *made])
    extra = {**release.extra, **arrays}
    digest = model_digest(
        release.schema, release.groups, {PROBABILITIES: model.probabilities, **extra}
    )
    stated = {**release.certificate["release"], "model": digest}
    certificate = Certificate({**release.certificate, "release": stated})
    return replace(release, extra=extra, certificate=certificate)


def refits_of(release: Release, rng: np.random.Generator) -> Refits:
    """What it takes to make more replicates, from the release alone.

    What was bought, and with which noise, the certificate says; how marginals were weighted follows
    from the schema.
    """
    passes = release.extra.get(PASSES)
    method = method_named(release.method, **release.settings)
    model = release.model
    if passes is None or not isinstance(method, Marginals) or not isinstance(model, HPD):
        raise KinfolkError(
            "more replicates cannot be made from this model. Fit one by the method `marginals`, "
            "with as many `--replicates` as you want."
        )
    if passes.shape != (1,) or passes.dtype != np.int64 or not 1 <= passes[0] <= MOST_PASSES:
        raise _damaged("passes")
    workload = method.asks(Workload.of(release.schema))
    view = view_of(release.certificate, workload, size_weighted=method.size_weighted)
    informed = release.certificate["run"].get(PUBLIC) is not None
    view = view.knowing(groups=release.groups, informed=informed)
    noise = {
        spend["step"]: float(spend["sigma"])
        for spend in release.certificate["spends"]
        if spend["released"]
    }
    found: dict[int, npt.NDArray[np.float64]] = {}
    totals: dict[int, npt.NDArray[np.float64]] = {}
    fine: tuple[int, ...] = ()
    for step, one in planned_purchases(view).items():
        if step not in noise:
            # It was lost in a crash.
            continue
        if step == FINELY:
            fine = one.marginals
            continue
        whole = totals if step in (TOTALS, BANDS) else found
        precision = (release.groups / noise[step]) ** 2
        for at in one.marginals:
            cells = workload.marginals[at].cells
            whole[at] = np.stack([np.zeros(cells), np.full(cells, precision)])
    parts = np.array_split(np.arange(method.components), method.parts)
    layout = fitted_layout(model)
    measures = means = None
    if release.raking is not None:
        measures = Measures.of(view, totals, Features.of(release.schema))
        records = Records(model=model, shapes=release.shapes, raking=release.raking)
        pool = records.draw_all(POOL, rng=rng)
        means = measures.features.matrix(pool).mean(axis=0, dtype=np.float64)
    return Refits(
        view=view,
        groups_sigma=noise.get(GROUPS, 0.0),
        layout=layout,
        batches=deal_batches(layout, view, found, rng),
        passes=int(passes[0]),
        components=len(parts[0]),
        fine=fine,
        fine_sigma=noise.get(FINELY, 0.0),
        measures=measures,
        means=means,
    )


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
        index = None
        if isinstance(self.estimate, pd.DataFrame):
            sides = self.estimate.index.names + self.estimate.columns.names
            index = pd.MultiIndex.from_tuples(_cells(self.estimate), names=sides)
        return pd.DataFrame({name: np.ravel(one) for name, one in columns.items()}, index=index)

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
    if not isinstance(replicates, Iterable) or isinstance(replicates, Mapping | str):
        raise KinfolkError(
            f"replicates is a {type(replicates).__name__}. Give a list: the statistic on the "
            "tables of every replicate."
        )
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
    if hasattr(value, "columns"):
        return [", ".join(map(str, cell)) for cell in _cells(value)]
    return [str(at) for at in range(np.size(value))] if np.ndim(value) else [""]


def _cells(value: Any) -> list[tuple[Any, ...]]:
    """The labels of every number of a data frame: those of its row, then those of its column."""
    rows, columns = (
        [one if isinstance(one, tuple) else (one,) for one in side]
        for side in (value.index, value.columns)
    )
    return [(*row, *column) for row in rows for column in columns]


def _numbers(value: Any, main: Any, what: str) -> Floats:
    """A statistic as an array, in the order of the main one."""
    if value is None:
        raise KinfolkError(f"{what} is None. Does the function that computes it return anything?")
    if isinstance(main, Mapping):
        if not isinstance(value, Mapping) or set(value) != set(main):
            raise KinfolkError(f"{what} does not have the same names as main. Compute it alike.")
        for name in main:
            if np.ndim(value[name]):
                raise KinfolkError(
                    f"{what} has a {type(value[name]).__name__} under {name!r}, not one number. "
                    "Compute a statistic on tables first, and pool what has labels of its own "
                    "by itself."
                )
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
