"""All cores: compiled loops run in threads, each on its own share of the components."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numba


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, thread_name_prefix="kinfolk")


# Threads do not survive a fork; the child makes its own.
os.register_at_fork(after_in_child=_pool.cache_clear)


def spread(work: Callable[[int, int], object], shares: int) -> None:
    """Run work(first, step) for every share: the first tile, and then every step-th.

    The result must not depend on how many threads there are, only on the tiles.

    >>> found = []
    >>> spread(lambda first, step: found.extend(range(first, 5, step)), 5)
    >>> sorted(found)
    [0, 1, 2, 3, 4]
    """
    workers = max(1, min(shares, numba.get_num_threads()))
    others = [_pool(workers).submit(work, first, workers) for first in range(1, workers)]
    try:
        work(0, workers)
    finally:
        for other in others:
            other.result()
