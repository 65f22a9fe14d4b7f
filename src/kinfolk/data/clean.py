"""Who stays: roles are checked and oversize groups dropped or cut, one group at a time.

Everything here looks at one group alone and involves no chance, so that replacing a group in the
data replaces one group in the result: the privacy unit survives the cleaning.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kinfolk.data.columns import distinct, value_of, wrong_kind
from kinfolk.data.csv_files import first_of_n
from kinfolk.data.encoded import Cleaning
from kinfolk.data.linking import Links
from kinfolk.data.tables import Source
from kinfolk.errors import Problem, private
from kinfolk.schema import Schema
from kinfolk.schema.attributes import kind_of

Ints = npt.NDArray[np.int64]

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
        place = people.place(int(blank[0]))
        what = f"the role is blank{first_of_n(len(blank))}."
        fix = "Fill it in, or write `others: keep`."
        problems.append(Problem(where=f"{place}, column {roles.column}", what=what, fix=fix))
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
                where = f"{homes.place(row)}, column {schema.group.id if schema.group else ''}"
                problems.append(Problem(where=where, what=what, fix=fix))


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
