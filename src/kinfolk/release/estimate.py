"""What a run would do, worked out without data: queries, noise, errors, memory and time.

A share by fewer attributes is a sum of shares by more of them, once for every measured marginal
that has them all. Their noise is independent, so the best average of these sums has a standard
error that follows from the schema and the budget. What the model adds to it, or gains from knowing
that all measurements are of the same people, is not in it.

To tell the time, a method is at work on made-up groups for a moment. They are drawn from a random
model of the schema. Everything else is as in a real run: tables are encoded and counted, steps are
bought from a curator, a model learns.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import median
from typing import Any

import numpy as np

from kinfolk._io import passing_folder
from kinfolk.data.decode import decode
from kinfolk.errors import KinfolkError
from kinfolk.methods.method import Method, Step
from kinfolk.methods.run import run
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.models.records import Records
from kinfolk.models.universe import LARGEST, distinct_size, universe_size
from kinfolk.privacy.curator import Curator
from kinfolk.privacy.guarantee import Guarantee
from kinfolk.privacy.noise import opendp
from kinfolk.privacy.view import PublicView
from kinfolk.queries.naming import marginal_from
from kinfolk.queries.workload import FAMILIES, Marginal, Workload
from kinfolk.schema import Schema
from kinfolk.schema.attributes import shown
from kinfolk.template import show

MOST = 3
"""Answers by so many attributes are told of, at most."""


@dataclass(frozen=True, kw_only=True)
class Known:
    """How well the answers of one level, or of one relation, will be known."""

    level: str
    relation: str | None
    errors: Mapping[int, float]
    """The standard error of a share by so many attributes, in the middle of all sets of them that
    follow from what is measured."""


def known(view: PublicView, steps: Iterable[Step]) -> tuple[Known, ...]:
    """What these steps will tell, where the view says how many groups and people there are.

    Steps that buy anything but whole marginals tell nothing here. Of groups, shares by their own
    attributes are told of, where there are any.
    """
    precisions: dict[tuple[str, str | None], dict[Attributes, float]] = defaultdict(
        lambda: defaultdict(float)
    )
    for step in steps:
        bought = step.purchase.bought
        for described in bought.get("marginals", ()):
            marginal = marginal_from(view.workload.schema, described)
            if marginal.fine or marginal.total:
                continue
            row = bought["weights"][described["weights"]] if "weights" in bought else None
            groups, people = _totals(view, row)
            sigma = step.purchase.mechanism.noise
            total = groups if marginal.level == "group" else people
            own = precisions[marginal.level, marginal.relation]
            for attributes, cells in _sums(marginal):
                own[attributes] += (total / sigma) ** 2 / cells
                # With weights of about one over the size, people add up to groups.
                if marginal.level == "individual" and not attributes[1] and _evens(view, row):
                    precisions["group", None][attributes] += (people / sigma) ** 2 / cells
    return tuple(
        Known(level=level, relation=relation, errors=errors)
        for wanted in FAMILIES
        for (level, relation), found in precisions.items()
        if level == wanted and (errors := _middle(level, found))
    )


Attributes = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""Positions of group attributes, of individual ones, and of a relative's."""


def _totals(view: PublicView, row: Sequence[int] | None) -> tuple[float, float]:
    """All groups and all people, in what those of a group of the average size add.

    row: what a group of each size adds for one, (sizes + 1,).
    """
    groups, people = view.groups or 1, view.people or 1
    if row is None:
        return groups, people
    sizes = view.workload.schema.sizes
    weight = row[min(max(round(people / groups), sizes[0]), sizes[-1])]
    return groups * weight, people * weight


def _evens(view: PublicView, row: Sequence[int] | None) -> bool:
    """Whether the members of a group add about the same together, however many there are."""
    if row is None:
        return False
    whole = [size * row[size] for size in view.workload.schema.sizes]
    return max(whole) < 1.5 * min(whole)


def _sums(marginal: Marginal) -> Iterable[tuple[Attributes, int]]:
    """Which attributes a sum over the marginal's cells can be by, and of how many cells it is.

    A household that has two kinds of members is in two cells, and somebody with two kinds of
    relatives as well: sums over those do not add up, and are left out.
    """
    own = [*((True, at) for at in marginal.group), *((False, at) for at in marginal.individual)]
    sizes = dict(zip(own, marginal.shape, strict=False))
    free = [one for one in own if one[0] or marginal.level != "group"]
    for number in range(len(free) + 1):
        for summed in itertools.combinations(free, number):
            left = [one for one in own if one not in summed]
            group, individual = (
                tuple(at for of_group, at in left if of_group is wanted) for wanted in (True, False)
            )
            cells = math.prod(sizes[one] for one in summed)
            yield (group, individual, marginal.relative), cells


def _middle(level: str, precisions: Mapping[Attributes, float]) -> dict[int, float]:
    own: dict[int, list[float]] = defaultdict(list)
    every: dict[int, list[float]] = defaultdict(list)
    for attributes, precision in precisions.items():
        ways, error = sum(map(len, attributes)), precision**-0.5
        every[ways].append(error)
        if level == "group" and not attributes[1]:
            own[ways].append(error)
    found = every | own
    return {ways: median(found[ways]) for ways in sorted(found) if 1 <= ways <= MOST}


