"""Means, sums, quantiles, ratios and shares from a model: against every group that it can draw."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kinfolk.data.number_law import NumberLaw
from kinfolk.data.shapes import Shape, Shapes
from kinfolk.errors import KinfolkError
from kinfolk.methods.number_shapes import expected_counts
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.queries.question_parser import parse
from kinfolk.queries.workload import Workload
from kinfolk.release.release import Release
from kinfolk.release.replicates import refits_of
from kinfolk.release.synthesizer import Synthesizer
from kinfolk.schema import Level
from models.test_hpd import all_groups
from release.town import TOWN, fitted, people_of_town

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


@cache
def everybody() -> list[Person]:
    return list(population(town()))


def rows(column: Column, keep: Callable[[Person], bool], *, weighted: bool) -> np.ndarray:
    """(rows, 2) numbers, and how much each counts for; per group."""
    return np.array(
        [
            (column(one), one.chance * (one.weight if weighted else 1.0))
            for one in everybody()
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


def test_a_table_has_the_figures_of_its_cells() -> None:
    release = town()
    found = release.answer("mean wage by region, sex")
    assert [one.cell for one in found.asked] == [
        {"region": region, "sex": sex} for region in ("n", "s") for sex in ("m", "f")
    ]
    alone = [f"mean wage where region = {r}, sex = {s}" for r in ("n", "s") for s in ("m", "f")]
    assert found.values == pytest.approx(release.answer(alone).values)
    # Cells weighed by how many are in them make up the whole.
    assert found.values @ found.totals / found.totals.sum() == pytest.approx(
        release.answer("mean wage").values[0]
    )
    sums = release.answer("sum of wage by region, sex").values
    assert sums == pytest.approx(found.values * found.totals)


def test_shares_among_some() -> None:
    release = town()
    shares = release.answer("share of people with sex = f by region").shares
    joint = release.answer(["people: region = n, sex = f", "people: region = s, sex = f"]).shares
    whole = release.answer("people: region").shares
    assert shares == pytest.approx(joint / whole)
    # Without anything before `by`, the cells themselves are asked for.
    cells = release.answer("share of people by region where sex = f").shares
    assert cells == pytest.approx(joint / joint.sum())


def test_errors_come_from_replicates_and_from_chance() -> None:
    release = town(replicates=4)
    found = release.answer("mean wage where sex = f")
    assert isinstance(release.model, HPD)
    again = [
        replace(
            release, model=replace(release.model, probabilities=table), extra=town().extra
        ).answer("mean wage where sex = f")
        for table in release.extra["replicates"]
    ]
    noise = np.mean([(one.values - found.values) ** 2 for one in again])
    people = rows(lambda p: p.wage, lambda p: p.sex == 1, weighted=False)
    centre, total = mean(people), GROUPS * people[:, 1].sum()
    assert found.totals[0] == pytest.approx(total)
    half = 0.25 * mean(np.column_stack([(people[:, 0] - centre) ** 2, people[:, 1]])) / total**2
    inside = 0.0
    assert release.shapes is not None
    for code, numbers in values(release.shapes.individual["wage"]).items():
        middle = sum(x * p for x, p in numbers)
        spread = sum((x - middle) ** 2 * p for x, p in numbers)
        if code < 2:
            bounds = ("wage = 1..2", "wage = 3..6")[code]
            many = release.answer(f"people: sex = f, {bounds}")
            inside += many.shares[0] * many.totals[0] * spread / total**2
    law = NumberLaw.of(TOWN.individual_attributes["wage"], release.shapes.individual["wage"])
    bins = ["wage = 1..2", "wage = 3..6", "wage = 0"]
    likely = release.answer([f"people: sex = f, {one}" for one in bins]).shares
    usual = release.answer([f"people: {one}" for one in bins]).shares
    tilted = law.tilted(likely, usual, least=0.5 / total)
    tilt = likely @ (tilted.means - law.means) / likely.sum()
    assert abs(tilt) > 0.01
    assert found.errors is not None
    assert found.errors[0] ** 2 == pytest.approx(noise + half + inside + tilt**2)
    low, high = found.interval(0.999999)
    # No interval leaves the range of the numbers.
    assert (low[0], high[0]) == (0.0, 6.0)


def test_the_error_of_a_median_is_that_of_the_share_below_it() -> None:
    release = town(replicates=4)
    found = release.answer(["median rent", "median wage"])
    assert found.errors is not None
    # At least half of the last digit that is written.
    assert found.errors[0] >= 0.05
    assert found.errors[1] >= 0.5
    assert np.isfinite(found.errors).all()


def test_nobody_is_there() -> None:
    release = town(replicates=2)
    assert isinstance(release.model, HPD)
    layout = release.model.layout
    first = layout.group_start

    def without(table: np.ndarray) -> np.ndarray:
        table = table.copy()
        table[first], table[first + 1] = 0.0, 1.0
        return table

    model = replace(release.model, probabilities=without(release.model.probabilities))
    tables = np.stack([without(table) for table in release.extra["replicates"]])
    empty = replace(release, model=model, extra={**release.extra, "replicates": tables})
    found = empty.answer(["mean wage by region", "median wage by region"])
    assert np.isnan(found.values).tolist() == [True, False, True, False]
    assert [row["value"] is None for row in found.rows()] == [True, False, True, False]
    assert found.errors is not None
    assert np.isnan(found.errors).tolist() == [True, False, True, False]


def test_questions_and_figures_keep_their_order() -> None:
    release = town(replicates=2)
    texts = ["mean wage", "people: sex = f", "median wage", "homes: region = n"]
    found = release.answer(texts)
    alone = [release.answer(text) for text in texts]
    assert found.values.tolist() == [one.values[0] for one in alone]
    assert found.errors is not None
    assert found.errors.tolist() == [one.errors[0] for one in alone if one.errors is not None]
    assert repr(found) == "Answers(4 answers, with standard errors)"
    with pytest.raises(KinfolkError, match="not all of these are shares"):
        _ = found.shares


def test_as_a_data_frame() -> None:
    found = town(replicates=2).answer(["mean wage by sex", "people: sex = f"])
    frame = found.to_pandas(0.95)
    assert frame["sex"].isna().tolist() == [False, False, True]
    assert frame["sex"].tolist()[:2] == ["m", "f"]
    assert frame["statistic"].tolist() == ["mean", "mean", "share"]
    assert frame["value"].tolist() == found.values.tolist()
    assert frame["high"].tolist() == found.interval(0.95)[1].tolist()
    assert frame["of"].tolist() == ["people"] * 3


def test_only_questions_can_be_weighted() -> None:
    with pytest.raises(KinfolkError, match="workload is answered without weights"):
        town().answer(Workload.of(TOWN), weighted=True)
    with pytest.raises(KinfolkError, match="weight is the weight itself"):
        town().answer("mean weight", weighted=True)
    plain = replace(TOWN, group=replace(TOWN.group, weight=None))  # type: ignore[type-var]
    with pytest.raises(KinfolkError, match="names no survey weight"):
        parse(plain, "weighted mean wage")


def test_a_replicate_has_shapes_and_groups_of_its_own() -> None:
    release = fitted()
    texts = ["mean wage where wage = 3..6", "sum of wage"]
    found = release.answer(texts)
    same = release.extra | {"replicate_shares": np.stack(2 * [release.extra["shares"]])}
    assert found.errors is not None
    # Inside one bin, a mean depends on the shape alone.
    alike = replace(release, extra=same).answer(texts).errors
    assert alike is not None
    assert alike[0] < found.errors[0]
    groups = np.array([release.groups, 2 * release.groups])
    more = replace(release, extra=release.extra | {"replicate_groups": groups}).answer(texts).errors
    assert more is not None
    assert more[0] == found.errors[0]
    assert more[1] > 0.4 * found.values[1] > found.errors[1]


def test_made_up_counts_are_those_of_the_model_and_its_shapes() -> None:
    release = fitted()
    model, shapes = release.model, release.shapes
    assert isinstance(model, HPD)
    assert shapes is not None
    refits = refits_of(release, np.random.default_rng(1))
    marginals = refits.view.workload.marginals
    (at,) = (one for one in refits.fine if marginals[one].level == Level.INDIVIDUAL)
    found = expected_counts(model, shapes, refits.view, [at], release.groups)
    data, chances = all_groups(model)
    counts = np.zeros(marginals[at].cells)
    shape = shapes.individual["wage"]
    bins = len(shape.attribute.bins) - 1
    for g, chance in enumerate(chances):
        members = data.individual[data.offsets[g] : data.offsets[g + 1], 1]
        for code in members.tolist():
            worth = chance * refits.view.weights[at, len(members)] * release.groups
            if code < bins:
                counts[: len(shape.bins)] += worth * np.where(shape.bins == code, shape.shares, 0)
            else:
                counts[len(shape.bins) + code - bins] += worth
    assert found == pytest.approx(counts, rel=1e-4)


def test_other_methods_answer_without_errors() -> None:
    told = {"method": "hpd-fixed", "rounds": 3, "components": 5, "max_iterations": 2}
    release = fitted(**told)
    found = release.answer(["mean wage by sex", "median rent"])
    assert found.errors is None
    # Without shapes, numbers lie evenly in their bins.
    assert release.shapes is None
    assert np.isfinite(found.values).all()


TRUTHS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "mean wage by sex": lambda d: d.groupby("sex").wage.mean()[["m", "f"]],
    "mean wage by region": lambda d: d.groupby("region").wage.mean(),
    "mean rent of people by sex": lambda d: d.groupby("sex").rent.mean()[["m", "f"]],
    "mean rent of homes by region": lambda d: d[d["first"]].groupby("region").rent.mean(),
    "sum of wage by sex": lambda d: d.groupby("sex").wage.sum()[["m", "f"]],
    "median rent of homes by region": lambda d: d[d["first"]].groupby("region").rent.median(),
    "p90 of rent by region": lambda d: d[d["first"]].groupby("region").rent.quantile(0.9),
    "median wage by sex": lambda d: d.groupby("sex").wage.median()[["m", "f"]],
    "ratio of wage to rent of people": lambda d: [d.wage.sum() / d.rent.sum()],
    "share of people with sex = f by region": lambda d: d.groupby("region").sex.apply(
        lambda sex: (sex == "f").mean()
    ),
    "weighted mean wage": lambda d: [(d.weight * d.wage).sum() / d.weight.sum()],
    "weighted mean rent of homes": lambda d: [
        (d.weight * d.rent)[d["first"]].sum() / d.weight[d["first"]].sum()
    ],
    "weighted share of people with sex = f": lambda d: [
        (d.weight * (d.sex == "f")).sum() / d.weight.sum()
    ],
}


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Seen: 91% of 88 answers; 92% in four other runs that were looked at once, afterwards.

    The bins are coarse on purpose, so that much depends on what is inside them. Everything is
    seeded.
    """
    held = []
    for seed in range(4):
        tables = people_of_town(2000, seed=seed)
        people = tables["people"].to_pandas().merge(tables["homes"].to_pandas(), on="home")
        people["first"] = people.who == "h"
        maker = Synthesizer(
            TOWN, unit="home", epsilon=1.0, delta=1e-6, seed=seed + 10, method="marginals",
            components=40, parts=2, replicates=8,
        )  # fmt: skip
        release = maker.fit(tables).release
        for text, truth in TRUTHS.items():
            low, high = release.answer(text).interval(0.9)
            true = np.asarray(truth(people), np.float64)
            held += ((low <= true) & (true <= high)).tolist()
    assert 0.8 <= np.mean(held) <= 1
