"""Noise: where it comes from; counts with noise, and one of many candidates chosen with noise.

Privacy noise comes from the operating system, through opendp. A seed exists so that a test can be
repeated; whoever knows it can take the noise off again, so everything a seed has touched is not
private, and says so. Modelling (starting values, batches, sampling) uses another generator
altogether: it only ever sees released values, and may be seeded freely.

opendp is large and belongs to whoever holds private data (`kinfolk[curator]`). Sampling from a
released model, checking a certificate and evaluating must work without it, so it is opened only
when noise for privacy is really drawn, and only here.

Seeded tests get the very same distribution, the discrete Gaussian drawn with integers alone: the
algorithm of Canonne, Kamath and Steinke (2020, algorithms 1 to 3), restated for integers. A float
sigma is the exact ratio that it is, every coin has a rational or an exp(-rational) bias, and
nothing is ever rounded.

To select is integer scores in, the index of one candidate out. Two exact routes lead to the same
exponential mechanism. Up to a few thousand candidates go through opendp's noisy maximum. More go
through integer weights: a pass over the scores sorts them into at most some 1,300 classes of nearly
equal weight, one draw picks a class, another a member, and a last one corrects for the difference
inside the class. A million candidates take some milliseconds.

Why the weights keep the guarantee. Write gap_i = max(score) - score_i and weigh candidate i by

    W(gap) = whole part of 2^128 exp(-min(b gap, 40))

1. *Shift.* Let every score change by at most D between neighbours, and the maximum by s, so that
   |s| <= D. Then gap_i changes by something in [s - D, s + D]: an interval of length 2 D, the same
   for all candidates, which contains 0.
2. *Cap.* min(gap, 40/b) neither falls nor moves faster than gap. So its change lies between 0 and
   the change of gap_i, and therefore in the same interval. The cap costs nothing.
3. *Whole part.* The exponent is at most 40, so W > 2^70, and being off by less than 2 moves log(W)
   by less than 2^-69. Hence log(W_i) changes by something in an interval of length less than
   2 D b + 2^-64, the same for all i, and the sum of weights shifts all log(P_i) alike.
4. So the choice is eta-bounded-range with eta = 2 D b + 2^-64. Taking b = 1/scale - 2^-64 / (2 D)
   instead of 1/scale makes eta exactly 2 D / scale: what `Exponential` charges, with nothing left
   over. Even at the widest scale allowed this moves no probability by three parts in a million.

Decimal's division and exp are correctly rounded, so W is the same on every machine and never grows
with the gap. The number of attempts, hence the time, varies a little with the scores: timing is
outside the guarantee, here as everywhere in kinfolk.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import cache, lru_cache
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk.errors import KinfolkError
from kinfolk.privacy.mechanisms import Exponential, Gaussian

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_OLDEST = (0, 16)
"""The version of opendp that is needed at least."""


@dataclass(frozen=True, kw_only=True)
class Randomness:
    """A source of uniform integers that knows whether it is fit for privacy.

    Guarantee: without a seed every draw comes from the operating system's generator. With a seed
    there is no guarantee at all, and `private` is False.

    >>> Randomness().private
    True
    >>> test_only = Randomness(seed=7)
    >>> test_only.private
    False
    >>> [test_only.below(100) for _ in range(3)] == [
    ...     again.below(100) for again in [Randomness(seed=7)] for _ in range(3)
    ... ]
    True
    """

    seed: int | None = None
    """For tests only: the same seed gives the same noise, and no privacy."""
    step: str = ""
    """The step this source belongs to: see `at`."""
    below: Callable[[int], int] = field(init=False, repr=False, compare=False)
    """`below(n)` is uniform on 0, ..., n - 1, for an integer n of any size."""

    def __post_init__(self) -> None:
        draw: Callable[[int], int]
        if self.seed is None:
            draw = secrets.randbelow
        elif isinstance(self.seed, int) and not isinstance(self.seed, bool):
            # The prefix keeps this stream apart from a modelling generator with the same seed.
            text = f"kinfolk privacy noise/{self.seed}/{self.step}"
            draw = random.Random(text).randrange  # noqa: S311 - seeded, and marked not private
        else:
            raise KinfolkError(f"seed is {self.seed!r}. Give a whole number, or no seed at all.")
        object.__setattr__(self, "below", draw)

    @property
    def private(self) -> bool:
        """Whether what is drawn here protects anybody."""
        return self.seed is None

    def at(self, step: str) -> Randomness:
        """The source for one step of a run.

        A seeded run gives each step its own stream, so that a run that was interrupted and resumed
        ends where an uninterrupted one does.

        >>> Randomness(seed=7).at("measure 3").below(10**6) == Randomness(seed=7).below(10**6)
        False
        """
        return self if self.seed is None else Randomness(seed=self.seed, step=step)


def measure(
    counts: NDArray[np.int64], noise: Gaussian, *, randomness: Randomness
) -> NDArray[np.int64]:
    """The counts plus independent discrete Gaussian noise. counts: (cells,), int64.

    Guarantee: costs `noise.rho()` for the unit that `noise.squared_sensitivity` was worked out for.
    The noise is exact: no floating point lies between the counts and the result. A sum beyond int64
    is clamped to its end, which is post-processing; nothing wraps around, and no count can raise an
    error. With a seed the distribution is the same and the guarantee is void (`randomness.private`
    is False).

    >>> counts = np.array([120, 45, 0])
    >>> noise = Gaussian.for_rho(0.01, squared_sensitivity=2)
    >>> measure(counts, noise, randomness=Randomness()).shape
    (3,)
    """
    check_integers(counts, "counts")
    if randomness.private:
        released = gaussian_measurement(noise.sigma)(counts.tolist())
    else:
        drawn = discrete_gaussian(noise.sigma, counts.size, below=randomness.below)
        released = [
            min(max(count + extra, _LOWEST), _HIGHEST)
            for count, extra in zip(counts.tolist(), drawn, strict=True)
        ]
    return np.array(released, dtype=np.int64)


def check_integers(values: NDArray[np.int64], name: str) -> None:
    """Refuse anything but a vector of int64, without looking at a single value.

    >>> check_integers(np.array([1, 2, 3]), "counts")
    """
    if not isinstance(values, np.ndarray) or values.dtype != np.int64 or values.ndim != 1:
        shape, dtype = np.shape(values), getattr(values, "dtype", type(values).__name__)
        raise KinfolkError(
            f"{name} must be a vector of int64, and is {dtype} of shape {shape}. "
            "Convert it exactly first: floats and unsigned integers may not survive the change."
        )


@cache
def opendp() -> Any:
    """The opendp library with what kinfolk needs switched on.

    >>> opendp().zero_concentrated_divergence()
    ZeroConcentratedDivergence
    """
    try:
        import opendp.prelude as library
    except ImportError:
        raise KinfolkError(
            "Noise for privacy is drawn with opendp, which is not installed. "
            "Run: pip install 'kinfolk[curator]'"
        ) from None
    found = version("opendp")
    if tuple(int(part) for part in found.split(".")[:2]) < _OLDEST:
        raise KinfolkError(
            f"opendp {found} is installed; its noisy maximum has a bug that was fixed in 0.16. "
            "Run: pip install 'kinfolk[curator]'"
        )
    # "honest-but-curious" admits measurements whose sensitivity the caller vouches for: kinfolk
    # proves its own sensitivities. Features are global to the process, and cannot be scoped.
    library.enable_features("contrib", "honest-but-curious")
    return library


def gaussian_measurement(sigma: float) -> Any:
    """Discrete Gaussian noise on a vector of int64, whatever its length.

    >>> len(gaussian_measurement(3.0)([10, 20, 30]))
    3
    """
    dp = opendp()
    counts = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    return dp.m.make_gaussian(*counts, scale=sigma)


def noisy_max_measurement(scale: float) -> Any:
    """The exponential mechanism on a vector of int64 scores.

    >>> noisy_max_measurement(1.0)([0, 1000, 0])
    1
    """
    dp = opendp()
    scores = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
    return dp.m.make_noisy_max(*scores, dp.zero_concentrated_divergence(), scale=scale)


def discrete_gaussian(sigma: float, size: int, *, below: Callable[[int], int]) -> list[int]:
    """`size` independent draws x, each with probability proportional to exp(-x^2 / (2 sigma^2)).

    `below(n)` must be uniform on 0, ..., n - 1.

    >>> import random
    >>> len(discrete_gaussian(3.0, 5, below=random.Random(1).randrange))
    5
    """
    variance = Fraction(sigma) ** 2
    top, bottom = variance.numerator, variance.denominator
    width = int(sigma) + 1
    # A draw y from the discrete Laplace of scale `width` is kept with probability
    # exp(-(|y| - variance/width)^2 / (2 variance)), here as one ratio of integers.
    step, denominator = width * bottom, 2 * width * width * bottom * top
    draws: list[int] = []
    while len(draws) < size:
        y = _discrete_laplace(width, below)
        if _coin_exp((abs(y) * step - top) ** 2, denominator, below):
            draws.append(y)
    return draws


def _discrete_laplace(width: int, below: Callable[[int], int]) -> int:
    """One draw y with probability proportional to exp(-|y| / width)."""
    while True:
        fine = below(width)
        if not _coin_exp_below_one(fine, width, below):
            continue
        coarse = 0
        while _coin_exp_below_one(1, 1, below):
            coarse += 1
        size = fine + width * coarse
        negative = below(2) == 1
        # Both signs lead to zero, so one of them is thrown away.
        if size or not negative:
            return -size if negative else size


def _coin_exp(top: int, bottom: int, below: Callable[[int], int]) -> bool:
    """True with probability exp(-top / bottom)."""
    whole, rest = divmod(top, bottom)
    return all(_coin_exp_below_one(1, 1, below) for _ in range(whole)) and _coin_exp_below_one(
        rest, bottom, below
    )


def _coin_exp_below_one(top: int, bottom: int, below: Callable[[int], int]) -> bool:
    """True with probability exp(-top / bottom), for top <= bottom."""
    # Count successes of coins with bias (top/bottom) / 1, / 2, ...; the first failure is odd with
    # exactly that probability (von Neumann).
    trial = 1
    while below(bottom * trial) < top:
        trial += 1
    return trial % 2 == 1


NOISY_MAX_LIMIT = 4096
"""Up to so many candidates go through opendp's noisy maximum."""

