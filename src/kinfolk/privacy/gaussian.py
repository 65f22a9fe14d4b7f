"""Measure: integer counts in, integer counts with discrete Gaussian noise out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinfolk.errors import KinfolkError
from kinfolk.privacy.mechanisms import Gaussian
from kinfolk.privacy.opendp_bridge import gaussian_measurement
from kinfolk.privacy.randomness import Randomness
from kinfolk.privacy.sampler import discrete_gaussian

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


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
