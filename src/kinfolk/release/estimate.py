"""What a run would do, worked out without data: queries, noise, memory and time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from kinfolk.errors import KinfolkError
from kinfolk.methods.method import Method
from kinfolk.models.layout import Layout
from kinfolk.models.universe import LARGEST, distinct_size, universe_size
from kinfolk.privacy.guarantee import Guarantee
from kinfolk.privacy.view import PublicView
from kinfolk.queries.workload import FAMILIES, Workload
from kinfolk.release.benchmark_run import Expected, benchmark_run
from kinfolk.schema import Schema


@dataclass(frozen=True, kw_only=True)
class Family:
    """The queries of one level, or of one relation."""

    name: str
    marginals: int
    queries: int
    noise: tuple[float, float] | None
    """The standard deviation of a measured query in counts: of the least and of the most sensitive.
    None where the method does not say in advance."""
    total: int
    """All groups, or all people: noise in counts is a share of these."""


@dataclass(frozen=True, kw_only=True)
class RunEstimate:
    """What a run would do."""

    families: tuple[Family, ...]
    rho: Fraction
    """The budget."""
    people: int
    """How many people the shares assume."""
    compositions: int
    parameters: int | None
    """Numbers that a mixture holds; None for other models."""
    universe: int
    """How many different groups there can be, the order of members included."""
    explicit: bool
    """Whether so many can be listed, as mwem and pep must."""
    expected: Expected | None
    """What it takes on this machine; None if it was not tried."""


def plan(
    schema: Schema,
    method: Method,
    guarantee: Guarantee,
    *,
    groups: int,
    people: int | None = None,
    benchmark: bool = True,
) -> RunEstimate:
    """Work out what a run would do with so many groups; the schema is all that it needs.

    >>> from kinfolk.datasets import load_schema
    >>> from kinfolk.methods.paper import hpd_fixed
    >>> from kinfolk.privacy.unit import Neighbours
    >>> promise = Guarantee.of(neighbours=Neighbours.REPLACE, epsilon=1.0, delta=1e-9)
    >>> estimate = plan(
    ...     load_schema("acs-red"), hpd_fixed(), promise, groups=10_000, benchmark=False
    ... )
    >>> [(family.name, family.queries, round(family.noise[1], 1)) for family in estimate.families]
    [('Q_G', 1333, 83.2), ('Q_I', 1333, 249.5)]
    """
    if groups < 1 or (people is not None and people < groups * schema.sizes[0]):
        raise KinfolkError(
            f"groups is {groups} and people {people}. Use at least one group, and at least "
            f"{schema.sizes[0]} people in each."
        )
    assumed = people or round(groups * min(2.5, (schema.sizes[0] + schema.sizes[-1]) / 2))
    workload = Workload.of(schema)
    universe = universe_size(schema)
    return RunEstimate(
        families=_families(workload, method, guarantee, groups=groups, people=assumed),
        rho=guarantee.rho,
        people=assumed,
        compositions=len(schema.compositions),
        parameters=_parameters(schema, method.settings),
        universe=universe,
        explicit=distinct_size(schema) <= LARGEST,
        expected=benchmark_run(schema, method, guarantee, groups=groups, people=assumed)
        if benchmark
        else None,
    )


def _parameters(schema: Schema, settings: Mapping[str, object]) -> int | None:
    components, scheme = settings.get("components"), settings.get("scheme")
    if not isinstance(components, int):
        return None
    return Layout.of(schema, scheme=scheme).parameters(components)  # type: ignore[arg-type]


def _families(
    workload: Workload, method: Method, guarantee: Guarantee, *, groups: int, people: int
) -> tuple[Family, ...]:
    view = PublicView.of(
        method.asks(workload),
        guarantee,
        size_weighted=method.size_weighted,
        groups=groups,
        people=people,
    )
    sigmas = method.planned_noise(view, workload)
    found: list[Family] = []
    for level, relation in dict.fromkeys((b.level, b.relation) for b in workload.marginals):
        marginals = [
            index
            for index, marginal in enumerate(workload.marginals)
            if (marginal.level, marginal.relation) == (level, relation)
        ]
        of_blocks = [sigma for index in marginals if (sigma := sigmas[index]) is not None]
        found.append(
            Family(
                name=FAMILIES[level] + (f" {relation}" if relation else ""),
                marginals=len(marginals),
                queries=workload.count(level, relation),
                noise=(min(of_blocks), max(of_blocks)) if of_blocks else None,
                total=groups if level == "group" else people,
            )
        )
    return tuple(found)
