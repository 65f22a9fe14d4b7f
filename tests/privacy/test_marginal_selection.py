"""Choosing a marginal costs what its score can move, by every pair of neighbours."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from kinfolk.data.encoded import Encoded
from kinfolk.privacy.curator import Curator
from kinfolk.privacy.mechanisms import Exponential
from kinfolk.privacy.unit import Neighbours
from kinfolk.queries.counting import Counter
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema
from promises import ADD_REMOVE, IN_PLACE, promise

SCHEMA = Schema.from_text("""
group: {table: homes, id: home, attributes: {veh: {values: [0, 1]}}}
individual: {table: people, group_id: home, attributes: {sex: {values: [m, f]}}}
roles: {column: relate, head: {values: [0], min: 1, max: 1}, spouse: {values: [1], min: 0, max: 1}}
relations: {married_to: [[head, spouse], [spouse, head]]}
max_size: 2
workload: {k: 2}
""")
WORKLOAD = Workload.of(SCHEMA)
LEVELS = {"group": 3, "individual": 2, "relation": 2}

Home = tuple[int, tuple[int, ...]]
HOMES: list[Home] = [
    (veh, sexes)
    for veh in (0, 1)
    for size in (1, 2)
    for sexes in itertools.product((0, 1), repeat=size)
]
"""Every home that there can be: its vehicles, and the sexes of its members, the head's first."""


def counted(home: Home | None) -> Counter:
    """A town of one home, or of none."""
    counter = Counter(WORKLOAD)
    if home is not None:
        veh, sexes = home
        counter.add(
            Encoded(
                schema=SCHEMA,
                group=np.array([[veh]], np.uint8),
                individual=np.column_stack([sexes, range(len(sexes))]).astype(np.uint8),
                offsets=np.array([0, len(sexes)], np.int64),
            )
        )
    return counter


def pairs(neighbours: Neighbours) -> list[tuple[Home, Home | None]]:
    if neighbours is ADD_REMOVE:
        return [(home, None) for home in HOMES]
    every = list(itertools.product(HOMES, HOMES))
    if neighbours is IN_PLACE:
        return [
            (one, other)
            for one, other in every
            if one[0] == other[0]
            and len(one[1]) == len(other[1])
            and sum(a != b for a, b in zip(one[1], other[1], strict=True)) == 1
        ]
    return [*every, *((home, None) for home in HOMES)]


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_a_score_moves_as_far_as_is_charged_for_and_no_further(
    tmp_path: Path, neighbours: Neighbours, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[np.ndarray] = []
    monkeypatch.setattr(
        "kinfolk.privacy.curator.select", lambda scores, *_, **__: seen.append(scores) or 0
    )
    rng = np.random.default_rng(1)
    guesses = [rng.integers(-4, 5, WORKLOAD.size).astype(float) for _ in range(3)]
    guesses += [np.full(WORKLOAD.size, far) for far in (-50.0, 50.0)]

    def scored(home: Home | None) -> np.ndarray:
        """(guesses, marginals) the scores of a town, and what is charged for them."""
        seen.clear()
        ledger = tmp_path / f"{home}.jsonl"
        guarantee = promise(neighbours, epsilon=2.0)
        with Curator(counted(home), guarantee=guarantee, ledger=ledger, seed=1) as gate:
            share = gate.guarantee.rho / len(guesses)
            for turn, guess in enumerate(guesses):
                gate.select_marginal(guess, rho=share, step=f"{turn}", multipliers=LEVELS)
            for spend in gate.own.spends:
                assert isinstance(spend.mechanism, Exponential)
                charged.add(spend.mechanism.sensitivity)
        return np.array(seen)

    charged: set[object] = set()
    towns = {home: scored(home) for home in [None, *HOMES]}
    assert towns[None].shape == (len(guesses), len(WORKLOAD.marginals))
    moved = max(np.abs(towns[one] - towns[other]).max() for one, other in pairs(neighbours))
    assert charged == {moved}
