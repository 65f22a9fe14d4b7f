"""Files of Stata, SPSS and SAS: typed columns, with what they and their values are called.

Missing values of every kind (Stata's `.a`, the user-missing values of SPSS) and empty texts are
blank. Dates stay dates. pyreadstat reads the formats; it comes with the extra `files`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa

from kinfolk.data.labels import Labels
from kinfolk.errors import KinfolkError
from kinfolk.schema import Value

_READERS = {"stata": "read_dta", "spss": "read_sav", "sas": "read_sas7bdat"}
STAT_KINDS = tuple(_READERS)
"""What `TableFile.kind` calls them."""
_WHOLE = {"int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32()}
_DATES = re.compile(
    r"(?i)%-?t[dcCwmqhy].*|%-?d.*|(date|datetime|adate|edate|sdate|jdate|time|dtime|mmddyy|ddmmyy|yymmdd|e8601|"
    r"is8601|b8601|julian|monyy|moyr|qyr|wkyr|ymdhms|mtime|hhmm).*"
)
"""What the formats of dates and times are called in the three languages."""


def pyreadstat(doing: str) -> Any:
    """The library that knows the formats, or what to do where it is missing."""
    try:
        return import_module("pyreadstat")
    except ImportError:
        raise KinfolkError(
            f"{doing}: files of Stata, SPSS and SAS need pyreadstat. Run `pip install "
            "'kinfolk[files]'`, or use CSV or Parquet."
        ) from None


class StatFile:
    """One file; its columns and labels are read at once, its rows when they are wanted."""

    def __init__(self, path: Path, kind: str) -> None:
        self._path = path
        self._read: Callable[..., Any] = getattr(pyreadstat(path.name), _READERS[kind])
        _, found = self._ask(metadataonly=True)
        types, formats = found.readstat_variable_types, found.original_variable_types
        self.schema = pa.schema(
            [(name, _type(types[name], str(formats.get(name)))) for name in found.column_names]
        )
        self.labels = Labels(
            columns={
                name: label.strip()
                for name, label in found.column_names_to_labels.items()
                if label and label.strip()
            },
            values={
                name: {plain_value(value): str(label).strip() for value, label in labels.items()}
                for name, labels in found.variable_value_labels.items()
                if labels
            },
        )

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Some columns, so many rows at a time."""
        fields = [self.schema.field(name) for name in columns]
        start, found = 0, rows
        while columns and found == rows:
            cells, _ = self._ask(usecols=list(columns), row_offset=start, row_limit=rows)
            arrays = [_array(cells[one.name], one.type) for one in fields]
            found = len(arrays[0])
            start += found
            if found:
                yield pa.record_batch(arrays, names=list(columns))

    def _ask(self, **options: Any) -> Any:
        try:
            return self._read(str(self._path), output_format="dict", **options)
        except UnicodeDecodeError:
            raise OSError("its text is in an encoding that it does not name") from None
        except Exception as error:
            # pyreadstat raises several kinds, the system's own among them.
            raise OSError(str(error).rstrip(".") or type(error).__name__) from None


def plain_value(value: Any) -> Value:
    """A value as a schema writes it: whole numbers without a fraction.

    >>> plain_value(2.0), plain_value(2.5), plain_value("m")
    (2, 2.5, 'm')
    """
    whole = isinstance(value, float) and value.is_integer()
    return int(value) if whole else value


def _type(stored: str, form: str) -> pa.DataType:
    if stored.startswith("string"):
        return pa.string()
    if _DATES.fullmatch(form):
        return pa.timestamp("us")
    return _WHOLE.get(stored, pa.float64())


def _array(cells: Sequence[Any], dtype: pa.DataType) -> pa.Array:
    """A column; whatever stands for nothing is blank."""
    if pa.types.is_string(dtype):
        return pa.array([cell or None for cell in cells], dtype)
    if pa.types.is_integer(dtype):
        whole = [None if _blank(cell) else int(cell) for cell in cells]
        return pa.array(whole, dtype)
    if pa.types.is_timestamp(dtype):
        # Times of the day have no date; nobody reads either but to see that it is there.
        there = [None if _blank(cell) else 0 for cell in cells]
        return pa.array(there, pa.int64()).cast(dtype)
    return pa.array([None if _blank(cell) else cell for cell in cells], dtype)


def _blank(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))
