"""The worst pair of neighbours, by search: which household tells most about itself?

Every purchase of a plan adds noise of some sigma. Two datasets whose answers differ by d in it are
|d| / sigma apart, and over all purchases the squares add up to mu^2. The search looks for the pair
with the largest mu, counting households one by one with the code that counts real ones. The claim
is that mu^2 is at most twice the budget rho, whatever the pair.

A ledger names what every step bought, in the words of the schema. Whoever knows the exact answers
of both neighbours can say of each released value how much likelier it is for one than for the
other.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numba
import numpy as np

from kinfolk._typing import Floats, Ints
from kinfolk.audit.town import Home, Member, encoded, town_schema
from kinfolk.errors import KinfolkError
from kinfolk.methods.method import Step
from kinfolk.privacy.account import Released
from kinfolk.privacy.mechanisms import Gaussian
from kinfolk.privacy.unit import Neighbours
from kinfolk.privacy.view import PublicView
from kinfolk.queries.counting import Counter
from kinfolk.queries.naming import describe_marginal
from kinfolk.queries.workload import Workload

State = TypeVar("State", bound=Hashable)

RESTARTS = 20
_SEED = 20
"""The search is no secret: it may find the same pair every time."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Compiled loops use one thread inside, and as many as before afterwards.

    Runs are so small here that threads would wait for each other longer than they work.

    >>> with one_thread():
    ...     numba.get_num_threads()
    1
    """
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(before)


def answers_of(counter: Counter) -> Ints:
    """(queries + 2,) the exact answers, followed by the numbers of groups and of people."""
    return np.concatenate([counter.counts, [counter.groups, counter.people]])


class AnswerPlaces:
    """Where a workload's answers stand, by what the ledger calls them."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload

    def of(self, bought: Mapping[str, Any]) -> Ints:
        """The places of what was bought, in the vector of `answers_of`."""
        match dict(bought):
            case {"total": "groups"}:
                return np.array([self.workload.size])
            case {"total": "people"}:
                return np.array([self.workload.size + 1])
            case {"marginals": [*marginals]}:
                return np.concatenate([self._cells[_key(one)] for one in marginals])
        raise KinfolkError(f"{str(dict(bought))[:60]}: only measurements have places.")

    @cached_property
    def _cells(self) -> dict[str, Ints]:
        offsets, schema = self.workload.offsets, self.workload.schema
        return {
            _key(describe_marginal(schema, marginal)): np.arange(offsets[at], offsets[at + 1])
            for at, marginal in enumerate(self.workload.marginals)
        }


def log_ratio(
    released: Iterable[Released], places: AnswerPlaces, first: Ints, second: Ints
) -> float:
    """How much likelier released values are for the second neighbour, as a logarithm.

    `first` and `second` are the `answers_of` the two. The noise is a discrete Gaussian of the sigma
    that the ledger states, whose weights cancel but for the exponents.
    """
    total = 0.0
    for one in released:
        noise, at = one.spend.mechanism, places.of(one.spend.bought)
        assert isinstance(noise, Gaussian)  # noqa: S101  (what has places was measured)
        total += gaussian_ratio(np.array(one.value, np.int64), first[at], second[at], noise.sigma)
    return total


def gaussian_ratio(values: Ints, first: Ints, second: Ints, sigma: float) -> float:
    """How much likelier noisy counts are for the second neighbour, as a logarithm."""
    # Only what differs says anything, and keeps the squares small.
    differs = first != second
    far, near = (values - first)[differs].astype(float), (values - second)[differs].astype(float)
    return float(far @ far - near @ near) / (2 * sigma**2)


def _key(described: Mapping[str, Any]) -> str:
    return json.dumps(
        {name: what for name, what in described.items() if name != "weights"}, sort_keys=True
    )


@dataclass(frozen=True, kw_only=True)
class Worst:
    """The pair that was found."""

    first: Home | None
    """The household that the first dataset has; None: it has none."""
    second: Home | None
    """The household that the second one has in its stead."""
    square: float
    """mu^2: the sum over all purchases of the squared difference by the variance of the noise."""


class Sight:
    """Households as the purchases of a plan see them: counts in units of the noise."""

    def __init__(self, view: PublicView, steps: Iterable[Step]) -> None:
        self._counter = Counter(view.workload, weights=view.weights)
        self._known: dict[Home | None, Floats] = {}
        precision = np.zeros(view.workload.size + 2)
        places = AnswerPlaces(view.workload)
        for step in steps:
            noise = step.purchase.mechanism
            assert isinstance(noise, Gaussian)  # noqa: S101  (the default method only measures)
            precision[places.of(step.purchase.bought)] += noise.sigma**-2
        self._scale = np.sqrt(precision)

    def of(self, home: Home | None) -> Floats:
        """(queries + 2,) what a household adds; one that is not there, or is dropped, adds 0."""
        if home not in self._known:
            counter = self._counter
            counter.counts[:] = 0
            counter.groups = counter.people = 0
            if home is not None:
                with one_thread():
                    counter.add(encoded(home))
            self._known[home] = answers_of(counter).astype(np.float64) * self._scale
        return self._known[home]

    def square(self, first: Home | None, second: Home | None) -> float:
        """mu^2 for two datasets that differ in one household."""
        apart = self.of(first) - self.of(second)
        return float(apart @ apart)


