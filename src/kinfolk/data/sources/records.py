"""Rows as they come out of a survey file: plain integer codes, and whose household they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kinfolk.errors import KinfolkError, Problem

Codes: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

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
class Records:
    """One level of a survey: its rows as codes, column by column."""

    name: str
    """What messages call the file."""
    ids: pa.Array
    """The household of each row: (rows,)."""
    columns: Mapping[str, Codes]
    """The codes by column name: (rows,) each."""

    def take(self, rows: Codes | Bools) -> Records:
        """Only some of the rows, by number or by mask."""
        picked = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        columns = {name: codes[picked] for name, codes in self.columns.items()}
        return Records(name=self.name, ids=self.ids.take(pa.array(picked)), columns=columns)

    def replaced(self, columns: Mapping[str, Codes]) -> Records:
        """The same rows with other columns."""
        return Records(name=self.name, ids=self.ids, columns=columns)

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

    households: Records
    persons: Records
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
