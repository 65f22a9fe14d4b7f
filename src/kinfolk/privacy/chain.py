"""The file under the ledger: lines that vouch for one another, and one writer at a time.

A line is a JSON object that ends in the hash of everything before it, and holds the hash of the
line above. A changed, missing, added or reordered line therefore shows, and so does a line that was
only half written. Cutting off the last lines does not show in the file itself, so the hash of the
last line is kept elsewhere as well: in a companion file (`Head`), and in every certificate. The
chain is evidence, not a lock: whoever can write all of these can forge all of them.

After the last line there may be spaces: room that is kept for the next ones.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kinfolk._io import fcntl_or_none
from kinfolk.errors import KinfolkError

START = "0" * 64
"""What the first line names as the hash above it."""

_FIRST_FORMAT = "kinfolk ledger 1"
"""Such files have no companion, and their lines do not say what was bought."""
_SEAL = re.compile(rb',"check":"([0-9a-f]{64})"\}')
_SEAL_LENGTH = len(',"check":""}') + 64
_NO_SPENDS = (b"released", b"opened", b"resumed", b"closed", b"data")
"""Kinds of lines that spend nothing."""
_HALF_SPEND = re.compile(rb'\{"kind":"spend","rho":"([0-9]{1,200}/[0-9]{1,200})"')


@dataclass(frozen=True, kw_only=True)
class Chain:
    """What a file holds: whole lines that vouch for one another, and perhaps half a line."""

    entries: tuple[dict[str, Any], ...]
    """The entries, one for each whole line."""
    checks: tuple[str, ...]
    """The hash of each whole line."""
    whole: bytes
    """The whole lines as they stand in the file."""
    torn: bytes
    """What follows the last line end: empty, or a line whose writing was cut short."""

    @property
    def last(self) -> str:
        """The hash of the last whole line."""
        return self.checks[-1] if self.checks else START


def seal(entry: Mapping[str, Any], *, previous: str) -> tuple[bytes, str]:
    """The line for an entry, and its hash.

    >>> line, check = seal({"kind": "spend", "rho": "1/4"}, previous=START)
    >>> line.startswith(b'{"kind":"spend","rho":"1/4","previous":"0000')
    True
    """
    text = json.dumps(
        {**entry, "previous": previous}, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )
    body = text[:-1].encode("ascii")
    check = hashlib.sha256(body).hexdigest()
    return body + f',"check":"{check}"}}\n'.encode("ascii"), check


def read_chain(path: Path) -> Chain:
    """The lines of a file, each checked against its own hash and the line above.

    A line that does not check out is refused, because what it said was spent is not known. Half a
    line at the very end is what a crash leaves behind: it is handed over as `torn`.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "ledger.jsonl"
    >>> _ = path.write_bytes(seal({"kind": "spend"}, previous=START)[0] + b'{"kind":"rel')
    >>> chain = read_chain(path)
    >>> len(chain.entries), chain.torn
    (1, b'{"kind":"rel')
    """
    # The companion first: what it says must be true of a file that is read after it.
    head = Head.read(path)
    content = path.read_bytes()
    end = content.rfind(b"\n") + 1
    whole, torn = content[:end], content[end:].rstrip(b" ")
    entries: list[dict[str, Any]] = []
    checks: list[str] = []
    # Not splitlines(): that also splits at characters that are no line end in JSON lines.
    for number, line in enumerate(whole.split(b"\n")[:-1], start=1):
        previous = checks[-1] if checks else START
        entry, check = _unseal(line, previous, where=f"{path.name}, line {number}")
        entries.append(entry)
        checks.append(check)
    if entries and entries[0].get("format") == _FIRST_FORMAT:
        raise KinfolkError(
            f"{path.name} was written by an earlier version of kinfolk, which did not record what "
            "each step bought. Finish its run with that version; what it spent stays spent. Name "
            "another file for a new run."
        )
    chain = Chain(entries=tuple(entries), checks=tuple(checks), whole=whole, torn=torn)
    _check_head(chain, head, path)
    return chain


@dataclass(frozen=True, kw_only=True)
class Head:
    """How long a chain was at least, and the hash of its last line then."""

    lines: int
    check: str

    @staticmethod
    def beside(path: Path) -> Path:
        """The companion of a file."""
        return path.with_name(path.name + ".head")

    @classmethod
    def read(cls, path: Path) -> Head | None:
        """What the companion of a file says; None where there is none."""
        try:
            content = cls.beside(path).read_bytes()
        except FileNotFoundError:
            return None
        if not content:
            # A run that was killed when it had just begun the file. Where more than the first line
            # of the chain stands, that is refused like a companion that is not there.
            return None
        match = re.fullmatch(rb"([0-9]{12}) ([0-9a-f]{64})\n", content)
        if match is None:
            raise KinfolkError(
                f"{cls.beside(path).name} was changed or damaged, so that nobody can tell whether "
                f"{path.name} is whole. Restore both, or count everything as spent."
            )
        return cls(lines=int(match.group(1)), check=match.group(2).decode("ascii"))

    @property
    def content(self) -> bytes:
        """What the companion holds: always as many bytes, so that they can be overwritten."""
        return f"{self.lines:012d} {self.check}\n".encode("ascii")

    def missing_from(self, chain: Chain) -> bool:
        """Whether a chain is not a continuation of the one that had this head."""
        return self.lines > len(chain.checks) or chain.checks[self.lines - 1] != self.check


def _check_head(chain: Chain, head: Head | None, path: Path) -> None:
    beside = Head.beside(path).name
    if head is None:
        # A file that was just begun has none yet.
        if len(chain.checks) > 1:
            raise KinfolkError(
                f"{path.name} has no companion {beside}, which says how long it is. Copy and move "
                "the two together. If it is lost, count everything as spent."
            )
    elif head.missing_from(chain):
        raise KinfolkError(
            f"{path.name} was shortened or replaced: {beside} knows of {head.lines} lines, and "
            "they are not all there. What they spent stays spent. Restore both from where they "
            "were last written."
        )


def torn_spend(torn: bytes) -> str | None:
    """The amount that half a line may have spent: "" where it may be anything, None where nothing.

    Only a line that visibly begins as something else is known not to be a spend.

    >>> torn_spend(b'{"kind":"spend","rho":"1/4","num')
    '1/4'
    >>> torn_spend(b'{"kind":"spend","rho":"1'), torn_spend(b'{"kind":"relea')
    ('', None)
    """
    for kind in _NO_SPENDS:
        start = b'{"kind":"' + kind + b'"'
        if len(torn) > len(b'{"kind":"') and torn[: len(start)] == start[: len(torn)]:
            return None
    legible = _HALF_SPEND.match(torn)
    return legible.group(1).decode("ascii") if legible else ""


def _unseal(line: bytes, previous: str, *, where: str) -> tuple[dict[str, Any], str]:
    """The entry of a whole line, and its hash."""
    body, end = line[:-_SEAL_LENGTH], line[-_SEAL_LENGTH:]
    match = _SEAL.fullmatch(end)
    if match is None or hashlib.sha256(body).hexdigest() != match.group(1).decode("ascii"):
        raise KinfolkError(
            f"{where} was changed or damaged: it does not match its own hash. "
            "What it spent is not known, so nothing more can be bought on this ledger. Restore an "
            "undamaged copy, and count everything as spent if there is none."
        )
    try:
        entry = json.loads(body + b"}")
    except ValueError:
        entry = None
    if not isinstance(entry, dict) or entry.pop("previous", None) != previous:
        raise KinfolkError(
            f"{where} does not follow the line above it: lines were removed, added or reordered. "
            "Restore an undamaged copy, and count everything as spent if there is none."
        )
    return entry, match.group(1).decode("ascii")


class WriterLock:
    """Held by the one process that writes a file; refused at once to any other.

    The operating system drops the lock when its holder dies, however it dies. Where there are no
    POSIX locks, the mere existence of the lock file is the lock; after a crash it has to be deleted
    by hand, which errs on the safe side.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "ledger.jsonl"
    >>> lock = WriterLock(path)
    >>> lock.drop()
    """

    def __init__(self, path: Path) -> None:
        self._file = path.with_name(path.name + ".lock")
        self._handle: int | None = None
        if fcntl_or_none is None:
            self._create()
        else:
            self._lock()

    def drop(self) -> None:
        """Let the next writer in."""
        if self._handle is None:
            return
        handle, self._handle = self._handle, None
        # With POSIX locks the file stays: deleting it could let two writers lock two files.
        if fcntl_or_none is None:
            with contextlib.suppress(FileNotFoundError):
                self._file.unlink()
        os.close(handle)

    def _lock(self) -> None:
        handle = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl_or_none.flock(handle, fcntl_or_none.LOCK_EX | fcntl_or_none.LOCK_NB)
        except OSError:
            os.close(handle)
            raise self._busy("Wait for it, or end it.") from None
        self._handle = handle

    def _create(self) -> None:
        try:
            self._handle = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise self._busy(
                f"If no kinfolk process is running, delete {self._file.name}."
            ) from None

    def _busy(self, advice: str) -> KinfolkError:
        ledger = self._file.name.removesuffix(".lock")
        return KinfolkError(f"{ledger} is being written by another process. {advice}")
