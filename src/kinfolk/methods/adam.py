"""Adam, for parameters held in one array."""

from __future__ import annotations

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

    def step(self, parameters: Floats, gradient: Floats, *, scale: float = 1.0) -> None:
        """Change the parameters in place; `scale` multiplies the learning rate, this once."""
        if self._mean is None or self._square is None:
            self._mean, self._square = np.zeros_like(parameters), np.zeros_like(parameters)
        self._steps += 1
        self._mean += (1 - self._decay) * (gradient - self._mean)
        self._square += (1 - self._square_decay) * (gradient * gradient - self._square)
        mean = scale * self._rate / (1 - self._decay**self._steps)
        spread = np.sqrt(self._square / (1 - self._square_decay**self._steps))
        spread += 1e-12
        parameters -= mean * self._mean / spread
