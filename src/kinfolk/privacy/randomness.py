"""Where the privacy noise comes from.

Privacy noise comes from the operating system. A seed exists so that a test can be repeated; whoever
knows it can take the noise off again, so everything a seed has touched is not private, and says so.
Modelling (starting values, batches, sampling) uses another generator altogether: it only ever sees
released values, and may be seeded freely.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from kinfolk.errors import KinfolkError


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
