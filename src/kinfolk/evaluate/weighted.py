"""What a survey is used for: totals, means and shares of the population, by the survey weights.

Everything in here is NOT PRIVATE: it holds true figures of the real data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kinfolk._typing import Floats
from kinfolk.data.encoded import Encoded
from kinfolk.data.numbers import group_values
from kinfolk.evaluate import distributions
from kinfolk.evaluate.amounts import Amount, group_weights
from kinfolk.evaluate.distributions import Shown

Both = tuple[float, float]
"""Real, synthetic."""


@dataclass(frozen=True, kw_only=True)
class WeightedShares:
    """The shares of one attribute's categories in the population."""

    attribute: str
    level: str
    distance: float
    """The weight that would have to move to another category, from 0 to 1."""
    category: str
    """The category whose share is most off, ..."""
    real: float
    """... its share, ..."""
    synthetic: float
    unweighted: Both
    """... and what it is without weights."""


@dataclass(frozen=True, kw_only=True)
class WeightedMean:
    """The mean of one number in the population."""

    attribute: str
    level: str
    real: float
    synthetic: float
    unweighted: Both


@dataclass(frozen=True, kw_only=True)
class Weighted:
    """Figures by the survey weights, real before synthetic."""

    weight: str
    """The attribute that holds the weights."""
    groups: Both
    """How many groups of the population the sample stands for: the sum of the weights."""
    people: Both
    """How many people."""
    spread: Both
    """The standard deviation of the weights, divided by their mean."""
    means: tuple[WeightedMean, ...]
    shares: tuple[WeightedShares, ...]
    """The attribute that is most off first."""

    @property
    def metrics(self) -> dict[str, Any]:
        """What metrics.json holds."""
        return asdict(self)


def weighted(
    real: Encoded,
    synthetic: Encoded,
    shown: Sequence[Shown],
    numbers: Sequence[Amount],
    *,
    times: Both = (1.0, 1.0),
) -> Weighted | None:
    """Both sides by the survey weights, if the schema names any.

    `times` says how many groups of the sample each of them stands for.
    """
    schema = real.schema
    weights = [group_weights(schema, group_values(data)) for data in (real, synthetic)]
    first, second = weights
    if schema.group is None or schema.group.weight is None or first is None or second is None:
        return None
    sides = [
        {"group": own, "individual": np.repeat(own, data.sizes)}
        for own, data in ((first, real), (second, synthetic))
    ]
    people = [
        each * float(side["individual"].sum()) for each, side in zip(times, sides, strict=True)
    ]
    means = [
        WeightedMean(
            attribute=one.name,
            level=one.level,
            real=one.weighted[0].mean,
            synthetic=one.weighted[1].mean,
            unweighted=(one.real.mean, one.synthetic.mean),
        )
        for one in numbers
        if one.weighted is not None and one.real.values and one.synthetic.values
    ]
    codes = [distributions.folded(shown, data) for data in (real, synthetic)]
    shares = [
        _shares(one, [own[at] for own in codes], [side[one.level] for side in sides])
        for at, one in enumerate(shown)
        if one.name != schema.group.weight
    ]
    return Weighted(
        weight=schema.group.weight,
        groups=(times[0] * float(first.sum()), times[1] * float(second.sum())),
        people=(people[0], people[1]),
        spread=(_spread(first), _spread(second)),
        means=tuple(means),
        shares=tuple(sorted(shares, key=lambda one: -one.distance)),
    )


def _shares(shown: Shown, codes: Sequence[Any], weights: Sequence[Floats]) -> WeightedShares:
    parts = [
        [
            np.bincount(own, weights=weight, minlength=shown.size),
            np.bincount(own, minlength=shown.size),
        ]
        for own, weight in zip(codes, weights, strict=True)
    ]
    (real, plain), (synthetic, plain_too) = (
        [found / max(float(found.sum()), 1e-300) for found in side] for side in parts
    )
    worst = int(np.argmax(np.abs(real - synthetic)))
    return WeightedShares(
        attribute=shown.name,
        level=shown.level,
        distance=float(np.abs(real - synthetic).sum() / 2),
        category=shown.labels[worst],
        real=float(real[worst]),
        synthetic=float(synthetic[worst]),
        unweighted=(float(plain[worst]), float(plain_too[worst])),
    )


def _spread(weights: Floats) -> float:
    mean = float(weights.mean()) if len(weights) else 0.0
    return float(weights.std() / mean) if mean else 0.0
