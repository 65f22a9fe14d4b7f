"""Very many groups are all counted, and a random part of them is looked at."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evaluate.families import FAMILIES, families
from homes import written
from kinfolk.data.encode import encode
from kinfolk.data.encoded import Encoded
from kinfolk.evaluate import evaluate, sides
from kinfolk.evaluate.sides import Held


def held(parts: list[Encoded]) -> Encoded:
    gathered = Held()
    for part in parts:
        gathered.add(part)
    return gathered.data()


def test_what_is_held_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    few = encode(FAMILIES, families())
    part = few.take(np.arange(5_000) % few.groups)
    monkeypatch.setattr(sides, "HELD", 200_000)
    found = {number: held([part] * number) for number in (1, 4, 40)}
    assert found[40].cleaning.groups_read == 40 * part.cleaning.groups_read
    for one in found.values():
        assert sides._bytes(one) <= 201_000
        # Six standard errors: a false alarm in 500 million runs.
        share, spread = part.sizes.mean(), part.sizes.std()
        assert abs(one.sizes.mean() - share) < 6 * spread / np.sqrt(one.groups)


def test_early_and_late_groups_are_held_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    few = encode(FAMILIES, families())
    parts = [few.take(np.full(2_000, group)) for group in range(2)]
    monkeypatch.setattr(sides, "HELD", 100_000)
    found = held([parts[0]] * 10 + [parts[1]] * 10)
    late = float(np.isin(found.group[:, 0], parts[1].group[:1, 0]).mean())
    assert parts[0].group[0, 0] != parts[1].group[0, 0]
    assert abs(late - 0.5) < 6 * 0.5 / np.sqrt(found.groups)


def test_answers_are_of_all_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = families()
    paths = written(tmp_path, tables)
    whole = evaluate(FAMILIES, real=tables, synthetic=tables).metrics
    monkeypatch.setattr(sides, "MEMORY", 2_000)
    monkeypatch.setattr(sides, "HELD", 1_000)
    found = evaluate(FAMILIES, real=paths, synthetic=tmp_path)
    metrics = found.metrics
    assert metrics["looked_at"]["real"] < whole["looked_at"]["real"] == whole["real"]["groups"]
    for key in ("all", "real", "synthetic", "cleaning", "integrity"):
        assert metrics[key] == whole[key]
    assert metrics["copies"]["synthetic_in_real"] == 1
    assert "drawn at random" in found.html()
