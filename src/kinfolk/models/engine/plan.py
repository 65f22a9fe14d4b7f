"""Whole blocks at once: rates and their gradient, by matrix products over components."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from kinfolk.models.engine.chunks import Chunk, Item, Region, Shape, chunks, take_apart
from kinfolk.models.engine.kernel import Floats
from kinfolk.models.engine.members import Book, Programs
from kinfolk.models.engine.run import Answers, Run
from kinfolk.models.engine.stacks import Piece, Stack, stacks
from kinfolk.models.layout import Ints, Layout
from kinfolk.queries.workload import Workload


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
    (60,)
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
        run = Run.of(self.layout, table, self._programs, self._coefficients)
        found = np.empty(self.size)
        for chunk, regions in self._chunks:
            factors, sums = run.forward(chunk.jobs, chunk.rows, chunk.sums)
            for item in chunk.summed:
                for shape in item.shapes:
                    _members(found, shape, item)[0, :, 0] = sums[_columns(item)]
            for region, left_stacks in regions:
                for stack in left_stacks:
                    values = np.zeros((stack.rows, region.columns), table.dtype)
                    for index, rows in zip(stack.index, region.rows, strict=True):
                        values += run.left(index) @ factors[rows].T
                    for piece, item in _cross(stack, region):
                        cells = _cells(found, piece, item)
                        cells[...] = values[piece.rows, _flat(item)].reshape(cells.shape)
        return found / run.components

    def gradient(self, table: Floats, pull: npt.ArrayLike) -> Floats:
        """The gradient by the probabilities: (rows, K).

        table: (rows, K) the probabilities; pull: (queries,) the gradient by the rates.
        """
        run = Run.of(self.layout, table, self._programs, self._coefficients, pulling=True)
        pulls = pulls_of(pull, self.size, run.components)
        for chunk, regions in self._chunks:
            sums_pull = np.zeros(chunk.sums)
            for item in chunk.summed:
                for shape in item.shapes:
                    sums_pull[_columns(item)] += _members(pulls, shape, item)[0, :, 0]
            factors_pull = np.zeros((chunk.rows, run.components), table.dtype)
            if chunk.rows:
                factors, _ = run.forward(chunk.jobs, chunk.rows, chunk.sums)
                for region, left_stacks in regions:
                    for stack in left_stacks:
                        values_pull = np.empty((stack.rows, region.columns), table.dtype)
                        for piece, item in _cross(stack, region):
                            cells = _cells(pulls, piece, item)
                            values_pull[piece.rows, _flat(item)] = cells.reshape(-1, item.width)
                        for index, rows in zip(stack.index, region.rows, strict=True):
                            factors_pull[rows] += values_pull.T @ run.left(index)
                            run.unleft(index, values_pull @ factors[rows])
            run.backward(chunk.jobs, factors_pull, sums_pull)
        return run.gradient()


def pulls_of(pull: npt.ArrayLike, queries: int, components: int) -> Answers:
    """The gradient by the sums over components, from that by the rates: (queries,)."""
    pulls = np.asarray(pull, np.float64) / components
    if pulls.shape != (queries,):
        raise ValueError(f"pull has shape {pulls.shape}, expected {(queries,)}")
    return pulls


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
