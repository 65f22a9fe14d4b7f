"""Raked groups: kept by chance, with compositions, rules and conditions as without."""

from __future__ import annotations

import numpy as np
import pytest

from kinfolk.data.encoded import composition_of
from kinfolk.errors import KinfolkError
from kinfolk.methods import rake
from kinfolk.methods.rake import Measures, fit_raking
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.models.raking import Features, Raking
from kinfolk.models.records import Records, broken
from kinfolk.schema import Schema
from kinfolk.schema.where import Where

SCHEMA_TEXT = """
group:
  table: homes
  id: home
  attributes:
    region: {values: [n, s]}
    income: {bins: [0, 100, 300, 600, 9000], special: [0], decimals: 0}
individual:
  table: people
  group_id: home
  attributes:
    sex: {values: [m, f]}
    wage: {bins: [0, 100, 200, 400, 5000], special: [0], decimals: 0}
max_size: 3
roles:
  column: who
  head: {values: [h], min: 1, max: 1}
  other: {values: [o], min: 0, max: 2}
never: [region = n and income > 500]
workload: {k: 1}
"""
SCHEMA = Schema.from_text(SCHEMA_TEXT)
MODEL = HPD.random(Layout.of(SCHEMA), components=20, rng=np.random.default_rng(1))
FEATURES = Features.of(SCHEMA)
NOISE = 0.002


@pytest.fixture(scope="module")
def measures() -> Measures:
    """As if wages were a tenth lower than the model has them."""
    rng = np.random.default_rng(2)
    means = FEATURES.matrix(Records(model=MODEL).draw_all(20_000, rng=rng)).mean(axis=0)
    targets = means.astype(np.float64)
    known = np.zeros(FEATURES.size, np.bool_)
    known[FEATURES.starts[1] : FEATURES.starts[2]] = True
    targets[FEATURES.starts[1]] *= 0.9
    return Measures(features=FEATURES, targets=targets, noise=np.where(known, NOISE, np.inf))


def test_features_are_sums_over_members_and_cells() -> None:
    groups = Records(model=MODEL).draw_all(200, rng=np.random.default_rng(3))
    matrix = FEATURES.matrix(groups)
    assert matrix.shape == (200, FEATURES.size)
    slopes = np.random.default_rng(4).standard_normal(FEATURES.size)
    assert np.allclose(matrix @ slopes, FEATURES.scores(groups, slopes), atol=1e-4)
    for at, marginal in enumerate(FEATURES.marginals):
        own = matrix[:, FEATURES.starts[at] : FEATURES.starts[at + 1]]
        if marginal.total == "sum":
            assert 0 <= own.min() <= own.max() <= 1
        else:
            assert np.allclose(own.sum(axis=1), 1, atol=1e-6)


def test_raked_groups_have_the_mean_that_was_measured(measures: Measures) -> None:
    raked = fit_raking(MODEL, measures, rng=np.random.default_rng(5))
    records = Records(model=MODEL, raking=raked.raking)
    plain = Records(model=MODEL).draw_all(20_000, rng=np.random.default_rng(6))
    drawn = records.draw_all(20_000, rng=np.random.default_rng(6))
    wage = FEATURES.starts[1]
    before, after = (FEATURES.matrix(one)[:, wage].mean() for one in (plain, drawn))
    wanted = measures.targets[wage]
    assert abs(after - wanted) < 0.5 * abs(before - wanted)
    # Chance alone, at one in a million, moves a mean of 20,000 by less than this.
    assert abs(after - raked.means[wage]) < 0.02
    # Sizes and roles are as they were, and the rules hold.
    assert (composition_of(drawn) == composition_of(plain)).all()
    assert not broken(drawn).any()


def test_without_noise_to_speak_of_nothing_else_is_bent(measures: Measures) -> None:
    """What is held stays: shares of bins and of categories within a few hundredths.

    That is between what the model says of them and what groups are like that keep the rules.
    """
    raked = fit_raking(MODEL, measures, rng=np.random.default_rng(5))
    held = ~np.isfinite(measures.noise)
    held[: FEATURES.starts[3]] = False
    both = np.stack([measures.targets, rake._as_modelled(MODEL, FEATURES)])[:, held]
    assert (raked.means[held] > both.min(axis=0) - 0.03).all()
    assert (raked.means[held] < both.max(axis=0) + 0.03).all()


def test_what_rules_have_moved_comes_back() -> None:
    """A rule that leaves few groups out moves shares a little, and raking moves them back."""
    loose = SCHEMA_TEXT.replace("income > 500", "income > 5000")
    schema = Schema.from_text(loose)
    model = HPD.random(Layout.of(schema), components=20, rng=np.random.default_rng(1))
    features = Features.of(schema)
    nothing = Measures(
        features=features,
        targets=np.zeros(features.size),
        noise=np.full(features.size, np.inf),
    )
    raked = fit_raking(model, nothing, rng=np.random.default_rng(5))
    own = slice(features.starts[3], features.starts[4])
    assert features.marginals[3].group == (0,)
    modelled = rake._as_modelled(model, features)[own]
    plain, drawn = (
        features.matrix(
            Records(model=model, raking=how).draw_all(60_000, rng=np.random.default_rng(6))
        ).mean(axis=0)[own]
        for how in (None, raked.raking)
    )
    assert np.abs(plain - modelled).max() > 0.02
    # By chance they are 0.003 apart at most (one in a million), with 60,000 groups.
    assert np.abs(drawn - modelled).max() < 0.5 * np.abs(plain - modelled).max()


