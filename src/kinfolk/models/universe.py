"""Every group that a schema allows, listed: what MWEM and PEP put probabilities on.

No query asks which of two members of a role is listed first, so groups that differ only in that are
kept as one, with the number of their orders. A *cast* is a composition together with its members'
attributes, up to order within a role; a group is a cast in a household of some kind.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kinfolk._typing import Bools, Codes, Floats, Ints
from kinfolk.errors import KinfolkError
from kinfolk.models.universe_kernel import LEVELS, contributions
from kinfolk.queries.questions import Conditions, Question
from kinfolk.queries.workload import Query, tie_bits
from kinfolk.schema import Attribute, Schema

LARGEST = 3_000_000
"""Groups that are listed by default at most: 24 MB for one distribution over them."""

_MEMBERS = 20
"""Members listed at most, as a multiple of the limit; only thousands of large groups get there."""


def universe_size(schema: Schema) -> int:
    """How many groups the schema allows, the order of members included: the paper's |X|.

    >>> from kinfolk.datasets import load_schema
    >>> universe_size(load_schema("acs-red"))
    262080
    """
    people = _cells(schema.individual_attributes.values())
    casts = sum(math.prod([people] * sum(counts)) for counts in schema.compositions)
    return _cells(schema.group_attributes.values()) * casts


def distinct_size(schema: Schema) -> int:
    """How many groups the schema allows, up to the order of members of the same role.

    >>> from kinfolk.datasets import load_schema
    >>> distinct_size(load_schema("acs-red"))
    58080
    """
    people = _cells(schema.individual_attributes.values())
    return _cells(schema.group_attributes.values()) * _casts(people, schema.compositions)


@dataclass(frozen=True, kw_only=True, eq=False)
class Universe:
    """All groups of a schema: casts (rows) by kinds of household (columns).

    >>> from kinfolk.datasets import load_schema
    >>> Universe.of(load_schema("acs-red"))
    Universe(262,080 groups, 58,080 up to the order of members: 968 casts by 60)
    """

    schema: Schema
    members: npt.NDArray[np.int32]
    """(casts, M) each member's kind of person, role after role; -1 where nobody is."""
    composition: npt.NDArray[np.int32]
    """(casts,) which of the schema's compositions the cast has."""
    orders: Floats
    """(casts,) the logarithm of how many orders of members the cast stands for."""

    @classmethod
    def of(cls, schema: Schema, *, limit: int = LARGEST) -> Universe:
        """List the groups of a schema, unless there are more than `limit`."""
        people = _cells(schema.individual_attributes.values())
        casts = _casts(people, schema.compositions)
        listed = casts * schema.size_limit
        if distinct_size(schema) > limit or listed > _MEMBERS * limit:
            raise KinfolkError(_refusal(schema, limit))
        parts = [_listed(people, composition) for composition in schema.compositions]
        members = np.full((casts, schema.size_limit), -1, np.int32)
        start = 0
        for part, counts in zip(parts, schema.compositions, strict=True):
            roles = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
            members[start : start + len(part), : part.shape[1]] = part + people * roles
            start += len(part)
        composition = np.repeat(np.arange(len(parts), dtype=np.int32), [len(p) for p in parts])
        orders = np.concatenate(
            [
                _log_orders(part, counts)
                for part, counts in zip(parts, schema.compositions, strict=True)
            ]
        )
        return cls(schema=schema, members=members, composition=composition, orders=orders)

    @property
    def size(self) -> int:
        """How many groups there are, the order of members included."""
        return universe_size(self.schema)

    @property
    def casts(self) -> int:
        """How many casts there are."""
        return len(self.members)

    @cached_property
    def group_cells(self) -> int:
        """How many kinds of household there are."""
        return _cells(self.schema.group_attributes.values())

    @cached_property
    def sizes(self) -> Ints:
        """(casts,) how many members each cast has."""
        return self.composition_sizes[self.composition]

    @cached_property
    def size_index(self) -> Ints:
        """(casts,) the cast's size, counted from the smallest."""
        return self.sizes - self.schema.sizes.start

    @property
    def flat(self) -> bool:
        """Whether there are people only: a distribution over groups is one over their grid."""
        return self.schema.group is None and self.schema.compositions == ((1,),)

    @cached_property
    def composition_sizes(self) -> Ints:
        """(compositions,) how many members each composition has."""
        return np.array([sum(counts) for counts in self.schema.compositions], np.int64)

    @cached_property
    def roles(self) -> npt.NDArray[np.int8]:
        """(compositions, M) each member's role; -1 where nobody is."""
        found = np.full((len(self.schema.compositions), self.schema.size_limit), -1, np.int8)
        for row, counts in zip(found, self.schema.compositions, strict=True):
            row[: sum(counts)] = np.repeat(np.arange(len(counts)), counts)
        return found

    @cached_property
    def group_codes(self) -> npt.NDArray[np.uint16]:
        """(household kinds, group attributes) the codes of every kind, the last one fastest."""
        return _codes(self.schema.group_attributes.values())

    @cached_property
    def person_codes(self) -> npt.NDArray[np.uint16]:
        """(person kinds, individual attributes + 1) the codes of every kind, and its role.

        The last attribute changes fastest, the role most slowly.
        """
        codes = _codes(self.schema.individual_attributes.values())
        roles = np.arange(len(self.schema.compositions[0]), dtype=np.uint16)
        return np.column_stack([np.tile(codes, (len(roles), 1)), np.repeat(roles, len(codes))])

    def person_cells(self, positions: Sequence[int]) -> Ints:
        """(person kinds,) the cell of every kind of person in a marginal over some attributes."""
        key = tuple(positions)
        if key not in self._known_cells:
            attributes = list(self.schema.member_attributes.values())
            cells = np.zeros(len(self.person_codes), np.int64)
            for position in key:
                cells = cells * attributes[position].size + self.person_codes[:, position]
            self._known_cells[key] = cells
        return self._known_cells[key]

    @cached_property
    def _known_cells(self) -> dict[tuple[int, ...], Ints]:
        return {}

    def ties(self, relation: str | None) -> Ints:
        """(ties, 2) a relation as the kernel reads it: a role, and a set of roles."""
        found = [] if relation is None else tie_bits(self.schema, relation)
        return np.array(found, np.int64).reshape(-1, 2)

    def contribution(self, asked: Query | Question) -> tuple[npt.NDArray[np.uint16], Bools]:
        """What a group adds to a query: (casts,) numbers, if its kind is among (kinds,) those.

        A group adds the cast's number where its kind of household matches, and nothing elsewhere.
        """
        matching = np.ones(self.group_cells, np.bool_)
        wanted = np.ones(len(self.composition_sizes), np.bool_)
        for position, codes in asked.group.items():
            if position == len(self.schema.group_attributes):
                wanted = _any_of(self.composition_sizes - self.schema.sizes.start, codes)
            else:
                matching &= _any_of(self.group_codes[:, position], codes)
        added = contributions(
            self.members,
            self.composition,
            self.composition_sizes,
            self.roles,
            LEVELS[asked.level],
            wanted,
            self._matching(asked.individual),
            self._matching(asked.relative),
            self.ties(asked.relation),
        )
        return added, matching

    @cached_property
    def person_grid(self) -> tuple[int, ...]:
        """How many roles there are, and values of each attribute: kinds of people as an array."""
        attributes = (attribute.size for attribute in self.schema.individual_attributes.values())
        return (len(self.schema.compositions[0]), *attributes)

    def place(self, positions: Iterable[int], codes: Iterable[int]) -> tuple[int | slice, ...]:
        """Where the people with these codes are in the grid."""
        found: list[int | slice] = [slice(None)] * len(self.person_grid)
        for position, code in zip(positions, codes, strict=True):
            # The role is the last of a member's attributes, and the first axis.
            found[(position + 1) % len(found)] = code
        return tuple(found)

    def _matching(self, conditions: Conditions) -> Bools:
        """(person kinds,) who is as the conditions say."""
        found = np.zeros(self.person_grid, np.bool_)
        for codes in itertools.product(*conditions.values()):
            found[self.place(conditions, codes)] = True
        return found.ravel()

    def __repr__(self) -> str:
        distinct = self.casts * self.group_cells
        return (
            f"Universe({self.size:,} groups, {distinct:,} up to the order of members: "
            f"{self.casts:,} casts by {self.group_cells:,})"
        )


