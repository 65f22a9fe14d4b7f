"""One run: spend a budget on data that is at hand, and compare what was learnt with the truth."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numba
import numpy as np

from kinfolk.evaluate.metrics import shares
from kinfolk.models.base import sample
from kinfolk.privacy.curator import Curator
from kinfolk.privacy.guarantee import Guarantee
from kinfolk.privacy.unit import Neighbours
from kinfolk.queries.counting import Counter
from kinfolk.reproduce.dataset import Dataset
from kinfolk.reproduce.grid import Grid, Run


@dataclass(frozen=True, kw_only=True)
class Errors:
    """Absolute errors on shares, over all queries."""

    max_error: float
    mean_error: float
    sampled_max_error: float
    """Of a table drawn from the model, with as many groups as the data."""
    sampled_mean_error: float


@dataclass(frozen=True, kw_only=True)
class Result:
    """A run that is finished."""

    run: Run
    errors: Errors
    seconds: float


def perform(grid: Grid, dataset: Dataset, run: Run, *, scratch: Path) -> Result:
    """Fit a model and compare it, and a sample from it, with the true answers. NOT PRIVATE.

    `scratch` is a folder for the ledger, which nobody needs afterwards.
    """
    start = time.perf_counter()
    counter = dataset.counters[run.queries]
    guarantee = Guarantee.of(
        neighbours=Neighbours.IN_PLACE,
        epsilon=run.epsilon,
        delta=dataset.delta,
        accounting=grid.accounting,
    )
    rng = np.random.default_rng([run.randomness, 0])
    with (
        tempfile.TemporaryDirectory(dir=scratch) as folder,
        Curator(
            counter,
            guarantee=guarantee,
            ledger=Path(folder) / "ledger.jsonl",
            seed=run.randomness,
        ) as curator,
    ):
        training = grid.method(run).start(curator, rng=rng)
        training.run()
    model, workload = training.model(), counter.workload
    drawn = Counter(workload)
    for chunk in sample(model, dataset.groups, rng=rng):
        drawn.add(chunk)
    true = shares(counter)
    modelled = np.abs(np.asarray(model.answer(workload), np.float64) - true)
    sampled = np.abs(shares(drawn) - true)
    return Result(
        run=run,
        errors=Errors(
            max_error=float(modelled.max()),
            mean_error=float(modelled.mean()),
            sampled_max_error=float(sampled.max()),
            sampled_mean_error=float(sampled.mean()),
        ),
        seconds=time.perf_counter() - start,
    )


class Worker:
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
