"""Bytes that are on disk when the call returns."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from kinfolk.privacy.lock import fcntl_or_none


def write_at(handle: int, content: bytes, offset: int) -> None:
    """Write all of the content to a place in an open file, and wait until the disk has it."""
    rest = memoryview(content)
    while rest:
        done = os.pwrite(handle, rest, offset)
        rest, offset = rest[done:], offset + done
    _flush(handle)


def replace(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Give a file new content in one step: a crash leaves the old content or the new, never half.

    `mode` says who may read it, as far as the user's umask allows: by default nobody else.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "ledger.jsonl"
    >>> replace(path, b"whole")
    >>> path.read_bytes()
    b'whole'
    """
    fresh = path.with_name(path.name + ".new")
    with contextlib.suppress(FileNotFoundError):
        fresh.unlink()
    # Never through a link that somebody has put there.
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        write_at(handle, content, 0)
    finally:
        os.close(handle)
    fresh.replace(path)
    # The new name is only durable once the folder is. Some platforms cannot open a folder.
    with contextlib.suppress(OSError):
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _flush(handle: int) -> None:
    # On macOS fsync stops at the drive's own cache; F_FULLFSYNC goes through it.
    full = getattr(fcntl_or_none, "F_FULLFSYNC", None)
    if full is not None:
        with contextlib.suppress(OSError):
            fcntl_or_none.fcntl(handle, full)
            return
    os.fsync(handle)
