"""Bugs to plant: each gives away more than was paid for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kinfolk.privacy import curator, ledger, mechanisms, view
from kinfolk.privacy.account import Spend
from kinfolk.privacy.mechanisms import Gaussian, Mechanism
from kinfolk.privacy.sensitivity import Sensitivity, workload_sensitivities
from kinfolk.privacy.unit import Neighbours
from kinfolk.queries import counting
from kinfolk.queries.workload import Workload


def halve_sigma(patch: pytest.MonkeyPatch) -> None:
    """The noise is half of what is stated and paid for."""
    _shrink(patch, 0.5)


def shrink_sigma(patch: pytest.MonkeyPatch) -> None:
    """The noise is 20% smaller than what is stated and paid for."""
    _shrink(patch, 0.8)


def _shrink(patch: pytest.MonkeyPatch, factor: float) -> None:
    honest = curator.measure

    def measure(counts: np.ndarray, noise: Gaussian, **rest: Any) -> np.ndarray:
        return honest(counts, replace(noise, sigma=noise.sigma * factor), **rest)

    patch.setattr(curator, "measure", measure)


def trust_the_paper(patch: pytest.MonkeyPatch) -> None:
    """A household is charged as in the paper: one count for people by the size of their household.

    That is what one person's attributes move in place, and not what a whole household moves.
    """

    def sensitivities(workload: Workload, neighbours: Neighbours, **rest: Any) -> list[Sensitivity]:
        del neighbours
        return workload_sensitivities(workload, Neighbours.IN_PLACE, **rest)

    patch.setattr(view, "workload_sensitivities", sensitivities)


def charge_no_pairs(patch: pytest.MonkeyPatch) -> None:
    """What is asked of households and of people over the same attributes costs next to nothing."""
    honest = view.paired_sensitivities

    def sensitivities(*given: Any, **rest: Any) -> dict[tuple[int, int], Sensitivity]:
        nothing = Sensitivity(single=1, l1=1, l2_squared=1)
        return dict.fromkeys(honest(*given, **rest), nothing)

    patch.setattr(view, "paired_sensitivities", sensitivities)


def forget_the_grid(patch: pytest.MonkeyPatch) -> None:
    """Under gaussian accounting, the noise on whole numbers counts as if it were continuous."""
    patch.setattr(mechanisms, "GRID", 0)


def charge_no_weights(patch: pytest.MonkeyPatch) -> None:
    """The sensitivities are those of plain counts, and the counts are weighted."""
    honest = view.Sensitivities.__init__

    def init(self: view.Sensitivities, *given: Any, weights: np.ndarray | None = None) -> None:
        del weights
        honest(self, *given)

    patch.setattr(view.Sensitivities, "__init__", init)


def count_no_weights(patch: pytest.MonkeyPatch) -> None:
    """A large household is counted with the weight of a small one, and charged with its own."""
    honest = counting._families

    def families(workload: Workload, weights: np.ndarray) -> Any:
        smallest = workload.schema.sizes.start
        full = np.repeat(weights[:, [smallest]], weights.shape[1], axis=1)
        return honest(workload, full)

    patch.setattr(counting, "_families", families)


def publish_the_groups(patch: pytest.MonkeyPatch) -> None:
    """How many households were kept is published as it is, though it is private."""
    _publish(patch, lambda counter: counter.groups)


def publish_the_file(patch: pytest.MonkeyPatch) -> None:
    """How many households the file has is published, dropped ones included."""
    _publish(patch, lambda counter: counter.cleaning.groups_read)


def _publish(patch: pytest.MonkeyPatch, number: Callable[[counting.Counter], int]) -> None:
    honest = curator.Curator.__init__

    def init(self: Any, counter: counting.Counter, **rest: Any) -> None:
        honest(self, counter, **rest)
        self.exact = number(counter)

    def measure_groups(self: Any, **rest: Any) -> int:
        del rest
        return int(self.exact)

    patch.setattr(curator.Curator, "__init__", init)
    patch.setattr(curator.Curator, "measure_groups", measure_groups)
    patch.setattr(curator.Curator, "groups", property(lambda self: self.exact))


def forget_the_first_debit(patch: pytest.MonkeyPatch) -> None:
    """The first purchase is free, so the budget buys it twice."""
    _forget(patch, most=1)


def forget_measurements(patch: pytest.MonkeyPatch) -> None:
    """No measurement is ever paid for."""
    _forget(patch, most=10**9)


def _forget(patch: pytest.MonkeyPatch, *, most: int) -> None:
    honest = ledger.Ledger.debit

    def debit(self: ledger.Ledger, key: str, mechanism: Mechanism, **rest: Any) -> Spend:
        spend = honest(self, key, mechanism, **rest)
        if isinstance(mechanism, Gaussian) and spend.number <= most:
            self.own.spent -= spend.rho
        return spend

    patch.setattr(ledger.Ledger, "debit", debit)


def select_the_best(patch: pytest.MonkeyPatch) -> None:
    """The selection looks at the true counts and adds no noise."""

    def select(scores: np.ndarray, *rest: Any, **more: Any) -> int:
        del rest, more
        return int(np.argmax(scores))

    patch.setattr(curator, "select", select)
