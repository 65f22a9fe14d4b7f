"""How fast groups are drawn, against plain NumPy in the same run, and how even they are.

python bench/sampling.py [--groups 500000] [--components 1000] [--schema acs]
"""

from __future__ import annotations

import argparse
import itertools
import resource
import tempfile
import time
from collections.abc import Callable

import numpy as np

from kinfolk.data.encoded import Encoded
from kinfolk.datasets import load_schema
from kinfolk.models.base import sample
from kinfolk.models.histogram import Histogram
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.models.mwem import mwem_update
from kinfolk.models.pep import EntropyProjection
from kinfolk.models.records import Records
from kinfolk.queries.counting import count
from kinfolk.queries.workload import Workload
from kinfolk.release.release import write_sample


def plain_numpy(model: HPD, groups: int, rng: np.random.Generator) -> int:
    """Independent draws, one array operation per attribute: choose where the cumulative passes."""
    layout = model.layout

    def draw(table: np.ndarray, components: np.ndarray) -> np.ndarray:
        below = np.cumsum(table.T, axis=1)
        points = rng.random(len(components)) * below[components, -1]
        return (below[components, :-1] <= points[:, None]).sum(axis=1).astype(np.uint8)

    components = rng.integers(model.components, size=groups)
    composition = draw(model.composition, components)
    offsets = layout.group_offsets
    for low, high in itertools.pairwise(offsets):
        draw(model.group[low:high], components)
    people = 0
    for slot in range(layout.slots):
        members = np.repeat(components, layout.mult[composition, slot])
        people += len(members)
        offsets = layout.individual_offsets
        for low, high in itertools.pairwise(offsets):
            draw(model.individual[slot, low:high], members)
    return people


def timed(work: Callable[[], int]) -> tuple[int, float]:
    start = time.perf_counter()
    people = work()
    return people, time.perf_counter() - start


def drawn(model: HPD | Histogram, groups: int, *, stratified: bool = True) -> int:
    rng = np.random.default_rng(2)
    return sum(part.people for part in sample(model, groups, rng=rng, stratified=stratified))


def written(model: HPD, groups: int, form: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        rng = np.random.default_rng(2)
        done = write_sample(Records(model=model), groups, folder, rng=rng, format=form)
    return list(done.rows.values())[-1]


def evenness(model: HPD, groups: int, repeats: int = 20) -> dict[str, float]:
    """Mean squared error of stratified answers over that of independent ones, by level."""
    workload = Workload.of(model.layout.schema, k=2)
    truth = np.asarray(model.rates(workload), np.float64)
    errors = {}
    for stratified in (True, False):
        rng = np.random.default_rng(3)
        found = [
            (count(data, workload) / groups - truth) ** 2
            for data in (
                Encoded.joined(list(sample(model, groups, rng=rng, stratified=stratified)))
                for _ in range(repeats)
            )
        ]
        errors[stratified] = np.mean(found, axis=0)
    ratios: dict[str, float] = {}
    for level in dict.fromkeys(marginal.level for marginal in workload.marginals):
        places = np.concatenate(
            [np.full(marginal.cells, marginal.level == level) for marginal in workload.marginals]
        )
        ratios[level] = float(errors[True][places].mean() / errors[False][places].mean())
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=500_000)
    parser.add_argument("--components", type=int, default=1000)
    parser.add_argument("--schema", default="acs")
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    layout = Layout.of(load_schema(options.schema))
    # Logits three times as large as usual: peaked components, as after a fit.
    logits = 3 * rng.standard_normal((layout.rows, options.components))
    model = HPD.from_logits(layout, logits)
    listed = Histogram.uniform(load_schema("acs-red"))

    for warm in (True, False):
        drawn(model, 1000, stratified=warm)
        drawn(listed, 1000, stratified=warm)
    few = min(options.groups, 100_000)
    baseline, slow = timed(lambda: plain_numpy(model, few, rng))
    print(f"{options.schema}: {options.components:,} components, {options.groups:,} groups")
    print(f"{'way':38}{'people/s':>14}{'times NumPy':>14}")
    print(f"{'plain NumPy, independent':38}{baseline / slow:14,.0f}{1:14.1f}")
    ways: dict[str, Callable[[], int]] = {
        "arrays, stratified": lambda: drawn(model, options.groups),
        "arrays, independent": lambda: drawn(model, options.groups, stratified=False),
        "arrays, stratified, from a histogram": lambda: drawn(listed, options.groups),
        "Parquet files": lambda: written(model, few, "parquet"),
        "CSV files": lambda: written(model, few, "csv"),
    }
    for name, way in ways.items():
        people, seconds = timed(way)
        print(f"{name:38}{people / seconds:14,.0f}{people / seconds / (baseline / slow):14.1f}")

    reduced = HPD.from_logits(
        Layout.of(load_schema("acs-red")),
        3 * rng.standard_normal((Layout.of(load_schema("acs-red")).rows, 200)),
    )
    for number in (1000, 20_000):
        ratios = ", ".join(f"{k} {v:.2f}" for k, v in evenness(reduced, number).items())
        print(f"squared error, stratified over independent, {number:,} groups: {ratios}")

    workload = Workload.of(listed.schema)
    queries = [workload.query(number) for number in range(0, workload.size, 27)]
    answers = listed.answer(workload)
    measured = rng.normal(answers[::27], 0.05)
    mwem_update(listed, queries, measured, rng=rng)
    for name, work in {
        f"histogram: all {workload.size:,} answers": lambda: listed.answer(workload),
        f"histogram: MWEM update, {len(queries)} queries": lambda: mwem_update(
            listed, queries, measured, rng=rng
        ),
        f"histogram: PEP update, {len(queries)} queries": lambda: EntropyProjection(listed).onto(
            queries, measured
        ),
    }.items():
        start = time.perf_counter()
        work()
        print(f"{name:50}{1000 * (time.perf_counter() - start):10.1f} ms")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


if __name__ == "__main__":
    main()
