"""Whether a sample agrees with the rates of a model, at a stated false-alarm rate."""

from __future__ import annotations

import numpy as np

from kinfolk.data.encoded import Encoded
from kinfolk.privacy.contributions import group_contribution
from kinfolk.queries.counting import count
from kinfolk.queries.workload import Workload

FALSE_ALARM = 1e-6


def disagreement(data: Encoded, workload: Workload, rates: np.ndarray) -> float:
    """The largest distance of a count from its expectation, in units of what chance allows.

    Above one, the sample is not from the model, but for one in a million. Bernstein's inequality
    for sums of independent numbers in [0, b] whose variance is at most b times their mean, and a
    union over the queries; stratified samples are more even, so for them it holds all the more.
    """
    compositions = data.schema.compositions
    bounds = np.concatenate(
        [
            np.full(
                marginal.cells,
                max(group_contribution(data.schema, marginal, c).single for c in compositions),
            )
            for marginal in workload.marginals
        ]
    ).astype(float)
    allowed_log = np.log(2 * workload.size / FALSE_ALARM)
    distance = np.abs(count(data, workload) / data.groups - rates)
    spread = np.sqrt(2 * bounds * rates * allowed_log / data.groups)
    allowed = spread + bounds * allowed_log / (3 * data.groups)
    return float(np.max(distance / np.maximum(allowed, 1e-12)))


def shares(data: Encoded, workload: Workload) -> np.ndarray:
    """The sample's own answers."""
    found = count(data, workload).astype(float)
    for marginal, place in workload.slices():
        found[place] /= data.groups if marginal.level == "group" else data.people
    return found
