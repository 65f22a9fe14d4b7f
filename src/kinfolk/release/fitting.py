"""From tables to a release: count once, spend the budget, keep what was learnt."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kinfolk.data.frames import frame_kind
from kinfolk.data.tables import TableLike
from kinfolk.errors import KinfolkError
from kinfolk.methods.method import Method, Progress, Training, silent
from kinfolk.privacy.account import OverspendError, read_account
from kinfolk.privacy.accounting import Accounting
from kinfolk.privacy.certificate import certificate_of
from kinfolk.privacy.curator import Curator, Promise
from kinfolk.privacy.opendp_bridge import opendp
from kinfolk.privacy.paper import unit_terms
from kinfolk.privacy.terms import Terms
from kinfolk.queries.units import Unit, singular
from kinfolk.queries.workload import Workload
from kinfolk.release.interrupts import patient_interrupts
from kinfolk.release.release import Release, checked_seed
from kinfolk.release.types import column_types
from kinfolk.schema import Schema

SEED = "modelling_seed"
"""Under this name a run's terms keep the seed of what comes after the noise: it is public."""


Ending = Literal["complete", "interrupted", "exhausted"]


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """A release, and how it came about."""

    release: Release
    ending: Ending
    """Interrupted by Ctrl-C; or exhausted, as steps lost in a crash were paid for all the same. The
    release then holds what was learnt until then."""
    counting_seconds: float
    fitting_seconds: float

    @property
    def modelling_seed(self) -> int:
        """The seed of everything after the noise."""
        return int(self.release.certificate["run"][SEED])


def fit(
    schema: Schema,
    tables: Mapping[str, TableLike],
    *,
    promise: Promise,
    method: Method,
    ledger: Path,
    resume: bool = False,
    progress: Progress = silent,
) -> Fitted:
    """Fit a model to tables, or go on with a run whose ledger is there.

    Guarantee: the curator's. What a resumed run has bought before it finds again in the ledger, and
    everything that comes after the noise follows from a seed in the ledger's first line: it ends
    where an uninterrupted run would have ended.

    Ctrl-C stops between two steps; the certificate is always made from the ledger on disk.
    """
    # What can be refused is refused before the data is read, which may take long.
    Terms.promise(
        unit=unit_terms(schema, promise.unit, promise.accounting),
        epsilon=promise.epsilon,
        delta=promise.delta,
        accounting=promise.accounting,
        private=promise.seed is None,
    )
    if not ledger.parent.is_dir():
        raise KinfolkError(f"{ledger.parent}: there is no such folder, for the ledger. Make it.")
    if promise.seed is None:
        opendp()
    run = _run(method, checked_seed(promise.seed), ledger, resume=resume)
    began = ledger.exists()
    progress("counting", 0, 1)
    start = time.perf_counter()
    curator = Curator.of_tables(
        tables,
        method.asks(Workload.of(schema)),
        promise=promise,
        ledger=ledger,
        size_weighted=method.size_weighted,
        run=run,
    )
    progress("counting", 1, 1)
    counted = time.perf_counter()
    try:
        with curator:
            groups = curator.groups
            training, ending = _train(curator, method, run[SEED], progress)
    except BaseException:
        # A run that has not bought anything leaves nothing to resume.
        if not began and not read_account(ledger).spends:
            ledger.unlink()
        raise
    release = Release(
        model=training.model(),
        certificate=certificate_of(read_account(ledger)),
        groups=groups,
        method=method.name,
        settings=run["settings"],
        types=column_types(schema, tables),
        frames=frame_kind(tables[schema.individual.table]),
        extra=training.extra(),
    )
    return Fitted(
        release=release,
        ending=ending,
        counting_seconds=counted - start,
        fitting_seconds=time.perf_counter() - counted,
    )


def promised(
    schema: Schema,
    method: Method,
    *,
    unit: str,
    epsilon: float,
    delta: float,
    accounting: str | None = None,
    seed: int | None = None,
) -> Promise:
    """A promise in the words of a user; the method knows the tightest accounting for itself."""
    chosen = method.accounting if accounting is None else Accounting.parse(accounting)
    if chosen is Accounting.GAUSSIAN and method.accounting is not chosen:
        raise KinfolkError(
            f"accounting is 'gaussian', which covers measurements alone, and {method.name} also "
            "selects. Choose the accounting 'zcdp'."
        )
    return Promise(
        unit=parse_unit(schema, unit),
        epsilon=epsilon,
        delta=delta,
        accounting=chosen,
        seed=checked_seed(seed),
    )


def parse_unit(schema: Schema, text: str) -> Unit:
    """The unit that a user names, in the words of the schema.

    >>> from kinfolk.datasets import load_schema
    >>> parse_unit(load_schema("afst"), "referral")
    <Unit.GROUP: 'group'>
    """
    names = schema.table_names
    if schema.group is not None:
        return Unit.parse(text, group_table=names[0], individual_table=names[1])
    # A row of flat data is a group and its only member at once: the two units are the same.
    if singular(text) == singular(names[0]):
        return Unit.INDIVIDUAL
    return Unit.parse(text, individual_table=names[0])


def _train(
    curator: Curator, method: Method, seed: int, progress: Progress
) -> tuple[Training, Ending]:
    """The method when it is done, and how it ended."""
    training = method.start(curator, rng=np.random.default_rng([seed, 0]))
    last: tuple[int, int] = (0, 0)
    ending: Ending = "complete"
    with patient_interrupts(lambda: progress("stopping", *last)) as check:

        def tell(doing: str, done: int, total: int) -> None:
            nonlocal last
            last = (done, total)
            progress(doing, done, total)
            check()

        try:
            training.run(tell)
        except KeyboardInterrupt:
            ending = "interrupted"
        except OverspendError:
            # Debits that were lost in a crash stay spent, so the last steps cannot be paid. A
            # method that overspends without such a reason has a bug.
            if not curator.account.unreleased and not curator.account.torn:
                raise
            ending = "exhausted"
    return training, ending


def _run(method: Method, seed: int | None, ledger: Path, *, resume: bool) -> dict[str, Any]:
    """What identifies a run, in JSON; a ledger that is there must be of the same run."""
    settings = json.loads(json.dumps(dict(method.settings)))
    wanted = {"method": method.name, "settings": settings}
    if not ledger.exists():
        return {**wanted, SEED: secrets.randbits(63) if seed is None else seed}
    if not resume:
        raise KinfolkError(
            f"{ledger}: a run has been spending from this ledger. Resume it, or choose another "
            "place; what was spent stays spent."
        )
    begun = read_account(ledger).terms.run
    before = {"method": begun.get("method"), **dict(begun.get("settings") or {})}
    for name, value in {"method": method.name, **settings}.items():
        if name not in before or before[name] != value:
            raise KinfolkError(
                f"{ledger}: the run was begun with {name} = {before.get(name)!r}, not {value!r}. "
                "Resume it with the settings that it was begun with, or start in another place."
            )
    if not isinstance(begun.get(SEED), int):
        raise KinfolkError(f"{ledger}: is the ledger of something else. Start in another place.")
    if seed is not None and begun[SEED] != seed:
        raise KinfolkError(
            f"{ledger}: the run was begun with the seed {begun[SEED]}, not {seed}. Use the same."
        )
    return {**wanted, SEED: begun[SEED]}
