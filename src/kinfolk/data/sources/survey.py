"""Rows of a survey file as integer codes, whose household they are, and the schemas they fill."""

from __future__ import annotations

import csv
import gzip
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from kinfolk._typing import Bools
from kinfolk.datasets import load_schema
from kinfolk.errors import DataError, KinfolkError, Problem
from kinfolk.schema import Attribute, Categorical, Schema

Codes: TypeAlias = npt.NDArray[np.int64]

BLANK: Final = -(2**63)
"""The code of an empty cell; no survey uses it."""


@dataclass(frozen=True, kw_only=True)
class SourceTables:
    """What a reader returns: two linked tables that fit a shipped schema, and what to know."""

    tables: dict[str, pa.Table]
    """`households` and `persons`, in the schema's own names and values."""
    notes: tuple[str, ...]
    """Sentences for the user: what was left out, and what the source does not tell."""


@dataclass(frozen=True, kw_only=True)
class SurveyRows:
    """One level of a survey: its rows as codes, column by column."""

    name: str
    """What messages call the file."""
    ids: pa.Array
    """The household of each row: (rows,)."""
    columns: Mapping[str, Codes]
    """The codes by column name: (rows,) each."""

    def take(self, rows: Codes | Bools) -> SurveyRows:
        """Only some of the rows, by number or by mask."""
        picked = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        columns = {name: codes[picked] for name, codes in self.columns.items()}
        return SurveyRows(name=self.name, ids=self.ids.take(pa.array(picked)), columns=columns)

    def replaced(self, columns: Mapping[str, Codes]) -> SurveyRows:
        """The same rows with other columns."""
        return SurveyRows(name=self.name, ids=self.ids, columns=columns)

    def translate(self, column: str, table: Mapping[int, int], problems: list[Problem]) -> Codes:
        """Every code of a column by way of a table; codes that it lacks become problems."""
        codes = self.columns[column]
        keys = np.array(sorted(table), dtype=np.int64)
        values = np.array([table[int(key)] for key in keys], dtype=np.int64)
        place = np.minimum(np.searchsorted(keys, codes), len(keys) - 1)
        unknown = keys[place] != codes
        if unknown.any():
            problems.append(self._unknown(column, unknown))
        return values[place]

    def _unknown(self, column: str, unknown: Bools) -> Problem:
        codes = np.unique(self.columns[column][unknown])
        shown = ", ".join("blank" if code == BLANK else str(code) for code in codes[:5].tolist())
        more = f" and {len(codes) - 5} more" if len(codes) > 5 else ""
        first = self.ids[int(np.argmax(unknown))].as_py()
        rows = int(unknown.sum())
        return Problem(
            where=f"{self.name}, column {column}",
            what=(
                f"the code {shown}{more} is not one of this variable in the American Community "
                f"Survey ({rows:,} rows; the first belongs to household {first})."
            ),
            fix="Use an unedited file of the ACS, in the years that docs/sources.md names.",
        )


@dataclass(frozen=True, kw_only=True)
class Units:
    """Households and the people in them."""

    households: SurveyRows
    persons: SurveyRows
    home: Codes
    """For each person the row of the household: (persons,)."""

    def keep(self, wanted: Bools) -> Units:
        """Only the wanted households, and of those only the ones somebody lives in."""
        lived_in = np.zeros(len(wanted), dtype=np.bool_)
        lived_in[self.home] = True
        kept = wanted & lived_in
        row = np.cumsum(kept) - 1
        here = kept[self.home]
        return Units(
            households=self.households.take(kept),
            persons=self.persons.take(here),
            home=row[self.home[here]].astype(np.int64),
        )


def link(households: pa.Array, persons: pa.Array, *, names: tuple[str, str], key: str) -> Codes:
    """The row of each person's household: (persons,)."""
    if len(pc.unique(households)) < len(households):
        counts = pc.value_counts(households)
        twice = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
        raise KinfolkError(
            f"{names[0]}: the {key} {twice[0].as_py()} stands on more than one household record "
            f"({len(twice):,} such numbers). Use one file for each state and period."
        )
    home: Any = pc.index_in(persons, value_set=households)
    if home.null_count:
        first = persons.filter(pc.is_null(home))[0].as_py()
        raise KinfolkError(
            f"{names[1]}: the person with {key} {first} has no household record in {names[0]} "
            f"({home.null_count:,} of {len(persons):,} people). "
            "Use the household and person file of the same state and period."
        )
    return np.asarray(home, dtype=np.int64)


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


TARGETS = ("acs", "acs-red", "acs-rel")
"""The data behind `afst` is confidential."""


