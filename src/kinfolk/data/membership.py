"""Which group does everybody belong to, and who stays?

Ids may be of any type, as long as both tables agree. Roles are checked and oversize groups dropped
or cut by looking at one group alone, and without chance, so that replacing a group in the data
replaces one group in the result: the privacy unit survives the cleaning.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from kinfolk._typing import Ints
from kinfolk.data.columns import (
    column_kind,
    distinct,
    in_words,
    plain_text,
    type_name,
    value_of,
    wrong_kind,
)
from kinfolk.data.csv_files import first_of_n
from kinfolk.data.encoded import Cleaning
from kinfolk.data.tables import Source
from kinfolk.errors import Problem, private
from kinfolk.schema import Schema
from kinfolk.schema.attributes import kind_of


@dataclass(frozen=True, kw_only=True)
class Links:
    """The group of every person, as a row of the group table."""

    groups: int
    """How many groups there are."""
    group_of: npt.NDArray[np.int64]
    """(people,) the group's row; -1 where it is not known, which is a problem."""
    sound: npt.NDArray[np.bool_]
    """(groups,) whether its id is good and somebody belongs to it."""
    ids: pa.Array | None
    """(groups,) the groups' ids as they stand in the data, for messages."""

    def name(self, group: int) -> str:
        """The id of a group, as text."""
        return plain_text(self.ids[group]) if self.ids is not None else private(group + 1)

    def only(self, groups: npt.NDArray[np.bool_], people: npt.NDArray[np.bool_]) -> Links:
        """The links among some groups, (groups,), and some of their people, (people,)."""
        row = np.cumsum(groups) - 1
        return Links(
            groups=int(groups.sum()),
            group_of=row[self.group_of[people]],
            sound=self.sound[groups],
            ids=None if self.ids is None else self.ids.filter(pa.array(groups)),
        )


def link_tables(
    schema: Schema,
    homes: Source | None,
    people: Source,
    problems: list[Problem],
    *,
    part: bool = False,
) -> Links | None:
    """Look every person's group up; None where that is not possible.

    In a `part` of the data, a table without rows leaves the other one's rows unmatched.
    """
    if schema.group is None:
        rows = np.arange(people.rows, dtype=np.int64)
        return Links(groups=people.rows, group_of=rows, sound=rows >= 0, ids=None)
    key, link = schema.group.id, schema.individual.group_id
    if homes is None or link is None:
        return None
    return link_by(key, link, homes, people, problems, part=part)


def link_by(
    key: str,
    link: str,
    homes: Source,
    people: Source,
    problems: list[Problem],
    *,
    part: bool = False,
) -> Links | None:
    """Look every person's group up by the column `link`, among those of the column `key`."""
    if key not in homes.columns or link not in people.columns:
        return None
    if not part and not (homes.rows and people.rows):
        return None
    given = [(homes, key, homes.columns[key]), (people, link, people.columns[link])]
    found = [_read_ids(source, name, column, problems) for source, name, column in given]
    ids, refs = found
    if ids is None or refs is None:
        return None
    untyped = homes.untyped != people.untyped
    common = next(
        (t for t in _common_types(ids, refs, untyped=untyped) if _fit(t, ids, refs)), None
    )
    if common is None:
        held = in_words(refs.type), in_words(ids.type)
        if held[0] == held[1]:
            held = type_name(refs.type), type_name(ids.type)
        first = [plain_text(next(iter(cells.drop_null()), "none")) for cells in (refs, ids)]
        what = (
            f"the ids are {held[0]} ({first[0]}), but {held[1]} ({first[1]}) in {homes.name}, "
            f"column {key}."
        )
        where = f"{people.name}, column {link}"
        problems.append(Problem(where=where, what=what, fix="Store both ids as the same type."))
        return None
    ids, refs = ids.cast(common), refs.cast(common)
    once = _check_unique(ids, homes, key, problems)
    found_in = pc.index_in(refs, value_set=ids, skip_nulls=True)
    group_of = np.asarray(pc.fill_null(found_in, -1).to_numpy(), dtype=np.int64)
    inhabited = _check_matches(group_of, ids, refs, homes, people, key, link, problems)
    return Links(groups=homes.rows, group_of=group_of, sound=once & inhabited, ids=ids)


