"""The ledger: debit, then touch the data, then record what was released.

A run that dies between any two instructions must neither forget a spend nor buy a thing twice. So a
debit is on disk, flushed, before it is granted; a released value is on disk before anybody sees it;
and the file is only ever added to. On resuming, a step whose value was released gets that value
back, free of charge. A step that was debited and never released stays spent, for its noise may have
been seen by somebody; buying it again is a new debit, and must fit into what is left.

Debits may depend on released values, and so may their size: spends under zCDP add up to the budget
even then (a privacy filter; Feldman and Zrnic, 2021).
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

import numpy as np

from kinfolk.errors import KinfolkError
from kinfolk.privacy.account import FORMAT, Account, Release, Spend, account_from
from kinfolk.privacy.amounts import to_text
from kinfolk.privacy.chain import START, read_chain, seal
from kinfolk.privacy.durable import append, replace
from kinfolk.privacy.lock import WriterLock
from kinfolk.privacy.mechanisms import Mechanism
from kinfolk.privacy.terms import Terms


class Ledger:
    """An append-only record of what was spent, open for writing by one process.

    Guarantee: a debit that returns is on disk; the debits on disk never exceed the budget; and no
    debit is forgotten by a crash. An error while writing closes the ledger for good: opening it
    again counts whatever may have been written.

    >>> import tempfile
    >>> from kinfolk.privacy.mechanisms import Gaussian
    >>> from kinfolk.queries.units import Unit
    >>> unit = Unit.parse("household").within(max_size=9)
    >>> terms = Terms.promise(epsilon=1.0, delta=1e-9, unit=unit, private=True)
    >>> path = Path(tempfile.mkdtemp()) / "ledger.jsonl"
    >>> with Ledger(path, terms) as ledger:
    ...     noise = Gaussian.for_rho(ledger.remaining / 2, squared_sensitivity=2)
    ...     spend = ledger.debit("measure sex by age", noise)
    ...     _ = ledger.release(spend, [12, 7], private=True)  # here the data would be touched
    >>> with Ledger(path, terms) as resumed:
    ...     resumed.find("measure sex by age").value
    [12, 7]
    """

    def __init__(self, path: Path, terms: Terms) -> None:
        self._path = path
        self._owner = os.getpid()
        self._turn = threading.Lock()
        self._debited: set[int] = set()
        self._lock = WriterLock(path)
        try:
            self._account, self._last = _open(path, terms)
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND)
        except BaseException:
            self._lock.drop()
            raise
        self._seen = self._look()
        self._closed: str | None = None

    @property
    def account(self) -> Account:
        """Everything the ledger adds up to; to be read, not written."""
        return self._account

    @property
    def spent(self) -> Fraction:
        """Everything debited so far, released or not, exact."""
        return self._account.spent

    @property
    def remaining(self) -> Fraction:
        """What can still be bought, exact."""
        return self._account.remaining

    def find(self, key: str) -> Release | None:
        """What was released for a step, or None: then it has to be bought."""
        return self._account.releases.get(key)

    def debit(self, key: str, mechanism: Mechanism) -> Spend:
        """Pay for a step. Only when this returns may the step touch private data.

        The cost is worked out from the mechanism, not taken from the caller. A step that costs
        more than is left raises OverspendError, and nothing is spent.
        """
        with self._turn:
            self._check_usable()
            spend = self._account.next_spend(key, mechanism)
            self._account.check_spend(spend)
            # torn_spend() reads the kind and the amount off the start of a half-written line.
            entry = {
                "kind": "spend",
                "rho": to_text(spend.rho),
                "number": spend.number,
                "key": spend.key,
                "mechanism": mechanism.describe(),
            }
            self._append(entry)
            self._account.add_spend(spend)
            self._debited.add(spend.number)
            return spend

    def release(self, spend: Spend, value: Any, *, private: bool) -> Release:
        """Record the value that a debit bought. Only what this returns may be used.

        `private` is the randomness's own word on whether its noise protects anybody; a value from a
        seed is refused where privacy is promised. Integer arrays become lists.
        """
        with self._turn:
            self._check_usable()
            if spend.number not in self._debited:
                raise KinfolkError(
                    f"{spend.key!r} was not debited by this process, or is released already. "
                    "Debit it again: whether an earlier run saw its value is not known."
                )
            if self._account.terms.private and not private:
                raise KinfolkError(
                    f"{spend.key!r} was drawn with a seed, and this ledger promises privacy. "
                    "Open a ledger with private=False for a seeded run."
                )
            plain = json.loads(json.dumps(value, default=_plain, allow_nan=False))
            release = Release(spend=spend, value=plain)
            entry = {
                "kind": "released",
                "number": spend.number,
                "key": spend.key,
                "private": private,
                "value": plain,
            }
            self._account.check_release(spend)
            self._append(entry)
            self._account.add_release(release)
            self._debited.remove(spend.number)
            return release

    def close(self) -> None:
        """Let the next writer in."""
        with self._turn:
            if self._closed != "closed":
                self._closed = "closed"
                os.close(self._file)
                self._lock.drop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _append(self, entry: dict[str, Any]) -> None:
        line, check = seal(entry, previous=self._last)
        # From here until the disk has the line, what the file says is not known.
        self._closed = "broken by an error while it was written"
        append(self._file, line)
        self._last = check
        self._seen = self._look()
        self._closed = None

    def _check_usable(self) -> None:
        if self._closed:
            raise KinfolkError(
                f"{self._path.name} is {self._closed}. Open it again to see what is left."
            )
        if os.getpid() != self._owner:
            raise KinfolkError(
                f"{self._path.name} was opened by another process. "
                "Buy in the process that opened it, before or after it forks."
            )
        if self._look() != self._seen:
            self._closed = "no longer the file that was opened: something else wrote to it"
            self._check_usable()

    def _look(self) -> tuple[int, int, int] | None:
        """Which file stands at the path, and how long it is."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino, found.st_size


