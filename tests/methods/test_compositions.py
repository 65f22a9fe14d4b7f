"""A fit leaves compositions out that hardly anybody has, and answers the others as before."""

from __future__ import annotations

import numpy as np
import pytest

from kinfolk.datasets import load_schema
from kinfolk.methods import compositions
from kinfolk.methods.compositions import fitted_layout, likely_compositions
from kinfolk.methods.mixture_fit import Measured
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.models.mixture.prepared import Prepared
from kinfolk.queries.workload import Workload

SCHEMA = load_schema("detroit")
LAYOUT = Layout.of(SCHEMA)
WORKLOAD = Workload.of(SCHEMA, k=1)


def test_what_is_left_out_is_answered_as_if_it_never_occurred() -> None:
    rng = np.random.default_rng(1)
    kept = sorted(rng.choice(LAYOUT.group_start, 7, replace=False).tolist())
    narrow = LAYOUT.keeping(kept)
    table = HPD.random(LAYOUT, components=5, rng=rng).probabilities.astype(np.float64)
    table[: LAYOUT.group_start][~narrow.possible[: LAYOUT.group_start]] = 0
    table[: LAYOUT.group_start] /= table[: LAYOUT.group_start].sum(axis=0)
    wide, small = (Prepared.of(layout, WORKLOAD) for layout in (LAYOUT, narrow))
    assert np.allclose(wide.answers(table), small.answers(table), atol=1e-12)
    given = rng.standard_normal(wide.size)
    gradients = [one.vjp(table, given) for one in (wide, small)]
    inside = narrow.possible
    assert np.allclose(gradients[0][inside], gradients[1][inside], atol=1e-10)
    assert not gradients[1][~inside].any()


def test_likely_compositions_are_kept_and_some_of_every_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compositions, "OF_A_SIZE", 2)
    monkeypatch.setattr(compositions, "LIKELY", 0.01)
    rng = np.random.default_rng(2)
    common = HPD.random(LAYOUT, components=3, rng=rng).probabilities.astype(np.float64)
    chances = np.full(LAYOUT.group_start, 1e-9)
    chances[[0, 3, 8]] = [0.5, 0.3, 0.2]
    common[: LAYOUT.group_start] = (chances / chances.sum())[:, None]
    sets = [["COUNT", "relate"], ["COUNT"]]
    asked = Workload.of(SCHEMA, sets=sets, levels=["group", "individual"])
    prepared = Prepared.of(LAYOUT, asked)
    measured = Measured(
        prepared=prepared,
        rates=prepared.answers(common),
        precision=np.full(prepared.size, 1e6),
        ahead=True,
    )
    narrow = likely_compositions(LAYOUT, [measured], rng=rng)
    assert narrow.kept is not None
    assert {0, 3, 8} <= narrow.kept
    sizes = LAYOUT.sizes[sorted(narrow.kept)]
    for size in SCHEMA.sizes:
        there = int((LAYOUT.sizes == size).sum())
        assert (sizes == size).sum() >= min(there, 2)
    assert len(narrow.kept) < LAYOUT.group_start


def test_a_model_tells_which_compositions_were_fitted() -> None:
    model = HPD.random(LAYOUT, components=4, rng=np.random.default_rng(3))
    assert fitted_layout(model) == LAYOUT
    table = model.probabilities.copy()
    table[5] = 0
    some = fitted_layout(HPD(layout=LAYOUT, probabilities=table))
    assert some.kept == frozenset(range(LAYOUT.group_start)) - {5}
