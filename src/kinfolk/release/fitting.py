"""From tables to a release: count once, spend the budget, keep what was learnt."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kinfolk.data.frames import TableLike, frame_kind
from kinfolk.errors import KinfolkError
from kinfolk.methods.informed import InformedMarginals, check_informable
from kinfolk.methods.method import Method, NothingLearntError, Progress, silent
from kinfolk.methods.prior import PublicRates
from kinfolk.methods.run import Ending, run
from kinfolk.privacy.account import Account, read_account
from kinfolk.privacy.accounting import Accounting
from kinfolk.privacy.certificate import (
    PUBLIC,
    certificate_of,
    check_certificate,
    check_ledger,
    read_certificate,
)
from kinfolk.privacy.curator import Curator
from kinfolk.privacy.guarantee import Guarantee
from kinfolk.privacy.noise import opendp
from kinfolk.privacy.unit import Neighbours, Unit, check_rules_fit_unit
from kinfolk.queries.workload import Workload
from kinfolk.release.file import PROBABILITIES, model_digest
from kinfolk.release.public import Public, read_public
from kinfolk.release.release import Release, checked_seed
from kinfolk.release.verify import verify_plan
from kinfolk.schema import Schema
from kinfolk.schema.names import singular

SEED = "modelling_seed"
"""Under this name a run's terms keep the seed of what comes after the noise: it is public."""


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """A release, and how it came about."""

    release: Release
    ending: Ending
    """Interrupted by Ctrl-C; or short, as steps lost in a crash have used up most of the budget:
    the release then holds what was learnt all the same."""
    learnt: float
    """The share of the budget whose values were released."""
    counting_seconds: float
    fitting_seconds: float

    @property
    def modelling_seed(self) -> int:
        """The seed of everything after the noise."""
        return int(self.release.certificate["run"][SEED])

    @property
    def shortfall(self) -> str:
        """What is said of a release that has learnt from much less than was planned."""
        return (
            f"only {self.learnt:.0%} of the budget was learnt from: the rest was paid for, and "
            "lost in a crash. The release keeps its promise, and is much less accurate than "
            "planned. Nothing more can be bought for it"
        )


