"""How far the answers of two datasets lie apart, query by query."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kinfolk._typing import Floats
from kinfolk.queries.counting import Counter
from kinfolk.queries.questions import describe
from kinfolk.queries.workload import Marginal, Workload
from kinfolk.schema import Level, Schema
from kinfolk.schema.names import AttributeNames

COMMON = 0.01
"""Answers of at least this share are called common: most cells of a large workload are near 0."""

BANDS = (0.0001, 0.001, 0.005, 0.01, 0.05)
"""Where the bands of the errors' distribution end; the last one is open."""

WORST = 120
"""Queries of each level that are kept one by one."""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The absolute errors of some queries, on shares from 0 to 1.

    >>> Summary.of(np.array([0.0, 0.1, 0.2, 0.5])).mean
    0.2
    """

    queries: int
    max: float
    mean: float
    p95: float
    """Nineteen of twenty errors are at most this."""
    p90: float
    """Nine of ten errors are at most this."""
    median: float
    bands: tuple[int, ...]
    """How many errors lie in each band of `BANDS`."""

    @classmethod
    def of(cls, errors: Floats) -> Summary:
        """Summarise absolute errors, (queries,); there may be none."""
        if not len(errors):
            return cls(
                queries=0, max=0, mean=0, p95=0, p90=0, median=0, bands=(0,) * (len(BANDS) + 1)
            )
        # An error that was really made: no value between two of them.
        median, p90, p95 = np.quantile(errors, [0.5, 0.9, 0.95], method="inverted_cdf")
        bands = np.bincount(np.searchsorted(BANDS, errors, side="right"), minlength=len(BANDS) + 1)
        return cls(
            queries=len(errors),
            max=float(errors.max()),
            mean=float(errors.mean()),
            p95=float(p95),
            p90=float(p90),
            median=float(median),
            bands=tuple(bands.tolist()),
        )


@dataclass(frozen=True, kw_only=True)
class SetErrors:
    """The errors of one marginal: all queries over one set of attributes."""

    family: str
    relation: str | None
    attributes: tuple[str, ...]
    """The group's and the person's own."""
    relative: tuple[str, ...]
    """The relative's, at the relation level."""
    queries: int
    max: float
    mean: float
    p95: float


@dataclass(frozen=True, kw_only=True)
class AttributeErrors:
    """The errors of all queries that name one attribute."""

    attribute: str
    queries: int
    max: float
    mean: float


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One query with both answers."""

    query: int
    """Its number in the workload."""
    family: str
    relation: str | None
    attributes: tuple[str, ...]
    question: str
    """What it asks, in words."""
    real: float
    synthetic: float
    error: float


@dataclass(frozen=True, kw_only=True, eq=False)
class AnswerPairs:
    """The answers of a workload on both sides: shares of groups or of people, (queries,) each."""

    workload: Workload
    real: Floats
    other: Floats

    @classmethod
    def of(cls, real: Counter, other: Counter) -> AnswerPairs:
        """From exact counts."""
        return cls(workload=real.workload, real=real.shares, other=other.shares)

    def against(self, other: Counter) -> AnswerPairs:
        """The same real answers beside those of another dataset."""
        return replace(self, other=other.shares)

    @cached_property
    def levels(self) -> npt.NDArray[np.int8]:
        """(queries,) the level of every query, as its place in `Level`."""
        places = {level: place for place, level in enumerate(Level)}
        each = np.array([places[marginal.level] for marginal in self.workload.marginals], np.int8)
        return np.repeat(each, [marginal.cells for marginal in self.workload.marginals])

    @cached_property
    def errors(self) -> Floats:
        """(queries,) absolute errors."""
        return np.abs(self.real - self.other)

    def families(self, *, at_least: float = 0.0) -> dict[str, Summary]:
        """Each level of the workload, then `all`; only answers `at_least` so large in truth."""
        errors, kept = self.errors, self.real >= at_least
        level = self.levels
        found = {
            str(name): Summary.of(errors[kept & (level == index)])
            for index, name in enumerate(Level)
            if name in {marginal.level for marginal in self.workload.marginals}
        }
        return {**found, "all": Summary.of(errors[kept])}

    def sets(self) -> tuple[SetErrors, ...]:
        """Every marginal, the largest error first."""
        errors, names = self.errors, AttributeNames(self.workload.schema).by_position()
        found = []
        for marginal, place in self.workload.slices():
            those = errors[place]
            own, relative = _named(names, marginal, self.workload.schema)
            found.append(
                SetErrors(
                    family=marginal.level,
                    relation=marginal.relation,
                    attributes=own,
                    relative=relative,
                    queries=len(those),
                    max=float(those.max()),
                    mean=float(those.mean()),
                    p95=_p95(those),
                )
            )
        return tuple(sorted(found, key=lambda one: -one.max))

    def worst(self, number: int = WORST) -> tuple[Answer, ...]:
        """The queries with the largest errors of every level, the largest first."""
        errors, level = self.errors, self.levels
        chosen: list[int] = []
        for index in range(len(Level)):
            queries = np.flatnonzero(level == index)
            # Ties go to the query that comes first, so that the list does not depend on chance.
            chosen += queries[np.argsort(-errors[queries], kind="stable")[:number]].tolist()
        chosen.sort(key=lambda query: -errors[query])
        names = AttributeNames(self.workload.schema).by_position()
        return tuple(self._answer(query, names) for query in chosen)

    def _answer(self, index: int, names: Mapping[int, str]) -> Answer:
        query = self.workload.query(index)
        own, relative = _named(names, query.marginal, self.workload.schema)
        return Answer(
            query=index,
            family=query.marginal.level,
            relation=query.marginal.relation,
            attributes=tuple(dict.fromkeys((*own, *relative))),
            question=describe(self.workload.schema, query),
            real=float(self.real[index]),
            synthetic=float(self.other[index]),
            error=float(self.errors[index]),
        )


def by_attribute(sets: tuple[SetErrors, ...]) -> tuple[AttributeErrors, ...]:
    """The errors of the queries that name each attribute, the largest mean first."""
    found: dict[str, list[SetErrors]] = {}
    for one in sets:
        for name in dict.fromkeys((*one.attributes, *one.relative)):
            found.setdefault(name, []).append(one)
    listed = []
    for name, those in found.items():
        queries = sum(one.queries for one in those)
        listed.append(
            AttributeErrors(
                attribute=name,
                queries=queries,
                max=max(one.max for one in those),
                mean=sum(one.mean * one.queries for one in those) / queries,
            )
        )
    return tuple(sorted(listed, key=lambda one: -one.mean))


def _p95(errors: Floats) -> float:
    """What `Summary` calls so, of errors that need nothing else of it.

    >>> errors = np.arange(101.0)
    >>> _p95(errors) == Summary.of(errors).p95
    True
    """
    place = max(math.ceil(len(errors) * 0.95 - 1), 0)
    return float(np.partition(errors, place)[place])


def _named(
    names: Mapping[int, str], marginal: Marginal, schema: Schema
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of a marginal's own attributes and of the relative's."""
    first = AttributeNames(schema).first_individual
    own = (*marginal.group, *(first + position for position in marginal.individual))
    relative = tuple(first + position for position in marginal.relative)
    return tuple(names[p] for p in own), tuple(names[p] for p in relative)
