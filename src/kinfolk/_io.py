"""Files that are there as a whole or not at all, and bytes that are on disk when a call returns."""

from __future__ import annotations

import contextlib
import importlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO


def _fcntl() -> Any:
    try:
        return importlib.import_module("fcntl")
    except ImportError:
        return None


fcntl_or_none = _fcntl()
"""The module fcntl, or None on a platform without it."""


@contextlib.contextmanager
def new_file(path: Path, *, mode: int = 0o666, durable: bool = False) -> Iterator[BinaryIO]:
    """A file to write, which gets its name when the block ends well, and is removed if not.

    A crash leaves the old file or the new, never half. `mode` says who may read it, as far as the
    user's umask allows. A durable one is on disk, name and all, when the block has ended. What the
    system refuses, such as more space, it refuses by the name of the file.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "table.csv"
    >>> with new_file(path) as file:
    ...     _ = file.write(b"whole")
    ...     path.exists()
    False
    >>> path.read_bytes()
    b'whole'
    """
    # A name that nobody can have put a link at: the system makes it new, or not at all.
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                if durable:
                    file.flush()
                    _flush(handle)
            partial.replace(path)
        finally:
            # Also on Ctrl-C, which is not an Exception.
            partial.unlink(missing_ok=True)
        if durable:
            _flush_folder(path.parent)
    except OSError as error:
        if error.filename in (None, os.fspath(partial)):
            error.filename, error.filename2 = os.fspath(path), None
        raise


def write_whole(
    path: Path, content: bytes | str, *, mode: int = 0o666, durable: bool = False
) -> None:
    """Give a file new content in one step; see `new_file`. Text is written as UTF-8."""
    with new_file(path, mode=mode, durable=durable) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def write_at(handle: int, content: bytes, offset: int) -> None:
    """Write all of the content to a place in an open file, and wait until the disk has it."""
    rest = memoryview(content)
    while rest:
        done = os.pwrite(handle, rest, offset)
        rest, offset = rest[done:], offset + done
    _flush(handle)


def _flush(handle: int) -> None:
    # On macOS fsync stops at the drive's own cache; F_FULLFSYNC goes through it.
    full = getattr(fcntl_or_none, "F_FULLFSYNC", None)
    if full is not None:
        with contextlib.suppress(OSError):
            fcntl_or_none.fcntl(handle, full)
            return
    os.fsync(handle)


def _flush_folder(folder: Path) -> None:
    """A new name is only durable once its folder is. Some platforms cannot open a folder."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def quick_folder() -> str | None:
    """A folder in memory, where there is one, for ledgers that nobody needs afterwards.

    They wait for the disk at every step.
    """
    memory = Path("/dev/shm")  # noqa: S108  (a new folder inside, which nobody else can read)
    return str(memory) if memory.is_dir() else None
