# mypy: disallow-untyped-decorators=False
"""The compiled loop that writes groups of a universe out as codes."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from kinfolk.sampling.streams import uniform

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.integer[Any]]


@numba.njit(cache=True, nogil=True)
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
