"""A correct curator survives its audit, and the audit sees enough to mean something."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from kinfolk.audit import AuditResult, AuditVerdict, audit
from kinfolk.audit.guess import Ceiling, Claim, judge_clues
from kinfolk.audit.subjects import SUBJECTS, _log_choice, pair_of, sizes_of
from kinfolk.audit.whole import METHOD, town_plan
from kinfolk.errors import KinfolkError
from kinfolk.privacy.account import read_account
from kinfolk.privacy.accounting import Accounting
from kinfolk.privacy.guarantee import Guarantee
from kinfolk.privacy.sensitivity import workload_sensitivities
from kinfolk.privacy.unit import Neighbours

CERTAIN = 1 - 1e-6
"""A correct program fails one of these tests once in a million runs at most."""


def audited(
    what: str,
    neighbours: Neighbours,
    *,
    runs: int,
    accounting: Accounting | None = None,
    confidence: float = CERTAIN,
) -> AuditResult:
    return audit(
        what,
        neighbours=neighbours,
        epsilon=10.0,
        delta=1e-3,
        accounting=accounting,
        runs=runs,
        confidence=confidence,
    )


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize(
    ("what", "runs"),
    [("default", 60), ("dropped", 40), ("measure", 120), ("sizes", 120), ("select", 120),
     ("select-marginal", 120), ("run", 60)],
)  # fmt: skip
def test_a_correct_program_survives(what: str, neighbours: Neighbours, runs: int) -> None:
    result = audited(what, neighbours, runs=runs)
    assert result.verdict is AuditVerdict.CONSISTENT


@pytest.mark.parametrize("what", ["measure", "sizes"])
@pytest.mark.parametrize("accounting", [Accounting.GAUSSIAN, Accounting.ZCDP])
def test_a_correct_measurement_survives_either_accounting(
    what: str, accounting: Accounting
) -> None:
    result = audited(what, Neighbours.ADD_REMOVE, runs=400, accounting=accounting)
    assert result.verdict is AuditVerdict.CONSISTENT
    assert result.claim.accounting is accounting


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize(
    ("what", "runs"),
    [("default", 600), ("dropped", 400), ("sizes", 2500), ("select", 1500), ("run", 700)],
)
def test_a_correct_program_survives_more_runs(what: str, neighbours: Neighbours, runs: int) -> None:
    result = audited(what, neighbours, runs=runs)
    assert result.verdict is AuditVerdict.CONSISTENT
    # A household that is dropped tells nothing, and a size or the grid's share next to nothing.
    if what not in ("dropped", "sizes"):
        assert result.rho > 0.05 * result.claimed_rho


def test_a_measurement_is_seen() -> None:
    """The bound is 0.58 of the claim on average, with a standard deviation of 0.08."""
    result = audited("measure", Neighbours.REPLACE, runs=500, confidence=0.999)
    assert result.epsilon > 0.15 * result.claimed_epsilon


@pytest.mark.slow
@pytest.mark.parametrize(
    ("neighbours", "share"),
    [(Neighbours.ADD_REMOVE, 0.4), (Neighbours.REPLACE, 0.4), (Neighbours.IN_PLACE, 0.3)],
)
def test_a_measurement_is_seen_clearly(neighbours: Neighbours, share: float) -> None:
    """On average the bound is 0.67 of the claim for a household and 0.6 for a person.

    Its standard deviation is 0.05. A person's noise is so small here that it being whole numbers
    has to be allowed for.
    """
    result = audited("measure", neighbours, runs=2500)
    assert share * result.claimed_epsilon < result.epsilon
    assert result.verdict is AuditVerdict.CONSISTENT
    assert len(result.curve) > 5


def test_a_dropped_household_tells_nothing() -> None:
    """Whether it is there or not, every likelihood is the same."""
    result = audited("dropped", Neighbours.ADD_REMOVE, runs=40)
    assert (result.epsilon, result.rho) == (0, 0)


def test_bounds_are_true_as_often_as_stated() -> None:
    """On Gaussian clues that use up their claim exactly; 6 standard errors are never exceeded."""
    rng = np.random.default_rng(8)
    audits, runs, alarm = 250, 400, 0.2
    promise = Guarantee.of(
        neighbours=Neighbours.REPLACE, epsilon=10.0, delta=1e-3, accounting=Accounting.GAUSSIAN
    )
    ceiling = Ceiling(selected=0.0, accounting=promise.accounting)
    claim = Claim(ceiling=ceiling, promise=promise, alarm=alarm)
    mu = ceiling.mu(float(promise.rho))
    accused = 0
    for _ in range(audits):
        truth = rng.random(runs) < 0.5
        clues = rng.normal(size=runs) + mu * truth - mu / 2
        # Beside the likelihood, a number of rows that says nothing.
        both = np.column_stack([clues, rng.integers(50, 70, runs)])
        errors = judge_clues(("likelihood", "rows"), both, truth, claim).errors
        accused += claim.used(errors) > 1
    assert accused <= audits * alarm + 6 * math.sqrt(audits * alarm)
    # An audit that never accused anybody at this level would waste its runs.
    assert accused > 0


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_the_neighbours_are_neighbours_and_far_apart(neighbours: Neighbours) -> None:
    pair = pair_of(neighbours)
    bound, _ = workload_sensitivities(pair.workload, neighbours)
    assert np.abs(pair.difference).max() <= bound.single
    assert 0.95 * bound.l2 < pair.distance <= bound.l2
    assert pair.second.groups - pair.first.groups == (neighbours is Neighbours.ADD_REMOVE)
    assert (pair.first.people == pair.second.people) == (neighbours is Neighbours.IN_PLACE)


@pytest.mark.parametrize("neighbours", [Neighbours.ADD_REMOVE, Neighbours.REPLACE])
def test_sizes_differ_as_much_as_they_can(neighbours: Neighbours) -> None:
    pair = sizes_of(neighbours)
    (bound,) = workload_sensitivities(pair.workload, neighbours)
    assert pair.distance == bound.l2


def test_a_run_spends_everything(tmp_path: Path) -> None:
    steps = {"measure": 1, "sizes": 1, "select": 1, "select-marginal": 1, "run": 6}
    for what, kind in SUBJECTS.items():
        ledger = tmp_path / f"{what}.jsonl"
        promise = Guarantee.of(
            neighbours=Neighbours.ADD_REMOVE,
            epsilon=1.0,
            delta=1e-6,
            accounting=kind.accountings[0],
        )
        subject = kind.build(promise)
        clues = subject.run(ledger, second=False)
        assert len(clues) == len(subject.clues)
        assert all(map(math.isfinite, clues))
        account = read_account(ledger).last
        assert account.spent > 0.999999 * promise.rho
        if what not in steps:
            # How many pairs are bought follows from the noisy number of groups.
            view, _ = town_plan(promise)
            steps[what] = len(METHOD.steps(view.knowing(groups=int(clues[-1]))))
        assert len(account.spends) == steps[what]
        assert account.unreleased == []


def test_an_exact_number_is_the_clue_that_is_chosen() -> None:
    """Likelihoods that say little, beside rows that say everything."""
    rng = np.random.default_rng(4)
    promise = Guarantee.of(neighbours=Neighbours.ADD_REMOVE, epsilon=1.0, delta=1e-6)
    claim = Claim(ceiling=Ceiling(selected=0.0, sigma=50.0), promise=promise, alarm=1e-3)
    truth = np.arange(200) % 2 == 0
    clues = np.column_stack([rng.normal(size=200) + 0.2 * truth, 60.0 + truth])
    judged = judge_clues(("likelihood", "rows"), clues, truth, claim)
    assert "rows" in judged.clue
    assert claim.used(judged.errors) > 1


def test_the_likelihood_of_a_choice() -> None:
    scores = np.array([1e9 + 4, 1e9, 0.0])
    found = [math.exp(_log_choice(scores, 2.0, chosen)) for chosen in range(3)]
    assert sum(found) == pytest.approx(1)
    assert found[0] / found[1] == pytest.approx(math.exp(2))


def test_refuses_nonsense() -> None:
    good = {"neighbours": Neighbours.REPLACE, "epsilon": 1.0, "delta": 1e-6}
    with pytest.raises(KinfolkError, match="Did you mean 'select'"):
        audit("selct", **good)  # type: ignore[arg-type]
    with pytest.raises(KinfolkError, match="runs is 3"):
        audit("run", **good, runs=3)  # type: ignore[arg-type]
    with pytest.raises(KinfolkError, match="confidence is 1"):
        audit("run", **good, confidence=1.0)  # type: ignore[arg-type]
    with pytest.raises(KinfolkError, match="epsilon is 0"):
        audit("run", neighbours=Neighbours.REPLACE, epsilon=0.0, delta=1e-6)
    with pytest.raises(KinfolkError, match="'run' is audited under 'zcdp'"):
        audit("run", **good, accounting=Accounting.GAUSSIAN)  # type: ignore[arg-type]
