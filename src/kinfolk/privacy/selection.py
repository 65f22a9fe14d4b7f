"""Select: integer scores in, the index of one candidate out.

Two exact routes to the same exponential mechanism. Up to a few thousand candidates go through
opendp's noisy maximum. More go through integer weights: a pass over the scores sorts them into at
most some 1,300 classes of nearly equal weight, one draw picks a class, another a member, and a last
one corrects for the difference inside the class. A million candidates take some milliseconds.

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

from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kinfolk.errors import KinfolkError
from kinfolk.privacy.mechanisms import Exponential
from kinfolk.privacy.noise import Randomness, check_integers, noisy_max_measurement

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
