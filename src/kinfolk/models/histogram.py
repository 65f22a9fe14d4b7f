# mypy: disallow-untyped-decorators=False
"""A distribution over all groups of a schema, one probability each: the model of MWEM and PEP."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from kinfolk._typing import Codes, Floats, Ints
from kinfolk.compiled import compiled
from kinfolk.data.encoded import Encoded, code_type
from kinfolk.models._streams import uniform
from kinfolk.models.base import Asked, Batches, Table, check_sums, no_such_group, wrong_shape
from kinfolk.models.universe import LARGEST, Universe, distinct_size
from kinfolk.models.universe_kernel import LEVELS, expectations
from kinfolk.queries.questions import Question
from kinfolk.queries.workload import Marginal, Query, Workload
from kinfolk.schema import Schema
from kinfolk.schema.where import Factor
from kinfolk.template import show


def listed_batch(universe: Universe, probabilities: Floats, batches: Batches, at: int) -> Encoded:
    """Draw one of the batches of a sample, its groups in random order.

    Stratified, the points are equally spaced: every group comes up its share of times, give or take
    one, and so does every run of groups that stand side by side.
    """
    below = np.cumsum(probabilities.ravel())
    rng, number = batches.rng(at), batches.number(at)
    if batches.stratified:
        points = (np.arange(number) + rng.random()) / number
    else:
        points = rng.random(number)
    return _written(universe, rng.permutation(_found(below, points)), rng)


def listed_groups(
    universe: Universe,
    probabilities: Floats,
    compositions: Ints,
    *,
    rng: np.random.Generator,
) -> Encoded:
    """One group for each of these compositions, by position; independent of one another."""
    cells = np.empty(len(compositions), np.int64)
    for composition in np.unique(compositions).tolist():
        groups = np.flatnonzero(compositions == composition)
        first, end = np.searchsorted(universe.composition, [composition, composition + 1])
        below = np.cumsum(probabilities[first:end].ravel())
        cells[groups] = first * universe.group_cells + _found(below, rng.random(len(groups)))
    return _written(universe, cells, rng)


def _found(below: Floats, points: Floats) -> Ints:
    """The cells that points, from 0 to 1, fall into; below: running sums of probabilities."""
    last = int(np.searchsorted(below, below[-1]))
    found: Ints = np.minimum(np.searchsorted(below, points * below[-1], side="right"), last)
    return found


def _written(universe: Universe, cells: Ints, rng: np.random.Generator) -> Encoded:
    """Groups by their cells: a cast times the number of household kinds, plus the kind."""
    schema = universe.schema
    sizes = universe.sizes[cells // universe.group_cells]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    people = int(offsets[-1])
    dtype = code_type(schema)
    group = np.empty((len(cells), len(schema.group_attributes)), dtype)
    individual = np.empty((people, len(schema.individual_attributes)), dtype)
    role = np.empty(people, np.uint8)
    write_groups(
        cells,
        universe.members,
        universe.composition,
        universe.roles,
        universe.group_codes,
        universe.person_codes,
        offsets,
        rng.integers(2**64, size=1, dtype=np.uint64),
        group,
        individual,
        role,
    )
    return Encoded(
        schema=schema,
        group=group,
        individual=individual,
        offsets=offsets,
        role=role if schema.roles else None,
    )


@compiled()
def write_groups(
    cells: Ints,
    members: Codes,
    composition: Codes,
    roles: Codes,
    group_codes: Codes,
    person_codes: Codes,
    offsets: Ints,
    seed: npt.NDArray[np.uint64],
    group: Codes,
    individual: Codes,
    role: Codes,
) -> None:
    """Write groups out, members of the same role in random order.

    cells: (groups,) cast times the number of household kinds, plus the kind.
    members, composition, roles, group_codes, person_codes: as in `Universe`.
    offsets: (groups + 1,) where each group's members begin.
    group, individual, role: (groups, attributes), (people, attributes), (people,) the result.
    """
    state = seed.copy()
    here = np.empty(members.shape[1], np.int64)
    for g in range(len(cells)):
        cast, kind = divmod(cells[g], len(group_codes))
        for attribute in range(group.shape[1]):
            group[g, attribute] = group_codes[kind, attribute]
        size = offsets[g + 1] - offsets[g]
        who = roles[composition[cast]]
        first = 0
        for i in range(size):
            here[i] = members[cast, i]
            # Put the newcomer anywhere among those of the same role who are there already.
            if i > 0 and who[i] != who[i - 1]:
                first = i
            other = first + int(uniform(state) * (i - first + 1))
            here[i] = here[other]
            here[other] = members[cast, i]
        for i in range(size):
            row = offsets[g] + i
            role[row] = who[i]
            for attribute in range(individual.shape[1]):
                individual[row, attribute] = person_codes[here[i], attribute]


Axes = tuple[int, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Histogram:
    """Probabilities of all groups of a universe.

    >>> from kinfolk.datasets import load_schema
    >>> histogram = Histogram.uniform(load_schema("acs-red"))
    >>> workload = Workload.of(histogram.schema, k=1, attributes=["SEX", "FARM"])
    >>> histogram.answer(workload).round(3).tolist()
    [0.5, 0.5, 0.866, 0.866, 0.5, 0.5, 0.5, 0.5]
    """

    kind: ClassVar[str] = "histogram"

    universe: Universe
    probabilities: Floats
    """(casts, household kinds) sums to one; a cast stands for all orders of its members."""

    def __post_init__(self) -> None:
        shape = (self.universe.casts, self.universe.group_cells)
        if self.probabilities.shape != shape:
            raise ValueError(
                f"probabilities have shape {self.probabilities.shape}, expected {shape}"
            )

    @classmethod
    def uniform(cls, schema: Schema, *, limit: int = LARGEST) -> Self:
        """Every group equally probable, each order of members counted; where MWEM starts."""
        universe = Universe.of(schema, limit=limit)
        weights = np.exp(universe.orders - universe.orders.max())
        rows = weights / (weights.sum() * universe.group_cells)
        return cls(
            universe=universe, probabilities=np.tile(rows[:, None], (1, universe.group_cells))
        )

    @property
    def schema(self) -> Schema:
        """The schema whose groups these are."""
        return self.universe.schema

    def mean_size(self) -> float:
        """The expected number of members of a group."""
        return float(self.probabilities.sum(axis=1) @ self.universe.sizes)

    def _repr_html_(self) -> str:
        rows = [
            ["groups, each order of members counted", f"{self.universe.size:,}"],
            ["groups, up to the order of members", f"{self.probabilities.size:,}"],
            ["members of a group, on average", f"{self.mean_size():.3g}"],
        ]
        return show("Distribution over all possible groups", rows)

    def rates(
        self, workload: Workload, *, weights: npt.NDArray[np.integer | np.floating] | None = None
    ) -> Floats:
        """What one group is expected to add to every query: (queries,), counts over groups.

        weights: (marginals, sizes + 1) what a group of each size counts for in each marginal.
        """
        if workload.schema != self.schema:
            raise ValueError("the workload is for another schema")
        shape = (len(workload.marginals), self.schema.size_limit + 1)
        if weights is None:
            weights = np.ones(shape)
        elif weights.shape != shape:
            raise ValueError(f"weights have shape {weights.shape}, expected {shape}")
        by_size = np.asarray(weights, np.float64)[:, self.schema.sizes.start :]
        families = {_family(marginal): marginal for marginal in workload.marginals}
        sizes, kinds = len(self.schema.sizes), self.universe.group_cells
        tables = {
            key: np.zeros((sizes, one.individual_cells * one.relative_cells, kinds))
            for key, one in families.items()
        }
        asked = [(marginal, tables[key]) for key, marginal in families.items()]
        _fill_tables(self.universe, self.probabilities, asked)
        found = np.empty(workload.size)
        for (marginal, place), weight in zip(workload.slices(), by_size, strict=True):
            found[place] = self._marginal(marginal, tables[_family(marginal)], weight)
        return found

    def answer(self, workload: Workload) -> Floats:
        """The answers as shares: (queries,); of groups at the group level, of people elsewhere."""
        rates, mean = self.rates(workload), self.mean_size()
        for marginal, place in workload.slices():
            if marginal.level != "group":
                rates[place] /= mean
        return rates

    def answer_queries(self, queries: Sequence[Query]) -> Floats:
        """The answers to some queries as shares: (queries,), in the order given."""
        return np.array([self._share(query) for query in queries])

    def evaluator(self, asked: Asked) -> Callable[[Table], Floats]:
        """Asks queries of one table, (casts, household kinds), after the other."""

        def shares(table: Table) -> Floats:
            model = Histogram(universe=self.universe, probabilities=np.asarray(table, np.float64))
            if isinstance(asked, Workload):
                return model.answer(asked)
            return np.array([model._share(question) for question in asked], np.float64)

        return shares

    def composition_chances(self) -> Floats:
        """(compositions,) how likely a group is to have each."""
        own, number = self.universe.composition, len(self.schema.compositions)
        return np.bincount(own, self.probabilities.sum(axis=1), number).astype(np.float64)

    def batch(self, batches: Batches, at: int) -> Encoded:
        """Draw one of the batches of a sample, its groups in random order."""
        return listed_batch(self.universe, self.probabilities, batches, at)

    def like(self, compositions: Ints, *, rng: np.random.Generator) -> Encoded:
        """One group for each of these compositions, by position, in that order."""
        return listed_groups(self.universe, self.probabilities, compositions, rng=rng)

    def restricted(self, factors: Sequence[Factor]) -> Histogram:
        """The same law for groups that are as some factors say."""
        universe = self.universe
        kept = self.probabilities
        for factor in factors:
            codes = [universe.group_codes[:, attribute] for attribute in factor.attributes]
            allowed = np.stack([one[tuple(codes)].ravel() for one in factor.allowed])
            kept = kept * (allowed[universe.composition] if len(allowed) > 1 else allowed)
        total = kept.sum()
        if not total > 0:
            raise no_such_group()
        return Histogram(universe=universe, probabilities=kept / total)

    def describe(self) -> Mapping[str, Any]:
        """Nothing but its kind: the universe follows from the schema."""
        return {"kind": self.kind, "scheme": None}

    @classmethod
    def from_description(
        cls, described: Mapping[str, Any], schema: Schema, table: npt.NDArray[Any]
    ) -> Self:
        """The model that a file describes, if the table holds its distribution."""
        # First the sizes, which are quick to work out; then the list of all groups.
        if table.dtype != np.float64 or table.ndim != 2 or table.size != distinct_size(schema):
            raise wrong_shape(table)
        universe = Universe.of(schema)
        if table.shape != (universe.casts, universe.group_cells):
            raise wrong_shape(table)
        check_sums(table, table.sum())
        return cls(universe=universe, probabilities=table)

    def check_replicates(self, tables: npt.NDArray[Any]) -> None:
        """Its methods make none."""

    def _share(self, asked: Query | Question) -> float:
        """The answer to one query or question, as a share of groups or of people."""
        added, matching = self.universe.contribution(asked)
        rate = float(added @ self.probabilities @ matching)
        return rate if asked.level == "group" else rate / self.mean_size()

    def _marginal(self, marginal: Marginal, table: Floats, weight: Floats) -> Floats:
        """(cells,) one of a family: its group attributes and sizes summed out of the rest."""
        attributes = [attribute.size for attribute in self.schema.group_attributes.values()]
        unnamed = tuple(
            2 + place for place in range(len(attributes)) if place not in marginal.group
        )
        summed = table.reshape(*table.shape[:2], *attributes).sum(axis=unnamed)
        summed = summed * weight.reshape(-1, *(1,) * (summed.ndim - 1))
        if len(attributes) not in marginal.group:
            summed = summed.sum(axis=0, keepdims=True)
        # The size is the last of the group attributes, and the members' cells come after it.
        return np.ravel(np.moveaxis(summed, (0, 1), (-2, -1)))


def _family(marginal: Marginal) -> tuple[object, ...]:
    """What marginals have in common that differ in their group part only."""
    return marginal.level, marginal.relation, marginal.individual, marginal.relative


def _fill_tables(
    universe: Universe, probabilities: Floats, tables: Sequence[tuple[Marginal, Floats]]
) -> None:
    """What one group is expected to add, for the families of some marginals.

    tables: with each marginal, (sizes, member cells, household kinds), zero before.
    """
    if not universe.flat:
        for marginal, table in tables:
            _fill_table(universe, probabilities, marginal, table)
        return
    grid = probabilities.reshape(universe.person_grid[1:])
    sums = axis_sums(grid, {marginal.individual for marginal, _ in tables})
    for marginal, table in tables:
        table[0, :, 0] = sums[marginal.individual].ravel()


def _fill_table(
    universe: Universe, probabilities: Floats, marginal: Marginal, table: Floats
) -> None:
    expectations(
        probabilities,
        universe.members,
        universe.composition,
        universe.composition_sizes,
        universe.roles,
        LEVELS[marginal.level],
        universe.person_cells(marginal.individual),
        universe.person_cells(marginal.relative),
        marginal.relative_cells,
        universe.ties(marginal.relation),
        universe.schema.sizes.start,
        table,
    )


def axis_sums(grid: Floats, wanted: Iterable[Axes]) -> dict[Axes, Floats]:
    """The sums of an array over all axes but some, for every choice of those, in increasing order.

    One axis is summed out after the other: what several leave out is summed out once for all.

    >>> found = axis_sums(np.arange(8.0).reshape(2, 2, 2), [(0, 2), (1,)])
    >>> found[0, 2].tolist(), found[1,].tolist()
    ([[2.0, 4.0], [10.0, 12.0]], [10.0, 18.0])
    """
    found: dict[Axes, Floats] = {}
    # The longest axes first: what is left is then small.
    order = sorted(range(grid.ndim), key=lambda axis: -grid.shape[axis])
    _sum_out(grid, tuple(range(grid.ndim)), order, set(wanted), found)
    return found


def _sum_out(
    grid: Floats, axes: Axes, order: list[int], wanted: set[Axes], found: dict[Axes, Floats]
) -> None:
    """`axes` are those that the grid still has; `order` those that somebody may not want."""
    if not wanted:
        return
    if not order:
        found[axes] = grid
        return
    axis, *rest = order
    keeping = {one for one in wanted if axis in one}
    _sum_out(grid, axes, rest, keeping, found)
    if keeping != wanted:
        at = axes.index(axis)
        left = (*axes[:at], *axes[at + 1 :])
        _sum_out(grid.sum(axis=at), left, rest, wanted - keeping, found)
