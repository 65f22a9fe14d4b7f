"""Group attributes that seem computed from the members, in data that has a schema.

Under the unit `person`, such an attribute must say `derived: true`: where it does not, one member's
change moves the group's own part as well, which nobody has paid for. What is found here is a
suggestion to the data holder. It is read off the data, and must not go into a release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kinfolk._typing import Bools, Codes, Ints
from kinfolk.data.buckets import hash_ids
from kinfolk.data.columns import column_kind, written
from kinfolk.data.encode import check_table_names, encode_sources
from kinfolk.data.encoded import Encoded
from kinfolk.data.tables import (
    Source,
    TableFile,
    TableLike,
    UnreadableError,
    open_file,
    read_source,
)
from kinfolk.errors import DataError
from kinfolk.schema import Attribute, Categorical, Numeric, Schema

Recipe = tuple[str | None, Callable[[], Codes]]
"""What is computed, in words; and how: (groups,) a number for every group. None for what no change
of one person's attributes can move: sizes and roles."""

GROUPS = 100_000
"""So many groups are looked at, the first ones of the table."""
GLANCE = 2_000
"""Every recipe is tried on so many of them; only what fits there is tried on all."""
ENOUGH = 20
"""With fewer groups that differ from most, two columns agree by chance."""
WRONG = 0.02
"""The share of groups that may have another value than the recipe's: there are always errors."""
FAR_BETTER = 0.2
"""... and that share is at most so much of what the commonest value would get wrong."""
MOST_VALUES = 25
"""Members are counted by attributes with at most so many categories, ..."""
AGES = (5, 6, 15, 16, 18, 60, 65, 75)
"""... and where there are more bounds than that, by these."""
PIECE = 131_072
"""Rows of a file that are read at a time."""


def seem_computed(schema: Schema, data: Encoded | Mapping[str, TableLike]) -> list[tuple[str, str]]:
    """Group attributes that are not declared `derived` and look it, each with what gives them.

    Looks at the first groups only. Tables that do not fit the schema give nothing: what is wrong
    with them is said elsewhere.

    >>> from kinfolk.datasets import schema_text
    >>> from kinfolk.datasets import load_detroit
    >>> text = schema_text("detroit").replace(", derived: true", "")
    >>> seem_computed(Schema.from_text(text), load_detroit()[1])[0]
    ('children', 'the number of members with age under 18')
    """
    names = [name for name, one in schema.group_attributes.items() if not one.derived]
    if not names:
        return []
    found = data if isinstance(data, Encoded) else _first_groups(schema, data)
    if found is None:
        return []
    many = _some(found, GROUPS)
    few = _some(many, GLANCE)
    likely: dict[str, list[int]] = {name: [] for name in names}
    for index, (_, compute) in enumerate(_recipes(few)):
        values = compute()
        for name in names:
            if _misses(few, name, values, lenient=2) <= 2 * WRONG:
                likely[name].append(index)
    recipes = list(_recipes(many))
    computed: list[tuple[str, str]] = []
    for name, indices in likely.items():
        misses = [_misses(many, name, recipes[index][1]()) for index in indices]
        if misses and min(misses) <= WRONG:
            formula = recipes[indices[int(np.argmin(misses))]][0]
            computed += [(name, formula)] if formula else []
    return computed


def _misses(data: Encoded, name: str, values: Codes, *, lenient: int = 1) -> float:
    """How often an attribute is not what `values` say; 1 where that cannot be told.

    What each value stands for is learnt from every other group, and tried on those between.
    """
    column = list(data.schema.group_attributes).index(name)
    codes = data.group[:, column].astype(np.int64)
    if len(codes) < 2 * ENOUGH:
        return 1.0
    _, keys = np.unique(values, return_inverse=True)
    width = data.schema.group_attributes[name].size
    rows = int(keys.max()) + 1
    seen = np.bincount(keys[::2] * width + codes[::2], minlength=rows * width).reshape(rows, width)
    usual = int(seen.sum(axis=0).argmax())
    learnt = np.where(seen.any(axis=1), seen.argmax(axis=1), usual)
    wrong = int((learnt[keys[1::2]] != codes[1::2]).sum())
    blind = int((codes[1::2] != usual).sum())
    if blind < ENOUGH or wrong > lenient * FAR_BETTER * blind:
        return 1.0
    return wrong / len(codes[1::2])


def _recipes(data: Encoded) -> Iterator[Recipe]:
    """From the plainest to the oddest: where several fit equally well, the first one is named."""
    yield None, lambda: data.sizes
    roles = data.schema.roles
    if roles is not None and data.role is not None:
        for index in range(len(roles.names)):
            yield None, partial(_counted, data, data.role, np.arange(len(roles.names)) == index)
    who, lead = _lead(data)
    for column, (name, attribute) in enumerate(data.schema.individual_attributes.items()):
        cells = data.individual[:, column]
        yield f"the {name} of {who}", partial(cells.__getitem__, lead)
        for text, test in _tests(attribute):
            yield f"the number of members with {name} {text}", partial(_counted, data, cells, test)
        if isinstance(attribute, Numeric):
            yield f"the largest {name}", partial(_extreme, data, cells, np.maximum)
            yield f"the smallest {name}", partial(_extreme, data, cells, np.minimum)


