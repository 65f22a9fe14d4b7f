"""The one door to opendp, opened only when noise for privacy is really drawn.

opendp is large and belongs to whoever holds private data (`kinfolk[curator]`). Sampling from a
released model, checking a certificate and evaluating must work without it.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import Any

from kinfolk.errors import KinfolkError

_OLDEST = (0, 16)


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
