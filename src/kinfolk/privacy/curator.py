"""The curator: the one gate between private data and everything else.

It counts the data once, forgets the rows, and keeps the counts to itself. Whoever wants to know
something buys it: the curator works out the sensitivity, the ledger debits the price, and only then
does a mechanism touch the counts. What comes back is noisy, recorded, and public.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from kinfolk.data.encode import encode
from kinfolk.data.tables import TableLike
from kinfolk.errors import KinfolkError
from kinfolk.privacy.account import Account, Release
from kinfolk.privacy.accounting import Accounting
from kinfolk.privacy.charges import Charges
from kinfolk.privacy.gaussian import measure
from kinfolk.privacy.ledger import Ledger
from kinfolk.privacy.mechanisms import Exponential, Gaussian
from kinfolk.privacy.opendp_bridge import opendp
from kinfolk.privacy.paper import shared_sensitivities, unit_terms
from kinfolk.privacy.randomness import Randomness
from kinfolk.privacy.selection import select
from kinfolk.privacy.terms import Terms
from kinfolk.queries.counting import Counter
from kinfolk.queries.sensitivity import workload_weights
from kinfolk.queries.streaming import count_files
from kinfolk.queries.units import Unit
from kinfolk.queries.workload import Workload

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_LARGEST = 2**61
"""Scores stop here: int64 would wrap around, and a wrapped score has no sensitivity."""


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What is promised, to whom, and where it is written down."""

    unit: Unit
    """Whom the guarantee protects."""
    epsilon: float
    delta: float
    accounting: Accounting = Accounting.ZCDP
    """The arithmetic; `paper` repeats the paper's."""
    seed: int | None = None
    """For tests only: nothing bought with a seed is private."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """A released marginal or query: public."""

    blocks: tuple[int, ...]
    """The blocks measured, by position in the workload."""
    values: Ints
    """Noisy counts of their cells, end to end, in units of the weights."""
    sigma: float
    """The noise's standard deviation, in the same units."""