def stored_ids(ids: pa.ChunkedArray) -> pa.ChunkedArray:
    """Ids as what they are stored as: without a dictionary, or a type of the owner's own."""
    if pt.is_dictionary(ids.type):
        ids = ids.cast(ids.type.value_type)
    if isinstance(ids.type, pa.BaseExtensionType):
        ids = pa.chunked_array([chunk.storage for chunk in ids.chunks], ids.type.storage_type)
    return ids


def _read_ids(
    source: Source, name: str, column: pa.ChunkedArray, problems: list[Problem]
) -> pa.Array | None:
    """A column of ids as a plain array; None where ids of its type cannot be compared."""
    column = stored_ids(column)
    if pt.is_string_view(column.type):
        column = column.cast(pa.large_string())
    if pt.is_floating(column.type):
        column = column.cast(pa.float64())
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    blank = np.flatnonzero(np.asarray(pc.is_null(column)))
    if len(blank):
        what = f"the id is blank{first_of_n(len(blank))}."
        problems.append(source.problem(int(blank[0]), name, what, "Every row needs one."))
    if source.rows and len(blank) == source.rows:
        return None
    ids = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    try:
        ids[:0].dictionary_encode()
    except pa.ArrowNotImplementedError:
        what = f"the ids are of the type {type_name(ids.type)}, which cannot be compared."
        where = f"{source.name}, column {name}"
        problems.append(Problem(where=where, what=what, fix="Use numbers or text as ids."))
        return None
    return ids


def _common_types(ids: pa.Array, refs: pa.Array, *, untyped: bool) -> list[pa.DataType]:
    """The types in which both ids might be compared, the best one first."""
    kinds = {column_kind(ids.type), column_kind(refs.type)}
    if ids.type == refs.type:
        return [ids.type]
    if kinds == {"number"}:
        return [pa.int64(), pa.decimal128(20, 0), pa.float64()]
    # CSV has no types: there 7 is written '7'.
    if kinds == {"text"} or (untyped and kinds == {"text", "number"}):
        return [pa.large_string()]
    return []


def _fit(dtype: pa.DataType, *columns: pa.Array) -> bool:
    """Whether the columns can be converted without loss."""
    try:
        for column in columns:
            column.cast(dtype)
    except pa.ArrowException:
        return False
    return True


def _check_unique(
    ids: pa.Array, homes: Source, key: str, problems: list[Problem]
) -> npt.NDArray[np.bool_]:
    """(groups,) which ids are there, and once only."""
    codes = ids.dictionary_encode()
    distinct = len(codes.dictionary)
    indices = pc.fill_null(codes.indices, -1).to_numpy(zero_copy_only=False)
    positions: npt.NDArray[np.int64] = np.asarray(indices, dtype=np.int64)
    if distinct + ids.null_count == len(ids):
        return positions >= 0
    first = np.full(distinct + 1, len(ids), np.int64)
    np.minimum.at(first, positions, np.arange(len(ids)))
    repeats = np.flatnonzero((first[positions] < np.arange(len(ids))) & (positions >= 0))
    row = int(repeats[0])
    earlier = homes.place(int(first[positions[row]])).rsplit(", ", 1)[-1]
    if homes.named_by is not None:
        earlier = "another row"
    what = f"the id {plain_text(ids[row])} already stands in {earlier}{first_of_n(len(repeats))}."
    problems.append(homes.problem(row, key, what, "Give every group one row and one id."))
    counts = np.bincount(positions[positions >= 0], minlength=distinct + 1)
    once: npt.NDArray[np.bool_] = (positions >= 0) & (counts[positions] == 1)
    return once


