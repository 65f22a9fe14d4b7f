"""One column <-> integer codes.

A cell means a category when it equals the declared value: numbers compare as numbers (3 and 3.0
are the same), text compares exactly, and text never passes for a number, except in CSV, where
every cell is text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from kinfolk.data.csv_files import first_of_n
from kinfolk.errors import Problem, private, redacting
from kinfolk.schema import Attribute, Categorical, Numeric, Value
from kinfolk.schema.attributes import shown
from kinfolk.schema.conditions import kind_of_values

Codes: TypeAlias = npt.NDArray[np.int32]
"""Codes of one column, (rows,); -1 where the cell does not fit."""

_NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")
_COMMA = re.compile(r"[-+]?[0-9]+(,[0-9]+)+(\.[0-9]+)?")
_LONGEST_WHOLE = 40


@dataclass(frozen=True, kw_only=True)
class Misfit:
    """Rows of one column that break the same rule."""

    rows: npt.NDArray[np.int64]
    """The offending rows, in order."""
    what: str
    """What is wrong with the first of them."""
    fix: str
    """What to do."""

    def problem(self, place: str, column: str) -> Problem:
        """Say it, with the number of rows it concerns."""
        what = f"{self.what}{first_of_n(len(self.rows))}."
        return Problem(where=f"{place}, column {column}", what=what, fix=self.fix)


def encode_column(
    column: pa.ChunkedArray,
    attribute: Attribute,
    *,
    untyped: bool,
    or_more: bool = False,
    cells_of: Numeric | None = None,
) -> tuple[Codes, list[Misfit]]:
    """Turn a column into codes of the attribute, and say what does not fit.

    `or_more` says that the largest of its values stands for larger numbers too. `cells_of` is the
    same number with cells as its bins: the codes are then those of cells.
    """
    wrong = None if untyped else wrong_kind(column, kind_of_values(attribute))
    if wrong is not None:
        return np.full(len(column), -1, np.int32), [wrong]
    cells, positions = distinct(column)
    if isinstance(attribute, Numeric):
        codes, misfits = _encode_numbers(cells, attribute, cells_of or attribute)
    else:
        codes, misfits = _encode_values(cells, attribute, or_more=or_more)
    blank = np.flatnonzero(positions < 0)
    encoded = np.append(codes, -1)[positions].astype(np.int32)
    found = [_spread(positions, misfit) for misfit in misfits]
    if attribute.missing:
        encoded[blank] = (cells_of or attribute).size - 1
    elif len(blank):
        fix = "Fill it in, or declare `missing: true`."
        found.append(Misfit(rows=blank, what="the cell is blank", fix=fix))
    return encoded, found


def column_kind(dtype: pa.DataType) -> str:
    """Say in words what an Arrow column holds."""
    if pt.is_dictionary(dtype):
        return column_kind(dtype.value_type)
    if pt.is_boolean(dtype):
        return "true/false"
    if pt.is_integer(dtype) or pt.is_floating(dtype) or pt.is_decimal(dtype):
        return "number"
    if pt.is_string(dtype) or pt.is_large_string(dtype) or pt.is_string_view(dtype):
        return "text"
    return "blank" if pt.is_null(dtype) else type_name(dtype)


def type_name(dtype: pa.DataType) -> str:
    """An Arrow type's own name; redacted, without what it is made of, which may have names.

    >>> type_name(pa.struct({"Mrs Smith": pa.int8()}))
    'struct<Mrs Smith: int8>'
    """
    return re.split(r"[<\[(]", str(dtype))[0] if redacting() else str(dtype)


def in_words(dtype: pa.DataType) -> str:
    """Say what an Arrow column holds to somebody who has never heard of Arrow.

    >>> in_words(pa.int8()), in_words(pa.date32()), in_words(pa.list_(pa.int8()))
    ('numbers', 'dates or times', 'list<item: int8>')
    """
    kind = column_kind(dtype)
    if pt.is_temporal(dtype):
        return "dates or times"
    return "numbers" if kind == "number" else kind


def wrong_kind(column: pa.ChunkedArray, expected: str) -> Misfit | None:
    """A typed column that holds another kind than the schema says, if it does."""
    kind = column_kind(column.type)
    rows = np.flatnonzero(np.asarray(pc.is_valid(_without_nan(column))))
    # A column of blanks has whatever type its writer gives to nothing.
    if kind in (expected, "blank") or not len(rows):
        return None
    if kind == "text" and expected == "number":
        fix = "Convert the column to numbers, or quote the values in the schema."
    elif expected == "text" and kind == "number":
        fix = "Take the quotes off the values in the schema, or convert the column to text."
    else:
        fix = f"Convert the column to {'numbers' if expected == 'number' else expected}."
    said = "numbers" if expected == "number" else expected
    held = in_words(column.type)
    if held != type_name(column.type):
        held += f" ({_quote(column[int(rows[0])])})"
    return Misfit(rows=rows, what=f"the column holds {held}, the schema says {said}", fix=fix)


def zeros_and_ones(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of 0 and 1 as true/false; any other as it is."""
    if column_kind(column.type) != "number":
        return column
    other = pc.and_(pc.not_equal(column, 0), pc.not_equal(column, 1))
    return column if pc.any(other).as_py() else pc.equal(column, 1)


