"""Linked tables on disk: complete or not at all, and exactly what was drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from generators import sample_encoded
from kinfolk.data.encode import encode
from kinfolk.data.tables import read_source
from kinfolk.errors import KinfolkError
from kinfolk.models.histogram import Histogram
from kinfolk.models.records import Records
from kinfolk.release import release as releases
from kinfolk.release.release import write_sample
from models.listed import tiny_schema
from models.mixtures import random_mixture
from models.test_sample import FLAT, ROLES, model_of, same

FORMATS = pytest.mark.parametrize("form", ["csv", "parquet"])


@FORMATS
@pytest.mark.parametrize("schema", [FLAT, ROLES], ids=["flat", "roles"])
@pytest.mark.parametrize("kind", ["mixture", "histogram"])
def test_what_is_written_is_what_was_drawn(
    kind: str, schema, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(releases, "CHUNK", 64)
    model = model_of(kind, schema, 1)
    seen: list[int] = []
    written = write_sample(
        Records(model=model),
        200,
        tmp_path,
        rng=np.random.default_rng(2),
        format=form,
        progress=seen.append,
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        f"{name}.{form}" for name in schema.table_names
    )
    assert seen == [64, 128, 192, 200]
    drawn = sample_encoded(model, 200, rng=np.random.default_rng(2))
    assert same(encode(schema, written.paths), drawn)
    assert list(written.rows.values()) == ([200, drawn.people] if schema.group else [200])
    if schema.group is not None:
        keys = read_source(written.paths["homes"], ["home"], name="homes").columns["home"]
        assert [int(key) for key in keys.to_pylist()] == list(range(1, 201))


@FORMATS
def test_an_interrupted_run_leaves_what_was_there(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(releases, "CHUNK", 10)
    model = model_of("mixture", ROLES, 1)
    (tmp_path / f"homes.{form}").write_text("before")

    def interrupt(done: int) -> None:
        if done > 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_sample(
            Records(model=model),
            50,
            tmp_path,
            rng=np.random.default_rng(1),
            format=form,
            progress=interrupt,
        )
    assert [path.name for path in tmp_path.iterdir()] == [f"homes.{form}"]
    assert (tmp_path / f"homes.{form}").read_text() == "before"


def test_storage_types_are_kept_where_they_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key of 8 bits holds 127 groups; the column must not change its type on the way."""
    monkeypatch.setattr(releases, "CHUNK", 100)
    schema = tiny_schema([3], [2], max_size=2)
    model = random_mixture(schema, components=5, rng=np.random.default_rng(1))
    types = {
        "homes": {"home": pa.int8(), "g0": pa.dictionary(pa.int8(), pa.int16())},
        "people": {"home": pa.string(), "i0": pa.int8()},
    }
    for form in ("parquet", "csv"):
        write_sample(
            Records(model=model, types=types),
            300,
            tmp_path,
            rng=np.random.default_rng(1),
            format=form,
        )
    homes = pq.read_schema(tmp_path / "homes.parquet")
    people = pq.read_schema(tmp_path / "people.parquet")
    assert homes.field("home").type == pa.int64()
    # Parquet itself writes a dictionary of numbers as numbers.
    assert homes.field("g0").type == pa.int16()
    assert people.field("home").type == pa.string()
    assert people.field("i0").type == pa.int8()
    write_sample(
        Records(model=model, types=types),
        100,
        tmp_path,
        rng=np.random.default_rng(1),
        format="parquet",
    )
    assert pq.read_schema(tmp_path / "homes.parquet").field("home").type == pa.int8()


def test_mistakes_are_said(tmp_path: Path) -> None:
    model = Histogram.uniform(tiny_schema([2], [2], max_size=2))
    with pytest.raises(
        KinfolkError, match=r"format 'xlsx' is unknown. Use one of csv, parquet, dta, sav"
    ):
        write_sample(Records(model=model), 5, tmp_path, rng=np.random.default_rng(1), format="xlsx")
    with pytest.raises(KinfolkError, match="groups: 0"):
        write_sample(Records(model=model), 0, tmp_path, rng=np.random.default_rng(1))
    (tmp_path / "file").write_text("")
    with pytest.raises(KinfolkError, match="cannot be written to"):
        write_sample(Records(model=model), 5, tmp_path / "file", rng=np.random.default_rng(1))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
