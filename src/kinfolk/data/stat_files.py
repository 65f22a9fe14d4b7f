"""Files of Stata, SPSS and SAS: typed columns, with what they and their values are called.

Missing values of every kind (Stata's `.a`, the user-missing values of SPSS) and empty texts are
blank. Dates stay dates. pyreadstat reads the formats; it comes with the extra `files`.

What a written column is stored as follows from the schema alone, never from the values that occur.
"""

from __future__ import annotations

import math
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Self

import pyarrow as pa
import pyarrow.types as pt

from kinfolk.data.numbers import is_whole_numbers
from kinfolk.errors import KinfolkError
from kinfolk.schema import Attribute, Categorical, Numeric, Schema, Value
from kinfolk.schema.attributes import LARGEST_WHOLE
from kinfolk.schema.names import singular


@dataclass(frozen=True, kw_only=True)
class Labels:
    """What the columns of one table and their values are called."""

    columns: Mapping[str, str] = field(default_factory=dict)
    """By column."""
    values: Mapping[str, Mapping[Value, str]] = field(default_factory=dict)
    """By column, then by value."""


def schema_labels(schema: Schema) -> dict[str, Labels]:
    """The labels of the tables that a schema describes, by table.

    >>> from kinfolk.datasets import load_schema
    >>> labels = schema_labels(load_schema("detroit"))["persons"]
    >>> labels.columns["relate"], labels.values["sex"]
    ('Role in the household', {1: 'male', 2: 'female'})
    """
    group = singular(schema.table_names[0])
    found: dict[str, Labels] = {}
    for table, columns in schema.columns.items():
        titles = {
            name: f"Identifier of the {group}" if one is None else one.title
            for name, one in columns.items()
        }
        values: dict[str, Mapping[Value, str]] = {
            name: words
            for name, one in columns.items()
            if one is not None and (words := value_labels(one))
        }
        if table == schema.individual.table and schema.roles is not None:
            titles[schema.roles.column] = f"Role in the {group}"
            # Each role is written as the first of its values.
            values[schema.roles.column] = {
                role.values[0]: name for name, role in schema.roles.roles.items()
            }
        named = {name: title for name, title in titles.items() if title is not None}
        found[table] = Labels(columns=named, values=values)
    return found


def value_labels(attribute: Attribute) -> dict[Value, str]:
    """What the values of an attribute are called, where they have other words than themselves.

    Of a number these are its special values; its bins are not values.
    """
    if isinstance(attribute, Numeric):
        words = attribute.labels[len(attribute.bins) - 1 :] if attribute.labels else ()
        return dict(zip(attribute.special, words, strict=False))
    if attribute.labels is None:
        return {False: "false", True: "true"} if attribute.kind == "true/false" else {}
    return dict(zip(attribute.values, attribute.labels, strict=True))


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


PROGRAMS = {"dta": "Stata", "sav": "SPSS"}
"""The formats, and whose they are."""

_NAMES = {
    "dta": re.compile(r"[^\W\d]\w{0,31}"),
    "sav": re.compile(r"[^\W\d_][\w.@#$]{0,62}[\w@#$]|[^\W\d_]"),
}
_TAKEN = {
    "dta": re.compile(
        r"_(all|b|coef|cons|n|N|pi|pred|rc|skip)|byte|double|float|if|in|int|long|str(L|\d+)|using|"
        "with"
    ),
    "sav": re.compile("(?i)all|and|by|eq|ge|gt|le|lt|ne|not|or|to|with"),
}
"""Words that mean something else in each of the programs."""
_LONGEST_LABELS = {"dta": (80, 32_000), "sav": (255, 120)}
"""Bytes that the label of a column, and that of a value, may have."""
_LARGEST_INT = 2**31 - 28
"""Of Stata: the numbers above are its missing values."""


def check_writable(schema: Schema, form: str) -> None:
    """Refuse a schema whose tables a format cannot hold; other formats hold everything."""
    if form not in PROGRAMS:
        return
    pyreadstat(f"--format {form}")
    _pandas(form)
    problems = [
        f"{table}: {name!r} cannot be the name of a column in {PROGRAMS[form]}"
        for table, columns in _columns(schema).items()
        for name in columns
        if not _NAMES[form].fullmatch(name) or _TAKEN[form].fullmatch(name)
    ]
    for table, columns in _columns(schema).items():
        lower = [name.lower() for name in columns]
        problems += [
            f"{table}: {name!r} and another column differ in case only, and are one in SPSS"
            for name in columns
            if form == "sav" and lower.count(name.lower()) > 1
        ]
        problems += [
            f"{table}: {name!r} has whole numbers that {PROGRAMS[form]} cannot hold exactly"
            for name, attribute in columns.items()
            if attribute is not None and _whole(attribute) and _largest(attribute) > LARGEST_WHOLE
        ]
    if problems:
        raise KinfolkError(
            f"{'; '.join(problems)}. Rename or change it in the data and the schema, or write "
            "--format csv or parquet."
        )


