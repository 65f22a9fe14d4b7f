"""Groups from a mixture: a component each, and everything else from that component.

Components take turns, so that each gets its share of the groups, give or take one; inside a
component, draws are equally spaced and dealt out at random. Any one group follows the model
exactly; only the groups together are more even than independent ones would be.

Of groups that are like something, the law is that of the mixture, given that they are: a component
is as likely as it was, times how likely it makes such a group. Inside a component the composition
and the group's attributes are independent but for what the condition ties together, so that these
are drawn from a table of their combinations, and the rest as always.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from kinfolk._typing import Floats, Ints
from kinfolk.data.encoded import Encoded, code_type
from kinfolk.models._streams import spread
from kinfolk.models.base import Batches, no_such_group
from kinfolk.models.layout import Layout
from kinfolk.models.mixture._sample_kernel import (
    Drawn,
    Draws,
    Places,
    Slots,
    draw_attributes,
    draw_compositions,
)
from kinfolk.models.mixture.prepared import in_threads
from kinfolk.schema import Schema
from kinfolk.schema.where import Factor


def mixture_batch(
    layout: Layout, probabilities: npt.NDArray[np.floating[Any]], batches: Batches, at: int
) -> Encoded:
    """Draw one of the batches of a sample, its groups in random order."""
    columns = np.ascontiguousarray(probabilities.T, np.float64)
    # Components take turns over the whole sample, in an order that all batches know.
    rng = batches.rng(0)
    turns = rng.permutation(len(columns))
    if at:
        rng = batches.rng(at)
    number = batches.number(at)
    if batches.stratified:
        chosen = turns[np.arange(batches.start(at), batches.start(at) + number) % len(turns)]
    else:
        chosen = rng.integers(len(turns), size=number)
    return draw_groups(layout, columns, chosen, rng=rng, stratified=batches.stratified)


def mixture_groups(
    layout: Layout,
    probabilities: npt.NDArray[np.floating[Any]],
    compositions: Ints,
    *,
    components: npt.NDArray[np.float64],
    rng: np.random.Generator,
) -> Encoded:
    """One group for each of these compositions, by position; independent of one another.

    components: (K,) how likely each component is.
    """
    columns = np.ascontiguousarray(probabilities.T, np.float64)
    chosen = np.empty(len(compositions), np.int64)
    for composition in np.unique(compositions).tolist():
        groups = np.flatnonzero(compositions == composition)
        below = np.cumsum(components * columns[:, composition])
        points = rng.random(len(groups)) * below[-1]
        found = np.searchsorted(below, points, side="right")
        chosen[groups] = np.minimum(found, np.searchsorted(below, below[-1]))
    return draw_groups(
        layout, columns, chosen, rng=rng, stratified=False, compositions=compositions
    )


def draw_groups(
    layout: Layout,
    columns: npt.NDArray[np.float64],
    chosen: Ints,
    *,
    rng: np.random.Generator,
    stratified: bool,
    compositions: Ints | None = None,
) -> Encoded:
    """One group for each of the chosen components, in random order.

    Or with the given compositions, in the order given.
    """
    schema = layout.schema
    counts = np.bincount(chosen, minlength=len(columns))
    components = np.flatnonzero(counts)
    starts = np.concatenate([[0], np.cumsum(counts[components])])
    groups, active = len(chosen), len(components)
    turns = layout.mult.max(axis=0)
    personal = 1 + len(schema.individual_attributes)
    attributes = len(schema.group_attributes) + int(turns.sum()) * personal
    firsts = np.full((1 + attributes, active), -1.0)
    if stratified:
        # Where equally spaced points begin is itself even over the components.
        firsts = spread(1 + attributes, active, _seeds(rng, 1))

    draws = Draws(columns, components, starts, firsts, _seeds(rng, active))
    if compositions is None:
        composition = np.empty(groups, np.int64)
        draw_compositions(draws, layout.group_start, composition)
        place = rng.permutation(groups)
    else:
        place = np.argsort(chosen, kind="stable")
        composition = compositions[place]
    sizes = np.empty(groups, np.int64)
    sizes[place] = layout.sizes[composition]
    offsets = np.concatenate([[0], np.cumsum(sizes)])

    dtype = code_type(schema)
    people = int(offsets[-1])
    group = np.empty((groups, len(schema.group_attributes)), dtype)
    individual = np.empty((people, len(schema.individual_attributes)), dtype)
    role = np.empty(people, np.uint8)
    drawn = Drawn(group, individual, role)
    draws = draws._replace(seeds=_seeds(rng, active))
    places = Places(composition, place, offsets[place])
    first = np.arange(layout.kinds)[:, None] * layout.kind_rows + layout.individual_start
    slots = Slots(
        group_segments=layout.group_start + np.array(layout.group_offsets, np.int64),
        kind_starts=layout.kind_starts,
        kind_start=layout.kind_start if layout.kinded else -1,
        kind_segments=first + np.array(layout.individual_offsets, np.int64),
        turns=turns,
        mult=layout.mult,
        slot_first=np.cumsum(layout.mult, axis=1) - layout.mult,
        slot_roles=np.array(layout.slot_roles, np.int64),
    )

    def fill(low: int, high: int) -> None:
        draw_attributes(draws, slots, places, low, high, drawn)

    in_threads(fill, active)
    return Encoded(
        schema=schema,
        group=group,
        individual=individual,
        offsets=offsets,
        role=role if schema.roles else None,
    )


def _seeds(rng: np.random.Generator, number: int) -> npt.NDArray[np.uint64]:
    return rng.integers(2**64, size=number, dtype=np.uint64)


@dataclass(frozen=True, kw_only=True, eq=False)
class RestrictedMixture:
    """A mixture whose groups are as some factors say."""

    layout: Layout
    probabilities: npt.NDArray[np.floating[Any]]
    """(rows, K) of the whole mixture."""
    components: Floats
    """(K,) how likely each component of it is."""
    factors: Sequence[Factor]
    """What groups may be like."""

    def __post_init__(self) -> None:
        if not self.likely.sum() > 0:
            raise no_such_group()

    @property
    def schema(self) -> Schema:
        """The schema whose groups these are."""
        return self.layout.schema

    @cached_property
    def likely(self) -> Floats:
        """(K,) how likely it is that a group is from a component and as the factors say."""
        found: Floats = self.components * self._first.sum(axis=(1, 2))
        for table in self._others:
            found = found * table.sum(axis=1)
        return found

    def composition_chances(self) -> Floats:
        """(compositions,) how likely a group is to have each."""
        found = self._beside @ self._first.sum(axis=2)
        return np.asarray(found / found.sum())

    def batch(self, batches: Batches, at: int) -> Encoded:
        """Draw one of the batches of a sample, its groups in random order."""
        rng, number, stratified = batches.rng(at), batches.number(at), batches.stratified
        points = rng.random(number)
        if stratified:
            points = (np.arange(number) + rng.random()) / number
        chosen = rng.permutation(_found(np.cumsum(self.likely), points))
        first = self._first.reshape(len(self._columns), -1)
        cells = _cells(first, chosen, rng=rng, stratified=stratified)
        compositions, cells = np.divmod(cells, self._first.shape[2])
        return self._drawn(chosen, compositions, cells, rng=rng, stratified=stratified)

    def like(self, compositions: Ints, *, rng: np.random.Generator) -> Encoded:
        """One group for each of these compositions, by position, in that order."""
        chosen = np.empty(len(compositions), np.int64)
        cells = np.empty(len(compositions), np.int64)
        for composition in np.unique(compositions).tolist():
            groups = np.flatnonzero(compositions == composition)
            table = self._first[:, composition]
            below = np.cumsum(self._beside * table.sum(axis=1))
            if not below[-1] > 0:
                raise no_such_group()
            chosen[groups] = _found(below, rng.random(len(groups)))
            cells[groups] = _cells(table, chosen[groups], rng=rng, stratified=False)
        return self._drawn(chosen, compositions, cells, rng=rng, stratified=False)

    def _drawn(
        self,
        chosen: Ints,
        compositions: Ints,
        cells: Ints,
        *,
        rng: np.random.Generator,
        stratified: bool,
    ) -> Encoded:
        """Groups of these components and compositions, with these cells of the first factor."""
        drawn = draw_groups(
            self.layout,
            self._columns,
            chosen,
            rng=rng,
            stratified=stratified,
            compositions=compositions,
        )
        first, *others = self._ordered
        found = [cells]
        for table in self._others:
            found.append(_cells(table, chosen, rng=rng, stratified=stratified))
        for factor, own in zip((first, *others), found, strict=True):
            if not factor.attributes:
                continue
            codes = np.unravel_index(own, factor.allowed.shape[1:])
            for attribute, code in zip(factor.attributes, codes, strict=True):
                drawn.group[:, attribute] = code
        return drawn

    @cached_property
    def _columns(self) -> Floats:
        """(K, rows) the components."""
        return np.ascontiguousarray(self.probabilities.T, np.float64)

    @cached_property
    def _ordered(self) -> list[Factor]:
        """The factors, first the one about compositions."""
        every = np.ones(self.layout.group_start, np.bool_)
        sized = [one for one in self.factors if len(one.allowed) > 1]
        first = sized or [Factor(attributes=(), allowed=every)]
        return [*first, *(one for one in self.factors if len(one.allowed) == 1)]

    @cached_property
    def _first(self) -> Floats:
        """(K, compositions, cells) how likely every composition is with every cell of a factor."""
        factor = self._ordered[0]
        table = self._table(factor)[:, None] * factor.allowed.reshape(len(factor.allowed), -1)
        return np.asarray(table * self._columns[:, : self.layout.group_start, None])

    @cached_property
    def _beside(self) -> Floats:
        """(K,) how likely a component is, and makes all else that the factors say."""
        whole = self._first.sum(axis=(1, 2))
        # A component without any such group is out.
        found: Floats = np.divide(self.likely, whole, out=np.zeros_like(whole), where=whole > 0)
        return found

    @cached_property
    def _others(self) -> list[Floats]:
        """(K, cells) how likely the cells of every other factor are."""
        return [self._table(one) * one.allowed.reshape(1, -1) for one in self._ordered[1:]]

    def _table(self, factor: Factor) -> Floats:
        """(K, cells) how likely the combinations of a factor's attributes are, allowed or not."""
        layout = self.layout
        found = np.ones((len(self._columns), 1))
        for attribute in factor.attributes:
            low, high = (
                layout.group_start + layout.group_offsets[attribute + step] for step in (0, 1)
            )
            found = (found[:, :, None] * self._columns[:, None, low:high]).reshape(len(found), -1)
        return found


