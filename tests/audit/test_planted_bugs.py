"""Every planted bug is caught, in one audit.

The audits run at a confidence of 0.999. What could fail here is that a bug is missed. By simulation
of 200 to 400 audits with Gaussian clues, or with the discrete noise itself for the grid and for a
person, with the numbers of runs below, the logarithm of what is seen over what is claimed lies 6.4
standard deviations or more above zero, and its lowest value was log 1.19: extrapolated, fewer than
one audit in a million misses. Where a bug gives everything away (an exact number of
rows, noise that is a thousandth, a choice without noise), every guess is right, and the bound is
the same in every audit; a miss takes a pilot in which a worthless clue seems as good, which has a
chance of one in 10^8.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from audit.planted import (
    charge_no_pairs,
    charge_no_weights,
    count_no_weights,
    forget_measurements,
    forget_the_first_debit,
    forget_the_grid,
    halve_sigma,
    publish_the_file,
    publish_the_groups,
    select_the_best,
    shrink_sigma,
    trust_the_paper,
)
from kinfolk.audit import AuditVerdict, audit
from kinfolk.privacy.unit import Neighbours

Bug = Callable[[pytest.MonkeyPatch], None]
ADDED, REPLACED, IN_PLACE = Neighbours


def caught(what: str, neighbours: Neighbours, *, epsilon: float, runs: int) -> bool:
    result = audit(what, neighbours=neighbours, epsilon=epsilon, delta=1e-3, runs=runs)
    print(
        f"{what}, {neighbours.value}, {epsilon:g}, {runs}: epsilon >= {result.epsilon:.3g}, "
        f"rho >= {result.rho / result.claimed_rho:.0%} ({result.clue})"
    )
    return result.verdict is AuditVerdict.VIOLATED


@pytest.mark.parametrize(
    ("bug", "what", "neighbours", "epsilon", "runs"),
    [
        # What ships.
        (charge_no_weights, "default", ADDED, 6.0, 120),
        (charge_no_pairs, "default", ADDED, 6.0, 120),
        (publish_the_groups, "default", ADDED, 1.0, 120),
        (publish_the_groups, "dropped", REPLACED, 1.0, 120),
        (publish_the_file, "dropped", ADDED, 1.0, 120),
        # The curator alone.
        (forget_the_grid, "sizes", ADDED, 14.0, 1600),
        (halve_sigma, "measure", ADDED, 10.0, 700),
        (halve_sigma, "measure", REPLACED, 10.0, 700),
        (trust_the_paper, "measure", ADDED, 4.0, 120),
        (trust_the_paper, "measure", REPLACED, 4.0, 120),
        (trust_the_paper, "select", REPLACED, 4.0, 120),
        (trust_the_paper, "run", REPLACED, 4.0, 120),
        (forget_measurements, "measure", ADDED, 10.0, 200),
        (select_the_best, "select", ADDED, 4.0, 120),
        (select_the_best, "select", REPLACED, 4.0, 120),
        (select_the_best, "select", IN_PLACE, 4.0, 120),
    ],
)
def test_caught(
    bug: Bug,
    what: str,
    neighbours: Neighbours,
    epsilon: float,
    runs: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bug(monkeypatch)
    assert caught(what, neighbours, epsilon=epsilon, runs=runs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "what", "neighbours", "epsilon", "runs"),
    [
        (charge_no_pairs, "default", REPLACED, 6.0, 120),
        (charge_no_weights, "default", REPLACED, 6.0, 120),
        (charge_no_weights, "default", IN_PLACE, 6.0, 120),
        (count_no_weights, "default", ADDED, 11.0, 700),
        (count_no_weights, "default", REPLACED, 11.0, 700),
        (halve_sigma, "default", ADDED, 11.0, 600),
        (shrink_sigma, "measure", ADDED, 11.0, 4500),
        (halve_sigma, "measure", IN_PLACE, 10.0, 1500),
        (halve_sigma, "run", REPLACED, 10.0, 3000),
        (forget_the_first_debit, "measure", ADDED, 10.0, 3000),
    ],
)
def test_caught_with_more_runs(
    bug: Bug,
    what: str,
    neighbours: Neighbours,
    epsilon: float,
    runs: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bug(monkeypatch)
    assert caught(what, neighbours, epsilon=epsilon, runs=runs)
