# mypy: disallow-untyped-decorators=False
"""Groups from a histogram over all possible groups."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kinfolk._typing import Codes, Floats, Ints
from kinfolk.compiled import compiled
from kinfolk.data.encoded import Encoded, code_type
from kinfolk.models._streams import uniform
from kinfolk.models.batches import Batches
from kinfolk.models.universe import Universe


def listed_batch(universe: Universe, probabilities: Floats, batches: Batches, at: int) -> Encoded:
    """Draw one of the batches of a sample, its groups in random order.

    Stratified, the points are equally spaced: every group comes up its share of times, give or take
    one, and so does every run of groups that stand side by side.
    """
    below = np.cumsum(probabilities.ravel())
    rng, number = batches.rng(at), batches.number(at)
    if batches.stratified:
        points = (np.arange(number) + rng.random()) / number
    else:
        points = rng.random(number)
    return _written(universe, rng.permutation(_found(below, points)), rng)


def listed_groups(
    universe: Universe,
    probabilities: Floats,
    compositions: Ints,
    *,
    rng: np.random.Generator,
) -> Encoded:
    """One group for each of these compositions, by position; independent of one another."""
    cells = np.empty(len(compositions), np.int64)
    for composition in np.unique(compositions).tolist():
        groups = np.flatnonzero(compositions == composition)
        first, end = np.searchsorted(universe.composition, [composition, composition + 1])
        below = np.cumsum(probabilities[first:end].ravel())
        cells[groups] = first * universe.group_cells + _found(below, rng.random(len(groups)))
    return _written(universe, cells, rng)


def _found(below: Floats, points: Floats) -> Ints:
    """The cells that points, from 0 to 1, fall into; below: running sums of probabilities."""
    last = int(np.searchsorted(below, below[-1]))
    found: Ints = np.minimum(np.searchsorted(below, points * below[-1], side="right"), last)
    return found


def _written(universe: Universe, cells: Ints, rng: np.random.Generator) -> Encoded:
    """Groups by their cells: a cast times the number of household kinds, plus the kind."""
    schema = universe.schema
    sizes = universe.sizes[cells // universe.group_cells]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    people = int(offsets[-1])
    dtype = code_type(schema)
    group = np.empty((len(cells), len(schema.group_attributes)), dtype)
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
    return Encoded(
        schema=schema,
        group=group,
        individual=individual,
        offsets=offsets,
        role=role if schema.roles else None,
    )


@compiled()
def write_groups(
    cells: Ints,
    members: Codes,
    composition: Codes,
    roles: Codes,
    group_codes: Codes,
    person_codes: Codes,
    offsets: Ints,
    seed: npt.NDArray[np.uint64],
    group: Codes,
    individual: Codes,
    role: Codes,
) -> None:
    """Write groups out, members of the same role in random order.

    cells: (groups,) cast times the number of household kinds, plus the kind.
    members, composition, roles, group_codes, person_codes: as in `Universe`.
    offsets: (groups + 1,) where each group's members begin.
    group, individual, role: (groups, attributes), (people, attributes), (people,) the result.
    """
    state = seed.copy()
    here = np.empty(members.shape[1], np.int64)
    for g in range(len(cells)):
        cast, kind = divmod(cells[g], len(group_codes))
        for attribute in range(group.shape[1]):
            group[g, attribute] = group_codes[kind, attribute]
        size = offsets[g + 1] - offsets[g]
        who = roles[composition[cast]]
        first = 0
        for i in range(size):
            here[i] = members[cast, i]
            # Put the newcomer anywhere among those of the same role who are there already.
            if i > 0 and who[i] != who[i - 1]:
                first = i
            other = first + int(uniform(state) * (i - first + 1))
            here[i] = here[other]
            here[other] = members[cast, i]
        for i in range(size):
            row = offsets[g] + i
            role[row] = who[i]
            for attribute in range(individual.shape[1]):
                individual[row, attribute] = person_codes[here[i], attribute]
