"""init, simulate, prepare and queries, as a user runs them."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kinfolk.cli.main import run
from kinfolk.data.frames import write_table
from kinfolk.datasets import load_detroit, schema_text
from kinfolk.schema import Schema


@pytest.fixture
def detroit(tmp_path: Path) -> list[str]:
    paths = []
    for name, table in load_detroit().tables.items():
        write_table(table, tmp_path / f"{name}.csv")
        paths.append(str(tmp_path / f"{name}.csv"))
    return paths


def test_a_draft_fits_its_tables_and_warns(
    detroit: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "schema.yaml"
    assert run(["init", *detroit, "-o", str(path)]) == 0
    # It shows values of the data.
    assert path.stat().st_mode & 0o077 == 0
    told = capsys.readouterr()
    assert "leaks" in told.err
    text = path.read_text(encoding="utf-8")
    assert "READ FROM THE DATA" in text
    assert Schema.from_yaml(path).domain == "drafted"
    assert run(["validate", str(path), *detroit]) == 0
    assert "domain: drafted" in capsys.readouterr().err


def test_a_schema_is_not_overwritten(
    detroit: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "schema.yaml"
    path.write_text("mine", encoding="utf-8")
    assert run(["init", *detroit, "-o", str(path)]) == 2
    assert "the file exists" in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == "mine"
    assert run(["init", *detroit, "-o", str(path), "--force"]) == 0


@pytest.mark.parametrize("name", ["acs", "acs-red", "acs-rel", "afst"])
def test_simulated_tables_validate(name: str, tmp_path: Path) -> None:
    assert run(["simulate", name, "--groups", "300", "--seed", "4", "-o", str(tmp_path)]) == 0
    schema = Schema.from_yaml(tmp_path / "schema.yaml")
    tables = [str(tmp_path / f"{table}.parquet") for table in schema.table_names]
    assert pq.read_metadata(tables[0]).num_rows == 300
    assert run(["validate", str(tmp_path / "schema.yaml"), *tables]) == 0


def test_queries_are_counted_listed_and_exported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "schema.yaml"
    path.write_text(schema_text("acs-red"), encoding="utf-8")
    assert run(["queries", str(path), "--list", "3"]) == 0
    shown = capsys.readouterr().out
    assert "1,333" in shown
    assert "2,666" in shown
    assert shown.count("Share of ") == 3
    for suffix in (".csv", ".parquet"):
        out = tmp_path / f"queries{suffix}"
        assert run(["queries", str(path), "--export", str(out)]) == 0
        assert out.exists()
    assert pq.read_table(tmp_path / "queries.parquet").num_rows == 2666


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-k", "50"], "k = 50, but there are 9 attributes"),
        (["--attribute", "sexx"], "attribute 'sexx' is unknown"),
        (["--level", "relation"], "need roles and relations"),
        (["--export", "queries.txt"], "the file type is unknown"),
    ],
)
def test_bad_workloads_get_one_message(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "schema.yaml"
    path.write_text(schema_text("acs-red"), encoding="utf-8")
    assert run(["queries", str(path), *options]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert "Traceback" not in told


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "give either --ipums"),
        (["--ipums", "nothing.csv"], "nothing.csv"),
        (["--pums", "h.csv", "p.csv"], "h.csv"),
    ],
)
def test_prepare_says_what_is_missing(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["prepare", "acs", *options, "-o", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
