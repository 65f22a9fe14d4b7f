"""Which group does everybody belong to? Ids may be of any type, as long as both tables agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from kinfolk.data.columns import column_kind
from kinfolk.data.tables import Source
from kinfolk.errors import Problem
from kinfolk.schema import Schema


@dataclass(frozen=True, kw_only=True)
class Links:
    """The group of every person, as a row of the group table."""

    groups: int
    """How many groups there are."""
    group_of: npt.NDArray[np.int64]
    """(people,) the group's row."""
    ids: pa.Array | None
    """(groups,) the groups' ids as they stand in the data, for messages."""

    def name(self, group: int) -> str:
        """The id of a group, as text."""
        return str(self.ids[group]) if self.ids is not None else str(group + 1)


def link_tables(
    schema: Schema, homes: Source | None, people: Source, problems: list[Problem]
) -> Links | None:
    """Look every person's group up; None where that is not possible."""
    if schema.group is None:
        rows = np.arange(people.rows, dtype=np.int64)
        return Links(groups=people.rows, group_of=rows, ids=None)
    key, link = schema.group.id, schema.individual.group_id
    if homes is None or link is None:
        return None
    if key not in homes.columns or link not in people.columns:
        return None
    ids, refs = homes.columns[key], people.columns[link]
    for source, column, name in ((homes, ids, key), (people, refs, link)):
        blank = np.flatnonzero(np.asarray(_blank(column)))
        if len(blank):
            what = f"the id is blank{_count(len(blank), 'row')}."
            where = f"{source.place(int(blank[0]))}, column {name}"
            problems.append(Problem(where=where, what=what, fix="Every row needs one."))
    common = _common_type(homes, people, ids, refs)
    if common is None:
        what = (
            f"the ids are {column_kind(refs.type)}, but {column_kind(ids.type)} in {homes.name}, "
            f"column {key}."
        )
        where = f"{people.name}, column {link}"
        problems.append(Problem(where=where, what=what, fix="Store both ids as the same type."))
        return None
    ids, refs = _cast(ids, common), _cast(refs, common)
    _check_unique(ids, homes, key, problems)
    found = pc.index_in(refs, value_set=ids, skip_nulls=True)
    group_of = np.asarray(pc.fill_null(found, -1).to_numpy(), dtype=np.int64)
    _check_matches(group_of, ids, refs, homes, people, link, problems)
    if (group_of < 0).any():
        return None
    return Links(groups=homes.rows, group_of=group_of, ids=ids)


def _blank(column: pa.ChunkedArray) -> pa.ChunkedArray:
    nan = pt.is_floating(column.type)
    return pc.is_null(column, nan_is_null=nan)


def _common_type(
    homes: Source, people: Source, ids: pa.ChunkedArray, refs: pa.ChunkedArray
) -> pa.DataType | None:
    """The type in which both ids can be compared without loss, if there is one."""
    kinds = {column_kind(ids.type), column_kind(refs.type)}
    if homes.untyped != people.untyped and kinds <= {"text", "number"}:
        return pa.large_string()
    if kinds == {"text"}:
        return pa.large_string()
    if kinds != {"number"}:
        return ids.type if len(kinds) == 1 and ids.type == refs.type else None
    whole = all(pt.is_integer(t) or _is_whole(c) for c, t in ((ids, ids.type), (refs, refs.type)))
    return pa.int64() if whole else pa.float64()


def _is_whole(column: pa.ChunkedArray) -> bool:
    numbers = pc.drop_null(column.cast(pa.float64(), safe=False))
    whole = pc.all(pc.or_(pc.is_nan(numbers), pc.equal(numbers, pc.floor(numbers))))
    return bool(whole.as_py()) if len(numbers) else True


def _cast(column: pa.ChunkedArray, dtype: pa.DataType) -> pa.Array:
    if pt.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pt.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        if dtype == pa.large_string():
            column = column.cast(pa.int64()) if _is_whole(column) else column
    cast = column.cast(dtype, safe=False).combine_chunks()
    return cast.combine_chunks() if isinstance(cast, pa.ChunkedArray) else cast


def _check_unique(ids: pa.Array, homes: Source, key: str, problems: list[Problem]) -> None:
    codes = ids.dictionary_encode()
    distinct = len(codes.dictionary)
    if distinct + ids.null_count == len(ids):
        return
    positions = np.asarray(pc.fill_null(codes.indices, -1).to_numpy(zero_copy_only=False))
    first = np.full(distinct + 1, len(ids), np.int64)
    np.minimum.at(first, positions, np.arange(len(ids)))
    repeats = np.flatnonzero((first[positions] < np.arange(len(ids))) & (positions >= 0))
    row = int(repeats[0])
    earlier = homes.place(int(first[positions[row]])).rsplit(", ", 1)[-1]
    what = f"the id {ids[row]} already stands in {earlier}{_count(len(repeats), 'row')}."
    where = f"{homes.place(row)}, column {key}"
    problems.append(Problem(where=where, what=what, fix="Give every group one row and one id."))


def _check_matches(
    group_of: npt.NDArray[np.int64],
    ids: pa.Array,
    refs: pa.Array,
    homes: Source,
    people: Source,
    link: str,
    problems: list[Problem],
) -> None:
    lost = np.flatnonzero((group_of < 0) & np.asarray(pc.is_valid(refs)))
    if len(lost):
        row = int(lost[0])
        what = f"{link} {refs[row]} is not in {homes.name}{_count(len(lost), 'row')}."
        fix = "Add the group or drop the person."
        problems.append(Problem(where=people.place(row), what=what, fix=fix))
    empty = np.bincount(group_of[group_of >= 0], minlength=len(ids)) == 0
    # A repeated id finds only its first row; that is reported already.
    empty &= np.asarray(pc.is_valid(ids))
    empty &= np.asarray(
        pc.index_in(ids, value_set=ids).to_numpy(zero_copy_only=False)
    ) == np.arange(len(ids))
    rows = np.flatnonzero(empty)
    if len(rows):
        row = int(rows[0])
        what = f"{ids[row]} has nobody in {people.name}{_count(len(rows), 'row')}."
        fix = "Add its members or drop the group; groups without members are not supported."
        problems.append(Problem(where=homes.place(row), what=what, fix=fix))


def _count(count: int, noun: str) -> str:
    return f" ({count:,} such {noun}s; this is the first)" if count > 1 else ""