def test_measurements_that_are_all_noise_change_nothing(measures: Measures) -> None:
    noise = np.where(np.isfinite(measures.noise), 100.0, np.inf)
    vague = Measures(features=FEATURES, targets=measures.targets, noise=noise)
    raked = fit_raking(MODEL, vague, rng=np.random.default_rng(5))
    assert np.abs(raked.raking.slopes).max() < 1e-3


def test_only_some_groups_are_raked_like_all(measures: Measures) -> None:
    raked = fit_raking(MODEL, measures, rng=np.random.default_rng(5))
    where = Where.parse("region = s", SCHEMA)
    records = Records(model=MODEL, raking=raked.raking, where=where)
    drawn = records.draw_all(500, rng=np.random.default_rng(7))
    assert drawn.groups == 500
    assert (drawn.group[:, 0] == 1).all()


def test_a_group_is_at_most_so_much_likelier(measures: Measures) -> None:
    raked = fit_raking(MODEL, measures, rng=np.random.default_rng(5))
    chances = raked.raking.chances(raked.pool)
    assert chances.max() <= 1
    assert 0.5 / rake.LARGEST < chances.mean() < 2 / rake.LARGEST


def test_means_are_those_of_groups_as_they_are_drawn(
    measures: Measures, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What may not become as likely as it should be is not counted as if it did."""
    monkeypatch.setattr(rake, "LARGEST", 1.2)
    targets = measures.targets.copy()
    targets[FEATURES.starts[1]] *= 1.6
    more = Measures(features=FEATURES, targets=targets, noise=measures.noise)
    raked = fit_raking(MODEL, more, rng=np.random.default_rng(5))
    records = Records(model=MODEL, raking=raked.raking)
    drawn = FEATURES.matrix(records.draw_all(40_000, rng=np.random.default_rng(6)))
    # Five standard deviations of a mean of 40,000, and of one of the pool's 30,000.
    chance = 5 * drawn.std(axis=0) * np.sqrt(1 / 40_000 + 1 / 30_000) + 1e-3
    assert (np.abs(drawn.mean(axis=0) - raked.means) < chance).all()


def test_zeros_and_what_has_no_total_are_held_more_firmly(measures: Measures) -> None:
    loose = rake._of_totals(FEATURES)
    for at, marginal in enumerate(FEATURES.marginals):
        own = loose[FEATURES.starts[at] : FEATURES.starts[at + 1]].reshape(marginal.shape)
        amount = marginal.total is None and (marginal.group or marginal.individual)[0] == 1
        assert own[:4].all() if amount else not own.any()
        assert not own[4:].any()
    assert len(loose) == len(measures.noise)


def test_no_composition_becomes_rarer_for_what_is_said_of_its_roles() -> None:
    """What all members of a role have in common says nothing of groups of one composition."""
    text = SCHEMA_TEXT.replace("  other: {", "  spouse: {values: [s], min: 0, max: 1}\n  other: {")
    schema = Schema.from_text(text)
    model = HPD.random(Layout.of(schema), components=20, rng=np.random.default_rng(1))
    features = Features.of(schema)
    pool = Records(model=model).draw_all(20_000, rng=np.random.default_rng(2))
    (sex,) = (at for at, one in enumerate(features.marginals) if one.individual == (0, 2))
    slopes = np.zeros(features.size)
    # Every man and every woman who is a spouse.
    slopes[features.starts[sex] : features.starts[sex + 1]].reshape(2, 3)[:, 1] = -60.0
    compositions = composition_of(pool)
    columns = np.arange(features.size)
    raking = rake._raking(features, columns, slopes, features.matrix(pool) @ slopes, compositions)
    chances = raking.chances(pool)
    for one in np.unique(compositions):
        assert chances[compositions == one].mean() == pytest.approx(1 / rake.LARGEST, rel=0.01)
    records = Records(model=model, raking=raking)
    drawn = records.draw_all(2_000, rng=np.random.default_rng(3))
    assert records.acceptance.repeated == 0
    plain = Records(model=model).draw_all(2_000, rng=np.random.default_rng(3))
    assert (composition_of(drawn) == composition_of(plain)).all()


def test_raking_is_kept_as_one_array_and_checked(measures: Measures) -> None:
    raked = fit_raking(MODEL, measures, rng=np.random.default_rng(5))
    array = raked.raking.to_array()
    again = Raking.of(SCHEMA, array)
    groups = Records(model=MODEL).draw_all(100, rng=np.random.default_rng(8))
    assert (again.chances(groups) == raked.raking.chances(groups)).all()
    for wrong in (array[:-1], array.astype(np.float32), np.full_like(array, np.nan)):
        with pytest.raises(KinfolkError, match="damaged"):
            Raking.of(SCHEMA, wrong)


def test_a_schema_without_amounts_and_rules_has_no_features() -> None:
    plain = Schema.from_text("""
individual: {table: people, attributes: {sex: {values: [m, f]}}}
max_size: 1
""")
    assert Features.of(plain).size == 0
