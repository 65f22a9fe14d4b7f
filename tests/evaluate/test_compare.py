"""The figures of a comparison against plain loops."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from evaluate.families import FAMILIES, families
from kinfolk.data.encode import encode
from kinfolk.data.encoded import Encoded
from kinfolk.evaluate import compare
from kinfolk.evaluate.compare import Comparison
from kinfolk.queries.workload import Workload
from obvious import obvious_counts


def obvious_shares(data: Encoded, workload: Workload) -> np.ndarray:
    levels = [marginal.level for marginal in workload.marginals for _ in range(marginal.cells)]
    over = [data.groups if level == "group" else data.people for level in levels]
    return np.array(obvious_counts(data, workload)) / np.array(over)


@pytest.fixture(scope="module")
def found() -> Comparison:
    return compare(FAMILIES, real=families(seed=1), synthetic=families(80, seed=2))


def test_errors_are_those_of_the_shares(found: Comparison) -> None:
    workload = Workload.of(FAMILIES)
    real = obvious_shares(encode(FAMILIES, families(seed=1)), workload)
    made = obvious_shares(encode(FAMILIES, families(80, seed=2)), workload)
    errors = np.abs(real - made)
    levels = np.array([b.level for b in workload.marginals for _ in range(b.cells)])
    metrics = json.loads(json.dumps(found.metrics))
    assert metrics["private"] is False
    assert "NOT PRIVATE" in metrics["notice"]
    assert metrics["queries"] == workload.size
    for level in ("group", "individual", "relation", "all"):
        own = errors if level == "all" else errors[levels == level]
        assert metrics[level]["queries"] == len(own)
        assert metrics[level]["max"] == pytest.approx(own.max())
        assert metrics[level]["mean"] == pytest.approx(own.mean())
        # Nineteen of twenty errors are no larger.
        assert (own <= metrics[level]["p95"] + 1e-12).mean() >= 0.95
        assert (own < metrics[level]["p95"] - 1e-12).mean() < 0.95
        assert sum(metrics[level]["bands"]) == len(own)
    for one in found.worst:
        assert one.real == pytest.approx(real[one.query])
        assert one.synthetic == pytest.approx(made[one.query])
    assert found.worst[0].error == pytest.approx(errors.max())
    assert sum(one.queries for one in found.sets) == workload.size
    assert found.sets[0].max == pytest.approx(errors.max())


def test_pairs_are_those_of_the_loops(found: Comparison) -> None:
    data = encode(FAMILIES, families(80, seed=2))
    roles = FAMILIES.roles.names if FAMILIES.roles else ()
    for table in found.pairs:
        column = found.shown[table.attribute].name
        position = list(FAMILIES.individual_attributes).index(column)
        size = found.shown[table.attribute].size
        expected = np.zeros((size, size), int)
        for g in range(data.groups):
            members = range(data.offsets[g], data.offsets[g + 1])
            for i, j in itertools.permutations(members, 2):
                pair = roles[data.role[i]], roles[data.role[j]]
                if pair in found.ties[table.tie].pairs:
                    expected[data.individual[i, position], data.individual[j, position]] += 1
        assert list(table.synthetic) == expected.ravel().tolist()
        assert table.same[1] == pytest.approx(np.trace(expected) / expected.sum())
    ages = {
        found.ties[t.tie].name: t for t in found.pairs if found.shown[t.attribute].name == "age"
    }
    assert ages["has_child"].same == (0.0, 0.0)
    gaps = {one.tie: one.gap for one in found.believable.links if one.attribute == "age"}
    assert gaps["has_child"] is not None
    assert gaps["has_child"][0].mean > 10


def test_two_way_tables_count_groups_or_people(found: Comparison) -> None:
    data = encode(FAMILIES, families(seed=1))
    names = [one.name for one in found.shown]
    tables = {(names[t.rows], names[t.columns]): t for t in found.two_way}
    assert sum(tables["veh", "COUNT"].real) == data.groups
    assert sum(tables["veh", "sex"].real) == data.people
    expected = np.zeros((3, 2), int)
    for g in range(data.groups):
        for i in range(data.offsets[g], data.offsets[g + 1]):
            expected[data.group[g, 0], data.individual[i, 0]] += 1
    assert list(tables["veh", "sex"].real) == expected.ravel().tolist()
    assert found.compositions is not None
    assert sum(found.compositions.real) == data.groups


def test_the_same_data_has_no_error_and_chance_has_some() -> None:
    tables = families()
    same = compare(FAMILIES, real=tables, synthetic=tables)
    assert same.families["all"].max == 0
    assert same.second_survey["all"].mean > 0
    assert same.copies.synthetic_in_real == 1
    assert 0 <= same.copies.half_in_half < 1