_EXACT = Context(prec=60, rounding=ROUND_HALF_EVEN)
_UNIT = Decimal(2**128)
_DEEPEST = 40
_SLACK = Fraction(1, 2**64)
_CLASSES_PER_SCALE = 16
_LARGEST_GAP = 2**64 - 1
_PIECE = 2**16


def select(scores: NDArray[np.int64], choice: Exponential, *, randomness: Randomness) -> int:
    """The index of one candidate, chosen with P ~ exp(score / scale). scores: (candidates,), int64.

    Guarantee: costs `choice.rho()` for the unit that `choice.sensitivity` was worked out for. Both
    routes are exact; which one is taken depends on the number of candidates alone. With a seed the
    choice follows the same distribution and the guarantee is void (`randomness.private` is False).

    >>> scores = np.array([3, 1_000, 10])
    >>> select(scores, Exponential(sensitivity=1, scale=5.0), randomness=Randomness())
    1
    """
    check_integers(scores, "scores")
    if scores.size == 0:
        raise KinfolkError("There is no candidate to select from. Give at least one score.")
    if randomness.private and scores.size <= NOISY_MAX_LIMIT:
        return int(noisy_max_measurement(choice.scale)(scores.tolist()))
    return select_by_weight(scores, choice, randomness=randomness)


