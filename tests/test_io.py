"""Files are there as a whole or not at all, and nobody else says where they go."""

from __future__ import annotations

import errno
import os
import tempfile
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from kinfolk import _io
from kinfolk._io import address, local_path, new_file, passing_folder, write_at, write_whole
from kinfolk.data.buckets import private_folder
from kinfolk.errors import KinfolkError


def test_what_was_there_stays_until_the_new_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("before")

    def interrupted() -> None:
        with new_file(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
    write_whole(path, "after")
    assert path.read_text() == "after"
    assert list(tmp_path.iterdir()) == [path]


def test_a_planted_link_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where somebody could guess the temporary name."""
    elsewhere, path = tmp_path / "elsewhere", tmp_path / "table.csv"
    elsewhere.write_text("precious")
    monkeypatch.setattr(_io.secrets, "token_hex", lambda size: "0" * 2 * size)
    (tmp_path / ".table.csv.00000000.partial").symlink_to(elsewhere)
    with pytest.raises(FileExistsError):
        write_whole(path, "mine")
    assert elsewhere.read_text() == "precious"
    assert not path.exists()


def test_a_link_under_the_name_itself_is_replaced(tmp_path: Path) -> None:
    elsewhere, path = tmp_path / "elsewhere", tmp_path / "table.csv"
    elsewhere.write_text("precious")
    path.symlink_to(elsewhere)
    write_whole(path, "mine", durable=True)
    assert (elsewhere.read_text(), path.read_text()) == ("precious", "mine")
    assert not path.is_symlink()


def test_a_full_disk_is_told_by_the_name_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(_io, "_flush", full)
    path = tmp_path / "model.kinfolk"
    with pytest.raises(OSError, match="No space left") as caught:
        write_whole(path, b"content", durable=True)
    assert caught.value.filename == str(path)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_told_by_the_name_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "table.csv"
    with pytest.raises(FileNotFoundError) as caught:
        write_whole(path, "text")
    assert caught.value.filename == str(path)


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
def test_the_mode_is_given_before_there_is_content(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    with new_file(path, mode=0o600) as file:
        partial = next(tmp_path.iterdir())
        assert partial.stat().st_mode & 0o777 == 0o600
        file.write(b"line")
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_full_disk_is_told_by_the_name_of_a_file_that_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int, content: object, offset: int) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    path = tmp_path / "ledger.jsonl"
    with path.open("wb") as file, pytest.raises(OSError, match="No space left") as caught:
        write_at(file.fileno(), b"line", 0, path=path)
    assert caught.value.filename == str(path)


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/scratch/kinfolk-1")
NOWHERE = FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")


@pytest.mark.parametrize("folder", [passing_folder, private_folder])
@pytest.mark.parametrize(
    ("refusal", "says"),
    [
        (FULL, "/scratch/kinfolk-1: temporary files cannot be written (No space left on device)"),
        (NOWHERE, "temporary files cannot be written (there is no place for them)"),
    ],
    ids=["full", "nowhere"],
)
def test_no_room_for_temporary_files_is_said_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
    folder: type[AbstractContextManager[Path]],
    refusal: OSError,
    says: str,
) -> None:
    def refuse(*given: object, **options: object) -> str:
        raise refusal

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    with pytest.raises(KinfolkError) as caught, folder():
        pass
    fix = "Name a folder with room in the environment variable TMPDIR."
    assert str(caught.value) == f"{says}. {fix}"


def test_an_address_of_this_machine_is_a_path() -> None:
    expected = Path("/data/my homes.csv")
    for given in ("file:///data/my%20homes.csv", "file://localhost/data/my%20homes.csv"):
        assert local_path(given) == expected
    # As it is after somebody has made a path of it.
    assert local_path(Path("file:///data/my%20homes.csv")) == expected
    for plain in ("homes.csv", "/data/homes.csv", "C:/homes.csv", "a:b/homes.csv"):
        assert local_path(plain) == Path(plain)


@pytest.mark.parametrize("given", ["s3a://b/k.parquet", Path("s3a://b/k.parquet")])
def test_an_address_of_elsewhere_is_refused_as_it_was_written(given: str | Path) -> None:
    with pytest.raises(
        KinfolkError, match=r"^s3a://b/k\.parquet: is not on this machine\. Copy it"
    ):
        local_path(given)
    assert address(given) == "s3a://b/k.parquet"


def test_another_machine_is_no_path_of_this_one() -> None:
    with pytest.raises(KinfolkError, match=r"file://server/homes\.csv: is not on this machine"):
        local_path("file://server/homes.csv")
