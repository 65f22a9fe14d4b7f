"""Small data and quick settings for releases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from homes import HOMES, homes
from kinfolk.release.synthesizer import Synthesizer
from kinfolk.schema import Schema

FLAT = Schema.from_text("""
individual:
  table: people
  attributes: {sex: {values: [m, f]}, age: {bins: [0, 18, 65, 120], integer: true}}
max_size: 1
workload: {k: 2}
""")

FAMILIES = Schema.from_text("""
group: {table: homes, id: home, attributes: {veh: {values: [0, 1]}}}
individual: {table: people, group_id: home, attributes: {sex: {values: [m, f]}}}
max_size: 4
roles:
  column: who
  head: {values: [h], min: 1, max: 1}
  spouse: {values: [s], min: 0, max: 1}
  child: {values: [c], min: 0, max: 2}
relations:
  married_to: [[head, spouse], [spouse, head]]
workload: {k: 2, levels: [group, individual, relation]}
""")

QUICK: dict[str, Any] = {
    "method": "hpd-fixed",
    "rounds": 3,
    "components": 5,
    "max_iterations": 2,
}


def synthesizer(schema: Schema = HOMES, **told: Any) -> Synthesizer:
    """A quick synthesizer; seeded unless told otherwise."""
    settings = {"unit": "group", "epsilon": 1.0, "delta": 1e-6, "seed": 1, **QUICK, **told}
    return Synthesizer(schema, **settings)


def flat_people(number: int = 300) -> dict[str, pa.Table]:
    sexes = ["m" if row % 3 else "f" for row in range(number)]
    return {"people": pa.table({"sex": sexes, "age": [row % 120 for row in range(number)]})}


def families(number: int = 200) -> dict[str, pa.Table]:
    """A head each, every second one with a spouse, every third with a child."""
    people = [
        (home, who, "m" if (home + turn) % 2 else "f")
        for home in range(number)
        for turn, (who, every) in enumerate([("h", 1), ("s", 2), ("c", 3)])
        if home % every == 0
    ]
    return {
        "homes": pa.table({"home": list(range(number)), "veh": [h % 2 for h in range(number)]}),
        "people": pa.table(
            {
                "home": [home for home, _, _ in people],
                "who": [who for _, who, _ in people],
                "sex": [sex for _, _, sex in people],
            }
        ),
    }


def saved(folder: Path, **told: Any) -> Path:
    """A model file."""
    path = folder / "model.kinfolk"
    synthesizer(**told).fit(homes()).save(path)
    return path
