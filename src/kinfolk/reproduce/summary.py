"""Means and standard errors over the seeds, and which T was best. NOT PRIVATE."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from kinfolk.reproduce.experiments import VARIANTS
from kinfolk.reproduce.records import LABEL
from kinfolk.reproduce.work import Errors, Result

BEST = "best T, chosen with the true errors as the paper does; not private"
"""How the choice of T is labelled, everywhere."""

MEASURES = tuple(field.name for field in fields(Errors))
"""The kinds of error that a run leaves."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """An average over seeds, with one standard error; of a single run that is not known.

    >>> print(Estimate.of([0.01, 0.02, 0.03]))
    0.0200 ± 0.0058
    """

    mean: float
    error: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Estimate:
        """From one value for each seed."""
        number = len(values)
        mean = math.fsum(values) / number
        if number == 1:
            return cls(mean=mean, error=math.nan)
        variance = math.fsum((value - mean) ** 2 for value in values) / (number - 1)
        return cls(mean=mean, error=math.sqrt(variance / number))

    def __str__(self) -> str:
        # Three digits of the mean, and at least four decimals.
        decimals = max(4, 2 - math.floor(math.log10(self.mean))) if self.mean > 0 else 4
        mean = f"{self.mean:.{decimals}f}"
        return mean if math.isnan(self.error) else f"{mean} ± {self.error:.{decimals}f}"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """All seeds of a method at one epsilon and one T."""

    queries: str
    method: str
    epsilon: float
    rounds: int
    seeds: int
    """How many runs there are."""
    errors: dict[str, Estimate]
    """By the name of the measure."""
    seconds: float
    """That a run took, on average."""
    best: bool
    """Whether no other T of the method, at this epsilon, has a smaller mean of the largest error.
    That is decided with the true errors."""


def summarise(results: Iterable[Result]) -> list[Cell]:
    """One cell for each set of queries, method, epsilon and T, in the order of the figures."""
    seeds: dict[tuple[str, str, float, int], list[Result]] = {}
    for result in results:
        run = result.run
        seeds.setdefault((run.queries, run.method, run.epsilon, run.rounds), []).append(result)
    means = {
        key: Estimate.of([one.errors.max_error for one in of]).mean for key, of in seeds.items()
    }
    least: dict[tuple[str, str, float], int] = {}
    for queries, method, epsilon, rounds in sorted(means, key=lambda one: (means[one], one[-1])):
        least.setdefault((queries, method, epsilon), rounds)
    place = list(VARIANTS).index
    return [
        Cell(
            queries=queries,
            method=method,
            epsilon=epsilon,
            rounds=rounds,
            seeds=len(several),
            errors={
                name: Estimate.of([getattr(one.errors, name) for one in several])
                for name in MEASURES
            },
            seconds=math.fsum(one.seconds for one in several) / len(several),
            best=least[queries, method, epsilon] == rounds,
        )
        for (queries, method, epsilon, rounds), several in sorted(
            seeds.items(), key=lambda item: (item[0][0], place(item[0][1]), *item[0][2:])
        )
    ]


def write_csv(cells: Sequence[Cell], path: Path) -> None:
    """One line for each cell, with every measure's mean and standard error."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        measured = [f"{name}{suffix}" for name in MEASURES for suffix in ("", "_se")]
        head = ["queries", "method", "epsilon", "rounds", "seeds"]
        rows.writerow([*head, *measured, "seconds", "best_rounds_not_private", "label"])
        for cell in cells:
            errors = [cell.errors[name] for name in MEASURES]
            values = [
                "" if math.isnan(value) else f"{value:.6g}"
                for one in errors
                for value in (one.mean, one.error)
            ]
            names = [cell.queries, cell.method, cell.epsilon, cell.rounds, cell.seeds]
            best = "yes" if cell.best else "no"
            rows.writerow([*names, *values, f"{cell.seconds:.2f}", best, LABEL])
