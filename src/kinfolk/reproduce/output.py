"""What an experiment leaves beside its runs: tables and figures, each labelled. NOT PRIVATE."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kinfolk.reproduce.dataset import SIMULATED
from kinfolk.reproduce.experiments import VARIANTS, experiment_named
from kinfolk.reproduce.figures import NAMES, figures
from kinfolk.reproduce.records import LABEL, Records
from kinfolk.reproduce.summary import BEST, Cell, summarise, write_csv


def write_results(records: Records) -> list[Path]:
    """Write summary.csv, summary.md and the figures of everything that is in the records."""
    folder, cells = records.folder, summarise(records.results.values())
    if not cells:
        return []
    experiment = experiment_named(records.settings["experiment"])
    written = [folder / "summary.csv", folder / "summary.md"]
    write_csv(cells, written[0])
    notes = [data_line(records.settings), f"{LABEL}.", _method_line(cells, records.settings)]
    drawn = figures(cells, title=experiment.name, notes=notes)
    written[1].write_text(
        _markdown(experiment.name, notes, cells, records.settings, list(drawn)), encoding="utf-8"
    )
    for name, svg in drawn.items():
        (folder / name).write_text(svg, encoding="utf-8")
    return [*written, *(folder / name for name in drawn)]


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


def _markdown(
    title: str,
    notes: Sequence[str],
    cells: Sequence[Cell],
    settings: dict[str, Any],
    drawn: Sequence[str],
) -> str:
    lines = [f"# {title}", "", *(f"{note}  " for note in notes), ""]
    best = [cell for cell in cells if cell.best]
    for queries in dict.fromkeys(cell.queries for cell in cells):
        own = [cell for cell in best if cell.queries == queries]
        for measure, name in NAMES.items():
            lines += [f"## {name}, {queries} queries", "", *_table(own, measure), ""]
        lines += [f"In brackets, T: {BEST}. It is chosen by the max error of the model.", ""]
    lines += ["## Settings", "", *_settings(cells, settings), ""]
    lines += [f"![{name.removesuffix('.svg')}]({name})" for name in drawn]
    return "\n".join(lines) + "\n"


def _table(cells: Sequence[Cell], measure: str) -> list[str]:
    epsilons = sorted({cell.epsilon for cell in cells})
    found = {(cell.method, cell.epsilon): cell for cell in cells}
    usual = max(cell.seeds for cell in cells)
    lines = [
        "| method | " + " | ".join(f"eps = {epsilon:g}" for epsilon in epsilons) + " |",
        "|---" * (len(epsilons) + 1) + "|",
    ]
    for name, variant in VARIANTS.items():
        row = [found.get((name, epsilon)) for epsilon in epsilons]
        if any(row):
            texts = [_entry(one, measure, usual) if one else "" for one in row]
            lines.append(f"| {variant.label} | " + " | ".join(texts) + " |")
    return lines


def _entry(cell: Cell, measure: str, usual: int) -> str:
    """An error with its T; where seeds are missing, also how many there are."""
    fewer = f"; runs: {cell.seeds}" if cell.seeds < usual else ""
    return f"{cell.errors[measure]} ({cell.rounds}{fewer})"


def _settings(cells: Sequence[Cell], settings: dict[str, Any]) -> list[str]:
    lines = []
    for name, told in settings["methods"].items():
        tried = sorted({cell.rounds for cell in cells if cell.method == name})
        words = [f"{key} {value}" for key, value in told.items()]
        rounds = ", ".join(map(str, tried)) or "none yet"
        lines.append(f"- {VARIANTS[name].label}: T = {rounds}; {', '.join(words)}")
    return lines
