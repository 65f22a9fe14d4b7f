"""All runs of an experiment, and what they have in common."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

from kinfolk.datasets import load_schema
from kinfolk.errors import KinfolkError
from kinfolk.methods.method import Method
from kinfolk.methods.registry import method_named
from kinfolk.models.universe import Universe
from kinfolk.privacy.accounting import Accounting
from kinfolk.reproduce.experiments import VARIANTS, Effort, Experiment
from kinfolk.schema import Schema


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
        told = {**variant.settings, "max_iterations": self.max_iterations}
        if variant.method == "hpd-fixed":
            told["components"] = effort.components
        elif variant.method == "hpd-gen":
            told["components"] = effort.gen_components
        return told


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

    >>> from kinfolk.reproduce.experiments import experiment_named
    >>> grid = grid_for(experiment_named("acs-red"), methods=["mwem"], rounds=[50], seeds=2)
    >>> len(list(grid.runs()))
    8
    """
    base = experiment.quick if quick else experiment.paper
    chosen = tuple(dict.fromkeys(methods)) or tuple(base.rounds)
    for name in chosen:
        if name not in VARIANTS:
            raise KinfolkError(f"no method is called {name!r}. There are: {', '.join(VARIANTS)}.")
    # A method that the experiment does not have, chosen all the same, runs as long as HPD-Fixed.
    table: Mapping[str, tuple[int, ...]] = {
        name: tuple(dict.fromkeys(rounds)) or base.rounds.get(name, base.rounds["hpd-fixed"])
        for name in chosen
    }
    told = replace(base, rounds=table, **effort)
    if told.seeds < 1 or not told.epsilons or min(told.epsilons) <= 0:
        raise KinfolkError(
            f"seeds is {told.seeds} and epsilon {', '.join(map(str, told.epsilons))}. "
            "Use at least one of each, and positive numbers."
        )
    grid = Grid(experiment=experiment, effort=told, accounting=Accounting.parse(accounting))
    if any(VARIANTS[name].method in ("mwem", "pep") for name in chosen):
        Universe.of(grid.schema)
    for run in grid.runs():
        grid.method(run)
    return grid
