"""How accurate are the methods, on real households? NOT PRIVATE: compares with the true answers.

Methods x epsilon x seeds x units and neighbours; errors on the model and on tables drawn from it,
with as many groups as the data. One line of runs.csv is written after every run, and a run that is
there is not repeated. Seeds come one after the other, so that a bench that is stopped is balanced.

The methods are compared with HPD-Fixed for the person as the unit, at the best of some numbers of
rounds T (chosen with the true errors, as the paper does): under the tightest accounting that covers
it, as its authors' code has; measuring whole marginals, as their code does for other models; and
under the accounting of the paper's text. As in the paper, no group attribute is taken as derived.
All noise is seeded; the data is public.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kinfolk.data.encode import encode
from kinfolk.data.encoded import Encoded
from kinfolk.datasets import load_detroit, load_schema
from kinfolk.evaluate.metrics import shares
from kinfolk.experiments.accuracy_page import write_accuracy_page
from kinfolk.experiments.reproducing import fit_seeded, true_errors
from kinfolk.experiments.run_file import LABEL, append_row, read_rows
from kinfolk.experiments.simulate import simulate
from kinfolk.methods.marginals import Marginals
from kinfolk.methods.method import Method
from kinfolk.methods.mixture_fit import BATCHES, Measured, MixtureFit
from kinfolk.methods.paper import hpd_fixed
from kinfolk.methods.refits import REPLICATES
from kinfolk.models.base import Model
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.models.mixture.factors import Factors
from kinfolk.models.mixture.prepared import Prepared
from kinfolk.privacy.accounting import Accounting
from kinfolk.privacy.certificate import Certificate
from kinfolk.privacy.guarantee import Guarantee
from kinfolk.privacy.sensitivity import workload_weights
from kinfolk.privacy.unit import Neighbours
from kinfolk.queries.counting import Counter
from kinfolk.queries.workload import Workload
from kinfolk.release.answers import answer
from kinfolk.release.release import Release
from kinfolk.schema import Schema

EPSILONS = (0.125, 0.25, 0.5, 1.0)
UNITS = {
    "household, replace": Neighbours.REPLACE,
    "household, add-remove": Neighbours.ADD_REMOVE,
    "person": Neighbours.IN_PLACE,
}
ROUNDS = (100, 200, 300)
"""T of HPD-Fixed."""


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """A way to run HPD-Fixed."""

    accounting: Accounting = Accounting.ZCDP
    settings: Mapping[str, Any] = field(default_factory=dict)


BASELINES: Mapping[str, Baseline] = {
    "hpd-fixed": Baseline(),
    "hpd-fixed, whole marginals": Baseline(
        settings={"measure": "marginal", "repeats": False, "clip": True}
    ),
    "hpd-fixed, paper accounting": Baseline(accounting=Accounting.PAPER),
}
"""By the name that runs and tables have."""
WITH_INTERVALS = 1
"""For so many seeds the intervals are tried too. They take eight fits more, and change no model."""


@dataclass(frozen=True, kw_only=True)
class Data:
    """A dataset with the queries it is asked."""

    encoded: Encoded
    workload: Workload

    @classmethod
    def of(cls, schema: Schema, tables: Mapping[str, Any], **asked: Any) -> Data:
        """Tables that fit a schema; `asked` is for `Workload.of`."""
        return cls(
            encoded=encode(schema, tables, finely=True), workload=Workload.of(schema, **asked)
        )

    @property
    def delta(self) -> float:
        """As in the paper: one over the square of the number of people."""
        return 1 / self.encoded.people**2


@dataclass(frozen=True)
class AccuracyRun:
    """What tells one run from another; `rounds` and `components` are those of HPD-Fixed, else 0."""

    data: str
    method: str
    unit: str
    epsilon: float
    rounds: int
    components: int
    seed: int


def measure_accuracy(
    makers: Mapping[str, Callable[[], Data]],
    output: Path,
    *,
    seeds: int = 5,
    components: int = 1000,
    only: str = "",
) -> None:
    """Do all runs that are missing, on datasets by name, and write the page.

    `components` is K of HPD-Fixed; `only` chooses runs whose name has this word.
    """
    output.mkdir(parents=True, exist_ok=True)
    path = output / "runs.csv"
    done = dict(_read(path)) if path.exists() else {}
    sets: dict[str, Data] = {}
    for run in runs(list(makers), seeds, components):
        if run in done or only not in " ".join(map(str, vars(run).values())):
            continue
        if run.data not in sets:
            sets[run.data] = makers[run.data]()
        found = measure_run(run, sets[run.data])
        if not path.exists():
            append_row(path, [*vars(run), "found", "label"])
        packed = " ".join(f"{name}={value:.6g}" for name, value in found.items())
        append_row(path, [*vars(run).values(), packed, LABEL])
        done[run] = found
        figures = (f"{name} {value:.5g}" for name, value in found.items())
        print(*vars(run).values(), *figures, flush=True)
    write_accuracy_page(output, done)


def _read(path: Path) -> Iterator[tuple[AccuracyRun, dict[str, float]]]:
    for row in read_rows(path):
        place = row["data"], row["method"], row["unit"], float(row["epsilon"])
        pairs = (pair.split("=") for pair in row["found"].split())
        found = {name: float(value) for name, value in pairs}
        numbers = (int(row[name]) for name in ("rounds", "components", "seed"))
        yield AccuracyRun(*place, *numbers), found


def plain(schema: Schema) -> Schema:
    """The schema with no attribute taken as derived."""
    if schema.group is None:
        return schema
    own = {name: replace(one, derived=False) for name, one in schema.group.attributes.items()}
    return replace(schema, group=replace(schema.group, attributes=own))


def detroit() -> Data:
    """The bundled households, with sets of three attributes."""
    schema, tables = load_detroit()
    return Data.of(plain(schema), tables, k=3, levels=["group", "individual"])


def detroit_relations() -> Data:
    """The bundled households, with sets of two attributes, also of people and their relatives."""
    schema, tables = load_detroit()
    return Data.of(plain(schema), tables, k=2, levels=["group", "individual", "relation"])


def simulated() -> Data:
    """Made-up households."""
    tables = next(simulate("acs", groups=25_000, seed=1))
    return Data.of(plain(load_schema("acs")), tables)


def runs(names: list[str], seeds: int, components: int) -> Iterator[AccuracyRun]:
    """Every run on datasets of these names, with so many components of HPD-Fixed."""
    for seed in range(1, seeds + 1):
        for data in names:
            if data.endswith("derived"):
                # What it costs to declare a derived attribute: nothing, but for the unit person.
                yield from (
                    AccuracyRun(data, "marginals", "person", one, 0, 0, seed) for one in EPSILONS
                )
                continue
            yield AccuracyRun(data, "no noise", "none", math.inf, 0, 0, seed)
            for epsilon in reversed(EPSILONS):
                yield from (
                    AccuracyRun(data, "marginals", unit, epsilon, 0, 0, seed) for unit in UNITS
                )
                for name, rounds in itertools.product(BASELINES, ROUNDS):
                    yield AccuracyRun(data, name, "person", epsilon, rounds, components, seed)


def measure_run(run: AccuracyRun, data: Data) -> dict[str, float]:
    """Fit a model, and compare it and a sample with the truth."""
    start = time.perf_counter()
    exact = Counter(data.workload)
    exact.add(data.encoded)
    rng, replicates = np.random.default_rng([run.seed, 0]), None
    model: Model
    if run.method == "no noise":
        model = without_noise(data, exact, rng)
    else:
        model, replicates = _fitted(run, data, rng)
    found: dict[str, float] = {"seconds": time.perf_counter() - start}
    errors = true_errors(model, exact, rng)
    for name, level in levels(data.workload).items():
        for kind, wrong in errors.items():
            found[f"{kind}_max_{name}"] = float(wrong[level].max())
            found[f"{kind}_mean_{name}"] = float(wrong[level].mean())
    if replicates is not None:
        found |= coverage(model, replicates, exact)
    return found


def _fitted(run: AccuracyRun, data: Data, rng: np.random.Generator) -> tuple[Model, Any]:
    """The model of a run, and its replicates if it has some."""
    tried = run.seed <= WITH_INTERVALS and not run.data.endswith("derived")
    method: Method = Marginals() if tried else Marginals(replicates=0)
    accounting = method.accounting
    if run.method in BASELINES:
        baseline = BASELINES[run.method]
        method = hpd_fixed(rounds=run.rounds, components=run.components, **baseline.settings)
        accounting = baseline.accounting
    neighbours, asked = UNITS[run.unit], method.asks(data.workload)
    weights = workload_weights(asked, neighbours.unit) if method.size_weighted else None
    counter = Counter(asked, weights=weights)
    counter.add(data.encoded)
    guarantee = Guarantee.of(
        neighbours=neighbours, epsilon=run.epsilon, delta=data.delta, accounting=accounting
    )
    training = fit_seeded(method, counter, guarantee, seed=run.seed, rng=rng)
    return training.model(), training.extra().get(REPLICATES)


def without_noise(data: Data, exact: Counter, rng: np.random.Generator) -> HPD:
    """A diagnostic: what the model can hold, were there no noise at all."""
    layout = Layout.of(data.workload.schema)
    factors = Factors(layout)
    order = rng.permutation(len(data.workload.marginals))
    batches = []
    for first in range(BATCHES):
        own = sorted(order[first::BATCHES].tolist())
        part = Prepared.of(layout, data.workload, marginals=own, factors=factors)
        places = [slice(*data.workload.offsets[at : at + 2]) for at in own]
        rates = np.concatenate([exact.counts[place] for place in places]) / exact.groups
        batches.append(Measured(prepared=part, rates=rates, precision=np.full(part.size, 1e4)))
    fit = MixtureFit.random(layout, batches, components=1000, rng=rng)
    fit.run(60, rng=rng)
    return HPD(layout=layout, probabilities=fit.probabilities)


def levels(workload: Workload) -> dict[str, npt.NDArray[np.bool_]]:
    """All queries, and those of each level and relation."""
    names = [marginal.relation or marginal.level for marginal in workload.marginals]
    every = np.repeat(names, [marginal.cells for marginal in workload.marginals])
    return {"all": every != "", **{name: every == name for name in dict.fromkeys(names)}}


def coverage(model: Model, replicates: Any, exact: Counter) -> dict[str, float]:
    """How many true answers the intervals of 90% hold, at all levels."""
    release = Release(
        model=model, certificate=Certificate({}), groups=exact.groups, method="marginals",
        settings={}, extra={REPLICATES: replicates},
    )  # fmt: skip
    low, high = answer(release, exact.workload).interval(0.9)
    true = shares(exact)
    inside = (low <= true) & (true <= high)
    return {f"covered_{n}": float(inside[one].mean()) for n, one in levels(exact.workload).items()}
