"""Compiled loops run wherever kinfolk is installed, and trust no code that others may have kept."""

from __future__ import annotations

import importlib.util
import itertools
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import kinfolk
from kinfolk.compiled import private_cache

SOURCE = """\
from kinfolk.compiled import compiled

@compiled()
def twice(number):
    return 2 * number
"""
COUNTER = itertools.count()

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners are of POSIX")


@pytest.fixture(autouse=True)
def nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user without a home; temporary files are the only ones that can be written."""
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, "/dev/null/nobody")
    scratch = tmp_path / "scratch"
    scratch.mkdir(mode=0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    private_cache.cache_clear()
    yield scratch
    private_cache.cache_clear()


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A module of which nothing can be kept beside it: not even root makes a folder of a file."""
    folder = tmp_path / "installed"
    folder.mkdir()
    (folder / "loops.py").write_text(SOURCE)
    (folder / "__pycache__").touch()
    return folder / "loops.py"


def imported(path: Path) -> ModuleType:
    """The module anew, as another run would have it."""
    spec = importlib.util.spec_from_file_location(f"loops_{next(COUNTER)}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_without_a_folder_to_write_to_the_next_run_finds_it_among_the_temporary_files(
    installed: Path, nowhere_else: Path
) -> None:
    first = imported(installed).twice
    assert first(4) == 8
    assert sum(first.stats.cache_hits.values()) == 0
    (kept,) = nowhere_else.iterdir()
    assert kept.name == f"kinfolk-compiled-{os.geteuid()}"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    again = imported(installed).twice
    assert again(4) == 8
    assert sum(again.stats.cache_hits.values()) == 1


def test_libraries_of_others_keep_theirs_where_they_did(installed: Path) -> None:
    import numba

    before = numba.config.CACHE_DIR
    imported(installed)
    assert before == numba.config.CACHE_DIR


def plant_link(place: Path) -> None:
    elsewhere = place.with_name("elsewhere")
    elsewhere.mkdir(mode=0o700)
    place.symlink_to(elsewhere)


def plant_open_folder(place: Path) -> None:
    place.mkdir()
    place.chmod(0o777)


def plant_file(place: Path) -> None:
    place.touch()


@pytest.mark.parametrize("plant", [plant_link, plant_open_folder, plant_file])
def test_what_somebody_else_may_have_put_there_is_not_used(
    installed: Path, nowhere_else: Path, plant: Any
) -> None:
    place = nowhere_else / f"kinfolk-compiled-{os.geteuid()}"
    plant(place)
    assert private_cache() is None
    twice = imported(installed).twice
    assert twice(4) == 8
    assert twice.stats.cache_path is None
    assert not [path for path in nowhere_else.rglob("*") if path.suffix in (".nbi", ".nbc")]


def test_a_folder_of_somebody_else_is_not_used(
    nowhere_else: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    me = os.geteuid()
    (nowhere_else / f"kinfolk-compiled-{me + 1}").mkdir(mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    assert private_cache() is None


def test_where_others_may_rename_folders_nothing_is_kept(nowhere_else: Path) -> None:
    nowhere_else.chmod(0o777)
    assert private_cache() is None
    private_cache.cache_clear()
    nowhere_else.chmod(0o1777)
    assert private_cache() is not None


def test_a_read_only_image_in_which_it_ran_once_need_not_compile_again(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = installed.parent / "__pycache__"
    beside.unlink()
    imported(installed).twice(4)
    assert list(beside.glob("*.nbi"))
    temporary = tempfile.TemporaryFile

    def read_only(*given: Any, dir: Any = None, **options: Any) -> Any:  # noqa: A002
        if Path(dir) == beside:
            raise PermissionError
        return temporary(*given, dir=dir, **options)

    monkeypatch.setattr(tempfile, "TemporaryFile", read_only)
    again = imported(installed).twice
    assert Path(again.stats.cache_path) != beside
    assert again(4) == 8
    assert sum(again.stats.cache_hits.values()) == 1


def test_every_loop_that_is_kept_is_declared_in_this_way() -> None:
    root = Path(kinfolk.__file__).parent
    those = [path for path in root.rglob("*.py") if "cache=True" in path.read_text("utf-8")]
    assert those == [root / "compiled.py"]
