"""Adam, for parameters held in one array."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]


class Adam:
    """Steps against a gradient, scaled by its running mean and spread.

    >>> parameters = np.array([1.0, -1.0])
    >>> Adam(learning_rate=0.1).step(parameters, np.array([2.0, 0.0]))
    >>> parameters.round(3).tolist()
    [0.9, -1.0]
    """

    def __init__(
        self, *, learning_rate: float, decay: float = 0.9, square_decay: float = 0.999
    ) -> None:
        self._rate = learning_rate
        self._decay, self._square_decay = decay, square_decay
        self._steps = 0
        self._mean: Floats | None = None
        self._square: Floats | None = None
        self._room: Floats | None = None

    def step(self, parameters: Floats, gradient: Floats, *, scale: float = 1.0) -> None:
        """Change the parameters in place; `scale` multiplies the learning rate, this once."""
        if self._mean is None or self._square is None or self._room is None:
            self._mean, self._square = np.zeros_like(parameters), np.zeros_like(parameters)
            self._room = np.empty_like(parameters)
        self._steps += 1
        # All in place: new arrays would take longer than the arithmetic.
        room = self._room
        np.multiply(gradient, 1 - self._decay, out=room)
        self._mean *= self._decay
        self._mean += room
        np.square(gradient, out=room)
        room *= 1 - self._square_decay
        self._square *= self._square_decay
        self._square += room
        np.sqrt(self._square, out=room)
        room *= 1 / math.sqrt(1 - self._square_decay**self._steps)
        room += 1e-12
        np.divide(self._mean, room, out=room)
        room *= scale * self._rate / (1 - self._decay**self._steps)
        parameters -= room
