"""Exact answers: one pass over whole groups into one integer vector.

Counts of parts of the data add up to the counts of the whole, as long as no group is split.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kinfolk.data.encoded import Encoded
from kinfolk.queries.kernel import GROUP, INDIVIDUAL, RELATION, Ints, count_blocks
from kinfolk.queries.ties import ties
from kinfolk.queries.workload import Workload

_LEVELS = {"group": GROUP, "individual": INDIVIDUAL, "relation": RELATION}


class Counter:
    """Counts chunk after chunk; holds exact answers, so only the curator may keep one."""

    def __init__(self, workload: Workload, *, weights: npt.NDArray[np.int64] | None = None) -> None:
        self.workload = workload
        self.counts: Ints = np.zeros(workload.size, np.int64)
        """(queries,) what has been counted so far."""
        self.groups = 0
        self.people = 0
        limit = workload.schema.size_limit
        shape = (len(workload.blocks), limit + 1)
        self.weights: Ints = np.ones(shape, np.int64) if weights is None else weights
        """(blocks, sizes + 1) what a group of each size adds."""
        if self.weights.shape != shape:
            raise ValueError(f"weights have shape {self.weights.shape}, expected {shape}")
        self._plan = _plan(workload)

    def add(self, data: Encoded) -> None:
        """Add a chunk of whole groups."""
        if data.schema != self.workload.schema:
            raise ValueError("the chunk was encoded with another schema")
        size = data.sizes - data.schema.sizes.start
        group_codes = np.vstack([data.group.T.astype(np.uint16), size.astype(np.uint16)])
        role = np.zeros(data.people, np.uint8) if data.role is None else data.role
        count_blocks(
            group_codes,
            np.ascontiguousarray(data.individual.T),
            role,
            data.offsets,
            *self._plan,
            self.weights,
            self.counts,
        )
        self.groups += data.groups
        self.people += data.people


def count(
    data: Encoded, workload: Workload, *, weights: npt.NDArray[np.int64] | None = None
) -> Ints:
    """The exact answers, in counts: (queries,) integers.

    Divide by the number of groups at the group level, by the number of people at the others.
    `weights` says what a group of each size adds in each block, (blocks, sizes + 1) integers.

    >>> from kinfolk.datasets import load_detroit
    >>> from kinfolk.data.encode import encode
    >>> schema, tables = load_detroit()
    >>> workload = Workload.of(schema, k=1, levels=["individual"], attributes=["sex"])
    >>> count(encode(schema, tables), workload).tolist()
    [15766, 14768]
    """
    counter = Counter(workload, weights=weights)
    counter.add(data)
    return counter.counts


def _plan(workload: Workload) -> tuple[Ints, ...]:
    """The workload as flat integer arrays for the compiled loop."""
    spans: list[tuple[int, ...]] = []
    entries: list[tuple[int, int]] = []
    attributes: list[int] = []
    sizes: list[int] = []
    known: list[tuple[int, int]] = []
    for block in workload.blocks:
        start = len(attributes)
        attributes += [*block.group, *block.individual, *block.relative]
        sizes += block.shape
        second = start + len(block.group)
        spans.append((start, second, second + len(block.individual), len(attributes)))
        first = len(known)
        if block.relation is not None:
            for who, whom in ties(workload.schema, block.relation):
                known.append((who, sum(1 << role for role in whom)))
        entries.append((first, len(known)))
    return (
        np.array([_LEVELS[block.level] for block in workload.blocks], np.int64),
        np.array(spans, np.int64).reshape(-1, 4),
        np.array(attributes, np.int64),
        np.array(sizes, np.int64),
        np.array(workload.offsets[:-1], np.int64),
        np.array(entries, np.int64).reshape(-1, 2),
        np.array(known, np.int64).reshape(-1, 2),
    )
