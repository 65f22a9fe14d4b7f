"""How long it takes to select and to measure: `python bench/selection.py`.

Selecting goes through opendp's noisy maximum up to a few thousand candidates and through integer
weights beyond; measuring always goes through opendp. Both are exact and draw from the operating
system. Scores and noise are those of a real round: rho = 0.0124 (epsilon 1, delta 2.6e-11) split
over 100 rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np

from kinfolk.privacy import Exponential, Gaussian, Randomness, measure, round_shares, select

SHARES = round_shares(Fraction(124, 10_000), rounds=100, alpha=0.67)
PEOPLE = 197_512

SELECTIONS = [(1_540, 50.0), (1_000_000, 100.0)]
"""Candidates, and the most milliseconds that a selection may take."""
MEASUREMENTS = [342, 20_000, 400_000]
"""Cells."""


def milliseconds(action: Callable[[], object], *, times: int) -> list[float]:
    """The time of each of several calls, after one that warms up; one is timed as it is."""
    if times > 1:
        action()
    found = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        found.append((time.perf_counter() - start) * 1000)
    return found


def time_selection(candidates: int, *, times: int) -> list[float]:
    rng = np.random.default_rng(candidates)
    # Errors of a fitted model: most are small, a few are large.
    scores = np.rint(rng.exponential(PEOPLE / 200, candidates)).astype(np.int64)
    choice = Exponential.for_rho(SHARES.select, sensitivity=1)
    return milliseconds(lambda: select(scores, choice, randomness=Randomness()), times=times)


def time_measurement(cells: int, *, times: int) -> list[float]:
    rng = np.random.default_rng(cells)
    counts = rng.multinomial(PEOPLE, np.full(cells, 1 / cells)).astype(np.int64)
    noise = Gaussian.for_rho(SHARES.measure, squared_sensitivity=2)
    return milliseconds(lambda: measure(counts, noise, randomness=Randomness()), times=times)


def main() -> None:
    parser = argparse.ArgumentParser(description="Time selections and measurements.")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    options = parser.parse_args()
    rows: list[dict[str, object]] = []
    print(f"{'':<10}{'size':>12}{'median ms':>12}{'slowest ms':>12}{'target ms':>12}")
    for candidates, target in SELECTIONS:
        rows.append(report("select", candidates, time_selection(candidates, times=15), target))
    for cells in MEASUREMENTS:
        times = 10 if cells < 10_000 else 3 if cells < 100_000 else 1
        rows.append(report("measure", cells, time_measurement(cells, times=times), None))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


def report(what: str, size: int, found: list[float], target: float | None) -> dict[str, object]:
    median, slowest = statistics.median(found), max(found)
    goal = "" if target is None else f"{target:,.0f}" + (" met" if median <= target else " MISSED")
    print(f"{what:<10}{size:>12,}{median:>12,.1f}{slowest:>12,.1f}{goal:>12}", flush=True)
    return {"what": what, "size": size, "median_ms": median, "slowest_ms": slowest}


if __name__ == "__main__":
    main()
