# mypy: disallow-untyped-decorators=False
"""The compiled loops over a collapsed universe: moments of its queries, and sums of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kinfolk.compiled import compiled

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.integer[Any]]
Flags = npt.NDArray[np.bool_]


@compiled()
def moments(
    probabilities: Floats,
    numbers: Codes,
    matching: Flags,
    sizes: Floats,
    first: Floats,
    sized: Floats,
    second: Floats,
) -> None:
    """Expectations of what a group adds to queries.

    probabilities: (casts, household kinds).
    numbers: (casts, queries) what a group adds where its kind of household matches.
    matching: (household kinds, queries) which kinds match.
    sizes: (casts,) members of each cast.
    first, sized: (queries,) the expectation of what a group adds, and of that times its size.
    second: (queries, queries) the expectation of the product of what it adds to two.
    All three are added to; zero before. Of `second` the half with i <= j is filled.
    """
    queries = numbers.shape[1]
    asked, active = np.empty(queries, np.int64), np.empty(queries, np.int64)
    added = np.empty(queries)
    for cast in range(len(numbers)):
        some = 0
        for query in range(queries):
            if numbers[cast, query] > 0:
                asked[some] = query
                some += 1
        for kind in range(len(matching)):
            found = 0
            for place in range(some):
                query = asked[place]
                if matching[kind, query]:
                    active[found] = query
                    added[found] = numbers[cast, query]
                    found += 1
            for i in range(found):
                mass = probabilities[cast, kind] * added[i]
                first[active[i]] += mass
                sized[active[i]] += mass * sizes[cast]
                row = second[active[i]]
                for j in range(i, found):
                    row[active[j]] += mass * added[j]


@compiled()
def combine(coefficients: Floats, numbers: Codes, matching: Floats, out: Floats) -> None:
    """The sum over the queries of a coefficient times what a group adds.

    coefficients: (queries,); numbers: (casts, queries) as in `moments`.
    matching: (queries, household kinds) one where a kind matches, zero elsewhere.
    out: (casts, household kinds), added to.
    """
    for cast in range(len(numbers)):
        row = out[cast]
        for query in range(len(coefficients)):
            if numbers[cast, query] > 0:
                amount = coefficients[query] * numbers[cast, query]
                for kind in range(len(row)):
                    row[kind] += amount * matching[query, kind]
