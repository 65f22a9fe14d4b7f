"""A seed repeats everything, and is marked."""

from __future__ import annotations

import secrets

import pytest

from kinfolk.errors import KinfolkError
from kinfolk.privacy import Randomness


def test_without_a_seed_the_operating_system_draws() -> None:
    source = Randomness()
    assert source.private
    assert source.below is secrets.randbelow
    assert source.at("a step").private


def test_a_seed_marks_everything_that_comes_from_it() -> None:
    source = Randomness(seed=0)
    assert not source.private
    assert not source.at("a step").private


def test_each_step_has_its_own_stream_whatever_came_before() -> None:
    def draws(source: Randomness) -> list[int]:
        return [source.below(10**9) for _ in range(5)]

    used = Randomness(seed=3)
    draws(used)
    assert draws(used.at("round 7")) == draws(Randomness(seed=3).at("round 7"))
    assert draws(Randomness(seed=3).at("round 7")) != draws(Randomness(seed=3).at("round 8"))
    assert draws(Randomness(seed=3)) != draws(Randomness(seed=4))


@pytest.mark.parametrize("seed", [1.5, "7", True])
def test_a_seed_is_a_whole_number(seed: object) -> None:
    with pytest.raises(KinfolkError, match="seed is"):
        Randomness(seed=seed)  # type: ignore[arg-type]  # the point
