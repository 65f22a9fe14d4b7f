"""Exact answers: one pass over whole groups into one integer vector.

Counts of parts of the data add up to the counts of the whole, as long as no group is split.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from kinfolk._typing import Floats, Ints
from kinfolk.data.encoded import Cleaning, Encoded, capped_units, joint_bands
from kinfolk.errors import KinfolkError
from kinfolk.queries.kernel import LEVELS, Families, Groups, count_families
from kinfolk.queries.workload import Marginal, Workload, tie_bits
from kinfolk.schema import Level, Schema
from kinfolk.schema.bins import FineAttributes, coarse_codes, is_coarser
from kinfolk.schema.totals import UNITS, Totals

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
        self.against: Ints = np.zeros(len(workload.schema.rules), np.int64)
        """(rules,) how many groups broke each rule and were left out."""
        self._fine = FineAttributes.of(workload.schema) if workload.finely else None
        self._coarse = _coarse_tables(workload.schema) if workload.coarsely else ({}, {})
        self._families = _families(workload, self.weights)
        self._totals = Totals(schema=workload.schema)

    @classmethod
    def of(cls, data: Encoded, workload: Workload, *, weights: Ints | None = None) -> Counter:
        """All groups, counted at once."""
        counter = cls(workload, weights=weights)
        counter.add(data)
        return counter

    def add(self, data: Encoded) -> None:
        """Add a chunk of whole groups."""
        if data.schema != self.workload.schema:
            raise ValueError("the chunk was encoded with another schema")
        size = data.sizes - data.schema.sizes.start
        role = data.role_or_zero
        group_cells, cells = self._cells(data)
        group_coarse, coarse = (
            [table[codes[:, at]] for at, table in tables.items()]
            for tables, codes in zip(self._coarse, (data.group, data.individual), strict=True)
        )
        group_codes = _rows(data.group, size, [*group_cells, *group_coarse])
        individual_codes = _rows(data.individual, role, [*cells, *coarse])
        groups = Groups(group_codes, individual_codes, role, data.offsets)
        count_families(groups, self._families, numba.get_num_threads(), self.counts)
        self._add_totals(data)
        self.groups += data.groups
        self.people += data.people
        self.cleaning += data.cleaning
        if data.against:
            self.against += data.against

    @property
    def shares(self) -> Floats:
        """(queries,) the counts as shares: of groups at the group level, else of people."""
        found: Floats = np.empty(len(self.counts))
        for marginal, place in self.workload.slices():
            total = self.groups if marginal.level == Level.GROUP else self.people
            np.divide(self.counts[place], total, out=found[place])
        return found

    def _add_totals(self, data: Encoded) -> None:
        """Add what groups have of amounts: each at most its weight, to one cell."""
        places = (one for one in enumerate(self.workload.slices()) if one[1][0].total)
        for at, (marginal, place) in places:
            weights = self.weights[at][data.sizes]
            if marginal.total == "bands":
                own, members = joint_bands(data, self._totals)
                cells = own * marginal.shape[1] + members
                np.add.at(self.counts[place], cells, weights)
                continue
            asked = (marginal.group, marginal.individual)
            total = next(
                one
                for one in self._totals.sums
                if one.positions == asked[one.level is Level.INDIVIDUAL]
            )
            self.counts[place] += np.sum(capped_units(data, total) * weights // UNITS)

    def _cells(self, data: Encoded) -> tuple[list[Cells], list[Cells]]:
        """Rows of codes that come after the others: cells, in the order of `_places`."""
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
    return Counter.of(data, workload, weights=weights).counts


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
        if marginal.total:
            continue
        parts = (marginal.individual, marginal.relative, weights[index].tobytes())
        grain = (marginal.fine, marginal.coarse)
        key = (marginal.relation or "", marginal.level, *parts, *grain)
        families.setdefault(key, []).append(index)
    return [
        families[key] for key in sorted(families, key=lambda key: (key[:2], -len(families[key])))
    ]


def _families(workload: Workload, weights: Ints) -> Families:
    """The workload as flat integer arrays for the compiled loop."""
    families = _alike(workload, weights)
    own_rows, member_rows = _places(workload)
    attributes: list[int] = []
    sizes: list[int] = []
    spans: list[tuple[int, ...]] = []
    group_spans: list[tuple[int, int]] = []
    known: list[tuple[int, int]] = []
    ranges: dict[str | None, tuple[int, int]] = {None: (0, 0)}
    for family in families:
        marginal = workload.marginals[family[0]]
        first = len(attributes)
        attributes += member_rows.of(marginal, (*marginal.individual, *marginal.relative))
        sizes += marginal.shape[len(marginal.group) :]
        spans.append((first, first + len(marginal.individual), len(attributes)))
        if marginal.relation not in ranges:
            found = tie_bits(workload.schema, marginal.relation or "")
            ranges[marginal.relation] = (len(known), len(known) + len(found))
            known += found
        for index in family:
            marginal = workload.marginals[index]
            group_spans.append((len(attributes), len(attributes) + len(marginal.group)))
            attributes += own_rows.of(marginal, marginal.group)
            sizes += marginal.shape[: len(marginal.group)]
    order = [index for family in families for index in family]
    leaders = [workload.marginals[family[0]] for family in families]
    return Families(
        level=np.array([LEVELS[marginal.level] for marginal in leaders], np.int64),
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


@dataclass(frozen=True, kw_only=True)
class _Places:
    """Where attributes of one table stand among the rows of codes: position -> row.

    By bins at their own position. Cells come after the attributes and the size, or the role; coarse
    codes after these.
    """

    fine: Mapping[int, int]
    coarse: Mapping[int, int]

    def of(self, marginal: Marginal, positions: Sequence[int]) -> list[int]:
        """The rows of some attributes of a marginal, as it counts them."""
        if marginal.fine:
            return [self.fine[at] for at in positions]
        return [self.coarse.get(at, at) for at in positions] if marginal.coarse else list(positions)


def _places(workload: Workload) -> tuple[_Places, _Places]:
    """Those of the group's attributes, and those of the members'."""
    schema = workload.schema
    cells = FineAttributes.of(schema) if workload.finely else None
    tables = _coarse_tables(schema) if workload.coarsely else ({}, {})
    found: list[_Places] = []
    for attributes, own, coarse in (
        (schema.group_attributes, cells.group if cells else (), tables[0]),
        (schema.individual_attributes, cells.individual if cells else (), tables[1]),
    ):
        position = {name: at for at, name in enumerate(attributes)}
        first = len(attributes) + 1
        fine = {position[name]: row for row, name in enumerate(own, first)}
        found.append(
            _Places(fine=fine, coarse={at: row for row, at in enumerate(coarse, first + len(fine))})
        )
    return found[0], found[1]


def _coarse_tables(schema: Schema) -> tuple[dict[int, Cells], dict[int, Cells]]:
    """For every attribute whose bins are put together, by position, the coarse code of each."""
    own, members = (
        {
            at: np.array(coarse_codes(one), np.uint16)
            for at, one in enumerate(attributes.values())
            if is_coarser(one)
        }
        for attributes in (schema.group_attributes, schema.individual_attributes)
    )
    return own, members
