"""How often do intervals hold the truth? NOT PRIVATE: compares with the true answers.

    python -m bench.coverage FOLDER [--epsilons 1 4] [--seeds 20] [--components 512] [--jobs 2]

FOLDER has households.csv and persons.csv of Spain 2011. Every run fits a model, draws its tables
and those of its replicates, computes forty statistics that were fixed beforehand on each, and
compares the intervals that `kinfolk.pool` makes with the truth in the data. Runs that are in the
output are not repeated, and what is there is told of at the end, for each choice of settings. With
--show, that is all. --jobs makes so many runs at a time, each on one core. Components are worked on
128 at a time, in four parts: 512 take half as long as the default of 1,000, and fewer no less.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any

import numba
import numpy as np
from bench.coverage_statistics import KINDS, Survey, statistics

from kinfolk import Schema, Synthesizer, pool
from kinfolk.data.decode import decode
from kinfolk.data.encode import encode
from kinfolk.experiments.grid import LABEL
from kinfolk.schema import Level

LEVEL = 0.9
LEVELS = (Level.GROUP, Level.INDIVIDUAL)
FIELDS = ("settings", "epsilon", "seed", "kind", "statistic", "truth", "main", "replicates")
FIELDS = (*FIELDS, "estimate", "error", "low", "high", "covered", "label")


def main() -> None:
    told = _arguments()
    if not told.show:
        told.output.parent.mkdir(parents=True, exist_ok=True)
        schema = Schema.from_yaml(told.schema)
        names = ("components", "replicates", "max_passes")
        settings = {name: getattr(told, name) for name in names}
        label = str(settings)
        if told.without_relations:
            schema = replace(schema, workload=replace(schema.workload, levels=LEVELS))
            label = str({**settings, "relations": False})
        tables = {name: told.folder / f"{name}.csv" for name in schema.table_names}
        # What was counted: groups that break a rule are left out, as the schema says.
        kept = encode(schema, tables, keep_numbers=True)
        truth = statistics(Survey.of(decode(kept, rng=np.random.default_rng(0))))
        done = {(row["settings"], row["epsilon"], row["seed"]) for row in _read(told.output)}
        waiting = [
            (epsilon, seed)
            for seed in range(1, told.seeds + 1)
            for epsilon in told.epsilons
            if (label, str(epsilon), str(seed)) not in done
        ]
        # Threads do not survive a fork.
        apart = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(
            told.jobs,
            mp_context=apart,
            initializer=numba.set_num_threads,
            initargs=(max(1, numba.config.NUMBA_NUM_THREADS // told.jobs),),
        ) as pool:
            runs = [pool.submit(run, schema, tables, truth, *one, settings) for one in waiting]
            for one in as_completed(runs):
                epsilon, seed, rows, seconds = one.result()
                _append(told.output, [{**row, "settings": label} for row in rows])
                told_of = f"epsilon {epsilon:g}, seed {seed}: {_share(rows):.0%}"
                print(f"{told_of}, {seconds:.0f} s of processor time", flush=True)
    show(_read(told.output))


def run(
    schema: Schema,
    tables: Mapping[str, Path],
    truth: Mapping[tuple[str, str], float],
    epsilon: float,
    seed: int,
    settings: Mapping[str, Any],
) -> tuple[float, int, list[dict[str, Any]], float]:
    """One fit: for every statistic a row with its interval, and whether that holds the truth."""
    start = time.process_time()
    maker = Synthesizer(
        schema, unit="household", epsilon=epsilon, delta=1e-6, seed=seed, **settings
    ).fit(tables)
    main = statistics(Survey.of(maker.sample(frames="pyarrow")))
    again = [statistics(Survey.of(one)) for one in maker.replicates(frames="pyarrow")]
    rows = []
    for (kind, name), value in truth.items():
        own = main[kind, name]
        values = [one[kind, name] for one in again]
        found = pool(own, values, level=LEVEL)
        rows.append(
            {
                "epsilon": epsilon,
                "seed": seed,
                "kind": kind,
                "statistic": name,
                "truth": f"{value:.8g}",
                "main": f"{own:.8g}",
                "replicates": " ".join(f"{one:.8g}" for one in values),
                "estimate": f"{found.estimate:.8g}",
                "error": f"{found.error:.4g}",
                "low": f"{found.low:.8g}",
                "high": f"{found.high:.8g}",
                "covered": int(found.low <= value <= found.high),
                "label": LABEL,
            }
        )
    return epsilon, seed, rows, time.process_time() - start


def show(rows: Iterable[Mapping[str, Any]]) -> None:
    """The share of intervals that hold the truth, by kind and epsilon, for all settings apart."""
    every = list(rows)
    for settings in dict.fromkeys(row["settings"] for row in every):
        print(f"\n{settings}")
        _show([row for row in every if row["settings"] == settings])


def _show(rows: Iterable[Mapping[str, Any]]) -> None:
    held: dict[tuple[float, str], list[int]] = defaultdict(list)
    for row in rows:
        held[float(row["epsilon"]), row["kind"]].append(int(row["covered"]))
    epsilons = sorted({epsilon for epsilon, _ in held})
    print(f"{LABEL}; nominal {LEVEL:.0%}")
    print("| kind | " + " | ".join(f"epsilon {one:g}" for one in epsilons) + " |")
    print("|---" * (1 + len(epsilons)) + "|")
    for kind in KINDS:
        cells = [held.get((one, kind), []) for one in epsilons]
        shown = [f"{np.mean(one):.0%} of {len(one)}" if one else "" for one in cells]
        print(f"| {kind} | " + " | ".join(shown) + " |")


def _share(rows: Iterable[Mapping[str, Any]]) -> float:
    return float(np.mean([int(row["covered"]) for row in rows]))


def _read(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _append(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """All rows of a run at once, so that an interrupted one leaves nothing."""
    fresh = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerows(rows)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    schema = Path(__file__).parent / "schemas" / "spain.yaml"
    parser.add_argument("folder", type=Path, help="households.csv and persons.csv")
    parser.add_argument("--schema", type=Path, default=schema)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0, 4.0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--components", type=int, default=1000)
    parser.add_argument("--replicates", type=int, default=8)
    parser.add_argument("--max-passes", type=int, default=60)
    parser.add_argument("--without-relations", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/accuracy/coverage.csv"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
