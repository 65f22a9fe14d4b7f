"""Data is recognised by what is in it, and by nobody without the key."""

from __future__ import annotations

import gzip
import hmac
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from homes import HOMES, homes, written
from kinfolk.data.encode import encode
from kinfolk.data.frames import to_frame
from kinfolk.data.tables import TableFile, digest_tables
from kinfolk.errors import DataError
from kinfolk.queries.streaming import MEMORY, count_files
from kinfolk.queries.workload import Workload


def digest(tables: Any, key: bytes = b"key") -> str:
    return digest_tables(tables, hmac.new(key, digestmod="sha256"))


def test_the_same_data_the_same_digest(tmp_path: Path) -> None:
    for kind in ("pandas", "polars", "pyarrow"):
        tables = {name: to_frame(table, kind) for name, table in homes().items()}
        again = {name: to_frame(table, kind) for name, table in reversed(homes().items())}
        assert digest(tables) == digest(again)
        assert digest(tables) != digest(tables, b"another key")
    paths = written(tmp_path, homes())
    assert digest(paths) == digest({name: str(path) for name, path in paths.items()})
    chunked = {name: pa.concat_tables([t.slice(0, 7), t.slice(7)]) for name, t in homes().items()}
    assert digest(chunked) == digest(homes())


def test_one_cell_makes_another_digest(tmp_path: Path) -> None:
    tables = homes()
    veh = tables["homes"]["veh"].to_pylist()
    veh[-1] = (veh[-1] + 1) % 3
    other = {**tables, "homes": tables["homes"].set_column(0, "veh", pa.array(veh))}
    assert digest(tables) != digest(other)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert digest(written(tmp_path / "a", tables)) != digest(written(tmp_path / "b", other))
    swapped = {"homes": tables["people"], "people": tables["homes"]}
    assert digest(tables) != digest(swapped)


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
@pytest.mark.parametrize("memory", [50_000, MEMORY])
def test_a_file_is_opened_once_and_a_csv_file_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, memory: int
) -> None:
    """What is digested is what was counted, whatever stands at the path by then."""
    paths = written(tmp_path, homes(), kind.removesuffix(".gz"))
    if kind == "csv.gz":
        for name, path in paths.items():
            paths[name] = path.with_name(f"{path.name}.gz")
            paths[name].write_bytes(gzip.compress(path.read_bytes()))
    expected = digest(paths)
    opened: list[str] = []
    real = Path.open

    def watched(path: Path, *given: Any, **named: Any) -> Any:
        opened.extend([path.name] if path.parent == tmp_path else [])
        return real(path, *given, **named)

    monkeypatch.setattr(Path, "open", watched)
    files = {name: TableFile(path) for name, path in paths.items()}
    counter = count_files(Workload.of(HOMES), files, memory=memory)
    assert counter.groups == 400
    assert files["people"].schema.names == ["sex", "home"]
    once = sorted(path.name for path in paths.values())
    assert sorted(opened) == ([] if kind == "parquet" else once)
    if kind != "parquet":
        paths["people"].unlink()
    assert digest(files) == expected
    assert sorted(opened) == once


def test_columns_that_nobody_can_read_do_not_matter() -> None:
    """They may stand in a table, as long as no schema names them."""
    tables = {name: table.to_pandas() for name, table in homes().items()}
    odd = [np.datetime64("2020-01-01"), np.int8(1), *([None] * (len(tables["homes"]) - 2))]
    tables["homes"] = tables["homes"].assign(odd=pd.Series(odd, dtype=object))
    assert len(digest(tables)) == 64
    assert encode(HOMES, tables).groups == 400
    lazy = {name: pl.LazyFrame(table.to_pandas()) for name, table in homes().items()}
    assert digest(lazy) == digest({name: frame.collect() for name, frame in lazy.items()})


def test_numpys_dates_among_other_values_are_refused() -> None:
    """Arrow ends the process where it meets them, so it must not."""
    tables = {name: table.to_pandas() for name, table in homes().items()}
    odd = [np.datetime64("2020-01-01"), *([np.int8(1)] * (len(tables["homes"]) - 1))]
    tables["homes"]["veh"] = pd.Series(odd, dtype=object)
    with pytest.raises(DataError, match="column veh"):
        encode(HOMES, tables)
