"""A correct curator survives its audit, and the audit sees enough to mean something."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from kinfolk.audit import AuditResult, Verdict, audit
from kinfolk.audit.confidence import highest_rate
from kinfolk.audit.engine import _choose, _Claim
from kinfolk.audit.neighbours import neighbours
from kinfolk.audit.subjects import SUBJECTS, _log_choice
from kinfolk.audit.tradeoff import Ceiling
from kinfolk.errors import KinfolkError
from kinfolk.privacy.account import read_account
from kinfolk.privacy.accounting import rho_from
from kinfolk.privacy.curator import Promise
from kinfolk.queries.sensitivity import workload_sensitivities
from kinfolk.queries.units import Unit

CERTAIN = 1 - 1e-6
"""A correct program fails one of these tests once in a million runs at most."""


def audited(what: str, unit: Unit, *, runs: int, confidence: float = CERTAIN) -> AuditResult:
    return audit(what, unit=unit, epsilon=10.0, delta=1e-3, runs=runs, confidence=confidence)


@pytest.mark.parametrize("unit", list(Unit))
@pytest.mark.parametrize(("what", "runs"), [("measure", 120), ("select", 120), ("run", 60)])
def test_a_correct_program_survives(what: str, unit: Unit, runs: int) -> None:
    assert audited(what, unit, runs=runs).verdict is Verdict.CONSISTENT


@pytest.mark.slow
@pytest.mark.parametrize("unit", list(Unit))
@pytest.mark.parametrize(("what", "runs"), [("select", 1500), ("run", 700)])
def test_a_correct_program_survives_more_runs(what: str, unit: Unit, runs: int) -> None:
    result = audited(what, unit, runs=runs)
    assert result.verdict is Verdict.CONSISTENT
    assert result.rho > 0.05 * result.claimed_rho


def test_a_measurement_is_seen() -> None:
    """The bound is 0.58 of the claim on average, with a standard deviation of 0.08."""
    result = audited("measure", Unit.GROUP, runs=500, confidence=0.999)
    assert result.epsilon > 0.15 * result.claimed_epsilon


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "share"), [(Unit.GROUP, 0.4), (Unit.INDIVIDUAL, 0.3)])
def test_a_measurement_is_seen_clearly(unit: Unit, share: float) -> None:
    """On average the bound is 0.67 of the claim for a household and 0.6 for a person.

    Its standard deviation is 0.05. A person's noise is so small here that it being whole numbers
    has to be allowed for.
    """
    result = audited("measure", unit, runs=2500)
    assert share * result.claimed_epsilon < result.epsilon
    assert result.verdict is Verdict.CONSISTENT
    assert len(result.curve) > 5


def test_bounds_are_true_as_often_as_stated() -> None:
    """On Gaussian clues that use up their claim exactly; 6 standard errors are never exceeded."""
    rng = np.random.default_rng(8)
    audits, runs, alarm = 250, 400, 0.2
    rho = float(rho_from(10.0, 1e-3))
    ceiling = Ceiling(selected=0.0, sigma=100.0)
    claim = _Claim(ceiling=ceiling, rho=rho, epsilon=10.0, delta=1e-3, alarm=alarm)
    mu = ceiling.mu(rho)
    accused = 0
    for _ in range(audits):
        truth = rng.random(runs) < 0.5
        clues = rng.normal(size=runs) + mu * truth - mu / 2
        test = _choose(clues[:100], truth[:100], claim)
        errors = test.bound(clues[100:], truth[100:], alarm=alarm, rate=highest_rate)
        accused += ceiling.rho(errors.mu) > rho
    assert accused <= audits * alarm + 6 * math.sqrt(audits * alarm)
    # An audit that never accused anybody at this level would waste its runs.
    assert accused > 0


@pytest.mark.parametrize("unit", list(Unit))
def test_the_neighbours_are_neighbours_and_far_apart(unit: Unit) -> None:
    pair = neighbours(unit)
    (bound,) = workload_sensitivities(pair.workload, unit)
    assert np.abs(pair.difference).max() <= bound.single
    assert 0.95 * bound.l2 < pair.distance <= bound.l2
    assert pair.first.groups == pair.second.groups
    assert (pair.first.people == pair.second.people) == (unit is Unit.INDIVIDUAL)


def test_a_run_spends_everything(tmp_path: Path) -> None:
    for what, build in SUBJECTS.items():
        subject = build(Unit.GROUP)
        ledger = tmp_path / f"{what}.jsonl"
        promise = Promise(unit=Unit.GROUP, epsilon=1.0, delta=1e-6)
        assert math.isfinite(subject.run(subject.pair.first, promise, ledger))
        account = read_account(ledger)
        assert account.spent > 0.999999 * account.terms.rho
        assert len(account.spends) == {"measure": 1, "select": 1, "run": 6}[what]
        assert account.unreleased == []


def test_the_likelihood_of_a_choice() -> None:
    scores = np.array([1e9 + 4, 1e9, 0.0])
    found = [math.exp(_log_choice(scores, 2.0, chosen)) for chosen in range(3)]
    assert sum(found) == pytest.approx(1)
    assert found[0] / found[1] == pytest.approx(math.exp(2))


def test_refuses_nonsense() -> None:
    good = {"unit": Unit.GROUP, "epsilon": 1.0, "delta": 1e-6}
    with pytest.raises(KinfolkError, match="Did you mean 'select'"):
        audit("selct", **good)  # type: ignore[arg-type]
    with pytest.raises(KinfolkError, match="runs is 3"):
        audit("run", **good, runs=3)  # type: ignore[arg-type]
    with pytest.raises(KinfolkError, match="confidence is 1"):
        audit("run", **good, confidence=1.0)  # type: ignore[arg-type]
    with pytest.raises(KinfolkError, match="epsilon is 0"):
        audit("run", unit=Unit.GROUP, epsilon=0.0, delta=1e-6)
