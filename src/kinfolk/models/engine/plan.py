"""Whole blocks at once: rates and their gradient, by matrix products over components."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from kinfolk.models.engine.chunks import Chunk, Item, Region, Shape, chunks, take_apart
from kinfolk.models.engine.members import Book, Programs
from kinfolk.models.engine.products import products, products_back
from kinfolk.models.engine.stacks import Piece, Stack, stacks
from kinfolk.models.engine.sweep import backward, forward
from kinfolk.models.engine.tile import TILE, Floats
from kinfolk.models.layout import Ints, Layout
from kinfolk.queries.workload import Workload

Answers = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """A workload, or some of its blocks, prepared for many rounds of answering.

    What is worked out is a *rate*: what one group adds to a query on average. Scratch is bounded,
    whatever the number of queries; nothing of K times their number is ever held.

    >>> from kinfolk.datasets import load_schema
    >>> from kinfolk.models.hpd import HPD
    >>> workload = Workload.of(load_schema("acs-red"))
    >>> plan = Plan.of(Layout.of(workload.schema), workload)
    >>> model = HPD.random(plan.layout, components=10, rng=np.random.default_rng(1))
    >>> plan.rates(model.probabilities).shape
    (2666,)
    >>> plan.gradient(model.probabilities, np.ones(plan.size)).shape
    (39, 10)
    >>> plan.batch([3, 5]).rates(model.probabilities).shape
    (50,)
    """

    layout: Layout
    workload: Workload
    weights: Ints | None
    """(blocks of the workload, sizes + 1) what a group of each size counts for; None: one."""
    blocks: tuple[int, ...]
    """Which blocks of the workload, by position; their queries are laid end to end."""
    offsets: tuple[int, ...]
    """Where each block begins in the vector of rates; the last entry is its length."""
    _book: Book = field(repr=False)
    _programs: Programs = field(repr=False)
    _coefficients: Ints = field(repr=False)
    _chunks: tuple[tuple[Chunk, tuple[tuple[Region, tuple[Stack, ...]], ...]], ...] = field(
        repr=False
    )

    @classmethod
    def of(
        cls,
        layout: Layout,
        workload: Workload,
        *,
        weights: npt.NDArray[np.int64] | None = None,
        blocks: Sequence[int] | None = None,
    ) -> Plan:
        """Prepare a workload, or the blocks of it at the given positions.

        `weights` says what a group of each size counts for, (blocks of the workload, sizes + 1).
        """
        check(layout, workload, weights)
        chosen = range(len(workload.blocks)) if blocks is None else blocks
        return _plan(layout, workload, weights, tuple(chosen), Book(layout))

    def batch(self, blocks: Sequence[int]) -> Plan:
        """Some blocks of the same workload; what is known about members is shared."""
        return _plan(self.layout, self.workload, self.weights, tuple(blocks), self._book)

    @property
    def size(self) -> int:
        """The number of queries."""
        return self.offsets[-1]

    @property
    def per_person(self) -> npt.NDArray[np.bool_]:
        """(queries,) whether the share is one of people; otherwise one of groups."""
        levels = [self.workload.blocks[block].level != "group" for block in self.blocks]
        return np.repeat(levels, np.diff(self.offsets))

    def rates(self, table: Floats) -> Answers:
        """What one group adds to every query on average: (queries,). table: (rows, K)."""
        weights = self._weights(table)
        found = np.empty(self.size)
        for chunk, regions in self._chunks:
            factors, sums = self._forward(table, weights, chunk)
            totals = sums.sum(axis=0)
            for item in chunk.summed:
                for shape in item.shapes:
                    _members(found, shape, item)[0, :, 0] = totals[_columns(item)]
            for region, left_stacks in regions:
                for stack in left_stacks:
                    values = _multiply(table, stack, region, factors)
                    for piece, item in _cross(stack, region):
                        cells = _cells(found, piece, item)
                        cells[...] = values[piece.rows, _flat(item)].reshape(cells.shape)
        return found / table.shape[1]

    def gradient(self, table: Floats, pull: npt.ArrayLike) -> Floats:
        """The gradient by the probabilities: (rows, K).

        table: (rows, K) the probabilities; pull: (queries,) the gradient by the rates.
        """
        weights = self._weights(table)
        pulls = np.asarray(pull, np.float64) / table.shape[1]
        if pulls.shape != (self.size,):
            raise ValueError(f"pull has shape {pulls.shape}, expected {(self.size,)}")
        table_pull, weights_pull = np.zeros_like(table), np.zeros_like(weights)
        for chunk, regions in self._chunks:
            sums_pull = np.zeros(chunk.sums)
            for item in chunk.summed:
                for shape in item.shapes:
                    sums_pull[_columns(item)] += _members(pulls, shape, item)[0, :, 0]
            factors_pull = np.zeros((chunk.rows, table.shape[1]), table.dtype)
            if chunk.rows:
                factors, _ = self._forward(table, weights, chunk)
                for region, left_stacks in regions:
                    for stack in left_stacks:
                        values = np.empty((stack.rows, region.columns), table.dtype)
                        for piece, item in _cross(stack, region):
                            cells = _cells(pulls, piece, item)
                            values[piece.rows, _flat(item)] = cells.reshape(-1, item.width)
                        _unmultiply(table, stack, region, factors, values, factors_pull, table_pull)
            backward(
                table, weights, self._programs, chunk.jobs,
                factors_pull, sums_pull, table_pull, weights_pull,
            )  # fmt: skip
        compositions = len(self.layout.sizes)
        table_pull[:compositions] += self._coefficients.T.astype(table.dtype) @ weights_pull
        return table_pull

    def _weights(self, table: Floats) -> Floats:
        if table.shape[0] != self.layout.rows:
            raise ValueError(f"the table has {table.shape[0]} rows, expected {self.layout.rows}")
        return self._coefficients.astype(table.dtype) @ table[: len(self.layout.sizes)]

    def _forward(self, table: Floats, weights: Floats, chunk: Chunk) -> tuple[Floats, Answers]:
        components = table.shape[1]
        factors = np.empty((chunk.rows, components), table.dtype)
        sums = np.empty((-(-components // TILE), chunk.sums))
        forward(table, weights, self._programs, chunk.jobs, factors, sums)
        return factors, sums


def check(layout: Layout, workload: Workload, weights: Ints | None) -> None:
    """A workload and weights must fit the layout."""
    if workload.schema is not layout.schema and workload.schema != layout.schema:
        raise ValueError("the workload is of another schema than the layout")
    shape = (len(workload.blocks), layout.schema.size_limit + 1)
    if weights is not None and weights.shape != shape:
        raise ValueError(f"weights have shape {weights.shape}, expected {shape}")


def _plan(
    layout: Layout, workload: Workload, weights: Ints | None, blocks: tuple[int, ...], book: Book
) -> Plan:
    offsets = (0, *accumulate(workload.blocks[block].cells for block in blocks))
    alike = np.ones(layout.schema.size_limit + 1, np.int64)
    asked = [
        take_apart(layout, workload.blocks[block], alike if weights is None else weights[block], at)
        for block, at in zip(blocks, offsets, strict=False)
    ]
    found = chunks(layout, book, asked)
    return Plan(
        layout=layout,
        workload=workload,
        weights=weights,
        blocks=blocks,
        offsets=offsets,
        _book=book,
        _programs=book.programs(),
        _coefficients=book.coefficients(),
        _chunks=tuple(
            (chunk, tuple((region, tuple(stacks(layout, region))) for region in chunk.regions))
            for chunk in found
        ),
    )


def _multiply(table: Floats, stack: Stack, region: Region, factors: Floats) -> Floats:
    """Left factors times member factors, summed over components and those who ask."""
    values: Floats | None = None
    for index, rows in zip(stack.index, region.rows, strict=True):
        left = np.empty((len(index), table.shape[1]), table.dtype)
        products(table, index, left)
        found = left @ factors[rows].T
        values = found if values is None else values + found
    assert values is not None  # noqa: S101  (somebody always asks)
    return values


def _unmultiply(
    table: Floats,
    stack: Stack,
    region: Region,
    factors: Floats,
    values_pull: Floats,
    factors_pull: Floats,
    table_pull: Floats,
) -> None:
    """The inverse of `_multiply`: add the pulls on member factors and on the table."""
    for index, rows in zip(stack.index, region.rows, strict=True):
        left = np.empty((len(index), table.shape[1]), table.dtype)
        products(table, index, left)
        factors_pull[rows] += values_pull.T @ left
        products_back(table, index, values_pull @ factors[rows], table_pull)


def _cross(stack: Stack, region: Region) -> Iterator[tuple[Piece, Item]]:
    for piece in stack.pieces:
        for item in region.items:
            yield piece, item


def _flat(item: Item) -> slice:
    return slice(item.offset, item.offset + item.width)


def _columns(item: Item) -> Ints:
    """(sizes, cells) the places of an item's columns."""
    return np.arange(item.offset, item.offset + item.width).reshape(item.sizes, -1)


def _members(vector: Answers, shape: Shape, item: Item) -> Answers:
    """A view of a block's answers: (group, sizes, own, the item's cells)."""
    start, *sides = shape
    cells = vector[start : start + int(np.prod(sides))].reshape(sides)
    return cells[..., item.low : item.high]


def _cells(vector: Answers, piece: Piece, item: Item) -> Answers:
    """A view of a block's answers: (left cells of the piece: group, own; sizes; cells)."""
    cells = _members(vector, item.shapes[piece.left], item)
    return cells[piece.group, :, piece.own].transpose(0, 2, 1, 3)
