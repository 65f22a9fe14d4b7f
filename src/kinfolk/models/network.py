"""HPD-Gen's network: from Gaussian noise to the logits of a mixture, one component per row.

A hidden layer's output stands beside its input, and both go on: a residual connection between
layers of different widths. Its units are normalised over the components before they are rectified,
so that components differ from the start; the paper does not say whether its own are. A head is a
few columns of the last layer, the logits of one distribution; the mixture takes their softmax.

    h_0 = z,   h_(i+1) = [relu(normalise(h_i W_i + b_i)), h_i],   logits = h_n W_n + b_n

JAX is imported when a network is made, not before: it is the extra `kinfolk[gen]`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk._typing import Floats
from kinfolk.errors import KinfolkError

Table = npt.NDArray[np.floating[Any]]
Layers = Any
"""A list of (weights, bias) for each layer, the heads last: arrays of JAX."""

_EPSILON = 1e-5
"""Keeps a unit that is the same for all components from being divided by nothing."""


@cache
def jax_library() -> tuple[Any, Any]:
    """JAX and optax, or what to install.

    JAX is told to stay on the CPU unless somebody else has begun to use it: looking for
    accelerators takes time and warns where there are none.
    """
    begun = "jax" in sys.modules
    try:
        jax, optax = import_module("jax"), import_module("optax")
    except ImportError:
        raise KinfolkError(
            "HPD-Gen is a network, which needs JAX and optax, and they are not installed. "
            "Run: pip install 'kinfolk[gen]'"
        ) from None
    if not begun and not jax.config.jax_platforms:
        jax.config.update("jax_platforms", "cpu")
    return jax, optax


class Network:
    """The layers, and the optimiser that moves them.

    >>> network = Network(
    ...     inputs=4, hidden=[8, 16], outputs=5, learning_rate=0.001, rng=np.random.default_rng(1)
    ... )
    >>> noise = np.random.default_rng(2).standard_normal((10, 4))
    >>> network.logits(noise).shape
    (5, 10)
    >>> [weights.shape for weights, bias in network.layers]
    [(4, 8), (12, 16), (28, 5)]
    """

    def __init__(
        self,
        *,
        inputs: int,
        hidden: Sequence[int],
        outputs: int,
        learning_rate: float,
        rng: np.random.Generator,
        dtype: npt.DTypeLike = np.float32,
    ) -> None:
        jax, _ = jax_library()
        self._cpu = jax.devices("cpu")[0]
        self._dtype = np.dtype(dtype)
        self._rate = learning_rate
        self.layers: Layers = self._placed(_start(inputs, [*hidden, outputs], rng, self._dtype))
        self._compiled = _compiled()
        self._moments = self._placed(self._compiled.moments(self.layers))
        self._pull_back: Any = None

    def logits(self, noise: Floats, *, layers: Layers = None) -> Table:
        """(outputs, K) the logits of a mixture from noise, (K, inputs); by default as it is now."""
        given = self._placed(noise.astype(self._dtype))
        logits, pull_back = self._compiled.forward(self.layers if layers is None else layers, given)
        if layers is None:
            self._pull_back = pull_back
        return np.array(logits)

    def gradient(self, gradient: Table) -> Layers:
        """The gradient by the layers, from that by the last logits asked for, (outputs, K)."""
        return self._compiled.backward(self._pull_back, self._placed(gradient.astype(self._dtype)))

    def step(self, gradient: Table) -> None:
        """One step of Adam, from the gradient by the last logits asked for, (outputs, K)."""
        self.layers, self._moments = self._compiled.move(
            self.layers, self._moments, self.gradient(gradient), self._rate
        )

    def _placed(self, arrays: Any) -> Any:
        """On the CPU, whatever else there is."""
        jax, _ = jax_library()
        return jax.device_put(arrays, self._cpu)


class _Compiled(NamedTuple):
    """What JAX compiles, once for each shape of network."""

    moments: Callable[[Layers], Any]
    """Adam's, at the start."""
    forward: Callable[[Layers, Any], tuple[Any, Any]]
    """Layers and noise to logits, and to what takes a gradient back from there."""
    backward: Callable[[Any, Any], Layers]
    """That, and the gradient by the logits, to the gradient by the layers."""
    move: Callable[[Layers, Any, Layers, float], tuple[Layers, Any]]
    """One step of Adam: layers, moments, gradient and learning rate to layers and moments."""


@cache
def _compiled() -> _Compiled:
    jax, optax = jax_library()
    adam = optax.scale_by_adam()

    def forward(layers: Layers, noise: Any) -> Any:
        return jax.vjp(lambda given: _logits(given, noise), layers)

    def move(layers: Layers, moments: Any, gradient: Layers, rate: float) -> Any:
        changes, moments = adam.update(gradient, moments)
        return jax.tree.map(lambda one, by: one - rate * by, layers, changes), moments

    return _Compiled(
        moments=adam.init,
        forward=jax.jit(forward),
        backward=jax.jit(lambda pull_back, gradient: pull_back(gradient)[0]),
        move=jax.jit(move),
    )


def blend(old: Layers, new: Layers, memory: float) -> Layers:
    """A moving average of layers, one step on."""
    jax, _ = jax_library()
    return jax.tree.map(lambda one, other: memory * one + (1 - memory) * other, old, new)


def _start(
    inputs: int, widths: Sequence[int], rng: np.random.Generator, dtype: np.dtype[Any]
) -> list[tuple[Table, Table]]:
    """Weights uniform within 1 / sqrt(what comes in), and no bias."""
    layers = []
    for width in widths:
        reach = 1 / np.sqrt(inputs)
        weights = rng.uniform(-reach, reach, (inputs, width))
        layers.append((weights.astype(dtype), np.zeros(width, dtype)))
        inputs += width
    return layers


def _logits(layers: Layers, noise: Any) -> Any:
    """(outputs, K) from noise, (K, inputs)."""
    jax, _ = jax_library()
    numpy = jax.numpy
    seen = noise
    for weights, bias in layers[:-1]:
        values = seen @ weights + bias
        spread = numpy.sqrt(values.var(axis=0) + _EPSILON)
        values = (values - values.mean(axis=0)) / spread
        seen = numpy.concatenate([jax.nn.relu(values), seen], axis=1)
    weights, bias = layers[-1]
    return (seen @ weights + bias).T
