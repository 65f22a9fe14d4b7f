"""Means, sums, quantiles, ratios and shares from a model: against every group that it can draw."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest

from kinfolk.data.shape import Shape
from kinfolk.data.shapes import Shapes
from kinfolk.errors import KinfolkError
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.release.release import Release
from kinfolk.schema import Schema
from models.test_hpd import all_groups

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
GROUPS = 50


def town(*, replicates: int = 0, seed: int = 3) -> Release:
    """A random model with random shapes, and as random replicates."""
    rng = np.random.default_rng(seed)
    layout = Layout.of(TOWN)
    even = Shapes.even(TOWN)

    def random(shape: Shape) -> Shape:
        shares = shape.shares * rng.random(shape.shares.size)
        shares /= np.bincount(shape.bins, weights=shares)[shape.bins]
        return replace(shape, shares=shares)

    shapes = Shapes(
        group={name: random(one) for name, one in even.group.items()},
        individual={name: random(one) for name, one in even.individual.items()},
    )
    extra = dict(shapes.to_arrays())
    model = HPD.random(layout, 3, rng)
    if replicates:
        tables = [HPD.random(layout, 3, rng).probabilities for _ in range(replicates)]
        extra["replicates"] = np.stack(tables)
    return Release(
        model=model, certificate={"spends": []}, groups=GROUPS, method="made up", settings={},
        extra=extra,
    )  # fmt: skip


@dataclass(frozen=True)
class Person:
    """Somebody in a group, with everything a test may ask about, and how likely that is."""

    chance: float
    region: int
    weight: float
    rent: float
    sex: int
    wage: float
    spouse_sex: int | None
    first: bool
    """Whether the group is counted with this person."""


def values(shape: Shape) -> dict[int, list[tuple[float, float]]]:
    """By code, every number that can be written, and how likely it is; NaN for none."""
    attribute, cells = shape.attribute, shape.cells
    unit = 10.0 ** (attribute.places or 0)
    found: dict[int, list[tuple[float, float]]] = {}
    taken = [round(value * unit) for value in attribute.special]
    for cell, (code, share) in enumerate(zip(shape.bins.tolist(), shape.shares, strict=True)):
        steps = [k for k in cells.writable(cell) if k not in taken]
        found.setdefault(code, []).extend((k / unit, share / len(steps)) for k in steps)
    for code, value in enumerate(attribute.special, len(attribute.bins) - 1):
        found[code] = [(value if value >= 0 else math.nan, 1.0)]
    if attribute.missing:
        found[attribute.size - 1] = [(math.nan, 1.0)]
    return found


def population(release: Release) -> Iterator[Person]:
    """Everybody who can be drawn, one by one."""
    assert isinstance(release.model, HPD)
    assert release.shapes is not None
    data, chances = all_groups(release.model)
    assert data.role is not None
    weights, rents = (values(release.shapes.group[name]) for name in ("weight", "rent"))
    wages = values(release.shapes.individual["wage"])
    for g, chance in enumerate(chances):
        members = range(data.offsets[g], data.offsets[g + 1])
        region, weight_code, rent_code = data.group[g].tolist()
        for i in members:
            sex, wage_code = data.individual[i].tolist()
            others = [int(data.individual[j, 0]) for j in members if j != i]
            for weight, p in weights[weight_code]:
                for rent, q in rents[rent_code]:
                    for wage, r in wages[wage_code]:
                        yield Person(
                            chance=float(chance * p * q * r), region=region, weight=weight,
                            rent=rent, sex=sex, wage=wage, first=i == members[0],
                            spouse_sex=others[0] if others else None,
                        )  # fmt: skip


Column = Callable[[Person], float]
ALL = list(population(town()))
COUPLES = [one for one in ALL if one.spouse_sex is not None]


def rows(column: Column, keep: Callable[[Person], bool], *, weighted: bool) -> np.ndarray:
    """(rows, 2) numbers, and how much each counts for; per group."""
    return np.array(
        [
            (column(one), one.chance * (one.weight if weighted else 1.0))
            for one in ALL
            if keep(one) and not math.isnan(column(one))
        ]
    )


def mean(found: np.ndarray) -> float:
    return float(found[:, 0] @ found[:, 1] / found[:, 1].sum())


def quantile(found: np.ndarray, share: float) -> float:
    order = found[np.argsort(found[:, 0], kind="stable")]
    reached = np.cumsum(order[:, 1])
    return float(order[np.searchsorted(reached, share * reached[-1] * (1 - 1e-9)), 0])


CASES: dict[str, Callable[[bool], float]] = {
    "mean wage": lambda w: mean(rows(lambda p: p.wage, lambda p: True, weighted=w)),
    "mean wage where sex = f": lambda w: mean(
        rows(lambda p: p.wage, lambda p: p.sex == 1, weighted=w)
    ),
    "mean wage of people with wage = 1..6, region = n": lambda w: mean(
        rows(lambda p: p.wage, lambda p: p.region == 0 and p.wage > 0, weighted=w)
    ),
    "mean rent": lambda w: mean(rows(lambda p: p.rent, lambda p: p.first, weighted=w)),
    "mean rent of people": lambda w: mean(rows(lambda p: p.rent, lambda p: True, weighted=w)),
    "mean wage of people who are married_to (sex = f) where sex = m": lambda w: mean(
        rows(lambda p: p.wage, lambda p: p.sex == 0 and p.spouse_sex == 1, weighted=w)
    ),
    "sum of wage where region = s": lambda w: (
        GROUPS
        * float(np.prod(rows(lambda p: p.wage, lambda p: p.region == 1, weighted=w), axis=1).sum())
    ),
    "sum of rent of homes": lambda w: (
        GROUPS * float(np.prod(rows(lambda p: p.rent, lambda p: p.first, weighted=w), axis=1).sum())
    ),
    "median wage where sex = m": lambda w: quantile(
        rows(lambda p: p.wage, lambda p: p.sex == 0, weighted=w), 0.5
    ),
    "p90 of rent": lambda w: quantile(rows(lambda p: p.rent, lambda p: p.first, weighted=w), 0.9),
    "ratio of wage to rent of people where region = n": lambda w: (
        mean(rows(lambda p: p.wage, lambda p: p.region == 0 and p.rent == p.rent, weighted=w))
        / mean(rows(lambda p: p.rent, lambda p: p.region == 0 and p.wage == p.wage, weighted=w))
    ),
    "share of people with sex = f where region = s": lambda w: mean(
        rows(lambda p: p.sex, lambda p: p.region == 1, weighted=w)
    ),
    "share of people with married_to: sex = f where sex = m": lambda w: mean(
        rows(lambda p: p.spouse_sex == 1, lambda p: p.sex == 0, weighted=w)
    ),
    "share of people with wage in (blank, -9)": lambda w: mean(
        rows(lambda p: math.isnan(p.wage), lambda p: True, weighted=w)
    ),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("text", CASES)
def test_a_figure_is_that_of_all_who_can_be_drawn(text: str, weighted: bool) -> None:
    (found,) = town().answer(text, weighted=weighted).values
    assert found == pytest.approx(CASES[text](weighted), rel=1e-6)
    if weighted:
        assert town().answer(f"weighted {text}").values.tolist() == [found]
        assert found != pytest.approx(CASES[text](False), rel=1e-6) or "median" in text
