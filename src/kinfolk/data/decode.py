"""Codes -> tables in the schema's own names, columns, values and types, stored as the data is.

How the data is stored is found out without a look at a row. A storage type that could tell whether
a blank occurs is not kept: data frames turn whole numbers into fractions where one is blank.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from kinfolk._typing import Codes
from kinfolk.data.columns import column_kind
from kinfolk.data.encoded import CodeArray, Encoded
from kinfolk.data.frames import TableLike, frame_types
from kinfolk.data.numbers import draw_numbers, is_whole_numbers, stored_as, stores_floats
from kinfolk.data.shapes import Shapes
from kinfolk.data.tables import TableFile, open_file
from kinfolk.errors import KinfolkError
from kinfolk.schema import Attribute, Categorical, Numeric, Schema


def decode(
    encoded: Encoded,
    *,
    rng: np.random.Generator,
    labels: bool = False,
    first_id: int = 1,
    shapes: Shapes | None = None,
) -> dict[str, pa.Table]:
    """Write an encoded dataset as the schema's tables; keys count from `first_id`.

    Numbers that have not been drawn before are drawn now; see `draw_numbers`. The storage types
    are those of the tables the data was encoded from, as far as they hold the declared domain;
    what fits is decided by the domain alone, never by the values that occur. With `labels`,
    categories are written in words.
    """
    if encoded.numbers is None:
        encoded = draw_numbers(encoded, rng=rng, shapes=shapes)
    schema, numbers = encoded.schema, encoded.numbers
    assert numbers is not None  # noqa: S101  (they were drawn)
    ids = np.arange(first_id, first_id + encoded.groups, dtype=np.int64)
    individual = schema.individual
    columns: dict[str, pa.Array] = {}
    types = encoded.types.get(individual.table, {})
    if individual.group_id is not None:
        owners = np.repeat(ids, encoded.sizes)
        columns[individual.group_id] = _ids(owners, types.get(individual.group_id))
    if schema.roles is not None and encoded.role is not None:
        written = schema.roles.attribute(labels=labels)
        kind = None if labels else types.get(schema.roles.column)
        columns[schema.roles.column] = _categories(encoded.role, written, kind)
    columns |= _attributes(
        schema.individual_attributes, encoded.individual, numbers.individual, types, labels
    )
    tables = {individual.table: pa.table(columns)}
    if schema.group is not None:
        types = encoded.types.get(schema.group.table, {})
        columns = {schema.group.id: _ids(ids, types.get(schema.group.id))}
        columns |= _attributes(schema.group_attributes, encoded.group, numbers.group, types, labels)
        tables = {schema.group.table: pa.table(columns), **tables}
    return tables


def _attributes(
    attributes: Mapping[str, Attribute],
    codes: CodeArray,
    numbers: Mapping[str, npt.NDArray[np.float64]],
    types: Mapping[str, Any],
    labels: bool,
) -> dict[str, pa.Array]:
    columns: dict[str, pa.Array] = {}
    for index, (name, attribute) in enumerate(attributes.items()):
        column = codes[:, index]
        if labels:
            columns[name] = _words(column, attribute)
        elif isinstance(attribute, Categorical):
            columns[name] = _categories(column, attribute, types.get(name))
        else:
            columns[name] = number_column(numbers[name], attribute, types.get(name))
    return columns


def _categories(codes: Codes, attribute: Categorical, dtype: pa.DataType | None) -> pa.Array:
    """Codes as values, in the given storage type where it can hold them."""
    values = pa.array(list(attribute.values), _natural_type(attribute))
    positions = pa.array(codes.astype(np.int64), mask=codes >= len(values))
    if dtype is None:
        return values.take(positions)
    stored = stored_as(values, dtype.value_type if pt.is_dictionary(dtype) else dtype)
    if stored is None:
        return values.take(positions)
    if pt.is_dictionary(dtype):
        # The dictionary is the declared domain, so it says nothing about which values occur.
        wide = stored_as(pa.array([len(values)], pa.int64()), dtype.index_type) is None
        indices = positions.cast(pa.int32() if wide else dtype.index_type)
        return pa.DictionaryArray.from_arrays(indices, stored, ordered=dtype.ordered)
    return stored.take(positions)


def _natural_type(attribute: Categorical) -> pa.DataType:
    if attribute.kind == "true/false":
        return pa.bool_()
    if attribute.kind == "text":
        return pa.string()
    whole = all(isinstance(value, int) for value in attribute.values)
    return pa.int64() if whole else pa.float64()


def number_column(
    drawn: npt.NDArray[np.float64], attribute: Numeric, dtype: pa.DataType | None
) -> pa.Array:
    """Numbers in the given storage type where it can hold the declared domain."""
    blank = np.isnan(drawn)
    whole = is_whole_numbers(attribute)
    natural = pa.int64() if whole and attribute.integer else pa.float64()
    filled = np.where(blank, 0, drawn) if natural == pa.int64() else drawn
    numbers = pa.array(filled.astype(natural.to_pandas_dtype()), natural, mask=blank)
    if dtype is None or not (pt.is_integer(dtype) or pt.is_floating(dtype)):
        return numbers
    if pt.is_floating(dtype):
        return numbers.cast(dtype, safe=False) if stores_floats(attribute, dtype) else numbers
    ends = [*attribute.bins, *attribute.special]
    held = stored_as(pa.array([int(end) for end in ends], pa.int64()), dtype) if whole else None
    return numbers if held is None else numbers.cast(dtype)


def _words(codes: Codes, attribute: Attribute) -> pa.Array:
    categories = attribute.size - attribute.missing
    words = pa.array([attribute.label(code) for code in range(categories)], pa.string())
    return words.take(pa.array(codes.astype(np.int64), mask=codes >= categories))


def _ids(ids: npt.NDArray[np.int64], dtype: pa.DataType | None) -> pa.Array:
    keys = pa.array(ids)
    if dtype is None or column_kind(dtype) not in ("number", "text") or pt.is_dictionary(dtype):
        return keys
    try:
        return keys.cast(dtype)
    except pa.ArrowException:
        return keys


Types = Mapping[str, Mapping[str, Any]]
"""Storage types (Arrow) by table and column."""


def _plain() -> Iterator[pa.DataType]:
    yield from (pa.int8(), pa.int16(), pa.int32(), pa.int64())
    yield from (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
    yield from (pa.float32(), pa.float64(), pa.bool_())
    yield from (pa.string(), pa.large_string(), pa.string_view())


def _known() -> dict[str, pa.DataType]:
    plain = list(_plain())
    whole = [dtype for dtype in plain if pa.types.is_integer(dtype)]
    listed = [
        pa.dictionary(index, value, ordered)
        for index in whole
        for value in plain
        for ordered in (False, True)
    ]
    return {str(dtype): dtype for dtype in [*plain, *listed]}


_KNOWN = _known()
"""By name: the only types that a model file can ask for."""


def column_types(schema: Schema, tables: Mapping[str, TableLike]) -> dict[str, dict[str, Any]]:
    """The storage types of the schema's columns; CSV files have none.

    >>> schema = Schema.from_text('''
    ... individual: {table: people, attributes: {sex: {values: [1, 2]}}}
    ... max_size: 1
    ... ''')
    >>> column_types(schema, {"people": pa.table({"sex": pa.array([1], pa.int8()), "other": [0]})})
    {'people': {'sex': DataType(int8)}}
    """
    return {
        table: {
            name: dtype
            for name, dtype in _stored(tables[table], list(columns)).items()
            if name in columns and str(dtype) in _KNOWN
            # Of other types than text, some speak of blanks.
            if not columns[name] or column_kind(dtype) == "text"
        }
        for table, columns in _columns(schema).items()
    }


def may_be_blank(schema: Schema) -> dict[str, tuple[str, ...]]:
    """The columns of each table in which a cell may be blank."""
    return {
        table: tuple(name for name, blank in columns.items() if blank)
        for table, columns in _columns(schema).items()
    }


def types_to_json(types: Types) -> dict[str, dict[str, str]]:
    """The types by name."""
    return {
        table: {name: str(dtype) for name, dtype in columns.items()}
        for table, columns in types.items()
    }


def types_from_json(described: object, schema: Schema) -> dict[str, dict[str, Any]]:
    """The types that `types_to_json` named; anything else is refused."""
    known = _columns(schema)
    if not isinstance(described, dict) or not set(described) <= set(known):
        raise KinfolkError("its storage types are not those of the schema's tables.")
    found: dict[str, dict[str, Any]] = {}
    for table, columns in described.items():
        if not isinstance(columns, dict) or not set(columns) <= set(known[table]):
            raise KinfolkError(f"its storage types are not those of the columns of {table}.")
        if not all(isinstance(name, str) and name in _KNOWN for name in columns.values()):
            raise KinfolkError(f"it names a storage type of {table} that is unknown.")
        found[table] = {column: _KNOWN[name] for column, name in columns.items()}
    return found


def _columns(schema: Schema) -> dict[str, dict[str, bool]]:
    """The columns of each table, and whether a cell may be blank."""
    return {
        table: {name: one is not None and one.missing for name, one in columns.items()}
        for table, columns in schema.columns.items()
    }


def _stored(table: TableLike, columns: list[str]) -> dict[str, Any]:
    """The storage types of some columns of a file or frame."""
    opened = open_file(table)
    if not isinstance(opened, TableFile):
        return frame_types(opened, columns)
    if not opened.stores_types:
        return {}
    with opened:
        return dict(zip(opened.schema.names, opened.schema.types, strict=True))
