# mypy: disallow-untyped-decorators=False
"""The PEP update: the distribution nearest in entropy that agrees with what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kinfolk._typing import Bools, Codes, Floats, Ints
from kinfolk.compiled import compiled
from kinfolk.models.histogram import Histogram
from kinfolk.models.universe import Universe
from kinfolk.queries.workload import Query


class Collapsed:
    """What the groups of a universe add to some queries, with casts and kinds merged.

    Casts are merged that have the same size and add the same to every query, and kinds of household
    that match the same queries. A distribution matters to the queries only through its sums over
    what is merged, and reweighting by the queries needs nothing else either.

    >>> from kinfolk.datasets import load_schema
    >>> from kinfolk.queries.workload import Workload
    >>> universe = Universe.of(load_schema("acs-red"))
    >>> query = Workload.of(universe.schema).query(0)
    >>> seen = Collapsed(universe, [query])
    >>> (universe.casts, universe.group_cells), (len(seen.numbers), len(seen.matching))
    ((968, 60), (3, 2))
    """

    def __init__(self, universe: Universe, queries: Sequence[Query]) -> None:
        small = np.min_scalar_type(universe.schema.size_limit)
        added = np.empty((universe.casts, len(queries) + 1), small)
        matching = np.empty((universe.group_cells, len(queries)), np.bool_)
        for place, query in enumerate(queries):
            added[:, place], matching[:, place] = universe.contribution(query)
        added[:, -1] = universe.sizes
        casts, self._cast = _distinct(added)
        kinds, self._kind = _distinct(matching)
        self.numbers: npt.NDArray[Any] = np.ascontiguousarray(added[casts, :-1])
        """(casts, queries) what a group adds where its kind of household matches."""
        self.matching: Bools = matching[kinds]
        """(household kinds, queries) which kinds match."""
        self.sizes: Floats = added[casts, -1].astype(np.float64)
        """(casts,) members of each cast."""
        self._ones = np.ascontiguousarray(self.matching.T, np.float64)

    def collapse(self, probabilities: Floats) -> Floats:
        """(casts, household kinds) the sums of probabilities over what is merged."""
        rows = np.zeros((len(self.numbers), probabilities.shape[1]))
        np.add.at(rows, self._cast, probabilities)
        found = np.zeros((len(self.matching), len(self.numbers)))
        np.add.at(found, self._kind, rows.T)
        return np.ascontiguousarray(found.T)

    def expand(self, factors: Floats) -> Floats:
        """Factors of what is merged, as factors of all groups of the universe."""
        return factors[self._cast][:, self._kind]

    def ranges(self, people: Bools) -> tuple[Floats, Floats]:
        """The smallest and the largest answer to every query, (queries,) each.

        people: (queries,) which answers are shares of people, and not of groups.
        """
        low, high = np.full(len(people), np.inf), np.zeros(len(people))
        for size in np.unique(self.sizes):
            numbers = self.numbers[self.sizes == size]
            whole = np.where(people, size, 1.0)
            low = np.minimum(low, numbers.min(axis=0) / whole)
            high = np.maximum(high, numbers.max(axis=0) / whole)
        return np.where(self.matching.all(axis=0), low, 0.0), high

    def moments(self, probabilities: Floats) -> tuple[Floats, Floats, Floats]:
        """The expectations of what a group adds, of that times its size, and of the products.

        (queries,), (queries,) and (queries, queries), under collapsed probabilities.
        """
        queries = self.numbers.shape[1]
        first, sized, second = np.zeros(queries), np.zeros(queries), np.zeros((queries, queries))
        moments(probabilities, self.numbers, self.matching, self.sizes, first, sized, second)
        return first, sized, second + np.triu(second, 1).T

    def combine(self, coefficients: Floats) -> Floats:
        """(casts, household kinds) the sum of coefficients, (queries,), times what a group adds."""
        found = np.zeros((len(self.numbers), len(self.matching)))
        combine(coefficients, self.numbers, self._ones, found)
        return found


def _distinct(rows: npt.NDArray[Any]) -> tuple[Ints, Ints]:
    """Where each distinct row of a table first stands, and which of them every row is."""
    _, first, place = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first, place.ravel()


@compiled()
def moments(
    probabilities: Floats,
    numbers: Codes,
    matching: Bools,
    sizes: Floats,
    first: Floats,
    sized: Floats,
    second: Floats,
) -> None:
    """Expectations of what a group adds to queries.

    probabilities: (casts, household kinds).
    numbers: (casts, queries) what a group adds where its kind of household matches.
    matching: (household kinds, queries) which kinds match.
    sizes: (casts,) members of each cast.
    first, sized: (queries,) the expectation of what a group adds, and of that times its size.
    second: (queries, queries) the expectation of the product of what it adds to two.
    All three are added to; zero before. Of `second` the half with i <= j is filled.
    """
    queries = numbers.shape[1]
    asked, active = np.empty(queries, np.int64), np.empty(queries, np.int64)
    added = np.empty(queries)
    for cast in range(len(numbers)):
        some = 0
        for query in range(queries):
            if numbers[cast, query] > 0:
                asked[some] = query
                some += 1
        for kind in range(len(matching)):
            found = 0
            for place in range(some):
                query = asked[place]
                if matching[kind, query]:
                    active[found] = query
                    added[found] = numbers[cast, query]
                    found += 1
            for i in range(found):
                mass = probabilities[cast, kind] * added[i]
                first[active[i]] += mass
                sized[active[i]] += mass * sizes[cast]
                row = second[active[i]]
                for j in range(i, found):
                    row[active[j]] += mass * added[j]


@compiled()
def combine(coefficients: Floats, numbers: Codes, matching: Floats, out: Floats) -> None:
    """The sum over the queries of a coefficient times what a group adds.

    coefficients: (queries,); numbers: (casts, queries) as in `moments`.
    matching: (queries, household kinds) one where a kind matches, zero elsewhere.
    out: (casts, household kinds), added to.
    """
    for cast in range(len(numbers)):
        row = out[cast]
        for query in range(len(coefficients)):
            if numbers[cast, query] > 0:
                amount = coefficients[query] * numbers[cast, query]
                for kind in range(len(row)):
                    row[kind] += amount * matching[query, kind]


EDGE = 1e-6
"""How near to the ends of what is possible an answer is moved, in parts of what lies between."""

STRIDE = 10.0
"""How far the logarithm of a probability may move along one axis in one step."""
FLAT = 1e-14
"""A variance that is rounding error: along such an axis no answer moves."""
SETTLED = 1e-10
"""A step that would move no answer further than this is not taken."""
STUCK = 1e-3
"""Steps that move answers by less than this part of what is missing, twice, lead nowhere."""
NEAR = 1e-8
"""What agrees to within this agrees."""
SOFT = 1e-3
"""How far an answer stays off for every unit of its multiplier, where least squares begin."""
LONGEST = 30.0
"""The largest multiplier that least squares are meant to end with: odds change by exp(30)."""


class EntropyProjection:
    """Private entropy projection (Liu, Vietri and Wu, 2021) of one distribution, time after time.

    Every projection is one of `start`. What the last one came to is remembered only to find the
    next one sooner; the result is the same to within rounding.

    >>> from kinfolk.datasets import load_schema
    >>> from kinfolk.queries.workload import Workload
    >>> projection = EntropyProjection(Histogram.uniform(load_schema("acs-red")))
    >>> queries = [Workload.of(projection.start.schema).query(number) for number in (0, 1333)]
    >>> projection.onto(queries[:1], [0.1]).answer_queries(queries).round(3).tolist()
    [0.1, 0.1]
    >>> projection.onto(queries, [0.1, 0.12]).answer_queries(queries).round(3).tolist()
    [0.1, 0.12]
    """

    def __init__(
        self, start: Histogram, *, tolerance: float = 0.0, max_iterations: int = 100
    ) -> None:
        self.start = start
        self._tolerance = tolerance
        self._max_iterations = max_iterations
        self._exact: dict[Query, float] = {}
        self._soft: dict[Query, float] = {}
        self._contradiction: frozenset[tuple[Query, float]] = frozenset()

    def onto(self, queries: Sequence[Query], measurements: npt.ArrayLike) -> Histogram:
        """The projection onto all measurements.

        measurements: (queries,) what was released, as shares of groups (group level) or of people.

        Among the distributions that agree with the measurements, the one with the smallest relative
        entropy to the start is sought, by Newton's method on one multiplier for each query. The
        paper makes one query agree after another, which has the same limit but may take very many
        turns where queries say nearly the same. The search ends as soon as all answers are within
        `tolerance`, when a step would move no answer by more than 1e-10, or after `max_iterations`
        steps. Some five steps are usual.

        Measurements of the same query are averaged; what no distribution can attain is moved to the
        nearest that one can. Where measurements contradict each other, as noise makes them, a
        second search of at most as many steps fits all of them by least squares instead, and
        relative entropy decides what is left open: the further they contradict each other, the less
        closely is any of them fitted. Only released values go in, so this costs no privacy.
        """
        values = np.asarray(measurements, np.float64)
        if len(queries) != len(values):
            raise ValueError(f"{len(queries)} queries, but {len(values)} measurements")
        if not queries:
            return self.start
        different = list(dict.fromkeys(queries))
        place = {query: index for index, query in enumerate(different)}
        places = [place[query] for query in queries]
        people = np.array([query.marginal.level != "group" for query in different], np.bool_)
        seen = Collapsed(self.start.universe, different)
        low, high = seen.ranges(people)
        margin = EDGE * (high - low)
        averages = np.bincount(places, values) / np.bincount(places)
        constraints = Constraints(
            seen=seen,
            targets=np.clip(averages, low + margin, high - margin),
            people=people,
            mean_size=self.start.mean_size(),
        )
        factors = self._factors(constraints, different)
        probabilities = self.start.probabilities * seen.expand(factors)
        return Histogram(universe=self.start.universe, probabilities=probabilities)

    def _factors(self, constraints: Constraints, queries: Sequence[Query]) -> Floats:
        """What the probabilities of the start are multiplied by, (casts, household kinds)."""
        start = constraints.seen.collapse(self.start.probabilities)
        sought = set(zip(queries, constraints.targets.tolist(), strict=True))
        # More measurements do not resolve a contradiction.
        if not self._contradiction or not self._contradiction <= sought:
            self._contradiction = frozenset()
            search = NewtonSearch(constraints, start, _known(self._exact, queries))
            if agree(search, tolerance=self._tolerance, steps=self._max_iterations):
                self._exact = dict(zip(queries, search.multipliers.tolist(), strict=True))
                return search.factors()
            self._contradiction = frozenset(sought)
        search = NewtonSearch(constraints, start, _known(self._soft, queries))
        compromise(search, tolerance=self._tolerance, steps=self._max_iterations)
        self._soft = dict(zip(queries, search.multipliers.tolist(), strict=True))
        return search.factors()


def _known(multipliers: Mapping[Query, float], queries: Sequence[Query]) -> Floats:
    return np.array([multipliers.get(query, 0.0) for query in queries])


@dataclass(frozen=True, kw_only=True, eq=False)
class Constraints:
    """The answers that are sought, as expectations that should be zero.

    That a share of people equals its target says that the expectation of number minus target times
    size is zero, which is linear in the probabilities. The mean size of a group at the start puts
    it on the scale of shares.
    """

    seen: Collapsed
    targets: Floats
    """(queries,)"""
    people: Bools
    """(queries,) which answers are shares of people, and not of groups."""
    mean_size: float
    """Members of a group, on average, at the start."""

    @property
    def scale(self) -> Floats:
        """(queries,) what a surplus is multiplied by."""
        return np.where(self.people, 1 / self.mean_size, 1.0)

    @property
    def reach(self) -> Floats:
        """(queries,) how much the surplus of two groups can differ, at most."""
        return self.scale * np.where(self.people, self.seen.sizes.max(), 1.0)

    def exponents(self, multipliers: Floats) -> Floats:
        """(casts, household kinds) the sum of multipliers times surplus."""
        weights = multipliers * self.scale
        of_people = float(weights @ np.where(self.people, self.targets, 0.0))
        of_groups = float(weights @ np.where(self.people, 0.0, self.targets))
        found = self.seen.combine(weights)
        found -= (of_people * self.seen.sizes + of_groups)[:, None]
        return found

    def moments(self, probabilities: Floats) -> tuple[Floats, Floats, Floats]:
        """The answers' distances from the targets; means and covariance of the surplus."""
        sizes = self.seen.sizes
        rows = probabilities.sum(axis=1)
        size, square = float(rows @ sizes), float(rows @ sizes**2)
        first, sized, second = self.seen.moments(probabilities)
        whole = np.where(self.people, size, 1.0)
        means = self.scale * (first - self.targets * whole)
        slope = np.where(self.people, self.targets, 0.0)
        crossed = np.outer(slope, sized)
        second += np.outer(slope, slope) * square - crossed - crossed.T
        # The targets of groups are constants, which do not vary.
        centres = first - slope * size
        covariance = np.outer(self.scale, self.scale) * (second - np.outer(centres, centres))
        return first / whole - self.targets, means, covariance


