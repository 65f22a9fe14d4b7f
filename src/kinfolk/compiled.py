"""Loops that Numba compiles, and where it keeps them for the next run.

Numba keeps what it has compiled in the folder of the source, or in the user's cache. Where it may
write to neither, as in a container or on a cluster, it would refuse to work at all. Then there is
still a folder of the user's own among the temporary files; and if not even that, every run compiles
anew. What is kept there is executed: nobody else may have had a hand in it.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(**options: Any) -> Callable[[Function], Function]:
    """A decorator: compile a function when it is first called, and keep what was compiled.

    It runs without Python's lock. `options` are further ones of `numba.njit`.

    >>> @compiled()
    ... def twice(number: int) -> int:
    ...     return number * 2
    >>> twice(4)
    8
    """

    def make(function: Function) -> Function:
        made: Any
        # Numba says so when a function is declared: it may write nowhere, or there is no source.
        with contextlib.suppress(RuntimeError):
            made = numba.njit(cache=True, nogil=True, **options)(function)
            return cast("Function", made)
        folder = private_cache()
        if folder is not None:
            with contextlib.suppress(RuntimeError), _cached_in(folder):
                made = numba.njit(cache=True, nogil=True, **options)(function)
                _bring_along(function, Path(made.stats.cache_path))
                return cast("Function", made)
        return cast("Function", numba.njit(nogil=True, **options)(function))

    return make


@lru_cache(maxsize=1)
def private_cache() -> Path | None:
    """A folder for compiled code that only this user can write to, where there can be one."""
    if not hasattr(os, "geteuid"):
        return None
    with contextlib.suppress(OSError):
        base = Path(tempfile.gettempdir())
        # Where others may rename what is not theirs, they could put another folder in its place.
        above = base.stat()
        if above.st_mode & 0o022 and not above.st_mode & stat.S_ISVTX:
            return None
        folder = base / f"kinfolk-compiled-{os.geteuid()}"
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = folder.lstat()
        private = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
        if private and found.st_uid == os.geteuid():
            return folder
    return None


@contextlib.contextmanager
def _cached_in(folder: Path) -> Iterator[None]:
    """Functions that are declared meanwhile are kept there; those of others stay where they are."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


def _bring_along(function: Callable[..., Any], target: Path) -> None:
    """Copy what was compiled beside the source before that became read-only.

    An image in which kinfolk has run once need not compile again. Numba itself sees whether the
    source, its own version or the processor is another.
    """
    with contextlib.suppress(OSError, TypeError):
        source = Path(inspect.getfile(function))
        kept = (source.parent / "__pycache__").glob(f"{source.stem}.{function.__name__}-*.nb[ci]")
        for one in sorted(kept):
            if not (target / one.name).exists():
                partial = target / f"{one.name}.{os.getpid()}"
                shutil.copyfile(one, partial)
                partial.replace(target / one.name)
