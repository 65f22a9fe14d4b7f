"""How accurate are the methods, on real households? NOT PRIVATE: compares with the true answers.

    python -m bench.accuracy [--atlanta FOLDER] [--seeds 5] [--only WORD] [-o docs/accuracy]

Methods x epsilon x seeds x units and neighbours; errors on the model and on tables drawn from it,
with as many groups as the data. One line of runs.csv is written after every run, and a run that is
there is not repeated. Seeds come one after the other, so that a bench that is stopped is balanced.

"paper" is HPD-Fixed as the paper runs it: the person as the unit, the paper's accounting, the best
of three numbers of rounds T (chosen with the true errors, as the paper does). As in the paper, no
group attribute is taken as derived. All noise is seeded; the data is public.
"""

from __future__ import annotations

import argparse
import csv
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from bench.accuracy_report import LABEL, report

from kinfolk.data.encode import encode
from kinfolk.data.encoded import Encoded
from kinfolk.datasets import load_detroit, load_schema
from kinfolk.evaluate.metrics import shares
from kinfolk.experiments.simulate import simulate
from kinfolk.methods.marginals import REPLICATES, Marginals
from kinfolk.methods.method import Method
from kinfolk.methods.paper import hpd_fixed
from kinfolk.models.hpd import HPD
from kinfolk.privacy.accounting import Accounting
from kinfolk.privacy.curator import Curator
from kinfolk.privacy.guarantee import Guarantee
from kinfolk.privacy.sensitivity import workload_weights
from kinfolk.privacy.unit import Neighbours
from kinfolk.queries.counting import Counter
from kinfolk.queries.workload import Workload
from kinfolk.sampling import sample
from kinfolk.schema import Schema

EPSILONS = (0.125, 0.25, 0.5, 1.0)
UNITS = {
    "household, replace": Neighbours.REPLACE,
    "household, add-remove": Neighbours.ADD_REMOVE,
    "person": Neighbours.IN_PLACE,
}
ROUNDS = (100, 200, 300)
WITH_INTERVALS = 1
"""For so many seeds the intervals are tried too. They take eight fits more, and change no model."""
BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data" / "atlanta"


@dataclass(frozen=True, kw_only=True)
class Data:
    """A dataset with the queries it is asked."""

    encoded: Encoded
    workload: Workload

    @property
    def delta(self) -> float:
        return 1 / self.encoded.people**2


@dataclass(frozen=True)
class Run:
    data: str
    method: str
    unit: str
    epsilon: float
    rounds: int
    seed: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--atlanta", type=Path, default=BESIDE, help="households.csv, persons.csv")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--components", type=int, default=500, help="K of the paper's method")
    parser.add_argument("--only", default="", help="runs whose name has this word")
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/accuracy"))
    told = parser.parse_args()
    told.output.mkdir(parents=True, exist_ok=True)
    path = told.output / "runs.csv"
    done = dict(read(path))
    sets: dict[str, Data] = {}
    makers = datasets(told.atlanta)
    for run in runs(list(makers), told.seeds):
        if run in done or told.only not in " ".join(map(str, vars(run).values())):
            continue
        if run.data not in sets:
            sets[run.data] = makers[run.data]()
        found = perform(run, sets[run.data], told.components)
        write(path, run, found)
        done[run] = found
        figures = (f"{name} {value:.5g}" for name, value in found.items())
        print(*vars(run).values(), *figures, flush=True)
    report(told.output, done)


def datasets(atlanta: Path) -> dict[str, Callable[[], Data]]:
    makers = {"detroit": detroit, "detroit relations": detroit_relations}
    if (atlanta / "households.csv").exists():
        return {
            "atlanta": lambda: atlanta_data(atlanta),
            "atlanta derived": lambda: atlanta_data(atlanta, derived=True),
            **makers,
        }
    print(f"{atlanta}: no such data; simulated households instead")
    return {"simulated": simulated, **makers}


def plain(schema: Schema) -> Schema:
    """The schema with no attribute taken as derived."""
    assert schema.group is not None
    own = {name: replace(one, derived=False) for name, one in schema.group.attributes.items()}
    return replace(schema, group=replace(schema.group, attributes=own))


def atlanta_data(folder: Path, *, derived: bool = False) -> Data:
    text = (Path(__file__).parent / "schemas" / "atlanta.yaml").read_text(encoding="utf-8")
    schema = Schema.from_text(text) if derived else plain(Schema.from_text(text))
    tables = {name: folder / f"{name}.csv" for name in schema.table_names}
    return Data(encoded=encode(schema, tables), workload=Workload.of(schema))


def detroit() -> Data:
    schema, tables = load_detroit()
    bare = plain(schema)
    workload = Workload.of(bare, k=3, levels=["group", "individual"])
    return Data(encoded=encode(bare, tables), workload=workload)


def detroit_relations() -> Data:
    schema, tables = load_detroit()
    bare = plain(schema)
    workload = Workload.of(bare, k=2, levels=["group", "individual", "relation"])
    return Data(encoded=encode(bare, tables), workload=workload)


