"""Whole runs of the default method, from tables to a release, on the two neighbours of a town.

A run goes through `release.fitting.fit`: tables are read and cleaned, households are weighted and
counted, the number of households and all marginals are bought, a model is fitted, a certificate is
made. Only the model is small, so that a run takes some tens of milliseconds; it comes after the
noise. The clues are the likelihood of everything in the ledger, and the number of households that
the release says should be drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from kinfolk._typing import Ints
from kinfolk.audit.guess import Ceiling
from kinfolk.audit.search import AnswerPlaces, Sight, Worst, answers_of, log_ratio, worst_pair
from kinfolk.audit.town import OVERSIZE, Home, tables_of, town_schema, townspeople
from kinfolk.data.encode import encode
from kinfolk.methods.marginals import Marginals
from kinfolk.methods.method import Step
from kinfolk.privacy.account import read_account
from kinfolk.privacy.guarantee import Guarantee
from kinfolk.privacy.mechanisms import Gaussian
from kinfolk.privacy.unit import Neighbours
from kinfolk.privacy.view import PublicView
from kinfolk.queries.counting import Counter
from kinfolk.queries.workload import Workload
from kinfolk.release.fitting import fit
from kinfolk.schema import Schema

METHOD = Marginals(components=1, parts=1, replicates=0, max_passes=1)
"""The default method with the smallest model; what it buys does not depend on that."""

Tables = Mapping[str, pa.Table]


@dataclass(frozen=True, kw_only=True, eq=False)
class Whole:
    """The default method on two towns that differ in one household, or in one member of one."""

    guarantee: Guarantee
    pair: Worst
    """The household in which they differ."""
    tables: tuple[Tables, Tables]
    """The two towns."""
    answers: tuple[Ints, Ints]
    """Their exact answers, see `search.answers_of`."""
    places: AnswerPlaces
    ceiling: Ceiling
    schema: Schema = field(default_factory=town_schema)
    clues: tuple[str, ...] = ("likelihood", "rows")

    def run(self, ledger: Path, *, second: bool) -> tuple[float, ...]:
        """See `Subject`."""
        fitted = fit(
            self.schema,
            self.tables[second],
            guarantee=self.guarantee,
            method=METHOD,
            ledger=ledger,
            passing=True,
        )
        released = read_account(ledger).last.releases.values()
        return log_ratio(released, self.places, *self.answers), float(fitted.release.groups)


def default_run(guarantee: Guarantee) -> Whole:
    """On the worst pair of neighbours that a search finds for what the method will buy.

    >>> from kinfolk.privacy.accounting import Accounting
    >>> promise = Guarantee.of(
    ...     neighbours=Neighbours.ADD_REMOVE, epsilon=1.0, delta=1e-6,
    ...     accounting=Accounting.GAUSSIAN,
    ... )
    >>> 0.9 < default_run(promise).pair.square / (2 * promise.rho) <= 1
    True
    """
    view, steps = town_plan(guarantee)
    return _whole(guarantee, worst_pair(guarantee.neighbours, Sight(view, steps)), view, steps)


def dropped_run(guarantee: Guarantee) -> Whole:
    """On a pair of which one household is dropped by cleaning, as it is too large.

    With add-remove it comes or goes, and with in-place one of its members changes: nothing may
    change then. With replace, it becomes the household that tells most about itself.
    """
    view, steps = town_plan(guarantee)
    sight = Sight(view, steps)
    match guarantee.neighbours:
        case Neighbours.ADD_REMOVE:
            pair = Worst(first=None, second=OVERSIZE, square=0.0)
        case Neighbours.IN_PLACE:
            pair = Worst(first=OVERSIZE, second=_other_sex(OVERSIZE), square=0.0)
        case _:
            found = worst_pair(Neighbours.ADD_REMOVE, sight)
            pair = replace(found, first=OVERSIZE)
    return _whole(guarantee, pair, view, steps)


def town_plan(guarantee: Guarantee) -> tuple[PublicView, Sequence[Step]]:
    """What the method will buy in the town, if it finds as many households as there are."""
    schema = town_schema()
    workload = METHOD.asks(Workload.of(schema))
    found = Counter.of(encode(schema, tables_of(townspeople())), workload)
    groups, people = found.groups, found.people
    view = PublicView.of(workload, guarantee, size_weighted=METHOD.size_weighted, groups=groups)
    return view, METHOD.steps(view if view.sells_people else replace(view, people=people))


def _whole(guarantee: Guarantee, pair: Worst, view: PublicView, steps: Sequence[Step]) -> Whole:
    towns = tuple(
        tables_of([*townspeople(), *([] if home is None else [home])])
        for home in (pair.first, pair.second)
    )
    counted = (
        Counter.of(encode(town_schema(), tables), view.workload, weights=view.weights)
        for tables in towns
    )
    answers = [answers_of(counter) for counter in counted]
    noises = [step.purchase.mechanism for step in steps]
    sigma = min(noise.sigma for noise in noises if isinstance(noise, Gaussian))
    return Whole(
        guarantee=guarantee,
        pair=pair,
        tables=(towns[0], towns[1]),
        answers=(answers[0], answers[1]),
        places=AnswerPlaces(view.workload),
        ceiling=Ceiling(selected=0.0, sigma=sigma, accounting=guarantee.accounting),
    )


def _other_sex(home: Home) -> Home:
    """The household with one member's sex changed."""
    first, *rest = home.members
    changed = replace(first, codes=(1 - first.codes[0], *first.codes[1:]))
    return replace(home, members=(changed, *rest))