def select_by_weight(
    scores: NDArray[np.int64], choice: Exponential, *, randomness: Randomness
) -> int:
    """`select` by integer weights, for any number of candidates. scores: (candidates,), int64.

    Guarantee: as for `select`; the proof is at the top of this file.

    >>> scores = np.zeros(1_000_000, dtype=np.int64)
    >>> scores[123_456] = 10_000
    >>> select_by_weight(scores, Exponential(sensitivity=1, scale=5.0), randomness=Randomness())
    123456
    """
    weigh = weights_for(choice)
    best = scores.max()
    classes, sizes = _classify(scores, best, weigh)
    totals = [size * top for size, top in zip(sizes, weigh.tops, strict=True)]
    grand_total = sum(totals)
    while True:
        point = randomness.below(grand_total)
        picked = 0
        while point >= totals[picked]:
            point -= totals[picked]
            picked += 1
        place, height = divmod(point, weigh.tops[picked])
        member = int(np.flatnonzero(classes == picked)[place])
        # The height is uniform below the weight of the class's best place, whoever the member is.
        if height < weigh(int(best) - int(scores[member])):
            return member


def _classify(
    scores: NDArray[np.int64], best: np.int64, weigh: Weights
) -> tuple[NDArray[np.uint16], list[int]]:
    """The class of every candidate, (candidates,), and the size of every class."""
    classes = np.empty(scores.size, dtype=np.uint16)
    sizes = np.zeros(len(weigh.tops), dtype=np.int64)
    # In pieces that stay in the processor's cache: fresh memory costs more than the arithmetic.
    for start in range(0, scores.size, _PIECE):
        piece = slice(start, start + _PIECE)
        # Subtracting as unsigned integers is right even where best - score leaves int64.
        gaps = best.view(np.uint64) - scores[piece].view(np.uint64)
        np.minimum(gaps, np.uint64(weigh.deepest), out=gaps)
        classes[piece] = gaps // np.uint64(weigh.width)
        sizes += np.bincount(classes[piece], minlength=sizes.size)
    return classes, sizes.tolist()