def simulated() -> Data:
    schema = plain(load_schema("acs"))
    tables = next(simulate("acs", groups=25_000, seed=1))
    return Data(encoded=encode(schema, tables), workload=Workload.of(schema))


def runs(names: list[str], seeds: int) -> Iterator[Run]:
    for seed in range(1, seeds + 1):
        for data in names:
            if data.endswith("derived"):
                # What it costs to declare a derived attribute: nothing, but for the unit person.
                yield from (Run(data, "marginals", "person", one, 0, seed) for one in EPSILONS)
                continue
            yield Run(data, "no noise", "none", math.inf, 0, seed)
            for epsilon in reversed(EPSILONS):
                yield from (Run(data, "marginals", unit, epsilon, 0, seed) for unit in UNITS)
                for rounds in ROUNDS:
                    yield Run(data, "paper", "person", epsilon, rounds, seed)


def perform(run: Run, data: Data, components: int) -> dict[str, float]:
    """Fit a model, and compare it and a sample with the truth."""
    start = time.perf_counter()
    exact = Counter(data.workload)
    exact.add(data.encoded)
    true, rng = shares(exact), np.random.default_rng([run.seed, 0])
    if run.method == "no noise":
        model, extra = without_noise(data, exact, rng), None
    else:
        tried = run.seed <= WITH_INTERVALS and not run.data.endswith("derived")
        method: Method = Marginals() if tried else Marginals(replicates=0)
        if run.method == "paper":
            method = hpd_fixed(rounds=run.rounds, components=components)
        model, extra = fitted(run, data, method, rng)
    seconds = time.perf_counter() - start
    answers = np.asarray(model.answer(data.workload), np.float64)
    drawn = Counter(data.workload)
    for chunk in sample(model, data.encoded.groups, rng=rng):
        drawn.add(chunk)
    found: dict[str, float] = {"seconds": seconds}
    for name, level in levels(data.workload).items():
        for kind, answered in (("model", answers), ("sampled", shares(drawn))):
            errors = np.abs(answered - true)[level]
            found[f"{kind}_max_{name}"] = float(errors.max())
            found[f"{kind}_mean_{name}"] = float(errors.mean())
    if extra is not None:
        found |= coverage(model, extra, data, answers, true)
    return found


def fitted(run: Run, data: Data, method: Method, rng: np.random.Generator) -> Any:
    neighbours = UNITS[run.unit]
    asked = method.asks(data.workload)
    weights = workload_weights(asked, neighbours.unit) if method.size_weighted else None
    counter = Counter(asked, weights=weights)
    counter.add(data.encoded)
    accounting = Accounting.PAPER if run.method == "paper" else method.accounting
    guarantee = Guarantee.of(
        neighbours=neighbours, epsilon=run.epsilon, delta=data.delta, accounting=accounting
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        Curator(
            counter, guarantee=guarantee, ledger=Path(folder) / "ledger.jsonl", seed=run.seed
        ) as curator,
    ):
        training = method.start(curator, rng=rng)
        training.run()
    return training.model(), training.extra().get(REPLICATES)


def without_noise(data: Data, exact: Counter, rng: np.random.Generator) -> HPD:
    """A diagnostic: what the model can hold, were there no noise at all."""
    from kinfolk.methods.mixture_fit import BATCHES, Measured, MixtureFit
    from kinfolk.models.layout import Layout
    from kinfolk.models.mixture.factors import Factors
    from kinfolk.models.mixture.prepared import Prepared

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


def levels(workload: Workload) -> dict[str, np.ndarray]:
    """All queries, and those of each level and relation."""
    names = [marginal.relation or marginal.level for marginal in workload.marginals]
    every = np.repeat(names, [marginal.cells for marginal in workload.marginals])
    return {"all": every != "", **{name: every == name for name in dict.fromkeys(names)}}


def coverage(
    model: HPD, replicates: np.ndarray, data: Data, answers: np.ndarray, true: np.ndarray
) -> dict[str, float]:
    from kinfolk.privacy.certificate import Certificate
    from kinfolk.release.answers import answer
    from kinfolk.release.release import Release

    release = Release(
        model=model, certificate=Certificate({}), groups=data.encoded.groups, method="marginals",
        settings={}, extra={REPLICATES: replicates},
    )  # fmt: skip
    low, high = answer(release, data.workload).interval(0.9)
    inside = (low <= true) & (true <= high)
    return {f"covered_{n}": float(inside[one].mean()) for n, one in levels(data.workload).items()}


def read(path: Path) -> Iterator[tuple[Run, dict[str, float]]]:
    if not path.exists():
        return
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            run = Run(
                row["data"], row["method"], row["unit"], float(row["epsilon"]),
                int(row["rounds"]), int(row["seed"]),
            )  # fmt: skip
            pairs = (pair.split("=") for pair in row["found"].split())
            yield run, {name: float(value) for name, value in pairs}


def write(path: Path, run: Run, found: dict[str, float]) -> None:
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow([*vars(run), "found", "label"])
        packed = " ".join(f"{name}={value:.6g}" for name, value in found.items())
        writer.writerow([*vars(run).values(), packed, LABEL])


if __name__ == "__main__":
    main()
