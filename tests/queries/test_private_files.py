"""Private rows on disk: for their owner only, and gone with the process or soon after it."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from homes import HOMES, homes, written
from kinfolk.data import buckets
from kinfolk.data.buckets import LOCK, make_private, private_folder, remove_leftovers
from kinfolk.queries.streaming import count_files
from kinfolk.queries.workload import Workload

CHILD = """\
import os, sys, tempfile, time
from pathlib import Path
from kinfolk.queries.streaming import count_files
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema

os.umask(0)
tempfile.tempdir = sys.argv[2]

def wait(stage, number):
    if stage == "counting":
        print("counting", flush=True)
        time.sleep(600)

folder = Path(sys.argv[1])
paths = {name: folder / f"{name}.parquet" for name in ("homes", "people")}
workload = Workload.of(Schema.from_yaml(folder / "schema.yaml"))
count_files(workload, paths, memory=50_000, progress=wait)
"""


def modes(folder: Path) -> dict[str, set[int]]:
    """The permissions of files and of folders below a folder."""
    found: dict[str, set[int]] = {"files": set(), "folders": set()}
    for path in folder.rglob("*"):
        kind = "folders" if path.is_dir() else "files"
        found[kind].add(stat.S_IMODE(path.stat().st_mode))
    return found


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@contextmanager
def abandoned(scratch: Path) -> Iterator[Path]:
    """A folder whose process seems to have died: its lock is free, its rows are there."""
    with private_folder() as living:
        dead = living.with_name(f"{living.name}dead")
        dead.mkdir(0o700)
        for name in (LOCK, "0-1.arrows"):
            make_private(dead / name)
        yield dead


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, Path]:
    (tmp_path / "schema.yaml").write_text(HOMES.to_yaml(), encoding="utf-8")
    return written(tmp_path, homes(1200))


def test_a_killed_run_is_cleared_away_by_the_next(
    tmp_path: Path, scratch: Path, tables: dict[str, Path]
) -> None:
    command = [sys.executable, "-c", CHILD, str(tmp_path), str(scratch)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "counting\n"
            (folder,) = scratch.iterdir()
            left = sorted(folder.rglob("*"))
            assert sum(path.stat().st_size for path in left) > 10_000
            # The child's umask lets everybody read.
            assert modes(scratch) == {"files": {0o600}, "folders": {0o700}}
            # As long as it lives, another run leaves its rows alone.
            count_files(Workload.of(HOMES), tables, memory=50_000)
            assert sorted(folder.rglob("*")) == left
        finally:
            child.send_signal(signal.SIGKILL)
    assert folder.exists()
    count_files(Workload.of(HOMES), tables)
    assert not list(scratch.iterdir())


@pytest.mark.parametrize("mask", [0, 0o022, 0o777])
def test_only_the_owner_may_read(scratch: Path, tables: dict[str, Path], mask: int) -> None:
    seen, inner = set(), False

    def look(stage: str, number: int) -> None:
        nonlocal inner
        found = modes(scratch)
        inner |= bool(list(scratch.glob("*/*/*.arrows")))
        if found["files"]:
            seen.add((*found["files"], *found["folders"]))

    with umask(mask):
        # So little memory that buckets are spread once more, into folders inside the folder.
        count_files(Workload.of(HOMES), tables, memory=10_000, progress=look)
    assert seen == {(0o600, 0o700)}
    assert inner
    assert not list(scratch.iterdir())


def test_what_is_left_goes_and_what_lives_stays(scratch: Path) -> None:
    with abandoned(scratch) as dead, private_folder() as living:
        (dead / "3").mkdir()
        (dead / "3" / "0-3.arrows").write_text("rows")
        remove_leftovers()
        assert not dead.exists()
        assert (living / LOCK).exists()


def test_links_are_not_followed(tmp_path: Path, scratch: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in (LOCK, "rows"):
        (outside / name).write_text("kept")
    with abandoned(scratch) as dead:
        (dead / "inner").symlink_to(outside)
        linked = dead.with_name(f"{dead.name}link")
        linked.symlink_to(outside)
        other = dead.with_name(f"{dead.name}lock")
        other.mkdir()
        (other / LOCK).symlink_to(outside / LOCK)
        remove_leftovers()
        assert not dead.exists()
        assert linked.is_symlink()
        assert (other / LOCK).is_symlink()
    assert sorted(path.name for path in outside.iterdir()) == [LOCK, "rows"]


def test_other_owners_other_machines_and_other_names(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with abandoned(scratch) as dead:
        with monkeypatch.context() as patch:
            patch.setattr(os, "geteuid", lambda: 12345)
            remove_leftovers()
        with monkeypatch.context() as patch:
            patch.setattr(buckets.socket, "gethostname", lambda: "elsewhere")
            remove_leftovers()
        renamed = dead.rename(dead.with_name("kinfolk-notes"))
        remove_leftovers()
        assert sorted(path.name for path in renamed.iterdir()) == ["0-1.arrows", LOCK]


def test_a_folder_without_a_lock_goes_only_if_it_is_empty(scratch: Path) -> None:
    with abandoned(scratch) as dead:
        (dead / LOCK).unlink()
        remove_leftovers()
        assert dead.exists()
        (dead / "0-1.arrows").unlink()
        remove_leftovers()
        assert not dead.exists()


@pytest.mark.parametrize("when", ["made", "locked"])
def test_a_sweep_between_making_and_locking(
    scratch: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """The folder is lost, and another one is made."""
    name = {"made": "_create", "locked": "_take"}[when]
    real = getattr(buckets, name)
    swept = 0

    def late(*given: object) -> object:
        nonlocal swept
        if not swept:
            swept += 1
            monkeypatch.setattr(buckets, name, real)
            remove_leftovers()
        return real(*given)

    monkeypatch.setattr(buckets, name, late)
    with private_folder() as folder:
        assert swept == 1
        assert [path.name for path in scratch.iterdir()] == [folder.name]
        remove_leftovers()
        assert (folder / LOCK).exists()
    assert not list(scratch.iterdir())
