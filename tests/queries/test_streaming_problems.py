"""Files that cannot be counted: the same messages as in memory, and nothing left behind."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from homes import HOMES, MISTAKES, Tables, homes, written
from kinfolk.data import buckets
from kinfolk.data.encode import encode
from kinfolk.errors import DataError, KinfolkError
from kinfolk.queries.streaming import MEMORY, count_files
from kinfolk.queries.workload import Workload


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("spoil", MISTAKES)
def test_problems_are_the_same_as_in_memory(
    tmp_path: Path, scratch: Path, spoil: Callable[[Tables], Tables], kind: str
) -> None:
    """Row numbers included: they are those of the file, not of the bucket."""
    paths = written(tmp_path, spoil(homes()), kind)
    with pytest.raises(DataError) as expected:
        encode(HOMES, paths)
    workload = Workload.of(HOMES)
    for memory in (50_000, MEMORY):
        with pytest.raises(DataError) as found:
            count_files(workload, paths, memory=memory)
        assert found.value.problems == expected.value.problems
        assert ("only part of the rows was checked" in str(found.value)) == (memory != MEMORY)
    assert not list(scratch.iterdir())


def test_the_first_row_of_several_is_the_first_in_the_file(tmp_path: Path) -> None:
    tables = homes()
    sex = tables["people"]["sex"].to_pylist()
    sex[100:] = ["x"] * (len(sex) - 100)
    tables["people"] = tables["people"].set_column(0, "sex", pa.array(sex))
    paths = written(tmp_path, tables)
    # Memory for a few buckets at a time: their rows alternate in the file.
    with pytest.raises(DataError, match=r"people.parquet, row 10\d, column sex: "):
        count_files(Workload.of(HOMES), paths, memory=100_000)


def test_a_line_that_cannot_be_split(tmp_path: Path, scratch: Path) -> None:
    paths = written(tmp_path, homes(9000), "csv")
    with paths["people"].open("a") as file:
        file.write("m\n")
    with pytest.raises(DataError) as expected:
        encode(HOMES, paths)
    with pytest.raises(DataError) as found:
        count_files(Workload.of(HOMES), paths, memory=50_000)
    assert found.value.problems == expected.value.problems
    assert not list(scratch.iterdir())


@pytest.mark.parametrize("memory", [50_000, MEMORY])
def test_tables_without_rows_or_without_small_groups(tmp_path: Path, memory: int) -> None:
    tables = homes()
    workload = Workload.of(HOMES)
    empty = {**tables, "homes": tables["homes"].slice(0, 0)}
    with pytest.raises(DataError, match=r"homes.csv: the table has no rows"):
        count_files(workload, written(tmp_path, empty, "csv"), memory=memory)
    strict = replace(HOMES, max_size=1, oversize="drop")
    pairs = {**tables, "people": pa.concat_tables([tables["people"]] * 2)}
    with pytest.raises(DataError, match=r"people.csv: no group is left: 400 over max_size"):
        count_files(Workload.of(strict), written(tmp_path, pairs, "csv"), memory=memory)


def test_what_is_no_file_or_lacks_columns(tmp_path: Path) -> None:
    workload = Workload.of(HOMES)
    tables = homes()
    paths = written(tmp_path, tables)
    with pytest.raises(KinfolkError, match="homes: Table is not a path"):
        count_files(workload, {**paths, "homes": tables["homes"]})
    with pytest.raises(KinfolkError, match="Pass a dict with exactly these keys"):
        count_files(workload, {"homes": paths["homes"]})
    for memory in (0, -1, 1.5, True, "1GB"):
        with pytest.raises(KinfolkError, match=r"memory is .* Give a number of bytes"):
            count_files(workload, paths, memory=memory)  # type: ignore[arg-type]
    spoiled = {"homes": tables["homes"].rename_columns(["vehicles", "home"])}
    paths = {**written(tmp_path, spoiled), "people": tmp_path / "nowhere.csv"}
    with pytest.raises(DataError, match="2 problems") as caught:
        count_files(workload, paths)
    assert "column veh: there is no such column" in str(caught.value)
    assert "there is no such file" in str(caught.value)


@pytest.mark.parametrize("stage", ["reading", "counting"])
def test_an_interrupt_leaves_nothing_behind(tmp_path: Path, scratch: Path, stage: str) -> None:
    paths = written(tmp_path, homes(9000))
    seen: list[str] = []

    def interrupt(now: str, number: int) -> None:
        seen.extend(path.name for path in scratch.iterdir())
        if now == stage and number > 12_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        count_files(Workload.of(HOMES), paths, memory=50_000, progress=interrupt)
    assert seen, "there was something to leave behind"
    assert not list(scratch.iterdir())


def test_a_full_disk(tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = written(tmp_path, homes())

    def full(*given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(buckets.ipc, "new_stream", full)
    with pytest.raises(KinfolkError, match=r"No space left on device.*TMPDIR"):
        count_files(Workload.of(HOMES), paths, memory=50_000)
    assert not list(scratch.iterdir())
