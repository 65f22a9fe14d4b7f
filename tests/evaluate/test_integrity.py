"""Synthetic tables of any tool: what hangs together wrongly is counted and left out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evaluate.families import FAMILIES, add, families
from kinfolk.data.encode import encode
from kinfolk.data.frames import write_table
from kinfolk.data.membership import link_tables
from kinfolk.errors import DataError, KinfolkError
from kinfolk.evaluate import compare, sides
from kinfolk.evaluate.groups import identities
from kinfolk.evaluate.sides import find_tables, read_real, read_synthetic


def test_every_kind_of_broken_group_is_counted() -> None:
    clean = families()
    broken = add(
        clean,
        homes=[(900, 0), (901, 0), (901, 1), (902, 0), (903, 0), (904, 0)],
        people=[
            (999, 0),  # their home is not there
            (901, 0),  # two homes have this id
            (902, 0),  # a second head
            (902, 0),
            (903, 1),  # no head
            (904, 0),  # three children: oversize
            (904, 2),
            (904, 2),
            (904, 2),
        ],
    )
    data, found = read_synthetic(FAMILIES, broken)
    assert (found.groups_repeated, found.groups_empty, found.people_unlinked) == (2, 1, 2)
    assert (found.groups_breaking_roles, found.groups_oversize) == (2, 1)
    assert (found.groups_read, found.groups) == (66, 60)
    assert not found.sound
    assert (data.groups, data.people) == (60, clean["people"].num_rows)
    # What is left is compared as if the rest had never been there.
    assert compare(FAMILIES, real=clean, synthetic=broken).families["all"].max == 0
    with pytest.raises(DataError, match="the real tables do not fit the schema"):
        read_real(FAMILIES, broken)


def test_files_are_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However little memory there is: the same groups, and the same ones left out."""
    clean = families()
    broken = add(
        clean, homes=[(900, 0), (901, 0), (901, 1), (902, 0)], people=[(999, 0), (902, 0), (902, 0)]
    )
    monkeypatch.setattr(sides, "MEMORY", 2_000)
    paths = {}
    for kind, tables in (("clean", clean), ("broken", broken)):
        for name, table in tables.items():
            paths[kind, name] = tmp_path / f"{kind}-{name}.csv"
            write_table(table, paths[kind, name])
    real, made = ({n: paths[kind, n] for n in clean} for kind in ("clean", "broken"))
    data, found = read_synthetic(FAMILIES, made)
    expected, whole = read_synthetic(FAMILIES, broken)
    assert found == whole
    assert found.people_unlinked == 1
    assert sorted(identities(data)) == sorted(identities(expected))
    read = read_real(FAMILIES, real)
    assert read.cleaning == encode(FAMILIES, clean).cleaning
    assert sorted(identities(read)) == sorted(identities(encode(FAMILIES, clean)))
    with pytest.raises(DataError, match="the real tables do not fit the schema"):
        read_real(FAMILIES, made)
    (tmp_path / "broken-people.csv").write_text((tmp_path / "broken-people.csv").read_text()[:9])
    with pytest.raises(DataError, match="the synthetic tables do not fit the schema"):
        read_synthetic(FAMILIES, made)


def test_tables_are_linked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def link(*given: Any, **more: Any) -> Any:
        calls.append(given)
        return link_tables(*given, **more)

    monkeypatch.setattr(sides, "link_tables", link)
    monkeypatch.setattr(sys.modules["kinfolk.data.encode"], "link_tables", link)
    broken = add(families(), homes=[(900, 0)], people=[(999, 0)])
    order = np.random.default_rng(1).permutation(broken["people"].num_rows)
    data, _ = read_synthetic(FAMILIES, {**broken, "people": broken["people"].take(order)})
    assert len(calls) == 1
    # Linked once, before anybody was left out, and still everybody is where they belong.
    expected = encode(FAMILIES, families())
    one, other = identities(data), identities(expected)
    assert one.tolist() == other.tolist()


def test_sound_tables_are_sound() -> None:
    assert read_synthetic(FAMILIES, families())[1].sound


def test_values_outside_the_schema_are_refused() -> None:
    tables = families()
    wrong = pa.array([7] * tables["homes"].num_rows)
    tables["homes"] = tables["homes"].set_column(1, "veh", wrong)
    with pytest.raises(DataError, match=r"the synthetic tables do not fit.*(?s:.)*column veh"):
        read_synthetic(FAMILIES, tables)


def test_nobody_left_is_said() -> None:
    tables = families(3)
    apart = tables["homes"].set_column(0, "home", pa.array([7, 8, 9]))
    with pytest.raises(DataError, match="no group is left"):
        read_synthetic(FAMILIES, {**tables, "homes": apart})


def test_tables_are_found_by_their_names(tmp_path: Path) -> None:
    tables = families(5)
    with pytest.raises(KinfolkError, match="no such folder"):
        find_tables(FAMILIES, tmp_path / "nowhere")
    write_table(tables["homes"], tmp_path / "homes.parquet")
    with pytest.raises(KinfolkError, match=r"no people.csv and no people in parquet"):
        find_tables(FAMILIES, tmp_path)
    write_table(tables["people"], tmp_path / "people.csv")
    assert find_tables(FAMILIES, tmp_path)["people"].name == "people.csv"
    write_table(tables["people"], tmp_path / "people.parquet")
    with pytest.raises(KinfolkError, match=r"both people.csv and people.parquet"):
        find_tables(FAMILIES, tmp_path)
