"""What an experiment leaves beside its runs: tables and the paper's figures, each labelled.

Means and standard errors over the seeds, at every T and at the best. NOT PRIVATE.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from kinfolk._io import write_whole
from kinfolk.chart import Panel, Point, Series, chart_svg
from kinfolk.experiments.grid import LABEL, MEASURES, VARIANTS, Result, RunFile, experiment_named
from kinfolk.experiments.reproducing import SIMULATED

BEST = "best T, chosen with the true errors as the paper does; not private"
"""How the choice of T is labelled, everywhere."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """An average over seeds, with one standard error; of a single run that is not known.

    >>> print(Estimate.of([0.01, 0.02, 0.03]))
    0.0200 ± 0.0058
    """

    mean: float
    error: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Estimate:
        """From one value for each seed."""
        number = len(values)
        mean = math.fsum(values) / number
        if number == 1:
            return cls(mean=mean, error=math.nan)
        variance = math.fsum((value - mean) ** 2 for value in values) / (number - 1)
        return cls(mean=mean, error=math.sqrt(variance / number))

    def __str__(self) -> str:
        # Three digits of the mean, and at least four decimals.
        return self.text(max(4, 2 - math.floor(math.log10(self.mean))) if self.mean > 0 else 4)

    def text(self, decimals: int) -> str:
        """The mean and its standard error, both with so many decimals."""
        mean = f"{self.mean:.{decimals}f}"
        return mean if math.isnan(self.error) else f"{mean} ± {self.error:.{decimals}f}"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """All seeds of a method at one epsilon and one T."""

    queries: str
    method: str
    epsilon: float
    rounds: int
    seeds: int
    """How many runs there are."""
    errors: dict[str, Estimate]
    """By the name of the measure."""
    seconds: float
    """That a run took, on average."""
    best: bool
    """Whether no other T of the method, at this epsilon, has a smaller mean of the largest error.
    That is decided with the true errors."""


def summarise(results: Iterable[Result]) -> list[Cell]:
    """One cell for each set of queries, method, epsilon and T, in the order of the figures."""
    seeds: dict[tuple[str, str, float, int], list[Result]] = {}
    for result in results:
        run = result.run
        seeds.setdefault((run.queries, run.method, run.epsilon, run.rounds), []).append(result)
    errors = {
        key: {name: Estimate.of([one.errors[name] for one in several]) for name in MEASURES}
        for key, several in seeds.items()
    }
    least: dict[tuple[str, str, float], int] = {}
    for key in sorted(errors, key=lambda one: (errors[one]["max_error"].mean, one[-1])):
        least.setdefault(key[:3], key[-1])
    place = list(VARIANTS).index
    return [
        Cell(
            queries=key[0],
            method=key[1],
            epsilon=key[2],
            rounds=key[3],
            seeds=len(seeds[key]),
            errors=errors[key],
            seconds=math.fsum(one.seconds for one in seeds[key]) / len(seeds[key]),
            best=least[key[:3]] == key[-1],
        )
        for key in sorted(seeds, key=lambda one: (one[0], place(one[1]), *one[2:]))
    ]


def write_results(records: RunFile) -> list[Path]:
    """Write summary.csv, summary.md and the figures of everything that is in the records."""
    folder, cells = records.folder, summarise(records.results.values())
    if not cells:
        return []
    title, settings = records.settings["experiment"], records.settings
    notes = [data_line(settings), f"{LABEL}.", _method_line(cells, settings)]
    drawn = figures(cells, title=title, notes=notes)
    _write_csv(cells, folder / "summary.csv")
    texts = {"summary.md": _markdown(title, notes, cells, settings, list(drawn)), **drawn}
    for name, text in texts.items():
        # True errors on the data: nobody else's to read.
        write_whole(folder / name, text, mode=0o600)
    return [folder / name for name in ("summary.csv", *texts)]


def data_line(settings: dict[str, Any]) -> str:
    """What the data is; made-up data is never mistaken for the paper's.

    >>> known = {"experiment": "acs-red", "groups": 1000, "people": 2000}
    >>> data_line({"data": "simulated data", **known})
    'SIMULATED DATA in place of ACS (red.) NY-19: 1,000 groups with 2,000 people.'
    """
    size = f"{settings['groups']:,} groups with {settings['people']:,} people"
    if settings["data"] == SIMULATED:
        title = experiment_named(settings["experiment"]).title
        return f"SIMULATED DATA in place of {title}: {size}."
    return f"Data: {settings['data']}, {size}."


def _method_line(cells: Sequence[Cell], settings: dict[str, Any]) -> str:
    seeds = sorted({cell.seeds for cell in cells})
    number = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    return (
        f"Unit: one person; delta = {settings['delta']:.3g}; {settings['accounting']} accounting. "
        f"Means of {number} runs, with one standard error."
    )


def _write_csv(cells: Sequence[Cell], path: Path) -> None:
    """One line for each cell, with every measure's mean and standard error."""
    text = StringIO()
    rows = csv.writer(text, lineterminator="\n")
    measured = [f"{name}{suffix}" for name in MEASURES for suffix in ("", "_se")]
    head = ["queries", "method", "epsilon", "rounds", "seeds"]
    rows.writerow([*head, *measured, "seconds", "best_rounds_not_private", "label"])
    for cell in cells:
        values = [
            "" if math.isnan(value) else f"{value:.6g}"
            for name in MEASURES
            for value in (cell.errors[name].mean, cell.errors[name].error)
        ]
        names = [getattr(cell, name) for name in head]
        best = "yes" if cell.best else "no"
        rows.writerow([*names, *values, f"{cell.seconds:.2f}", best, LABEL])
    write_whole(path, text.getvalue(), mode=0o600)


