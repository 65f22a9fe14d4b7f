"""The curator: the one gate between private data and everything else.

It counts the data once, forgets the rows, and keeps the counts to itself. Whoever wants to know
something buys it: the curator works out the sensitivity, the ledger debits the price, and only then
does a mechanism touch the counts. What comes back is noisy, recorded, and public.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from kinfolk._typing import Floats, Ints
from kinfolk.data.decode import Types, column_types
from kinfolk.data.encode import encode
from kinfolk.data.spark_session import runs_on_spark
from kinfolk.data.tables import TableFile, TableLike, digest_tables, open_file, table_digest
from kinfolk.errors import KinfolkError
from kinfolk.privacy.account import Account, Allotment, Released
from kinfolk.privacy.chain import Head
from kinfolk.privacy.guarantee import Guarantee
from kinfolk.privacy.ledger import Ledger
from kinfolk.privacy.mechanisms import Exponential, Gaussian
from kinfolk.privacy.noise import Randomness, measure, opendp, select
from kinfolk.privacy.sensitivity import workload_weights
from kinfolk.privacy.view import GROUPS, PEOPLE, TOTALS, PublicView, Purchase, public_totals
from kinfolk.queries.counting import Counter
from kinfolk.queries.naming import describe_marginal
from kinfolk.queries.spark import SparkTables
from kinfolk.queries.streaming import count_files
from kinfolk.queries.workload import Workload

_LARGEST = 2**61
"""Scores stop here: int64 would wrap around, and a wrapped score has no sensitivity."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """A released marginal or query: public."""

    marginals: tuple[int, ...]
    """The marginals measured, by position in the workload."""
    values: Ints
    """Noisy counts of their cells, end to end, in units of the weights."""
    sigma: float
    """The noise's standard deviation, in the same units."""