class NewtonSearch:
    """A distribution of the form start times exp(multipliers times surplus), on its way.

    The multipliers minimise a convex function: the logarithm of the sum of those products, and
    softness / 2 times the sum of their squares. Its gradient is what the answers are off. In the
    words of the distribution, relative entropy is minimised under the condition that all answers
    agree; or, with a softness, together with the squares of what they are off / (2 softness).
    """

    def __init__(self, constraints: Constraints, start: Floats, multipliers: Floats) -> None:
        self._constraints = constraints
        with np.errstate(divide="ignore"):
            self._origin = np.log(start)
        self.multipliers = multipliers
        """(queries,) where the search begins; where it ends does not depend on it."""
        self._exponents = constraints.exponents(multipliers)
        self._probabilities, self._height = _normalised(self._origin + self._exponents)
        self.furthest = np.inf
        """How far the answer furthest off is from its target."""

    def factors(self) -> Floats:
        """(casts, household kinds) what the probabilities of the start are multiplied by."""
        found: Floats = np.exp(self._exponents - self._height)
        return found

    def run(self, *, softness: float, tolerance: float, steps: int) -> int:
        """Newton's method: takes at most so many steps, and returns how many are left.

        Without a softness it ends as soon as it turns out that the answers contradict each other.
        """
        last = np.inf
        while True:
            violations, slope, covariance = self._constraints.moments(self._probabilities)
            self.furthest = float(np.abs(violations).max())
            if self.furthest <= tolerance or steps <= 0:
                return steps
            slope = slope + softness * self.multipliers
            curvature = covariance + softness * np.eye(len(slope))
            direction = _newton(slope, curvature, self._constraints.reach)
            moved = float(np.abs(covariance @ direction).max())
            stuck = last <= STUCK * self.furthest and moved <= 2 * last
            if moved <= SETTLED or (stuck and not softness):
                return steps
            last = moved
            self._step(direction, float(slope @ direction), softness)
            steps -= 1

    def _step(self, direction: Floats, gain: float, softness: float) -> None:
        """Go in a direction, for as long as that leads down."""
        change = self._constraints.exponents(direction)
        before, length = (
            self._height + softness / 2 * float(self.multipliers @ self.multipliers),
            1.0,
        )
        while True:
            multipliers = self.multipliers + length * direction
            exponents = self._exponents + length * change
            probabilities, height = _normalised(self._origin + exponents)
            reached = height + softness / 2 * float(multipliers @ multipliers)
            # What rounding leaves near the minimum must not stop the last step.
            if reached <= before + 1e-4 * length * gain + 1e-12 or length < SETTLED:
                break
            length /= 2
        self.multipliers, self._exponents = multipliers, exponents
        self._probabilities, self._height = probabilities, height


