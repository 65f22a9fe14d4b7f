"""Rows of both tables in temporary files, by group: all of a group in the same bucket.

What is true of a group can be checked and counted bucket by bucket, however large the tables are.
The files hold private rows: nobody else may read them, and they end with their run. Their folder is
locked for as long as its process lives. The operating system drops the lock when the process ends,
however it ends; what `kill -9` or a power cut has left, the next run of the same user on the same
machine recognises by the free lock, and removes.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc as ipc
import pyarrow.types as pt

from kinfolk._io import fcntl_or_none, making_temporary
from kinfolk.data.columns import column_kind
from kinfolk.data.membership import stored_ids
from kinfolk.errors import KinfolkError

LOCK = "lock"
ATTEMPTS = 20


_locks = fcntl_or_none
"""None on a platform without it, where nothing is ever swept."""


@contextmanager
def private_folder() -> Iterator[Path]:
    """A new folder that only its owner may enter, gone afterwards with all that is in it.

    >>> with private_folder() as folder:
    ...     oct(folder.stat().st_mode & 0o777)
    '0o700'
    >>> folder.exists()
    False
    """
    folder, lock = _locked_folder()
    try:
        yield folder
    finally:
        try:
            with _opened(folder) as inside:
                _empty(inside)
            folder.rmdir()
        finally:
            os.close(lock)


def make_private(path: Path) -> None:
    """Create an empty file that only its owner may read and write, whatever the umask."""
    os.close(_create(path))


def remove_leftovers() -> None:
    """Remove what dead processes of this user have left; follows no link, and waits for nobody."""
    if _locks is None:
        return
    with suppress(OSError), _opened(Path(tempfile.gettempdir())) as base:
        for name in [name for name in os.listdir(base) if name.startswith(_prefix())]:
            with suppress(OSError), _opened(name, within=base) as folder:
                _remove_if_dead(base, name, folder)


def _prefix() -> str:
    # Some file systems lock for one machine only: leave folders of other machines alone.
    host = re.sub(r"[^A-Za-z0-9]", "_", socket.gethostname())[:40]
    return f"kinfolk-rows-{host}-"


def _locked_folder() -> tuple[Path, int]:
    for _ in range(ATTEMPTS):
        with making_temporary():
            folder = Path(tempfile.mkdtemp(prefix=_prefix()))
        folder.chmod(0o700)
        # Until it is locked, a sweep may take the folder for a dead one; then another is made.
        try:
            lock = _create(folder / LOCK)
        except FileNotFoundError:
            continue
        except OSError:
            folder.rmdir()
            raise
        try:
            _take(lock)
        except BlockingIOError:
            os.close(lock)
            continue
        except OSError:
            # No locks on this file system: nobody else can take this one either.
            return folder, lock
        if os.fstat(lock).st_nlink:
            return folder, lock
        os.close(lock)
    raise KinfolkError(f"{folder}: temporary files cannot be locked. Set TMPDIR to another folder.")


def _remove_if_dead(base: int, name: str, folder: int) -> None:
    if os.fstat(folder).st_uid != os.geteuid():
        return
    try:
        lock = os.open(LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except FileNotFoundError:
        # It died before it had written anything; a folder with something in it stays.
        os.rmdir(name, dir_fd=base)
        return
    try:
        if stat.S_ISREG(os.fstat(lock).st_mode):
            _take(lock)
            _empty(folder)
            os.rmdir(name, dir_fd=base)
    finally:
        os.close(lock)


def _empty(folder: int) -> None:
    """The lock goes last, so that whoever is stopped halfway leaves a folder that can be swept."""
    for entry in [entry for entry in os.listdir(folder) if entry != LOCK]:
        if stat.S_ISDIR(os.lstat(entry, dir_fd=folder).st_mode):
            shutil.rmtree(entry, dir_fd=folder)
        else:
            os.unlink(entry, dir_fd=folder)
    os.unlink(LOCK, dir_fd=folder)


def _take(lock: int) -> None:
    """Take a lock that nobody holds; BlockingIOError where somebody does."""
    if _locks is not None:
        _locks.flock(lock, _locks.LOCK_EX | _locks.LOCK_NB)


def _create(path: Path) -> int:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    os.fchmod(handle, 0o600)
    return handle


@contextmanager
def _opened(folder: Path | str, *, within: int | None = None) -> Iterator[int]:
    """A folder itself, and not whatever has its name later; a link is refused inside another."""
    flags = os.O_RDONLY | os.O_DIRECTORY | (0 if within is None else os.O_NOFOLLOW)
    handle = os.open(folder, flags, dir_fd=within)
    try:
        yield handle
    finally:
        os.close(handle)


Hashes = npt.NDArray[np.uint64]
Piece = tuple[int, pa.Table]
"""Some rows of a table: of the groups (0), or of the individuals (1); and these rows."""

TABLES = 2
BITS = 6
FANOUT = 2**BITS
"""Buckets that a table is spread over at once: as many files are open."""
LEVELS = 64 // BITS - 1
"""How often a bucket can be spread further, before the hash runs out of bits."""


def cost(table: pa.Table) -> int:
    """About how many bytes a table takes while it is encoded and counted."""
    rows, columns = int(table.num_rows), int(table.num_columns)
    return 2 * int(table.nbytes) + rows * (8 * columns + 128)


def hash_ids(ids: pa.ChunkedArray, *, as_text: bool) -> Hashes:
    """(rows,) equal ids have equal hashes, in whatever type they are stored.

    `as_text` compares numbers by how they are written, for a table whose cells are plain text.

    >>> one = hash_ids(pa.chunked_array([[7, 8, None]]), as_text=False)
    >>> two = hash_ids(pa.chunked_array([[7.0, 9.5, None]]), as_text=False)
    >>> (one == two).tolist()
    [True, False, True]
    """
    ids = stored_ids(ids)
    if column_kind(ids.type) == "number" and not as_text:
        numbers = pc.fill_null(ids.cast(pa.float64(), safe=False), 0).to_numpy()
        # Minus zero is zero.
        return mix((numbers + 0.0).view(np.uint64))
    try:
        tests = (pt.is_binary, pt.is_large_binary, pt.is_fixed_size_binary)
        is_bytes = any(test(ids.type) for test in tests)
        cells = ids.cast(pa.large_binary() if is_bytes else pa.large_string())
    except pa.ArrowException:
        # Ids that cannot be written down: whether they can be compared is for others to say.
        return np.zeros(len(ids), np.uint64)
    return np.concatenate([np.zeros(0, np.uint64), *map(_hash_text, cells.chunks)])


def _hash_text(cells: pa.Array) -> Hashes:
    """Byte after byte of all cells together: FNV-1a."""
    _, offsets, data = cells.buffers()
    hashes = np.full(len(cells), 0xCBF29CE484222325, np.uint64)
    ends = np.frombuffer(offsets, np.int64)[cells.offset : cells.offset + len(cells) + 1]
    letters = np.frombuffer(data or b"", np.uint8)
    left = np.flatnonzero((ends[1:] > ends[:-1]) & np.asarray(cells.is_valid()))
    position = 0
    while len(left):
        hashes[left] ^= letters[ends[left] + position]
        hashes[left] *= np.uint64(0x100000001B3)
        position += 1
        left = left[ends[left + 1] - ends[left] > position]
    return mix(hashes)


def mix(bits: Hashes) -> Hashes:
    """Spread neighbouring numbers over all bits (the end of SplitMix64)."""
    bits = bits ^ (bits >> np.uint64(30))
    bits = bits * np.uint64(0xBF58476D1CE4E5B9)
    bits = bits ^ (bits >> np.uint64(27))
    bits = bits * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


class Buckets:
    """Tables spread over files by the hash of their first column, the group's id."""

    def __init__(self, directory: Path, *, as_text: bool, level: int = 0) -> None:
        self._directory, self._as_text, self._level = directory, as_text, level
        self._costs = np.zeros((TABLES, FANOUT))
        self.rows = [0] * TABLES
        """How many rows of each table there are."""

    def fill(self, pieces: Iterable[Piece]) -> None:
        """Spread tables, one after the other; rows keep their order within a bucket."""
        for table, those in groupby(pieces, key=itemgetter(0)):
            # Also around their end, when the last bytes are written.
            with _writing(self._directory), ExitStack() as files:
                writers: dict[int, ipc.RecordBatchStreamWriter] = {}
                for _, piece in those:
                    self.rows[table] += piece.num_rows
                    plain = _plain(piece)
                    each = cost(plain) / max(plain.num_rows, 1)
                    for bucket, part in self._spread(plain):
                        if bucket not in writers:
                            path = self._path(table, bucket)
                            make_private(path)
                            file = files.enter_context(pa.OSFile(str(path), "wb"))
                            writer = files.enter_context(ipc.new_stream(file, part.schema))
                            writers[bucket] = writer
                        writers[bucket].write_table(part)
                        self._costs[table, bucket] += part.num_rows * each

    def parts(self, memory: int) -> Iterator[list[Piece]]:
        """Pieces of both tables, in parts of whole groups that cost no more than `memory`.

        A part that cannot be made smaller, such as a single group, may cost more.
        """
        costs = self._costs.sum(axis=0)
        chosen: list[int] = []
        for bucket in map(int, np.flatnonzero(costs)):
            if chosen and costs[[*chosen, bucket]].sum() > memory:
                yield self._take(chosen)
                chosen = []
            if costs[bucket] > memory and self._level < LEVELS:
                yield from self._finer(bucket, memory)
            else:
                chosen.append(bucket)
        if chosen:
            yield self._take(chosen)

    def _finer(self, bucket: int, memory: int) -> Iterator[list[Piece]]:
        """Spread a bucket that is too large by the next bits of the hash."""
        directory = self._directory / str(bucket)
        with _writing(self._directory):
            directory.mkdir(mode=0o700)
            # Whatever the umask.
            directory.chmod(0o700)
        finer = Buckets(directory, as_text=self._as_text, level=self._level + 1)
        finer.fill(self._pieces(bucket))
        self._discard(bucket)
        filled = np.flatnonzero(finer._costs.sum(axis=0))
        if len(filled) == 1:
            # One group, most likely: spreading it once more would change nothing.
            yield finer._take([int(filled[0])])
        else:
            yield from finer.parts(memory)

    def _spread(self, piece: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        hashes = hash_ids(piece.column(0), as_text=self._as_text)
        turned = hashes >> np.uint64(BITS * self._level)
        bucket = (turned % np.uint64(FANOUT)).astype(np.uint8)
        order = np.argsort(bucket, kind="stable")
        ends = np.searchsorted(bucket[order], np.arange(FANOUT + 1))
        spread = piece.take(order)
        for index in map(int, np.flatnonzero(np.diff(ends))):
            yield index, spread.slice(ends[index], ends[index + 1] - ends[index])

    def _path(self, table: int, bucket: int) -> Path:
        return self._directory / f"{table}-{bucket}.arrows"

    def _pieces(self, bucket: int) -> Iterator[Piece]:
        for table in range(TABLES):
            path = self._path(table, bucket)
            if path.exists():
                with pa.OSFile(str(path)) as file, ipc.open_stream(file) as reader:
                    for batch in reader:
                        yield table, pa.Table.from_batches([batch])

    def _take(self, chosen: list[int]) -> list[Piece]:
        """Read some buckets and give their room on the disk back."""
        found = [piece for bucket in chosen for piece in self._pieces(bucket)]
        for bucket in chosen:
            self._discard(bucket)
        return found

    def _discard(self, bucket: int) -> None:
        for table in range(TABLES):
            self._path(table, bucket).unlink(missing_ok=True)


@contextmanager
def _writing(directory: Path) -> Iterator[None]:
    """A disk that is full is for the user to see to."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error).split("\n")[0]
        raise KinfolkError(
            f"{directory}: temporary files cannot be written ({reason}). They take about as much "
            "room as the tables do uncompressed. Name a folder with more room in the environment "
            "variable TMPDIR, or allow more memory."
        ) from None


def _plain(piece: pa.Table) -> pa.Table:
    """A piece without dictionaries and views, which differ from piece to piece."""
    fields = []
    for field in piece.schema:
        dtype = field.type.value_type if pt.is_dictionary(field.type) else field.type
        fields.append(field.with_type(pa.large_string() if pt.is_string_view(dtype) else dtype))
    return piece.cast(pa.schema(fields))
