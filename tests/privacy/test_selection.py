"""The exponential mechanism: its distribution (false-alarm rate 1e-6) and its guarantee."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from secrets import randbelow

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk.errors import KinfolkError
from kinfolk.privacy import Exponential, Randomness, noise, select
from kinfolk.privacy.noise import select_by_weight, weights_for

Judge = Callable[[Sequence[int], np.ndarray, float], bool]
LIMITS = np.iinfo(np.int64)

SMALL = np.array([0, 3, 7, 7, 12, -40])
# Gaps much finer than a class of the integer weights: here the last draw, which corrects for the
# difference inside a class, is put to work.
FINE = np.arange(60) * 50_000


def _noisy_max(scores: np.ndarray, choice: Exponential) -> int:
    return select(scores, choice, randomness=Randomness())


def _by_weight(scores: np.ndarray, choice: Exponential) -> int:
    return select_by_weight(scores, choice, randomness=Randomness())


_SEEDED = Randomness(seed=21)


def _seeded(scores: np.ndarray, choice: Exponential) -> int:
    return select(scores, choice, randomness=_SEEDED)


ROUTES = [_noisy_max, _by_weight, _seeded]


def _chosen(
    route: Callable[[np.ndarray, Exponential], int], scores: np.ndarray, scale: float
) -> list[int]:
    # So many that a wrong temperature is missed less than once in a billion runs.
    choice = Exponential(sensitivity=1, scale=scale)
    return [route(scores, choice) for _ in range(4000)]


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(("scores", "scale"), [(SMALL, 6.0), (FINE, 1e6)], ids=["small", "fine"])
def test_choices_have_the_stated_temperature_and_no_other(
    route: Callable[[np.ndarray, Exponential], int],
    scores: np.ndarray,
    scale: float,
    rejects_choice: Judge,
) -> None:
    chosen = _chosen(route, scores, scale)
    assert not rejects_choice(chosen, scores, scale)
    for wrong in (0.67, 1.5):
        assert rejects_choice(chosen, scores, scale * wrong)
        assert rejects_choice(_chosen(_seeded, scores, scale * wrong), scores, scale)


def test_planted_bug_the_wrong_temperature(
    monkeypatch: pytest.MonkeyPatch, rejects_choice: Judge
) -> None:
    right = noise.noisy_max_measurement
    monkeypatch.setattr(noise, "noisy_max_measurement", lambda scale: right(scale / 2))
    assert rejects_choice(_chosen(_noisy_max, SMALL, 6.0), SMALL, 6.0)


def test_planted_bug_no_correction_inside_a_class(
    monkeypatch: pytest.MonkeyPatch, rejects_choice: Judge
) -> None:
    # Classes 16 times as wide, and every member weighed like the best place of its class.
    monkeypatch.setattr(noise, "_CLASSES_PER_SCALE", 1)
    choice = Exponential(sensitivity=1, scale=1e6)
    weigh = noise.Weights(choice)
    monkeypatch.setattr(noise.Weights, "__call__", lambda self, gap: self.tops[gap // self.width])
    monkeypatch.setattr(noise, "weights_for", lambda choice: weigh)
    assert rejects_choice(_chosen(_by_weight, FINE, 1e6), FINE, 1e6)


def _bounded_range(
    weigh: Callable[[int], int], scores: list[int], other: list[int]
) -> tuple[Decimal, Decimal]:
    """The least and the largest change of log(weight) between two vectors of scores."""
    changes = []
    with localcontext(prec=60):
        for one, two in zip(scores, other, strict=True):
            before, after = weigh(max(scores) - one), weigh(max(other) - two)
            changes.append(Decimal(after).ln() - Decimal(before).ln())
    return min(changes), max(changes)


def _keeps_guarantee(
    weigh: Callable[[int], int], choice: Exponential, scores: list[int], other: list[int]
) -> bool:
    """Whether the choice is (2 sensitivity / scale)-bounded-range on a pair of neighbours."""
    eta = 2 * Fraction(choice.sensitivity) / Fraction(choice.scale)
    least, largest = _bounded_range(weigh, scores, other)
    with localcontext(prec=50):
        return largest - least <= Decimal(eta.numerator) / Decimal(eta.denominator)


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[Exponential, list[int], list[int]]:
    sensitivity = draw(st.sampled_from([1, 2, 7, 2520]))
    scale = draw(st.floats(0.05, 500)) * sensitivity
    # Around the cap, where 40 scales are reached, and far beyond it.
    cap = int(40 * scale)
    places = st.integers(0, 60) | st.integers(cap - 60, cap + 60) | st.integers(0, 10**7)
    gaps = [0, *draw(st.lists(places, min_size=1, max_size=8))]
    moves = st.sampled_from([-sensitivity, 0, sensitivity]) | st.integers(-sensitivity, sensitivity)
    scores = [-gap for gap in gaps]
    return (
        Exponential(sensitivity=sensitivity, scale=scale),
        scores,
        [score + draw(moves) for score in scores],
    )


@settings(max_examples=100, deadline=None)
@given(neighbours())
def test_weights_keep_the_guarantee_to_the_last_digit(
    case: tuple[Exponential, list[int], list[int]],
) -> None:
    choice, scores, other = case
    assert _keeps_guarantee(weights_for(choice), choice, scores, other)


def test_the_guarantee_is_used_up() -> None:
    # The worst pair: one score rises, another falls, and the bound is met but for the slack.
    choice = Exponential(sensitivity=1, scale=10.0)
    least, largest = _bounded_range(weights_for(choice), [0, -50, -50], [0, -49, -51])
    assert float(largest - least) == pytest.approx(0.2, rel=1e-12)
    assert largest - least <= Decimal("0.2")


def test_planted_bugs_in_the_weights_break_the_guarantee() -> None:
    choice = Exponential(sensitivity=1, scale=10.0)
    right = weights_for(choice)
    scores, other = [0, -69, -71, -150], [0, -70, -70, -151]
    assert _keeps_guarantee(right, choice, scores, other)

    # Gaps rounded to a coarser grid move by a whole grid step.
    assert not _keeps_guarantee(lambda gap: right(gap // 7 * 7), choice, scores, other)
    # Candidates beyond the cap thrown out: an outcome that only one of the neighbours can have.
    assert not _keeps_guarantee(lambda gap: right(gap) if gap <= 150 else 1, choice, scores, other)
    # Few bits: the whole part is far from the number itself.
    assert not _keeps_guarantee(lambda gap: right(gap) >> 116, choice, scores[:3], other[:3])
    # A score of sensitivity 2 sold as one of sensitivity 1.
    assert not _keeps_guarantee(right, choice, [0, -69, -71], [0, -71, -69])


@given(
    st.floats(0.001, 1e12),
    st.lists(st.integers(0, 2**64 - 1), min_size=2, max_size=10),
)
def test_weights_never_grow_with_the_gap_and_never_vanish(scale: float, gaps: list[int]) -> None:
    weigh = weights_for(Exponential(sensitivity=1, scale=scale))
    weights = [weigh(gap) for gap in sorted(gaps)]
    assert weights == sorted(weights, reverse=True)
    assert all(2**70 < weight <= 2**128 for weight in weights)
    assert len(weigh.tops) < 1400


def test_the_callers_decimal_context_changes_no_weight() -> None:
    choice = Exponential(sensitivity=1, scale=10.3)
    weigh = weights_for(choice)
    expected = [weigh(gap) for gap in range(0, 500, 7)]
    with localcontext(prec=2):
        again = noise.Weights(choice)
        assert [again(gap) for gap in range(0, 500, 7)] == expected
        assert again.tops == weigh.tops


@pytest.mark.parametrize("route", ROUTES)
def test_extreme_scores_do_not_wrap_around(
    route: Callable[[np.ndarray, Exponential], int],
) -> None:
    choice = Exponential(sensitivity=1, scale=1.0)
    assert route(np.array([LIMITS.min, 0, LIMITS.max]), choice) == 2
    assert route(np.array([LIMITS.min]), choice) == 0
    # Beyond 2**53, where floats would no longer tell the two apart.
    assert route(np.array([2**60, 2**60 + 60, 2**60]), choice) == 1


def test_the_route_depends_on_the_number_of_candidates_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken: list[int] = []
    monkeypatch.setattr(
        noise, "select_by_weight", lambda scores, *_, **__: taken.append(scores.size) or 0
    )
    choice = Exponential(sensitivity=1, scale=5.0)
    for size in (noise.NOISY_MAX_LIMIT, noise.NOISY_MAX_LIMIT + 1):
        select(np.zeros(size, dtype=np.int64), choice, randomness=Randomness())
    select(np.zeros(2, dtype=np.int64), choice, randomness=Randomness(seed=1))
    assert taken == [noise.NOISY_MAX_LIMIT + 1, 2]


def test_nonsense_is_refused() -> None:
    choice = Exponential(sensitivity=1, scale=5.0)
    with pytest.raises(KinfolkError, match="no candidate"):
        select(np.zeros(0, dtype=np.int64), choice, randomness=Randomness())
    with pytest.raises(KinfolkError, match="scores must be a vector of int64"):
        select(np.zeros(3), choice, randomness=Randomness())  # type: ignore[arg-type]  # the point
    blind = Exponential(sensitivity=1, scale=2.0**41)
    with pytest.raises(KinfolkError, match="the choice would be blind"):
        select_by_weight(SMALL, blind, randomness=Randomness())


@pytest.mark.parametrize("scale", [3.0, 31.9, 100.0, 250_000.0, 2.0**39])
def test_the_work_grows_neither_with_the_scale_nor_with_the_candidates(scale: float) -> None:
    """At most some 1,300 classes, and hardly more than one draw; `make bench` has the seconds.

    A draw is in vain with probability 1 - exp(-1/16) at most, so that 20 of 25 are in vain once in
    10^19 runs.
    """
    choice = Exponential(sensitivity=1, scale=scale)
    assert len(weights_for(choice).tops) <= 1_300
    scores = np.random.default_rng(1).integers(0, int(60 * scale), 100_000)
    source, draws = Randomness(), []
    object.__setattr__(source, "below", lambda limit: draws.append(limit) or randbelow(limit))
    for _ in range(5):
        select(scores, choice, randomness=source)
    assert len(draws) < 25
