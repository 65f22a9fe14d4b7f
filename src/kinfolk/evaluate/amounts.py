"""Numbers as they are written: mean, spread, quantiles, heaps and inequality on both sides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kinfolk._typing import Floats
from kinfolk.data.encoded import Encoded
from kinfolk.data.numbers import group_values
from kinfolk.data.shapes import numerics
from kinfolk.evaluate.verdict import Finding, beside
from kinfolk.schema import Numeric, Schema
from kinfolk.schema.condition_evaluator import GroupValues, as_numbers, quantities
from kinfolk.schema.names import AttributeNames

QUANTILES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
BARS = 24
"""Bars of a small histogram at most; the first and the last are open."""
HEAP = 0.05
"""A value that so many share is a heap; more zeros than that are left out of the histogram."""

NEGATIVE = 0.02
"""With more negative values than that nobody speaks of inequality."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What there is to say of the numbers of one column."""

    values: int
    """How many cells are numbers; blanks and special codes outside the bins are none."""
    missing: float
    """The share of cells that are not."""
    mean: float
    sd: float
    median: float
    p99: float
    quantiles: tuple[float, ...]
    """At `QUANTILES`."""
    zeros: float
    """The share of the numbers that are 0."""
    commonest: float
    """The share of the value that is the commonest one of the real column."""
    gini: float | None
    """Inequality from 0 to 1; a few negative values count as 0, with many there is none."""

    @classmethod
    def of(cls, column: Floats, commonest: float, weights: Floats | None = None) -> Figures:
        """Of a column with NaN for what is no number; `weights` of its rows where they count.

        >>> found = Figures.of(np.array([0, 0, 10, 30, np.nan]), commonest=0)
        >>> found.values, found.mean, found.median, found.zeros, found.gini
        (4, 10.0, 0.0, 0.5, 0.625)
        """
        order = np.argsort(column)
        known = len(column) - int(np.isnan(column).sum())
        values = column[order[:known]]
        weight = np.ones(known) if weights is None else weights[order[:known]]
        total = float(weight.sum())
        every = float(len(column)) if weights is None else float(weights.sum())
        if not total:
            nothing = dict.fromkeys(("mean", "sd", "median", "p99", "zeros", "commonest"), 0.0)
            flat = (0.0,) * len(QUANTILES)
            return cls(values=0, missing=1.0, quantiles=flat, gini=None, **nothing)
        reached = np.cumsum(weight)
        # The value that a share of the rows does not exceed: one that is really there.
        at = np.searchsorted(reached, np.array(QUANTILES) * total - 1e-9 * total)
        quantiles = values[np.minimum(at, known - 1)]
        mean = float((weight * values).sum() / total)
        return cls(
            values=known,
            missing=1 - total / every,
            mean=mean,
            sd=float(np.sqrt((weight * (values - mean) ** 2).sum() / total)),
            median=float(quantiles[QUANTILES.index(0.5)]),
            p99=float(quantiles[QUANTILES.index(0.99)]),
            quantiles=tuple(quantiles.tolist()),
            zeros=float(weight[values == 0].sum() / total),
            commonest=float(weight[values == commonest].sum() / total),
            gini=_gini(values, weight),
        )


def _gini(values: Floats, weight: Floats) -> float | None:
    """One less twice the area under the Lorenz curve; `values` increase."""
    held = np.cumsum(weight * np.maximum(values, 0))
    if not held[-1] > 0 or weight[values < 0].sum() > NEGATIVE * weight.sum():
        return None
    below = np.concatenate([[0.0], held[:-1]])
    return float(1 - (weight * (held + below)).sum() / (held[-1] * weight.sum()))


