"""Groups from a mixture: a component each, and everything else from that component.

Components take turns, so that each gets its share of the groups, give or take one; inside a
component, draws are equally spaced and dealt out at random. Any one group follows the model
exactly; only the groups together are more even than independent ones would be.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kinfolk.data.encoded import Encoded, code_type
from kinfolk.models._streams import spread
from kinfolk.models.batches import Batches
from kinfolk.models.layout import Layout
from kinfolk.models.mixture._sample_kernel import (
    Drawn,
    Draws,
    Places,
    Slots,
    draw_attributes,
    draw_compositions,
)
from kinfolk.models.mixture.prepared import in_threads

Ints = npt.NDArray[np.int64]


def mixture_batch(
    layout: Layout, probabilities: npt.NDArray[np.floating[Any]], batches: Batches, at: int
) -> Encoded:
    """Draw one of the batches of a sample, its groups in random order."""
    columns = np.ascontiguousarray(probabilities.T, np.float64)
    # Components take turns over the whole sample, in an order that all batches know.
    rng = batches.rng(0)
    turns = rng.permutation(len(columns))
    if at:
        rng = batches.rng(at)
    number = batches.number(at)
    if batches.stratified:
        chosen = turns[np.arange(batches.start(at), batches.start(at) + number) % len(turns)]
    else:
        chosen = rng.integers(len(turns), size=number)
    return draw_groups(layout, columns, chosen, rng=rng, stratified=batches.stratified)


def mixture_groups(
    layout: Layout,
    probabilities: npt.NDArray[np.floating[Any]],
    compositions: Ints,
    *,
    components: npt.NDArray[np.float64],
    rng: np.random.Generator,
) -> Encoded:
    """One group for each of these compositions, by position; independent of one another.

    components: (K,) how likely each component is.
    """
    columns = np.ascontiguousarray(probabilities.T, np.float64)
    chosen = np.empty(len(compositions), np.int64)
    for composition in np.unique(compositions).tolist():
        groups = np.flatnonzero(compositions == composition)
        below = np.cumsum(components * columns[:, composition])
        points = rng.random(len(groups)) * below[-1]
        found = np.searchsorted(below, points, side="right")
        chosen[groups] = np.minimum(found, np.searchsorted(below, below[-1]))
    return draw_groups(
        layout, columns, chosen, rng=rng, stratified=False, compositions=compositions
    )


def draw_groups(
    layout: Layout,
    columns: npt.NDArray[np.float64],
    chosen: Ints,
    *,
    rng: np.random.Generator,
    stratified: bool,
    compositions: Ints | None = None,
) -> Encoded:
    """One group for each of the chosen components, in random order.

    Or with the given compositions, in the order given.
    """
    schema = layout.schema
    counts = np.bincount(chosen, minlength=len(columns))
    components = np.flatnonzero(counts)
    starts = np.concatenate([[0], np.cumsum(counts[components])])
    groups, active = len(chosen), len(components)
    turns = layout.mult.max(axis=0)
    personal = 1 + len(schema.individual_attributes)
    attributes = len(schema.group_attributes) + int(turns.sum()) * personal
    firsts = np.full((1 + attributes, active), -1.0)
    if stratified:
        # Where equally spaced points begin is itself even over the components.
        firsts = spread(1 + attributes, active, _seeds(rng, 1))

    draws = Draws(columns, components, starts, firsts, _seeds(rng, active))
    if compositions is None:
        composition = np.empty(groups, np.int64)
        draw_compositions(draws, layout.group_start, composition)
        place = rng.permutation(groups)
    else:
        place = np.argsort(chosen, kind="stable")
        composition = compositions[place]
    sizes = np.empty(groups, np.int64)
    sizes[place] = layout.sizes[composition]
    offsets = np.concatenate([[0], np.cumsum(sizes)])

    dtype = code_type(schema)
    people = int(offsets[-1])
    group = np.empty((groups, len(schema.group_attributes)), dtype)
    individual = np.empty((people, len(schema.individual_attributes)), dtype)
    role = np.empty(people, np.uint8)
    drawn = Drawn(group, individual, role)
    draws = draws._replace(seeds=_seeds(rng, active))
    places = Places(composition, place, offsets[place])
    first = np.arange(layout.kinds)[:, None] * layout.kind_rows + layout.individual_start
    slots = Slots(
        group_segments=layout.group_start + np.array(layout.group_offsets, np.int64),
        kind_starts=layout.kind_starts,
        kind_start=layout.kind_start if layout.kinded else -1,
        kind_segments=first + np.array(layout.individual_offsets, np.int64),
        turns=turns,
        mult=layout.mult,
        slot_first=np.cumsum(layout.mult, axis=1) - layout.mult,
        slot_roles=np.array(layout.slot_roles, np.int64),
    )

    def fill(low: int, high: int) -> None:
        draw_attributes(draws, slots, places, low, high, drawn)

    in_threads(fill, active)
    return Encoded(
        schema=schema,
        group=group,
        individual=individual,
        offsets=offsets,
        role=role if schema.roles else None,
    )


def _seeds(rng: np.random.Generator, number: int) -> npt.NDArray[np.uint64]:
    return rng.integers(2**64, size=number, dtype=np.uint64)
