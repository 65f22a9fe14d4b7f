"""How fast MWEM is on flat data: kinfolk against the textbook in NumPy, in one run.

    python -m bench.multiplicative [--queries 50]

The universe is all combinations of seven attributes, 336,000. A round answers all three-way
queries and then updates the distribution by what was measured so far: every query that is at least
half as far off as the worst is visited once. The textbook keeps what can be kept: the cell of every
combination in each marginal, for `bincount`, and the indicator of each measured query; a visit is
then exp(indicator * error / 2), a product and a division by the sum. Both know their answers before
the update, do the same visits in the same order, and must come to the same distribution.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np

from kinfolk.models.histogram import Histogram
from kinfolk.models.mwem import mwem_update
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema

SIZES = (10, 8, 7, 6, 5, 5, 4)
SHOWN = "{:<26}{:>12.1f}{:>12.1f}{:>10.1f}"


class Textbook:
    """Multiplicative weights on one probability per combination."""

    def __init__(self, workload: Workload) -> None:
        codes = np.indices(SIZES).reshape(len(SIZES), -1)
        self.cells = []
        for marginal in workload.marginals:
            index = np.zeros(codes.shape[1], np.int64)
            for position in marginal.individual:
                index = index * SIZES[position] + codes[position]
            self.cells.append((index, marginal.cells))
        self.offsets = workload.offsets
        self.probabilities = np.full(codes.shape[1], 1 / codes.shape[1])
        self.indicators: dict[int, np.ndarray] = {}

    def answer(self) -> np.ndarray:
        return np.concatenate(
            [np.bincount(index, self.probabilities, cells) for index, cells in self.cells]
        )

    def prepare(self, number: int) -> None:
        at = int(np.searchsorted(self.offsets, number, side="right")) - 1
        index, _ = self.cells[at]
        self.indicators[number] = (index == number - self.offsets[at]).astype(np.float64)

    def visit(self, number: int, measured: float) -> None:
        indicator = self.indicators[number]
        error = measured - indicator @ self.probabilities
        self.probabilities *= np.exp(indicator * (error / 2))
        self.probabilities /= self.probabilities.sum()

    def update(
        self,
        numbers: Sequence[int],
        measured: np.ndarray,
        rng: np.random.Generator,
        answers: np.ndarray,
    ) -> None:
        errors = np.abs(measured - answers)
        worst = np.argsort(-errors, kind="stable")
        for at in rng.permutation(worst[errors[worst] >= errors.max() / 2]):
            self.visit(numbers[at], measured[at])


def flat_schema() -> Schema:
    attributes = ", ".join(
        f"a{at}: {{values: [{', '.join(map(str, range(size)))}]}}" for at, size in enumerate(SIZES)
    )
    return Schema.from_text(
        f"individual: {{table: people, attributes: {{{attributes}}}}}\n"
        "max_size: 1\nworkload: {k: 3}\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=50, help="measured before the update")
    told = parser.parse_args()
    workload = Workload.of(flat_schema(), levels=["individual"])
    rng = np.random.default_rng(1)
    numbers = rng.choice(workload.size, size=told.queries, replace=False).tolist()
    queries = [workload.query(number) for number in numbers]
    measured = rng.uniform(0.2, 0.3, told.queries)
    print(f"{workload!r}, {np.prod(SIZES):,} combinations, {told.queries} queries measured")

    textbook, ours = Textbook(workload), Histogram.uniform(workload.schema)
    for number in numbers:
        textbook.prepare(number)
    found: list[Histogram] = []
    start, answers = textbook.probabilities.copy(), textbook.answer()[numbers]

    def by_the_book() -> None:
        textbook.probabilities = start.copy()
        textbook.update(numbers, measured, np.random.default_rng(2), answers)

    def by_kinfolk() -> None:
        rng = np.random.default_rng(2)
        found[:] = [mwem_update(ours, queries, measured, rng=rng, answers=answers)]

    print(f"{'':<26}{'book, ms':>12}{'kinfolk, ms':>12}{'times':>10}")
    report("all answers", textbook.answer, lambda: ours.answer(workload))
    report(f"update, {told.queries} visits", by_the_book, by_kinfolk)
    apart = np.abs(found[0].probabilities.ravel() / textbook.probabilities - 1).max()
    print(f"largest relative difference of a probability: {apart:.1e}")
    if apart > 1e-9:
        raise SystemExit("they do not agree")


def report(what: str, book: Callable[[], object], kinfolk: Callable[[], object]) -> None:
    """By turns, so that both see the same machine; the fastest of each."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(6):
        for action, own in zip((book, kinfolk), times, strict=True):
            start = time.perf_counter()
            action()
            own.append((time.perf_counter() - start) * 1000)
    slow, fast = min(times[0]), min(times[1])
    print(SHOWN.format(what, slow, fast, slow / fast), flush=True)


if __name__ == "__main__":
    main()
