"""The page and the figures of `make accuracy`: NOT PRIVATE, true errors on public data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from kinfolk.chart import Panel, Point, Series, chart_svg
from kinfolk.experiments.figures import Estimate, markdown_table
from kinfolk.experiments.run_file import LABEL

if TYPE_CHECKING:
    from kinfolk.experiments.accuracy import AccuracyRun

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

All runs are from before the role became an attribute that is asked for (on Detroit that makes more
queries), before the default method bought numbers (3 to 10% of the budget where there are any),
before rules were declared for Detroit, and before what relatives have in common got more budget.
"""


Key = tuple[str, str, float]
"""A method, a unit and an epsilon."""
Found = dict["AccuracyRun", dict[str, float]]
"""What the runs on one dataset found, by the name of a measure."""
WHICH = ("max", "mean")


def write_accuracy_page(folder: Path, done: Mapping[AccuracyRun, dict[str, float]]) -> None:
    """A table and a figure of what there is."""
    lines = [INTRODUCTION]
    for data in dict.fromkeys(run.data for run in done):
        found = {run: values for run, values in done.items() if run.data == data}
        title, name = data.capitalize(), f"{data.replace(' ', '-')}.svg"
        picture = f"![Max and mean error against epsilon]({name})"
        lines += [f"## {title}", "", *_table(found), "", picture, ""]
        if compared := _ratios(found):
            lines += ["By how much the paper's error is larger, on sampled tables:", ""]
            lines += [*compared, ""]
        lines += ["By family of queries:", "", *_families(found), ""]
        panels = [
            Panel(title=f"{which} error", x_label="epsilon", series=_series(found, which))
            for which in WHICH
        ]
        notes = [LABEL, "on sampled tables; mean and standard error over seeds"]
        svg = chart_svg(f"{title}: error against epsilon", notes, panels)
        (folder / name).write_text(svg, encoding="utf-8")
    (folder / "index.md").write_text("\n".join(lines), encoding="utf-8")


def _cells(found: Found, measure: str) -> dict[Key, list[float]]:
    """A figure per seed; of the paper's, with the T that is best on the average.

    Which T is best is decided over the seeds that every T was run with.
    """
    seen: dict[Key, dict[int, dict[int, float]]] = {}
    for run, values in sorted(found.items(), key=lambda item: item[0].seed):
        if measure in values:
            key = (run.method, run.unit, run.epsilon)
            seen.setdefault(key, {}).setdefault(run.rounds, {})[run.seed] = values[measure]
    best: dict[Key, list[float]] = {}
    for key, by_rounds in seen.items():
        seeds = set.intersection(*(set(by_seed) for by_seed in by_rounds.values()))
        figures = [
            (mean(by_seed[one] for one in seeds or by_seed), list(by_seed.values()))
            for by_seed in by_rounds.values()
        ]
        best[key] = min(figures)[1]
    return best


def _table(found: Found) -> list[str]:
    columns = {
        (kind, which): _cells(found, f"{kind}_{which}_all")
        for kind in ("sampled", "model")
        for which in WHICH
    }
    covered, rows = _cells(found, "covered_all"), []
    for key, values in sorted(columns["sampled", "max"].items()):
        shown = [
            Estimate.of(several[key]).text(4 if which == "max" else 6)
            for (_, which), several in columns.items()
        ]
        cover = f"{mean(covered[key]):.1%}" if key in covered else ""
        rows.append([key[0], key[1], f"{key[2]:g}", *shown, cover, str(len(values))])
    heads = [f"{which}, {kind}" for kind, which in columns]
    return markdown_table(["method", "unit", "eps", *heads, "90% covers", "seeds"], rows)


def _ratios(found: Found) -> list[str]:
    """Error of the paper's method over that of the default, both on the average over seeds."""
    best = {which: _cells(found, f"sampled_{which}_all") for which in WHICH}
    rows = []
    for method, unit, epsilon in sorted(best["max"]):
        other = ("paper", "person", epsilon)
        if method == "marginals" and other in best["max"]:
            times = (mean(b[other]) / mean(b[method, unit, epsilon]) for b in best.values())
            rows.append([unit, f"{epsilon:g}", *(f"{one:.1f}" for one in times)])
    return markdown_table(["unit", "eps", *WHICH], rows) if rows else []


def _families(found: Found) -> list[str]:
    """The same errors, level by level and relation by relation."""
    every = dict.fromkeys(name for values in found.values() for name in values)
    names = [one.removeprefix("sampled_max_") for one in every if one.startswith("sampled_max_")]
    names.remove("all")
    rows: dict[Key, list[str]] = {}
    for name in names:
        middle = _cells(found, f"sampled_mean_{name}")
        covered = _cells(found, f"covered_{name}")
        for key, most in sorted(_cells(found, f"sampled_max_{name}").items()):
            cover = f" / {mean(covered[key]):.1%}" if key in covered else ""
            cell = f"{mean(most):.4f} / {mean(middle[key]):.6f}{cover}"
            rows.setdefault(key, [key[0], key[1], f"{key[2]:g}"]).append(cell)
    heads = [f"{name}: max / mean / covers" for name in names]
    return markdown_table(["method", "unit", "eps", *heads], rows.values())


def _series(found: Found, which: str) -> tuple[Series, ...]:
    lines: dict[str, list[Point]] = {}
    for (method, unit, epsilon), values in sorted(_cells(found, f"sampled_{which}_all").items()):
        if math.isfinite(epsilon):
            one = Estimate.of(values)
            point = Point(x=epsilon, y=one.mean, error=one.error)
            lines.setdefault(f"{method}, {unit}", []).append(point)
    return tuple(
        Series(label=label, style=style, points=tuple(points))
        for style, (label, points) in enumerate(lines.items())
    )
