"""What can be audited: something private, run on one of two neighbours, that leaves clues.

Each run is a whole run: a curator of its own, a ledger of its own, noise from the operating system,
and all of the budget spent. The first clue is the logarithm of how much likelier everything
released is for the second neighbour than for the first: no guess does better, as long as what is
published is what the ledger says. Working it out takes the counts of both neighbours, which an
auditor made up and an attacker is assumed to know. A whole run publishes more than its ledger, and
what it publishes beside is another clue.

The tiny pair: the marginal is that of people by sex and by the size of their household. A
household of ten women fills one cell, and nine men another: nearly the most that any household can
do, and the sizes change with it. The size is where the paper's sensitivity goes wrong, so an audit
of the household unit has to look there. People by size alone are counted beside it, for selections.
Households by size are another pair: there a household changes one count by one, and the noise is
smallest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kinfolk._typing import Floats, Ints
from kinfolk.audit.guess import Ceiling
from kinfolk.audit.search import gaussian_ratio
from kinfolk.audit.whole import default_run, dropped_run
from kinfolk.data.encoded import Encoded
from kinfolk.privacy.accounting import Accounting
from kinfolk.privacy.curator import Curator, Measurement
from kinfolk.privacy.guarantee import Guarantee
from kinfolk.privacy.mechanisms import Exponential, round_shares
from kinfolk.privacy.unit import Neighbours
from kinfolk.queries.counting import Counter
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema

LEAD = 10.0**9
"""How far the cells that differ are ahead of all others in a selection: no other has a chance."""
ROUNDS = 3
ALPHA = 0.5
"""How a round's budget is split: a fifth selects, the rest measures."""
_TOO_MANY = 9
"""A ledger that forgets what was spent is stopped after so many times the budget."""


SCHEMA = """
group: {table: households, id: household_id, attributes: {}}
individual:
  table: persons
  group_id: household_id
  attributes: {sex: {values: [woman, man]}}
max_size: 10
count: COUNT
workload: {levels: [individual], sets: [[COUNT, sex], [COUNT]]}
"""

