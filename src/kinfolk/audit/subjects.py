"""What can be audited: something private, run on one of two neighbours, that leaves a clue.

Each run is a whole run: a curator of its own, a ledger of its own, noise from the operating system,
and all of the budget spent. The clue is the logarithm of how much likelier everything released is
for the second neighbour than for the first: no guess does better. Working it out takes the counts
of both neighbours, which an auditor made up and an attacker is assumed to know.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kinfolk.audit.neighbours import Pair, neighbours
from kinfolk.audit.tradeoff import Ceiling
from kinfolk.privacy.curator import Curator, Measurement, Promise
from kinfolk.privacy.mechanisms import Exponential, round_shares
from kinfolk.queries.counting import Counter
from kinfolk.queries.units import Unit

Floats = npt.NDArray[np.float64]

LEAD = 10.0**9
"""How far the cells that differ are ahead of all others in a selection: no other has a chance."""
ROUNDS = 3
ALPHA = 0.5
"""How a round's budget is split: a fifth selects, the rest measures."""
_TOO_MANY = 9
"""A ledger that forgets what was spent is stopped after so many times the budget."""


class Subject(Protocol):
    """Something that spends a whole budget on one of two neighbours."""

    @property
    def pair(self) -> Pair:
        """The two neighbours."""
        ...

    def ceiling(self, rho: float) -> Ceiling:
        """What a budget can buy here."""
        ...

    def run(self, data: Counter, promise: Promise, ledger: Path) -> float:
        """Run it once on one of the two; return the clue, larger for the second."""
        ...


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One marginal, bought with all of the budget."""

    pair: Pair

    def ceiling(self, rho: float) -> Ceiling:
        """See `Subject`."""
        return Ceiling(selected=0.0, sigma=self.pair.distance / math.sqrt(2 * rho))

    def run(self, data: Counter, promise: Promise, ledger: Path) -> float:
        """See `Subject`."""
        with Curator(data, promise=promise, ledger=ledger) as gate:
            clue = 0.0
            for turn in range(_TOO_MANY):
                if gate.remaining <= gate.terms.rho / 2:
                    break
                bought = gate.measure([0], rho=gate.remaining, step=f"measure {turn}")
                clue += _measured(self.pair, bought)
        return clue


@dataclass(frozen=True, kw_only=True)
class Select:
    """One selection among all cells, bought with all of the budget.

    The estimates put the two cells that differ far ahead and level with each other.
    """

    pair: Pair

    def ceiling(self, rho: float) -> Ceiling:
        """See `Subject`."""
        del rho
        return Ceiling(selected=1.0)

    def run(self, data: Counter, promise: Promise, ledger: Path) -> float:
        """See `Subject`."""
        estimates = _level(self.pair, _middle(self.pair))
        with Curator(data, promise=promise, ledger=ledger) as gate:
            chosen = gate.select_query(estimates, rho=gate.remaining, step="select")
            return _selected(self.pair, gate, estimates, chosen)


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """A small adaptive run: select a cell, measure its marginal, correct the estimates, repeat.

    The estimates follow what was released, with the two cells that differ kept ahead.
    """

    pair: Pair

    def ceiling(self, rho: float) -> Ceiling:
        """See `Subject`."""
        select, measure = ALPHA**2 / 8, (1 - ALPHA) ** 2 / 2
        selected = select / (select + measure)
        a_round = rho * (1 - selected) / ROUNDS
        return Ceiling(selected=selected, sigma=self.pair.distance / math.sqrt(2 * a_round))

    def run(self, data: Counter, promise: Promise, ledger: Path) -> float:
        """See `Subject`."""
        workload = self.pair.workload
        estimates = _middle(self.pair)
        clue = 0.0
        with Curator(data, promise=promise, ledger=ledger) as gate:
            shares = round_shares(gate.terms.rho, rounds=ROUNDS, alpha=ALPHA)
            for turn in range(_TOO_MANY * ROUNDS):
                if gate.remaining < shares.select + shares.measure:
                    break
                # select
                offered = _level(self.pair, estimates)
                chosen = gate.select_query(offered, rho=shares.select, step=f"select {turn}")
                clue += _selected(self.pair, gate, offered, chosen)
                # measure
                block = workload.block_of(chosen)
                bought = gate.measure([block], rho=shares.measure, step=f"measure {turn}")
                clue += _measured(self.pair, bought)
                # correct
                estimates = bought.values.astype(np.float64)
        return clue


def _middle(pair: Pair) -> Floats:
    """Whole counts half-way between the two neighbours."""
    return np.floor((pair.first.counts + pair.second.counts) / 2)


def _level(pair: Pair, estimates: Floats) -> Floats:
    """Estimates that put the cells that differ ahead of all others."""
    return np.where(pair.difference != 0, estimates - LEAD, pair.first.counts)


def _measured(pair: Pair, bought: Measurement) -> float:
    """How much likelier noisy counts are for the second neighbour, as a logarithm."""
    far = (bought.values - pair.first.counts).astype(np.float64) ** 2
    near = (bought.values - pair.second.counts).astype(np.float64) ** 2
    return float((far - near).sum()) / (2 * bought.sigma**2)


def _selected(pair: Pair, gate: Curator, estimates: Floats, chosen: int) -> float:
    """How much likelier a choice is for the second neighbour, as a logarithm."""
    mechanism = gate.account.spends[-1].mechanism
    assert isinstance(mechanism, Exponential)  # noqa: S101  (the last purchase was a selection)
    first, second = (
        _log_choice(np.abs(side.counts - np.rint(estimates)), mechanism.scale, chosen)
        for side in (pair.first, pair.second)
    )
    return second - first


def _log_choice(scores: Floats, scale: float, chosen: int) -> float:
    """The logarithm of the probability of a choice with P ~ exp(score / scale)."""
    ahead = (scores - scores.max()) / scale
    return float(ahead[chosen] - np.log(np.exp(ahead).sum()))


SUBJECTS: Mapping[str, Callable[[Unit], Subject]] = {
    "measure": lambda unit: Measure(pair=neighbours(unit)),
    "select": lambda unit: Select(pair=neighbours(unit)),
    "run": lambda unit: Rounds(pair=neighbours(unit)),
}
"""By the name that `kinfolk audit --what` knows them by."""
