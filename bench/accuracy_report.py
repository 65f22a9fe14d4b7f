"""The page and the figures of `bench.accuracy`: NOT PRIVATE, true errors on public data."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from kinfolk.reproduce.chart import Panel, Point, Series, chart_svg

if TYPE_CHECKING:
    from bench.accuracy import Run

LABEL = "NOT PRIVATE: true errors, from seeded noise"
INTRODUCTION = """# Accuracy

Written by `make accuracy`. NOT PRIVATE: true errors on public data, from seeded noise; means over
seeds, with standard errors where there are several. "Sampled" is a table drawn from the model, with
as many groups as the data; "model" is the model itself.

`paper` is HPD-Fixed as the paper runs it: the person as the unit, the paper's accounting, K = 500,
the best number of rounds T of those that were run (100, 200 and 300 in a full bench), chosen with
the true errors as the paper does, for max and mean apart, over the seeds that every T was run with.
runs.csv says which: to save time, T = 200 and 300 were run with fewer seeds on Detroit, where
T = 100 was best. `marginals` is the default method with its default settings. `no noise` fits the
true answers: what the model can hold. No group attribute is taken as derived. "90% covers" is how
many true answers the intervals of `kinfolk query` hold, tried with the first seed at most.

The household as the unit is tried with both kinds of neighbours. `replace` is what the paper is
compared with; `add-remove`, the default of the commands, is a weaker promise at the same epsilon,
with less noise (Atlanta, epsilon 0.125 and 1, three seeds: max error 1.3 times, mean error 1.2
times smaller). Where cleaning can drop households, as on Detroit, their number is bought under
`replace` too, for a hundredth of the budget; the runs on Detroit are from before that, when it was
published, and so have half a per cent less noise than today's.

"Atlanta derived" declares the number of workers as computed from the members. With the person as
the unit it is then protected as the whole household is; with the household nothing changes.

The default method's constants (step sizes, when to stop, how much noise is bearable) were chosen by
looking at true errors on Atlanta, some tens of variants, so its figures there are somewhat
flattered. One of them, when to stop, was also looked at on Detroit, with two seeds and two-way
marginals.
"""


def report(folder: Path, done: dict[Run, dict[str, float]]) -> None:
    """A table and a figure of what there is."""
    lines = [INTRODUCTION]
    for data in dict.fromkeys(run.data for run in done):
        picture = f"![Max and mean error against epsilon]({data.replace(' ', '-')}.svg)"
        lines += [f"## {data.capitalize()}", "", *table(data, done), "", picture, ""]
        if compared := ratios(data, done):
            lines += ["By how much the paper's error is larger, on sampled tables:", ""]
            lines += [*compared, ""]
        lines += ["By family of queries:", "", *families(data, done), ""]
        series = curves(data, done)
        panels = [
            Panel(title=f"{which} error", x_label="epsilon", series=series[which])
            for which in ("max", "mean")
        ]
        notes = [LABEL, "on sampled tables; mean and standard error over seeds"]
        name = data.replace(" ", "-")
        svg = chart_svg(f"{data.capitalize()}: error against epsilon", notes, panels)
        (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
    (folder / "index.md").write_text("\n".join(lines), encoding="utf-8")


def cells(data: str, done: dict[Run, dict[str, float]], measure: str) -> dict[Any, list[float]]:
    """By method, unit and epsilon: a figure per seed; of the paper's, the best T on the average.

    Which T is best is decided over the seeds that every T was run with.
    """
    found: dict[Any, dict[int, dict[int, float]]] = {}
    for run, values in sorted(done.items(), key=lambda item: item[0].seed):
        if run.data == data and measure in values:
            key = (run.method, run.unit, run.epsilon)
            found.setdefault(key, {}).setdefault(run.rounds, {})[run.seed] = values[measure]
    best: dict[Any, list[float]] = {}
    for key, by_rounds in found.items():
        seeds = set.intersection(*(set(by_seed) for by_seed in by_rounds.values()))
        figures = [
            (mean(by_seed[one] for one in seeds or by_seed), list(by_seed.values()))
            for by_seed in by_rounds.values()
        ]
        best[key] = min(figures)[1]
    return best


def table(data: str, done: dict[Run, dict[str, float]]) -> list[str]:
    shown = {m: cells(data, done, f"sampled_{m}_all") for m in ("max", "mean")}
    on_model = {m: cells(data, done, f"model_{m}_all") for m in ("max", "mean")}
    covered = cells(data, done, "covered_all")
    rows = [
        "| method | unit | eps | max, sampled | mean, sampled | max, model | mean, model "
        "| 90% covers | seeds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for key in sorted(shown["max"], key=lambda key: (key[0], key[1], key[2])):
        method, unit, epsilon = key
        cover = f"{mean(covered[key]):.1%}" if key in covered else ""
        rows.append(
            f"| {method} | {unit} | {epsilon:g} | {spread(shown['max'][key], 4)} | "
            f"{spread(shown['mean'][key], 6)} | {spread(on_model['max'][key], 4)} | "
            f"{spread(on_model['mean'][key], 6)} | {cover} | {len(shown['max'][key])} |"
        )
    return rows


def ratios(data: str, done: dict[Run, dict[str, float]]) -> list[str]:
    """Error of the paper's method over that of the default, both on the average over seeds."""
    best = {m: cells(data, done, f"sampled_{m}_all") for m in ("max", "mean")}
    rows = []
    for method, unit, epsilon in sorted(best["max"]):
        other = ("paper", "person", epsilon)
        if method == "marginals" and other in best["max"]:
            found = [mean(b[other]) / mean(b[method, unit, epsilon]) for b in best.values()]
            rows.append(f"| {unit} | {epsilon:g} | {found[0]:.1f} | {found[1]:.1f} |")
    return ["| unit | eps | max | mean |", "|---|---|---|---|", *rows] if rows else []