def _markdown(
    title: str,
    notes: Sequence[str],
    cells: Sequence[Cell],
    settings: dict[str, Any],
    drawn: Sequence[str],
) -> str:
    lines = [f"# {title}", "", *(f"{note}  " for note in notes), ""]
    for queries in dict.fromkeys(cell.queries for cell in cells):
        own = [cell for cell in cells if cell.best and cell.queries == queries]
        for measure, name in MEASURES.items():
            lines += [f"## {name}, {queries} queries", "", *_table(own, measure), ""]
        lines += [f"In brackets, T: {BEST}. It is chosen by the max error of the model.", ""]
    lines += ["## Settings", ""]
    for name, told in settings["methods"].items():
        tried = sorted({cell.rounds for cell in cells if cell.method == name})
        words = ", ".join(f"{key} {value}" for key, value in told.items())
        rounds = ", ".join(map(str, tried)) or "none yet"
        lines.append(f"- {VARIANTS[name].label}: T = {rounds}; {words}")
    lines += ["", *(f"![{name.removesuffix('.svg')}]({name})" for name in drawn)]
    return "\n".join(lines) + "\n"


def _table(cells: Sequence[Cell], measure: str) -> list[str]:
    """Errors with their T; where seeds are missing, also how many there are."""
    epsilons = sorted({cell.epsilon for cell in cells})
    usual = max(cell.seeds for cell in cells)
    texts: dict[str, dict[float, str]] = {}
    for cell in cells:
        fewer = f"; runs: {cell.seeds}" if cell.seeds < usual else ""
        text = f"{cell.errors[measure]} ({cell.rounds}{fewer})"
        texts.setdefault(cell.method, {})[cell.epsilon] = text
    heads = ["method", *(f"eps = {epsilon:g}" for epsilon in epsilons)]
    return markdown_table(
        heads,
        [
            [VARIANTS[method].label, *(row.get(epsilon, "") for epsilon in epsilons)]
            for method, row in texts.items()
        ],
    )


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table.

    >>> markdown_table(["eps", "max"], [["1", "0.02"]])
    ['| eps | max |', '|---|---|', '| 1 | 0.02 |']
    """
    lines = [f"| {' | '.join(row)} |" for row in (heads, *rows)]
    return [lines[0], "|---" * len(heads) + "|", *lines[1:]]


def figures(cells: Sequence[Cell], *, title: str, notes: Sequence[str]) -> dict[str, str]:
    """SVGs by file name; only those that the runs have something for.

    `notes` stand under every title: what the data is, above all.
    """
    drawn: dict[str, str] = {}
    sets = list(dict.fromkeys(cell.queries for cell in cells))
    chosen = [*notes, f"T: {BEST}."]
    for queries in sets:
        own = [cell for cell in cells if cell.queries == queries]
        name, words = ("", "") if len(sets) == 1 else (f"-{queries}", f", {queries} queries")
        best = [cell for cell in own if cell.best]
        # Beside the others, only the better known of the two kinds of noise.
        kinds = [cell for cell in best if cell.method != "hpd-gen-resampled"] or best
        drawn[f"errors{name}.svg"] = chart_svg(
            f"{title}: error against epsilon{words}", chosen, _against_epsilon(kinds)
        )
        noises = [cell for cell in best if cell.method in ("hpd-gen", "hpd-gen-resampled")]
        if len({cell.method for cell in noises}) == 2:
            drawn[f"noise{name}.svg"] = chart_svg(
                f"{title}: fixed against resampled noise{words}", chosen, _against_epsilon(noises)
            )
        every = {(cell.method, cell.rounds) for cell in own}
        tried = [cell for cell in own if sum(cell.method == one for one, _ in every) > 1]
        if tried:
            drawn[f"rounds{name}.svg"] = chart_svg(
                f"{title}: max error against T{words}", notes, _against_rounds(tried)
            )
    return drawn


def _against_epsilon(cells: Sequence[Cell]) -> list[Panel]:
    return [
        Panel(
            title=MEASURES[measure],
            x_label="epsilon",
            series=_series(cells, measure, lambda cell: cell.epsilon),
        )
        for measure in ("max_error", "mean_error")
    ]


def _against_rounds(cells: Sequence[Cell]) -> list[Panel]:
    panels = []
    for epsilon in sorted({cell.epsilon for cell in cells}):
        own = [cell for cell in cells if cell.epsilon == epsilon]
        series = _series(own, "max_error", lambda cell: cell.rounds)
        panels.append(Panel(title=f"epsilon = {epsilon:g}", x_label="T", series=series))
    return panels


def _series(cells: Iterable[Cell], measure: str, x: Callable[[Cell], float]) -> tuple[Series, ...]:
    lines: dict[str, list[Point]] = {}
    for cell in sorted(cells, key=x):
        found = cell.errors[measure]
        point = Point(x=x(cell), y=found.mean, error=found.error)
        lines.setdefault(cell.method, []).append(point)
    return tuple(
        Series(label=variant.label, style=style, points=tuple(lines[name]))
        for style, (name, variant) in enumerate(VARIANTS.items())
        if name in lines
    )
