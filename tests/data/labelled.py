"""A schema with a label of every kind, and tables that fit it."""

from __future__ import annotations

import numpy as np

from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.schema import Schema

LABELLED = Schema.from_text("""
group:
  table: homes
  id: hid
  attributes:
    tenure:
      values: [1, 2, 3]
      labels: [owned, rented, free of charge]
      missing: true
      label: How the home is held
    garden: {values: [true, false]}
    region: {values: [ES51, ES30], labels: ["Catalu\\u00f1a", Madrid]}
    income:
      bins: [0, 100, 1000]
      special: [-9]
      labels: [low, high, refused]
      decimals: 2
      label: Income per month
    people: {derived: count, label: How many live here}
individual:
  table: people
  group_id: hid
  attributes:
    age: {bins: [0, 16, 65, 120], integer: true, label: Age in years}
    marital: {values: [1, 2], labels: [single, married], missing: true, label: "Marital status <&>"}
    hours: {bins: [1, 35, 80], integer: true, special: [-9], missing: true}
max_size: 3
roles: {column: rel, head: {values: [0], min: 1, max: 1}, child: {values: [1, 2], min: 0, max: 2}}
never:
  - age < 16 and marital not missing
  - age < 16 and hours != -9
  - marital missing and hours not missing and age > 70
  - child.age > head.age - 12
workload: {k: 1}
""")


def labelled_model() -> HPD:
    """Something to draw from."""
    return HPD.random(Layout.of(LABELLED), 4, np.random.default_rng(1))
