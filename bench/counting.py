"""How fast exact counting is: against NumPy, and from 100 thousand to 10 million people on disk.

    python -m bench.counting [--quick] [--data SCHEMA HOUSEHOLDS PERSONS]

Every measurement runs in a process of its own, so that its peak memory is its own. Everything that
is written goes to a temporary folder. Timings depend on the machine and on what else runs on it;
the ratios are what to look at.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

    from kinfolk.data.encoded import Encoded
    from kinfolk.queries.workload import Workload

PEOPLE = 67_101
"""As many as there are in the survey of Atlanta that the first goal speaks of."""
ATTRIBUTES = {
    "households": ["METRO", "FARM", "COUNTYFIP", "FARMPROD", "BUILTYR2", "MULTGEN"],
    "persons": [
        "SFRELATE",
        "SEX",
        "MARST",
        "RACE",
        "CITIZEN",
        "SCHOOL",
        "EMPSTAT",
        "LOOKING",
        "AGE",
    ],
}
"""With the size of a household 16 attributes, as in Atlanta: 409,072 three-way queries."""
HOUSEHOLDS = {100_000: 44_000, 1_000_000: 442_000, 10_000_000: 4_430_000}
"""So many simulated households have somewhat more than so many people."""
REPEATS = {100_000: 5, 1_000_000: 2, 10_000_000: 1}
GOAL_RATIO, GOAL_BYTES = 3, 2e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="stop at a million people")
    names = ("SCHEMA", "HOUSEHOLDS", "PERSONS")
    parser.add_argument("--data", nargs=3, metavar=names, help="compare with NumPy on these files")
    parser.add_argument("--part", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        print(json.dumps(PARTS[options.part[0]](*options.part[1:])))
        return
    compare(options.data or [])
    scale([people for people in HOUSEHOLDS if not (options.quick and people > 1_000_000)])


def compare(files: list[str]) -> None:
    """The same answers by `count` and by NumPy."""
    found = run("marginals", *files)
    print(
        f"\nIn memory: {found['groups']:,} groups, {found['people']:,} people, "
        f"{found['queries']:,} queries in {found['marginals']:,} marginals\n"
    )
    print(f"  {'':34}{'seconds':>10}{'times faster':>14}")
    ours = found["seconds"]["kinfolk"]
    for name, seconds in found["seconds"].items():
        print(f"  {name:34}{seconds:10.3f}{seconds / ours:14.1f}")
    slowest = min(seconds for name, seconds in found["seconds"].items() if name != "kinfolk")
    print(f"\n  Goal: at least {GOAL_RATIO} times faster: {met(slowest / ours >= GOAL_RATIO)}.")


def scale(sizes: list[int]) -> None:
    """Simulated Parquet files of growing size."""
    print("\nFrom Parquet: simulated `acs`, all three-way queries\n")
    header = (
        "people",
        "parts",
        "seconds",
        "per million",
        "CPU per million",
        "to the first",
        "peak",
    )
    print("  " + "".join(f"{word:>16}" for word in header), flush=True)
    rates: list[float] = []
    peaks: list[float] = []
    for people in sizes:
        with tempfile.TemporaryDirectory(prefix="kinfolk-bench-") as folder:
            run("simulate", folder, str(HOUSEHOLDS[people]))
            found = [run("stream", folder) for _ in range(REPEATS[people])]
        best = min(found, key=lambda one: one["seconds"])
        rates.append(min(one["cpu"] / one["people"] for one in found) * 1e6)
        peaks.append(max(one["peak"] for one in found))
        cells = (
            f"{best['people']:,}",
            str(best["parts"]),
            f"{best['seconds']:.2f}",
            f"{best['seconds'] / best['people'] * 1e6:.2f}",
            f"{rates[-1]:.2f}",
            f"{rates[-1] / rates[0]:.2f}",
            f"{peaks[-1] / 1e9:.2f} GB",
        )
        print("  " + "".join(f"{cell:>16}" for cell in cells), flush=True)
    print(f"\n  Goal: peak memory under {GOAL_BYTES / 1e9:g} GB: {met(max(peaks) < GOAL_BYTES)}.")
    print("  Goal: time per person constant: `to the first` compares CPU time, which other work on")
    print("  the machine disturbs least.")


def met(goal: bool) -> str:
    return "met" if goal else "MISSED"


def run(*part: str) -> dict[str, Any]:
    """One measurement in a fresh process; this one stays small, as a child inherits its peak."""
    command = [sys.executable, "-m", "bench.counting", "--part", *part]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def simulate(folder: str, households: str) -> dict[str, Any]:
    from kinfolk.experiments.simulate import write_simulation

    return write_simulation("acs", folder, groups=int(households), seed=1)["rows"]


def stream(folder: str) -> dict[str, Any]:
    """Count files; the compiled code is loaded before the clock starts."""
    import numpy as np

    from kinfolk.data.encoded import Encoded
    from kinfolk.datasets import load_schema
    from kinfolk.queries.counting import Counter
    from kinfolk.queries.streaming import count_files
    from kinfolk.queries.workload import Workload

    schema = load_schema("acs")
    workload = Workload.of(schema)
    widths = len(schema.group_attributes), len(schema.individual_attributes)
    group, individual = (np.zeros((1, width), np.uint8) for width in widths)
    one = Encoded(schema=schema, group=group, individual=individual, offsets=np.array([0, 1]))
    Counter(workload).add(one)
    stages: list[str] = []
    start, used = time.perf_counter(), time.process_time()
    counter = count_files(
        workload,
        {name: f"{folder}/{name}.parquet" for name in schema.table_names},
        progress=lambda stage, _: stages.append(stage),
    )
    seconds, cpu = time.perf_counter() - start, time.process_time() - used
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "people": counter.people,
        "seconds": seconds,
        "cpu": cpu,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit,
        "parts": stages.count("counting"),
    }


def marginals(*files: str) -> dict[str, Any]:
    """Count in memory, three ways; all must agree."""
    from kinfolk.data.encode import encode
    from kinfolk.queries.counting import count
    from kinfolk.queries.workload import Workload
    from kinfolk.schema import Schema

    if files:
        schema = Schema.from_yaml(files[0])
        data = encode(schema, dict(zip(schema.table_names, files[1:], strict=True)))
        workload = Workload.of(schema, levels=["group", "individual"])
    else:
        data = atlanta_sized()
        names = [data.schema.count, *(name for group in ATTRIBUTES.values() for name in group)]
        workload = Workload.of(data.schema, k=3, attributes=names)
    expected = count(data, workload)
    seconds: dict[str, float] = {}
    ways = {
        "kinfolk": lambda: count(data, workload),
        "NumPy, groups deduplicated once": lambda: numpy_counts(data, workload, remember=True),
        "NumPy, one marginal at a time": lambda: numpy_counts(data, workload, remember=False),
    }
    for name, way in ways.items():
        for _ in range(7 if name == "kinfolk" else 2):
            start = time.perf_counter()
            counts = way()
            took = time.perf_counter() - start
            seconds[name] = min(took, seconds.get(name, took))
            assert (counts == expected).all(), f"{name} counts differently"
    return {
        "groups": data.groups,
        "people": data.people,
        "queries": workload.size,
        "marginals": len(workload.marginals),
        "seconds": seconds,
    }


def atlanta_sized() -> Encoded:
    """Simulated households with exactly PEOPLE people."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from kinfolk.data.encode import encode
    from kinfolk.datasets import load_schema
    from kinfolk.experiments.simulate import simulate_tables

    schema = load_schema("acs")
    tables = simulate_tables("acs", groups=PEOPLE // 2, seed=1)
    sizes = np.bincount(tables["persons"]["SERIAL"].to_numpy())[1:]
    first = int(np.searchsorted(np.cumsum(sizes), PEOPLE, side="right"))
    missing = PEOPLE - sizes[:first].sum()
    kept = np.arange(1, first + 1)
    if missing:
        kept = np.append(kept, first + 1 + np.flatnonzero(sizes[first:] == missing)[0])
    chosen = pa.array(kept)
    return encode(
        schema,
        {name: t.filter(pc.is_in(t["SERIAL"], value_set=chosen)) for name, t in tables.items()},
    )


def numpy_counts(data: Encoded, workload: Workload, *, remember: bool) -> npt.NDArray[Any]:
    """One bincount per marginal; at the group level of the distinct (group, cell) pairs.

    `remember` keeps these pairs for all marginals with the same individual part.
    """
    import numpy as np

    def cells(columns: list[Any], positions: tuple[int, ...], sizes: tuple[int, ...]) -> Any:
        total = np.zeros(len(columns[0]), np.int64)
        for position, size in zip(positions, sizes, strict=True):
            total *= size
            total += columns[position]
        return total

    owner = np.repeat(np.arange(data.groups), data.sizes)
    group = [*data.group.T.astype(np.int64), data.sizes - data.schema.sizes.start]
    everybody = [column[owner] for column in group]
    people = list(data.individual.T.astype(np.int64))
    pairs: dict[tuple[int, ...], Any] = {}
    answers = np.zeros(workload.size, np.int64)
    for marginal, place in workload.slices():
        sizes, rest = marginal.shape[: len(marginal.group)], marginal.shape[len(marginal.group) :]
        width = marginal.individual_cells
        if marginal.level == "individual":
            cell = cells(everybody, marginal.group, sizes) * width
            cell += cells(people, marginal.individual, rest)
        elif not marginal.individual:
            cell = cells(group, marginal.group, sizes)
        else:
            found = pairs.get(marginal.individual)
            if found is None:
                found = np.unique(owner * width + cells(people, marginal.individual, rest))
                if remember:
                    pairs[marginal.individual] = found
            where, own = np.divmod(found, width)
            cell = cells(group, marginal.group, sizes)[where] * width + own
        answers[place] = np.bincount(cell, minlength=marginal.cells)
    return answers


PARTS = {"marginals": marginals, "simulate": simulate, "stream": stream}

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))
    main()
