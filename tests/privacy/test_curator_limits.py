"""What a curator refuses or caps, because its price would otherwise be wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kinfolk.errors import KinfolkError
from kinfolk.privacy import curator
from kinfolk.privacy.curator import Curator
from kinfolk.queries.counting import Counter
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema
from promises import promise

SCHEMA = Schema.from_text("""
group: {table: homes, id: home, attributes: {cars: {values: [0, 1, 2]}}}
individual: {table: people, group_id: home, attributes: {sex: {values: [m, f]}}}
max_size: 4
workload: {k: 1}
""")
WORKLOAD = Workload.of(SCHEMA)


def counted(counts: np.ndarray) -> Counter:
    counter = Counter(WORKLOAD)
    counter.counts[:] = counts
    return counter


@pytest.fixture
def gate(tmp_path: Path) -> Curator:
    counter = counted(np.arange(WORKLOAD.size))
    return Curator(
        counter, guarantee=promise(epsilon=2.0), ledger=tmp_path / "ledger.jsonl", seed=1
    )


def test_a_marginal_is_never_counted_from_the_end(gate: Curator) -> None:
    """Marginal -3 would be the cells of one marginal, sold at the price of another."""
    with gate:
        for marginal in (-3, -1, len(WORKLOAD.marginals)):
            with pytest.raises(
                KinfolkError, match=f"marginal {marginal}: there are marginals 0 to"
            ):
                gate.measure([marginal], rho=gate.remaining / 9, step="m")
        assert gate.spent == 0


def scores_of(gate: Curator, monkeypatch: pytest.MonkeyPatch, estimate: float) -> list[np.ndarray]:
    """The scores that reach the mechanism."""
    seen: list[np.ndarray] = []

    def select(scores: np.ndarray, *rest: object, **more: object) -> int:
        del rest, more
        seen.append(scores)
        return 0

    monkeypatch.setattr(curator, "select", select)
    estimates = np.full(WORKLOAD.size, estimate)
    levels = {"group": 2**40, "individual": 2**39}
    with gate:
        share = gate.remaining / 9
        gate.select_query(estimates, rho=share, step=f"q {estimate}", multipliers=levels)
    return seen


@pytest.mark.parametrize("estimate", [2.0**52, -(2.0**52), 1e300, 3.0])
def test_scores_never_wrap_around(
    gate: Curator, monkeypatch: pytest.MonkeyPatch, estimate: float
) -> None:
    """A score beyond int64 would turn negative, and change by 2**64 between neighbours."""
    (by_query,) = scores_of(gate, monkeypatch, estimate)
    assert by_query.min() >= 0


def test_multipliers_and_weights_have_limits(gate: Curator, tmp_path: Path) -> None:
    with gate, pytest.raises(KinfolkError, match="from 1 to"):
        gate.select_query(
            np.zeros(WORKLOAD.size), rho=gate.remaining, step="s", multipliers={"group": 2**41}
        )
    counter = Counter(WORKLOAD, weights=np.full((len(WORKLOAD.marginals), 5), -3))
    with pytest.raises(KinfolkError, match="a weight is below 0"):
        Curator(counter, guarantee=promise(), ledger=tmp_path / "other.jsonl", seed=1)


def test_a_released_value_keeps_the_noise_it_was_bought_with(gate: Curator) -> None:
    with gate:
        first = gate.measure([0], rho=gate.remaining / 9, step="m")
        again = gate.measure([0], rho=gate.remaining, step="m")
        assert again.sigma == first.sigma
        with pytest.raises(KinfolkError, match="has bought something else"):
            gate.measure([1, 2], rho=gate.remaining, step="m")


def test_a_released_value_is_of_what_is_asked_for(gate: Curator) -> None:
    """Two queries cost the same and have one number each: the name of a step is not enough."""
    with gate:
        gate.measure_query(0, rho=gate.remaining / 9, step="q")
        gate.measure_query(0, rho=gate.remaining / 9, step="q")
        with pytest.raises(KinfolkError, match="has bought something else"):
            gate.measure_query(1, rho=gate.remaining / 9, step="q")