_WOMAN, _MAN = 0, 1
_OTHERS = ([_WOMAN, _MAN], [_MAN])
_SIDES = {
    Neighbours.ADD_REMOVE: (_OTHERS, ([_WOMAN] * 10, *_OTHERS)),
    Neighbours.REPLACE: (([_WOMAN] * 10, *_OTHERS), ([_MAN] * 9, *_OTHERS)),
    Neighbours.IN_PLACE: (([_WOMAN], *_OTHERS), ([_MAN], *_OTHERS)),
}
"""The households on either side, each as the sexes of its members."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Pair:
    """Two neighbours, counted. The people are made up, so nothing here is private."""

    first: Counter
    second: Counter

    @property
    def workload(self) -> Workload:
        """What was counted."""
        return self.first.workload

    @property
    def difference(self) -> Ints:
        """(queries,) what the second has more than the first."""
        return self.second.counts - self.first.counts

    @property
    def distance(self) -> float:
        """The Euclidean length of the difference in the first marginal."""
        return float(np.linalg.norm(self.difference[: self.workload.offsets[1]]))


@cache
def pair_of(neighbours: Neighbours) -> Pair:
    """The pair for some neighbours, with people counted.

    >>> pair = pair_of(Neighbours.REPLACE)
    >>> sorted(set(pair.difference.tolist()))
    [-10, 0, 9]
    """
    return _pair(neighbours, Workload.of(Schema.from_text(SCHEMA)))


@cache
def sizes_of(neighbours: Neighbours) -> Pair:
    """The same pair, with households counted by their sizes.

    >>> sizes_of(Neighbours.ADD_REMOVE).difference.tolist()
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    """
    schema = Schema.from_text(SCHEMA)
    return _pair(neighbours, Workload.of(schema, levels=["group"], sets=[["COUNT"]]))


def _pair(neighbours: Neighbours, workload: Workload) -> Pair:
    first, second = (_count(workload, side) for side in _SIDES[neighbours])
    return Pair(first=first, second=second)


def _count(workload: Workload, households: tuple[list[int], ...]) -> Counter:
    data = Encoded(
        schema=workload.schema,
        group=np.zeros((len(households), 0), np.uint8),
        individual=np.array([[sex] for home in households for sex in home], np.uint8),
        offsets=np.cumsum([0, *map(len, households)], dtype=np.int64),
    )
    return Counter.of(data, workload)


class Subject(Protocol):
    """Something that spends a whole budget on one of two neighbours."""

    @property
    def schema(self) -> Schema:
        """Whose words the neighbours are told in."""
        ...

    @property
    def clues(self) -> tuple[str, ...]:
        """What the clues of a run are called."""
        ...

    @property
    def ceiling(self) -> Ceiling:
        """What a budget can buy here."""
        ...

    def run(self, ledger: Path, *, second: bool) -> tuple[float, ...]:
        """Run it once on one of the two; return the clues, all larger for the second."""
        ...


@dataclass(frozen=True, kw_only=True)
class Toy:
    """Something bought from a curator of the tiny pair."""

    pair: Pair
    guarantee: Guarantee
    ceiling: Ceiling
    buy: Callable[[Pair, Curator], float]
    """Spends the whole budget; returns how much likelier what was bought is for the second."""
    clues: tuple[str, ...] = ("likelihood",)

    @property
    def schema(self) -> Schema:
        """See `Subject`."""
        return self.pair.workload.schema

    def run(self, ledger: Path, *, second: bool) -> tuple[float, ...]:
        """See `Subject`."""
        data = self.pair.second if second else self.pair.first
        with Curator(data, guarantee=self.guarantee, ledger=ledger) as gate:
            return (self.buy(self.pair, gate),)


def measuring(promised: Guarantee, pair: Pair | None = None) -> Toy:
    """One marginal, bought with all of the budget."""
    own = pair or pair_of(promised.neighbours)
    sigma = own.distance / math.sqrt(2 * promised.rho)
    ceiling = Ceiling(selected=0.0, sigma=sigma, accounting=promised.accounting)
    return Toy(pair=own, guarantee=promised, ceiling=ceiling, buy=_measure)


def _measure(pair: Pair, gate: Curator) -> float:
    clue = 0.0
    for turn in range(_TOO_MANY):
        if gate.remaining <= gate.guarantee.rho / 2:
            break
        bought = gate.measure([0], rho=gate.remaining, step=f"measure {turn}")
        clue += _measured(pair, bought)
    return clue


def selecting(promised: Guarantee, buy: Callable[[Pair, Curator], float]) -> Toy:
    """One selection, bought with all of the budget."""
    pair = pair_of(promised.neighbours)
    return Toy(pair=pair, guarantee=promised, ceiling=Ceiling(selected=1.0), buy=buy)


def _select(pair: Pair, gate: Curator) -> float:
    """Among all cells: the estimates put those that differ far ahead and level with each other."""
    estimates = _level(pair, _middle(pair), np.flatnonzero(pair.difference))
    chosen = gate.select_query(estimates, rho=gate.remaining, step="select")
    return _selected(gate, chosen, *_scores(pair, estimates))


def _select_marginal(pair: Pair, gate: Curator) -> float:
    """Among marginals: in each a cell, one that differs if there is one, is far ahead."""
    starts = pair.workload.offsets[:-1]
    cells = [
        start + int(np.abs(pair.difference[_cells(pair, at)]).argmax())
        for at, start in enumerate(starts)
    ]
    estimates = _level(pair, _middle(pair), np.array(cells))
    chosen = gate.select_marginal(estimates, rho=gate.remaining, step="select")
    return _selected(
        gate,
        chosen,
        *(np.maximum.reduceat(scores, starts) for scores in _scores(pair, estimates)),
    )


def adapting(promised: Guarantee) -> Toy:
    """A small adaptive run: select a cell, measure its marginal, correct the estimates, repeat.

    The estimates follow what was released, with the cells that differ kept ahead.
    """
    pair = pair_of(promised.neighbours)
    select, measure = ALPHA**2 / 8, (1 - ALPHA) ** 2 / 2
    selected = select / (select + measure)
    a_round = promised.rho * (1 - selected) / ROUNDS
    ceiling = Ceiling(selected=selected, sigma=pair.distance / math.sqrt(2 * a_round))
    return Toy(pair=pair, guarantee=promised, ceiling=ceiling, buy=_adapt)


def _adapt(pair: Pair, gate: Curator) -> float:
    estimates, clue = _middle(pair), 0.0
    shares = round_shares(gate.guarantee.rho, rounds=ROUNDS, alpha=ALPHA)
    for turn in range(_TOO_MANY * ROUNDS):
        if gate.remaining < shares.select + shares.measure:
            break
        # select
        offered = _level(pair, estimates, np.flatnonzero(pair.difference))
        chosen = gate.select_query(offered, rho=shares.select, step=f"select {turn}")
        clue += _selected(gate, chosen, *_scores(pair, offered))
        # measure
        marginal = pair.workload.marginal_of(chosen)
        bought = gate.measure([marginal], rho=shares.measure, step=f"measure {turn}")
        clue += _measured(pair, bought)
        # correct
        estimates[_cells(pair, marginal)] = bought.values
    return clue


def _middle(pair: Pair) -> Floats:
    """Whole counts half-way between the two neighbours."""
    return np.floor((pair.first.counts + pair.second.counts) / 2)


def _level(pair: Pair, estimates: Floats, ahead: npt.NDArray[np.intp]) -> Floats:
    """Estimates that put some cells ahead of all others.

    They are too low for some and too high for others, so that the second neighbour raises one score
    and lowers the next: that is what a choice can tell most of.
    """
    turns = np.where(np.arange(len(ahead)) % 2, 1, -1) * np.where(pair.difference[ahead] < 0, -1, 1)
    level = pair.first.counts.astype(np.float64)
    level[ahead] = estimates[ahead] + LEAD * turns
    return level


def _cells(pair: Pair, marginal: int) -> slice:
    return slice(pair.workload.offsets[marginal], pair.workload.offsets[marginal + 1])


def _measured(pair: Pair, bought: Measurement) -> float:
    """How much likelier noisy counts are for the second neighbour, as a logarithm."""
    (marginal,) = bought.marginals
    cells = _cells(pair, marginal)
    first, second = pair.first.counts[cells], pair.second.counts[cells]
    return gaussian_ratio(bought.values, first, second, bought.sigma)


def _scores(pair: Pair, estimates: Floats) -> list[Floats]:
    """How far the counts of either neighbour are from what they are estimated to be."""
    return [np.abs(side.counts - np.rint(estimates)) for side in (pair.first, pair.second)]


def _selected(gate: Curator, chosen: int, first: Floats, second: Floats) -> float:
    """How much likelier a choice is for the second neighbour, as a logarithm, by both's scores."""
    mechanism = gate.own.spends[-1].mechanism
    assert isinstance(mechanism, Exponential)  # noqa: S101  (the last purchase was a selection)
    likely = (_log_choice(scores, mechanism.scale, chosen) for scores in (second, first))
    return next(likely) - next(likely)


