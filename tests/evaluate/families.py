"""Small families with roles, a few of them broken on request."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kinfolk.schema import Schema

Tables = dict[str, pa.Table]

FAMILIES = Schema.from_text("""
group: {table: homes, id: home, attributes: {veh: {values: [0, 1, 2]}}}
individual:
  table: people
  group_id: home
  attributes:
    sex: {values: [m, f]}
    age: {bins: [0, 18, 40, 100], integer: true}
max_size: 4
roles:
  column: relate
  head: {values: [0], min: 1, max: 1}
  spouse: {values: [1], min: 0, max: 1}
  child: {values: [2], min: 0, max: 2}
relations:
  married_to: [[head, spouse], [spouse, head]]
  has_child: [[head, child], [spouse, child]]
  has_parent: [[child, head], [child, spouse]]
workload: {k: 2, levels: [group, individual, relation]}
""")


def families(groups: int = 60, *, seed: int = 1) -> Tables:
    rng = np.random.default_rng(seed)
    people: dict[str, list[object]] = {"home": [], "relate": [], "sex": [], "age": []}
    for home in range(1, groups + 1):
        roles = [0] + [1] * int(rng.integers(2)) + [2] * int(rng.integers(3))
        for role in roles:
            people["home"].append(home)
            people["relate"].append(role)
            people["sex"].append("mf"[rng.integers(2)])
            people["age"].append(int(rng.integers(18) if role == 2 else rng.integers(18, 101)))
    homes = pa.table({"home": range(1, groups + 1), "veh": rng.integers(3, size=groups)})
    return {"homes": homes, "people": pa.table(people)}


def add(tables: Tables, homes: list[tuple[int, int]], people: list[tuple[int, int]]) -> Tables:
    """With more homes (id, veh) and people (home, relate)."""
    more = pa.table(
        {
            "home": pa.array([home for home, _ in people], pa.int64()),
            "relate": pa.array([role for _, role in people], pa.int64()),
            "sex": ["f"] * len(people),
            "age": pa.array([30] * len(people), pa.int64()),
        }
    )
    rows = pa.table(
        {
            "home": pa.array([home for home, _ in homes], pa.int64()),
            "veh": pa.array([veh for _, veh in homes], pa.int64()),
        }
    )
    return {
        "homes": pa.concat_tables([tables["homes"], rows]),
        "people": pa.concat_tables([tables["people"], more]),
    }
