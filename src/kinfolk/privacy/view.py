"""The curator's public view: what can be bought, and what it costs. No data is needed for it.

The curator prices what it sells here; `plan` and the methods look here before anything is bought;
and whoever checks a certificate prices every step again from the schema.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from kinfolk._typing import Ints
from kinfolk.errors import KinfolkError
from kinfolk.privacy.accounting import Accounting
from kinfolk.privacy.guarantee import Guarantee, charged_workload, shared_sensitivities
from kinfolk.privacy.mechanisms import Exponential, Gaussian, Mechanism
from kinfolk.privacy.sensitivity import (
    WEIGHT_SCALE,
    Sensitivity,
    paired_sensitivities,
    total_sensitivity,
    workload_sensitivities,
    workload_weights,
)
from kinfolk.privacy.unit import Neighbours, Unit, check_rules_fit_unit, dropped
from kinfolk.queries.naming import describe_marginal, marginal_from
from kinfolk.queries.workload import Marginal, Workload
from kinfolk.schema import Schema

GROUPS = "groups"
PEOPLE = "people"
TOTALS = (GROUPS, PEOPLE, "groups_read")
"""The totals that `public_totals` tells of, in its order."""


@dataclass(frozen=True, kw_only=True)
class Purchase:
    """Something that can be bought: what it touches, and the noise that it gets."""

    mechanism: Mechanism
    """The noise, and the sensitivity that it is for."""
    bought: Mapping[str, Any]
    """What it touches, in the words of the schema: JSON."""


class Sensitivities:
    """By how much one unit can change a workload's marginals, singly and jointly: public.

    Purchases are priced by them. Where the unit leaves a marginal untouched (a household's own
    attributes under `person`), it is charged as if one count could change: exact counts are not for
    sale at any price.
    """

    def __init__(
        self,
        workload: Workload,
        neighbours: Neighbours,
        accounting: Accounting,
        *,
        weights: Ints | None = None,
    ) -> None:
        """`weights` is what a group of each size adds, (marginals, sizes + 1)."""
        charged = charged_workload(workload, accounting)
        every = workload_sensitivities(charged, neighbours, weights=weights)
        one = [1] * len(every) if weights is None else weights.max(axis=1).tolist()
        self.single = tuple(
            Sensitivity(
                single=max(bound.single, count),
                l1=max(bound.l1, count),
                l2_squared=max(bound.l2_squared, count**2),
            )
            for bound, count in zip(every, one, strict=True)
        )
        """Marginal by marginal."""
        self._pairs = paired_sensitivities(charged, neighbours, weights=weights)

    def of(self, marginal: int) -> Sensitivity:
        """How much one unit can change a marginal, by its position in the workload."""
        # A negative position would take the cells of one marginal at the price of another.
        if not 0 <= marginal < len(self.single):
            raise KinfolkError(
                f"marginal {marginal}: there are marginals 0 to {len(self.single) - 1}. "
                "Use one of them."
            )
        return self.single[marginal]

    def joint(self, marginals: Sequence[int]) -> Sensitivity:
        """How much one unit can change several marginals: their sum, but for pairs."""
        left = Counter(marginals)
        parts: list[Sensitivity] = []
        for pair, both in self._pairs.items():
            times = min(left[at] for at in pair)
            parts += [both] * times
            left.subtract(dict.fromkeys(pair, times))
        return total_sensitivity([*parts, *(self.of(marginal) for marginal in left.elements())])


@dataclass(frozen=True, kw_only=True)
class PublicView:
    """Everything about a curator that is public before it sells anything.

    >>> from kinfolk.datasets import load_schema
    >>> workload = Workload.of(load_schema("acs-red"), k=1, levels=["individual"])
    >>> promise = Guarantee.of(neighbours=Neighbours.ADD_REMOVE, epsilon=1.0, delta=1e-9)
    >>> view = PublicView.of(workload, promise)
    >>> view.groups is None, round(view.measure([0], rho=promise.rho).mechanism.sigma, 1)
    (True, 17.3)
    """

    workload: Workload
    """What was, or will be, counted."""
    guarantee: Guarantee
    """What is promised, and the budget."""
    weights: Ints
    """(marginals, sizes + 1) what a group of each size adds: from the schema alone."""
    sensitivities: Sensitivities
    """What each marginal is priced by, singly and jointly with others."""
    groups: int | None = None
    """N_G, where it is public, once it was bought, or as it is assumed."""
    people: int | None = None
    """N_I, likewise."""
    groups_read: int | None = None
    """How many groups the file has, dropped ones included, where that is public."""
    informed: bool = False
    """Whether public tables say beforehand what is to be expected."""

    @classmethod
    def of(
        cls,
        workload: Workload,
        guarantee: Guarantee,
        *,
        size_weighted: bool = False,
        groups: int | None = None,
        people: int | None = None,
    ) -> PublicView:
        """The view of a curator to come; `groups` and `people` are what is known of them."""
        shape = (len(workload.marginals), workload.schema.size_limit + 1)
        weights = (
            workload_weights(workload, guarantee.unit)
            if size_weighted
            else np.ones(shape, np.int64)
        )
        view = cls.weighted(workload, guarantee, weights)
        return replace(view, groups=groups, people=people)

    @classmethod
    def weighted(cls, workload: Workload, guarantee: Guarantee, weights: Ints) -> PublicView:
        """The view of counts with these weights, before anything is known of the totals."""
        check_rules_fit_unit(workload.schema, guarantee.neighbours)
        bounds = Sensitivities(
            workload, guarantee.neighbours, guarantee.accounting, weights=weights
        )
        return cls(workload=workload, guarantee=guarantee, weights=weights, sensitivities=bounds)

    @property
    def rho(self) -> Fraction:
        """The budget."""
        return self.guarantee.rho

    @property
    def unit(self) -> Unit:
        """Whom the noise protects."""
        return self.guarantee.unit

    @property
    def accounting(self) -> Accounting:
        """The arithmetic that the budget is spent by."""
        return self.guarantee.accounting

    @property
    def sells_groups(self) -> bool:
        """Whether N_G has to be bought, as it is not public."""
        return not public_totals(self.workload.schema, self.guarantee.neighbours)[0]

    @property
    def sells_people(self) -> bool:
        """Whether N_I has to be bought, as it is not public."""
        return not public_totals(self.workload.schema, self.guarantee.neighbours)[1]

    def settled_groups(self, noisy: int) -> int:
        """How many groups there are taken to be, by the number that was released."""
        # There are no more groups than in the file, where that number is public.
        return max(1, noisy if self.groups_read is None else min(noisy, self.groups_read))

    def settled_people(self, noisy: int, *, groups: int) -> int:
        """How many people there are taken to be, by the number that was released."""
        # A group has at least one member, and no more than the schema allows.
        sizes = self.workload.schema.sizes
        return min(max(noisy, groups * sizes[0]), groups * sizes[-1])

    def knowing(self, *, groups: int | None = None, informed: bool | None = None) -> PublicView:
        """The view once the number of groups is known, or that there are public tables."""
        return replace(
            self,
            groups=self.groups if groups is None else groups,
            informed=self.informed if informed is None else informed,
        )

    def measure(self, marginals: Sequence[int], *, rho: Fraction | float) -> Purchase:
        """Whole marginals, with one noise for all of them."""
        squares = self.sensitivities.joint(marginals).l2_squared
        return Purchase(mechanism=self._gaussian(rho, squares), bought=self._named(marginals))

    def measure_query(self, query: int, *, rho: Fraction | float) -> Purchase:
        """One query. Under the paper's accounting, it is charged like the most sensitive of all."""
        marginal = self.workload.marginal_of(query)
        named = self._named([marginal])["marginals"][0]
        single = self._single(marginal)
        return Purchase(
            mechanism=self._gaussian(rho, single**2),
            bought={"query": {**named, "cell": query - self.workload.offsets[marginal]}},
        )

    def measure_groups(self, *, rho: Fraction | float) -> Purchase:
        """How many groups there are: one more or less, kept or dropped, changes that by one."""
        return Purchase(mechanism=self._gaussian(rho, 1), bought={"total": GROUPS})

    def measure_people(self, *, rho: Fraction | float) -> Purchase:
        """How many people there are: a group that comes, goes or is dropped takes all its own."""
        limit = self.workload.schema.size_limit
        return Purchase(mechanism=self._gaussian(rho, limit**2), bought={"total": PEOPLE})

    def select_query(
        self, *, rho: Fraction | float, multipliers: Mapping[str, int] | None = None
    ) -> Purchase:
        """One of all queries, by how far off it is, times its level's multiplier."""
        return self._select("query", rho, multipliers)

    def select_marginal(
        self, *, rho: Fraction | float, multipliers: Mapping[str, int] | None = None
    ) -> Purchase:
        """One of all marginals, by how far off its worst query is, times its level's multiplier.

        The largest of several numbers moves no further than that of them which moves most: it costs
        what choosing a query does.
        """
        return self._select("marginal", rho, multipliers)

    def _select(
        self, what: str, rho: Fraction | float, multipliers: Mapping[str, int] | None
    ) -> Purchase:
        factors = self.factors(multipliers)
        sensitivity = max(
            int(factor) * self.sensitivities.of(marginal).single
            for marginal, factor in enumerate(factors)
        )
        choice = Exponential.for_rho(rho, sensitivity=sensitivity, accounting=self.accounting)
        bought = {"select": what, "multipliers": dict(multipliers or {})}
        return Purchase(mechanism=choice, bought=bought)

    def factors(self, multipliers: Mapping[str, int] | None) -> Ints:
        """(marginals,) what scores are multiplied by."""
        given = multipliers or {}
        factors = [int(given.get(marginal.level, 1)) for marginal in self.workload.marginals]
        if min(factors) < 1 or max(factors) > 2**40:
            raise KinfolkError(
                f"multipliers are {dict(given)}. Use whole numbers from 1 to 2**40, about 10**12."
            )
        return np.array(factors, np.int64)

    def again(self, bought: Mapping[str, Any], *, rho: Fraction) -> Purchase:
        """The same thing for so much, priced from the schema; ValueError or LookupError if not so.

        What was bought is taken from its description alone, weights included.
        """
        match dict(bought):
            case {"total": "groups"}:
                return self.measure_groups(rho=rho)
            case {"total": "people"}:
                return self.measure_people(rho=rho)
            case {"select": "query", "multipliers": Mapping() as multipliers}:
                return self.select_query(rho=rho, multipliers=multipliers)
            case {"select": "marginal", "multipliers": Mapping() as multipliers}:
                return self.select_marginal(rho=rho, multipliers=multipliers)
            case {"query": Mapping() as query}:
                alone = self._described([query], ())
                # The cell's number does not matter: all cells of a marginal cost the same.
                marginal = alone.workload.marginals[0]
                if not 0 <= query["cell"] < marginal.cells:
                    raise ValueError("a query is not in its marginal")
                first = next(
                    at for at, one in enumerate(self.workload.marginals) if _same(one, marginal)
                )
                return self.measure_query(self.workload.offsets[first] + query["cell"], rho=rho)
            case {"marginals": Sequence() as described, **rest}:
                own = self._described(described, rest.get("weights", ()))
                return own.measure(range(len(own.workload.marginals)), rho=rho)
        raise ValueError(f"{str(dict(bought))[:60]} is nothing that can be bought")

    def _described(self, described: Sequence[Any], rows: Sequence[Any]) -> PublicView:
        """The view of a curator that has just the marginals that were described."""
        schema = self.workload.schema
        marginals = tuple(marginal_from(schema, one) for one in described)
        limit = schema.size_limit
        weights = np.ones((len(marginals), limit + 1), np.int64)
        known = [_row(row, limit) for row in rows]
        for at, one in enumerate(described):
            if known:
                weights[at] = known[int(one["weights"])]
        workload = Workload(schema=schema, marginals=marginals)
        return self.weighted(workload, self.guarantee, weights)

    def _named(self, marginals: Sequence[int]) -> dict[str, Any]:
        """What marginals are called, and what groups of each size add to them."""
        schema = self.workload.schema
        named = [describe_marginal(schema, self.workload.marginals[at]) for at in marginals]
        weights = self.weights[list(marginals)]
        if (weights[:, schema.sizes.start :] == 1).all():
            return {"marginals": named}
        rows, which = np.unique(weights, axis=0, return_inverse=True)
        for one, row in zip(named, which.ravel().tolist(), strict=True):
            one["weights"] = row
        return {"marginals": named, "weights": rows.tolist(), "unit": f"1/{WEIGHT_SCALE}"}

    def _single(self, marginal: int) -> Fraction:
        level = self.workload.marginals[marginal].level
        return self._shared.get(level, Fraction(self.sensitivities.of(marginal).single))

    @cached_property
    def _shared(self) -> Mapping[str, Fraction]:
        if self.accounting is not Accounting.PAPER:
            return {}
        if self.groups is None or self.people is None:
            raise KinfolkError("the paper's accounting needs the numbers of groups and people.")
        return shared_sensitivities(
            self.workload, self.sensitivities.single, groups=self.groups, people=self.people
        )

    def _gaussian(self, rho: Fraction | float, squares: int | Fraction) -> Gaussian:
        return Gaussian.for_rho(rho, squared_sensitivity=squares, accounting=self.accounting)


def public_totals(schema: Schema, neighbours: Neighbours) -> tuple[bool, bool, bool]:
    """Whether the numbers of groups kept, of people, and of groups in the file are public."""
    if neighbours is Neighbours.IN_PLACE:
        return True, True, True
    replaced = neighbours is Neighbours.REPLACE
    return replaced and not dropped(schema), False, replaced


def _row(row: object, limit: int) -> list[int]:
    """What a group of each size adds, if it can be that."""
    if (
        not isinstance(row, list)
        or len(row) != limit + 1
        or not all(type(one) is int and 0 <= one <= WEIGHT_SCALE for one in row)
    ):
        raise ValueError("weights are not what they should be")
    return row


def _same(one: Marginal, other: Marginal) -> bool:
    """Whether two marginals ask the same, however much it matters."""
    return replace(one, weight=1.0) == replace(other, weight=1.0)