def _check_matches(
    group_of: npt.NDArray[np.int64],
    ids: pa.Array,
    refs: pa.Array,
    homes: Source,
    people: Source,
    key: str,
    link: str,
    problems: list[Problem],
) -> npt.NDArray[np.bool_]:
    """(groups,) which groups somebody belongs to."""
    lost = np.flatnonzero((group_of < 0) & np.asarray(pc.is_valid(refs)))
    if len(lost):
        row = int(lost[0])
        what = f"{plain_text(refs[row])} is not in {homes.name}{first_of_n(len(lost))}."
        problems.append(people.problem(row, link, what, "Add the group or drop the person."))
    inhabited = np.bincount(group_of[group_of >= 0], minlength=len(ids)) > 0
    # A repeated id finds only its first row; that is reported already.
    empty = ~inhabited & np.asarray(pc.is_valid(ids))
    empty &= np.asarray(
        pc.index_in(ids, value_set=ids).to_numpy(zero_copy_only=False)
    ) == np.arange(len(ids))
    rows = np.flatnonzero(empty)
    if len(rows):
        row = int(rows[0])
        what = f"{plain_text(ids[row])} has nobody in {people.name}{first_of_n(len(rows))}."
        fix = "Add its members or drop the group; groups without members are not supported."
        problems.append(homes.problem(row, key, what, fix))
    return inhabited


UNKNOWN = -2
"""The role of somebody whose role is blank where it may not be."""


@dataclass(frozen=True, kw_only=True)
class Members:
    """The groups and people that stay, in order."""

    groups: Ints
    """(groups kept,) rows of the group table."""
    people: Ints
    """(people kept,) rows of the individual table, group by group."""
    offsets: Ints
    """(groups kept + 1,) where each group's members begin."""
    role: npt.NDArray[np.uint8] | None
    """(people kept,) their roles."""
    cleaning: Cleaning
    against: tuple[int, ...] = ()
    """How many groups broke each rule, where those are left out and there were any."""


def apply_size_and_role_limits(
    schema: Schema,
    homes: Source | None,
    people: Source,
    links: Links,
    problems: list[Problem],
    *,
    part: bool = False,
) -> Members | None:
    """Apply roles, then `oversize`; only in a `part` of the data may nobody be left."""
    order = np.argsort(links.group_of, kind="stable")
    order = order[links.group_of[order] >= 0]
    group = links.group_of[order]
    role = np.zeros(len(order), np.int64)
    outside = 0
    if schema.roles is not None:
        found = read_roles(schema, people, problems)
        if found is None:
            return None
        role = found[order]
        listed = role >= 0
        outside = int((~listed).sum())
        order, group, role = order[listed], group[listed], role[listed]
        if homes is not None:
            unknown = links.group_of[found == UNKNOWN]
            checked = links.sound.copy()
            checked[unknown[unknown >= 0]] = False
            check_roles(schema, homes, links, group, role, checked, problems)
    empty = links.groups - len(np.unique(group))
    keep, oversize = fit_sizes(schema, links.groups, group, role)
    cut = int((~keep).sum())
    order, group, role = order[keep], group[keep], role[keep]
    counts = np.bincount(group, minlength=links.groups)
    kept = np.flatnonzero(counts)
    cleaning = Cleaning(
        groups_read=links.groups,
        people_read=people.rows,
        people_outside_roles=outside,
        groups_outside_roles=empty,
        groups_oversize=oversize,
        people_oversize=cut,
    )
    if not len(kept) and not part:
        if not problems:
            problems.append(nobody_left(schema, people.name, cleaning))
        return None
    return Members(
        groups=kept,
        people=order,
        offsets=np.concatenate([[0], np.cumsum(counts[kept])]),
        role=role.astype(np.uint8) if schema.roles is not None else None,
        cleaning=cleaning,
    )


def nobody_left(schema: Schema, table: str, cleaning: Cleaning) -> Problem:
    """Cleaning has left no group."""
    oversize, against = cleaning.groups_oversize, cleaning.groups_against_rules
    others = cleaning.groups_read - oversize - against
    dropping = schema.never and schema.on_violation == "drop"
    ruled = f", {private(f'{against:,}')} against a rule" if dropping else ""
    what = (
        f"no group is left: {private(f'{oversize:,}')} over max_size or a role's max, "
        f"{private(f'{others:,}')} without anybody in a declared role{ruled}."
    )
    fix = "Raise max_size or max, write `oversize: first`, or declare the roles that occur."
    if dropping:
        fix += " Check the rules under `never`."
    return Problem(where=table, what=what, fix=fix)


