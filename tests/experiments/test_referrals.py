"""Simulated referrals: sizes as published, siblings alike, outcomes that follow history."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from kinfolk.experiments.simulate import simulate_tables

REFERRALS = 40_000
COUNTS = ("SER_PAST548_COUNT_VICT_SELF", "REF_PAST548_COUNT_VICT_SELF", "PLSM_PAST548_COUNT_NULL")


@cache
def _tables() -> dict[str, pa.Table]:
    return simulate_tables("afst", groups=REFERRALS, seed=4)


def _child(column: str) -> np.ndarray:
    values: np.ndarray = _tables()["children"][column].to_numpy()
    return values


def _owner() -> np.ndarray:
    return _child("REFERRAL_ID") - 1


def test_mean_size_is_the_published_one() -> None:
    sizes = np.bincount(_owner())
    assert sizes.mean() == pytest.approx(74_759 / 20_448, abs=0.05)
    assert set(sizes) == set(range(1, 11))


def test_siblings_have_different_ages_in_order() -> None:
    owner, age = _owner(), _child("AGE_AT_RFRL_VICT_SELF")
    siblings = np.flatnonzero(np.diff(owner) == 0)
    gap = age[siblings] - age[siblings + 1]
    assert gap.min() >= 0
    assert 1 < gap.mean() < 4
    assert set(np.unique(age)) == set(range(19))


@pytest.mark.parametrize("column", COUNTS)
def test_siblings_share_their_history(column: str) -> None:
    owner, count = _owner(), _child(column)
    siblings = np.flatnonzero(np.diff(owner) == 0)
    assert np.corrcoef(count[siblings], count[siblings + 1])[0, 1] > 0.6
    assert (count[siblings] != count[siblings + 1]).mean() > 0.01


@pytest.mark.parametrize("kind", ["ACJ", "JPO"])
def test_now_implies_ever_and_only_the_older(kind: str) -> None:
    now, ever = _child(f"{kind}_NOW_VICT_SELF"), _child(f"{kind}_EVERIN_VICT_SELF")
    assert np.all(ever >= now)
    assert 0 < now.mean() < ever.mean() < 0.05
    assert _child("AGE_AT_RFRL_VICT_SELF")[ever == 1].min() >= 10


def test_outcomes_follow_history() -> None:
    referrals = _tables()["referrals"]
    outcome = np.asarray(referrals["CALL_SCRN_OUTCOME"].to_pylist())
    decision = np.asarray(referrals["SERVICE_DECISION"].to_pylist())
    history = np.zeros(REFERRALS, dtype=int)
    np.maximum.at(history, _owner(), _child("REF_PAST548_COUNT_VICT_SELF"))
    screened_in = outcome == "screen in"
    assert screened_in[history >= 3].mean() > screened_in[history == 0].mean() + 0.1
    served = np.zeros(REFERRALS, dtype=int)
    np.maximum.at(served, _owner(), _child("SER_PAST548_COUNT_VICT_SELF"))
    is_open = decision == "already open"
    assert is_open[served > 0].mean() > 5 * is_open[served == 0].mean()
    assert not np.any((decision == "accept for service") & ~screened_in)
