"""How the columns of tables are stored, so that synthetic tables can be stored alike.

Nothing here looks at a row. A storage type that could tell whether a blank occurs is not kept: data
frames turn whole numbers into fractions where one is blank.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from kinfolk.data.columns import column_kind
from kinfolk.data.frames import TableLike, frame_types
from kinfolk.data.tables import TableFile, open_file
from kinfolk.errors import KinfolkError
from kinfolk.schema import Schema

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
    wanted = {table: dict(columns) for table, columns in _columns(schema).items()}
    return {
        table: {
            name: dtype
            for name, dtype in _stored(tables[table], list(columns)).items()
            if name in columns and str(dtype) in _KNOWN and _lasts(dtype, blank=columns[name])
        }
        for table, columns in wanted.items()
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
    own = {name: attribute.missing for name, attribute in schema.individual_attributes.items()}
    if schema.individual.group_id is not None:
        own[schema.individual.group_id] = False
    if schema.roles is not None:
        own[schema.roles.column] = schema.roles.others == "keep"
    found = {schema.individual.table: own}
    if schema.group is not None:
        attributes = {name: a.missing for name, a in schema.group_attributes.items()}
        found = {schema.group.table: {schema.group.id: False, **attributes}, **found}
    return found


def _lasts(dtype: pa.DataType, *, blank: bool) -> bool:
    """Whether a type says nothing about blanks."""
    return not blank or column_kind(dtype) == "text"


def _stored(table: TableLike, columns: list[str]) -> dict[str, Any]:
    """The storage types of some columns of a file or frame."""
    opened = open_file(table)
    if not isinstance(opened, TableFile):
        return frame_types(opened, columns)
    if not opened.stores_types:
        return {}
    with opened:
        return dict(zip(opened.schema.names, opened.schema.types, strict=True))
