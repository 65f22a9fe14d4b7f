"""Bugs to plant: each gives away more than was paid for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kinfolk.privacy import charges, curator, ledger
from kinfolk.privacy.account import Spend
from kinfolk.privacy.mechanisms import Gaussian, Mechanism
from kinfolk.queries.sensitivity import Sensitivity, workload_sensitivities
from kinfolk.queries.units import Unit
from kinfolk.queries.workload import Workload


def halve_sigma(patch: pytest.MonkeyPatch) -> None:
    """The noise is half of what is stated and paid for."""
    honest = curator.measure

    def measure(counts: np.ndarray, noise: Gaussian, **rest: Any) -> np.ndarray:
        return honest(counts, replace(noise, sigma=noise.sigma / 2), **rest)

    patch.setattr(curator, "measure", measure)


def trust_the_paper(patch: pytest.MonkeyPatch) -> None:
    """A household is charged as in the paper: one count for people by the size of their household.

    That is what one person's attributes move in place, and not what a whole household moves.
    """

    def sensitivities(workload: Workload, unit: Unit, **rest: Any) -> list[Sensitivity]:
        del unit
        return workload_sensitivities(workload, Unit.INDIVIDUAL, **rest)

    patch.setattr(charges, "workload_sensitivities", sensitivities)


def forget_the_first_debit(patch: pytest.MonkeyPatch) -> None:
    """The first purchase is free, so the budget buys it twice."""
    _forget(patch, most=1)


def forget_measurements(patch: pytest.MonkeyPatch) -> None:
    """No measurement is ever paid for."""
    _forget(patch, most=10**9)


def _forget(patch: pytest.MonkeyPatch, *, most: int) -> None:
    honest = ledger.Ledger.debit

    def debit(self: ledger.Ledger, key: str, mechanism: Mechanism) -> Spend:
        spend = honest(self, key, mechanism)
        if isinstance(mechanism, Gaussian) and spend.number <= most:
            self.account.spent -= spend.rho
        return spend

    patch.setattr(ledger.Ledger, "debit", debit)


def select_the_best(patch: pytest.MonkeyPatch) -> None:
    """The selection looks at the true counts and adds no noise."""

    def select(scores: np.ndarray, *rest: Any, **more: Any) -> int:
        del rest, more
        return int(np.argmax(scores))

    patch.setattr(curator, "select", select)
