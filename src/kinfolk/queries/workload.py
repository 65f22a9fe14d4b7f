"""The workload: marginals of integer cells, laid end to end.

A marginal names a set of attributes at one level; its cells are all combinations of their values,
in mixed radix with the last attribute fastest. A million queries are a few hundred marginals, so a
workload costs kilobytes; query number i is cell i - offset of the marginal that holds it.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from kinfolk.errors import KinfolkError, did_you_mean
from kinfolk.schema import Level, Schema
from kinfolk.schema.names import AttributeNames
from kinfolk.template import show

FAMILIES = {Level.GROUP: "Q_G", Level.INDIVIDUAL: "Q_I", Level.RELATION: "Q_R"}
"""What the paper calls the queries of each level."""

MOST_MARGINALS = 100_000
"""Of a workload: with more, each would get next to nothing of a budget."""


TotalKind: TypeAlias = Literal["sum", "bands"]
"""How a total is counted: by how much it is, or in bands of it."""


@dataclass(frozen=True, kw_only=True)
class Marginal:
    """One marginal: all queries over one set of attributes at one level.

    group level       share of groups with the group part that contain somebody with the other part
    individual level  share of individuals with the individual part in groups with the group part
    relation level    the same, who have a relative with the relative part
    """

    level: Level
    """What is counted."""
    relation: str | None = None
    """The relation's name, at the relation level."""
    group: tuple[int, ...] = ()
    """Group attributes by position; the position after the last one is the group's size."""
    individual: tuple[int, ...] = ()
    """Individual attributes by position; the position after the last one is the role."""
    relative: tuple[int, ...] = ()
    """The relative's attributes by position, at the relation level."""
    shape: tuple[int, ...]
    """Categories per attribute: group, then individual, then relative."""
    weight: float = 1.0
    """How much the marginal's errors matter; chosen by the user, public."""
    alone: bool = False
    """Whether it is a number's own, counted once more, and nobody's partner at another level."""
    fine: bool = False
    """Whether that number is counted cell by cell, not bin by bin."""
    coarse: bool = False
    """Whether numbers are counted with neighbouring bins put together (`schema.bins`)."""
    total: TotalKind | None = None
    """Whether it is about what groups have of an amount (`schema.totals`): how much all of them
    have, or how many are in each pair of bands."""

    @cached_property
    def cells(self) -> int:
        """The number of queries in the marginal."""
        return math.prod(self.shape)

    @property
    def group_cells(self) -> int:
        """Cells of the group part alone."""
        return math.prod(self.shape[: len(self.group)])

    @property
    def individual_cells(self) -> int:
        """Cells of the individual part alone."""
        start = len(self.group)
        return math.prod(self.shape[start : start + len(self.individual)])

    @property
    def relative_cells(self) -> int:
        """Cells of the relative's part alone."""
        return math.prod(self.shape[len(self.group) + len(self.individual) :])


