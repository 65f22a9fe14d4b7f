"""Group attributes that seem computed from the members, and do not say so."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kinfolk.cli.main import run
from kinfolk.cli.validate import warn_of_computed
from kinfolk.data import undeclared
from kinfolk.data.encode import encode
from kinfolk.data.frames import write_table
from kinfolk.data.undeclared import seem_computed
from kinfolk.datasets import load_detroit, load_schema, schema_text
from kinfolk.experiments.simulate import write_simulation
from kinfolk.schema import Schema

TEXT = """\
group:
  table: homes
  id: home
  attributes:
    own:     {values: [0, 1, 2]}
    minors:  {bins: [0, 1, 2, 9], integer: true}
    workers: {values: [none, one, more]}
    eldest:  {bins: [0, 18, 65, 121], integer: true}
    region:  {values: [n, s]}
    crowd:   {values: [few, many]}
individual:
  table: people
  group_id: home
  attributes:
    age:  {bins: [0, 5, 18, 30, 65, 120], integer: true}
    work: {values: ["yes", "no"], missing: true}
    born: {values: [n, s]}
max_size: 6
"""
FORMULAS = {
    "minors": "the number of members with age under 18",
    "workers": "the number of members with work yes",
    "eldest": "the largest age",
    "region": "the born of the first member",
}
"""`own` has nothing to do with the members, and `crowd` only with their number, which stays."""


def made(groups: int = 600, seed: int = 1) -> dict[str, pa.Table]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, groups)
    home = np.repeat(np.arange(groups), sizes)
    age = rng.integers(0, 120, len(home))
    work = rng.choice(["yes", "no"], len(home))
    born = rng.choice(["n", "s"], len(home))
    first = np.r_[0, np.cumsum(sizes)[:-1]]
    workers = np.minimum(np.bincount(home[work == "yes"], minlength=groups), 2)
    columns: dict[str, Any] = {
        "home": np.arange(groups),
        "own": rng.integers(0, 3, groups),
        "minors": np.bincount(home[age < 18], minlength=groups),
        "workers": np.array(["none", "one", "more"])[workers],
        "eldest": np.maximum.reduceat(age, first),
        "region": born[first],
        "crowd": np.where(sizes > 2, "many", "few"),
    }
    people = {"home": home, "age": age, "work": work, "born": born}
    # One member after the other of each home, so that homes are spread over the file.
    order = np.argsort(np.arange(len(home)) - first[home], kind="stable")
    return {"homes": pa.table(columns), "people": pa.table(people).take(order)}


def changed(table: pa.Table, column: str, change: Any) -> pa.Table:
    cells = table.column(column).to_pylist()
    change(cells)
    return table.set_column(table.column_names.index(column), column, pa.array(cells))


@pytest.mark.parametrize("kind", ["frames", "encoded", "csv", "parquet", "mixed"])
def test_what_is_computed_is_found(tmp_path: Path, kind: str) -> None:
    schema, data = Schema.from_text(TEXT), made()
    given: Any = data
    if kind == "encoded":
        given = encode(schema, data)
    elif kind != "frames":
        kinds = {"homes": "csv", "people": "parquet" if kind != "csv" else "csv"}
        if kind == "parquet":
            kinds["homes"] = "parquet"
        given = {name: tmp_path / f"{name}.{kinds[name]}" for name in data}
        for name, path in given.items():
            write_table(data[name], path)
    assert dict(seem_computed(schema, given)) == FORMULAS


def test_what_says_so_is_not_named() -> None:
    text = TEXT
    for name in FORMULAS:
        line = next(line for line in TEXT.splitlines() if line.strip().startswith(f"{name}:"))
        text = text.replace(line, line.replace("}", ", derived: true}"))
    assert seem_computed(Schema.from_text(text), made()) == []


def test_a_few_errors_do_not_hide_it_and_many_do() -> None:
    schema, data = Schema.from_text(TEXT), made(4000)

    def spoil(every: int) -> Any:
        def change(cells: list[Any]) -> None:
            cells[::every] = [3 - min(cell, 3) for cell in cells[::every]]

        return {**data, "homes": changed(data["homes"], "minors", change)}

    assert dict(seem_computed(schema, spoil(101)))["minors"] == FORMULAS["minors"]
    assert "minors" not in dict(seem_computed(schema, spoil(11)))


def test_too_little_to_tell() -> None:
    schema, data = Schema.from_text(TEXT), made(30)
    assert seem_computed(schema, data) == []
    data = made()
    data["homes"] = changed(data["homes"], "region", lambda cells: cells.sort())
    data["homes"] = changed(
        data["homes"], "eldest", lambda cells: cells.__setitem__(slice(590), [1] * 590)
    )
    assert list(dict(seem_computed(schema, data))) == ["minors", "workers"]


def test_only_the_first_groups_are_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is beyond them does not count, wherever their members are."""
    monkeypatch.setattr(undeclared, "GROUPS", 300)
    monkeypatch.setattr(undeclared, "PIECE", 100)
    schema, data = Schema.from_text(TEXT), made()

    def change(cells: list[Any]) -> None:
        cells[300:] = [0] * 300

    data["homes"] = changed(data["homes"], "minors", change)
    paths = {name: tmp_path / f"{name}.csv" for name in data}
    for name, path in paths.items():
        write_table(data[name], path)
    seen: list[int] = []
    real = undeclared.encode_sources

    def look(*given: Any, **told: Any) -> Any:
        found = real(*given, **told)
        seen.append(found.groups)
        return found

    monkeypatch.setattr(undeclared, "encode_sources", look)
    for tables in (data, paths):
        assert dict(seem_computed(schema, tables)) == FORMULAS
    assert seen == [300, 300]
    assert dict(seem_computed(schema, encode(schema, data))) == FORMULAS


