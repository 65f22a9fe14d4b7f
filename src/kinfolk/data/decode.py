"""Codes -> tables in the schema's own names, columns, values and types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from kinfolk._typing import Codes
from kinfolk.data.columns import column_kind
from kinfolk.data.encoded import CodeArray, Encoded
from kinfolk.data.numbers import draw_numbers, is_whole_numbers, stored_as, stores_floats
from kinfolk.data.shapes import Shapes
from kinfolk.schema import Attribute, Categorical, Numeric, Schema, Value


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
        written = role_column(schema, labels=labels)
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


def role_column(schema: Schema, *, labels: bool = False) -> Categorical:
    """The role column as an attribute: each role is written as the first of its values.

    Under `others: keep` the remaining people are written as blank.
    """
    assert schema.roles is not None  # noqa: S101  (callers have checked)
    values: list[Value] = [role.values[0] for role in schema.roles.roles.values()]
    if labels:
        values = list(schema.roles.roles)
    return Categorical(values=values, missing=schema.roles.others == "keep")


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
    return _pick(values, codes, attribute, dtype)


def _natural_type(attribute: Categorical) -> pa.DataType:
    if attribute.kind == "true/false":
        return pa.bool_()
    if attribute.kind == "text":
        return pa.string()
    whole = all(isinstance(value, int) for value in attribute.values)
    return pa.int64() if whole else pa.float64()


def _pick(
    values: pa.Array, codes: Codes, attribute: Categorical, dtype: pa.DataType | None
) -> pa.Array:
    positions = pa.array(codes.astype(np.int64), mask=codes >= len(attribute.values))
    if dtype is None:
        return values.take(positions)
    value_type = dtype.value_type if pt.is_dictionary(dtype) else dtype
    stored = stored_as(values, value_type)
    if stored is None:
        return values.take(positions)
    if pt.is_dictionary(dtype):
        # The dictionary is the declared domain, so it says nothing about which values occur.
        indices = positions.cast(_index_type(dtype.index_type, len(values)))
        return pa.DictionaryArray.from_arrays(indices, stored, ordered=dtype.ordered)
    return stored.take(positions)


def _index_type(dtype: pa.DataType, size: int) -> pa.DataType:
    """The type of a dictionary's indices, or a wider one if the declared domain needs it."""
    return dtype if stored_as(pa.array([size], pa.int64()), dtype) is not None else pa.int32()


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