@dataclass(frozen=True, kw_only=True)
class Query:
    """One query: a marginal and a cell of it.

    >>> from kinfolk import load_schema
    >>> query = Workload.of(load_schema("acs-red")).query(1)
    >>> query.codes, query.group, query.individual
    ((0, 0, 1), {0: (0,), 1: (0,), 2: (1,)}, {})
    """

    marginal: Marginal
    codes: tuple[int, ...]
    """The category of each of the marginal's attributes."""

    @property
    def level(self) -> Level:
        """What is counted."""
        return self.marginal.level

    @property
    def relation(self) -> str | None:
        """The relation's name, at the relation level."""
        return self.marginal.relation

    @property
    def group(self) -> dict[int, tuple[int]]:
        """What the group must be, by position; the last position is its size."""
        return self._asked(self.marginal.group, 0)

    @property
    def individual(self) -> dict[int, tuple[int]]:
        """What one person must be."""
        return self._asked(self.marginal.individual, len(self.marginal.group))

    @property
    def relative(self) -> dict[int, tuple[int]]:
        """What a relative of that person must be."""
        return self._asked(self.marginal.relative, -len(self.marginal.relative))

    def _asked(self, positions: tuple[int, ...], start: int) -> dict[int, tuple[int]]:
        codes = self.codes[start:] if positions else ()
        return {position: (code,) for position, code in zip(positions, codes, strict=False)}


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Marginals laid end to end in one vector of answers.

    >>> from kinfolk import load_schema
    >>> workload = Workload.of(load_schema("acs-red"))
    >>> workload.size, {level: workload.count(level) for level in ("group", "individual")}
    (2666, {'group': 1333, 'individual': 1333})
    """

    schema: Schema
    marginals: tuple[Marginal, ...]

    @classmethod
    def of(
        cls,
        schema: Schema,
        *,
        k: int | None = None,
        levels: Sequence[str] | None = None,
        attributes: Sequence[str] | None = None,
        sets: Sequence[Sequence[str]] | None = None,
    ) -> Workload:
        """All sets of `k` attributes at the given levels; by default what the schema asks for.

        `attributes` keeps only sets made of these; `sets` lists the attribute sets themselves,
        whatever their size. An attribute that both tables have is written `table.name`.
        """
        spec = schema.workload
        names = AttributeNames(schema)
        chosen_levels = _read_levels(schema, spec.levels if levels is None else levels)
        chosen_sets = spec.sets if sets is None and attributes is None and k is None else sets
        listed = dict.fromkeys(
            tuple(sorted({names.find(name) for name in one})) for one in chosen_sets or ()
        )
        allowed = spec.attributes if attributes is None else attributes
        positions = sorted({names.find(name) for name in allowed}) if allowed else names.all
        order = spec.k if k is None else k
        if not listed and not 1 <= order <= len(positions):
            raise KinfolkError(
                f"k = {order}, but there are {len(positions)} attributes to choose from. "
                f"Use k from 1 to {len(positions)}."
            )
        if not listed:
            _refuse_too_many(schema, chosen_levels, positions, order)
        marginals: list[Marginal] = []
        for level in chosen_levels:
            weight = float(spec.weights.get(level, 1.0))
            for relation in schema.relations if level is Level.RELATION else (None,):
                if listed:
                    parts = _split_sets(level, names, list(listed))
                else:
                    parts = _parts(level, names, positions, order)
                marginals += [_marginal(names, level, relation, part, weight) for part in parts]
        if not marginals:
            raise KinfolkError(
                "the workload is empty: no query fits the levels and attributes. "
                "A relation query needs an individual attribute."
            )
        return cls(schema=schema, marginals=tuple(marginals))

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where each marginal begins in the vector of answers; the last entry is its length."""
        return (0, *itertools.accumulate(marginal.cells for marginal in self.marginals))

    @property
    def size(self) -> int:
        """The number of queries."""
        return self.offsets[-1]

    @property
    def finely(self) -> bool:
        """Whether some number is counted cell by cell."""
        return any(marginal.fine for marginal in self.marginals)

    @property
    def coarsely(self) -> bool:
        """Whether some numbers are counted with large bins."""
        return any(marginal.coarse for marginal in self.marginals)

    def count(self, level: str, relation: str | None = None) -> int:
        """The number of queries of a level, or of one of its relations."""
        return sum(
            marginal.cells
            for marginal in self.marginals
            if marginal.level == level and relation in (None, marginal.relation)
        )

    def slices(self) -> Iterator[tuple[Marginal, slice]]:
        """Every marginal with its place in the vector of answers."""
        for marginal, start in zip(self.marginals, self.offsets, strict=False):
            yield marginal, slice(start, start + marginal.cells)

    def marginal_of(self, index: int) -> int:
        """The position of the marginal that holds query number `index`."""
        if not 0 <= index < self.size:
            raise KinfolkError(f"query {index}: there are queries 0 to {self.size - 1}.")
        return bisect_right(self.offsets, index) - 1

    def query(self, index: int) -> Query:
        """Query number `index`."""
        position = self.marginal_of(index)
        marginal, rest = self.marginals[position], index - self.offsets[position]
        codes: list[int] = []
        for size in reversed(marginal.shape):
            rest, code = divmod(rest, size)
            codes.append(code)
        return Query(marginal=marginal, codes=tuple(reversed(codes)))

    def index(self, query: Query) -> int:
        """The number of a query; undoes `query`."""
        cell = 0
        for size, code in zip(query.marginal.shape, query.codes, strict=True):
            cell = cell * size + code
        return self.offsets[self.marginals.index(query.marginal)] + cell

    def __repr__(self) -> str:
        parts = [f"{self.count(level):,} {level}" for level in Level if self.count(level)]
        number = len(self.marginals)
        return f"Workload({self.size:,} queries in {number:,} marginals: {', '.join(parts)})"

    def _repr_html_(self) -> str:
        families = [(marginal.level, marginal.relation) for marginal in self.marginals]
        rows = [
            [
                " ".join(filter(None, (FAMILIES[level], relation))),
                f"{families.count((level, relation)):,}",
                f"{self.count(level, relation):,}",
            ]
            for level, relation in dict.fromkeys(families)
        ]
        rows.append(["all", f"{len(self.marginals):,}", f"{self.size:,}"])
        return show("Workload", rows, headings=["", "marginals", "queries"])


