"""From logits to probabilities, and from these to answers of prepared queries; and back again."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate, pairwise
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from kinfolk.models.layout import Floats, Ints, Layout
from kinfolk.models.mixture._kernel import TILE, Tile, sweep
from kinfolk.models.mixture.factors import FactoredMarginal, Factors, Programs
from kinfolk.models.mixture.schedule import Work, schedule_marginals, schedule_queries
from kinfolk.queries.workload import Workload

Answers = npt.NDArray[np.float64]

LINE = 64
"""Bytes in a line of the processor's cache."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Prepared:
    """Marginals, or single queries, prepared for many rounds of answering.

    An answer is what one group adds to a query on average; `HPD.answer` makes shares of them.
    Scratch is bounded, whatever the number of queries: nothing of K times that is ever held.

    >>> from kinfolk.datasets import load_schema
    >>> from kinfolk.models.hpd import HPD
    >>> workload = Workload.of(load_schema("acs-red"))
    >>> layout = Layout.of(workload.schema)
    >>> table = HPD.random(layout, components=10, rng=np.random.default_rng(1)).probabilities
    >>> prepared = Prepared.of(layout, workload)
    >>> prepared.answers(table).shape
    (2666,)
    >>> prepared.vjp(table, np.ones(prepared.size)).shape
    (39, 10)
    >>> Prepared.of(layout, workload, marginals=[3, 5]).answers(table).shape
    (60,)
    >>> Prepared.of_queries(layout, workload, [5, 2000, 17]).answers(table).shape
    (3,)
    """

    layout: Layout
    per_person: npt.NDArray[np.bool_]
    """(queries,) whether the share is one of people; otherwise one of groups."""
    _programs: Programs = field(repr=False)
    _work: tuple[Work, ...] = field(repr=False)

    @classmethod
    def of(
        cls,
        layout: Layout,
        workload: Workload,
        *,
        weights: npt.NDArray[np.int64] | None = None,
        marginals: Sequence[int] | None = None,
        factors: Factors | None = None,
    ) -> Prepared:
        """Prepare a workload, or the marginals of it at the given positions, laid end to end.

        `weights` says what a group of each size counts for, (marginals of the workload, sizes + 1).
        `factors` is what several batches of marginals share; without it they find out on their own.
        """
        _check(layout, workload, weights)
        factors = Factors(layout) if factors is None else factors
        chosen = range(len(workload.marginals)) if marginals is None else marginals
        own = [workload.marginals[at] for at in chosen]
        starts = accumulate((marginal.cells for marginal in own), initial=0)
        asked = [
            FactoredMarginal.of(layout, marginal, None if weights is None else weights[at], start)
            for at, marginal, start in zip(chosen, own, starts, strict=False)
        ]
        work = schedule_marginals(layout, factors, asked)
        people = np.array([marginal.level != "group" for marginal in own], np.bool_)
        return cls(
            layout=layout,
            per_person=np.repeat(people, [marginal.cells for marginal in own]),
            _programs=factors.programs(),
            _work=work,
        )

    @classmethod
    def of_queries(
        cls,
        layout: Layout,
        workload: Workload,
        queries: Sequence[int],
        *,
        weights: npt.NDArray[np.int64] | None = None,
    ) -> Prepared:
        """Prepare the queries with the given numbers, in any order, each on its own."""
        _check(layout, workload, weights)
        factors = Factors(layout)
        asked = [
            (workload.query(one), None if weights is None else weights[workload.marginal_of(one)])
            for one in queries
        ]
        work = schedule_queries(layout, factors, asked)
        return cls(
            layout=layout,
            per_person=np.array([query.marginal.level != "group" for query, _ in asked], np.bool_),
            _programs=factors.programs(),
            _work=(work,),
        )

    @property
    def size(self) -> int:
        """The number of queries."""
        return len(self.per_person)

    def answers(self, probabilities: Floats) -> Answers:
        """(queries,) what one group adds on average. probabilities: (rows, K)."""
        table = _tiled(probabilities)
        nothing = np.empty((len(table), 0, TILE), table.dtype)
        found = np.empty(self.size)
        for work in self._work:
            jobs = np.arange(len(work.programs))
            results = np.zeros((len(table), len(work.places)))
            self._sweep(work, jobs, results, table, nothing, vjp=False)
            found[work.places] = results.sum(axis=0)
        found /= probabilities.shape[1]
        return found

    def vjp(self, probabilities: Floats, cotangent: npt.ArrayLike) -> Floats:
        """The vector-Jacobian product: (rows, K), the gradient by the probabilities.

        It is 0 for what cannot occur, whose probability is fixed.

        probabilities: (rows, K); cotangent: (queries,), the gradient by the answers. Single queries
        whose cotangent is 0 cost little.
        """
        given = np.asarray(cotangent, np.float64) / probabilities.shape[1]
        if given.shape != (self.size,):
            raise ValueError(f"cotangent has shape {given.shape}, expected {(self.size,)}")
        table = _tiled(probabilities)
        by_table = _zeros(table.shape, table.dtype)
        for work in self._work:
            jobs = np.flatnonzero(given) if work.alone else np.arange(len(work.programs))
            results = given[work.places][None]
            self._sweep(work, jobs, results, table, by_table, vjp=True)
        found = _untiled(by_table, probabilities.shape[1])
        found[~self.layout.possible] = 0
        return found

    def _sweep(
        self,
        work: Work,
        jobs: Ints,
        results: Answers,
        table: Floats,
        by_table: Floats,
        *,
        vjp: bool,
    ) -> None:
        """Run the compiled loops on all tiles of the table.

        results: (tiles, results) to be added to; for a vjp, (1, results) their cotangents.
        """

        def share(low: int, high: int) -> None:
            decoded = np.empty(len(work.firsts), np.int64)
            room, room_back = self._room(work, table.dtype), self._room(work, table.dtype)
            for tile in range(low, high):
                result = results[tile % len(results)]
                ahead = Tile(table[tile], result, *room)
                back = Tile(by_table[tile], result, *room_back)
                sweep(self._programs, work, jobs, vjp, decoded, ahead, back)

        in_threads(share, len(table))

    def _room(self, work: Work, kind: npt.DTypeLike) -> tuple[Any, ...]:
        """Weights, stored outputs, left cells, outer products, features, an output, live kinds."""
        programs = self._programs
        weights = len(programs.weight_starts) - 1
        rows = (weights, work.stored, 4, self.layout.kinds, programs.most_features)
        live = np.zeros(self.layout.kinds, np.int64)
        return (*(_zeros((count, TILE), kind) for count in rows), _zeros((TILE,), kind), live)


