"""CSV files: every cell is text, and every line that cannot be split is found."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
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


def csv_options(path: Path, columns: list[str]) -> dict[str, Any]:
    """How CSV is read: every cell as text, an empty cell as blank, nothing else as blank."""
    return {
        "parse_options": pacsv.ParseOptions(delimiter=_delimiter(path), newlines_in_values=True),
        "convert_options": pacsv.ConvertOptions(
            include_columns=columns,
            column_types=dict.fromkeys(columns, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    }


def csv_header(path: Path) -> list[str]:
    """The column names of a CSV file."""
    try:
        _, header = next(_records(path), (0, []))
    except csv.Error:
        what = "the first line cannot be split into column names."
        raise UnreadableError(path.name, what, "Check that it is a CSV file.") from None
    if not header:
        raise UnreadableError(path.name, "the file is empty.", "Check that it is the right one.")
    if "\ufffd" in "".join(header):
        _refuse_bytes(path)
    return header


def read_csv(path: Path, columns: list[str]) -> tuple[pa.Table, list[str]]:
    """Read those of the columns that exist, as text; and say which exist at all."""
    header = csv_header(path)
    present = [c for c in columns if c in header]
    if not present:
        refuse_separator(path, header)
        return pa.table({}), header
    if _has_no_rows(path):
        return pa.table({c: pa.array([], pa.string()) for c in present}), header
    if any(header.count(c) > 1 for c in present):
        return pa.table({}), header
    try:
        table = pacsv.read_csv(path, **csv_options(path, present))
    except pa.ArrowInvalid:
        _refuse_contents(path, len(header))
        raise
    _refuse_open_quote(path)
    return table, header


def csv_batches(
    path: Path, columns: list[str], header: list[str], *, block: int
) -> Iterator[pa.RecordBatch]:
    """The rows of columns that exist, some `block` bytes of the file at a time."""
    if _has_no_rows(path):
        return
    options = pacsv.ReadOptions(block_size=block)
    try:
        with pacsv.open_csv(path, read_options=options, **csv_options(path, columns)) as reader:
            yield from reader
    except pa.ArrowInvalid:
        _refuse_contents(path, len(header))
        raise
    _refuse_open_quote(path)


def row_lines(path: Path) -> list[int]:
    """The line each row begins at: cells may hold line breaks, and empty lines are skipped."""
    lines: list[int] = []
    try:
        for line, _ in _records(path):
            lines.append(line)
    except csv.Error:  # A cell too long for Python's reader; the lines before it are right.
        pass
    return lines[1:]


def _has_no_rows(path: Path) -> bool:
    try:
        return next(islice(_records(path), 1, None), None) is None
    except csv.Error:
        return False


def _delimiter(path: Path) -> str:
    return "\t" if ".tsv" in [s.lower() for s in path.suffixes] else ","


def _open(path: Path) -> IO[bytes]:
    zipped = path.suffix.lower() == ".gz"
    return cast("IO[bytes]", gzip.open(path)) if zipped else path.open("rb")


def _records(path: Path, *, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    """The lines that are not empty, split into cells, each with the number it begins at."""
    with _open(path) as file, io.TextIOWrapper(file, "utf-8-sig", "replace", newline="") as text:
        reader = csv.reader(text, delimiter=_delimiter(path), strict=strict)
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


def refuse_separator(path: Path, header: list[str]) -> None:
    """A file separated by semicolons or tabs looks like one long column; say so."""
    for sign, word in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
        if len(header) == 1 and sign in header[0]:
            what = f"the columns are separated by {word}, not commas."
            raise UnreadableError(path.name, what, "Save it with commas, or as Parquet.")


def _refuse_contents(path: Path, expected: int) -> None:
    """Say why a file cannot be split into rows of cells."""
    _refuse_bytes(path)
    _refuse_open_quote(path)
    _refuse_ragged(path, expected)


def _refuse_bytes(path: Path) -> None:
    """Find the first line that is not in UTF-8."""
    bad: list[tuple[int, bytes]] = []
    with _open(path) as file:
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


def _refuse_ragged(path: Path, expected: int) -> None:
    """Find the first line with too many or too few cells."""
    ragged: list[tuple[int, int]] = []
    with suppress(csv.Error):
        ragged += ((line, len(cells)) for line, cells in _records(path) if len(cells) != expected)
    if ragged:
        line, actual = ragged[0]
        found, more = private(actual), first_of_n(len(ragged), "line")
        noun = "cell" if found == "1" else "cells"
        what = f"{found} {noun}, but the first line has {private(expected)}{more}."
        fix = "Look for an unquoted comma, a missing cell or a line break inside a cell."
        raise UnreadableError(f"{path.name}, line {private(line)}", what, fix)


def _refuse_open_quote(path: Path) -> None:
    """A quote that is never closed would swallow the rest of the file as one cell."""
    with _open(path) as file:
        quotes = sum(block.count(b'"') for block in iter(lambda: file.read(1 << 20), b""))
    if quotes % 2 == 0:
        return
    # A lone quote inside a text, as in 5" pipe, is none of that; Python's reader stops there.
    with suppress(csv.Error):
        for _ in _records(path, strict=True):
            pass