def agree(search: NewtonSearch, *, tolerance: float, steps: int) -> bool:
    """Look for the distribution that agrees with all targets; False if there is none."""
    search.run(softness=0.0, tolerance=tolerance, steps=steps)
    return search.furthest <= max(tolerance, NEAR)


def compromise(search: NewtonSearch, *, tolerance: float, steps: int) -> None:
    """Agree as well as least squares can, where answers contradict each other.

    The softness is brought into proportion to what remains, so that a contradiction by little moves
    the answers by little, and one by much does not make groups all but impossible.
    """
    softness = SOFT
    while True:
        steps = search.run(softness=softness, tolerance=tolerance, steps=steps)
        fitting = search.furthest / LONGEST
        if steps <= 0 or 0.5 * softness <= fitting <= 2 * softness or fitting <= SETTLED:
            return
        softness = fitting


def _newton(slope: Floats, curvature: Floats, reach: Floats) -> Floats:
    """Newton's step, held back along every axis of the curvature on its own.

    One axis that leads nowhere, as contradicting answers give, does not shorten the others.
    """
    variances, axes = np.linalg.eigh(curvature)
    steps = np.zeros_like(slope)
    np.divide(-(axes.T @ slope), variances, out=steps, where=variances > FLAT)
    longest = STRIDE / (np.abs(axes.T) @ reach)
    found: Floats = axes @ np.clip(steps, -longest, longest)
    return found


def _normalised(logarithms: Floats) -> tuple[Floats, float]:
    """Probabilities from their logarithms up to a constant, and the logarithm of their sum."""
    largest = float(logarithms.max())
    found = np.exp(logarithms - largest)
    total = float(found.sum())
    return found / total, largest + float(np.log(total))
