"""CSV files: every cell is text, and every line that cannot be split is found.

Columns are separated by commas, or by whatever the first line has instead of them.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import hashlib
import io
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path, PurePath
from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.csv as pacsv

from kinfolk.errors import KinfolkError, Problem, private, redacting
from kinfolk.schema.attributes import shown


class UnreadableError(KinfolkError):
    """A table that cannot be read at all."""

    def __init__(self, where: str, what: str, fix: str) -> None:
        self.problem = Problem(where=where, what=what, fix=fix)
        super().__init__(str(self.problem))


def first_of_n(count: int, noun: str = "row") -> str:
    """Say that the place named is the first of several.

    >>> first_of_n(1), first_of_n(1200, "group")
    ('', ' (1,200 such groups; this is the first)')
    """
    if count < 2 or redacting():
        return ""
    return f" ({private(f'{count:,}')} such {noun}s; this is the first)"


def reason(error: BaseException) -> str:
    """What the system says, without Python's or Arrow's own words where that is possible."""
    number = getattr(error, "errno", None)
    if number:
        return os.strerror(number)
    text = str(error.args[0] if error.args else type(error).__name__).split("\n")[0]
    return private(text if len(text) <= 100 else f"{text[:97]}...")


SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
"""What may stand between cells, in words; the first that the line of column names has."""
LONGEST_LINE = 2**20
"""Bytes of the first line that are looked at for a separator."""


class CsvFile:
    """A CSV file that is opened once: its first line, its rows in one go, and its digest."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.digest: bytes | None = None
        """The SHA-256 of its bytes, once all of them were read."""
        self._file = path.open("rb")
        try:
            self._separator = _separator(_unpacked(self._file, path), path)
            self._file.seek(0)
            self.header, self._has_rows = self._read_head()
        except BaseException:
            self._file.close()
            raise
        self.schema = pa.schema([(name, pa.string()) for name in self.header])

    def close(self) -> None:
        """Give the file back."""
        self._file.close()

    def _read_head(self) -> tuple[list[str], bool]:
        """The column names, and whether there is a row."""
        name = self.path.name
        unpacked = _unpacked(self._file, self.path)
        with closing(_split(unpacked, self.path, self._separator)) as records:
            try:
                _, header = next(records, (0, []))
            except csv.Error:
                what = "the first line cannot be split into column names."
                raise UnreadableError(name, what, "Check that it is a CSV file.") from None
            if not header:
                fix = "Check that it is the right one."
                raise UnreadableError(name, "the file is empty.", fix)
            if "\ufffd" in "".join(header):
                _refuse_bytes(self.path)
            try:
                return header, next(records, None) is not None
            except csv.Error:
                return header, True

    def rows(self, columns: list[str], *, block: int) -> Iterator[pa.RecordBatch]:
        """The rows of columns that exist, some `block` bytes of the file at a time.

        Every cell is text; an empty one is blank, and nothing else is.
        """
        if not self._has_rows:
            return
        self._file.seek(0)
        digest, quotes = hashlib.sha256(), 0

        def count(piece: bytes) -> None:
            nonlocal quotes
            quotes += piece.count(b'"')

        file: Any = _Watched(self._file, digest.update)
        if _zipped(self.path):
            file = pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "gzip")
        convert = pacsv.ConvertOptions(
            include_columns=columns,
            column_types=dict.fromkeys(columns, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        )
        parse = pacsv.ParseOptions(delimiter=self._separator, newlines_in_values=True)
        options = pacsv.ReadOptions(block_size=block)
        try:
            with pacsv.open_csv(_Watched(file, count), options, parse, convert) as reader:
                yield from reader
        except pa.ArrowInvalid:
            _refuse_bytes(self.path)
            _refuse_open_quote(self.path)
            _refuse_ragged(self.path, len(self.header), self._separator)
            raise
        if quotes % 2:
            _refuse_open_quote(self.path)
        self.digest = digest.digest()


class _Watched(io.RawIOBase):
    """A file that shows somebody every piece that is read of it."""

    def __init__(self, file: IO[bytes], see: Callable[[bytes], None]) -> None:
        self._file, self._see = file, see

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(size)
        self._see(piece)
        return piece


def row_lines(path: Path) -> list[int]:
    """The line each row begins at: cells may hold line breaks, and empty lines are skipped."""
    lines: list[int] = []
    try:
        for line, _ in _records(path):
            lines.append(line)
    except csv.Error:  # A cell too long for Python's reader; the lines before it are right.
        pass
    return lines[1:]


def _separator(file: IO[bytes], path: Path) -> str:
    """What separates the columns, by the name of the file and its first line that is not empty."""
    line = b""
    while not line.removeprefix(codecs.BOM_UTF8).strip() and (line := file.readline(LONGEST_LINE)):
        pass
    return separator_in(line.decode("utf-8", "replace"), path.name)


def separator_in(line: str, name: str) -> str:
    """What separates the columns of a file of that name, by its line of column names.

    >>> separator_in("home;sex", "people.csv"), separator_in("home,sex", "people.tsv")
    (';', '\\t')
    """
    if ".tsv" in [suffix.lower() for suffix in PurePath(name).suffixes]:
        return "\t"
    # Whatever stands in quotes belongs to a name.
    names = "".join(line.split('"')[::2])
    return next((sign for sign in SEPARATORS if sign in names), ",")


def _zipped(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def _unpacked(file: Any, path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.GzipFile(fileobj=file) if _zipped(path) else file)


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    with path.open("rb") as file:
        yield _unpacked(file, path)


def _records(path: Path, *, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    with _opened(path) as file:
        separator = _separator(file, path)
        file.seek(0)
        yield from _split(file, path, separator, strict=strict)


def _split(
    file: IO[bytes], path: Path, separator: str, *, strict: bool = False
) -> Generator[tuple[int, list[str]], None, None]:
    """The lines that are not empty, split into cells, each with the number it begins at."""
    text = io.TextIOWrapper(file, "utf-8-sig", "replace", newline="")
    reader = csv.reader(text, delimiter=separator, strict=strict)
    line = 1
    try:
        for cells in reader:
            if cells:
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        if "unexpected end" not in str(error):
            raise
        what, fix = "a quote is opened and never closed.", "Close it, or double it in a text."
        raise UnreadableError(f"{path.name}, line {private(line)}", what, fix) from None
    finally:
        # Whoever opened the file closes it.
        text.detach()


def _refuse_bytes(path: Path) -> None:
    """Find the first line that is not in UTF-8."""
    bad: list[tuple[int, bytes]] = []
    with _opened(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                bad.append((number, line[max(error.start - 10, 0) : error.end + 10]))
    if bad:
        number, piece = bad[0]
        what = f"{private(shown(piece))} is not text in UTF-8{first_of_n(len(bad), 'line')}."
        fix = "Save the file in UTF-8; it may be in Latin-1, Windows-1252 or UTF-16."
        raise UnreadableError(f"{path.name}, line {private(number)}", what, fix)


def _refuse_ragged(path: Path, expected: int, separator: str) -> None:
    """Find the first line with too many or too few cells."""
    ragged: list[tuple[int, int]] = []
    with suppress(csv.Error):
        ragged += ((line, len(cells)) for line, cells in _records(path) if len(cells) != expected)
    if ragged:
        line, actual = ragged[0]
        found, more = private(actual), first_of_n(len(ragged), "line")
        noun = "cell" if found == "1" else "cells"
        what = f"{found} {noun}, but the first line has {private(expected)}{more}."
        fix = (
            f"Look for an unquoted {SEPARATORS[separator]}, a missing cell or a line break inside "
            "a cell."
        )
        raise UnreadableError(f"{path.name}, line {private(line)}", what, fix)


def _refuse_open_quote(path: Path) -> None:
    """A quote that is never closed would swallow the rest of the file as one cell."""
    with _opened(path) as file:
        quotes = sum(block.count(b'"') for block in iter(lambda: file.read(1 << 20), b""))
    if quotes % 2 == 0:
        return
    # A lone quote inside a text, as in 5" pipe, is none of that; Python's reader stops there.
    with suppress(csv.Error):
        for _ in _records(path, strict=True):
            pass
