"""Temporary files that hold private rows: nobody else may read them, and they end with their run.

A folder is locked for as long as its process lives. The operating system drops the lock when the
process ends, however it ends; what `kill -9` or a power cut has left, the next run of the same user
on the same machine recognises by the free lock, and removes.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kinfolk._io import fcntl_or_none, making_temporary
from kinfolk.errors import KinfolkError

LOCK = "lock"
ATTEMPTS = 20


_locks = fcntl_or_none
"""None on a platform without it, where nothing is ever swept."""


@contextmanager
def private_folder() -> Iterator[Path]:
    """A new folder that only its owner may enter, gone afterwards with all that is in it.

    >>> with private_folder() as folder:
    ...     oct(folder.stat().st_mode & 0o777)
    '0o700'
    >>> folder.exists()
    False
    """
    folder, lock = _locked_folder()
    try:
        yield folder
    finally:
        try:
            with _opened(folder) as inside:
                _empty(inside)
            folder.rmdir()
        finally:
            os.close(lock)


def make_private(path: Path) -> None:
    """Create an empty file that only its owner may read and write, whatever the umask."""
    os.close(_create(path))


def make_private_folder(path: Path) -> None:
    """Create a folder that only its owner may enter, whatever the umask."""
    path.mkdir(mode=0o700)
    path.chmod(0o700)


def remove_leftovers() -> None:
    """Remove what dead processes of this user have left; follows no link, and waits for nobody."""
    if _locks is None:
        return
    with suppress(OSError), _opened(Path(tempfile.gettempdir())) as base:
        for name in [name for name in os.listdir(base) if name.startswith(_prefix())]:
            with suppress(OSError), _opened(name, within=base) as folder:
                _remove_if_dead(base, name, folder)


def _prefix() -> str:
    # Some file systems lock for one machine only: leave folders of other machines alone.
    host = re.sub(r"[^A-Za-z0-9]", "_", socket.gethostname())[:40]
    return f"kinfolk-rows-{host}-"


def _locked_folder() -> tuple[Path, int]:
    for _ in range(ATTEMPTS):
        with making_temporary():
            folder = Path(tempfile.mkdtemp(prefix=_prefix()))
        folder.chmod(0o700)
        # Until it is locked, a sweep may take the folder for a dead one; then another is made.
        try:
            lock = _create(folder / LOCK)
        except FileNotFoundError:
            continue
        except OSError:
            folder.rmdir()
            raise
        try:
            _take(lock)
        except BlockingIOError:
            os.close(lock)
            continue
        except OSError:
            # No locks on this file system: nobody else can take this one either.
            return folder, lock
        if os.fstat(lock).st_nlink:
            return folder, lock
        os.close(lock)
    raise KinfolkError(f"{folder}: temporary files cannot be locked. Set TMPDIR to another folder.")


def _remove_if_dead(base: int, name: str, folder: int) -> None:
    if os.fstat(folder).st_uid != os.geteuid():
        return
    try:
        lock = os.open(LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except FileNotFoundError:
        # It died before it had written anything; a folder with something in it stays.
        os.rmdir(name, dir_fd=base)
        return
    try:
        if stat.S_ISREG(os.fstat(lock).st_mode):
            _take(lock)
            _empty(folder)
            os.rmdir(name, dir_fd=base)
    finally:
        os.close(lock)


def _empty(folder: int) -> None:
    """The lock goes last, so that whoever is stopped halfway leaves a folder that can be swept."""
    for entry in [entry for entry in os.listdir(folder) if entry != LOCK]:
        if stat.S_ISDIR(os.lstat(entry, dir_fd=folder).st_mode):
            shutil.rmtree(entry, dir_fd=folder)
        else:
            os.unlink(entry, dir_fd=folder)
    os.unlink(LOCK, dir_fd=folder)


def _take(lock: int) -> None:
    """Take a lock that nobody holds; BlockingIOError where somebody does."""
    if _locks is not None:
        _locks.flock(lock, _locks.LOCK_EX | _locks.LOCK_NB)


def _create(path: Path) -> int:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    os.fchmod(handle, 0o600)
    return handle


@contextmanager
def _opened(folder: Path | str, *, within: int | None = None) -> Iterator[int]:
    """A folder itself, and not whatever has its name later; a link is refused inside another."""
    flags = os.O_RDONLY | os.O_DIRECTORY | (0 if within is None else os.O_NOFOLLOW)
    handle = os.open(folder, flags, dir_fd=within)
    try:
        yield handle
    finally:
        os.close(handle)