def _any_of(values: Codes, codes: Iterable[int]) -> Bools:
    """Which of the values are among the codes; much quicker than `np.isin` where these are few."""
    found = np.zeros(len(values), np.bool_)
    for code in codes:
        found |= values == code
    return found


def _cells(attributes: Iterable[Attribute]) -> int:
    return math.prod(attribute.size for attribute in attributes)


def _casts(people: int, compositions: Iterable[Sequence[int]]) -> int:
    """How many casts there are of so many kinds of people."""
    return sum(
        math.prod(math.comb(people + number - 1, number) for number in composition)
        for composition in compositions
    )


def _codes(attributes: Iterable[Attribute]) -> npt.NDArray[np.uint16]:
    """All combinations of codes, (cells, attributes), the last attribute fastest."""
    shape = tuple(attribute.size for attribute in attributes)
    grid = np.indices(shape, np.uint16).reshape(len(shape), math.prod(shape))
    return np.ascontiguousarray(grid.T)


def _listed(people: int, composition: Sequence[int]) -> npt.NDArray[np.int32]:
    """(casts, size) the casts of one composition; members of a role in increasing order."""
    found = np.zeros((1, 0), np.int32)
    for number in composition:
        role = _unordered(people, number)
        first = np.repeat(found, len(role), axis=0)
        found = np.hstack([first, np.tile(role, (len(found), 1))])
    return found


