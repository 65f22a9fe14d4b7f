"""How a model of groups lays out its probabilities: compositions, slots, attributes, rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from kinfolk.errors import KinfolkError
from kinfolk.models.person_kinds import Kind, person_kinds
from kinfolk.schema import Attribute, Schema
from kinfolk.schema.bins import coarse_codes, coarse_size
from kinfolk.schema.roles import is_whole

Floats = npt.NDArray[np.floating[Any]]
Ints = npt.NDArray[np.int64]

Scheme = Sequence[int] | Mapping[str, Sequence[int]]
"""How many members share each slot: of a group, or by role."""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Slots, and which members of a group are drawn from which.

    A slot is a distribution over what members are like. Members of a role take its slots in order,
    each slot as many as it holds. Without roles there is one nameless role.

    What the schema's rules say of one member is kept by *kinds* of people, such as children and
    adults: within a kind, every attribute has only the categories that go with it. A slot has a
    distribution over its kinds, and for each kind one over every attribute. Where nothing is
    forbidden there is one kind. The role is an attribute too, of which a slot allows only its own.

    All distributions of a component are stacked in one column: first the one over compositions,
    then one for each group attribute, then for each slot one over its kinds (if any slot has more
    than one), then for each kind of each slot one for each attribute of a member.

    >>> from kinfolk.datasets import load_schema
    >>> layout = Layout.of(load_schema("acs"))
    >>> layout.scheme, layout.mult[4].tolist()
    (((1, 1, 1, 2, 2, 3),), [1, 1, 1, 2, 0, 0])
    >>> layout = Layout.of(load_schema("acs-rel"))
    >>> layout.scheme, layout.mult[4].tolist()
    (((1,), (1,), (4,)), [1, 0, 4])
    >>> layout.rows, layout.parameters(1000)
    (292, 292000)
    """

    schema: Schema
    """The public schema."""
    scheme: tuple[tuple[int, ...], ...]
    """For each role, how many members each of its slots holds."""
    coarse: bool = False
    """Whether numbers have large bins (`schema.bins`): so are coarse marginals answered."""
    kept: frozenset[int] | None = None
    """The compositions that groups can have, by position; without it all of the schema's."""

    @classmethod
    def of(cls, schema: Schema, *, scheme: Scheme | None = None) -> Layout:
        """A layout by a scheme: numbers of members by slot, with roles a mapping from role names.

        By default the first three members have a slot each, the next two share one, so do the two
        after them, and then every three: the paper's {1, 1, 1, 2, 2, 3}. With roles, all members of
        a role share one. What a scheme holds beyond the largest group is cut off.
        """
        most = _most_members(schema)
        given: list[Sequence[int] | None]
        if schema.roles is None:
            if isinstance(scheme, Mapping):
                raise KinfolkError("the scheme names roles, and there are none. List its numbers.")
            given = [(1, 1, 1, 2, 2, *[3] * (most[0] // 3 + 1)) if scheme is None else scheme]
        else:
            names = schema.roles.names
            if scheme is not None and not isinstance(scheme, Mapping):
                fix = f"Give numbers by role, such as {{{names[-1]!r}: {list(scheme)}}}."
                raise KinfolkError(f"the scheme {list(scheme)} does not say of which role. {fix}")
            unknown = sorted(set(scheme or {}) - set(names))
            if unknown:
                fix = f"Declared roles: {', '.join(names)}."
                raise KinfolkError(f"the scheme names the role {unknown[0]!r}. {fix}")
            given = [(scheme or {}).get(name) for name in names]
        parts = [
            _cut([number] if part is None else part, number)
            for part, number in zip(given, most, strict=True)
        ]
        return cls(schema=schema, scheme=tuple(parts))

    def __post_init__(self) -> None:
        most = _most_members(self.schema)
        if len(self.scheme) != len(most):
            raise ValueError(f"a scheme for {len(self.scheme)} roles, expected {len(most)}")
        for role, (part, number) in enumerate(zip(self.scheme, most, strict=True)):
            if any(not is_whole(held) or held < 1 for held in part):
                raise KinfolkError(
                    f"the scheme {list(part)} is not a list of whole numbers of at least 1. "
                    "Say how many members share each slot, such as [1, 1, 2]."
                )
            if sum(part) < number:
                roles = self.schema.roles
                of = f" of role {roles.names[role]!r}" if roles else ""
                raise KinfolkError(
                    f"the scheme {list(part)} holds {sum(part)} members{of}, but a group may have "
                    f"{number}. Add slots, or larger ones."
                )

    def keeping(self, compositions: Iterable[int]) -> Layout:
        """The same layout for groups of these compositions only, by position.

        >>> from kinfolk.datasets import load_schema
        >>> Layout.of(load_schema("acs-rel")).keeping([0, 2]).possible[:4].tolist()
        [True, False, True, False]
        """
        return replace(self, kept=frozenset(compositions))

    @cached_property
    def slot_roles(self) -> tuple[int, ...]:
        """The role of each slot."""
        return tuple(role for role, part in enumerate(self.scheme) for _ in part)

    @property
    def slots(self) -> int:
        """J, the number of slots."""
        return len(self.slot_roles)

    @cached_property
    def mult(self) -> Ints:
        """(compositions, slots) how many members a composition draws from each slot."""
        rows = []
        for composition in self.schema.compositions:
            row: list[int] = []
            for number, part in zip(composition, self.scheme, strict=True):
                left = number
                for held in part:
                    row.append(min(held, left))
                    left -= row[-1]
            rows.append(row)
        return np.array(rows, np.int64).reshape(len(rows), self.slots)

    @cached_property
    def sizes(self) -> Ints:
        """(compositions,) how many members each composition has."""
        return np.array([sum(c) for c in self.schema.compositions], np.int64)

    @cached_property
    def group_offsets(self) -> tuple[int, ...]:
        """Where each group attribute begins among the group's rows; the last entry is D_G."""
        return self._offsets(self.schema.group_attributes)

    @cached_property
    def individual_offsets(self) -> tuple[int, ...]:
        """Where each attribute of a member begins among a kind's rows; the last entry is D_I."""
        return self._offsets(self.schema.member_attributes)

    def _offsets(self, attributes: Mapping[str, Attribute]) -> tuple[int, ...]:
        size = coarse_size if self.coarse else attrgetter("size")
        return (0, *itertools.accumulate(map(size, attributes.values())))

    @cached_property
    def _kinds(self) -> tuple[tuple[Kind, ...], ...]:
        """For each slot its kinds of people."""
        by_role = person_kinds(self.schema)
        found = tuple(by_role[role] for role in self.slot_roles)
        if not self.coarse:
            return found
        codes = [coarse_codes(one) for one in self.schema.member_attributes.values()]
        return tuple(tuple(tuple(map(_coarsely, kind, codes)) for kind in kinds) for kinds in found)

    @cached_property
    def coarsened(self) -> Layout:
        """The same slots and kinds of people, with large bins."""
        return replace(self, coarse=True)

    @cached_property
    def coarse_rows(self) -> Ints:
        """(rows,) for every row the one of the coarsened layout that it is a part of.

        They never fall, so that the rows of a large bin stand together.
        """
        other = self.coarsened
        group, members = (
            [np.array(coarse_codes(one), np.int64) for one in attributes.values()]
            for attributes in (self.schema.group_attributes, self.schema.member_attributes)
        )
        parts = [np.arange(self.group_start)]
        starts = zip(group, other.group_offsets, strict=False)
        parts += [other.group_start + start + codes for codes, start in starts]
        parts.append(np.arange(other.kind_start, other.individual_start))
        for kind in range(self.kinds):
            first = other.individual_start + kind * other.kind_rows
            starts = zip(members, other.individual_offsets, strict=False)
            parts += [first + start + codes for codes, start in starts]
        return np.concatenate(parts)

    @cached_property
    def kind_starts(self) -> Ints:
        """(slots + 1,) the first kind of each slot, where all kinds of all slots are numbered."""
        return np.cumsum([0, *map(len, self._kinds)], dtype=np.int64)

    @property
    def kinds(self) -> int:
        """All kinds of all slots."""
        return int(self.kind_starts[-1])

    @property
    def kinded(self) -> bool:
        """Whether any slot has more than one kind of people."""
        return self.kinds > self.slots

    @property
    def group_start(self) -> int:
        """The first row of the group's attributes: the rows before it are the compositions'."""
        return len(self.schema.compositions)

    @property
    def kind_start(self) -> int:
        """The first row of how likely the kinds of people are, one for every kind, if any."""
        return self.group_start + self.group_offsets[-1]

    @property
    def individual_start(self) -> int:
        """The first row of the first kind of the first slot."""
        return self.kind_start + (self.kinds if self.kinded else 0)

    @property
    def kind_rows(self) -> int:
        """D_I, the rows of one kind of people."""
        return self.individual_offsets[-1]

    @property
    def rows(self) -> int:
        """All rows of one component."""
        return self.individual_start + self.kinds * self.kind_rows

    @cached_property
    def segments(self) -> Ints:
        """(distributions + 1,) the first row of each distribution; the last entry is `rows`."""
        starts = [0, *(self.group_start + start for start in self.group_offsets[:-1])]
        if self.kinded:
            starts += (self.kind_start + self.kind_starts[:-1]).tolist()
        for kind in range(self.kinds):
            first = self.individual_start + kind * self.kind_rows
            starts += [first + start for start in self.individual_offsets[:-1]]
        return np.array([*starts, self.rows], np.int64)

    @cached_property
    def possible(self) -> npt.NDArray[np.bool_]:
        """(rows,) whether a category can occur there at all."""
        own = [allowed for kinds in self._kinds for kind in kinds for allowed in kind]
        first = np.ones(self.individual_start, np.bool_)
        if self.kept is not None:
            first[: self.group_start] = np.isin(np.arange(self.group_start), list(self.kept))
        return np.concatenate([first, *own])

    def masked(self, logits: Floats) -> Floats:
        """Logits, (rows, K), with nothing left for what cannot occur; changed in place."""
        logits[~self.possible] = -np.inf
        return logits

    def parameters(self, components: int) -> int:
        """How many numbers a mixture of so many components holds."""
        return self.rows * components


def _coarsely(allowed: npt.NDArray[np.bool_], codes: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Which large bins hold a bin that is allowed."""
    found = np.zeros(max(codes) + 1, np.bool_)
    np.logical_or.at(found, np.array(codes), allowed)
    return found


def _most_members(schema: Schema) -> list[int]:
    """The most members of each role."""
    return [max(numbers) for numbers in zip(*schema.compositions, strict=True)]


def _cut(part: Sequence[int], most: int) -> tuple[int, ...]:
    """A scheme without what is beyond the largest group; a wrong one as it is, to be refused."""
    if not all(is_whole(held) for held in part):
        return tuple(part)
    kept: list[int] = []
    for held in part:
        left = most - sum(kept)
        if left <= 0:
            break
        kept.append(min(held, left))
    return tuple(kept)
