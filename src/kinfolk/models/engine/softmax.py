"""Logits to probabilities, one distribution after the other, and the gradient back."""

from __future__ import annotations

import numpy as np

from kinfolk.models.engine.kernel import Floats
from kinfolk.models.layout import Ints


def softmax(logits: Floats, segments: Ints) -> Floats:
    """Rows segments[i] to segments[i + 1] - 1 become a distribution in each column: (rows, K).

    >>> softmax(np.array([[0.0], [0.0], [1.0]]), np.array([0, 2, 3])).tolist()
    [[0.5], [0.5], [1.0]]
    """
    starts, lengths = segments[:-1], np.diff(segments)
    # Only differences matter; with the largest at 0 nothing overflows.
    largest = np.maximum.reduceat(logits, starts, axis=0)
    out: Floats = np.exp(logits - np.repeat(largest, lengths, axis=0))
    out /= np.repeat(np.add.reduceat(out, starts, axis=0), lengths, axis=0)
    return out


def softmax_gradient(probabilities: Floats, gradient: Floats, segments: Ints) -> Floats:
    """The gradient by the logits, (rows, K), from that by the probabilities.

    >>> p = softmax(np.zeros((2, 1)), np.array([0, 2]))
    >>> softmax_gradient(p, np.array([[1.0], [0.0]]), np.array([0, 2])).tolist()
    [[0.25], [-0.25]]
    """
    starts, lengths = segments[:-1], np.diff(segments)
    out = probabilities * gradient
    out -= probabilities * np.repeat(np.add.reduceat(out, starts, axis=0), lengths, axis=0)
    return out
