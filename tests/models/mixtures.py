"""Random mixtures, and what they say about every group, the slow and obvious way."""

from __future__ import annotations

import itertools

import numpy as np

from kinfolk.models.histogram import Histogram
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.schema import Schema


def random_mixture(
    schema: Schema,
    *,
    components: int,
    rng: np.random.Generator,
    concentration: float = 0.5,
    layout: Layout | None = None,
) -> HPD:
    """Every distribution drawn at random; a low concentration makes them peaked."""
    layout = layout or Layout.of(schema)
    rows = np.empty((layout.rows, components))
    for start, stop in itertools.pairwise(layout.segments):
        drawn = rng.dirichlet(np.full(stop - start, concentration), size=components)
        likely = np.where(layout.possible[start:stop, None], drawn.T, 0)
        rows[start:stop] = likely / likely.sum(axis=0)
    return HPD(layout=layout, probabilities=rows)


def with_parts(
    model: HPD,
    *,
    composition: np.ndarray | None = None,
    group: np.ndarray | None = None,
    individual: np.ndarray | None = None,
) -> HPD:
    """The same mixture with some of its tables replaced."""
    parts = (
        model.composition if composition is None else composition,
        model.group if group is None else group,
        (model.individual if individual is None else individual).reshape(-1, model.components),
    )
    return HPD(layout=model.layout, probabilities=np.concatenate(parts))


def as_histogram(model: HPD) -> Histogram:
    """The same distribution, group by group; only for tiny schemas.

    Members of a role are independent but not alike, so all their orders are added up.
    """
    layout = model.layout
    start = Histogram.uniform(layout.schema)
    universe = start.universe
    kinds = _products(model.group, layout.group_offsets, universe.group_codes)
    slots = [
        _products(slot, layout.individual_offsets, universe.person_codes)
        for slot in model.individual
    ]
    found = np.zeros_like(start.probabilities)
    place: dict[tuple[int, ...], int] = {
        (int(universe.composition[cast]), *universe.members[cast].tolist()): cast
        for cast in range(universe.casts)
    }
    for number, composition in enumerate(layout.schema.compositions):
        size = sum(composition)
        of_member = np.repeat(np.arange(layout.slots), layout.mult[number])
        for members in np.ndindex(*(len(universe.person_codes),) * size):
            chance = model.composition[number].copy()
            for member, slot in zip(members, of_member, strict=True):
                chance = chance * slots[slot][member]
            if not chance.any():
                # Somebody has another role than the slot's.
                continue
            edges = np.cumsum([0, *composition])
            ordered = [
                member
                for low, high in itertools.pairwise(edges)
                for member in sorted(members[low:high])
            ]
            padded = ordered + [-1] * (universe.members.shape[1] - size)
            found[place[number, *padded]] += (kinds * chance).mean(axis=1)
    return Histogram(universe=universe, probabilities=found)


def _products(table: np.ndarray, offsets: tuple[int, ...], codes: np.ndarray) -> np.ndarray:
    """(cells, K) the probability of every combination of codes, component by component."""
    found = np.ones((len(codes), table.shape[-1]))
    for attribute, first in enumerate(offsets[:-1]):
        found = found * table[first + codes[:, attribute]]
    return found