def families(data: str, done: dict[Run, dict[str, float]]) -> list[str]:
    """The same errors, level by level and relation by relation."""
    names = dict.fromkeys(
        name.removeprefix("sampled_max_")
        for run, found in done.items()
        for name in found
        if run.data == data and name.startswith("sampled_max_") and name != "sampled_max_all"
    )
    heads = " | ".join(f"{name}: max / mean / covers" for name in names)
    rows = [f"| method | unit | eps | {heads} |", "|---|---|---|" + "---|" * len(names)]
    parts = ("sampled_max", "sampled_mean", "covered")
    shown = {(part, name): cells(data, done, f"{part}_{name}") for part in parts for name in names}
    for key in sorted(next(iter(shown.values()))):
        row = [f"| {key[0]} | {key[1]} | {key[2]:g} "]
        for name in names:
            most, middle = (mean(shown[part, name][key]) for part in parts[:2])
            covered = shown["covered", name].get(key)
            row.append(
                f"| {most:.4f} / {middle:.6f}" + (f" / {mean(covered):.1%} " if covered else " ")
            )
        rows.append("".join(row) + "|")
    return rows


def spread(values: list[float], digits: int) -> str:
    """A mean with its standard error."""
    if len(values) < 2:
        return f"{values[0]:.{digits}f}"
    return f"{mean(values):.{digits}f} ± {stdev(values) / math.sqrt(len(values)):.{digits}f}"


def curves(data: str, done: dict[Run, dict[str, float]]) -> dict[str, tuple[Series, ...]]:
    found: dict[str, tuple[Series, ...]] = {}
    for which in ("max", "mean"):
        best = cells(data, done, f"sampled_{which}_all")
        lines: dict[str, list[Point]] = {}
        for (method, unit, epsilon), values in sorted(best.items()):
            if math.isfinite(epsilon):
                error = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
                point = Point(x=epsilon, y=mean(values), error=error)
                lines.setdefault(f"{method}, {unit}", []).append(point)
        found[which] = tuple(
            Series(label=label, style=style, points=tuple(points))
            for style, (label, points) in enumerate(lines.items())
        )
    return found