def read_roles(schema: Schema, people: Source, problems: list[Problem]) -> Ints | None:
    """(people,) everybody's role as an index into the roles' names; -1 for nobody's role.

    UNKNOWN where it is blank and may not be. None where the column is no column of roles.
    """
    roles = schema.roles
    assert roles is not None  # noqa: S101  (callers have checked)
    column = people.columns.get(roles.column)
    if column is None:
        return None
    role_of = {v: index for index, role in enumerate(roles.roles.values()) for v in role.values}
    kind = kind_of(next(iter(role_of)))
    other = len(roles.roles) if roles.others == "keep" else -1
    wrong = None if people.untyped else wrong_kind(column, kind)
    if wrong is not None:
        problems.append(wrong.problem(people.place(int(wrong.rows[0])), roles.column))
        return None
    cells, positions = distinct(column)
    values = [value_of(cell, kind) for cell in cells.to_pylist()]
    lookup = [other if value is None else role_of.get(value, other) for value in values]
    blank = np.flatnonzero(positions < 0)
    if len(blank) and roles.others == "drop":
        what = f"the role is blank{first_of_n(len(blank))}."
        fix = "Fill it in, or write `others: keep`."
        problems.append(people.problem(int(blank[0]), roles.column, what, fix))
    nothing = other if roles.others == "keep" else UNKNOWN
    roles_of_cells = np.array([*lookup, nothing], np.int64)
    return roles_of_cells[positions]


def check_roles(
    schema: Schema,
    homes: Source,
    links: Links,
    group: Ints,
    role: Ints,
    checked: npt.NDArray[np.bool_],
    problems: list[Problem],
) -> None:
    """Every group has the members its roles require, and no second unique one.

    Groups that are not `checked` have another problem, of which this would be the consequence.
    """
    assert schema.roles is not None  # noqa: S101  (callers have checked)
    declared = schema.roles.roles
    width = len(schema.roles.names)
    counts = np.bincount(group * width + role, minlength=links.groups * width)
    counts = counts.reshape(links.groups, width)
    for index, (name, limits) in enumerate(declared.items()):
        few = np.flatnonzero(checked & (counts[:, index] < limits.min))
        many = np.flatnonzero(checked & (counts[:, index] > 1)) if limits.max == 1 else few[:0]
        for rows, fix in (
            (few, f"Every group needs at least {limits.min}; mend it or change the roles' min."),
            (many, "A role with max: 1 is unique; mend the group or raise max."),
        ):
            if len(rows):
                row = int(rows[0])
                number = private(counts[row, index])
                who = f"no {name}" if number == "0" else f"{number} members with the role {name}"
                what = f"{links.name(row)} has {who}{first_of_n(len(rows), 'group')}."
                key = schema.group.id if schema.group else ""
                problems.append(homes.problem(row, key, what, fix))


def fit_sizes(
    schema: Schema, groups: int, group: Ints, role: Ints
) -> tuple[npt.NDArray[np.bool_], int]:
    """Which people stay once oversize groups are dropped or cut; and how many groups those were.

    `group` is sorted. Under `first`, members a role requires stay before all others, so that a cut
    group still has its head; among the rest the first ones of the file stay.
    """
    limit = schema.size_limit
    sizes = np.bincount(group, minlength=groups)
    over = sizes > limit
    required = np.zeros(len(group), bool)
    fits = np.ones(len(group), bool)
    if schema.roles is not None:
        limits = np.array(schema.roles.limits(schema.max_size))
        rank = rank_within(group * len(limits) + role)
        required = rank < limits[role, 0]
        fits = rank < limits[role, 1]
        over |= np.bincount(group[~fits], minlength=groups) > 0
    if schema.oversize == "drop":
        return ~over[group], int(over.sum())
    # Required members come first in line, then the others in the order of the file.
    line = np.where(required, 0, np.where(fits, 1, 2))
    turn = np.lexsort((np.arange(len(group)), line, group))
    rank = np.empty(len(group), np.int64)
    rank[turn] = rank_within(group[turn])
    return fits & (rank < limit), int(over.sum())


def rank_within(keys: Ints) -> Ints:
    """How many earlier entries have the same key.

    >>> rank_within(np.array([5, 7, 5, 5, 7])).tolist()
    [0, 0, 1, 2, 1]
    """
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(keys) else order
    first = np.repeat(starts, np.diff(np.r_[starts, len(keys)]))
    rank = np.empty(len(keys), np.int64)
    rank[order] = np.arange(len(keys)) - first
    return rank
