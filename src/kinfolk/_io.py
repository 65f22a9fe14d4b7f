"""Files that are there as a whole or not at all, and bytes that are on disk when a call returns."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import re
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote

from kinfolk.errors import KinfolkError

# Two letters or more: C:/ is a drive. Path makes one slash of two.
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/(/?)")


def _fcntl() -> Any:
    try:
        return importlib.import_module("fcntl")
    except ImportError:
        return None


fcntl_or_none = _fcntl()
"""The module fcntl, or None on a platform without it."""


def address(path: str | os.PathLike[str]) -> str:
    """A path as text, with the second slash of an address, which `Path` takes away.

    >>> address(Path("s3a://bucket/homes.parquet")), address(Path("/data/homes.csv"))
    ('s3a://bucket/homes.parquet', '/data/homes.csv')
    """
    text = os.fspath(path)
    found = _ADDRESS.match(text)
    if not found or found[2] or found[1].lower() == "file":
        return text
    return f"{found[1]}://{text[found.end() :]}"


def local_path(path: str | os.PathLike[str]) -> Path:
    """The file or folder of this machine that a path or a file:// address names.

    >>> local_path("file:///data/my%20homes.csv").as_posix(), local_path("homes.csv").as_posix()
    ('/data/my homes.csv', 'homes.csv')
    >>> local_path("s3a://bucket/homes.parquet")
    Traceback (most recent call last):
    kinfolk.errors.KinfolkError: s3a://bucket/homes.parquet: is not on this machine. Copy it here, \
or mount it, and name the file.
    """
    text = os.fspath(path)
    found = _ADDRESS.match(text)
    if not found:
        return Path(path)
    if found[1].lower() == "file":
        rest = text[len("file:") :]
        host, slash, below = rest[2:].partition("/") if rest.startswith("//") else ("", "", rest)
        if host in ("", "localhost"):
            return Path(unquote(slash + below))
    raise KinfolkError(
        f"{address(text)}: is not on this machine. Copy it here, or mount it, and name the file."
    )


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


def write_at(handle: int, content: bytes, offset: int, *, path: Path) -> None:
    """Write all of the content to a place in an open file, and wait until the disk has it.

    What the system refuses, it refuses by the file's `path`.
    """
    rest = memoryview(content)
    try:
        while rest:
            done = os.pwrite(handle, rest, offset)
            rest, offset = rest[done:], offset + done
        _flush(handle)
    except OSError as error:
        if error.errno is not None:
            error.filename = os.fspath(path)
        raise


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


@contextlib.contextmanager
def passing_folder(purpose: str = "", *, quick: bool = False) -> Iterator[Path]:
    """A new folder for what nobody needs afterwards, such as a ledger; it is gone then.

    A `quick` one is in memory, where there is such a place: ledgers wait for the disk at every
    step.
    """
    memory = Path("/dev/shm")  # noqa: S108  (a new folder inside, which nobody else can read)
    place = str(memory) if quick and memory.is_dir() else None
    with making_temporary():
        folder = tempfile.TemporaryDirectory(dir=place, prefix=f"kinfolk-{purpose}")
    with folder as name:
        yield Path(name)


@contextlib.contextmanager
def making_temporary() -> Iterator[None]:
    """A place for temporary files that is full or closed is for the user to see to."""
    try:
        yield
    except OSError as error:
        # Without any place at all, the system's words are those of a missing file.
        reason = error.strerror if error.errno != errno.ENOENT else "there is no place for them"
        place = f"{error.filename}: " if error.filename else ""
        raise KinfolkError(
            f"{place}temporary files cannot be written ({reason}). Name a folder with room in the "
            "environment variable TMPDIR."
        ) from None
