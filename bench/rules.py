"""Do rules always hold, and what do they do to errors? NOT PRIVATE: compares with the truth.

    python -m bench.rules DATA hold [--components 250]
    python -m bench.rules DATA errors [--only WORD] [--seeds 3] [-o docs/accuracy/rules.csv]

DATA has the folders atlanta and spain2011 with households.csv and persons.csv; Detroit is bundled.
`hold` counts households that break a rule in what is written: as many as the data has, ten times as
many, and some that meet a condition, for three epsilons. Households are looked at by pandas, and by
rules that are written once more here, not by kinfolk. `errors` are those of all queries with and
without rules, in tables as they are drawn; runs that are in the output are not repeated.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean

import numpy as np
import pandas as pd
from bench.prior import KEY, SCHEMAS, Tables, part, read

from kinfolk import Schema, Synthesizer, Workload, load_detroit
from kinfolk.data.encode import encode
from kinfolk.experiments.grid import LABEL, append_row, read_rows
from kinfolk.experiments.results import markdown_table
from kinfolk.queries.counting import Counter

FIELDS = ("data", "rules", "epsilon", "seed", "max", "mean", "seconds", "label")
ATLANTA_RULES = (
    # Work is asked about from 16 on, service from 17, school and education from 3.
    "agep < 16 and esr != -9",
    "agep >= 16 and esr = -9",
    "agep < 16 and wkw != -9",
    "agep < 17 and mil != -9",
    "agep >= 17 and mil = -9",
    "agep < 3 and schg != -9",
    "agep < 3 and schl != -9",
    "agep >= 3 and schl = -9",
    # Hours are those of weeks that were worked, an occupation is that of people at work.
    "wkw = -9 and wkhp != -9",
    "wkw != -9 and wkhp = -9",
    "pecasOcc != 0 and esr not in (1, 2, 4)",
    "esr in (1, 2, 4) and pecasOcc = 0",
    # 4 and 6 are people who live alone.
    "COUNT = 1 and hht not in (4, 6)",
    "COUNT > 1 and hht in (4, 6)",
)


@dataclass(frozen=True, kw_only=True)
class Survey:
    """Real tables, their schema with rules, and the same rules in the words of pandas."""

    tables: Callable[[Path], tuple[Schema, Tables]]
    where: str
    broken: Callable[[Tables], pd.Series]
    """(households,) which of them break a rule."""


def spain(data: Path) -> tuple[Schema, Tables]:
    return Schema.from_yaml(SCHEMAS / "spain.yaml"), read(data / "spain2011")


def atlanta(data: Path) -> tuple[Schema, Tables]:
    schema = Schema.from_yaml(SCHEMAS / "atlanta.yaml")
    return replace(pairs(schema), never=ATLANTA_RULES), read(data / "atlanta")


def detroit(_: Path) -> tuple[Schema, Tables]:
    schema, tables = load_detroit(frames="pandas")
    return pairs(schema), tables


def pairs(schema: Schema) -> Schema:
    return replace(schema, workload=replace(schema.workload, k=2))


def broken_in_spain(tables: Tables) -> pd.Series:
    people, homes = tables["persons"], tables["households"].set_index(KEY)
    minor = people["age"] < 16
    asked = ["marital", "birth_country", "education", "activity", "health", "hours"]
    amounts = ["wage", "self_income", "pension"]
    wrong = minor & people[asked + amounts].notna().any(axis=1)
    wrong |= ~minor & people[amounts].isna().any(axis=1)
    wrong |= people["hours"].notna() & ~people["activity"].isin(["employee", "self-employed"])
    wrong |= people["relate"].isin(["head", "spouse"]) & minor
    head = people[people["relate"] == "head"].set_index(KEY)["age"]
    older = people["age"] - people[KEY].map(head)
    wrong |= (people["relate"] == "child") & (older > -12)
    wrong |= (people["relate"] == "parent") & (older < 12)
    found = wrong.groupby(people[KEY]).any() | minor.groupby(people[KEY]).all()
    alone = people.groupby(KEY).size() == 1
    kind = homes["hh_type"]
    return found | (~alone & kind.isin(range(1, 7))) | (alone & kind.isin(range(7, 15)))


def broken_in_atlanta(tables: Tables) -> pd.Series:
    people, homes = tables["persons"], tables["households"].set_index(KEY)
    age = people["agep"]
    blank = {name: people[name] == -9 for name in ("esr", "wkw", "wkhp", "mil", "schg", "schl")}
    wrong = (blank["esr"] != (age < 16)) | ((age < 16) & ~blank["wkw"])
    wrong |= (blank["mil"] != (age < 17)) | ((age < 3) & ~blank["schg"])
    wrong |= (blank["schl"] != (age < 3)) | (blank["wkw"] != blank["wkhp"])
    wrong |= (people["pecasOcc"] != 0) != people["esr"].isin([1, 2, 4])
    alone = people.groupby(KEY).size() == 1
    return wrong.groupby(people[KEY]).any() | (alone != homes["hht"].isin([4, 6]))


def broken_in_detroit(tables: Tables) -> pd.Series:
    people, homes = tables["persons"], tables["households"].set_index(KEY)
    age, grade = people["age"], people["schg"]
    blank = {name: people[name] == -9 for name in ("esr", "mil", "wkhp", "wkw", "schg")}
    wrong = (blank["esr"] != (age < 16)) | (blank["mil"] != (age < 17))
    wrong |= (age < 16) & (~blank["wkhp"] | (people["industry"] > 0))
    wrong |= (blank["wkhp"] != blank["wkw"]) | ((age < 3) & ~blank["schg"])
    wrong |= ((age < 10) & grade.isin([10, 11, 12])) | ((age < 14) & grade.isin([13, 14]))
    wrong |= ((age < 15) & grade.isin([15, 16])) | ((age >= 21) & grade.between(1, 12))
    head, spouse = people["relate"] == 0, people["relate"] == 1
    first = people[head].set_index(KEY)
    wrong |= (head | spouse) & (age < 15)
    wrong |= people["relate"].isin([2, 3, 4]) & (age > people[KEY].map(first["age"]) - 12)
    found = wrong.groupby(people[KEY]).any()
    kind, alone = homes["hht"], people.groupby(KEY).size() == 1
    found |= (alone != kind.isin([4, 6])) | ((kind == 1) != spouse.groupby(people[KEY]).any())
    return (
        found
        | (kind.isin([2, 4, 5]) & (first["sex"] == 2))
        | (kind.isin([3, 6, 7]) & (first["sex"] == 1))
    )


SURVEYS = {
    "spain": Survey(tables=spain, where="region = ES53", broken=broken_in_spain),
    "atlanta": Survey(tables=atlanta, where="veh = 0", broken=broken_in_atlanta),
    "detroit": Survey(tables=detroit, where="cars = 0", broken=broken_in_detroit),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("what", choices=["hold", "errors"])
    parser.add_argument("--only", default="", help="runs whose name has this word")
    parser.add_argument("--components", type=int, default=250)
    parser.add_argument("--epsilons", type=float, nargs="+")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--show", action="store_true", help="of errors, only what is there")
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/accuracy/rules.csv"))
    told = parser.parse_args()
    if told.what == "hold":
        hold(told.data, told.only, told.epsilons or [0.1, 1.0, 10.0], told.components)
        return
    if not told.show:
        errors(told)
    show(told.output)


def fitted(
    schema: Schema, tables: Tables, epsilon: float, seed: int, components: int
) -> Synthesizer:
    delta = 1 / len(tables["persons"]) ** 2
    return Synthesizer(
        schema,
        unit="household",
        epsilon=epsilon,
        delta=delta,
        seed=seed,
        replicates=0,
        components=components,
    ).fit(tables)


def hold(data: Path, only: str, epsilons: list[float], components: int) -> None:
    """How many written households break a rule, as kinfolk and as pandas see it."""
    print(LABEL, flush=True)
    for name, survey in SURVEYS.items():
        if only not in name:
            continue
        schema, tables = survey.tables(data)
        checked = replace(schema, on_violation="error")
        number = len(tables["households"])
        for epsilon in epsilons:
            maker = fitted(schema, tables, epsilon, 1, components)
            for groups, where in ((number, None), (10 * number, None), (2_000, survey.where)):
                with tempfile.TemporaryDirectory() as folder:
                    maker.release.write(folder, groups=groups, where=where, seed=1)
                    drawn = read(Path(folder))
                    # Raises an error where a written value breaks a rule.
                    kept = encode(checked, drawn).groups
                wrong = int(survey.broken(drawn).sum())
                condition = f" where {where}" if where else ""
                found = f"{kept} of {len(drawn['households'])} kept by kinfolk, {wrong} broken"
                print(f"{name}, epsilon {epsilon:g}{condition}: {found}", flush=True)


def errors(told: argparse.Namespace) -> None:
    """Of all queries, with and without rules."""
    output = told.output
    done = {_key(row) for row in read_rows(output)} if output.exists() else set()
    for seed in range(1, told.seeds + 1):
        for name in ("spain", "atlanta"):
            for rules in ("with", "without"):
                for epsilon in told.epsilons or [0.125, 1.0]:
                    run = name, rules, str(epsilon), str(seed)
                    if run not in done and told.only in " ".join(run):
                        _measure(told.data, output, run)


def _measure(data: Path, output: Path, run: tuple[str, ...]) -> None:
    name, rules, epsilon, seed = run
    schema, tables = SURVEYS[name].tables(data)
    # The truth is that of households that break no rule, with or without them.
    exact = Counter.of(encode(schema, tables), Workload.of(schema))
    start = time.process_time()
    if rules == "without":
        kept = _kept(SURVEYS[name], tables)
        maker = fitted(replace(schema, never=()), kept, float(epsilon), int(seed), 1000)
    else:
        maker = fitted(schema, tables, float(epsilon), int(seed), 1000)
    seconds = time.process_time() - start
    drawn = maker.sample(exact.groups, frames="pyarrow")
    lax = replace(schema, never=())
    off = np.abs(Counter.of(encode(lax, drawn), Workload.of(lax)).shares - exact.shares)
    row = [*run, f"{off.max():.6g}", f"{off.mean():.6g}", f"{seconds:.0f}", LABEL]
    if not output.exists():
        append_row(output, FIELDS)
    append_row(output, row)
    print(*row[:-1], flush=True)


def _kept(survey: Survey, tables: Tables) -> Tables:
    """Only households that break no rule, so that both runs learn from the same."""
    wrong = survey.broken(tables)
    return part(tables, tables["households"][KEY].isin(wrong.index[~wrong]))


def _key(row: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in ("data", "rules", "epsilon", "seed"))


def show(output: Path) -> None:
    """Means over seeds."""
    found: dict[tuple[str, float, str], list[Mapping[str, str]]] = defaultdict(list)
    for row in read_rows(output):
        found[row["data"], float(row["epsilon"]), row["rules"]].append(row)
    lines = [
        [
            *map(str, key),
            *(f"{mean(float(row[name]) for row in rows):.4g}" for name in ("max", "mean")),
            str(len(rows)),
        ]
        for key, rows in sorted(found.items())
    ]
    heads = ["data", "epsilon", "rules", "max error", "mean error", "seeds"]
    print(f"{LABEL}\n", *markdown_table(heads, lines), sep="\n")


if __name__ == "__main__":
    main()
