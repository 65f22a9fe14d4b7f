"""One writer at a time."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from kinfolk._io import fcntl_or_none
from kinfolk.errors import KinfolkError


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
