"""Whole records from a model: groups that keep every rule, with numbers, and columns that agree.

What rules say of one person, the model keeps by itself (`person_kinds`). What they say of several
members, of the household, or of numbers inside a bin is looked at when a group is drawn: one that
breaks a rule is drawn again, with the same number of members in every role, until it does not.

Where only groups like something are wanted, they come from what the model says of such groups. What
cannot be known before a group is complete is looked at then, and only groups that are so are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from kinfolk._typing import Bools, Ints
from kinfolk.data.encoded import Encoded, composition_of
from kinfolk.data.numbers import compute_derived, draw_numbers, group_values
from kinfolk.data.shapes import Shapes
from kinfolk.errors import KinfolkError
from kinfolk.models.base import (
    Batches,
    GroupSource,
    Model,
    NoSuchGroupError,
    Seeds,
    batch_rng,
    check_groups,
    fresh_seeds,
    rechunked,
    sample,
)
from kinfolk.models.raking import Raking
from kinfolk.schema import Schema
from kinfolk.schema.attributes import shown
from kinfolk.schema.where import Where, possible_factors

TURNS = 40
"""How often groups that break a rule are drawn again, each turn with more tries for each of them.
Whoever is left then takes the place of nobody: another group of the sample stands there twice."""
TRIES = 16_384
"""Groups that are drawn in one turn at least, if that many tries are allowed,"""
MOST_TRIES = 512
"""and tries for one group in a turn at most."""


FIRST_LOOK = 4096
"""Groups that are looked at for a condition at first, at least."""
LONG_LOOK, LONGEST_LOOK = 400_000, 20_000_000
"""After so many it is known whether the end of a search is in sight, and so many are looked at at
most; a tenth of them where not a single one was found."""

LOW = 0.5
"""A lower share of groups that keep the rules at once is worth saying."""


@dataclass(kw_only=True)
class Acceptance:
    """How often groups kept the rules when they were first drawn."""

    drawn: int = 0
    kept: int = 0
    repeated: int = 0
    """Groups in whose place another one of the sample stands."""

    @property
    def rate(self) -> float:
        """The share that kept the rules."""
        return self.kept / self.drawn if self.drawn else 1.0

    def describe(self) -> dict[str, int | float]:
        """For a certificate: it depends on what was released and drawn, and on nothing else."""
        return {**vars(self), "rate": round(self.rate, 6)}

    def notes(self) -> list[str]:
        """What whoever uses the groups should know, in sentences."""
        found: list[str] = []
        if self.rate < LOW:
            found.append(
                f"only {self.rate:.0%} of the groups kept the rules when they were first drawn; "
                "the others were drawn again, which bends what the model says of them"
            )
        if self.repeated:
            found.append(
                f"{self.repeated:,} groups could not be drawn so that they keep the rules; copies "
                "of others stand in their place"
            )
        return found


@dataclass(kw_only=True)
class Search:
    """How many groups were complete before it was known whether they are wanted."""

    looked_at: int = 0
    wanted: int = 0

    def describe(self) -> dict[str, int]:
        """For a certificate."""
        return vars(self).copy()


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """All that chance has to do with a sample of records."""

    batches: Batches
    seeds: Seeds
    """Of numbers, and of groups that are drawn again."""

    @classmethod
    def of(
        cls, schema: Schema, groups: int, *, rng: np.random.Generator, stratified: bool = True
    ) -> Drawing:
        """A sample of so many groups."""
        check_groups(groups)
        batches = Batches.of(schema, groups, rng=rng, stratified=stratified)
        return cls(batches=batches, seeds=fresh_seeds(rng))


@dataclass(frozen=True, kw_only=True)
class Records:
    """Draws records from a model.

    >>> from kinfolk.datasets import load_schema
    >>> from kinfolk.models.histogram import Histogram
    >>> records = Records(model=Histogram.uniform(load_schema("acs-red")))
    >>> list(records.draw(1000, rng=np.random.default_rng(1), chunk=600))
    [Encoded(600 groups, 1,757 people), Encoded(400 groups, 1,176 people)]
    >>> records.acceptance.rate
    1.0
    """

    model: Model
    shapes: Shapes | None = None
    """How numbers lie inside their bins; evenly without."""
    raking: Raking | None = None
    """Which groups are kept, so that what was measured of whole groups comes out; all without."""
    types: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Storage types (Arrow) by table and column, which numbers are rounded to."""
    where: Where | None = None
    """Only groups that meet a condition."""
    acceptance: Acceptance = field(default_factory=Acceptance)
    """How often the rules were kept, over all draws so far."""
    search: Search = field(default_factory=Search)
    """How often the condition was met, over all draws so far, where groups had to be looked at."""
    progress: Callable[[int], None] | None = None
    """Told how many groups have been found, while groups have to be looked at."""

    def draw(
        self,
        groups: int,
        *,
        rng: np.random.Generator,
        chunk: int | None = None,
        stratified: bool = True,
    ) -> Iterator[Encoded]:
        """Exactly so many groups, with numbers and computed columns, as `sample` has them."""
        drawing = Drawing.of(self.model.schema, groups, rng=rng, stratified=stratified)
        drawn = (self.batch(drawing, at) for at in range(len(drawing.batches)))
        return drawn if chunk is None else rechunked(drawn, chunk)

    def batch(self, drawing: Drawing, at: int) -> Encoded:
        """One of the batches of a sample; no other one has to be drawn for it."""
        batches = drawing.batches
        if self.where is None or self.where.exact:
            return self._keeping(self._source.batch(batches, at), batch_rng(drawing.seeds, at))
        return Encoded.joined(list(self._searched(batches, at, self.where)))

    def draw_all(self, groups: int, *, rng: np.random.Generator) -> Encoded:
        """Exactly so many groups, all in one."""
        return Encoded.joined(list(self.draw(groups, rng=rng)))

    @cached_property
    def _source(self) -> GroupSource:
        """What groups are drawn from: the model, given all that is known before they are."""
        if self.where is None or not self.where.factors:
            return self.model
        return self.model.restricted(self.where.factors)

    @cached_property
    def _again(self) -> GroupSource | None:
        """What groups are drawn from again: given also what rules say of the group itself.

        However rare the model has made what they leave, it need not be waited for. None where it
        has left nothing.
        """
        factors = possible_factors(self.model.schema, self.where)
        try:
            return self.model.restricted(factors) if factors else self.model
        except NoSuchGroupError:
            return None

    @cached_property
    def _makeable(self) -> Bools:
        """(compositions,) which of them groups that are drawn again can have."""
        if self._again is None:
            return np.zeros(len(self.model.schema.compositions), np.bool_)
        return np.asarray(self._again.composition_chances() > 0)

    def _searched(self, batches: Batches, at: int, where: Where) -> Iterator[Encoded]:
        """The groups of a batch, which meet a condition; the others are drawn and left out."""
        groups, rng = batches.number(at), batches.rng(at)
        found = looked_at = 0
        size = groups
        while found < groups:
            size = int(np.clip(size, FIRST_LOOK, batches.size))
            for batch in sample(self._source, size, rng=rng, stratified=batches.stratified):
                complete = self._keeping(batch, rng)
                wanted = np.flatnonzero(where.chosen(group_values(complete)))
                looked_at += complete.groups
                self.search.looked_at += complete.groups
                self.search.wanted += len(wanted)
                wanted = wanted[: groups - found]
                found += len(wanted)
                if len(wanted):
                    yield complete.take(wanted)
            if self.progress is not None:
                self.progress(batches.start(at) + found)
            left = (groups - found) * looked_at / max(found, 1)
            if looked_at >= LONG_LOOK and left + looked_at > LONGEST_LOOK * max(found > 0, 0.1):
                raise KinfolkError(
                    f"where: {found:,} of {looked_at:,} groups that were drawn are like "
                    f"{shown(where.text, most=80)}: too few to find {groups:,}. Draw fewer, or "
                    "choose a condition that more groups meet."
                )
            # A few more than it should take, so that the next look is likely to be the last.
            size = int(1.1 * left) + 100

    def _completed(self, codes: Encoded, rng: np.random.Generator) -> Encoded:
        """Groups with numbers, and with all that is computed from them."""
        codes = replace(codes, types=self.types)
        return compute_derived(draw_numbers(codes, rng=rng, shapes=self.shapes))

    def _keeping(self, codes: Encoded, rng: np.random.Generator) -> Encoded:
        """A batch in which every group keeps every rule; the compositions stay as they are."""
        batch = self._completed(codes, rng)
        if not batch.schema.rules and self.raking is None:
            return batch
        against = broken(batch)
        self.acceptance.drawn += batch.groups
        self.acceptance.kept += batch.groups - int(against.sum())
        waiting = np.flatnonzero(against | self._left(batch, rng))
        if not len(waiting):
            return batch
        found: list[Encoded] = [batch]
        source = np.arange(batch.groups)
        compositions = composition_of(batch)
        hopeless = waiting[~self._makeable[compositions[waiting]]]
        waiting = np.setdiff1d(waiting, hopeless, assume_unique=True)
        for _ in range(TURNS):
            if self._again is None or not len(waiting):
                break
            tries = int(np.clip(TRIES // len(waiting), 1, MOST_TRIES))
            wanted = np.repeat(waiting, tries)
            fresh = self._completed(self._again.like(compositions[wanted], rng=rng), rng)
            good = np.flatnonzero(~(broken(fresh) | self._left(fresh, rng)))
            # The first try that keeps the rules, for every group that has one.
            filled, first = np.unique(wanted[good], return_index=True)
            source[filled] = sum(part.groups for part in found) + np.arange(len(filled))
            found.append(fresh.take(good[first]))
            waiting = np.setdiff1d(waiting, filled, assume_unique=True)
        hopeless = np.concatenate([hopeless, waiting])
        if len(hopeless):
            source[hopeless] = self._stand_ins(batch, source, hopeless, rng)
        return Encoded.joined(found).take(source)

    def _left(self, groups: Encoded, rng: np.random.Generator) -> Bools:
        """(groups,) which groups are not kept, by raking."""
        if self.raking is None:
            return np.zeros(groups.groups, np.bool_)
        return ~self.raking.kept(groups, rng)

    def _stand_ins(
        self, batch: Encoded, source: Ints, waiting: Ints, rng: np.random.Generator
    ) -> Ints:
        """For groups that no draw has made possible, others of the sample, as large if possible."""
        good = np.setdiff1d(np.arange(batch.groups), waiting, assume_unique=True)
        if not len(good):
            if self.where is not None:
                raise KinfolkError(
                    f"where: no group like {shown(self.where.text, most=80)} that keeps the rules "
                    "could be drawn from the model. Look whether the rules leave room for any."
                )
            raise KinfolkError(
                "no group that keeps the rules could be drawn from the model. Look whether the "
                "rules under `never:` leave room for the groups that there are, or spend more."
            )
        self.acceptance.repeated += len(waiting)
        sizes = batch.sizes
        found = np.empty(len(waiting), np.int64)
        for at, size in enumerate(sizes[waiting].tolist()):
            distance = np.abs(sizes[good] - size)
            nearest = good[distance == distance.min()]
            found[at] = source[nearest[rng.integers(len(nearest))]]
        return found


def broken(groups: Encoded) -> Bools:
    """(groups,) which groups break a rule of the schema; their numbers must have been drawn."""
    values = group_values(groups)
    found = np.zeros(groups.groups, np.bool_)
    for rule in groups.schema.rules:
        found |= rule.violated(values)
    return found