class Curator:
    """Holds the exact counts of one workload; sells noisy ones.

    Guarantee: whatever is bought, in whatever order and depending on whatever was released before,
    the transcript satisfies (epsilon, delta)-differential privacy for the neighbours of
    `guarantee`, with what its wording lists as public treated as public. The price of a step is
    worked out here from the sensitivity of what it touches; the ledger has it on disk before the
    counts are looked at.
    """

    def __init__(
        self,
        counter: Counter,
        *,
        guarantee: Guarantee,
        ledger: Path,
        seed: int | None = None,
        run: Mapping[str, Any] | None = None,
        resume: bool = True,
        data: Callable[[bytes], str] | None = None,
        types: Types | None = None,
    ) -> None:
        """`seed` is for tests only: nothing bought with a seed is private.

        `resume` goes on with the release that was begun with the same `run`, if there is one.
        `data` makes the digest by which the ledger knows its data.
        """
        if (counter.weights < 0).any():
            raise KinfolkError("a weight is below 0. Use the weights of `workload_weights`.")
        schema = counter.workload.schema
        kept, people, read = public_totals(schema, guarantee.neighbours)
        self.view = replace(
            PublicView.weighted(counter.workload, guarantee, counter.weights),
            groups=counter.groups if kept else None,
            people=counter.people if people else None,
            groups_read=max(counter.cleaning.groups_read, counter.groups) if read else None,
        )
        """What is public about it: what can be bought, and for how much."""
        self.types: Types = types or {}
        """How the columns are stored, as far as that says nothing about the rows: public."""
        self.__counts = counter.counts
        self.__totals = np.array([counter.groups, counter.people], np.int64)
        self.__randomness = Randomness(seed=seed)
        if seed is None:
            # Better now than between a debit and its release.
            opendp()
        self.__ledger = Ledger(
            ledger,
            guarantee,
            private=seed is None,
            run={**_identity(self.view), **(run or {})},
            resume=resume,
            data=data,
        )

    @classmethod
    def of_tables(
        cls,
        tables: Mapping[str, TableLike],
        workload: Workload,
        *,
        guarantee: Guarantee,
        ledger: Path,
        seed: int | None = None,
        size_weighted: bool = False,
        run: Mapping[str, Any] | None = None,
        resume: bool = True,
        bind: bool = True,
        engine: str | None = None,
        public: Mapping[str, str] | None = None,
    ) -> Self:
        """Read, check and count the tables; the rows are forgotten before anything is sold.

        Files are streamed in bounded memory, whatever their size and the order of their rows.
        Tables of Spark are counted on the cluster; only counts come here. To `bind` a ledger to the
        data makes it refuse any other. `public` are the digests of tables in which nobody is
        protected: tables that are among these are refused, but for those of Spark.
        """
        weights = workload_weights(workload, guarantee.unit) if size_weighted else None
        stored: Mapping[str, TableLike]
        if runs_on_spark(tables, engine):
            spark = SparkTables.of(workload.schema, tables)
            counter, stored, told = (
                spark.count(workload, weights=weights),
                spark.types(),
                spark.digest,
            )
        else:
            stored = {name: open_file(table) for name, table in tables.items()}
            told = partial(digest_tables, stored)
            if all(isinstance(table, TableFile) for table in stored.values()):
                counter = count_files(workload, stored, weights=weights)
            else:
                data = encode(workload.schema, stored, finely=workload.finely)
                counter = Counter.of(data, workload, weights=weights)
            if public:
                _refuse_public(stored, public)

        def digest(key: bytes) -> str:
            return told(hmac.new(key, digestmod=hashlib.sha256))

        return cls(
            counter,
            guarantee=guarantee,
            ledger=ledger,
            seed=seed,
            run=run,
            resume=resume,
            data=digest if bind else None,
            types=column_types(workload.schema, stored),
        )

    @property
    def workload(self) -> Workload:
        """What was counted: public."""
        return self.view.workload

    @property
    def weights(self) -> Ints:
        """(marginals, sizes + 1) what a group of each size added: public, from the schema alone."""
        return self.view.weights

    @property
    def guarantee(self) -> Guarantee:
        """What is promised, and the budget: public."""
        return self.view.guarantee

    @property
    def spent(self) -> Fraction:
        """What has been spent, exact: public."""
        return self.__ledger.spent

    @property
    def remaining(self) -> Fraction:
        """What can still be bought, exact: public."""
        return self.__ledger.remaining

    @property
    def account(self) -> Account:
        """What the ledger adds up to: public, but for the key of the digest."""
        return self.__ledger.account

    @property
    def own(self) -> Allotment:
        """What was spent and released so far: public; a certificate is made from it."""
        return self.__ledger.own

    @property
    def head(self) -> Head:
        """How long the ledger is, and the hash of its last line: public."""
        return self.__ledger.head

    @property
    def groups(self) -> int | None:
        """How many groups there are, where that is public or was bought."""
        bought = self.__ledger.find(GROUPS)
        return self.view.groups if bought is None else self.view.settled_groups(bought.value[0])

    def has(self, step: str) -> bool:
        """Whether a step was released before, and costs nothing any more."""
        return self.__ledger.find(step) is not None

    def measure(self, marginals: Sequence[int], *, rho: Fraction | float, step: str) -> Measurement:
        """Buy whole marginals, with one noise for all of them.

        Guarantee: a discrete Gaussian on the counts of the marginals, for the L2 sensitivity that
        they have together; costs at most `rho`.
        """
        chosen = tuple(int(marginal) for marginal in marginals)
        purchase = self.view.measure(chosen, rho=rho)
        return self.__buy_cells(
            chosen, [self.__cells(marginal) for marginal in chosen], purchase, step
        )

    def measure_query(self, query: int, *, rho: Fraction | float, step: str) -> Measurement:
        """Buy the answer to one query.

        Guarantee: a discrete Gaussian on one count; costs at most `rho`. Under the paper's
        accounting, every query is charged as if it were the most sensitive of all.
        """
        purchase = self.view.measure_query(query, rho=rho)
        marginal = self.workload.marginal_of(query)
        return self.__buy_cells((marginal,), [slice(query, query + 1)], purchase, step)

    def measure_groups(self, *, rho: Fraction | float, step: str = GROUPS) -> int:
        """How many groups there are: as it is where that is public, else bought with noise.

        Guarantee: a group that comes, goes, or is replaced by one that cleaning drops changes the
        number by one; a discrete Gaussian on that one count costs at most `rho`.
        """
        if self.view.groups is not None:
            return self.view.groups
        purchase = self.view.measure_groups(rho=rho)
        values, _ = self.__buy(lambda: self.__totals[:1], 1, purchase, step)
        return self.view.settled_groups(int(values[0]))

    def measure_people(self, *, groups: int, rho: Fraction | float, step: str = PEOPLE) -> int:
        """How many people there are: as it is where that is public, else bought with noise.

        Guarantee: a group that comes, goes or is dropped changes the number of people by at most
        the largest size; a discrete Gaussian on that one count costs at most `rho`.
        """
        if self.view.people is not None:
            return self.view.people
        purchase = self.view.measure_people(rho=rho)
        values, _ = self.__buy(lambda: self.__totals[1:], 1, purchase, step)
        return self.view.settled_people(int(values[0]), groups=groups)

    def select_query(
        self,
        estimates: Floats,
        *,
        rho: Fraction | float,
        step: str,
        multipliers: Mapping[str, int] | None = None,
        without: Sequence[int] = (),
    ) -> int:
        """Buy the number of a query whose estimate is far off.

        `estimates` are counts, (queries,), in the units of the weights. A query's score is the
        distance of its count from its estimate, times its level's multiplier: a public whole
        number that makes levels comparable, such as N_I for group and N_G for individual queries.
        `without` are queries that are not to be chosen; which they are must be public.

        Guarantee: the exponential mechanism over the queries of the workload; a score changes by at
        most its multiplier times the query's sensitivity; costs at most `rho`.
        """
        purchase = self.view.select_query(rho=rho, multipliers=multipliers)
        return self.__select(estimates, purchase, step, multipliers, without, lambda scores: scores)

    def select_marginal(
        self,
        estimates: Floats,
        *,
        rho: Fraction | float,
        step: str,
        multipliers: Mapping[str, int] | None = None,
        without: Sequence[int] = (),
    ) -> int:
        """Buy the position of a marginal with a query whose estimate is far off.

        As `select_query`; a marginal's score is that of its worst query.

        Guarantee: the exponential mechanism over the marginals of the workload. The largest of
        several scores changes by no more than that of them which changes most, so its sensitivity
        is the largest of theirs; costs at most `rho`.
        """
        purchase = self.view.select_marginal(rho=rho, multipliers=multipliers)
        starts = self.workload.offsets[:-1]

        def worst(scores: Ints) -> Ints:
            found: Ints = np.maximum.reduceat(scores, starts)
            return found

        return self.__select(estimates, purchase, step, multipliers, without, worst)

    def __select(
        self,
        estimates: Floats,
        purchase: Purchase,
        step: str,
        multipliers: Mapping[str, int] | None,
        without: Sequence[int],
        candidates: Callable[[Ints], Ints],
    ) -> int:
        """What was chosen for the step before; or debit, and only then look at the counts.

        candidates: what makes their scores of those of all queries.
        """
        choice = purchase.mechanism
        assert isinstance(choice, Exponential)  # noqa: S101  (that is how one selects)
        rounded = _rounded(estimates, self.workload.size)
        allowed = candidates(np.ones(self.workload.size, np.int64)) > 0
        allowed[list(without)] = False
        offered = np.flatnonzero(allowed)
        if not len(offered):
            raise KinfolkError("nothing is left to choose from. Leave out fewer candidates.")
        released = self.__ledger.find(step)
        if released is None:
            cells = [marginal.cells for marginal in self.workload.marginals]
            spend = self.__ledger.debit(step, choice, bought=purchase.bought)
            # Capping a distance never makes it more sensitive.
            every = np.repeat(self.view.factors(multipliers), cells)
            scores = np.minimum(np.abs(self.__counts - rounded), _LARGEST // every) * every
            source = self.__randomness.at(step)
            chosen = select(candidates(scores)[offered], choice, randomness=source)
            released = self.__ledger.release(spend, int(offered[chosen]), private=source.private)
        return int(released.value)

    def finish(self) -> None:
        """Everything that was planned is bought: the rest of the budget is for other releases."""
        self.__ledger.finish()

    def close(self) -> None:
        """Close the ledger and forget the counts."""
        self.__ledger.close()
        self.__counts = self.__totals = np.zeros(0, np.int64)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Curator({self.workload!r}, neighbours={self.guarantee.neighbours.value})"

    def __getstate__(self) -> object:
        raise TypeError("a curator holds private counts and is never copied or saved")

    def __cells(self, marginal: int) -> slice:
        return slice(self.workload.offsets[marginal], self.workload.offsets[marginal + 1])

    def __buy_cells(
        self, marginals: tuple[int, ...], cells: list[slice], purchase: Purchase, step: str
    ) -> Measurement:
        number = sum(place.stop - place.start for place in cells)
        values, sigma = self.__buy(
            lambda: np.concatenate([self.__counts[place] for place in cells]),
            number,
            purchase,
            step,
        )
        return Measurement(marginals=marginals, values=values, sigma=sigma)

    def __buy(
        self, touch: Callable[[], Ints], number: int, purchase: Purchase, step: str
    ) -> tuple[Ints, float]:
        """What was released for the step before; or debit, and only then touch the data."""
        noise = purchase.mechanism
        assert isinstance(noise, Gaussian)  # noqa: S101  (that is how one measures)
        released = self.__ledger.find(step)
        if released is None:
            spend = self.__ledger.debit(step, noise, bought=purchase.bought, numbers=number)
            exact = touch()
            source = self.__randomness.at(step)
            noisy = measure(exact, noise, randomness=source)
            released = self.__ledger.release(spend, noisy, private=source.private)
        # The noise that was bought then, which need not be what the same call would buy now.
        sigma = _bought(released, purchase, number)
        return np.array(released.value, np.int64), sigma


def _bought(released: Released, purchase: Purchase, cells: int) -> float:
    """The sigma of a measurement, which must be the one that was asked for."""
    # As it stands in the ledger. A run of another version may call other marginals by this name.
    asked = json.loads(json.dumps(purchase.bought))
    if released.spend.bought == asked and len(released.value) == cells:
        match released.spend.mechanism, purchase.mechanism:
            case Gaussian() as had, Gaussian() as wanted if (
                had.squared_sensitivity == wanted.squared_sensitivity
            ):
                return had.sigma
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


def _identity(view: PublicView) -> dict[str, Any]:
    """What a release is of: a resumed run must ask the same questions of the same schema."""
    schema = view.workload.schema
    return {
        "schema": schema_digest(schema),
        "workload": workload_digest(view),
        "queries": view.workload.size,
        "domain": schema.domain,
        **{name: number for name in TOTALS if (number := getattr(view, name)) is not None},
    }


def _refuse_public(tables: Mapping[str, TableLike], public: Mapping[str, str]) -> None:
    """Somebody may name the private tables as public by mistake; a changed copy is not noticed."""
    for name, table in tables.items():
        if table_digest(table).hex() in public.values():
            raise KinfolkError(
                f"the public tables hold the private table {name} itself. Nobody in public tables "
                "is protected: name those of an earlier year or another region, or none."
            )


def schema_digest(schema: Any) -> str:
    """What tells a schema from another, whatever its file looks like."""
    return hashlib.sha256(schema.to_yaml().encode()).hexdigest()


def workload_digest(view: PublicView) -> str:
    """What tells a workload and its weights from others."""
    schema = view.workload.schema
    named = [[describe_marginal(schema, one), one.weight] for one in view.workload.marginals]
    return hashlib.sha256(json.dumps(named).encode() + view.weights.tobytes()).hexdigest()