def _found(below: Floats, points: Floats) -> Ints:
    """Where points from 0 to 1 fall; below: running sums of what is not yet a distribution."""
    last = int(np.searchsorted(below, below[-1]))
    found: Ints = np.minimum(np.searchsorted(below, points * below[-1], side="right"), last)
    return found


def _cells(table: Floats, chosen: Ints, *, rng: np.random.Generator, stratified: bool) -> Ints:
    """For each of some rows of a table a cell, as likely as it is in its row; (groups,).

    Stratified, the points of a row are equally spaced and dealt out at random.
    """
    points = rng.random(len(chosen))
    if stratified:
        order = rng.permutation(len(chosen))
        order = order[np.argsort(chosen[order], kind="stable")]
        rows = chosen[order]
        counts = np.bincount(rows, minlength=len(table))
        turn = np.arange(len(rows)) - (np.cumsum(counts) - counts)[rows]
        points[order] = (turn + rng.random(len(table))[rows]) / counts[rows]
    ends = np.cumsum(table, axis=1)
    # A row that nobody chose may hold nothing.
    ends = np.divide(ends, ends[:, -1:], out=np.ones_like(ends), where=ends[:, -1:] > 0)
    flat = (ends + np.arange(len(table))[:, None]).ravel()
    found = np.searchsorted(flat, chosen + points, side="right") - chosen * table.shape[1]
    # What rounding has put beyond the end goes to the last cell that is possible.
    last = table.shape[1] - 1 - np.argmax(table[:, ::-1] > 0, axis=1)
    return np.asarray(np.clip(found, 0, last[chosen]))
