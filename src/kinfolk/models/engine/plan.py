"""Whole blocks at once: rates and their gradient, by matrix products over components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from kinfolk.models.engine.asking import take_apart
from kinfolk.models.engine.chunks import Chunk, chunks
from kinfolk.models.engine.jobs import Floats, Programs
from kinfolk.models.engine.members import Book
from kinfolk.models.engine.run import Answers, Run, pulls_of
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
    _chunks: tuple[Chunk, ...] = field(repr=False)

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
        run = Run.of(table, self._programs, self._coefficients)
        found = np.empty(self.size)
        for jobs, stacks, places in self._chunks:
            found[places] = run.forward(jobs, stacks, len(places))
        found /= run.components
        return found

    def gradient(self, table: Floats, pull: npt.ArrayLike) -> Floats:
        """The gradient by the probabilities: (rows, K).

        table: (rows, K) the probabilities; pull: (queries,) the gradient by the rates.
        """
        run = Run.of(table, self._programs, self._coefficients, pulling=True)
        pulls = pulls_of(pull, self.size, run.components)
        for jobs, stacks, places in self._chunks:
            run.backward(jobs, stacks, pulls[places], np.arange(len(jobs.programs)))
        return run.gradient()


def check(layout: Layout, workload: Workload, weights: Ints | None) -> None:
    """A workload and weights must fit the layout, and weights be whole numbers."""
    if workload.schema is not layout.schema and workload.schema != layout.schema:
        raise ValueError("the workload is of another schema than the layout")
    shape = (len(workload.blocks), layout.schema.size_limit + 1)
    if weights is not None and (weights.shape != shape or weights.dtype.kind not in "iu"):
        got = f"{weights.shape} of {weights.dtype}"
        raise ValueError(f"weights have shape {got}, expected {shape} of whole numbers")


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
        _chunks=tuple(found),
    )
