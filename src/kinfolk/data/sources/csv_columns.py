"""The wanted columns of a CSV file, plain, gzipped or inside a ZIP archive."""

from __future__ import annotations

import csv
import gzip
import zipfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from kinfolk.data.sources.records import BLANK, Codes
from kinfolk.errors import KinfolkError

BROKEN = (
    OSError,
    EOFError,
    zlib.error,
    zipfile.BadZipFile,
    NotImplementedError,
    RuntimeError,
    UnicodeDecodeError,
    csv.Error,
    pa.ArrowException,
)
"""Everything that reading a damaged, encrypted or mislabelled file can raise."""


@contextmanager
def readable(path: Path, kind: str) -> Iterator[None]:
    """Turn whatever a bad file raises into one clear message."""
    if not path.exists():
        raise KinfolkError(f"{path}: there is no such file. Check the path.")
    if path.is_dir():
        raise KinfolkError(f"{path}: this is a directory. Name the {kind} file in it.")
    try:
        yield
    except KinfolkError:
        raise
    except BROKEN as error:
        reason = (str(error) or type(error).__name__).splitlines()[0][:120]
        raise KinfolkError(
            f"{path.name}: cannot be read as {kind} ({reason}). "
            "The file is damaged or of another type; download it again."
        ) from None


def read_csv_columns(
    path: Path, wanted: Collection[str], *, prefer: str = ""
) -> dict[str, pa.ChunkedArray]:
    """Read the wanted columns that exist, as text; their names in capitals.

    In an archive every CSV file is read, one below the other; if some of their names begin with
    `prefer`, only those.
    """
    with readable(path, "CSV"):
        parts = [_read_part(path, member, wanted) for member in _members(path, prefer)]
    shared = [name for name in parts[0] if all(name in part for part in parts)]
    return {
        name: pa.chunked_array([c for part in parts for c in part[name].chunks], type=pa.string())
        for name in shared
    }


def _members(path: Path, prefer: str) -> list[str]:
    """The CSV files in an archive; a single nameless one if it is none."""
    if path.suffix.lower() != ".zip":
        return [""]
    with zipfile.ZipFile(path) as archive:
        names = [n for n in archive.namelist() if n.lower().endswith(".csv")]
    chosen = [n for n in names if PurePosixPath(n).name.lower().startswith(prefer)] or names
    if not chosen:
        raise KinfolkError(f"{path.name}: there is no CSV file in it. Check the archive.")
    return sorted(chosen)


@contextmanager
def _opened(path: Path, member: str) -> Iterator[Any]:
    if member:
        with zipfile.ZipFile(path) as archive, archive.open(member) as inside:
            yield inside
    elif path.suffix.lower() == ".gz":
        with gzip.open(path, "rb") as unpacked:
            yield unpacked
    else:
        with path.open("rb") as plain:
            yield plain


def _read_part(path: Path, member: str, wanted: Collection[str]) -> dict[str, pa.ChunkedArray]:
    with _opened(path, member) as file:
        line = file.readline().decode("utf-8-sig")
    header = next(csv.reader([line.rstrip("\r\n")]), [])
    present = {name: name.strip().upper() for name in header if name.strip().upper() in wanted}
    if not present:
        return {}
    capitals = [name.strip().upper() for name in header]
    for name in present.values():
        if capitals.count(name) > 1:
            raise KinfolkError(
                f"{path.name}: the column {name} stands twice in the first line. "
                "Use the file as it was downloaded."
            )
    with _opened(path, member) as file:
        table = pacsv.read_csv(
            file,
            convert_options=pacsv.ConvertOptions(
                include_columns=list(present),
                column_types=dict.fromkeys(present, pa.string()),
                strings_can_be_null=True,
                null_values=[""],
            ),
        )
    return {capital: table.column(name) for name, capital in present.items()}


def to_codes(column: pa.ChunkedArray, *, where: str) -> Codes:
    """Text cells as whole numbers, empty ones as BLANK."""
    text: Any = pc.utf8_trim_whitespace(column)
    # Files that went through a spreadsheet or pandas write 3 as 3.0.
    text = pc.replace_substring_regex(text, r"\.0+$", "")
    text = pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
    try:
        numbers = pc.cast(text, pa.int64())
    except pa.ArrowInvalid:
        wrong = pc.invert(pc.match_substring_regex(text, r"^-?[0-9]{1,18}$"))
        row = pc.index(pc.fill_null(wrong, False), True).as_py()
        raise KinfolkError(
            f"{where}, line {row + 2}: {text[row].as_py()!r} is not a code. "
            "The column holds whole numbers or nothing; use the file as it was downloaded."
        ) from None
    return np.asarray(pc.fill_null(numbers, BLANK).combine_chunks(), dtype=np.int64)


def listed(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> listed(["METRO", "FARM", "EDUC"])
    'METRO, FARM and EDUC'
    """
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