def worst_pair(neighbours: Neighbours, sight: Sight) -> Worst:
    """Climb from random households, changing one thing at a time; keep the best that was found."""
    rng = np.random.default_rng(_SEED)
    climb = {
        Neighbours.ADD_REMOVE: _climb_alone,
        Neighbours.REPLACE: _climb_exchange,
        Neighbours.IN_PLACE: _climb_in_place,
    }[neighbours]
    found = [climb(sight, rng) for _ in range(RESTARTS)]
    first, second = max(found, key=lambda pair: sight.square(*pair))
    return Worst(first=first, second=second, square=sight.square(first, second))


def _climb_alone(sight: Sight, rng: np.random.Generator) -> tuple[Home | None, Home | None]:
    best = _climb(_random_home(rng), _variations, lambda home: sight.square(None, home))
    return None, best


def _climb_exchange(sight: Sight, rng: np.random.Generator) -> tuple[Home | None, Home | None]:
    def options(pair: tuple[Home, Home]) -> Iterator[tuple[Home, Home]]:
        first, second = pair
        yield from ((other, second) for other in _variations(first))
        yield from ((first, other) for other in _variations(second))

    start = (_random_home(rng), _random_home(rng))
    return _climb(start, options, lambda pair: sight.square(*pair))


_Change = tuple[Home, int, tuple[int, ...]]
"""A household, one of its members, and the attributes that this one will have instead."""


def _climb_in_place(sight: Sight, rng: np.random.Generator) -> tuple[Home | None, Home | None]:
    def options(state: _Change) -> Iterator[_Change]:
        home, at, codes = state
        yield from ((one, min(at, len(one.members) - 1), codes) for one in _variations(home))
        yield from ((home, other, codes) for other in range(len(home.members)))
        yield from ((home, at, other) for other in _other_codes(codes))

    home = _random_home(rng)
    start = (home, int(rng.integers(len(home.members))), _random_codes(rng))
    best = _climb(start, options, lambda state: sight.square(state[0], _changed(state)))
    return best[0], _changed(best)


def _changed(state: _Change) -> Home:
    """The household once its member has changed; what follows from the members changes with it."""
    home, at, codes = state
    members = list(home.members)
    members[at] = replace(members[at], codes=codes)
    return replace(home, members=tuple(members))


def _climb(
    start: State, options: Callable[[State], Iterable[State]], score: Callable[[State], float]
) -> State:
    """The steepest way up, to where no single change leads further up."""
    here, height = start, score(start)
    while True:
        best = max(options(here), key=score)
        if score(best) <= height + 1e-12:
            return here
        here, height = best, score(best)


def _variations(home: Home) -> Iterator[Home]:
    """All households that differ in one thing: size and roles, an own attribute, or a member's."""
    schema = town_schema()
    for composition in schema.compositions:
        roles = _roles(composition)
        codes = [one.codes for one in home.members]
        codes += [codes[-1]] * (len(roles) - len(codes))
        yield replace(home, members=_members(roles, codes))
    own = [one.size for one in schema.group_attributes.values() if not one.derived]
    for at, size in enumerate(own):
        for value in range(size):
            yield replace(home, own=(*home.own[:at], value, *home.own[at + 1 :]))
    for at, one in enumerate(home.members):
        for codes_of in _other_codes(one.codes):
            yield _changed((home, at, codes_of))


def _other_codes(codes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """A member's attributes with one of them changed."""
    for at, attribute in enumerate(town_schema().individual_attributes.values()):
        for value in range(attribute.size):
            yield (*codes[:at], value, *codes[at + 1 :])


def _random_home(rng: np.random.Generator) -> Home:
    schema = town_schema()
    roles = _roles(schema.compositions[int(rng.integers(len(schema.compositions)))])
    own = [one.size for one in schema.group_attributes.values() if not one.derived]
    return Home(
        own=tuple(int(rng.integers(size)) for size in own),
        members=_members(roles, [_random_codes(rng) for _ in roles]),
    )


def _random_codes(rng: np.random.Generator) -> tuple[int, ...]:
    attributes = town_schema().individual_attributes.values()
    return tuple(int(rng.integers(one.size)) for one in attributes)


def _roles(composition: Sequence[int]) -> list[int]:
    """The roles of a household's members, in order."""
    repeated = (itertools.repeat(role, number) for role, number in enumerate(composition))
    return list(itertools.chain.from_iterable(repeated))


def _members(roles: Sequence[int], codes: Sequence[tuple[int, ...]]) -> tuple[Member, ...]:
    return tuple(Member(role=role, codes=one) for role, one in zip(roles, codes, strict=False))