def _open(path: Path, terms: Terms) -> tuple[Account, str]:
    """The account so far and the hash of the last line; half a line is counted and cleared away."""
    if not path.exists():
        header = {"kind": "header", "format": FORMAT, "terms": terms.describe()}
        line, check = seal(header, previous=START)
        replace(path, line)
        return Account(terms), check
    chain = read_chain(path)
    account = account_from(chain.entries, where=path.name)
    _check_same(path, account.terms, terms)
    if not chain.torn:
        return account, chain.last
    rho = account.could_be_torn(chain.torn)
    entry = {
        "kind": "torn",
        "rho": to_text(rho),
        "bytes": len(chain.torn),
        "sha256": hashlib.sha256(chain.torn).hexdigest(),
        "start": chain.torn[:200].decode("latin-1"),
    }
    line, check = seal(entry, previous=chain.last)
    # In one step: a crash here leaves the half line, or its record, and never neither.
    replace(path, chain.whole + line)
    account.add_torn(rho)
    return account, check


def _check_same(path: Path, found: Terms, wanted: Terms) -> None:
    """Refuse to continue a run under other terms than it began with."""
    old = json.loads(json.dumps(found.describe()))
    new = json.loads(json.dumps(wanted.describe()))
    different = [name for name in old if old[name] != new[name]]
    if different:
        name = different[0]
        raise KinfolkError(
            f"{path.name} was begun with {name} = {old[name]!r}, and this run has {new[name]!r}. "
            "Resume with the same settings, or start a new ledger; what was spent here stays spent."
        )


def _plain(value: object) -> object:
    """An integer of numpy, or an array of them, as JSON."""
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.ndarray) and np.issubdtype(value.dtype, np.integer):
        return value.tolist()
    raise KinfolkError(
        f"A released value of type {type(value).__name__} cannot be recorded. "
        "Release whole numbers, arrays of them, or plain JSON."
    )