def _zeros(shape: tuple[int, ...], kind: npt.DTypeLike) -> Floats:
    """Zeros that begin with a cache line: else every other vector that is read lies across two."""
    length = math.prod(shape) * np.dtype(kind).itemsize
    room = np.zeros(length + LINE, np.uint8)
    start = -room.ctypes.data % LINE
    return np.ndarray(shape, kind, room, start)


def _tiled(probabilities: Floats) -> Floats:
    """(rows, K) -> (tiles, rows, TILE), filled up with zeros."""
    rows, components = probabilities.shape
    table = _zeros((-(-components // TILE), rows, TILE), probabilities.dtype)
    for tile, out in enumerate(table):
        part = probabilities[:, tile * TILE : (tile + 1) * TILE]
        out[:, : part.shape[1]] = part
    return table


def _untiled(table: Floats, components: int) -> Floats:
    """(tiles, rows, TILE) -> (rows, K)."""
    whole = np.empty((table.shape[1], components), table.dtype)
    for tile, found in enumerate(table):
        part = whole[:, tile * TILE : (tile + 1) * TILE]
        part[...] = found[:, : part.shape[1]]
    return whole


def softmax(logits: Floats, segments: Ints) -> Floats:
    """Rows segments[i] to segments[i + 1] - 1 become a distribution in each column: (rows, K).

    >>> softmax(np.array([[0.0], [0.0], [1.0]]), np.array([0, 2, 3])).tolist()
    [[0.5], [0.5], [1.0]]
    """
    out = np.empty_like(logits)
    for first, last in pairwise(segments.tolist()):
        part = out[first:last]
        # Only differences matter; with the largest at 0 nothing overflows.
        np.subtract(logits[first:last], logits[first:last].max(axis=0), out=part)
        np.exp(part, out=part)
        part /= part.sum(axis=0)
    return out


def softmax_vjp(probabilities: Floats, cotangent: Floats, segments: Ints) -> Floats:
    """The gradient by the logits, (rows, K); cotangent: (rows, K), that by the probabilities.

    >>> p = softmax(np.zeros((2, 1)), np.array([0, 2]))
    >>> softmax_vjp(p, np.array([[1.0], [0.0]]), np.array([0, 2])).tolist()
    [[0.25], [-0.25]]
    """
    out = probabilities * cotangent
    for first, last in pairwise(segments.tolist()):
        out[first:last] -= probabilities[first:last] * out[first:last].sum(axis=0)
    return out


def _check(layout: Layout, workload: Workload, weights: Ints | None) -> None:
    """A workload and weights must fit the layout, and weights be whole numbers."""
    if workload.schema is not layout.schema and workload.schema != layout.schema:
        raise ValueError("the workload is of another schema than the layout")
    shape = (len(workload.marginals), layout.schema.size_limit + 1)
    if weights is not None and (weights.shape != shape or weights.dtype.kind not in "iu"):
        got = f"{weights.shape} of {weights.dtype}"
        raise ValueError(f"weights have shape {got}, expected {shape} of whole numbers")


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, thread_name_prefix="kinfolk")


# Threads do not survive a fork; the child makes its own.
os.register_at_fork(after_in_child=_pool.cache_clear)


def in_threads(work: Callable[[int, int], object], number: int) -> None:
    """Run work(low, high) on all cores, for ranges that make up range(number).

    The result must not depend on how the ranges are cut, which changes with the number of cores.

    >>> found = []
    >>> in_threads(lambda low, high: found.extend(range(low, high)), 5)
    >>> sorted(found)
    [0, 1, 2, 3, 4]
    """
    workers = max(1, min(number, numba.get_num_threads()))
    edges = [number * share // workers for share in range(workers + 1)]
    pairs = list(pairwise(edges))
    others = [_pool(workers).submit(work, low, high) for low, high in pairs[1:]]
    try:
        work(*pairs[0])
    finally:
        for other in others:
            other.result()


@dataclass(frozen=True, kw_only=True, eq=False)
class CoarsePrepared:
    """Coarse marginals: inside a component, the chance of a large bin is the sum of its bins'."""

    prepared: Prepared
    """Answers them, from the rows of the coarsened layout."""
    rows: Ints
    """(rows,) which of them a row of the table is a part of; never falling."""

    @property
    def size(self) -> int:
        """The number of queries."""
        return self.prepared.size

    def answers(self, probabilities: Floats) -> Answers:
        """(queries,) what one group adds on average. probabilities: (rows, K)."""
        return self.prepared.answers(self._coarse(probabilities))

    def vjp(self, probabilities: Floats, cotangent: npt.ArrayLike) -> Floats:
        """(rows, K) the gradient by the probabilities; cotangent: (queries,) that by the answers.

        What cannot occur has a gradient too, where its large bin can: its probability is fixed.
        """
        by_coarse = self.prepared.vjp(self._coarse(probabilities), cotangent)
        return np.asarray(by_coarse[self.rows])

    def _coarse(self, probabilities: Floats) -> Floats:
        first = np.flatnonzero(np.diff(self.rows, prepend=-1))
        return np.asarray(np.add.reduceat(probabilities, first, axis=0))


class Grains:
    """Prepares marginals of a workload, those of each grain together."""

    def __init__(self, layout: Layout, workload: Workload, weights: Ints) -> None:
        self._layout, self._workload, self._weights = layout, workload, weights
        self._factors = {coarse: Factors(_grain(layout, coarse)) for coarse in (False, True)}

    def prepare(self, marginals: Sequence[int]) -> BothGrains:
        """The marginals at these positions, in increasing order; coarse ones come last."""
        asked = self._workload.marginals
        parts: list[Prepared | CoarsePrepared] = []
        for coarse in (False, True):
            own = [at for at in marginals if asked[at].coarse is coarse]
            if not own:
                continue
            prepared = Prepared.of(
                _grain(self._layout, coarse),
                self._workload,
                weights=self._weights,
                marginals=own,
                factors=self._factors[coarse],
            )
            rows = self._layout.coarse_rows
            parts.append(CoarsePrepared(prepared=prepared, rows=rows) if coarse else prepared)
        return BothGrains(parts=tuple(parts))


@dataclass(frozen=True, kw_only=True, eq=False)
class BothGrains:
    """Marginals of several grains, laid end to end."""

    parts: tuple[Prepared | CoarsePrepared, ...]

    def answers(self, probabilities: Floats) -> Answers:
        """(queries,) what one group adds on average. probabilities: (rows, K)."""
        return np.concatenate([part.answers(probabilities) for part in self.parts])

    def vjp(self, probabilities: Floats, cotangent: npt.NDArray[np.float64]) -> Floats:
        """(rows, K) the gradient by the probabilities; cotangent: (queries,), by the answers."""
        given = np.split(cotangent, np.cumsum([one.size for one in self.parts])[:-1])
        found = [one.vjp(probabilities, own) for one, own in zip(self.parts, given, strict=True)]
        return found[0] if len(found) == 1 else np.asarray(sum(found[1:], found[0]))


def _grain(layout: Layout, coarse: bool) -> Layout:
    return layout.coarsened if coarse else layout