class Weights:
    """W(gap) for one exponential mechanism: see the top of this file.

    >>> weigh = weights_for(Exponential(sensitivity=1, scale=10.0))
    >>> weigh(0) == 2**128, weigh(10) * 2.71828 / 2**128  # doctest: +ELLIPSIS
    (True, 0.99999...)
    """

    def __init__(self, choice: Exponential) -> None:
        per_count = 1 / Fraction(choice.scale) - _SLACK / (2 * Fraction(choice.sensitivity))
        if per_count <= Fraction(1, 2**40) / Fraction(choice.sensitivity):
            raise KinfolkError(
                f"The selection's scale {choice.scale!r} is more than 2**40 times its sensitivity "
                f"{choice.sensitivity}: the choice would be blind. Raise its share of the budget."
            )
        self._top, self._bottom = Decimal(per_count.numerator), Decimal(per_count.denominator)
        depth = _DEEPEST / per_count
        self.deepest = min(-(-depth.numerator // depth.denominator), _LARGEST_GAP)
        """Gaps from here on all weigh the same."""
        self.width = max(1, int(choice.scale) // _CLASSES_PER_SCALE)
        """The counts that share a class."""
        self.tops = [self(place) for place in range(0, self.deepest + 1, self.width)]
        """The weight of the best place in each class."""

    def __call__(self, gap: int) -> int:
        """The weight of a candidate that lies `gap` counts below the best."""
        exponent = _EXACT.divide(_EXACT.multiply(Decimal(gap), self._top), self._bottom)
        # copy_negate, because a minus sign would round to whatever context the caller has set.
        shrunk = _EXACT.exp(min(exponent, Decimal(_DEEPEST)).copy_negate())
        return int(_EXACT.multiply(_UNIT, shrunk))


@lru_cache(maxsize=64)
def weights_for(choice: Exponential) -> Weights:
    """The weights of a mechanism.

    >>> weights_for(Exponential(sensitivity=1, scale=10.0)).deepest
    401
    """
    return Weights(choice)
