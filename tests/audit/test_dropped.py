"""A household that cleaning drops is protected like any other: the number of rows tells nothing.

Whole fits through `Synthesizer`, of tables that differ in such a household. A correct program fails
one of the statistical tests once in a million runs at most.
"""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pytest

from audit.planted import publish_the_file, publish_the_groups
from kinfolk._io import passing_folder
from kinfolk.audit.guess import highest_rate
from kinfolk.audit.search import one_thread
from kinfolk.audit.town import (
    CHILD,
    HEAD,
    LODGERS,
    OVERSIZE,
    Home,
    Member,
    tables_of,
    town_schema,
    townspeople,
)
from kinfolk.release.synthesizer import Synthesizer
from kinfolk.schema import Schema

EPSILON, DELTA = 0.2, 1e-6
RUNS = 40
KEPT = townspeople()[3]
QUICK = {"components": 1, "parts": 1, "replicates": 0, "max_passes": 1}
ALARM = 1e-6
THRESHOLDS = range(50, 66)
"""Around the number of households; fixed in advance."""


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The fits are tiny, and nobody needs their ledgers."""
    with passing_folder(quick=True) as folder, one_thread():
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        yield


def maker(neighbours: str, *, seed: int | None = None, schema: Schema | None = None) -> Synthesizer:
    return Synthesizer(
        town_schema() if schema is None else schema,
        unit="household",
        neighbours=neighbours,
        epsilon=EPSILON,
        delta=DELTA,
        seed=seed,
        **QUICK,
    )


def town(*more: Home) -> Mapping[str, object]:
    return tables_of([*townspeople(), *more])


def rows(neighbours: str, tables: Mapping[str, object]) -> list[int]:
    """How many households are drawn, fit after fit."""
    return [
        maker(neighbours).fit(tables).sample()["households"].num_rows  # type: ignore[arg-type]
        for _ in range(RUNS)
    ]


def told_apart(first: list[int], second: list[int]) -> bool:
    """Whether any event {rows <= t} or {rows > t} refutes (epsilon, delta), at an alarm of 1e-6.

    The two sides, the two events, the two bounds and all thresholds share the alarm.
    """
    alarm = ALARM / (8 * len(THRESHOLDS))
    for one, other in ((first, second), (second, first)):
        for threshold in THRESHOLDS:
            for event in (lambda n, t=threshold: n <= t, lambda n, t=threshold: n > t):
                here, there = sum(map(event, one)), sum(map(event, other))
                least = 1 - highest_rate(len(one) - here, len(one), alarm=alarm)
                most = highest_rate(there, len(other), alarm=alarm)
                if least > math.exp(EPSILON) * most + DELTA:
                    return True
    return False


def same_law(first: list[int], second: list[int]) -> bool:
    """Whether two samples could have one law: the largest gap between their distributions.

    Either is further than g/2 from the law with a chance of at most 2 exp(-g^2 n / 2), for n runs
    (Dvoretzky, Kiefer and Wolfowitz; Massart).
    """
    grid = np.unique([*first, *second])
    below = [np.searchsorted(np.sort(one), grid, side="right") / RUNS for one in (first, second)]
    gap = float(np.abs(below[0] - below[1]).max())
    return 4 * math.exp(-(gap**2) * RUNS / 2) > ALARM


@pytest.mark.slow
@pytest.mark.parametrize("home", [OVERSIZE, LODGERS])
def test_one_more_that_is_dropped_changes_no_law(home: Home) -> None:
    first, second = rows("add-remove", town()), rows("add-remove", town(home))
    assert same_law(first, second)
    assert len(Counter(first)) > 5  # The number is noisy.


@pytest.mark.parametrize("home", [OVERSIZE, LODGERS])
@pytest.mark.parametrize("seed", [1, 2])
def test_one_more_that_is_dropped_changes_not_a_bit(home: Home, seed: int) -> None:
    """With the same noise, the two towns have the same release: that is more than the same law."""
    first, second = (
        maker("add-remove", seed=seed).fit(tables).release  # type: ignore[arg-type]
        for tables in (town(), town(home))
    )
    assert first.groups == second.groups
    np.testing.assert_array_equal(first.model.probabilities, second.model.probabilities)
    assert first.certificate["totals"] == second.certificate["totals"]
    assert first.certificate["spends"] == second.certificate["spends"]


RULED = replace(town_schema(), never=["nobody with age = old"], on_violation="drop")
YOUNG = Home(own=(1,), members=tuple(Member(role=role, codes=(0, 0)) for role in (HEAD, CHILD)))
"""A household that cleaning drops, as it breaks the rule."""


@pytest.mark.parametrize("seed", [1, 2])
def test_one_more_that_breaks_a_rule_changes_not_a_bit(seed: int) -> None:
    first, second = (
        maker("add-remove", seed=seed, schema=RULED).fit(tables).release  # type: ignore[arg-type]
        for tables in (town(), town(YOUNG))
    )
    assert first.groups == second.groups
    np.testing.assert_array_equal(first.model.probabilities, second.model.probabilities)
    assert first.certificate["totals"] == second.certificate["totals"]
    assert first.certificate["spends"] == second.certificate["spends"]


def test_under_replace_the_number_that_keeps_the_rules_is_bought() -> None:
    """The file has as many households either way; how many of them are kept is not told exactly."""
    first, second = (
        maker("replace", seed=1, schema=RULED).fit(town(home)).release  # type: ignore[arg-type]
        for home in (KEPT, YOUNG)
    )
    for release in (first, second):
        assert {"total": "groups"} in [one["bought"] for one in release.certificate["spends"]]
        assert release.certificate["totals"]["groups_read"] == len(townspeople()) + 1


def test_one_that_is_kept_by_one_that_is_dropped_cannot_be_told() -> None:
    assert not told_apart(rows("replace", town(KEPT)), rows("replace", town(OVERSIZE)))


@pytest.mark.parametrize(
    ("bug", "neighbours", "homes"),
    [
        (publish_the_groups, "replace", ((KEPT,), (OVERSIZE,))),
        pytest.param(publish_the_groups, "add-remove", ((), (KEPT,)), marks=pytest.mark.slow),
        pytest.param(publish_the_file, "add-remove", ((), (LODGERS,)), marks=pytest.mark.slow),
    ],
)
def test_an_exact_number_is_told(
    bug: Callable[[pytest.MonkeyPatch], None],
    neighbours: str,
    homes: tuple[tuple[Home, ...], tuple[Home, ...]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As it used to be: the number of rows is exact, and gives the household away every time."""
    bug(monkeypatch)
    first, second = (rows(neighbours, town(*more)) for more in homes)
    assert told_apart(first, second)
    assert not same_law(first, second)
