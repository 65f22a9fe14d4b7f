"""Finished runs on disk: one line each, added as soon as there is one."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from kinfolk._io import write_whole
from kinfolk.errors import KinfolkError
from kinfolk.experiments.grid import Run

RUNS, SETTINGS = "runs.csv", "settings.json"
LABEL = "NOT PRIVATE: true errors, from seeded noise"
"""Stands in every file."""


@dataclass(frozen=True, kw_only=True)
class Errors:
    """Absolute errors on shares, over all queries."""

    max_error: float
    mean_error: float
    sampled_max_error: float
    """Of a table drawn from the model, with as many groups as the data."""
    sampled_mean_error: float


@dataclass(frozen=True, kw_only=True)
class Result:
    """A run that is finished."""

    run: Run
    errors: Errors
    seconds: float


MEASURES = tuple(field.name for field in fields(Errors))
"""The kinds of error that a run leaves."""
HEADER = [*(field.name for field in fields(Run)), *MEASURES, "seconds", "label"]


class RunFile:
    """The file of finished runs, and the settings that all of them share."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self.folder, self.settings = folder, settings
        self.results: dict[Run, Result] = {}
        """What is finished, from earlier calls too."""

    @classmethod
    def open(cls, folder: Path, wanted: dict[str, Any]) -> RunFile:
        """Begin in a folder, or go on with what is there; runs of another kind are refused."""
        folder.mkdir(parents=True, exist_ok=True)
        runs, settings = folder / RUNS, folder / SETTINGS
        if runs.exists():
            if not settings.exists():
                raise KinfolkError(
                    f"{runs}: there is no {SETTINGS} beside it, so nobody knows what was run. "
                    "Choose another folder."
                )
            wanted = _merged(folder, _settings(settings), wanted)
        write_whole(settings, json.dumps(wanted, indent=2) + "\n", mode=0o600)
        records = cls(folder, wanted)
        if runs.exists():
            records._read(runs)
        else:
            append_row(runs, HEADER)
        return records

    def add(self, result: Result) -> None:
        """Keep a finished run: it is on disk when this returns."""
        row = [*asdict(result.run).values(), *asdict(result.errors).values()]
        append_row(self.folder / RUNS, [*row, round(result.seconds, 3), LABEL])
        self.results[result.run] = result

    def _read(self, path: Path) -> None:
        rows = read_rows(path)
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


def append_row(path: Path, row: Sequence[Any]) -> None:
    """Add a line to a CSV file, its owner's alone: it is on disk when this returns."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(row)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(handle, "a", encoding="utf-8") as file:
        file.write(line.getvalue())
        file.flush()
        os.fsync(file.fileno())


def read_rows(path: Path) -> csv.DictReader[str]:
    """The lines of such a file; one that was cut off is removed: its run was not finished."""
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        write_whole(path, whole, mode=0o600)
    return csv.DictReader(io.StringIO(whole))


def _result(row: dict[str, str]) -> Result:
    place = row["queries"], row["method"], float(row["epsilon"]), int(row["rounds"])
    return Result(
        run=Run(*place, int(row["seed"])),
        errors=Errors(**{name: float(row[name]) for name in MEASURES}),
        seconds=float(row["seconds"]),
    )


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