def _log_choice(scores: Floats, scale: float, chosen: int) -> float:
    """The logarithm of the probability of a choice with P ~ exp(score / scale)."""
    ahead = (scores - scores.max()) / scale
    return float(ahead[chosen] - np.log(np.exp(ahead).sum()))


@dataclass(frozen=True, kw_only=True)
class SubjectKind:
    """A subject before anything is promised."""

    build: Callable[[Guarantee], Subject]
    accountings: tuple[Accounting, ...]
    """The arithmetic that covers it; the first is what it has by default."""


_TIGHT_FIRST = (Accounting.GAUSSIAN, Accounting.ZCDP)
SUBJECTS: Mapping[str, SubjectKind] = {
    "default": SubjectKind(build=default_run, accountings=_TIGHT_FIRST),
    "dropped": SubjectKind(build=dropped_run, accountings=_TIGHT_FIRST),
    "measure": SubjectKind(build=measuring, accountings=_TIGHT_FIRST[::-1]),
    "sizes": SubjectKind(
        build=lambda promised: measuring(promised, sizes_of(promised.neighbours)),
        accountings=_TIGHT_FIRST,
    ),
    "select": SubjectKind(build=partial(selecting, buy=_select), accountings=(Accounting.ZCDP,)),
    "select-marginal": SubjectKind(
        build=partial(selecting, buy=_select_marginal), accountings=(Accounting.ZCDP,)
    ),
    "run": SubjectKind(build=adapting, accountings=(Accounting.ZCDP,)),
}
"""By the name that `kinfolk audit --what` knows them by."""
