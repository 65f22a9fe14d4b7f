"""Conditions on codes: whether one holds for every value in a cell, or for some.

A code stands for one value, or for all numbers of a bin. A bin is cut where a condition compares
its attribute with a number, so that within a piece all numbers are alike: what is said of a cell is
exact, whether or not thresholds lie on the edges of bins. Sums of several attributes are bounded
piece by piece: what is said to hold for every value does, but may do so in more cells than said.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from kinfolk.schema.attributes import Attribute, Categorical, Numeric
from kinfolk.schema.condition_evaluator import (
    COMPARE,
    Bools,
    Column,
    Floats,
    as_numbers,
    holds,
    quantities,
)
from kinfolk.schema.conditions import Condition, Linear, Listed, Ref, atoms, attribute_of, refs

if TYPE_CHECKING:
    from kinfolk.schema.schema import Schema


@dataclass(frozen=True, kw_only=True, eq=False)
class Cells:
    """A condition over the product of the categories of the attributes that it names."""

    refs: tuple[Ref, ...]
    """The attributes, one axis each, in the order of the text."""
    every: Bools
    """(categories, ...) whether the condition holds for every value in the cell."""
    some: Bools
    """(categories, ...) whether it holds for some value in the cell."""


def cells_of(condition: Condition, schema: Schema) -> Cells:
    """What a condition says of every cell; it must not be about nobody.

    The axis of the size has an entry for each of `schema.sizes`, that of the role column for each
    of the roles' names.

    >>> from kinfolk.datasets import load_schema
    >>> from kinfolk.schema.language import parse_condition
    >>> schema = load_schema("detroit")
    >>> cells = cells_of(parse_condition("age < 20", schema), schema)
    >>> cells.every[2:5].tolist(), cells.some[2:5].tolist()
    ([True, False, False], [True, True, False])
    """
    named = refs(condition)
    pieces = {
        ref: _Pieces.of(attribute_of(schema, ref), _thresholds(condition, ref)) for ref in named
    }
    columns = _PieceColumns(schema=schema, refs=named, pieces=pieces)
    shape = [len(pieces[ref].values) for ref in named]
    every = np.broadcast_to(holds(condition, columns, surely=True), shape)
    some = np.broadcast_to(holds(condition, columns, surely=False), shape)
    for axis, ref in enumerate(named):
        starts = pieces[ref].starts
        every = np.logical_and.reduceat(every, starts, axis=axis)
        some = np.logical_or.reduceat(some, starts, axis=axis)
    return Cells(refs=named, every=every, some=some)


def _thresholds(condition: Condition, ref: Ref) -> set[float]:
    """The numbers that a condition compares an attribute with."""
    found: set[float] = set()
    for atom in atoms(condition):
        if isinstance(atom, Linear) and len(atom.terms) == 1 and atom.terms[0][0] == ref:
            found.add(atom.constant / atom.terms[0][1])
        elif isinstance(atom, Listed) and atom.ref == ref:
            found |= atom.numbers
            found |= {end for one in atom.ranges for end in (one.low, one.high)}
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class _Pieces:
    """The categories of an attribute, cut into pieces."""

    values: Column
    """(pieces,) a value of each: a code, or a number."""
    low: Floats
    high: Floats
    """(pieces,) the least and the largest number in each, or what they come close to."""
    reached: Bools
    """(pieces,) whether these two belong to the piece."""
    starts: Column
    """(categories,) where the pieces of each category begin."""

    @staticmethod
    def of(attribute: Attribute, thresholds: Iterable[float]) -> _Pieces:
        if isinstance(attribute, Categorical):
            codes = np.arange(attribute.size)
            numbers = np.zeros(attribute.size)
            if attribute.kind == "number":
                numbers = as_numbers(np.minimum(codes, len(attribute.values)), attribute)
            reached = np.ones(attribute.size, np.bool_)
            return _Pieces(values=codes, low=numbers, high=numbers, reached=reached, starts=codes)
        rows: list[tuple[float, float, float, bool]] = []
        starts: list[int] = []
        for code in range(len(attribute.bins) - 1):
            starts.append(len(rows))
            cut = _whole_pieces if attribute.integer else _real_pieces
            rows += cut(attribute, code, thresholds)
        for special in (*attribute.special, *([math.nan] if attribute.missing else [])):
            starts.append(len(rows))
            rows.append((special, special, special, True))
        values, low, high, reached = np.array(rows, np.float64).T
        low, high = (
            np.where(np.isnan(quantities(values, attribute)), np.nan, x) for x in (low, high)
        )
        return _Pieces(
            values=values,
            low=low,
            high=high,
            reached=reached.astype(np.bool_),
            starts=np.array(starts),
        )


def _whole_pieces(
    attribute: Numeric, code: int, thresholds: Iterable[float]
) -> list[tuple[float, float, float, bool]]:
    begin, end = (int(one) for one in attribute.bounds(code))
    cuts = {begin, end}
    for one in (*thresholds, *attribute.special):
        if abs(one) < math.inf:
            cuts |= {cut for cut in (math.ceil(one), math.floor(one) + 1) if begin < cut < end}
    edges = sorted(cuts)
    return [
        (low, low, above - 1, True)
        for low, above in pairwise(edges)
        if low not in attribute.special
    ]


def _real_pieces(
    attribute: Numeric, code: int, thresholds: Iterable[float]
) -> list[tuple[float, float, float, bool]]:
    begin, end = float(attribute.bins[code]), float(attribute.bins[code + 1])
    cuts = {float(one) for one in (*thresholds, *attribute.special) if begin < one < end}
    edges = [begin, *sorted(cuts), end]
    pieces: list[tuple[float, float, float, bool]] = []
    for low, high in pairwise(edges):
        between = low + (high - low) / 2
        if low not in attribute.special:
            pieces.append((low, low, low, True))
        if low < between < high:
            pieces.append((between, low, high, False))
    if code == len(attribute.bins) - 2 and end not in attribute.special:
        pieces.append((end, end, end, True))
    return pieces


@dataclass(frozen=True, kw_only=True, eq=False)
class _PieceColumns:
    """All combinations of pieces; an attribute is an array along its own axis."""

    schema: Schema
    refs: tuple[Ref, ...]
    pieces: dict[Ref, _Pieces]

    def column(self, ref: Ref) -> Column:
        return self._along(ref, self.pieces[ref].values)

    def _along(self, ref: Ref, values: Column) -> Column:
        axis = self.refs.index(ref)
        return values.reshape([-1 if other == axis else 1 for other in range(len(self.refs))])

    def compare(self, condition: Linear, *, surely: bool) -> Bools:
        """Exact for one attribute; for several, what the ends of their pieces allow."""
        if len(condition.terms) == 1:
            ((ref, coefficient),) = condition.terms
            convert = as_numbers if condition.by_value else quantities
            numbers = convert(self.column(ref), attribute_of(self.schema, ref))
            known = ~np.isnan(numbers)
            # The threshold as the pieces were cut at it.
            return known & COMPARE[condition.operator](numbers, condition.constant / coefficient)
        low = high = np.zeros((1,) * len(self.refs))
        reached = np.ones_like(low, np.bool_)
        for ref, coefficient in condition.terms:
            one = self.pieces[ref]
            low_of, high_of = one.low, one.high
            if condition.by_value:
                codes = np.isnan(low_of)
                low_of = np.where(codes, self._raw(ref), low_of)
                high_of = np.where(codes, self._raw(ref), high_of)
            ends = [coefficient * self._along(ref, x) for x in (low_of, high_of)]
            low = low + np.minimum(*ends)
            high = high + np.maximum(*ends)
            reached = reached & self._along(ref, one.reached)
        return _bounded(condition, low, high, reached, surely=surely)

    def _raw(self, ref: Ref) -> Floats:
        return as_numbers(self.pieces[ref].values, attribute_of(self.schema, ref))

    def nobody(self, condition: Condition) -> Bools:
        raise NotImplementedError("cells of codes are about one person at a time")


def _bounded(
    condition: Linear, low: Floats, high: Floats, reached: Bools, *, surely: bool
) -> Bools:
    """Whether a sum between two bounds surely compares so, or may do so."""
    operator, constant = condition.operator, condition.constant
    known: Bools = ~np.isnan(low)
    found: Bools
    if operator in (">", ">="):
        operator, constant, low, high = operator.replace(">", "<"), -constant, -high, -low
    if operator in ("=", "!="):
        equal = (low == constant) & (high == constant) & reached
        inside = (low < constant) & (constant < high)
        possible = inside | (((low == constant) | (high == constant)) & reached)
        if operator == "=":
            found = equal if surely else possible
        else:
            found = ~possible if surely else ~equal
        return known & found
    end = high if surely else low
    found = end < constant
    # For all: an end that is not reached lies below it. For some: one that is reached is enough.
    if operator == "<" and surely:
        found = found | ((end == constant) & ~reached)
    elif operator == "<=":
        found = found | ((end == constant) & (surely | reached))
    return known & found
