"""Every planted bug is caught.

The audits run at a confidence of 0.999. What could fail here is that a bug is missed: by simulation
of the Gaussian case, with the numbers of runs below, its bound on the budget lies five standard
deviations or more above the claim.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from audit.planted import (
    forget_measurements,
    forget_the_first_debit,
    halve_sigma,
    select_the_best,
    trust_the_paper,
)
from kinfolk.audit import Verdict, audit
from kinfolk.queries.units import Unit

Bug = Callable[[pytest.MonkeyPatch], None]
HOUSEHOLD, PERSON = Unit.GROUP, Unit.INDIVIDUAL


def caught(what: str, unit: Unit, *, epsilon: float, runs: int) -> bool:
    result = audit(what, unit=unit, epsilon=epsilon, delta=1e-3, runs=runs)
    return result.verdict is Verdict.VIOLATED


@pytest.mark.parametrize(
    ("bug", "what", "unit", "epsilon", "runs"),
    [
        (halve_sigma, "measure", HOUSEHOLD, 10.0, 700),
        (trust_the_paper, "measure", HOUSEHOLD, 4.0, 100),
        (trust_the_paper, "select", HOUSEHOLD, 4.0, 100),
        (trust_the_paper, "run", HOUSEHOLD, 4.0, 100),
        (forget_measurements, "measure", HOUSEHOLD, 10.0, 150),
        (select_the_best, "select", HOUSEHOLD, 4.0, 80),
        (select_the_best, "select", PERSON, 4.0, 80),
    ],
)
def test_caught(
    bug: Bug, what: str, unit: Unit, epsilon: float, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bug(monkeypatch)
    assert caught(what, unit, epsilon=epsilon, runs=runs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "what", "unit", "runs"),
    [
        (halve_sigma, "measure", PERSON, 1200),
        (halve_sigma, "run", HOUSEHOLD, 1500),
        (forget_the_first_debit, "measure", HOUSEHOLD, 3000),
    ],
)
def test_caught_with_more_runs(
    bug: Bug, what: str, unit: Unit, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bug(monkeypatch)
    assert caught(what, unit, epsilon=10.0, runs=runs)