def target_schema(name: str) -> Schema:
    """The schema that a reader is asked to fill.

    >>> target_schema("acs-red").size_limit
    3
    """
    if name == "afst":
        raise KinfolkError(
            "the target 'afst' has no public source: that data is confidential. "
            f"Use simulated data for it, or one of the targets {', '.join(TARGETS)}."
        )
    if name not in TARGETS:
        raise KinfolkError(f"the target {name!r} is unknown. Choose one of {', '.join(TARGETS)}.")
    return load_schema(name)


NEW_YORK = 36
"""The state (FIPS) whose counties the schemas `acs` and `acs-rel` list."""

MERGED: Mapping[str, Mapping[str, Mapping[int, int]]] = {
    "acs-red": {
        "EMPSTAT": {1: 1, 0: 2, 2: 2, 3: 2},
        "MARST": {1: 1, 2: 1, 3: 2, 4: 2, 5: 2, 6: 2},
    },
}
"""By target and variable, codes that a schema puts together."""

BEYOND: Mapping[str, Mapping[int, int]] = {
    # Top codes differ from state to state, so the last category is open.
    "ROOMS": dict.fromkeys(range(15, 31), 14),
    # Before 2005 the nineties had two codes; after 2019 every year adds one.
    "BUILTYR2": {8: 7, **dict.fromkeys(range(25, 41), 24)},
}
"""Codes outside a schema's list that have an evident place in it."""

RELATE: Mapping[int, int] = {code: code for code in range(1, 14)}
"""The role column keeps every relationship; the schema says which roles it drops."""


def table_for(target: str, name: str, attribute: Attribute) -> Mapping[int, int]:
    """Which IPUMS codes of a variable become which values of the attribute.

    >>> from kinfolk.data.sources.survey import target_schema
    >>> marst = target_schema("acs-red").individual.attributes["MARST"]
    >>> table_for("acs-red", "MARST", marst)[6]
    2
    """
    merged = MERGED.get(target, {}).get(name)
    if merged is not None:
        return merged
    if isinstance(attribute, Categorical):
        own = {int(value): int(value) for value in attribute.values}
    else:
        # The schema cuts the number into bins itself; here it only has to lie inside them.
        own = {value: value for value in range(int(attribute.bins[0]), int(attribute.bins[-1]) + 1)}
    return own | dict(BEYOND.get(name, {}))


def known_counties(households: SurveyRows, schema: Schema) -> tuple[SurveyRows, list[str]]:
    """Counties the schema does not list become 0, not identified; a note says how many did.

    County codes repeat from state to state, so those of other states count as not identified.
    """
    attribute = schema.group.attributes.get("COUNTYFIP") if schema.group else None
    if not isinstance(attribute, Categorical):
        return households, []
    counties = households.columns["COUNTYFIP"]
    listed = np.isin(counties, [int(value) for value in attribute.values])
    listed &= (households.columns["STATEFIP"] == NEW_YORK) | (counties == 0)
    if listed.all():
        return households, []
    columns = {**households.columns, "COUNTYFIP": np.where(listed, counties, 0)}
    other = int((~listed).sum())
    note = (
        f"COUNTYFIP: households in a county that the schema does not list: {other:,}. "
        "It names those of New York for 2012 to 2021; the others get 0, not identified."
    )
    return households.replaced(columns), [note]


def to_target(units: Units, schema: Schema, *, target: str, notes: list[str]) -> SourceTables:
    """Cut IPUMS-coded households and people down to the attributes of a target."""
    key = schema.individual.group_id
    assert schema.group is not None, "every target has households"  # noqa: S101
    assert key is not None, "and its people belong to them"  # noqa: S101
    households, county_notes = known_counties(units.households, schema)
    persons = units.persons
    problems: list[Problem] = []

    def columns(records: SurveyRows, attributes: Mapping[str, Attribute]) -> dict[str, Codes]:
        return {
            name: records.translate(name, table_for(target, name, attribute), problems)
            for name, attribute in attributes.items()
        }

    groups = columns(households, schema.group.attributes)
    people = columns(persons, schema.individual.attributes)
    if schema.roles is not None:
        people[schema.roles.column] = persons.translate(schema.roles.column, RELATE, problems)
    if problems:
        raise DataError("the survey file", problems)
    tables = {
        schema.group.table: pa.table({schema.group.id: households.ids, **groups}),
        schema.individual.table: pa.table({key: persons.ids, **people}),
    }
    return SourceTables(tables=tables, notes=(*notes, *county_notes))
