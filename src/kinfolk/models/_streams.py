# mypy: disallow-untyped-decorators=False
"""Random numbers inside compiled loops: one stream per component, from one 64-bit seed each.

SplitMix64 (Steele, Lea and Flood, 2014): a counter and a mixing function. Modelling only; the noise
that protects privacy never comes from here.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kinfolk._typing import Codes, Floats
from kinfolk.compiled import compiled

State = npt.NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


@compiled()
def uniform(state: State) -> float:
    """The next number of a stream, in [0, 1); state: (1,)."""
    state[0] += _STEP
    mixed = state[0]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    mixed = mixed ^ (mixed >> np.uint64(31))
    return np.float64(mixed >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled()
def shuffle(values: Codes, state: State) -> None:
    """Bring values into random order, in place."""
    for last in range(len(values) - 1, 0, -1):
        other = int(uniform(state) * (last + 1))
        kept = values[last]
        values[last] = values[other]
        values[other] = kept


@compiled()
def spread(rows: int, number: int, state: State) -> Floats:
    """(rows, number) uniform numbers; in a row, one in each interval of length 1 / number.

    Their order in a row is random, and rows have nothing to do with each other.
    """
    found = np.empty((rows, number))
    places = np.empty(number, np.int64)
    for row in range(rows):
        for position in range(number):
            places[position] = position
        shuffle(places, state)
        for position in range(number):
            found[row, position] = (places[position] + uniform(state)) / number
    return found


@compiled()
def draw(probabilities: Floats, start: float, state: State, drawn: Codes) -> None:
    """Fill an array with categories; at equally spaced points where `start` is in [0, 1).

    Point t of n is (t + start) / n, so every category comes up its share of times, give or take
    one, and the categories come in order. With a negative start the draws are independent.
    """
    number = len(drawn)
    total = 0.0
    last = 0
    for category in range(len(probabilities)):
        total += probabilities[category]
        if probabilities[category] > 0:
            last = category
    if start < 0:
        for position in range(number):
            left = uniform(state) * total
            # What rounding leaves over goes to a category that is possible.
            drawn[position] = last
            for category in range(last):
                left -= probabilities[category]
                if left < 0:
                    drawn[position] = category
                    break
        return
    position = 0
    below = 0.0
    for category in range(last):
        below += probabilities[category]
        stop = min(number, int(np.ceil(number * (below / total) - start)))
        while position < stop:
            drawn[position] = category
            position += 1
    while position < number:
        drawn[position] = last
        position += 1
