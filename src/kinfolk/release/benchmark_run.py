"""A method at work on made-up groups, for a moment: how long will it take, with how much memory?

The groups are drawn from a random model of the schema, so no data is needed. Everything else is as
in a real run: tables are encoded and counted, steps are bought from a curator, a model learns.
"""

from __future__ import annotations

import contextlib
import resource
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kinfolk.data.decode import decode
from kinfolk.errors import KinfolkError
from kinfolk.methods.method import Method
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.models.records import Records
from kinfolk.privacy.curator import Curator
from kinfolk.privacy.guarantee import Guarantee
from kinfolk.privacy.opendp_bridge import opendp
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema

FEW, MANY = 1_000, 20_000
"""Made-up groups: counting is timed with both numbers, to tell its fixed cost from the rest."""
SECONDS = 1.0
"""So long are steps timed, ..."""
STEPS = 3
"""... and at least so many of them."""
PER_PERSON = 320
"""Bytes that more people add to the peak, each; measured with 21 attributes. It is an estimate."""
MOST_FOR_TABLES = 256 * 2**20
"""Bytes that they add at most, as larger tables are streamed; measured with two million people."""


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What a run will take on this machine."""

    counting_seconds: float
    fitting_seconds: float
    peak_bytes: float


class _Enough(Exception):  # noqa: N818  (not an error)
    """The benchmark has seen enough."""


class _Watch:
    """Times the steps of a method and stops it."""

    def __init__(self) -> None:
        self.ticks: list[tuple[str, int, int, float]] = []
        """What was done, how many steps of how many, and when."""

    def __call__(self, doing: str, done: int, total: int) -> None:
        self.ticks.append((doing, done, total, time.perf_counter()))
        same = [tick for tick in self.ticks if tick[0] == doing]
        if len(same) > STEPS and same[-1][3] - same[0][3] > SECONDS:
            raise _Enough

    def seconds(self) -> float:
        """How long all steps take; of the stage that was cut short, by those that were seen.

        The first step is left out where there are others: code is compiled in it.
        """
        expected = 0.0
        for stage in dict.fromkeys(tick[0] for tick in self.ticks):
            same = [tick for tick in self.ticks if tick[0] == stage]
            (_, first, total, start), (_, last, _, end) = same[0], same[-1]
            expected += (end - start) / max(last - first, 1) * total
        return expected


def benchmark_run(
    schema: Schema, method: Method, guarantee: Guarantee, *, groups: int, people: int
) -> Expected:
    """Run a method for a moment, and work out what it takes with so many groups and people."""
    few, many = min(FEW, groups), min(MANY, groups)
    workload = method.asks(Workload.of(schema))
    watch, seed = _Watch(), _seed()
    with tempfile.TemporaryDirectory(prefix="kinfolk-") as folder:

        def counted(number: int) -> tuple[Curator, float]:
            tables = _made_up(schema, number)
            start = time.perf_counter()
            curator = Curator.of_tables(
                tables,
                workload,
                guarantee=guarantee,
                ledger=Path(folder) / f"{time.monotonic_ns()}.jsonl",
                seed=seed,
                size_weighted=method.size_weighted,
                bind=False,
            )
            return curator, time.perf_counter() - start

        # Once to compile, or to load what is compiled.
        for number in (few, few):
            curator, least = counted(number)
            curator.close()
        curator, most = counted(many)
        with curator:
            training = method.start(curator, rng=np.random.default_rng(1))
            with contextlib.suppress(_Enough):
                training.run(watch)
    slope = max(most - least, 0.0) / max(many - few, 1)
    more = max(people - people * many // groups, 0)
    return Expected(
        counting_seconds=least + slope * (groups - few),
        fitting_seconds=watch.seconds(),
        peak_bytes=_peak() + min(more * PER_PERSON, MOST_FOR_TABLES),
    )


def _seed() -> int | None:
    """None, for noise as it will be; a seed where opendp is not installed."""
    try:
        opendp()
    except KinfolkError:
        return 1
    return None


def _made_up(schema: Schema, groups: int) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    model = HPD.random(Layout.of(schema), components=20, rng=rng)
    return decode(Records(model=model).draw_all(groups, rng=rng), rng=rng)


def _peak() -> float:
    """The most memory that this process has had, in bytes."""
    found = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(found if sys.platform == "darwin" else found * 1024)
