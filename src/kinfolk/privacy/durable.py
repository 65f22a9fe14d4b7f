"""Bytes that are on disk when the call returns."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from kinfolk.privacy.lock import fcntl_or_none


def append(handle: int, content: bytes) -> None:
    """Write all of the content to an open file, and wait until the disk has it."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(handle, rest) :]
    _flush(handle)


def replace(path: Path, content: bytes) -> None:
    """Give a file new content in one step: a crash leaves the old content or the new, never half.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "ledger.jsonl"
    >>> replace(path, b"whole")
    >>> path.read_bytes()
    b'whole'
    """
    fresh = path.with_name(path.name + ".new")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        append(handle, content)
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
