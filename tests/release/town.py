"""A made-up town with numbers and survey weights, and quick fits to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from kinfolk.release.release import Release
from kinfolk.release.synthesizer import Synthesizer
from kinfolk.schema import Schema

TOWN = Schema.from_text("""
group:
  table: homes
  id: home
  attributes:
    region: {values: [n, s]}
    weight: {bins: [0, 2, 4], integer: true}
    rent: {bins: [0, 2, 10], decimals: 1, missing: true}
  weight: weight
individual:
  table: people
  group_id: home
  attributes:
    sex: {values: [m, f]}
    wage: {bins: [0, 3, 6], integer: true, special: [0, -9], missing: true}
max_size: 2
roles:
  column: who
  head: {values: [h], min: 1, max: 1}
  spouse: {values: [s], min: 0, max: 1}
relations: {married_to: [[head, spouse], [spouse, head]]}
workload: {k: 2, levels: [group, individual, relation]}
""")


def fitted(**told: Any) -> Release:
    """A quick fit to a made-up town."""
    settings = {"components": 6, "parts": 1, "replicates": 2, "max_passes": 3}
    given = told or {"method": "marginals", **settings}
    maker = Synthesizer(TOWN, unit="home", epsilon=1.0, delta=1e-6, seed=1, **given)
    return maker.fit(people_of_town()).release


def people_of_town(number: int = 300, *, seed: int = 5) -> dict[str, pa.Table]:
    """Homes of one or two; who earns more lives in the south, and pays more rent."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 3, number)
    owners = np.repeat(np.arange(number), sizes)
    first = np.concatenate([[True], owners[1:] != owners[:-1]])
    south = rng.random(number) < 0.4
    sex = rng.integers(2, size=len(owners))
    wage = np.minimum(rng.binomial(4, 0.4 + 0.2 * south[owners]) + 2 * (sex == 0), 6)
    return {
        "homes": pa.table(
            {
                "home": np.arange(number),
                "region": np.where(south, "s", "n"),
                "weight": 1 + rng.binomial(3, 0.3 + 0.3 * south),
                "rent": (10 * rng.beta(2 + 2 * south, 4)).round(1),
            }
        ),
        "people": pa.table(
            {
                "home": owners,
                "who": np.where(first, "h", "s"),
                "sex": np.array(["m", "f"])[sex],
                "wage": np.where(rng.random(len(owners)) < 0.2, 0, wage),
            }
        ),
    }