def fit(
    schema: Schema,
    tables: Mapping[str, TableLike],
    *,
    guarantee: Guarantee,
    method: Method,
    ledger: Path,
    seed: int | None = None,
    resume: bool = False,
    passing: bool = False,
    beside: Path | None = None,
    public: Public | None = None,
    engine: str | None = None,
    progress: Progress = silent,
) -> Fitted:
    """Fit a model to tables, or go on with a run whose ledger is there.

    Guarantee: the curator's. What a resumed run has bought before it finds again in the ledger, and
    everything that comes after the noise follows from a seed in the ledger: it ends where an
    uninterrupted run would have ended. Before anything is spent, the certificate of all that will
    be bought has been checked.

    `passing` is for a ledger that nobody will look at again: it is not bound to the data. `beside`
    is where a certificate of the same release may stand; one that the ledger contradicts is
    refused. `public` are tables in which nobody is to be protected, as prior knowledge; a resumed
    run must have the same. `engine` says where the tables are counted: see `Synthesizer.fit`.
    Ctrl-C stops between two steps; the certificate says what the ledger has on disk.
    """
    # What can be refused is refused before the data is read, which may take long.
    if not ledger.parent.is_dir():
        raise KinfolkError(f"{ledger.parent}: there is no such folder, for the ledger. Make it.")
    method.check()
    check_rules_fit_unit(schema, guarantee.neighbours)
    if seed is None:
        opendp()
    began = ledger.exists()
    if began and beside is not None and beside.exists():
        _check_beside(ledger, beside)
    known = None
    asked = method.asks(Workload.of(schema))
    if public is not None:
        informable = check_informable(method)
        known = read_public(
            schema, public, asked, unit=guarantee.unit, size_weighted=method.size_weighted
        )
        method = InformedMarginals.of(informable, known)
    identity = _identity(method, guarantee, checked_seed(seed), ledger, known, resume=resume)
    progress("counting", 0, 1)
    start = time.perf_counter()
    curator = Curator.of_tables(
        tables,
        asked,
        guarantee=guarantee,
        ledger=ledger,
        seed=seed,
        size_weighted=method.size_weighted,
        run=identity,
        resume=resume,
        bind=not passing,
        engine=engine,
        public=None if known is None else known.tables,
    )
    progress("counting", 1, 1)
    counted = time.perf_counter()
    ending: Ending = "complete"
    try:
        with curator:
            try:
                verify_plan(curator, method)
                rng = np.random.default_rng([identity[SEED], 0])
                done = run(curator, method, rng=rng, progress=progress, keep=True)
                ending = done.ending
                model = done.training.model()
            except BaseException:
                # What a run that has bought nothing was to have is there for others again.
                if not curator.spent:
                    curator.finish()
                raise
            if ending != "interrupted":
                curator.finish()
            account, own, head = curator.account, curator.own, curator.head
            groups = curator.groups
            if groups is None:
                raise NothingLearntError("how many groups there are was not bought.")
    except NothingLearntError as error:
        if ending == "interrupted":
            raise KeyboardInterrupt from None
        raise KinfolkError(f"{ledger}: {error} Nothing was written.") from None
    except BaseException:
        # A run that has not bought anything leaves nothing to resume.
        if not began and not read_account(ledger).spent:
            _remove(ledger)
        raise
    extra = done.training.extra()
    digest = model_digest(schema, groups, {PROBABILITIES: model.probabilities, **extra})
    released = {"model": digest, **done.training.findings()}
    certificate = certificate_of(account, own, schema, head=head, release=released)
    release = Release(
        model=model,
        certificate=certificate,
        groups=groups,
        method=method.name,
        settings=identity["settings"],
        types=curator.types,
        frames=frame_kind(tables[schema.individual.table]),
        extra=extra,
    )
    return Fitted(
        release=release,
        ending=ending,
        learnt=float(done.learnt / guarantee.rho),
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
    neighbours: str | None = None,
    accounting: str | None = None,
) -> Guarantee:
    """A guarantee in the words of a user; the method knows the tightest accounting for itself."""
    chosen = method.accounting if accounting is None else Accounting.parse(accounting)
    if chosen is Accounting.GAUSSIAN and method.accounting is not chosen:
        raise KinfolkError(
            f"accounting is 'gaussian', which covers measurements alone, and {method.name} also "
            "selects. Choose the accounting 'zcdp'."
        )
    return Guarantee.of(
        neighbours=Neighbours.parse(neighbours, unit=parse_unit(schema, unit)),
        epsilon=epsilon,
        delta=delta,
        accounting=chosen,
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


def _check_beside(ledger: Path, certificate: Path) -> None:
    """A certificate that stands where the release will be knows how far its ledger was."""
    found = read_certificate(certificate)
    # One that does not hold by itself contradicts nothing.
    if check_certificate(found) or found["ledger"]["id"] != read_account(ledger).identity:
        return
    wrong = check_ledger(found, ledger)
    if wrong:
        raise KinfolkError(f"{ledger}: contradicts {certificate}: {wrong[0]}.")


def _remove(ledger: Path) -> None:
    """Take away a ledger that was never used, and what stands beside it."""
    for name in (ledger.name, f"{ledger.name}.head"):
        ledger.with_name(name).unlink(missing_ok=True)


def _identity(
    method: Method,
    guarantee: Guarantee,
    seed: int | None,
    ledger: Path,
    public: PublicRates | None,
    *,
    resume: bool,
) -> dict[str, Any]:
    """What identifies a run, in JSON; a ledger that is there must be of the same run."""
    settings = json.loads(json.dumps(dict(method.settings)))
    wanted = {"method": method.name, "settings": settings}
    wanted[PUBLIC] = None if public is None else public.describe()
    fresh = {**_run(wanted), SEED: secrets.randbits(63) if seed is None else seed}
    if not ledger.exists():
        return fresh
    account = read_account(ledger)
    if not resume:
        if not account.shared:
            raise KinfolkError(
                f"{ledger}: a run has been spending from this ledger. Resume it, or choose another "
                "place; what was spent stays spent."
            )
        account.check_opening(guarantee)
        return fresh
    begun = _begun(account, wanted, guarantee, ledger)
    if begun is None:
        account.check_opening(guarantee)
        return fresh
    if not isinstance(begun.get(SEED), int):
        raise KinfolkError(f"{ledger}: is the ledger of something else. Start in another place.")
    if seed is not None and begun[SEED] != seed:
        raise KinfolkError(
            f"{ledger}: the run was begun with the seed {begun[SEED]}, not {seed}. Use the same."
        )
    return {**_run(wanted), SEED: begun[SEED]}


def _run(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """What the ledger is told; without public tables, nothing about them."""
    return {name: value for name, value in wanted.items() if value is not None}


def _begun(
    account: Account, wanted: Mapping[str, Any], guarantee: Guarantee, ledger: Path
) -> Mapping[str, Any] | None:
    """The run to be resumed: the last one with these settings; None where none has begun."""
    if not account.allotments:
        return None
    for one in reversed(account.allotments):
        same = all(one.run.get(name) == value for name, value in wanted.items())
        if same and one.guarantee == guarantee:
            return one.run
    old = account.last
    before = {
        "method": old.run.get("method"),
        **dict(old.run.get("settings") or {}),
        **old.guarantee.describe(),
    }
    after = {"method": wanted["method"], **wanted["settings"], **guarantee.describe()}
    if old.run.get(PUBLIC) != wanted[PUBLIC]:
        raise KinfolkError(
            f"{ledger}: the run was begun with {_tables(old.run.get(PUBLIC))}, not with "
            f"{_tables(wanted[PUBLIC])}. Resume it with the same, or start in another place."
        )
    for name, value in after.items():
        if name not in before or before[name] != value:
            raise KinfolkError(
                f"{ledger}: the run was begun with {name} = {before.get(name)!r}, not {value!r}. "
                "Resume it with the settings that it was begun with, or start in another place."
            )
    return old.run


def _tables(public: Mapping[str, Any] | None) -> str:
    """Public tables, or none, in a message."""
    if public is None:
        return "no public tables"
    digests = (f"{name} {digest[:12]}" for name, digest in public["tables"].items())
    return f"the public tables {', '.join(digests)}"