class StatWriter:
    """One table, kept in memory until its end: these formats say first how long they are."""

    def __init__(self, file: BinaryIO, form: str, schema: Schema, table: str) -> None:
        self._file, self._form = file, form
        self._columns = _columns(schema)[table]
        self._labels = schema_labels(schema)[table]
        self._tables: list[pa.Table] = []

    def write_table(self, table: pa.Table) -> None:
        """Add some rows."""
        self._tables.append(_plain(table))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        if failed is None:
            self._write()

    def _write(self) -> None:
        table = pa.concat_tables(self._tables)
        frame = _pandas(self._form).DataFrame(
            {name: _cells(table[name], self._columns[name]) for name in table.column_names}
        )
        longest, longest_value = _LONGEST_LABELS[self._form]
        given: dict[str, Any] = {
            "column_labels": {n: _cut(text, longest) for n, text in self._labels.columns.items()},
            "variable_value_labels": {
                name: {value: _cut(text, longest_value) for value, text in words.items()}
                for name in self._labels.values
                if (words := _writable(self._labels, name, self._form))
            },
        }
        if self._form == "sav":
            given |= self._measures(table.schema)
        write = getattr(pyreadstat(f"--format {self._form}"), f"write_{self._form}")
        # It writes to a path of its own, and not to a file that is open.
        with tempfile.TemporaryDirectory(prefix="kinfolk-") as folder:
            path = Path(folder) / f"table.{self._form}"
            write(frame, str(path), **given)
            with path.open("rb") as written:
                shutil.copyfileobj(written, self._file)

    def _measures(self, stored: pa.Schema) -> dict[str, Any]:
        """How SPSS shows columns: categories as such, and whole numbers without decimals."""
        numbers = [one.name for one in stored if not pt.is_string(one.type)]
        named = {name: self._columns[name] for name in stored.names}
        return {
            "variable_measure": {
                name: "nominal" if one is None or isinstance(one, Categorical) else "scale"
                for name, one in named.items()
            },
            "variable_format": {
                name: "F11.0" for name in numbers if (one := named[name]) is None or _whole(one)
            },
        }


def _columns(schema: Schema) -> dict[str, dict[str, Attribute | None]]:
    """The columns of each table; an id is no attribute."""
    own: dict[str, Attribute | None] = dict(schema.individual_attributes)
    if schema.roles is not None:
        own[schema.roles.column] = schema.roles.attribute()
    if schema.individual.group_id is not None:
        own[schema.individual.group_id] = None
    found = {schema.individual.table: own}
    if schema.group is not None:
        found[schema.group.table] = {schema.group.id: None, **schema.group_attributes}
    return found


def _largest(attribute: Attribute) -> float:
    """The largest size of the numbers that an attribute may hold; 0 for text."""
    if isinstance(attribute, Categorical):
        values: Sequence[Value] = attribute.values if attribute.kind == "number" else ()
    else:
        values = (*attribute.bins, *attribute.special)
    return max((abs(value) for value in values if not isinstance(value, str)), default=0)


def _whole(attribute: Attribute) -> bool:
    if isinstance(attribute, Categorical):
        return attribute.kind != "number" or all(float(v).is_integer() for v in attribute.values)
    return is_whole_numbers(attribute)


def _plain(table: pa.Table) -> pa.Table:
    """Only whole numbers, floating-point numbers and text, in types that last."""
    columns = []
    for column in table.columns:
        dtype = column.type
        if pt.is_dictionary(dtype):
            dtype = dtype.value_type
            column = column.cast(dtype)
        if pt.is_boolean(dtype) or pt.is_integer(dtype):
            column = column.cast(pa.int64())
        elif pt.is_floating(dtype):
            column = column.cast(pa.float64())
        else:
            column = column.cast(pa.string())
        columns.append(column)
    return pa.table(columns, names=table.column_names)


def _cells(column: pa.ChunkedArray, attribute: Attribute | None) -> Any:
    """A column as pandas holds it for the writer."""
    if pt.is_string(column.type):
        return column.fill_null("").to_pylist()
    fits = attribute is None or (not attribute.missing and _largest(attribute) <= _LARGEST_INT)
    if pt.is_integer(column.type) and fits:
        return column.to_numpy().astype("int32")
    return column.cast(pa.float64()).to_numpy()


def _writable(labels: Labels, name: str, form: str) -> dict[Value, str]:
    """The labels that a format can hold: those of Stata are of whole numbers alone."""
    found: dict[Value, str] = {}
    for value, text in labels.values[name].items():
        if isinstance(value, str):
            if form == "sav":
                found[value] = text
        elif form == "sav" or float(value).is_integer():
            found[int(value) if float(value).is_integer() else value] = text
    return found


def _cut(text: str, most: int) -> str:
    """The beginning of a text, if it is too long; the codebook has all of it."""
    return text.encode()[:most].decode("utf-8", "ignore")


def _pandas(form: str) -> Any:
    try:
        import pandas
    except ImportError:
        raise KinfolkError(
            f"--format {form}: writing for {PROGRAMS[form]} needs pandas. Run `pip install "
            "'kinfolk[files]'`, or write --format csv or parquet."
        ) from None
    return pandas