def _tests(attribute: Attribute) -> Iterator[tuple[str, Bools]]:
    """Ways to count members: in words, and (categories,) which of them are counted."""
    codes = np.arange(attribute.size)
    if isinstance(attribute, Numeric):
        bounds = list(enumerate(attribute.bins))[1:-1]
        if len(bounds) > MOST_VALUES:
            bounds = [(code, edge) for code, edge in bounds if edge in AGES]
        for code, edge in bounds:
            yield f"under {edge}", codes < code
            yield f"of at least {edge}", (codes >= code) & (codes < len(attribute.bins) - 1)
        if len(attribute.bins) + len(attribute.special) <= MOST_VALUES:
            for code in range(attribute.size):
                yield attribute.label(code), codes == code
        return
    numbers = attribute.kind == "number"
    for age in AGES if numbers and len(attribute.values) > MOST_VALUES else ():
        old = np.array([float(value) >= age for value in attribute.values] + [False])
        young = np.array([float(value) < age for value in attribute.values] + [False])
        yield f"under {age}", young[: attribute.size]
        yield f"of at least {age}", old[: attribute.size]
    if attribute.size <= MOST_VALUES:
        for code in range(attribute.size):
            word = _word(attribute, code)
            yield word, codes == code
            yield f"not {word}", codes != code


def _word(attribute: Categorical, code: int) -> str:
    blank = code == len(attribute.values)
    return attribute.label(code) if blank else written(attribute.values[code])


def _lead(data: Encoded) -> tuple[str, Ints]:
    """Who stands for a group: the one member of a role that every group has, or the first one."""
    roles = data.schema.roles
    if roles is not None and data.role is not None:
        for index, (name, (low, high)) in enumerate(
            zip(roles.names, roles.limits(data.schema.max_size), strict=True)
        ):
            rows = np.flatnonzero(data.role == index)
            if low == high == 1 and len(rows) == data.groups:
                return f"the {name}", rows
    return "the first member", data.offsets[:-1]


def _counted(data: Encoded, cells: Codes, test: Bools) -> Ints:
    """(groups,) how many people each has with a category that is counted; no group is empty."""
    counts: Ints = np.add.reduceat(test[cells].astype(np.int64), data.offsets[:-1])
    return counts


def _extreme(data: Encoded, cells: Codes, of: np.ufunc) -> Ints:
    extremes: Ints = of.reduceat(cells.astype(np.int64), data.offsets[:-1])
    return extremes


def _some(data: Encoded, groups: int) -> Encoded:
    """The first groups, without those that may have lost members to `oversize: first`."""
    kept = np.arange(min(groups, data.groups))
    if data.cleaning.groups_oversize and data.schema.oversize == "first":
        kept = kept[data.sizes[kept] < data.schema.size_limit]
    return data if len(kept) == data.groups else data.take(kept)


def _first_groups(schema: Schema, tables: Mapping[str, TableLike]) -> Encoded | None:
    """The first groups of tables with their members, who may be anywhere; None if they do not fit.

    Files are read piece by piece, and only these groups are held.
    """
    check_table_names(schema, tables)
    if schema.group is None or schema.individual.group_id is None:
        return None
    try:
        wanted = {name: list(columns) for name, columns in schema.columns.items()}
        first, second = schema.table_names
        homes = _head(tables[first], wanted[first], first)
        ids = homes.columns[schema.group.id]
        people = _members(tables[second], wanted[second], second, ids)
        return encode_sources(schema, homes, people, [], part=True)
    except (DataError, UnreadableError, KeyError):
        return None


def _head(table: TableLike, wanted: list[str], name: str) -> Source:
    """The first groups."""
    file = open_file(table)
    if not isinstance(file, TableFile):
        source = read_source(file, wanted, name=name)
        columns = {column: cells[:GROUPS] for column, cells in source.columns.items()}
        return replace(source, columns=columns, rows=min(source.rows, GROUPS))
    with file:
        stream = file.stream(wanted)
        held, rows = [stream.nothing()], 0
        for piece in stream.pieces(PIECE):
            held.append(piece.slice(0, GROUPS - rows))
            rows += held[-1].num_rows
            if rows >= GROUPS:
                break
        return stream.source(pa.concat_tables(held))


def _members(table: TableLike, wanted: list[str], name: str, ids: pa.ChunkedArray) -> Source:
    """Everybody who belongs to one of these groups."""

    @cache
    def known(as_text: bool) -> npt.NDArray[np.uint64]:
        return hash_ids(ids, as_text=as_text)

    def chosen(rows: pa.Table, link: pa.ChunkedArray) -> pa.Table:
        as_text = "text" in (column_kind(link.type), column_kind(ids.type))
        found = hash_ids(link, as_text=as_text)
        return rows.filter(pa.array(np.isin(found, known(as_text))))

    file = open_file(table)
    if not isinstance(file, TableFile):
        source = read_source(file, wanted, name=name)
        rows = chosen(pa.table(source.columns), source.columns[wanted[0]])
        columns = dict(zip(source.columns, rows.columns, strict=True))
        return replace(source, columns=columns, rows=rows.num_rows)
    with file:
        stream = file.stream(wanted)
        if wanted[0] not in stream.types:
            raise KeyError(wanted[0])
        held = [stream.nothing()]
        held += (chosen(piece, piece.column(0)) for piece in stream.pieces(PIECE))
        return stream.source(pa.concat_tables(held))
