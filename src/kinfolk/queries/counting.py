"""Exact answers: one pass over whole groups into one integer vector.

Counts of parts of the data add up to the counts of the whole, as long as no group is split.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from kinfolk.data.encoded import Cleaning, Encoded
from kinfolk.errors import KinfolkError
from kinfolk.queries.kernel import (
    GROUP,
    INDIVIDUAL,
    RELATION,
    Families,
    Groups,
    Ints,
    count_families,
)
from kinfolk.queries.workload import Workload, ties
from kinfolk.schema import Level, Schema
from kinfolk.schema.fine import FineAttributes

_LEVELS = {Level.GROUP: GROUP, Level.INDIVIDUAL: INDIVIDUAL, Level.RELATION: RELATION}
Cells = npt.NDArray[np.uint16]
_MOST_CELLS = 2**31
"""In one marginal: cells within a marginal are 32-bit numbers in the compiled loop."""


class Counter:
    """Counts chunk after chunk; holds exact answers, so only the curator may keep one."""

    def __init__(self, workload: Workload, *, weights: npt.NDArray[np.int64] | None = None) -> None:
        self.workload = workload
        limit = workload.schema.size_limit
        shape = (len(workload.marginals), limit + 1)
        self.weights: Ints = np.ones(shape, np.int64) if weights is None else weights
        """(marginals, sizes + 1) what a group of each size adds."""
        if self.weights.shape != shape:
            raise ValueError(f"weights have shape {self.weights.shape}, expected {shape}")
        widest = max(workload.marginals, key=lambda marginal: marginal.cells)
        if widest.cells >= _MOST_CELLS:
            raise KinfolkError(
                f"one attribute set has {widest.cells:,} cells, more than the {_MOST_CELLS - 1:,} "
                "that can be counted. Use a smaller k, or coarser attributes."
            )
        self.counts: Ints = np.zeros(workload.size, np.int64)
        """(queries,) what has been counted so far."""
        self.groups = 0
        self.people = 0
        self.cleaning = Cleaning()
        """What was left out of the tables that have been counted so far."""
        self._fine = FineAttributes.of(workload.schema) if workload.finely else None
        self._families = _families(workload, self.weights)

    def add(self, data: Encoded) -> None:
        """Add a chunk of whole groups."""
        if data.schema != self.workload.schema:
            raise ValueError("the chunk was encoded with another schema")
        size = data.sizes - data.schema.sizes.start
        role = np.zeros(data.people, np.uint8) if data.role is None else data.role
        group_cells, cells = self._cells(data)
        group_codes = _rows(data.group, size, group_cells)
        individual_codes = _rows(data.individual, role, cells)
        groups = Groups(group_codes, individual_codes, role, data.offsets)
        count_families(groups, self._families, numba.get_num_threads(), self.counts)
        self.groups += data.groups
        self.people += data.people
        self.cleaning += data.cleaning

    def _cells(self, data: Encoded) -> tuple[list[Cells], list[Cells]]:
        """Rows of codes that come after the others: cells, in the order of `_fine_rows`."""
        if self._fine is None:
            return [], []
        if data.cells is None:
            raise ValueError("the chunk was not encoded finely, and the workload asks for cells")
        group, individual = data.cells.group, data.cells.individual
        return [group[n] for n in self._fine.group], [individual[n] for n in self._fine.individual]


def count(
    data: Encoded, workload: Workload, *, weights: npt.NDArray[np.int64] | None = None
) -> Ints:
    """The exact answers, in counts: (queries,) integers.

    Divide by the number of groups at the group level, by the number of people at the others.
    `weights` says what a group of each size adds in each marginal, (marginals, sizes + 1) integers.

    >>> from kinfolk import load_detroit
    >>> from kinfolk.data import encode
    >>> schema, tables = load_detroit()
    >>> workload = Workload.of(schema, k=1, levels=["individual"], attributes=["sex"])
    >>> count(encode(schema, tables), workload).tolist()
    [15766, 14768]
    """
    counter = Counter(workload, weights=weights)
    counter.add(data)
    return counter.counts


def _rows(table: npt.NDArray[Any], last: npt.NDArray[Any], more: Sequence[Cells]) -> Cells:
    """(columns, rows) the columns of a table and others: each in one piece, along which loops go.

    All are of one type, so that the loop is compiled once.
    """
    columns = [column.astype(np.uint16) for column in (*table.T, last)]
    return np.stack([*columns, *more])


def _alike(workload: Workload, weights: Ints) -> list[list[int]]:
    """Marginals that differ in their group part only; those of a relation side by side.

    Threads take every n-th family, so the long ones come first.
    """
    families: dict[tuple[object, ...], list[int]] = {}
    for index, marginal in enumerate(workload.marginals):
        parts = (marginal.individual, marginal.relative, weights[index].tobytes(), marginal.fine)
        families.setdefault((marginal.relation or "", marginal.level, *parts), []).append(index)
    return [
        families[key] for key in sorted(families, key=lambda key: (key[:2], -len(families[key])))
    ]


def _families(workload: Workload, weights: Ints) -> Families:
    """The workload as flat integer arrays for the compiled loop."""
    families = _alike(workload, weights)
    own_rows, member_rows = _fine_rows(workload.schema) if workload.finely else ({}, {})
    attributes: list[int] = []
    sizes: list[int] = []
    spans: list[tuple[int, ...]] = []
    group_spans: list[tuple[int, int]] = []
    known: list[tuple[int, int]] = []
    ranges: dict[str | None, tuple[int, int]] = {None: (0, 0)}
    for family in families:
        marginal = workload.marginals[family[0]]
        first = len(attributes)
        rows = [member_rows[p] for p in marginal.individual] if marginal.fine else []
        attributes += rows or [*marginal.individual, *marginal.relative]
        sizes += marginal.shape[len(marginal.group) :]
        spans.append((first, first + len(marginal.individual), len(attributes)))
        if marginal.relation not in ranges:
            found = ties(workload.schema, marginal.relation or "")
            ranges[marginal.relation] = (len(known), len(known) + len(found))
            known += [(who, sum(1 << role for role in whom)) for who, whom in found]
        for index in family:
            marginal = workload.marginals[index]
            group_spans.append((len(attributes), len(attributes) + len(marginal.group)))
            attributes += [own_rows[p] if marginal.fine else p for p in marginal.group]
            sizes += marginal.shape[: len(marginal.group)]
    order = [index for family in families for index in family]
    leaders = [workload.marginals[family[0]] for family in families]
    return Families(
        level=np.array([_LEVELS[marginal.level] for marginal in leaders], np.int64),
        spans=np.array(spans, np.int64).reshape(-1, 3),
        tie_spans=np.array([ranges[marginal.relation] for marginal in leaders], np.int64).reshape(
            -1, 2
        ),
        weights=weights[[family[0] for family in families]],
        members=np.cumsum([0, *map(len, families)], dtype=np.int64),
        group_spans=np.array(group_spans, np.int64).reshape(-1, 2),
        starts=np.array([workload.offsets[index] for index in order], np.int64),
        attributes=np.array(attributes, np.int64),
        sizes=np.array(sizes, np.int64),
        ties=np.array(known, np.int64).reshape(-1, 2),
    )


def _fine_rows(schema: Schema) -> tuple[dict[int, int], dict[int, int]]:
    """Where the cells of attributes stand among the rows of codes: position -> row.

    They come after the attributes and the size, or the role.
    """
    fine = FineAttributes.of(schema)
    found: list[dict[int, int]] = []
    for attributes, own in (
        (schema.group_attributes, fine.group),
        (schema.individual_attributes, fine.individual),
    ):
        position = {name: at for at, name in enumerate(attributes)}
        found.append({position[name]: row for row, name in enumerate(own, len(attributes) + 1)})
    return found[0], found[1]
