"""Columns with a formula: their rows are what members who are drawn make them, and teach these."""

from __future__ import annotations

import numpy as np
import pytest

from kinfolk.methods.mixture_fit import Measured, MixtureFit
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.models.mixture.derived import DerivedColumns
from kinfolk.models.mixture.prepared import Prepared
from kinfolk.models.records import Records
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema

TEXT = """
group:
  table: homes
  id: home
  attributes:
    size: {derived: count}
    cars: {values: [0, 1, 2]}
    minors: {derived: count(age < 18), values: [0, 1, 2]}
    young_workers: {derived: "count(work = 1 and age < 40 and relate = child)", bins: [0, 1, 2, 9], integer: true}
    any_work: {derived: any(work = 1), values: [0, 1]}
    head_age: {derived: head.age, bins: [0, 18, 65, 120], integer: true}
    head_work: {derived: head.work}
individual:
  table: people
  group_id: home
  attributes:
    age: {bins: [0, 18, 40, 65, 120], integer: true}
    work: {values: [0, 1], missing: true}
    pay: {bins: [0, 10, 20], special: [0], missing: true}
max_size: 6
roles:
  column: relate
  head: {values: [1], min: 1, max: 1}
  spouse: {values: [2], min: 0, max: 1}
  child: {values: [3], min: 0, max: 4}
never:
  - age < 18 and work not missing
  - age >= 18 and work missing
  - work = 0 and pay > 0
workload: {k: 2, levels: [group, individual]}
"""  # noqa: E501
SCHEMA = Schema.from_text(TEXT)
LAYOUT = Layout.of(SCHEMA, scheme={"child": [1, 3]})
DERIVED = DerivedColumns.of(LAYOUT)


def rows_of(layout: Layout, name: str) -> slice:
    at = list(layout.schema.group_attributes).index(name)
    first, last = layout.group_offsets[at : at + 2]
    return slice(layout.group_start + first, layout.group_start + last)


def filled(layout: Layout, components: int, seed: int) -> np.ndarray:
    table = HPD.random(layout, components, np.random.default_rng(seed)).probabilities.copy()
    DerivedColumns.of(layout).fill(table)
    return table


def test_their_rows_are_what_drawn_members_make_them() -> None:
    """Off by chance once in a million runs (5.5 standard deviations, 20 shares)."""
    names = ("size", "minors", "young_workers", "any_work", "head_age", "head_work")
    assert DERIVED.names == names
    table = filled(LAYOUT, 4, seed=1)
    groups = 20_000
    # Nothing else may break a rule: whole groups would be drawn again, and the law be another.
    drawn = Records(model=HPD(layout=LAYOUT, probabilities=table)).draw_all(
        groups, rng=np.random.default_rng(2)
    )
    for name in names:
        expected = table[rows_of(LAYOUT, name)].mean(axis=1)
        assert expected.sum() == pytest.approx(1)
        codes = drawn.group[:, list(SCHEMA.group_attributes).index(name)]
        shares = np.bincount(codes, minlength=len(expected)) / groups
        noise = np.sqrt(expected * (1 - expected) / groups)
        assert (np.abs(shares - expected) <= 5.5 * noise + 1e-12).all(), name


@pytest.mark.parametrize("kept", [None, (0, 2, 5, 7)])
def test_gradients_equal_differences(kept: tuple[int, ...] | None) -> None:
    layout = LAYOUT if kept is None else LAYOUT.keeping(kept)
    derived = DerivedColumns.of(layout)
    rng = np.random.default_rng(3)
    table = HPD.random(layout, 2, rng).probabilities.copy()
    weights = rng.standard_normal(table.shape)

    def loss(at: np.ndarray) -> float:
        found = at.copy()
        derived.fill(found)
        return float((found * weights).sum())

    gradient = weights.copy()
    derived.vjp(table, gradient)
    expected = np.zeros_like(table)
    for place in np.ndindex(*table.shape):
        step = np.zeros_like(table)
        step[place] = 1e-5
        expected[place] = (loss(table + step) - loss(table - step)) / 2e-5
    own = np.zeros(len(table), np.bool_)
    for name in derived.names:
        own[rows_of(layout, name)] = True
    assert not gradient[own].any()
    # What a composition that nobody has would do to a size is not worked out, and not asked.
    asked = ~own & layout.possible
    np.testing.assert_allclose(gradient[asked], expected[asked], rtol=1e-5, atol=1e-7)


def test_what_is_measured_of_a_column_teaches_the_members() -> None:
    """Only the column by cars is measured: heads by cars follow."""
    truth = np.array([[0.3, 0.05, 0.0], [0.05, 0.2, 0.05], [0.0, 0.05, 0.3]])
    asked = Workload.of(SCHEMA, k=2, levels=["group"], attributes=["cars", "head_age"])
    assert [one.cells for one in asked.marginals] == [truth.size]
    prepared, rates = Prepared.of(LAYOUT, asked), truth.ravel()
    measured = Measured(prepared=prepared, rates=rates, precision=np.full(len(rates), 1e6))
    fit = MixtureFit.random(LAYOUT, [measured], components=20, rng=np.random.default_rng(5))
    fit.run(10, rng=np.random.default_rng(6))
    drawn = Records(model=HPD(layout=LAYOUT, probabilities=fit.probabilities)).draw_all(
        20_000, rng=np.random.default_rng(7)
    )
    names = list(SCHEMA.group_attributes)
    both = np.zeros((3, 3))
    cars, ages = (drawn.group[:, names.index(name)] for name in ("cars", "head_age"))
    np.add.at(both, (cars, ages), 1 / drawn.groups)
    # With a distribution of its own, the column would leave heads independent of cars: 0.18 off.
    assert np.abs(both - truth).max() < 0.02


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        ("bins: [0, 18, 65, 120]", "bins: [0, 20, 65, 120]", "head_age"),
        ("bins: [0, 18, 65, 120]", "bins: [0, 18, 65, 120], special: [30]", "head_age"),
        ("derived: head.work", "derived: spouse.work", "head_work"),
        ("count(age < 18)", "count(age < 20)", "minors"),
        ("count(age < 18)", "count(age < 18 and cars = 1)", "minors"),
        ("derived: any(work = 1), values: [0, 1]", "derived: max(work)", "any_work"),
    ],
)
def test_others_keep_a_distribution_of_their_own(old: str, new: str, lost: str) -> None:
    """Where categories do not go together, members may be missing, or it is another formula."""
    text = TEXT.replace(old, new)
    assert text != TEXT
    known = DerivedColumns.of(Layout.of(Schema.from_text(text))).names
    assert set(DERIVED.names) - set(known) == {lost}
