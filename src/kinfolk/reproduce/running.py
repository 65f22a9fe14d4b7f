"""All runs that are missing, on several cores; each is kept as soon as it is finished."""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kinfolk._io import quick_folder
from kinfolk.errors import KinfolkError
from kinfolk.reproduce.dataset import Dataset
from kinfolk.reproduce.grid import Grid, Run
from kinfolk.reproduce.records import Records
from kinfolk.reproduce.work import Result, Worker, perform


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How far the runs are."""

    done: int
    total: int
    seconds_left: float | None
    """A guess from the runs that are finished; None before there is one."""


def reproduce(
    grid: Grid,
    dataset: Dataset,
    records: Records,
    *,
    jobs: int = 1,
    advance: Callable[[Standing], None] = lambda standing: None,
) -> None:
    """Do the runs that are not in the records yet, `jobs` at a time; one job runs right here.

    Ctrl-C loses only the runs that are not finished.
    """
    if jobs < 1:
        raise KinfolkError(f"jobs is {jobs}. Use at least 1.")
    every = list(grid.runs())
    missing = [run for run in every if run not in records.results]

    def tell() -> None:
        left = [run for run in missing if run not in records.results]
        guess = _seconds(left, list(records.results.values()))
        advance(
            Standing(
                done=len(every) - len(left),
                total=len(every),
                seconds_left=None if guess is None else guess / jobs,
            )
        )

    tell()
    try:
        with _results(grid, dataset, missing, jobs) as results:
            for result in results:
                records.add(result)
                tell()
    except BrokenProcessPool:
        raise KinfolkError(
            f"a process was ended from outside, perhaps for want of memory. {len(records.results)} "
            "runs are kept; the same command goes on from there. Use fewer jobs."
        ) from None


@contextmanager
def _results(
    grid: Grid, dataset: Dataset, runs: Sequence[Run], jobs: int
) -> Iterator[Iterator[Result]]:
    """The results as they come; whoever leaves early ends the processes."""
    with tempfile.TemporaryDirectory(dir=quick_folder(), prefix="kinfolk-reproduce-") as folder:
        scratch = Path(folder)
        if jobs == 1 or len(runs) < 2:
            yield (perform(grid, dataset, run, scratch=scratch) for run in runs)
        else:
            with _pool(grid, dataset, scratch, min(jobs, len(runs))) as pool:
                waiting = [pool.submit(Worker.work, run) for run in runs]
                yield (one.result() for one in as_completed(waiting))


@contextmanager
def _pool(grid: Grid, dataset: Dataset, scratch: Path, jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that are ended, and not waited for, by whoever leaves with an exception."""
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        jobs,
        # Threads do not survive a fork.
        mp_context=multiprocessing.get_context("spawn"),
        initializer=Worker.begin,
        initargs=(grid, dataset, scratch),
    )
    try:
        yield pool
    except BaseException:
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _seconds(runs: Sequence[Run], finished: Sequence[Result]) -> float | None:
    """How long these runs take one after the other, by the finished ones most like each."""
    if not finished:
        return 0.0 if not runs else None

    def rate(method: str | None) -> float | None:
        alike = [one for one in finished if method in (None, one.run.method)]
        total = sum(one.run.rounds for one in alike)
        return sum(one.seconds for one in alike) / total if alike else None

    every = rate(None) or 0.0
    rates = {run.method: rate(run.method) or every for run in runs}
    return sum(run.rounds * rates[run.method] for run in runs)
