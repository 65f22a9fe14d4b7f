"""Logits to probabilities, one distribution after the other, and the gradient back."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from kinfolk.models.engine.jobs import Floats
from kinfolk.models.layout import Ints


def softmax(logits: Floats, segments: Ints) -> Floats:
    """Rows segments[i] to segments[i + 1] - 1 become a distribution in each column: (rows, K).

    >>> softmax(np.array([[0.0], [0.0], [1.0]]), np.array([0, 2, 3])).tolist()
    [[0.5], [0.5], [1.0]]
    """
    out = np.empty_like(logits)
    for first, last in pairwise(segments.tolist()):
        part = out[first:last]
        # Only differences matter; with the largest at 0 nothing overflows.
        np.subtract(logits[first:last], logits[first:last].max(axis=0), out=part)
        np.exp(part, out=part)
        part /= part.sum(axis=0)
    return out


def softmax_gradient(probabilities: Floats, gradient: Floats, segments: Ints) -> Floats:
    """The gradient by the logits, (rows, K), from that by the probabilities.

    >>> p = softmax(np.zeros((2, 1)), np.array([0, 2]))
    >>> softmax_gradient(p, np.array([[1.0], [0.0]]), np.array([0, 2])).tolist()
    [[0.25], [-0.25]]
    """
    out = probabilities * gradient
    for first, last in pairwise(segments.tolist()):
        out[first:last] -= probabilities[first:last] * out[first:last].sum(axis=0)
    return out
