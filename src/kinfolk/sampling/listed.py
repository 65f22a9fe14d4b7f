"""Groups from a histogram over all possible groups."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kinfolk.data.encoded import Encoded, code_type
from kinfolk.models.histogram import Histogram
from kinfolk.sampling.listed_kernel import write_groups


def listed_batches(
    model: Histogram, groups: int, *, size: int, rng: np.random.Generator, stratified: bool
) -> Iterator[Encoded]:
    """Draw groups in batches of `size`, each batch in random order.

    Stratified, the points are equally spaced: every group comes up its share of times, give or take
    one, and so does every run of groups that stand side by side.
    """
    universe, schema = model.universe, model.schema
    flat = model.probabilities.ravel()
    below = np.cumsum(flat)
    last = int(np.flatnonzero(flat)[-1])
    for start in range(0, groups, size):
        number = min(size, groups - start)
        points = (np.arange(number) + rng.random()) / number if stratified else rng.random(number)
        cells = np.minimum(np.searchsorted(below, points * below[-1], side="right"), last)
        cells = rng.permutation(cells)
        sizes = universe.sizes[cells // universe.group_cells]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        people = int(offsets[-1])
        dtype = code_type(schema)
        group = np.empty((number, len(schema.group_attributes)), dtype)
        individual = np.empty((people, len(schema.individual_attributes)), dtype)
        role = np.empty(people, np.uint8)
        write_groups(
            cells,
            universe.members,
            universe.composition,
            universe.roles,
            universe.group_codes,
            universe.person_codes,
            offsets,
            rng.integers(2**64, size=1, dtype=np.uint64),
            group,
            individual,
            role,
        )
        yield Encoded(
            schema=schema,
            group=group,
            individual=individual,
            offsets=offsets,
            role=role if schema.roles else None,
        )
