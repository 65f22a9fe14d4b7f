"""The data of an experiment, counted once. Holds true answers: NOT PRIVATE."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from kinfolk.data.encode import encode
from kinfolk.data.tables import TableLike
from kinfolk.experiments.simulate import simulate
from kinfolk.queries.counting import Counter
from kinfolk.queries.workload import Workload
from kinfolk.reproduce.experiments import Experiment
from kinfolk.schema import Schema

SIMULATED = "simulated data"
"""The source of data that is made up."""
SIMULATION_SEED = 1
"""Simulated data is always the same."""


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """The exact answers to each set of queries, and where they come from."""

    source: str
    """For the figures: what the data is."""
    counters: Mapping[str, Counter]
    """By the name of the set of queries."""

    @property
    def groups(self) -> int:
        """N_G."""
        return next(iter(self.counters.values())).groups

    @property
    def people(self) -> int:
        """N_I."""
        return next(iter(self.counters.values())).people

    @property
    def delta(self) -> float:
        """As in the paper: one over the square of the number of people."""
        return 1 / self.people**2

    @property
    def digest(self) -> str:
        """Tells this data from other data with the same name."""
        found = hashlib.sha256()
        for counter in self.counters.values():
            found.update(counter.counts.tobytes())
        return found.hexdigest()[:16]


def simulated_dataset(experiment: Experiment, schema: Schema, *, groups: int) -> Dataset:
    """Made-up groups, from public parameters.

    >>> from kinfolk.data.shipped import load_schema
    >>> from kinfolk.reproduce.experiments import experiment_named
    >>> data = simulated_dataset(experiment_named("acs-red"), load_schema("acs-red"), groups=100)
    >>> data.source, data.groups, data.people
    ('simulated data', 100, 171)
    """
    counters = _counters(experiment, schema)
    for chunk in simulate(experiment.name, groups=groups, seed=SIMULATION_SEED):
        data = encode(schema, chunk)
        for counter in counters.values():
            counter.add(data)
    return Dataset(source=SIMULATED, counters=counters)


def encoded_dataset(
    experiment: Experiment, schema: Schema, tables: Mapping[str, TableLike], *, source: str
) -> Dataset:
    """Tables that fit the experiment's schema."""
    counters, data = _counters(experiment, schema), encode(schema, tables)
    for counter in counters.values():
        counter.add(data)
    return Dataset(source=source, counters=counters)


def _counters(experiment: Experiment, schema: Schema) -> dict[str, Counter]:
    return {
        name: Counter(Workload.of(schema, levels=levels))
        for name, levels in experiment.queries.items()
    }
