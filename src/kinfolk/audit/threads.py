"""Runs so small that threads would wait for each other longer than they work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numba


@contextmanager
def one_thread() -> Iterator[None]:
    """Compiled loops use one thread inside, and as many as before afterwards.

    >>> with one_thread():
    ...     numba.get_num_threads()
    1
    """
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(before)
