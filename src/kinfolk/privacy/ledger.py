"""The ledger: debit, then touch the data, then record what was released.

A run that dies between any two instructions must neither forget a spend nor buy a thing twice. So a
debit is on disk, flushed, before it is granted; a released value is on disk before anybody sees it;
and the file is only ever added to. On resuming, a step whose value was released gets that value
back, free of charge. A step that was debited and never released stays spent, for its noise may have
been seen by somebody; buying it again is a new debit, and must fit into what is left. A disk that
is full must not come between the two: room for the released value is taken before the debit.

A ledger is one budget for one dataset. Several releases can draw on it, each with a part of its
own; the data is recognised by a keyed digest, and a companion file has the hash of the last line,
so that a ledger that was cut short or put back is noticed.

Debits may depend on released values, and so may their size: spends under zCDP add up to the budget
even then (a privacy filter; Feldman and Zrnic, 2021).
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import threading
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np

from kinfolk._io import write_at, write_whole
from kinfolk.errors import KinfolkError
from kinfolk.privacy.account import FORMAT, Account, Allotment, Released, Spend, account_from
from kinfolk.privacy.accounting import to_text
from kinfolk.privacy.chain import START, Head, WriterLock, read_chain, seal
from kinfolk.privacy.guarantee import Guarantee
from kinfolk.privacy.mechanisms import Mechanism

NUMBER = 21
"""Bytes that a released number takes at most: 19 digits, a sign, and a comma."""
_SPARE = 4096
"""Bytes that a released value takes beside its numbers, and what closes a release: at most."""


def create_ledger(
    path: Path, total: Guarantee, *, shared: bool = True, seeded: str | None = None
) -> None:
    """Begin a ledger with a budget for all releases from one dataset.

    One that is `seeded` is for tests: what names it and its data follows from that text.
    """
    if path.exists():
        raise KinfolkError(f"{path}: the file exists. A ledger is never overwritten.")
    header = {
        "kind": "header",
        "format": FORMAT,
        "id": _token("id", 16, seeded),
        "key": _token("key", 32, seeded),
        "shared": shared,
        "private": seeded is None,
        "guarantee": total.describe(),
    }
    line, check = seal(header, previous=START)
    write_whole(path, line, mode=0o600, durable=True)
    head = Head(lines=1, check=check)
    write_whole(Head.beside(path), head.content, mode=0o600, durable=True)


def _token(name: str, length: int, seeded: str | None) -> str:
    """So many bytes that nobody can guess, or that a seed fixes."""
    if seeded is None:
        return secrets.token_hex(length)
    return hashlib.sha256(f"{name}/{seeded}".encode()).hexdigest()[: 2 * length]


class Ledger:
    """An append-only record of what was spent, open for one release and one process.

    Guarantee: a debit that returns is on disk; the debits on disk never exceed the release's part
    of the budget, nor all releases together the whole; and no debit is forgotten by a crash. An
    error while writing closes the ledger for good: opening it again counts whatever may have been
    written.

    >>> import tempfile
    >>> from kinfolk.privacy.mechanisms import Gaussian
    >>> from kinfolk.privacy.unit import Neighbours
    >>> promise = Guarantee.of(neighbours=Neighbours.ADD_REMOVE, epsilon=1.0, delta=1e-9)
    >>> path = Path(tempfile.mkdtemp()) / "ledger.jsonl"
    >>> with Ledger(path, promise) as ledger:
    ...     noise = Gaussian.for_rho(ledger.remaining / 2, squared_sensitivity=2)
    ...     spend = ledger.debit("measure sex by age", noise)
    ...     _ = ledger.release(spend, [12, 7], private=True)  # here the data would be touched
    >>> with Ledger(path, promise) as resumed:
    ...     resumed.find("measure sex by age").value
    [12, 7]
    """

    def __init__(
        self,
        path: Path,
        guarantee: Guarantee,
        *,
        private: bool = True,
        run: Mapping[str, Any] | None = None,
        resume: bool = True,
        data: Callable[[bytes], str] | None = None,
    ) -> None:
        """Open a ledger for a release, or begin one for this release alone.

        `resume` goes on with a release that was begun with the same guarantee and the same `run`.
        `data` makes the digest of the data, from the ledger's key.
        """
        self._path = path
        self._owner = os.getpid()
        self._turn = threading.Lock()
        self._debited: set[int] = set()
        self._lock = WriterLock(path)
        self._closed: str | None = None
        try:
            if not path.exists():
                seeded = None if private else json.dumps(dict(run or {}), sort_keys=True)
                create_ledger(path, guarantee, shared=False, seeded=seeded)
            chain = read_chain(path)
            self._account = account_from(chain.entries, where=path.name)
            # Where the companion lags behind, as after a crash, it catches up with the next line.
            self._lines, self._last, self._end = len(chain.checks), chain.last, len(chain.whole)
            self._file = os.open(path, os.O_RDWR)
            if Head.read(path) is None:
                # The run that began the file was killed before its companion was there.
                write_whole(Head.beside(path), self.head.content, mode=0o600, durable=True)
            self._head = os.open(Head.beside(path), os.O_RDWR)
        except BaseException:
            self._lock.drop()
            raise
        try:
            self._size = os.fstat(self._file).st_size
            self._seen = self._look()
            if chain.torn:
                self._clear_away(chain.torn)
            digest = self._digest(data)
            self.own = self._begin(
                guarantee, private=private, run=json.loads(json.dumps(dict(run or {}))),
                resume=resume,
            )  # fmt: skip
            if digest is not None and self._account.data is None:
                self._append({"kind": "data", "digest": digest})
                self._account.data = digest
        except BaseException:
            self.close()
            raise

    @property
    def account(self) -> Account:
        """Everything the ledger adds up to; to be read, not written."""
        return self._account

    @property
    def spent(self) -> Fraction:
        """Everything this release has debited so far, released or not, exact."""
        return self.own.spent

    @property
    def remaining(self) -> Fraction:
        """What this release can still buy, exact."""
        return self.own.remaining

    @property
    def head(self) -> Head:
        """How long the ledger is, and the hash of its last line: what a certificate holds."""
        return Head(lines=self._lines, check=self._last)

    def find(self, key: str) -> Released | None:
        """What was released for a step, or None: then it has to be bought."""
        return self.own.releases.get(key)

    def debit(
        self,
        key: str,
        mechanism: Mechanism,
        *,
        bought: Mapping[str, Any] | None = None,
        numbers: int = 1,
    ) -> Spend:
        """Pay for a step. Only when this returns may the step touch private data.

        The cost is worked out from the mechanism, not taken from the caller. A step that costs
        more than is left raises OverspendError, and nothing is spent. Room is taken on disk for the
        `numbers` that will be released; where there is none, nothing is spent either.
        """
        with self._turn:
            self._check_usable()
            plain = json.loads(json.dumps(dict(bought or {})))
            spend = self.own.next_spend(key, mechanism, plain)
            self.own.check_spend(spend)
            if self._account.active is not self.own or self.own.closed:
                self._account.reopen(self.own)
                self._append({"kind": "resumed", "release": self.own.number})
            # torn_spend() reads the kind and the amount off the start of a half-written line.
            entry = {
                "kind": "spend",
                "rho": to_text(spend.rho),
                "release": self.own.number,
                "number": spend.number,
                "key": spend.key,
                "mechanism": mechanism.describe(),
                "bought": plain,
            }
            self._append(entry, room=numbers * NUMBER + len(key) + _SPARE)
            self.own.add_spend(spend)
            self._debited.add(spend.number)
            return spend

    def release(self, spend: Spend, value: Any, *, private: bool) -> Released:
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
            if self.own.private and not private:
                raise KinfolkError(
                    f"{spend.key!r} was drawn with a seed, and this ledger promises privacy. "
                    "Open a ledger with private=False for a seeded run."
                )
            plain = json.loads(json.dumps(value, default=_plain, allow_nan=False))
            release = Released(spend=spend, value=plain)
            entry = {
                "kind": "released",
                "release": self.own.number,
                "number": spend.number,
                "key": spend.key,
                "private": private,
                "value": plain,
            }
            self.own.check_release(spend)
            self._append(entry)
            self.own.add_release(release)
            self._debited.remove(spend.number)
            return release

    def finish(self) -> None:
        """The release is complete: what it did not spend is there for others again."""
        with self._turn:
            self._check_usable()
            if not self.own.closed:
                self._append({"kind": "closed", "release": self.own.number})
                self.own.closed = True

    def close(self) -> None:
        """Let the next writer in."""
        with self._turn:
            if self._closed != "closed":
                usable = self._closed is None and os.getpid() == self._owner
                self._closed = "closed"
                if usable and self._size > self._end and self._look() == self._seen:
                    os.ftruncate(self._file, self._end)
                os.close(self._file)
                os.close(self._head)
                self._lock.drop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _begin(
        self, guarantee: Guarantee, *, private: bool, run: Mapping[str, Any], resume: bool
    ) -> Allotment:
        """The part of the budget that is this release's: an old one that fits, or a new one."""
        old = self._account.allotments
        own = Allotment(number=len(old) + 1, guarantee=guarantee, private=private, run=run)
        if old and (resume or not self._account.shared):
            for one in reversed(old):
                if one.identity == own.identity:
                    return one
            self._refuse(old[-1].identity, own.identity)
        self._account.check_opening(guarantee)
        if private != self._account.private:
            raise KinfolkError(
                f"{self._path.name} was begun with private = {self._account.private}, and this run "
                f"has {private}: seeded and private releases cannot share a ledger."
            )
        self._append(
            {
                "kind": "opened",
                "release": own.number,
                "guarantee": guarantee.describe(),
                "private": private,
                "run": dict(run),
            }
        )
        self._account.open(own)
        return own

    def _refuse(self, begun: Mapping[str, Any], wanted: Mapping[str, Any]) -> NoReturn:
        """Say in what a run differs from the one that was begun."""
        name = next(one for one in {**begun, **wanted} if begun.get(one) != wanted.get(one))
        raise KinfolkError(
            f"{self._path.name} was begun with {name} = {begun.get(name)!r}, and this run has "
            f"{wanted.get(name)!r}. Resume with the same settings, or start a new ledger; what was "
            "spent here stays spent."
        )

    def _digest(self, make: Callable[[bytes], str] | None) -> str | None:
        """The digest of the data; other data than the ledger's is refused."""
        if make is None:
            return None
        found = make(bytes.fromhex(self._account.key))
        if self._account.data not in (None, found):
            raise KinfolkError(
                f"{self._path.name} is the ledger of other data. A budget is for one dataset, "
                "which has to be given as it was the first time: the same files, or the same "
                "tables in memory. Use its own ledger, or begin another."
            )
        return found

    def _clear_away(self, torn: bytes) -> None:
        """Count half a line, and put its record in its place."""
        rho = self._account.could_be_torn(torn)
        active = self._account.active
        if active is None:
            # Nothing can have been spent before a release has begun.
            os.ftruncate(self._file, self._end)
            self._size, self._seen = self._end, self._look()
            return
        entry = {
            "kind": "torn",
            "rho": to_text(rho),
            "release": active.number,
            "bytes": len(torn),
            "sha256": hashlib.sha256(torn).hexdigest(),
            "start": torn[:200].decode("latin-1"),
        }
        line, check = seal(entry, previous=self._last)
        # In one step: a crash here leaves the half line, or its record, and never neither.
        content = self._path.read_bytes()[: self._end] + line
        write_whole(self._path, content, mode=0o600, durable=True)
        os.close(self._file)
        self._file = os.open(self._path, os.O_RDWR)
        self._advance(line, check)
        self._size = self._end
        self._seen = self._look()
        self._account.add_torn(rho)

    def _append(self, entry: dict[str, Any], *, room: int = 0) -> None:
        line, check = seal(entry, previous=self._last)
        self._make_room(len(line) + room)
        # From here until the disk has the line, what the file says is not known.
        self._closed = "broken by an error while it was written"
        write_at(self._file, line, self._end, path=self._path)
        self._advance(line, check)
        self._seen = self._look()
        self._closed = None

    def _advance(self, line: bytes, check: str) -> None:
        """Go behind a line that is on disk, and let the companion know."""
        self._end += len(line)
        self._size = max(self._size, self._end)
        self._last, self._lines = check, self._lines + 1
        write_at(self._head, self.head.content, 0, path=Head.beside(self._path))

    def _make_room(self, length: int) -> None:
        """Take room on the disk, or say that there is none before anything is written."""
        missing = self._end + length - self._size
        if missing <= 0:
            return
        try:
            write_at(self._file, b" " * missing, self._size, path=self._path)
        except OSError as error:
            os.ftruncate(self._file, self._size)
            raise KinfolkError(
                f"{self._path}: there is no room for what would be released ({error.strerror}). "
                "Nothing was spent for it. Make room on the disk, and go on with --resume."
            ) from None
        self._size += missing
        self._seen = self._look()

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
