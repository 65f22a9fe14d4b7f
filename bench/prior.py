"""What public tables bring, and what misleading ones cost. NOT PRIVATE: compares with the truth.

    python -m bench.prior DATA [--only WORD] [--seeds 5] [-o docs/accuracy/prior.csv]
    python -m bench.prior DATA --intervals [...] [-o docs/accuracy/prior-intervals.csv]

DATA has the folders atlanta, detroit, spain2005 and spain2011 with households.csv and persons.csv.
The household is the unit, `replace`, delta = 1/people^2; settings are the default ones, without
replicates. Errors are of the answers of the model, and of tables drawn from it with as many groups
as the data. Runs that are in the output are not repeated; all of it is shown in the end. With
--show, that is all. With --intervals, there are replicates, and it is counted how many true
answers the intervals of 90% hold.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean

import numpy as np
import pandas as pd
from bench.accuracy_runs import levels

from kinfolk import Schema, Synthesizer, Workload
from kinfolk.data.encode import encode
from kinfolk.experiments.grid import LABEL, append_row, read_rows
from kinfolk.experiments.results import markdown_table
from kinfolk.queries.counting import Counter
from kinfolk.release.answers import answer

SCHEMAS = Path(__file__).parent / "schemas"
KEY = "household_id"
Tables = dict[str, pd.DataFrame]
PLAIN = ("group", "individual")
RELATED = (*PLAIN, "relation")
NONE = "none"
REPLICATES = 8
FIELDS = ("pair", "prior", "epsilon", "seed", "use", "gain", "model_max", "model_mean")
FIELDS = (*FIELDS, "sampled_max", "sampled_mean", "seconds", "label")


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Private tables, and public ones that may say something of them."""

    schema: Callable[[], Schema]
    private: Callable[[Path], Tables]
    priors: Mapping[str, Callable[[Path], Tables]]
    epsilons: tuple[float, ...] = (0.125, 0.25, 1.0)


def read(folder: Path) -> Tables:
    return {name: pd.read_csv(folder / f"{name}.csv") for name in ("households", "persons")}


def part(tables: Tables, homes: pd.Series) -> Tables:
    """Only some households. homes: (households,) whether each is wanted"""
    kept = tables["households"][homes]
    people = tables["persons"]
    return {"households": kept, "persons": people[people[KEY].isin(kept[KEY])]}


def region(number: int) -> Callable[[Path], Tables]:
    """Households of Atlanta in one of its two areas."""

    def of(data: Path) -> Tables:
        tables = read(data / "atlanta")
        return part(tables, tables["households"]["PUMA"] == number)

    return of


def small_and_unmarried(data: Path) -> Tables:
    """Of the second area, one and two people without a married couple."""
    tables = region(1102)(data)
    homes = tables["households"]
    return part(tables, (homes["np"] <= 2) & (homes["hht"] != 1))


def detroit(data: Path) -> Tables:
    """Households of Detroit, with what Atlanta codes in the same way under Atlanta's names."""
    tables = read(data / "detroit")
    found = part(tables, tables["households"]["type"] == 1)
    homes = found["households"].rename(columns={"cars": "veh"})
    people = found["persons"].rename(columns={"age": "agep"})
    return {
        "households": homes[[KEY, "veh", "hincp", "hht"]].assign(veh=homes["veh"].clip(upper=6)),
        "persons": people[[KEY, "agep", "sex", "esr", "wkw", "wkhp", "mil"]],
    }


def spain(k: int, levels: tuple[str, ...]) -> Callable[[], Schema]:
    def schema() -> Schema:
        found = Schema.from_yaml(SCHEMAS / "spain.yaml")
        return replace(found, workload=replace(found.workload, k=k, levels=levels))

    return schema


def atlanta() -> Schema:
    """Without the area, which is the same for all."""
    found = Schema.from_yaml(SCHEMAS / "atlanta.yaml")
    assert found.group is not None
    own = {
        name: replace(one, derived=False)
        for name, one in found.group.attributes.items()
        if name != "PUMA"
    }
    return replace(found, group=replace(found.group, attributes=own))


def earlier_wave(data: Path) -> Tables:
    return read(data / "spain2005")


def later_wave(data: Path) -> Tables:
    return read(data / "spain2011")