def _without_nan(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Data frames write blanks among numbers as NaN."""
    if not pt.is_floating(column.type):
        return column
    return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)


def distinct(column: pa.ChunkedArray) -> tuple[pa.Array, npt.NDArray[np.int64]]:
    """The distinct cells that are not blank, and for each row which one it has (-1 for blank)."""
    if column.null_count == len(column):
        return pa.array([], pa.string()), np.full(len(column), -1, np.int64)
    if pt.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pt.is_string_view(column.type):
        column = column.cast(pa.large_string())
    column = _without_nan(column)
    encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    positions = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    return encoded.dictionary, positions.astype(np.int64)


def _spread(positions: npt.NDArray[np.int64], misfit: Misfit) -> Misfit:
    """From offending distinct cells to offending rows; the text speaks of the first row's cell."""
    rows = np.flatnonzero(np.isin(positions, misfit.rows))
    return Misfit(rows=rows, what=misfit.what, fix=misfit.fix)


def parse_number(cell: object) -> int | float | None:
    """Read a number from a CSV cell; None where it is not one.

    >>> parse_number("3"), parse_number("3.50"), parse_number(" 3"), parse_number("n/a")
    (3, 3.5, None, None)
    """
    if not isinstance(cell, str):
        return cell if isinstance(cell, int | float) else float(cell)  # type: ignore[arg-type]  # Decimal
    if not _NUMBER.fullmatch(cell):
        return None
    whole = cell.lstrip("+-").isdigit() and len(cell) <= _LONGEST_WHOLE
    return int(cell) if whole else float(cell)


def _encode_values(
    cells: pa.Array, attribute: Categorical, *, or_more: bool
) -> tuple[Codes, list[Misfit]]:
    """Match distinct cells against a list of values."""
    code_of: dict[Value, int] = {value: code for code, value in enumerate(attribute.values)}
    codes = np.full(len(cells), -1, np.int32)
    last = max(float(value) for value in attribute.values) if or_more else 0
    for index, cell in enumerate(cells.to_pylist()):
        key = value_of(cell, attribute.kind)
        if or_more and isinstance(key, int | float) and float(key).is_integer():
            key = min(key, last)
        codes[index] = code_of.get(key, -1) if key is not None else -1
    outside = np.flatnonzero(codes < 0)
    if not len(outside):
        return codes, []
    undeclared = join_truncated([plain_text(cells[int(i)]) for i in outside[:6]], of=len(outside))
    declared = join_truncated(
        [written(v) for v in attribute.values[:9]], of=len(attribute.values), most=8
    )
    what = f"{_quote(cells[int(outside[0])])} is not among the declared values {declared}"
    if len(outside) > 1 and not redacting():
        what += f"; undeclared in this column: {undeclared}"
    fix = "Correct the rows, or add the value to the schema."
    return codes, [Misfit(rows=outside, what=what, fix=fix)]


def value_of(cell: object, kind: str) -> Value | None:
    """A cell as a value of the given kind, or None where it is not one."""
    if kind == "number":
        return parse_number(cell)
    if kind == "true/false" and isinstance(cell, str):
        return {"true": True, "false": False}.get(cell.lower())
    return cell if isinstance(cell, str | bool) else None


def number_codes(numbers: npt.NDArray[np.float64], attribute: Numeric) -> Codes:
    """The code of every number; blank where it is none.

    What lies outside the bins, by rounding or because it does not fit, is in the nearest one: no
    number may have the code of something else, or none at all.

    >>> income = Numeric(bins=[0, 10, 20], special=[0], missing=True)
    >>> number_codes(np.array([0, 5, 20, 20.1, np.nan]), income).tolist()
    [2, 0, 1, 1, 3]
    """
    edges = np.asarray(attribute.bins, dtype=float)
    codes = np.searchsorted(edges, numbers, side="right").astype(np.int32) - 1
    codes = np.clip(codes, 0, len(edges) - 2)
    for position, value in enumerate(attribute.special):
        codes[numbers == value] = len(edges) - 1 + position
    codes[np.isnan(numbers)] = len(edges) - 1 + len(attribute.special)
    return codes


def column_numbers(column: pa.ChunkedArray, codes: Codes) -> npt.NDArray[np.float64]:
    """The numbers of a column, (rows,); NaN where it is blank, or has no code."""
    cells, positions = distinct(column)
    numbers, _ = _as_floats(cells)
    return np.where(codes < 0, np.nan, np.append(numbers, np.nan)[positions])


def _encode_numbers(
    cells: pa.Array, attribute: Numeric, coded: Numeric
) -> tuple[Codes, list[Misfit]]:
    """Put distinct cells into the bins of `coded`; whether they fit the attribute decides."""
    numbers, is_number = _as_floats(cells)
    edges = np.asarray(attribute.bins, dtype=float)
    codes = number_codes(numbers, coded)
    special = np.isin(numbers, attribute.special)
    outside = is_number & ~special & ((numbers < edges[0]) | (numbers > edges[-1]))
    broken = np.zeros(len(numbers), bool)
    if attribute.integer:
        broken = is_number & ~outside & ~special & (numbers != np.floor(numbers))
    codes[outside | broken | ~is_number] = -1
    low, high = attribute.bins[0], attribute.bins[-1]
    found: list[Misfit] = []
    mend = "Correct it, or leave it blank and set `missing: true`."
    if not is_number.all() and _COMMA.fullmatch(str(cells[int(np.argmin(is_number))])):
        mend = "Write it with a decimal point and without commas, such as 1234.5."
    for mask, what, fix in (
        (~is_number, "is not a number", mend),
        (outside, f"lies outside the bins {low} to {high}", "Correct it, or widen the bins."),
        (broken, "is not a whole number", "Correct it, or remove `integer: true`."),
    ):
        rows = np.flatnonzero(mask)
        if len(rows):
            found.append(Misfit(rows=rows, what=f"{_quote(cells[int(rows[0])])} {what}", fix=fix))
    return codes, found


def _as_floats(cells: pa.Array) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Distinct cells as numbers, and which of them are numbers at all."""
    if column_kind(cells.type) != "text":
        numbers = np.asarray(pc.cast(cells, pa.float64(), safe=False), dtype=float)
        return numbers, ~np.isnan(numbers)
    matches = pc.match_substring_regex(cells, f"^({_NUMBER.pattern})$")
    is_number = np.asarray(matches, dtype=bool)
    filled = pc.if_else(matches, cells, pa.scalar("0", cells.type))
    return np.asarray(pc.cast(filled, pa.float64()), dtype=float), is_number


def _quote(cell: Any) -> str:
    value = _python(cell)
    return private(shown(value) if isinstance(value, str) else value)


def _python(cell: Any) -> Any:
    """A cell as a Python value; dates beyond Python's calendar are named by their type."""
    try:
        return cell.as_py() if isinstance(cell, pa.Scalar) else cell
    except (ValueError, OverflowError):
        return cell.type


def plain_text(cell: Any) -> str:
    """A cell for a message, in quotes only where they are needed to see what it is."""
    return private(written(_python(cell)))


def written(value: object) -> str:
    """A value that everybody knows, in quotes only where they are needed to see what it is.

    >>> written("m"), written(" m"), written(7)
    ('m', "' m'", '7')
    """
    if not isinstance(value, str):
        return str(value)
    plain = value.isprintable() and value == value.strip() and 0 < len(value) <= 60
    return value if plain else shown(value)


def join_truncated(words: Sequence[str], *, of: int, most: int = 5) -> str:
    """List the first few words, and say how many more there are.

    >>> join_truncated(["a", "b", "c"], of=3), join_truncated(["a", "b", "c"], of=1200, most=2)
    ('a, b, c', 'a, b and 1,198 more')
    """
    listed = ", ".join(words[:most])
    return f"{listed} and {of - most:,} more" if of > most else listed
