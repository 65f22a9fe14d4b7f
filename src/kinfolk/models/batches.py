"""A sample, cut into batches that have nothing to do with each other.

Which groups are in a batch and which random numbers it uses follow from the seeds and from its
number alone: whoever draws some batches, on whichever machine, draws what others would have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from kinfolk.schema import Schema

BATCH = 262_144
"""Groups that are drawn, and evened out, together."""

_PEOPLE = 4_194_304
"""People in a batch at most; only very large groups get there."""

Seeds: TypeAlias = tuple[int, ...]


def fresh_seeds(rng: np.random.Generator) -> Seeds:
    """Seeds for generators of its own."""
    return tuple(rng.integers(2**63, size=4).tolist())


def batch_rng(seeds: Seeds, at: int) -> np.random.Generator:
    """The generator of a batch."""
    return np.random.default_rng([*seeds, at] if at else list(seeds))


def batch_size(schema: Schema) -> int:
    """How many groups are drawn together: public, and the same for every sample of a schema."""
    return min(BATCH, max(1, _PEOPLE // schema.size_limit))


@dataclass(frozen=True, kw_only=True)
class Batches:
    """So many groups in batches of `size`; the last one may be smaller.

    >>> batches = Batches(groups=600, size=256, seeds=(1, 2), stratified=True)
    >>> [(batches.start(at), batches.number(at)) for at in range(len(batches))]
    [(0, 256), (256, 256), (512, 88)]
    """

    groups: int
    size: int
    seeds: Seeds
    stratified: bool
    """Whether the groups of a batch are more even than independent ones."""

    @classmethod
    def of(
        cls, schema: Schema, groups: int, *, rng: np.random.Generator, stratified: bool
    ) -> Batches:
        """The batches of a sample."""
        return cls(
            groups=groups, size=batch_size(schema), seeds=fresh_seeds(rng), stratified=stratified
        )

    def __len__(self) -> int:
        return -(-self.groups // self.size)

    def start(self, at: int) -> int:
        """How many groups the batches before it have."""
        return at * self.size

    def number(self, at: int) -> int:
        """How many groups a batch has."""
        return min(self.size, self.groups - self.start(at))

    def rng(self, at: int) -> np.random.Generator:
        """The generator of a batch."""
        return batch_rng(self.seeds, at)
