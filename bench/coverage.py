"""How often do intervals hold the truth? NOT PRIVATE: compares with the true answers.

    python -m bench.coverage FOLDER [--epsilons 1 4] [--seeds 20] [-o docs/accuracy/coverage.csv]

FOLDER has households.csv and persons.csv of Spain 2011. Every run fits a model, draws its tables
and those of its replicates, computes forty statistics that were fixed beforehand on each, and
compares the intervals that `kinfolk.pool` makes with the truth in the data. Runs that are in the
file are not repeated. With --show, only the table of what is there is printed.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from bench.coverage_statistics import KINDS, Survey, statistics

from kinfolk import Schema, Synthesizer, pool
from kinfolk.data.decode import decode
from kinfolk.data.encode import encode
from kinfolk.experiments.run_file import LABEL

LEVEL = 0.9
FIELDS = ("settings", "epsilon", "seed", "kind", "statistic", "truth", "main", "replicates")
FIELDS = (*FIELDS, "estimate", "error", "low", "high", "covered", "label")


def main() -> None:
    told = _arguments()
    if not told.show:
        told.output.parent.mkdir(parents=True, exist_ok=True)
        schema = Schema.from_yaml(told.schema)
        tables = {name: told.folder / f"{name}.csv" for name in schema.table_names}
        # What was counted: groups that break a rule are left out, as the schema says.
        kept = encode(schema, tables, keep_numbers=True)
        truth = statistics(Survey.of(decode(kept, rng=np.random.default_rng(0))))
        names = ("components", "replicates", "max_passes")
        settings = {name: getattr(told, name) for name in names}
        done = {(row["settings"], row["epsilon"], row["seed"]) for row in _read(told.output)}
        for seed in range(1, told.seeds + 1):
            for epsilon in told.epsilons:
                if (str(settings), str(epsilon), str(seed)) in done:
                    continue
                rows = run(schema, tables, truth, epsilon=epsilon, seed=seed, settings=settings)
                _append(told.output, rows)
                print(f"epsilon {epsilon:g}, seed {seed}: {_share(rows):.0%}", flush=True)
    show(_read(told.output))


def run(
    schema: Schema,
    tables: Mapping[str, Path],
    truth: Mapping[tuple[str, str], float],
    *,
    epsilon: float,
    seed: int,
    settings: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """One fit: for every statistic a row with its interval, and whether that holds the truth."""
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
                "settings": str(dict(settings)),
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
    return rows


def show(rows: Iterable[Mapping[str, Any]]) -> None:
    """The share of intervals that hold the truth, by kind and epsilon."""
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
    parser.add_argument("--show", action="store_true")
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/accuracy/coverage.csv"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
