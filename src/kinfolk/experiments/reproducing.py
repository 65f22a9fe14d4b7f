"""Runs: spend a budget on data that is at hand, and compare what was learnt with the truth.

All that are missing are done on several cores, and each is kept as soon as it is finished.
Holds true answers: NOT PRIVATE.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from kinfolk._io import passing_folder
from kinfolk.data.encode import encode
from kinfolk.data.tables import TableLike
from kinfolk.errors import KinfolkError
from kinfolk.experiments.grid import LABEL, Experiment, Grid, Result, Run, RunFile
from kinfolk.experiments.simulate import simulate
from kinfolk.methods.method import Method, Training
from kinfolk.models.base import Model, sample
from kinfolk.privacy.curator import Curator
from kinfolk.privacy.guarantee import Guarantee
from kinfolk.privacy.unit import Neighbours
from kinfolk.queries.counting import Counter
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema

SIMULATED = "simulated data"
"""The source of data that is made up."""
SIMULATION_SEED = 1
"""Simulated data is always the same."""


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """The exact answers to each set of queries, counted once, and where they come from."""

    source: str
    """For the figures: what the data is."""
    counters: Mapping[str, Counter]
    """By the name of the set of queries."""

    @classmethod
    def of(
        cls,
        experiment: Experiment,
        schema: Schema,
        chunks: Iterable[Mapping[str, TableLike]],
        *,
        source: str,
    ) -> Dataset:
        """Count tables that fit the experiment's schema; whole groups in each chunk."""
        counters = {
            name: Counter(Workload.of(schema, levels=levels))
            for name, levels in experiment.queries.items()
        }
        for chunk in chunks:
            data = encode(schema, chunk)
            for counter in counters.values():
                counter.add(data)
        return cls(source=source, counters=counters)

    @property
    def groups(self) -> int:
        """N_G."""
        return next(iter(self.counters.values())).groups

    @property
    def people(self) -> int:
        """N_I."""
        return next(iter(self.counters.values())).people

    @property
    def delta(self) -> float:
        """As in the paper: one over the square of the number of people."""
        return 1 / self.people**2

    @property
    def digest(self) -> str:
        """Tells this data from other data with the same name."""
        found = hashlib.sha256()
        for counter in self.counters.values():
            found.update(counter.counts.tobytes())
        return found.hexdigest()[:16]


def simulated_dataset(experiment: Experiment, schema: Schema, *, groups: int) -> Dataset:
    """Made-up groups, from public parameters.

    >>> from kinfolk.datasets import load_schema
    >>> from kinfolk.experiments.grid import experiment_named
    >>> data = simulated_dataset(experiment_named("acs-red"), load_schema("acs-red"), groups=100)
    >>> data.source, data.groups, data.people
    ('simulated data', 100, 171)
    """
    chunks = simulate(experiment.name, groups=groups, seed=SIMULATION_SEED)
    return Dataset.of(experiment, schema, chunks, source=SIMULATED)


def settings_of(grid: Grid, dataset: Dataset) -> dict[str, Any]:
    """What all runs of a file must have in common; of the methods, those that were run."""
    return {
        "label": LABEL,
        "experiment": grid.experiment.name,
        "data": dataset.source,
        "groups": dataset.groups,
        "people": dataset.people,
        "answers": dataset.digest,
        "delta": dataset.delta,
        "accounting": grid.accounting.value,
        "methods": {name: grid.settings(name) for name in grid.effort.rounds},
    }


def fit_seeded(
    method: Method,
    counter: Counter,
    guarantee: Guarantee,
    *,
    seed: int,
    rng: np.random.Generator,
    scratch: Path | None = None,
) -> Training:
    """Spend a whole budget on what was counted. NOT PRIVATE: the noise has a seed.

    `scratch` is a folder for the ledger, which nobody needs afterwards.
    """
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        ledger = Path(folder) / "ledger.jsonl"
        with Curator(counter, guarantee=guarantee, ledger=ledger, seed=seed) as curator:
            training = method.start(curator, rng=rng)
            training.run()
    return training


def true_errors(
    model: Model, exact: Counter, rng: np.random.Generator
) -> dict[str, npt.NDArray[np.float64]]:
    """By how much the answers of a model are wrong, and those of a table drawn from it.

    Both are shares, (queries,). The table has as many groups as were counted. NOT PRIVATE.
    """
    drawn = Counter(exact.workload)
    for chunk in sample(model, exact.groups, rng=rng):
        drawn.add(chunk)
    answers = np.asarray(model.answer(exact.workload), np.float64)
    true = exact.shares
    return {"model": np.abs(answers - true), "sampled": np.abs(drawn.shares - true)}


def perform(grid: Grid, dataset: Dataset, run: Run, *, scratch: Path) -> Result:
    """Fit a model and compare it, and a sample from it, with the true answers. NOT PRIVATE."""
    start = time.perf_counter()
    guarantee = Guarantee.of(
        neighbours=Neighbours.IN_PLACE,
        epsilon=run.epsilon,
        delta=dataset.delta,
        accounting=grid.accounting,
    )
    counter, seed = dataset.counters[run.queries], run.randomness
    rng = np.random.default_rng([seed, 0])
    training = fit_seeded(grid.method(run), counter, guarantee, seed=seed, rng=rng, scratch=scratch)
    found = true_errors(training.model(), counter, rng)
    errors = {
        "max_error": float(found["model"].max()),
        "mean_error": float(found["model"].mean()),
        "sampled_max_error": float(found["sampled"].max()),
        "sampled_mean_error": float(found["sampled"].mean()),
    }
    return Result(run=run, errors=errors, seconds=time.perf_counter() - start)


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
    records: RunFile,
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
        seconds = None if guess is None else guess / jobs
        advance(Standing(done=len(every) - len(left), total=len(every), seconds_left=seconds))

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
    with passing_folder("reproduce-", quick=True) as scratch:
        if jobs == 1 or len(runs) < 2:
            yield (perform(grid, dataset, run, scratch=scratch) for run in runs)
            return
        others = set(multiprocessing.active_children())
        pool = ProcessPoolExecutor(
            min(jobs, len(runs)),
            # Threads do not survive a fork.
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_Worker.begin,
            initargs=(grid, dataset, scratch),
        )
        try:
            waiting = [pool.submit(_Worker.work, run) for run in runs]
            yield (one.result() for one in as_completed(waiting))
        except BaseException:
            # They are ended, and not waited for.
            for child in set(multiprocessing.active_children()) - others:
                child.terminate()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


class _Worker:
    """What a process of its own holds: the runs' common part, sent once."""

    grid: Grid
    dataset: Dataset
    scratch: Path

    @classmethod
    def begin(cls, grid: Grid, dataset: Dataset, scratch: Path) -> None:
        """Prepare this process: one thread, and Ctrl-C is for the process that started it."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        numba.set_num_threads(1)
        # Read when JAX begins, which has not happened yet.
        os.environ["XLA_FLAGS"] = (
            f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false "
            "intra_op_parallelism_threads=1"
        )
        cls.grid, cls.dataset, cls.scratch = grid, dataset, scratch

    @classmethod
    def work(cls, run: Run) -> Result:
        """One run, here."""
        return perform(cls.grid, cls.dataset, run, scratch=cls.scratch)


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