FEW, MANY = 1_000, 20_000
"""Made-up groups: counting is timed with both numbers, to tell its fixed cost from the rest."""
SECONDS = 1.0
"""So long are steps timed, ..."""
STEPS = 3
"""... and at least so many of them."""
MOST_TRIED = 1_000
"""Compositions: with more of them, a moment's work takes minutes and gigabytes, and is left out.
Made-up groups have them all; real ones have few, and a run fits those."""
USUAL_PASSES = 12
"""So many passes a trial usually finds worth while; at epsilon = 1, nine on Spain's survey."""
PER_PERSON = 320
"""Bytes that more people add to the peak, each; measured with 21 attributes. It is an estimate."""
MOST_FOR_TABLES = 256 * 2**20
"""Bytes that they add at most, as larger tables are streamed; measured with two million people."""


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What a run will take on this machine."""

    counting_seconds: float
    fitting_seconds: float
    """As is usual, where a method finds out by itself when to end."""
    peak_bytes: float


@dataclass(frozen=True, kw_only=True)
class Family:
    """The queries of one level, or of one relation; or numbers on their own."""

    name: str
    marginals: int
    bought: int
    """How many of the marginals are measured, or may be; the rest would be mostly noise."""
    queries: int
    noise: tuple[float, float] | None
    """The standard deviation of a measured query in counts: of the least and of the most sensitive.
    None where the method does not say in advance."""
    total: int
    """All groups, or all people: noise in counts is a share of these."""


@dataclass(frozen=True, kw_only=True, repr=False)
class RunEstimate:
    """What a run would do."""

    families: tuple[Family, ...]
    known: tuple[Known, ...]
    """How well answers will be known, by level and relation; nothing where a method chooses what it
    measures as it goes."""
    choices: int
    """How many times something is chosen and then measured; 0 where all is planned."""
    rho: Fraction
    """The budget."""
    groups: int
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

    def __repr__(self) -> str:
        queries = sum(family.queries for family in self.families)
        return (
            f"RunEstimate({queries:,} queries of {self.groups:,} groups and {self.people:,} "
            f"people, rho = {float(self.rho):.4g})"
        )

    def _repr_html_(self) -> str:
        headings = ["", "marginals", "queries", "noise in counts", "as a share"]
        rows: list[list[object]] = []
        for family in self.families:
            noise = [0.0] if family.noise is None else sorted(set(family.noise))
            counts = " to ".join(f"{sigma:,.1f}" for sigma in noise)
            shares = " to ".join(f"{sigma / family.total:.3%}" for sigma in noise)
            told = ["", ""] if family.noise is None else [counts, shares]
            rows.append([family.name, family.marginals, family.queries, *told])
        if self.expected is not None:
            seconds = self.expected.counting_seconds + self.expected.fitting_seconds
            memory = self.expected.peak_bytes / 2**20
            rows.append(["on this machine", f"{seconds:,.0f} s", f"{memory:,.0f} MB", "", ""])
        return show(f"A run on {self.groups:,} groups", rows, headings=headings)


def estimate_run(
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
    >>> estimate = estimate_run(
    ...     load_schema("acs-red"), hpd_fixed(), promise, groups=10_000, benchmark=False
    ... )
    >>> [(family.name, family.queries, round(family.noise[1], 1)) for family in estimate.families]
    [('Q_G', 1333, 83.2), ('Q_I', 1333, 249.5)]
    """
    for name, number in (("groups", groups), ("people", people)):
        if number is not None and not isinstance(number, int | float | np.number):
            raise KinfolkError(f"{name} is {shown(number)}. Use a number, such as 10000.")
    if groups < 1 or (people is not None and people < groups * schema.sizes[0]):
        raise KinfolkError(
            f"groups is {groups} and people {people}. Use at least one group, and at least "
            f"{schema.sizes[0]} people in each."
        )
    assumed = people or round(groups * min(2.5, (schema.sizes[0] + schema.sizes[-1]) / 2))
    workload = Workload.of(schema)
    universe = universe_size(schema)
    view = PublicView.of(
        method.asks(workload),
        guarantee,
        size_weighted=method.size_weighted,
        groups=groups,
        people=assumed,
    )
    steps = method.steps(view)
    choices = sum("select" in step.purchase.bought for step in steps)
    return RunEstimate(
        families=_families(workload, method, view, groups=groups, people=assumed),
        known=() if choices else known(view, steps),
        choices=choices,
        rho=guarantee.rho,
        groups=groups,
        people=assumed,
        compositions=len(schema.compositions),
        parameters=_parameters(schema, method.settings),
        universe=universe,
        explicit=distinct_size(schema) <= LARGEST,
        expected=benchmark_run(schema, method, guarantee, groups=groups, people=assumed)
        if benchmark and len(schema.compositions) <= MOST_TRIED
        else None,
    )


