"""Two checkouts side by side: CPU time and memory of the same work, in turns.

    python -m bench.beside OTHER [--rounds 5] [--only answering]

OTHER is the root of another checkout, say of `git worktree add ../old 7628bf3`. Every measurement
has a process of its own, which takes what it measures from its own checkout, `bench` included. The
two take turns, so that other work on the machine disturbs both; times are seconds of CPU over all
threads, which it disturbs least, and the least of all rounds is compared. Peaks are of memory.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
LIMIT = 1.05
"""Slower than this is named."""
COMPONENTS, GROUPS = 1000, 200_000


def cpu(work: Callable[[], object], *, repeats: int) -> float:
    """The least CPU time of several."""
    found = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def answering() -> dict[str, float]:
    """A mixture's answers to all three-way queries, with their gradient, and a step on 500."""
    import numpy as np

    bench = importlib.import_module("bench.answering")
    # A checkout says for itself how answers and steps are made; only the clock is ours.
    bench.best = cpu
    workload = bench.Workload.of(bench.atlanta_like(), k=3)
    layout = bench.Layout.of(workload.schema)
    queries = np.random.default_rng(2).integers(workload.size, size=500).tolist()
    if hasattr(bench, "Prepared"):
        plan = bench.Prepared.of(layout, workload)
        selection = bench.Prepared.of_queries(layout, workload, queries)
    else:
        plan = bench.Plan.of(layout, workload)
        selection = bench.Selection.of(layout, workload, queries)
    model = bench.HPD.random(layout, COMPONENTS, np.random.default_rng(1), dtype=np.float32)
    times = bench.engine_times(model, plan, selection, np.full(500, 0.01))
    return {"answers": times.answer, "and gradient": times.gradient, "step": times.step}


def counting() -> dict[str, float]:
    """Exact counts of as many people as there are in Atlanta."""
    bench = importlib.import_module("bench.counting")
    from kinfolk.queries.counting import count
    from kinfolk.queries.workload import Workload

    data = bench.atlanta_sized()
    names = [data.schema.count, *(name for some in bench.ATTRIBUTES.values() for name in some)]
    workload = Workload.of(data.schema, k=3, attributes=names)
    return {"counts": cpu(lambda: count(data, workload), repeats=5)}


def sampling() -> dict[str, float]:
    """Groups drawn from a mixture, as arrays and into CSV files."""
    import numpy as np

    bench = importlib.import_module("bench.sampling")
    layout = bench.Layout.of(bench.load_schema("acs"))
    logits = 3 * np.random.default_rng(1).standard_normal((layout.rows, COMPONENTS))
    model = bench.HPD.from_logits(layout, logits)
    bench.drawn(model, 1000)
    return {
        "arrays": cpu(lambda: bench.drawn(model, GROUPS), repeats=3),
        "CSV": cpu(lambda: bench.written(model, GROUPS // 10, "csv"), repeats=3),
    }


def starting() -> dict[str, float]:
    """`kinfolk --help`, Python included."""

    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    code = "from kinfolk.cli import main; main()"
    found = []
    for _ in range(5):
        before = spent()
        subprocess.run(
            [sys.executable, "-c", code, "--help"], stdout=subprocess.DEVNULL, check=True
        )
        found.append(spent() - before)
    return {"--help": min(found)}


PARTS = {one.__name__: one for one in (answering, counting, sampling, starting)}


def measured(part: str, root: Path) -> dict[str, float]:
    """One measurement, in a process that sees only its own checkout."""
    done = subprocess.run(
        [sys.executable, HERE, root, "--part", part],
        env={**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(other: Path, rounds: int, only: str) -> None:
    """Print a line for every figure."""
    print(f"{'':28}{'other':>12}{'this':>12}{'this/other':>12}", flush=True)
    for part in [name for name in PARTS if only in name]:
        turns = [[measured(part, root) for root in (other, HERE.parents[1])] for _ in range(rounds)]
        for name in turns[0][0]:
            before, now = (min(turn[which][name] for turn in turns) for which in (0, 1))
            verdict = f"{'':4}slower" if now > LIMIT * before else ""
            digits = 0 if name == "peak MB" else 3
            cells = f"{before:12,.{digits}f}{now:12,.{digits}f}{now / before:12.2f}{verdict}"
            print(f"{f'{part}, {name}':28}{cells}", flush=True)


def main() -> None:
    """Compare, or measure one part of one checkout."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, help="the root of another checkout")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="a part whose name has this word")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.part is None:
        compare(told.other.resolve(), told.rounds, told.only)
        return
    # Beside this file lies the bench of this checkout, which may not be the one to be measured.
    sys.path.pop(0)
    found: dict[str, Any] = PARTS[told.part]()
    kinfolk = Path(sys.modules["kinfolk"].__file__ or "") if "kinfolk" in sys.modules else None
    if kinfolk is not None and told.other not in kinfolk.parents:
        raise SystemExit(f"kinfolk was found in {kinfolk}, not below {told.other}.")
    whose = resource.RUSAGE_CHILDREN if told.part == "starting" else resource.RUSAGE_SELF
    found["peak MB"] = resource.getrusage(whose).ru_maxrss / 1024
    print(json.dumps(found))


if __name__ == "__main__":
    main()