def _read_levels(schema: Schema, levels: Sequence[str]) -> tuple[Level, ...]:
    for level in levels:
        if level not in list(Level):
            raise KinfolkError(f"level {level!r} is unknown. {did_you_mean(level, Level)}")
        if level == Level.RELATION and not schema.relations:
            raise KinfolkError(
                "relation queries need roles and relations, and the schema declares none. "
                "Declare `roles:` and `relations:`, or leave the level out."
            )
    return tuple(map(Level, levels))


def _refuse_too_many(
    schema: Schema, levels: Sequence[Level], positions: Sequence[int], k: int
) -> None:
    """Count the marginals before any of them is made."""
    names = AttributeNames(schema)
    plain = [position for position in positions if not names.is_role(position)]
    personal = sum(map(names.is_individual, plain))
    number = 0
    for level in levels:
        if level is Level.RELATION:
            each = (math.comb(len(plain), k - n) * math.comb(personal, n) for n in range(1, k + 1))
            number += len(schema.relations) * sum(each)
        else:
            number += math.comb(len(positions), k)
    if number > MOST_MARGINALS:
        raise KinfolkError(
            f"the workload has {number:,} sets of attributes ({len(positions):,} attributes, "
            f"k = {k}), more than the {MOST_MARGINALS:,} that kinfolk handles. Use a smaller k, or "
            "list the `attributes` or the `sets` that matter under `workload:`."
        )


Part = tuple[tuple[int, ...], tuple[int, ...]]
"""Positions of the own attributes (group and individual together) and of the relative's."""


def _parts(level: Level, names: AttributeNames, positions: Sequence[int], k: int) -> Iterator[Part]:
    """All ways to name k attributes; a relative's may repeat the person's own."""
    if level is not Level.RELATION:
        yield from ((own, ()) for own in itertools.combinations(positions, k))
        return
    # A relation is between roles: asking for them again would say nothing new.
    positions = [position for position in positions if not names.is_role(position)]
    personal = [position for position in positions if names.is_individual(position)]
    for number in range(1, k + 1):
        for own in itertools.combinations(positions, k - number):
            for relative in itertools.combinations(personal, number):
                yield own, relative


def _split_sets(
    level: Level, names: AttributeNames, sets: Sequence[tuple[int, ...]]
) -> Iterator[Part]:
    """Listed attribute sets; at the relation level with every choice of the relative's part."""
    for one in sets:
        if level is not Level.RELATION:
            yield one, ()
            continue
        if any(map(names.is_role, one)):
            continue
        personal = [position for position in one if names.is_individual(position)]
        for number in range(1, len(personal) + 1):
            for relative in itertools.combinations(personal, number):
                yield tuple(p for p in one if p not in relative), relative


def _marginal(
    names: AttributeNames, level: Level, relation: str | None, part: Part, weight: float
) -> Marginal:
    own, relative = part
    first = names.first_individual
    return Marginal(
        level=level,
        relation=relation,
        group=tuple(p for p in own if p < first),
        individual=tuple(p - first for p in own if p >= first),
        relative=tuple(p - first for p in relative),
        shape=tuple(names.size(p) for p in (*own, *relative)),
        weight=weight,
    )


def order_of(marginal: Marginal) -> int:
    """How many attributes a marginal is about."""
    return len(marginal.shape)


Tie = tuple[int, frozenset[int]]
"""A role, and the roles of those who count as its relatives."""


def tie_bits(schema: Schema, relation: str) -> list[tuple[int, int]]:
    """The same ties, the roles of relatives as bits of one number."""
    return [(who, sum(1 << role for role in whom)) for who, whom in ties(schema, relation)]


def ties(schema: Schema, relation: str) -> tuple[Tie, ...]:
    """The ties of a relation, as `relation_counts` says.

    Counting people, somebody with a matching relative counts once, whoever the relative is.
    Counting pairs, as in the paper, somebody counts once for every role that holds a matching
    relative: a child whose two parents both match counts twice.

    >>> from kinfolk import load_schema
    >>> ties(load_schema("acs-rel"), "has_parent")
    ((2, frozenset({0, 1})),)
    """
    if schema.roles is None:
        return ()
    position = {name: index for index, name in enumerate(schema.roles.names)}
    pairs = [(position[who], position[whom]) for who, whom in schema.relations[relation]]
    if schema.workload.relation_counts == "pairs":
        return tuple((who, frozenset([whom])) for who, whom in pairs)
    merged: dict[int, set[int]] = {}
    for who, whom in pairs:
        merged.setdefault(who, set()).add(whom)
    return tuple((who, frozenset(whom)) for who, whom in merged.items())