def _unordered(people: int, number: int) -> npt.NDArray[np.int32]:
    """(sets, number) all ways to choose so many members, repetition allowed, in order."""
    found = np.zeros((1, 0), np.int32)
    for _ in range(number):
        lowest = found[:, -1] if found.shape[1] else np.zeros(1, np.int32)
        choices = people - lowest
        starts = np.cumsum(choices) - choices
        last = np.arange(choices.sum()) - np.repeat(starts - lowest, choices)
        found = np.hstack([np.repeat(found, choices, axis=0), last[:, None].astype(np.int32)])
    return found


def _log_orders(members: npt.NDArray[np.int32], composition: Sequence[int]) -> Floats:
    """(casts,) log of n! / (n_1! n_2! ...) over the kinds of people of every role."""
    total = np.full(len(members), sum(math.lgamma(number + 1) for number in composition))
    start = 0
    for number in composition:
        run = np.ones(len(members))
        for place in range(start + 1, start + number):
            run = np.where(members[:, place] == members[:, place - 1], run + 1, 1)
            total -= np.log(run)
        start += number
    return total


def _refusal(schema: Schema, limit: int) -> str:
    """Say how large the universe is, and what would fit."""
    groups = _cells(schema.group_attributes.values())
    people = _cells(schema.individual_attributes.values())

    def fits(kinds: int, compositions: Sequence[Sequence[int]]) -> bool:
        casts = _casts(kinds, compositions)
        return groups * casts <= limit and casts * schema.size_limit <= _MEMBERS * limit

    ways: list[str] = []
    largest = schema.sizes.start - 1
    while fits(people, [one for one in schema.compositions if sum(one) <= largest + 1]):
        largest += 1
    if largest >= schema.sizes.start:
        ways.append(f"max_size {largest}")
    if fits(1, schema.compositions):
        low, high = 1, min(people, limit + 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle, schema.compositions) else (low, middle)
        ways.append(
            f"at most {low:,} kinds of {schema.individual.table} (now {_number(people)}), "
            "by fewer or coarser attributes"
        )
    would = f"What would fit: {'; or '.join(ways)}. " if ways else ""
    return (
        f"the schema allows {_number(universe_size(schema))} groups, "
        f"{_number(distinct_size(schema))} up to the order of members; "
        f"a method that lists them takes {limit:,}. {would}"
        "hpd-fixed and hpd-gen have no such limit."
    )


def _number(number: int) -> str:
    """A whole number of any size, for a message."""
    if number < 10**15:
        return f"{number:,}"
    digits = math.floor(math.log10(number))
    return f"about {number / 10**digits:.1f}e{digits}"