@dataclass(frozen=True, kw_only=True)
class Amount:
    """One numeric attribute on both sides."""

    name: str
    level: str
    """Whether it describes a group or an individual."""
    commonest: float
    """The commonest real value."""
    real: Figures
    synthetic: Figures
    weighted: tuple[Figures, Figures] | None
    """The same with the group's weight, real and synthetic, where the schema names one."""
    edges: tuple[float, ...]
    """Of the histogram's bars; the first and the last bar hold all beyond, too."""
    bars: tuple[tuple[float, ...], tuple[float, ...]]
    """The share of numbers in each bar, real and synthetic."""
    without_zeros: bool
    """Whether the bars leave zeros out."""

    @property
    def metrics(self) -> dict[str, Any]:
        """What metrics.json holds."""
        found: dict[str, Any] = {"real": asdict(self.real), "synthetic": asdict(self.synthetic)}
        if self.weighted:
            found["real_weighted"], found["synthetic_weighted"] = map(asdict, self.weighted)
        return found

    @property
    def heap(self) -> bool:
        """Whether many real numbers are one and the same, other than 0."""
        return self.commonest != 0 and self.real.commonest >= HEAP

    def findings(self) -> Iterator[Finding]:
        """How far the synthetic numbers are off; less than chance does to a survey is nothing."""
        real, synthetic, name = self.real, self.synthetic, self.name
        if not real.values or not synthetic.values:
            if real.values or synthetic.values:
                which = "synthetic" if real.values else "real"
                yield Finding(topic="numbers", size=100.0, words=f"no {which} {name} is a number")
            return
        chance = 2 * np.sqrt(1 / real.values + 1 / synthetic.values)
        scale = max(abs(real.mean), real.sd / 10) or 1.0
        for what, ours, theirs, allowed in (
            ("mean", real.mean, synthetic.mean, max(0.03 * scale, chance * real.sd)),
            ("standard deviation", real.sd, synthetic.sd, (0.15 + chance) * real.sd),
            ("99th percentile", real.p99, synthetic.p99, (0.15 + chance) * abs(real.p99)),
        ):
            size = abs(theirs - ours) / (allowed or 0.05 * scale)
            words = f"the {what} of {name} is {beside(theirs, ours)}"
            yield Finding(topic="numbers", size=size, words=words)
        shares = [("0", real.zeros, synthetic.zeros)]
        if self.heap:
            shares.append((f"{self.commonest:g}", real.commonest, synthetic.commonest))
        for value, ours, theirs in shares:
            allowed = max(0.01, chance * np.sqrt(ours * (1 - ours)))
            words = f"{100 * theirs:.1f}% of {name} are {value}, really {100 * ours:.1f}%"
            yield Finding(topic="numbers", size=abs(theirs - ours) / allowed, words=words)
        if real.gini is not None and synthetic.gini is not None:
            words = f"the Gini of {name} is {synthetic.gini:.3f}, really {real.gini:.3f}"
            size = abs(synthetic.gini - real.gini) / (0.02 + chance / 4)
            yield Finding(topic="numbers", size=size, words=words)


def amounts(real: Encoded, synthetic: Encoded) -> tuple[Amount, ...]:
    """Every numeric attribute, the one that is most off first."""
    schema = real.schema
    sides = [group_values(data) for data in (real, synthetic)]
    weights = [group_weights(schema, values) for values in sides]
    names = list(AttributeNames(schema).by_position().values())
    found = []
    places = {name: at for at, name in enumerate(schema.group_attributes)}
    first = len(names) - len(schema.member_attributes)
    for name, attribute in numerics(schema.group_attributes):
        columns = [quantities(values.group[name], attribute) for values in sides]
        own = None if schema.group and schema.group.weight == name else weights
        found.append(_amount(names[places[name]], "group", attribute, columns, own))
    places = {name: first + at for at, name in enumerate(schema.individual_attributes)}
    spread = [
        None if weight is None else weight[values.owners]
        for values, weight in zip(sides, weights, strict=True)
    ]
    for name, attribute in numerics(schema.individual_attributes):
        columns = [quantities(values.individual[name], attribute) for values in sides]
        found.append(_amount(names[places[name]], "individual", attribute, columns, spread))
    return tuple(sorted(found, key=lambda one: -max((f.size for f in one.findings()), default=0)))


def group_weights(schema: Schema, values: GroupValues) -> Floats | None:
    """(groups,) the survey weights, blank and negative ones 0, if the schema names any."""
    name = schema.group.weight if schema.group else None
    if name is None:
        return None
    numbers = as_numbers(values.group[name], schema.group_attributes[name])
    return np.nan_to_num(np.maximum(numbers, 0))


def _amount(
    name: str,
    level: str,
    attribute: Numeric,
    columns: list[Floats],
    weights: list[Floats | None] | None,
) -> Amount:
    known = columns[0][~np.isnan(columns[0])]
    values, counts = np.unique(known, return_counts=True)
    commonest = float(values[np.argmax(counts)]) if len(values) else 0.0
    real, synthetic = (Figures.of(column, commonest) for column in columns)
    weighted = None
    if weights is not None and weights[0] is not None:
        one, other = (
            Figures.of(column, commonest, weight)
            for column, weight in zip(columns, weights, strict=True)
        )
        weighted = one, other
    without = max(real.zeros, synthetic.zeros) > HEAP
    edges = _edges(known[known != 0] if without else known, attribute)
    return Amount(
        name=name,
        level=level,
        commonest=commonest,
        real=real,
        synthetic=synthetic,
        weighted=weighted,
        edges=tuple(edges.tolist()),
        bars=(_bars(columns[0], edges, without), _bars(columns[1], edges, without)),
        without_zeros=without,
    )


def _edges(known: Floats, attribute: Numeric) -> Floats:
    """Where bars begin and end: over nearly all of the real numbers; whole for whole numbers."""
    if not len(known):
        return np.array([0.0, 1.0])
    low, high = np.quantile(known, [0.005, 0.995])
    if attribute.places == 0:
        step = max(np.ceil((high - low + 1) / BARS), 1.0)
        return np.arange(np.floor(low), high + step, step) if high > low else low + np.arange(2.0)
    return np.linspace(low, high, BARS + 1) if high > low else low + np.arange(2.0)


def _bars(column: Floats, edges: Floats, without_zeros: bool) -> tuple[float, ...]:
    known = column[~np.isnan(column)]
    known = known[known != 0] if without_zeros else known
    places = np.searchsorted(edges[1:-1], known, side="right")
    counts = np.bincount(places, minlength=len(edges) - 1)
    return tuple((counts / max(len(known), 1)).tolist())
