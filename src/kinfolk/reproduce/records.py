"""Finished runs on disk: one line each, added as soon as there is one."""

from __future__ import annotations

import csv
import io
import json
import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from kinfolk.errors import KinfolkError
from kinfolk.reproduce.dataset import Dataset
from kinfolk.reproduce.grid import Grid, Run
from kinfolk.reproduce.work import Errors, Result

RUNS, SETTINGS = "runs.csv", "settings.json"
LABEL = "NOT PRIVATE: true errors, from seeded noise"
"""Stands in every file."""
HEADER = [
    *(field.name for field in fields(Run)),
    *(field.name for field in fields(Errors)),
    "seconds",
    "label",
]


class Records:
    """The file of finished runs, and the settings that all of them share."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self.folder, self.settings = folder, settings
        self.results: dict[Run, Result] = {}
        """What is finished, from earlier calls too."""

    @classmethod
    def open(cls, folder: Path, grid: Grid, dataset: Dataset) -> Records:
        """Begin in a folder, or go on with what is there; runs of another kind are refused."""
        folder.mkdir(parents=True, exist_ok=True)
        wanted = settings_of(grid, dataset)
        runs, settings = folder / RUNS, folder / SETTINGS
        if runs.exists():
            if not settings.exists():
                raise KinfolkError(
                    f"{runs}: there is no {SETTINGS} beside it, so nobody knows what was run. "
                    "Choose another folder."
                )
            wanted = _merged(folder, _settings(settings), wanted)
        settings.write_text(json.dumps(wanted, indent=2) + "\n", encoding="utf-8")
        records = cls(folder, wanted)
        if runs.exists():
            records._read(runs)
        else:
            _append(runs, HEADER)
        return records

    def add(self, result: Result) -> None:
        """Keep a finished run: it is on disk when this returns."""
        row = [*asdict(result.run).values(), *asdict(result.errors).values()]
        _append(self.folder / RUNS, [*row, round(result.seconds, 3), LABEL])
        self.results[result.run] = result

    def _read(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            # A line that was cut off is of a run that was not finished.
            path.write_text(whole, encoding="utf-8")
        rows = csv.DictReader(io.StringIO(whole))
        if rows.fieldnames != HEADER:
            raise KinfolkError(f"{path}: is not a file of runs. Choose another folder.")
        for row in rows:
            try:
                result = _result(row)
            except (TypeError, ValueError):
                raise KinfolkError(
                    f"{path}: line {rows.line_num} is not a run. Remove it, and it is run again."
                ) from None
            self.results[result.run] = result


def settings_of(grid: Grid, dataset: Dataset) -> dict[str, Any]:
    """What all runs of a file must have in common; of the methods, those that were run."""
    return {
        "label": LABEL,
        "experiment": grid.experiment.name,
        "data": dataset.source,
        "groups": dataset.groups,
        "people": dataset.people,
        "answers": dataset.digest,
        "delta": dataset.delta,
        "accounting": grid.accounting.value,
        "methods": {name: grid.settings(name) for name in grid.effort.rounds},
    }


def _settings(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise KinfolkError(f"{path}: holds no settings of runs. Choose another folder.")
    return found


def _merged(folder: Path, found: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """The settings of the file and of this call together, where they do not contradict."""
    before, now = _flat(found), _flat(wanted)
    for name, value in now.items():
        # Another method may be added, with settings of its own.
        new = name.startswith("methods.") and name.split(".")[1] not in found.get("methods", {})
        if not new and before.get(name) != value:
            raise KinfolkError(
                f"{folder}: holds runs with {name} = {before.get(name)!r}, not {value!r}. "
                "Repeat those settings to go on, or choose another folder."
            )
    return {**wanted, "methods": {**found.get("methods", {}), **wanted["methods"]}}


def _flat(settings: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        inner = _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else None
        flat |= {f"{prefix}{name}": value} if inner is None else inner
    return flat


def _append(path: Path, row: list[Any]) -> None:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(row)
    with path.open("a", encoding="utf-8") as file:
        file.write(line.getvalue())
        file.flush()
        os.fsync(file.fileno())


def _result(row: dict[str, str]) -> Result:
    return Result(
        run=Run(
            row["queries"],
            row["method"],
            float(row["epsilon"]),
            int(row["rounds"]),
            int(row["seed"]),
        ),
        errors=Errors(**{field.name: float(row[field.name]) for field in fields(Errors)}),
        seconds=float(row["seconds"]),
    )