def test_groups_that_were_cut_are_left_out() -> None:
    text = TEXT.replace("max_size: 6", "max_size: 4\noversize: first")
    found = dict(seem_computed(Schema.from_text(text), made(2000)))
    assert found["minors"] == FORMULAS["minors"]


def test_tables_that_do_not_fit_are_for_others_to_judge(tmp_path: Path) -> None:
    schema, data = Schema.from_text(TEXT), made()
    assert seem_computed(schema, {**data, "people": data["people"].drop_columns("home")}) == []
    assert seem_computed(schema, {**data, "homes": tmp_path / "no.csv"}) == []
    wrong = changed(data["homes"], "own", lambda cells: cells.__setitem__(3, 77))
    assert seem_computed(schema, {**data, "homes": wrong}) == []


def test_real_households() -> None:
    schema, tables = load_detroit()
    assert seem_computed(schema, tables) == []
    bare = Schema.from_text(re.sub(r", derived: [a-z._]+", "", schema_text("detroit")))
    assert seem_computed(bare, tables) == [
        ("children", "the number of members with age under 18"),
        ("race_id", "the race_id of the head"),
        ("age_of_head", "the age of the head"),
    ]


@pytest.mark.parametrize("name", ["acs", "acs-rel", "afst"])
def test_nothing_else_is_named(tmp_path: Path, name: str) -> None:
    """The simulated attributes depend on the members, but none is computed from them."""
    write_simulation(name, tmp_path, groups=5000, seed=1)
    schema = load_schema(name)
    tables = {table: tmp_path / f"{table}.parquet" for table in schema.table_names}
    assert seem_computed(schema, tables) == []


def test_the_commands_say_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = made()
    (tmp_path / "schema.yaml").write_text(TEXT, encoding="utf-8")
    paths = {name: tmp_path / f"{name}.csv" for name in data}
    for name, path in paths.items():
        write_table(data[name], path)
    files = [str(tmp_path / "schema.yaml"), *map(str, paths.values())]
    assert run(["validate", *files]) == 0
    noted = capsys.readouterr().err
    assert (
        "Note: minors seems computed from the members (the number of members with age under 18).\n"
        "If it is, and the unit is `person`, write `derived: true`." in noted
    )
    warn_of_computed(Schema.from_text(TEXT), paths)
    warned = capsys.readouterr().err
    assert warned.count("Warning: ") == len(FORMULAS)
    assert "Warning: region seems computed from the members (the born of the first" in warned


def test_flat_data_has_none() -> None:
    schema = Schema.from_text(
        "{individual: {table: p, attributes: {a: {values: [1, 2]}}}, max_size: 1}"
    )
    assert seem_computed(schema, {"p": pa.table({"a": [1, 2] * 50})}) == []