PAIRS = {
    "spain, pairs": Pair(
        schema=spain(2, PLAIN), private=later_wave, priors={"the wave of 2005": earlier_wave}
    ),
    "spain, pairs and relations": Pair(
        schema=spain(2, RELATED), private=later_wave, priors={"the wave of 2005": earlier_wave}
    ),
    "spain, triples": Pair(
        schema=spain(3, PLAIN),
        private=later_wave,
        priors={"the wave of 2005": earlier_wave},
        epsilons=(0.25, 1.0),
    ),
    "atlanta 1101, triples": Pair(
        schema=atlanta,
        private=region(1101),
        priors={
            "1102": region(1102),
            "misleading: detroit": detroit,
            "misleading: small and unmarried": small_and_unmarried,
        },
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", default="", help="runs whose name has this word")
    parser.add_argument("--epsilons", type=float, nargs="+")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--intervals", action="store_true")
    parser.add_argument("-o", "--output", type=Path)
    told = parser.parse_args()
    name = "prior-intervals" if told.intervals else "prior"
    output = told.output or Path(f"docs/accuracy/{name}.csv")
    if not told.show:
        measure = _measure_intervals if told.intervals else _measure
        run_all(measure, told.data, output, told.only, told.epsilons, told.seeds)
    (show_intervals if told.intervals else show)(output)


Measure = Callable[[Path, Path, tuple[str, ...], Pair], None]
"""Makes a run, and a row for it."""


def run_all(
    measure: Measure,
    data: Path,
    output: Path,
    only: str,
    epsilons: list[float] | None,
    seeds: int,
) -> None:
    done = {_key(row) for row in read_rows(output)} if output.exists() else set()
    for seed in range(1, seeds + 1):
        for name, pair in PAIRS.items():
            for prior in (NONE, *pair.priors):
                for epsilon in epsilons or pair.epsilons:
                    run = name, prior, str(epsilon), str(seed)
                    if run not in done and only in " ".join(run):
                        measure(data, output, run, pair)


def _fitted(
    data: Path, run: tuple[str, ...], pair: Pair, replicates: int
) -> tuple[Synthesizer, Counter]:
    """A fit, and the truth."""
    _, prior, epsilon, seed = run
    schema, tables = pair.schema(), pair.private(data)
    public = None if prior == NONE else pair.priors[prior](data)
    maker = Synthesizer(
        schema,
        unit="household",
        neighbours="replace",
        epsilon=float(epsilon),
        delta=1 / len(tables["persons"]) ** 2,
        seed=int(seed),
        replicates=replicates,
    ).fit(tables, public=public)
    return maker, Counter.of(encode(schema, tables), Workload.of(schema))


def _measure_intervals(data: Path, output: Path, run: tuple[str, ...], pair: Pair) -> None:
    """How many true answers the intervals hold: of all, and of each level."""
    maker, exact = _fitted(data, run, pair, REPLICATES)
    low, high = answer(maker.release, exact.workload).interval(0.9)
    inside = (low <= exact.shares) & (exact.shares <= high)
    used = maker.certificate["release"].get("prior", {"use": NONE})
    own = levels(exact.workload).items()
    held = " ".join(f"{name}={inside[those].mean():.4g}" for name, those in own)
    if not output.exists():
        append_row(output, (*FIELDS[:5], "held", "label"))
    append_row(output, [*run, used["use"], held, LABEL])
    print(*run, used["use"], held, flush=True)


def _measure(data: Path, output: Path, run: tuple[str, ...], pair: Pair) -> None:
    """Errors of the model and of a sample."""
    start = time.process_time()
    maker, exact = _fitted(data, run, pair, 0)
    seconds = time.process_time() - start
    schema = exact.workload.schema
    drawn = maker.sample(exact.groups, frames="pyarrow")
    sampled = Counter.of(encode(schema, drawn), exact.workload).shares
    errors = [
        np.abs(shares - exact.shares)
        for shares in (np.asarray(maker.release.model.answer(exact.workload)), sampled)
    ]
    used = maker.certificate["release"].get("prior", {"use": NONE, "gain": 0.0})
    figures = [f"{of(wrong):.6g}" for wrong in errors for of in (np.max, np.mean)]
    row = [*run, used["use"], used["gain"], *figures, f"{seconds:.0f}", LABEL]
    if not output.exists():
        append_row(output, FIELDS)
    append_row(output, row)
    print(*row[:-1], flush=True)


def _key(row: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in ("pair", "prior", "epsilon", "seed"))


def show_intervals(output: Path) -> None:
    """As they are: one row for a run."""
    rows = [[row[name] for name in (*FIELDS[:5], "held")] for row in read_rows(output)]
    print(f"{LABEL}\n", *markdown_table([*FIELDS[:5], "held"], rows), sep="\n")


def show(output: Path) -> None:
    """Means over seeds: errors with and without each prior, and how many times smaller they are."""
    found: dict[tuple[str, str, float], list[Mapping[str, str]]] = defaultdict(list)
    for row in read_rows(output):
        found[row["pair"], row["prior"], float(row["epsilon"])].append(row)
    lines = []
    for (pair, prior, epsilon), rows in sorted(found.items()):
        cells = [f"{mean(float(row[name]) for row in rows):.4g}" for name in FIELDS[6:10]]
        seeds = {row["seed"] for row in rows}
        beside = [row for row in found.get((pair, NONE, epsilon), []) if row["seed"] in seeds]
        times = ""
        if prior != NONE and len(beside) == len(rows):
            times = " / ".join(
                f"{sum(float(r[n]) for r in beside) / sum(float(r[n]) for r in rows):.2f}"
                for n in ("sampled_max", "sampled_mean")
            )
        uses = ", ".join(sorted({row["use"] for row in rows}))
        lines.append([pair, prior, f"{epsilon:g}", *cells, times, uses, str(len(rows))])
    heads = ["pair", "prior", "eps", "max, model", "mean, model", "max, sampled", "mean, sampled"]
    heads += ["times smaller, sampled", "use", "seeds"]
    print(f"{LABEL}\n", *markdown_table(heads, lines), sep="\n")


if __name__ == "__main__":
    main()