class Curator:
    """Holds the exact counts of one workload; sells noisy ones.

    Guarantee: whatever is bought, in whatever order and depending on whatever was released before,
    the transcript satisfies (epsilon, delta)-differential privacy for the neighbours that
    `terms.unit` states, with what it lists as public treated as public. The price of a step is
    worked out here from the sensitivity of what it touches; the ledger has it on disk before the
    counts are looked at.
    """

    def __init__(
        self,
        counter: Counter,
        *,
        promise: Promise,
        ledger: Path,
        run: Mapping[str, Any] | None = None,
    ) -> None:
        self.workload = counter.workload
        self.unit = promise.unit
        self.weights: Ints = counter.weights
        """(blocks, sizes + 1) what a group of each size added: public, from the schema alone."""
        if (self.weights < 0).any():
            raise KinfolkError("a weight is below 0. Use the weights of `workload_weights`.")
        schema = counter.workload.schema
        self.terms = Terms.promise(
            unit=unit_terms(schema, promise.unit, promise.accounting),
            epsilon=promise.epsilon,
            delta=promise.delta,
            accounting=promise.accounting,
            private=promise.seed is None,
            run={**_identity(counter), **(run or {})},
        )
        self.groups = counter.groups
        """N_G: public under either unit."""
        self.people = counter.people if promise.unit is Unit.INDIVIDUAL else None
        """N_I: public only where every group's size is."""
        self.__counts = counter.counts
        self.__people = np.array([counter.people], np.int64)
        self.__randomness = Randomness(seed=promise.seed)
        self.__charges = Charges(self.workload, self.unit, promise.accounting, weights=self.weights)
        self.__shared: Mapping[str, Fraction] = {}
        if promise.accounting is Accounting.PAPER:
            self.__shared = shared_sensitivities(
                self.workload, self.charges.alone, groups=counter.groups, people=counter.people
            )
        if promise.seed is None:
            # Better now than between a debit and its release.
            opendp()
        self.__ledger = Ledger(ledger, self.terms)

    @classmethod
    def of_tables(
        cls,
        tables: Mapping[str, TableLike],
        workload: Workload,
        *,
        promise: Promise,
        ledger: Path,
        size_weighted: bool = False,
        run: Mapping[str, Any] | None = None,
    ) -> Self:
        """Read, check and count the tables; the rows are forgotten before anything is sold.

        Files are streamed in bounded memory, whatever their size and the order of their rows.
        """
        weights = workload_weights(workload, promise.unit) if size_weighted else None
        paths = {name: one for name, one in tables.items() if isinstance(one, str | Path)}
        if len(paths) == len(tables):
            counter = count_files(workload, paths, weights=weights)
        else:
            counter = Counter(workload, weights=weights)
            counter.add(encode(workload.schema, tables))
        return cls(counter, promise=promise, ledger=ledger, run=run)

    @property
    def charges(self) -> Charges:
        """By how much each block is charged, alone and with others: public."""
        return self.__charges

    @property
    def spent(self) -> Fraction:
        """What has been spent, exact: public."""
        return self.__ledger.spent

    @property
    def remaining(self) -> Fraction:
        """What can still be bought, exact: public."""
        return self.__ledger.remaining

    def measure(self, blocks: Sequence[int], *, rho: Fraction | float, step: str) -> Measurement:
        """Buy whole marginals, with one noise for all of them.

        Guarantee: a discrete Gaussian on the counts of the blocks, for the L2 sensitivity that they
        have together; costs at most `rho`.
        """
        chosen = tuple(int(block) for block in blocks)
        bound = self.charges.together(chosen)
        cells = [self.__cells(block) for block in chosen]
        noise = self.__noise(rho, bound.l2_squared)
        return self.__buy_cells(chosen, cells, noise, step)

    def measure_query(self, query: int, *, rho: Fraction | float, step: str) -> Measurement:
        """Buy the answer to one query.

        Guarantee: a discrete Gaussian on one count; costs at most `rho`. Under the paper's
        accounting, every query is charged as if it were the most sensitive of all.
        """
        block = self.workload.block_of(query)
        level = self.workload.blocks[block].level
        single = self.__shared.get(level, self.charges.of(block).single)
        noise = self.__noise(rho, single**2)
        return self.__buy_cells((block,), [slice(query, query + 1)], noise, step)

    def measure_people(self, *, rho: Fraction | float, step: str) -> int:
        """How many people there are: as it is where that is public, else bought with noise.

        Guarantee: replacing a group changes the number of people by at most the largest size less
        the smallest; a discrete Gaussian on that one count costs at most `rho`.
        """
        if self.people is not None:
            return self.people
        sizes = self.workload.schema.sizes
        spread = max(sizes[-1] - sizes[0], 1)
        noise = self.__noise(rho, spread**2)
        values, _ = self.__buy(lambda: self.__people, 1, noise, step)
        # A group has at least one member, and no more than the schema allows.
        return min(max(int(values[0]), self.groups * sizes[0]), self.groups * sizes[-1])

    def select_query(
        self,
        estimates: Floats,
        *,
        rho: Fraction | float,
        step: str,
        multipliers: Mapping[str, int] | None = None,
    ) -> int:
        """Buy the number of a query whose estimate is far off.

        `estimates` are counts, (queries,), in the units of the weights. A query's score is the
        distance of its count from its estimate, times its level's multiplier: a public whole
        number that makes levels comparable, such as N_I for group and N_G for individual queries.

        Guarantee: the exponential mechanism over all queries of the workload; a score changes by at
        most its multiplier times the query's sensitivity; costs at most `rho`.
        """
        factors = self.__factors(multipliers)
        sensitivity = max(
            int(factors[block]) * self.charges.of(block).single
            for block in range(len(self.workload.blocks))
        )
        rounded = _rounded(estimates, self.workload.size)
        choice = Exponential.for_rho(rho, sensitivity=sensitivity, accounting=self.terms.accounting)
        released = self.__ledger.find(step)
        if released is None:
            cells = [block.cells for block in self.workload.blocks]
            spend = self.__ledger.debit(step, choice)
            # Capping a distance never makes it more sensitive.
            every = np.repeat(factors, cells)
            scores = np.minimum(np.abs(self.__counts - rounded), _LARGEST // every) * every
            source = self.__randomness.at(step)
            chosen = select(scores, choice, randomness=source)
            released = self.__ledger.release(spend, chosen, private=source.private)
        return int(released.value)

    def select_block(
        self,
        candidates: Sequence[int],
        estimates: Floats,
        *,
        rho: Fraction | float,
        step: str,
        penalties: Sequence[int] | None = None,
    ) -> int:
        """Buy which of several marginals is far off: the position of a block.

        A block's score is the sum of its cells' distances from their estimates, less a public
        penalty: the error that its measurement would leave, say.

        Guarantee: the exponential mechanism over the candidates; a score changes by at most the
        block's L1 sensitivity; costs at most `rho`.
        """
        offered = [int(block) for block in candidates]
        if not offered:
            raise KinfolkError("there is no marginal to choose from. Give at least one candidate.")
        sensitivity = max(self.charges.of(block).l1 for block in offered)
        rounded = _rounded(estimates, self.workload.size)
        handicap = np.zeros(len(offered), np.int64)
        if penalties is not None:
            handicap[:] = np.clip(penalties, -_LARGEST, _LARGEST)
        choice = Exponential.for_rho(rho, sensitivity=sensitivity, accounting=self.terms.accounting)
        released = self.__ledger.find(step)
        if released is None:
            spend = self.__ledger.debit(step, choice)
            distances = np.minimum(np.abs(self.__counts - rounded), _LARGEST // rounded.size)
            sums = [distances[self.__cells(block)].sum() for block in offered]
            source = self.__randomness.at(step)
            chosen = select(np.array(sums, np.int64) - handicap, choice, randomness=source)
            released = self.__ledger.release(spend, offered[chosen], private=source.private)
        return int(released.value)

    @property
    def account(self) -> Account:
        """What was spent and released so far: public; a certificate is made from it."""
        return self.__ledger.account

    def close(self) -> None:
        """Close the ledger and forget the counts."""
        self.__ledger.close()
        self.__counts = self.__people = np.zeros(0, np.int64)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Curator({self.workload!r}, unit={self.terms.unit.name})"

    def __getstate__(self) -> object:
        raise TypeError("a curator holds private counts and is never copied or saved")

    def __cells(self, block: int) -> slice:
        return slice(self.workload.offsets[block], self.workload.offsets[block + 1])

    def __noise(self, rho: Fraction | float, squares: int | Fraction) -> Gaussian:
        accounting = self.terms.accounting
        return Gaussian.for_rho(rho, squared_sensitivity=squares, accounting=accounting)

    def __factors(self, multipliers: Mapping[str, int] | None) -> Ints:
        given = multipliers or {}
        factors = [int(given.get(block.level, 1)) for block in self.workload.blocks]
        if min(factors) < 1 or max(factors) > 2**40:
            raise KinfolkError(
                f"multipliers are {dict(given)}. Use whole numbers from 1 to 2**40, about 10**12."
            )
        return np.array(factors, np.int64)

    def __buy_cells(
        self, blocks: tuple[int, ...], cells: list[slice], noise: Gaussian, step: str
    ) -> Measurement:
        number = sum(place.stop - place.start for place in cells)
        values, sigma = self.__buy(
            lambda: np.concatenate([self.__counts[place] for place in cells]), number, noise, step
        )
        return Measurement(blocks=blocks, values=values, sigma=sigma)

    def __buy(
        self, touch: Callable[[], Ints], number: int, noise: Gaussian, step: str
    ) -> tuple[Ints, float]:
        """What was released for the step before; or debit, and only then touch the data."""
        released = self.__ledger.find(step)
        if released is None:
            spend = self.__ledger.debit(step, noise)
            exact = touch()
            source = self.__randomness.at(step)
            noisy = measure(exact, noise, randomness=source)
            released = self.__ledger.release(spend, noisy, private=source.private)
        # The noise that was bought then, which need not be what the same call would buy now.
        sigma = _bought(released, noise.squared_sensitivity, number)
        return np.array(released.value, np.int64), sigma


def _bought(released: Release, squared_sensitivity: int | Fraction, cells: int) -> float:
    """The sigma of a measurement, which must be the one that was asked for."""
    match released.spend.mechanism:
        case Gaussian(squared_sensitivity=square, sigma=sigma) if (
            square == squared_sensitivity and len(released.value) == cells
        ):
            return sigma
    raise KinfolkError(
        f"the step {released.spend.key!r} has bought something else. Give every step its own name."
    )


def _rounded(estimates: Floats, size: int) -> Ints:
    """Estimates as whole counts, so that scores are integers."""
    if estimates.shape != (size,) or not np.isfinite(estimates).all():
        raise KinfolkError(
            f"estimates have shape {estimates.shape}; give {size:,} finite numbers, one per query."
        )
    return np.rint(np.clip(estimates, -(2.0**52), 2.0**52)).astype(np.int64)


def _identity(counter: Counter) -> dict[str, Any]:
    """What a ledger is for: a resumed run must ask the same questions of the same schema."""
    schema = counter.workload.schema
    blocks = repr(counter.workload.blocks).encode() + counter.weights.tobytes()
    return {
        "schema": hashlib.sha256(schema.to_yaml().encode()).hexdigest(),
        "workload": hashlib.sha256(blocks).hexdigest(),
        "queries": counter.workload.size,
        "domain": schema.domain,
    }
