"""What is run: the paper's four experiments, all runs of one of them, and finished runs on disk."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from kinfolk._io import write_whole
from kinfolk.datasets import load_schema
from kinfolk.errors import KinfolkError
from kinfolk.methods.method import Method
from kinfolk.methods.registry import method_named
from kinfolk.models.universe import Universe
from kinfolk.privacy.accounting import Accounting
from kinfolk.schema import Schema

EPSILONS = (0.125, 0.25, 0.5, 1.0)
"""The privacy budgets of all figures."""
SEEDS = 5
"""Runs that a point is the average of."""


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A method as it appears in tables and figures."""

    label: str
    method: str
    """What the registry calls it."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What makes it this variant of the method."""


VARIANTS: Mapping[str, Variant] = {
    "hpd-fixed": Variant(label="HPD-Fixed", method="hpd-fixed"),
    "mwem": Variant(label="MWEM", method="mwem"),
    "pep": Variant(label="PEP", method="pep"),
    "hpd-gen": Variant(label="HPD-Gen, fixed noise", method="hpd-gen", settings={"noise": "fixed"}),
    "hpd-gen-resampled": Variant(
        label="HPD-Gen, resampled noise", method="hpd-gen", settings={"noise": "resampled"}
    ),
    "mwem-last": Variant(label="MWEM, last round", method="mwem", settings={"iterate": "last"}),
}
"""Every line that a figure can have."""
PAPER = tuple(name for name in VARIANTS if name != "mwem-last")
"""Those that are run where nobody chooses."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much is run."""

    rounds: Mapping[str, tuple[int, ...]]
    """The numbers of rounds T that are tried, for each variant."""
    epsilons: tuple[float, ...] = EPSILONS
    seeds: int = SEEDS
    components: int = 1000
    """K of HPD-Fixed."""
    gen_components: int = 1000
    """K of HPD-Gen."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One of the paper's datasets with what was run on it.

    >>> experiment_named("acs-red").paper.rounds["mwem"]
    (100, 200, 300, 400, 500, 750, 1000)
    """

    name: str
    """Also the name of the schema, and of the simulator."""
    title: str
    """What the paper calls the data."""
    groups: int
    """How many groups are simulated where there is no data."""
    paper: Effort
    """As in the paper; PEP, which it names but does not run, has the rounds of the mixtures."""
    quick: Effort
    """About ten minutes on two cores."""
    queries: Mapping[str, tuple[str, ...] | None] = field(default_factory=lambda: {"all": None})
    """Sets of queries by name: the levels that are asked; None for all of the schema."""


def _quick(components: int, **rounds: tuple[int, ...]) -> Effort:
    """Two epsilons, two seeds and a small K."""
    return Effort(
        rounds={name.replace("_", "-"): several for name, several in rounds.items()},
        epsilons=(0.25, 1.0),
        seeds=2,
        components=components,
        gen_components=components,
    )


# Hundreds of thousands of queries are beyond the reach of MWEM and PEP.
_LARGE = Effort(
    rounds=dict.fromkeys(("hpd-fixed", "hpd-gen", "hpd-gen-resampled"), (100, 200, 300, 400, 500))
)
_EXPERIMENTS = (
    Experiment(
        name="acs-red",
        title="ACS (red.) NY-19",
        # The paper does not say. Of 87,453 simulated households, so many have up to 3 people.
        groups=71_443,
        paper=Effort(
            rounds={
                **dict.fromkeys(PAPER, (50, 75, 100, 125, 150, 200, 250)),
                "mwem": (100, 200, 300, 400, 500, 750, 1000),
            }
        ),
        quick=Effort(
            rounds={
                "hpd-fixed": (50, 100),
                "mwem": (200, 400),
                "pep": (50,),
                "hpd-gen": (75,),
                "hpd-gen-resampled": (75,),
            },
            epsilons=(0.125, 0.5, 1.0),
            seeds=3,
            gen_components=100,
        ),
    ),
    Experiment(
        name="acs",
        title="ACS NY-19",
        groups=87_453,
        paper=_LARGE,
        quick=_quick(100, hpd_fixed=(50, 100), hpd_gen=(50,), hpd_gen_resampled=(50,)),
    ),
    Experiment(
        name="acs-rel",
        title="ACS (rel.) NY-19",
        # Likewise: so many have a head and up to 4 children.
        groups=79_147,
        paper=_LARGE,
        quick=_quick(50, hpd_fixed=(25,), hpd_gen=(25,)),
        queries={"relation": ("relation",), "all": None},
    ),
    Experiment(
        name="afst",
        title="AFST",
        groups=20_448,
        paper=_LARGE,
        quick=_quick(100, hpd_fixed=(100, 200), hpd_gen=(100,), hpd_gen_resampled=(100,)),
    ),
)
EXPERIMENTS: Mapping[str, Experiment] = {one.name: one for one in _EXPERIMENTS}
"""The paper's four datasets."""


