"""Ids, chunks and seeds: the same groups however they are asked for."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pytest

from kinfolk.errors import KinfolkError
from kinfolk.experiments.simulate import NAMES, simulate, simulate_tables


def _joined(name: str, *, groups: int, seed: int, chunk: int) -> dict[str, pa.Table]:
    chunks = list(simulate(name, groups=groups, seed=seed, chunk=chunk))
    first = next(iter(chunks[0]))
    assert all(part[first].num_rows == chunk for part in chunks[:-1])
    return {table: pa.concat_tables([part[table] for part in chunks]) for table in chunks[0]}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("chunk", [977, 8192, 30_000])
def test_chunk_size_changes_nothing(name: str, chunk: int) -> None:
    whole = simulate_tables(name, groups=9_000, seed=3)
    parts = _joined(name, groups=9_000, seed=3, chunk=chunk)
    assert all(parts[table].equals(whole[table]) for table in whole)


@pytest.mark.parametrize("name", NAMES)
def test_a_larger_total_continues_a_smaller_one(name: str) -> None:
    totals = (1, 500, 8_192, 9_001)
    runs = [simulate_tables(name, groups=groups, seed=5) for groups in totals]
    for small, large in pairwise(runs):
        for table in small:
            assert large[table].slice(0, small[table].num_rows).equals(small[table])


def test_a_chunk_keeps_each_group_whole() -> None:
    for part in simulate("acs", groups=1_000, seed=2, chunk=300):
        ids = part["households"]["SERIAL"].to_pylist()
        assert sorted(set(part["persons"]["SERIAL"].to_pylist())) == ids


@pytest.mark.parametrize("name", NAMES)
def test_seed_decides(name: str) -> None:
    runs = [simulate_tables(name, groups=200, seed=seed) for seed in (1, 1, 2)]
    table = next(iter(runs[0]))
    assert runs[0][table].equals(runs[1][table])
    assert not runs[0][table].equals(runs[2][table])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"groups": 0, "seed": 1}, "groups is 0. Give a whole number of at least 1"),
        ({"groups": -3, "seed": 1}, "groups is -3"),
        ({"groups": 2.5, "seed": 1}, "groups is 2.5"),
        ({"groups": True, "seed": 1}, "groups is True"),
        ({"groups": 5, "seed": -1}, "seed is -1. Give a whole number of at least 0"),
        ({"groups": 5, "seed": 1, "chunk": 0}, "chunk is 0"),
    ],
)
def test_impossible_numbers_are_refused_at_once(arguments: dict[str, int], message: str) -> None:
    # At the call, not when the first chunk is asked for.
    with pytest.raises(KinfolkError, match=message):
        simulate("acs", **arguments)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(KinfolkError, match=r"'asc'\. Use one of: acs, acs-red, acs-rel, afst"):
        simulate("asc", groups=1, seed=1)