def _parameters(schema: Schema, settings: Mapping[str, object]) -> int | None:
    components, scheme = settings.get("components"), settings.get("scheme")
    if not isinstance(components, int):
        return None
    return Layout.of(schema, scheme=scheme).parameters(components)  # type: ignore[arg-type]


def _families(
    workload: Workload, method: Method, view: PublicView, *, groups: int, people: int
) -> tuple[Family, ...]:
    numbers = tuple(marginal for marginal in view.workload.marginals if marginal.alone)
    asked = replace(workload, marginals=(*workload.marginals, *numbers))
    sigmas = method.planned_noise(view, workload)
    if numbers:
        sigmas = [*sigmas, *method.planned_noise(view, replace(workload, marginals=numbers))]
    kinds = [(one.level, _alone(one) if one.alone else one.relation) for one in asked.marginals]
    found: list[Family] = []
    for level, relation in dict.fromkeys(kinds):
        own = [at for at, kind in enumerate(kinds) if kind == (level, relation)]
        noises = [sigma for at in own if (sigma := sigmas[at]) is not None]
        found.append(
            Family(
                name=FAMILIES[level] + (f" {relation}" if relation else ""),
                marginals=len(own),
                bought=len(noises),
                queries=sum(asked.marginals[at].cells for at in own),
                noise=(min(noises), max(noises)) if noises else None,
                total=groups if level == "group" else people,
            )
        )
    return tuple(found)


class _Enough(Exception):  # noqa: N818  (not an error)
    """The benchmark has seen enough."""


class _Watch:
    """Times the steps of a method and stops it."""

    def __init__(self) -> None:
        self.ticks: list[tuple[str, int, int, float]] = []
        """What was done, how many steps of how many, and when."""

    def __call__(self, doing: str, done: int, total: int) -> None:
        self.ticks.append((doing, done, total, time.perf_counter()))
        same = [tick for tick in self.ticks if tick[0] == doing]
        # Buying is watched to its end: what takes longest comes after it.
        if doing != "measuring" and len(same) > STEPS and same[-1][3] - same[0][3] > SECONDS:
            raise _Enough

    def seconds(self, settings: Mapping[str, object]) -> float:
        """How long all steps take; of the stage that was cut short, by those that were seen.

        The first step is left out where there are others: code is compiled in it. After a trial
        come fits of the same size that were not seen: those of the parts and of the replicates.
        """
        expected: dict[str, float] = {}
        for stage in dict.fromkeys(tick[0] for tick in self.ticks):
            same = [tick for tick in self.ticks if tick[0] == stage]
            (_, first, total, start), (_, last, _, end) = same[0], same[-1]
            steps = min(total, USUAL_PASSES) if stage == "trying" else total
            expected[stage] = (end - start) / max(last - first, 1) * steps
        for stage, name in (("fitting", "parts"), ("repeating", "replicates")):
            number = settings.get(name)
            if isinstance(number, int) and "trying" in expected:
                expected.setdefault(stage, number * expected["trying"])
        return sum(expected.values())


def _alone(marginal: Marginal) -> str:
    """What is counted on its own is called so among the queries."""
    if marginal.total:
        return "totals" if marginal.total == "sum" else "totals, in bands"
    return "numbers, finely" if marginal.fine else "numbers"


def benchmark_run(
    schema: Schema, method: Method, guarantee: Guarantee, *, groups: int, people: int
) -> Expected:
    """Run a method for a moment, and work out what it takes with so many groups and people."""
    few, many = min(FEW, groups), min(MANY, groups)
    workload = method.asks(Workload.of(schema))
    watch, seed = _Watch(), _seed()
    with passing_folder() as folder:

        def counted(number: int) -> tuple[Curator, float]:
            tables = _made_up(schema, number)
            start = time.perf_counter()
            curator = Curator.of_tables(
                tables,
                workload,
                guarantee=guarantee,
                ledger=folder / f"{time.monotonic_ns()}.jsonl",
                seed=seed,
                size_weighted=method.size_weighted,
                bind=False,
            )
            return curator, time.perf_counter() - start

        # Once to compile, or to load what is compiled.
        for number in (few, few):
            curator, least = counted(number)
            curator.close()
        curator, most = counted(many)
        with curator, contextlib.suppress(_Enough):
            run(curator, method, rng=np.random.default_rng(1), progress=watch)
    slope = max(most - least, 0.0) / max(many - few, 1)
    more = max(people - people * many // groups, 0)
    return Expected(
        counting_seconds=least + slope * (groups - few),
        fitting_seconds=watch.seconds(method.settings),
        peak_bytes=_peak() + min(more * PER_PERSON, MOST_FOR_TABLES),
    )


def _seed() -> int | None:
    """None, for noise as it will be; a seed where opendp is not installed."""
    try:
        opendp()
    except KinfolkError:
        return 1
    return None


def _made_up(schema: Schema, groups: int) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    model = HPD.random(Layout.of(schema), components=20, rng=rng)
    return decode(Records(model=model).draw_all(groups, rng=rng), rng=rng)


def _peak() -> float:
    """The most memory that this process has had, in bytes."""
    found = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(found if sys.platform == "darwin" else found * 1024)
