"""A file or frame -> all of its columns, and why some of them cannot be read."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kinfolk.data.tables import Source, TableLike, read_source
from kinfolk.errors import DataError, KinfolkError

LONGEST_NAME = 200
"""A longer column name is a sentence, and YAML keys have limits."""


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A table with all of its readable columns."""

    table: str
    """What the schema calls it: the file's name without its ending."""
    source: Source
    """The columns that can be read."""
    order: tuple[str, ...]
    """The names of all columns, in the file's order."""
    unreadable: Mapping[str, str]
    """Columns that cannot be read, and why."""

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.source.name


def open_table(table: TableLike, *, default: str) -> Opened:
    """Read every column of a table; `default` names it where no file does."""
    # Reading nothing first: a file that is not there, or no table, is explained by the reader.
    names = read_source(table, [], name=default).names
    unreadable = {name: why for name in names if (why := _name_trouble(name, names))}
    source = _read(table, [name for name in names if name not in unreadable], default, unreadable)
    if not source.columns:
        raise KinfolkError(f"{source.name}: no column can be read. Check that it is a table.")
    if not source.rows:
        raise KinfolkError(f"{source.name}: the table has no rows. Check that it is the right one.")
    stem = table_name(Path(table).name) if isinstance(table, str | Path) else ""
    order = tuple(dict.fromkeys(names))
    return Opened(table=stem or default, source=source, order=order, unreadable=unreadable)


def table_name(file_name: str) -> str:
    """What to call the table in a file.

    >>> table_name("psam h26.csv.gz"), table_name("persons.parquet"), table_name("été.csv")
    ('psam_h26', 'persons', 'ete')
    """
    stem = re.sub(r"\.gz$", "", file_name, flags=re.IGNORECASE)
    return safe_name(re.sub(r"(?<=.)\.[A-Za-z]+$", "", stem))


def safe_name(text: str) -> str:
    """A table's name is also its file's: letters, digits, - and _ are safe everywhere."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9_-]+", "_", plain).strip("_-")


def is_clean(text: str) -> bool:
    """Whether a text has no line breaks, control characters or unassigned ones."""
    odd = ("Cc", "Cn", "Cs", "Zl", "Zp")
    return not any(unicodedata.category(character) in odd for character in text)


def _name_trouble(name: str, names: tuple[str, ...]) -> str | None:
    if not name.strip():
        return "it has no name"
    if names.count(name) > 1:
        return "several columns have this name; rename all but one"
    if len(name) > LONGEST_NAME or not is_clean(name):
        return "its name is too long or holds line breaks or control characters; rename it"
    return None


def _read(table: TableLike, wanted: list[str], default: str, unreadable: dict[str, str]) -> Source:
    """Read the wanted columns; one that cannot be read does not keep the others from it."""
    try:
        source = read_source(table, wanted, name=default)
    except DataError:
        parts = {name: _read_one(table, name, default) for name in wanted}
        unreadable |= {
            name: "its cells are of several types, or damaged; give it one type"
            for name, part in parts.items()
            if part is None
        }
        good = [name for name in wanted if parts[name] is not None]
        source = read_source(table, good, name=default)
    for name in wanted:
        if name not in source.columns and name not in unreadable:
            unreadable[name] = "its name is not a text; rename it"
    return source


def _read_one(table: TableLike, column: str, default: str) -> Source | None:
    try:
        return read_source(table, [column], name=default)
    except DataError:
        return None
