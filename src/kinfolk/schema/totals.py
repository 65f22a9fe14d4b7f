"""Totals: what a group has of an amount, as one number for the whole group.

An amount is a number that may be nothing: an income, a wage, a pension. Of the group it is its own;
of the members it is added up. Totals are counted up to a cap, so that no group adds more than one
cap, and in whole units of it. All of it follows from the schema alone, and is public.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from kinfolk.schema.attributes import Attribute, Numeric
from kinfolk.schema.bins import finer, in_bands, tail_of
from kinfolk.schema.schema import Schema
from kinfolk.schema.workload_spec import Level

UNITS = 2520
"""A cap has so many units."""
LARGEST = 2**40
"""Units that one number counts for at most, so that no sum of them is rounded or wraps around."""
BANDS = 9
"""A group's own amount, and what its members have together, are told apart in so many bands."""
ALIKE = 30
"""Amounts of group and members are of one kind, so that they can be added up and compared, if their
caps differ by no more than this factor: incomes and wages are, incomes and hours are not."""


@dataclass(frozen=True, kw_only=True)
class GroupTotal:
    """A number of the group, or some of its members' added up; by position in the schema."""

    level: Level
    positions: tuple[int, ...]
    cap: float
    """What is beyond it counts as this much."""

    def units(self, attribute: Numeric) -> list[int]:
        """For every code of an attribute how much it is, in units of the cap: the middle of a bin.

        >>> total = GroupTotal(level=Level.GROUP, positions=(0,), cap=2520)
        >>> total.units(Numeric(bins=[0, 100, 300], special=[0], missing=True, decimals=0))
        [50, 200, 0, 0]
        """
        step = 0.0 if attribute.places is None else 10.0**-attribute.places
        bins = attribute.bins
        values = [(low + high - step) / 2 for low, high in itertools.pairwise(bins)]
        values += [float(one) for one in attribute.special] + [0.0] * attribute.missing
        units = (UNITS * one / self.cap for one in values)
        return [round(min(max(one, -LARGEST), LARGEST)) for one in units]


@dataclass(frozen=True, kw_only=True)
class Totals:
    """The totals of a schema."""

    schema: Schema

    @cached_property
    def sums(self) -> tuple[GroupTotal, ...]:
        """The weight of the group and its largest amount, then those of members; up to their caps.

        >>> from kinfolk.datasets import load_schema
        >>> [one.cap for one in Totals(schema=load_schema("detroit")).sums]
        [250000.0]
        """
        return (*self._weight, *self._largest, *self._amounts(Level.INDIVIDUAL))

    @cached_property
    def joint(self) -> tuple[int, GroupTotal] | None:
        """The group's largest amount by position, and what the members have of the same kind."""
        for own in self._largest:
            alike = tuple(
                one.positions[0]
                for one in self._amounts(Level.INDIVIDUAL)
                if own.cap / ALIKE <= one.cap <= own.cap * ALIKE
            )
            if alike:
                both = GroupTotal(level=Level.INDIVIDUAL, positions=alike, cap=own.cap)
                return own.positions[0], both
        return None

    def shape_of_joint(self) -> tuple[int, int]:
        """Bands of the group's own amount, special values and blank apart; bands of the members'.

        ValueError where there is no such pair.
        """
        if self.joint is None:
            raise ValueError("the schema has no amounts of group and members of one kind")
        attribute = self.numeric(Level.GROUP, self.joint[0])
        return max(in_bands(attribute, BANDS)) + 1, len(self.edges()) + 1

    def edges(self) -> list[int]:
        """Where the bands of what members have together begin, in units; before: nothing."""
        assert self.joint is not None  # noqa: S101  (the caller has seen to it)
        at, total = self.joint
        attribute = self.numeric(Level.GROUP, at)
        codes = in_bands(attribute, BANDS)
        lows = zip(attribute.bins[:-1], codes, [-1, *codes], strict=False)
        starts = [low for low, code, before in lows if code != before]
        inner = (math.ceil(UNITS * low / total.cap) for low in starts if low > 0)
        return sorted({1, *(one for one in inner if one > 1)})

    def _attributes(self, level: Level) -> Mapping[str, Attribute]:
        schema = self.schema
        return schema.group_attributes if level is Level.GROUP else schema.individual_attributes

    def numeric(self, level: Level, at: int) -> Numeric:
        """The number at a position, of those that have a total."""
        found = list(self._attributes(level).values())[at]
        assert isinstance(found, Numeric)  # noqa: S101  (only these are amounts)
        return found

    @cached_property
    def _weight(self) -> list[GroupTotal]:
        names = list(self.schema.group_attributes)
        weight = None if self.schema.group is None else self.schema.group.weight
        return [one for one in self._amounts(Level.GROUP) if names[one.positions[0]] == weight]

    @cached_property
    def _largest(self) -> list[GroupTotal]:
        own = [one for one in self._amounts(Level.GROUP) if one not in self._weight]
        return [max(own, key=lambda one: one.cap)] if own else []

    def _amounts(self, level: Level) -> list[GroupTotal]:
        caps = [self._cap(level, one) for one in self._attributes(level).values()]
        return [
            GroupTotal(level=level, positions=(at,), cap=cap)
            for at, cap in enumerate(caps)
            if cap is not None
        ]

    def _cap(self, level: Level, attribute: Attribute) -> float | None:
        """Where the tail of an amount begins; None where it is none.

        Of the group every number that has no end in sight is one; of the members only what some
        have nothing of.
        """
        if not isinstance(attribute, Numeric) or finer(attribute) is None or attribute.derived:
            return None
        last = len(attribute.bins) - 2
        tail = tail_of(attribute, last) == 1
        if level is Level.INDIVIDUAL and 0 not in attribute.special:
            return None
        if level is Level.GROUP and not (tail or 0 in attribute.special):
            return None
        cap = float(attribute.bins[last] if tail and last else attribute.bins[-1])
        return cap if cap > 0 else None
