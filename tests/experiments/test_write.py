"""Simulated data on disk: complete files or none, in bounded memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kinfolk.datasets import schema_text
from kinfolk.errors import KinfolkError
from kinfolk.experiments.simulate import simulate_tables, write_simulation


def test_files_hold_what_the_simulator_makes(tmp_path: Path) -> None:
    seen: list[int] = []
    out = tmp_path / "new" / "folder"
    report = write_simulation("acs-rel", out, groups=1_200, seed=9, progress=seen.append)
    assert sorted(path.name for path in out.iterdir()) == [
        "households.parquet",
        "persons.parquet",
        "schema.yaml",
    ]
    for table, expected in simulate_tables("acs-rel", groups=1_200, seed=9).items():
        assert pq.read_table(report["paths"][table]).equals(expected)
        assert report["rows"][table] == expected.num_rows
    assert report["paths"]["schema"].read_text(encoding="utf-8") == schema_text("acs-rel")
    assert seen == [1_200]


def test_progress_counts_groups(tmp_path: Path) -> None:
    seen: list[int] = []
    write_simulation("afst", tmp_path, groups=101_000, seed=9, progress=seen.append)
    assert seen == [50_000, 100_000, 101_000]


def test_an_interrupted_run_leaves_what_was_there(tmp_path: Path) -> None:
    write_simulation("acs-red", tmp_path, groups=10, seed=1)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def interrupt(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_simulation("acs-red", tmp_path, groups=500, seed=2, progress=interrupt)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way", encoding="utf-8")
    with pytest.raises(KinfolkError, match=r"cannot write to .*file"):
        write_simulation("acs", blocked, groups=10, seed=1)


def test_nothing_is_created_for_an_impossible_request(tmp_path: Path) -> None:
    with pytest.raises(KinfolkError, match="groups is 0"):
        write_simulation("acs", tmp_path / "out", groups=0, seed=1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc elsewhere")
def test_memory_does_not_grow_with_the_number_of_households(tmp_path: Path) -> None:
    program = (
        "import re, sys\n"
        "from pathlib import Path\n"
        "from kinfolk.experiments.simulate import write_simulation\n"
        "write_simulation('acs', sys.argv[1], groups=int(sys.argv[2]), seed=1)\n"
        # Not ru_maxrss: a child begins with the peak of the process that started it.
        "peak = re.search(r'VmHWM:\\s+([0-9]+) kB', Path('/proc/self/status').read_text())\n"
        "print(int(peak[1]) // 1024)\n"
    )
    peak = [
        int(
            subprocess.run(
                [sys.executable, "-c", program, str(tmp_path), str(groups)],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
        )
        for groups in (50_000, 200_000)
    ]
    assert peak[1] < 600
    assert peak[1] < peak[0] + 100