def experiment_named(name: str) -> Experiment:
    """The experiment of that name."""
    if name not in EXPERIMENTS:
        raise KinfolkError(
            f"no experiment is called {name!r}. There are: {', '.join(EXPERIMENTS)}."
        )
    return EXPERIMENTS[name]


@dataclass(frozen=True, order=True)
class Run:
    """What tells one run from another."""

    queries: str
    """The set of queries, by its name in the experiment."""
    method: str
    """The variant of a method."""
    epsilon: float
    rounds: int
    seed: int

    @property
    def randomness(self) -> int:
        """The seed of its noise, of its own: no two runs of an experiment share their luck.

        >>> Run("all", "mwem", 1.0, 100, 1).randomness == Run("all", "pep", 1.0, 100, 1).randomness
        False
        """
        digest = hashlib.sha256(repr(astuple(self)).encode()).digest()
        return int.from_bytes(digest[:7], "big")


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Methods by epsilon by T by seed, on each set of queries."""

    experiment: Experiment
    effort: Effort
    accounting: Accounting = Accounting.PAPER
    max_iterations: int = 100
    """Steps after a measurement, at most, of all methods."""

    @property
    def schema(self) -> Schema:
        """The schema of the experiment's data."""
        return load_schema(self.experiment.name)

    def runs(self) -> Iterator[Run]:
        """Every run; the first seed of all comes first, so that an early look shows all of it."""
        for seed in range(1, self.effort.seeds + 1):
            for queries in self.experiment.queries:
                for name, several in self.effort.rounds.items():
                    for rounds in several:
                        for epsilon in self.effort.epsilons:
                            yield Run(queries, name, float(epsilon), rounds, seed)

    def method(self, run: Run) -> Method:
        """The method of a run, with its settings."""
        return method_named(
            VARIANTS[run.method].method, rounds=run.rounds, **self.settings(run.method)
        )

    def settings(self, name: str) -> dict[str, Any]:
        """What a variant is told beside the number of rounds; all else has the paper's values."""
        variant, effort = VARIANTS[name], self.effort
        settings = {**variant.settings, "max_iterations": self.max_iterations}
        if variant.method == "hpd-fixed":
            settings["components"] = effort.components
        elif variant.method == "hpd-gen":
            settings["components"] = effort.gen_components
        return settings


def grid_for(
    experiment: Experiment,
    *,
    quick: bool = False,
    methods: Sequence[str] = (),
    rounds: Sequence[int] = (),
    accounting: str = "paper",
    **effort: Any,
) -> Grid:
    """The paper's runs, or a quick version of them; and whatever else is asked for.

    `methods` chooses some, `rounds` gives all of these other numbers of rounds, and `effort` may
    replace `epsilons`, `seeds`, `components` and `gen_components`. What cannot be run is refused
    here, before anything is counted.

    >>> grid = grid_for(experiment_named("acs-red"), methods=["mwem"], rounds=[50], seeds=2)
    >>> len(list(grid.runs()))
    8
    """
    base = experiment.quick if quick else experiment.paper
    chosen = tuple(dict.fromkeys(methods)) or tuple(base.rounds)
    for name in chosen:
        if name not in VARIANTS:
            raise KinfolkError(f"no method is called {name!r}. There are: {', '.join(VARIANTS)}.")
    # A variant that the experiment does not have, chosen all the same, runs as long as its method
    # does, or as HPD-Fixed.
    usual = {
        name: base.rounds.get(VARIANTS[name].method, base.rounds["hpd-fixed"]) for name in chosen
    }
    table: Mapping[str, tuple[int, ...]] = {
        name: tuple(dict.fromkeys(rounds)) or base.rounds.get(name, usual[name]) for name in chosen
    }
    settings = replace(base, rounds=table, **effort)
    if settings.seeds < 1 or not settings.epsilons or min(settings.epsilons) <= 0:
        raise KinfolkError(
            f"seeds is {settings.seeds} and epsilon {', '.join(map(str, settings.epsilons))}. "
            "Use at least one of each, and positive numbers."
        )
    grid = Grid(experiment=experiment, effort=settings, accounting=Accounting.parse(accounting))
    if any(VARIANTS[name].method in ("mwem", "pep") for name in chosen):
        Universe.of(grid.schema)
    for run in grid.runs():
        grid.method(run)
    return grid


RUNS, SETTINGS = "runs.csv", "settings.json"
LABEL = "NOT PRIVATE: true errors, from seeded noise"
"""Stands in every file."""


MEASURES = {
    "max_error": "Max error",
    "mean_error": "Mean error",
    "sampled_max_error": "Max error of a sampled table",
    "sampled_mean_error": "Mean error of a sampled table",
}
"""The kinds of error that a run leaves, and what people call them: absolute errors on shares, over
all queries; a sampled table has as many groups as the data."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """A run that is finished."""

    run: Run
    errors: Mapping[str, float]
    """By the name of the measure."""
    seconds: float


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
        row = [*asdict(result.run).values(), *(result.errors[name] for name in MEASURES)]
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
        errors={name: float(row[name]) for name in MEASURES},
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
