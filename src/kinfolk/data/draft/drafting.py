"""Two tables -> a draft of their schema.

Guarantee: none. A draft is read off the data and says so in every line; it is a tool for whoever
holds the data, and no part of a private release.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from kinfolk._io import write_whole
from kinfolk.data.draft.hints import (
    RoleGuess,
    find_computed,
    find_weight,
    guess_roles,
    has_role_name,
)
from kinfolk.data.draft.infer_attribute import judge
from kinfolk.data.draft.links import (
    Ids,
    find_ids,
    is_running_number,
    is_size,
    names_group,
    repeats_group_column,
)
from kinfolk.data.draft.page import TableDraft, commented, write_page
from kinfolk.data.draft.profile import LeftOut, Opened, Profile, open_table, profile, safe_name
from kinfolk.data.draft.rule_cuts import cut_at_rules
from kinfolk.data.draft.sdv_metadata import Kinds, Metadata, read_metadata
from kinfolk.data.draft.suggest_rules import Rules, sensible, suggest_rules
from kinfolk.data.tables import TableLike
from kinfolk.errors import KinfolkError
from kinfolk.schema import Attribute, Numeric, Schema
from kinfolk.schema.rules import Rule

LARGEST_GROUP = 255
"""The largest max_size a schema may have."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Draft:
    """A drafted schema, ready to be written to a file and to be confirmed."""

    text: str
    """The schema as YAML; it fits the tables it was drafted from."""
    notes: tuple[str, ...]
    """What to say on the screen."""

    @property
    def schema(self) -> Schema:
        """The drafted schema, as it is: its domain is `drafted`, which leaks."""
        return Schema.from_text(self.text, name="the draft")

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, with its comments: to be gone through, line by line."""
        write_whole(Path(path), self.text)

    def __repr__(self) -> str:
        schema = self.schema
        number = len(schema.group_attributes) + len(schema.individual_attributes)
        return f"Draft({_count(number, 'attribute')} of {' and '.join(schema.table_names)})"

    def _repr_html_(self) -> str:
        return self.schema._repr_html_()


def draft_schema(
    homes: TableLike,
    people: TableLike,
    *,
    group_id: str | None = None,
    individual_group_id: str | None = None,
    sdv: Path | None = None,
) -> Draft:
    """Draft a schema from a table of groups and a table of individuals.

    `group_id` and `individual_group_id` name the columns that link them; what is not named is
    guessed. `sdv` is an SDV metadata.json that names tables, ids and kinds of columns.

    >>> import pyarrow as pa
    >>> homes = pa.table({"hh_id": [7, 8, 9], "cars": [1, 0, 1]})
    >>> people = pa.table({"hh_id": [8, 7, 8, 9], "sex": ["m", "f", "f", "m"]})
    >>> draft = draft_schema(homes, people)
    >>> print(draft.text[draft.text.index("group:"):draft.text.index("individual:")])
    group:
      table: households
      id: hh_id  # READ FROM THE DATA: confirm
      attributes:
        cars: {values: [0, 1]}  # READ FROM THE DATA: confirm
    <BLANKLINE>
    >>> Schema.from_text(draft.text).domain
    'drafted'
    """
    opened = open_table(homes, default="households"), open_table(people, default="persons")
    return _drafted(*opened, group_id, individual_group_id, sdv)


def draft(
    tables: Mapping[str, TableLike],
    *,
    group_id: str | None = None,
    individual_group_id: str | None = None,
    sdv: str | os.PathLike[str] | None = None,
) -> Draft:
    """Draft a schema from two tables by name, that of groups first: data frames, or paths.

    `group_id` and `individual_group_id` name the columns that link them; what is not named is
    guessed. `sdv` is an SDV metadata.json that names tables, ids and kinds of columns. NOT PRIVATE:
    a draft is read off the data, and every line of it is to be confirmed.

    >>> import pyarrow as pa
    >>> homes = pa.table({"hh_id": [7, 8, 9], "cars": [1, 0, 1]})
    >>> people = pa.table({"hh_id": [8, 7, 8, 9], "sex": ["m", "f", "f", "m"]})
    >>> draft({"homes": homes, "people": people})
    Draft(2 attributes of homes and people)
    """
    if not isinstance(tables, Mapping) or len(tables) != 2:
        given = f"{len(tables)} of them" if isinstance(tables, Mapping) else type(tables).__name__
        raise KinfolkError(
            "draft takes two tables by name, that of groups first: "
            f"{{'households': ..., 'persons': ...}}; got {given}."
        )
    homes, people = (
        replace(open_table(table, default=name), table=safe_name(name) or f"table_{at}")
        for at, (name, table) in enumerate(tables.items(), 1)
    )
    metadata = Path(sdv) if sdv is not None else None
    return _drafted(homes, people, group_id, individual_group_id, metadata)


def _drafted(
    groups_table: Opened, people_table: Opened, key: str | None, link: str | None, sdv: Path | None
) -> Draft:
    metadata = read_metadata(sdv) if sdv is not None else None
    if metadata is not None:
        key, link = key or metadata.key, link or metadata.link
        _check_ids(metadata, groups_table, key)
        _check_ids(metadata, people_table, link)
    ids = find_ids(groups_table, people_table, key=key, link=link)
    return _Drafter(groups_table, people_table, ids, metadata).draft()


class _Drafter:
    """Two linked tables, column by column."""

    def __init__(self, homes: Opened, people: Opened, ids: Ids, metadata: Metadata | None) -> None:
        self.homes, self.people, self.ids, self.metadata = homes, people, ids, metadata
        self.home_profiles = _profiles(homes)
        self.people_profiles = _profiles(people)

    def draft(self) -> Draft:
        """Judge every column, then write it all down."""
        home_table, people_table = self._table_names()
        told = self.metadata
        homes = self._judge_table(self.homes, told.group if told else None, people=False)
        people = self._judge_table(self.people, told.individual if told else None, people=True)
        group = TableDraft(table=home_table, columns=homes)
        drafted = TableDraft(table=people_table, columns=people)
        if not drafted.attributes:
            raise KinfolkError(_nothing_left(self.people.name, drafted))
        of_groups, of_people = (
            _kept(self.home_profiles, group),
            _kept(self.people_profiles, drafted),
        )
        roles = guess_roles(of_people, self.ids.groups, self.people.labels.values)
        heads = roles.heads if roles else None
        computed = find_computed(of_groups, of_people, self.ids.groups, heads)
        group = group.derived(computed, drafted)
        numbers = {n: p for n, p in of_groups.items() if isinstance(group.attributes[n], Numeric)}
        weight = find_weight(numbers)
        count = "COUNT"
        while count in group.attributes or count in drafted.attributes:
            count = f"GROUP_{count}"
        page = partial(
            write_page,
            group,
            key=self.ids.key,
            link=self.ids.link,
            ids_read=self.ids.guessed,
            max_size=self._max_size(),
            count=count,
            weight=weight,
            groups=self.ids.groups.count,
        )
        schema = Schema.from_text(page(drafted), name="the draft")
        with_roles = roles.applied(schema) if roles else None
        if roles is not None and with_roles is None:
            roles = replace(roles, roles={})
        rules = suggest_rules(
            {name: (found, drafted.attributes[name]) for name, found in of_people.items()},
            {name: (found, group.attributes[name]) for name, found in of_groups.items()},
            self.ids.groups,
            roles=roles,
            count=count,
            tables=(home_table, people_table),
        )
        rules = sensible(rules, schema, with_roles)
        parsed = [Rule.parse(text, schema) for text in rules.plain]
        if with_roles is not None:
            parsed += [Rule.parse(text, with_roles) for text in rules.of_roles]
        cut = cut_at_rules(drafted.attributes, parsed)
        drafted = replace(drafted, columns={**drafted.columns, **cut})
        text = page(drafted, roles=roles, rules=rules)
        Schema.from_text(text, name="the draft")
        notes = self._notes(group, drafted, roles, rules, weight)
        return Draft(text=text, notes=tuple(notes))

    def _table_names(self) -> tuple[str, str]:
        names = (self.homes.table, self.people.table)
        if self.metadata is not None:
            told = (self.metadata.group_table, self.metadata.individual_table)
            names = (safe_name(told[0]) or "households", safe_name(told[1]) or "persons")
        # Two names that differ only in case would be one file on some systems.
        same = names[0].lower() == names[1].lower()
        return ("households", "persons") if same else names

    def _judge_table(
        self, opened: Opened, kinds: Kinds | None, *, people: bool
    ) -> dict[str, Attribute | LeftOut]:
        profiles = self.people_profiles if people else self.home_profiles
        key = self.ids.link if people else self.ids.key
        weight = None if people else find_weight(profiles)
        judged: dict[str, Attribute | LeftOut] = {}
        for name in opened.order:
            if name == key:
                continue
            told = "unknown" if kinds is None else kinds.get(name, _UNTOLD)
            if name == weight and told == "unknown":
                told = "numerical"
            found = profiles[name]
            if isinstance(told, LeftOut):
                judged[name] = told
            elif isinstance(found, LeftOut):
                judged[name] = found
            else:
                judged[name] = self._structure(found, people=people) or judge(
                    found,
                    told=None if told == "unknown" else told,
                    labels=opened.labels.values.get(name, {}),
                    title=opened.labels.columns.get(name),
                )
        return judged

    def _structure(self, column: Profile, *, people: bool) -> LeftOut | None:
        """What the column turns out to be from the way the tables are linked."""
        groups = self.ids.groups
        if len(column.tally) == 1 and not column.blanks:
            return None
        if not people:
            return is_size(column, groups, people=False)
        same_name = self.home_profiles.get(column.name)
        other = same_name if isinstance(same_name, Profile) else None
        running = None if has_role_name(column.name) else is_running_number(column, groups)
        return (
            is_size(column, groups, people=True)
            or running
            or repeats_group_column(column, other, groups, self._table_names()[0])
            or names_group(column, groups)
        )

    def _max_size(self) -> int:
        sizes = self.ids.groups.sizes
        if sizes[sizes > 0].min() > LARGEST_GROUP:
            raise KinfolkError(
                f"{self.people.name}: every group has more than {LARGEST_GROUP} members by "
                f"{self.ids.link}. Name the right columns with --id and --group-id."
            )
        return min(int(sizes.max()), LARGEST_GROUP)

    def _notes(
        self,
        homes: TableDraft,
        people: TableDraft,
        roles: RoleGuess | None,
        rules: Rules,
        weight: str | None,
    ) -> list[str]:
        notes = [
            "This draft was read off the data. Used as it is, the domain depends on the data, and "
            "that leaks: a rare value is listed only because somebody has it.",
            "To confirm it, compare every line marked READ FROM THE DATA with the codebook, widen "
            "bins and max_size to public limits, remove the markers, and set `domain: declared`.",
        ]
        how = "guessed" if self.ids.guessed else "as given"
        notes.append(
            f"Ids ({how}): {commented(self.ids.key)} in {self.homes.name}, "
            f"{commented(self.ids.link)} in {self.people.name}."
        )
        for opened, table in ((self.homes, homes), (self.people, people)):
            out = table.left_out
            more = f" and {len(out) - 8} more" if len(out) > 8 else ""
            names = ", ".join(commented(name) for name in list(out)[:8])
            left = f"; left out, with the reason in the file: {names}{more}" if out else ""
            notes.append(f"{opened.name}: {_count(len(table.attributes), 'attribute')}{left}.")
        notes += _suggestions(homes, roles, rules, weight)
        return notes + self._warnings()

    def _warnings(self) -> list[str]:
        notes = []
        sizes = self.ids.groups.sizes
        empty = int(np.count_nonzero(sizes == 0))
        if empty:
            verb = "has" if empty == 1 else "have"
            notes.append(
                f"{_count(empty, 'group')} of {self.homes.name} {verb} nobody in "
                f"{self.people.name}; `kinfolk validate` will refuse that. Drop such groups first."
            )
        if sizes.max() > LARGEST_GROUP:
            notes.append(
                f"Some groups have more than {LARGEST_GROUP} members, the most a schema allows; "
                "they will be dropped. Check that the ids are right."
            )
        for opened, kinds in self._told():
            gone = [name for name in kinds if name not in opened.order]
            if gone:
                names = ", ".join(commented(name) for name in gone)
                notes.append(f"The metadata names columns that {opened.name} lacks: {names}.")
        return notes

    def _told(self) -> list[tuple[Opened, Kinds]]:
        if self.metadata is None:
            return []
        return [(self.homes, self.metadata.group), (self.people, self.metadata.individual)]


def _suggestions(
    homes: TableDraft, roles: RoleGuess | None, rules: Rules, weight: str | None
) -> list[str]:
    notes = []
    if weight is not None:
        notes.append(
            f"{commented(weight)} looks like a survey weight; the file suggests to declare it, in "
            "a comment."
        )
    if roles is not None:
        more = " and relations" if roles.relations else ""
        notes.append(
            f"{commented(roles.column)} looks like it says who somebody is in the group; the "
            f"file suggests roles{more} in comments."
        )
    if homes.computed:
        names = ", ".join(commented(name) for name in homes.computed)
        notes.append(f"Look computed from the members, and say `derived: true`: {names}.")
    number = len(rules.plain) + len(rules.of_roles)
    if number:
        notes.append(
            f"The file suggests {_count(number, 'rule')} in comments, from what never occurs. "
            "Use those that the codebook confirms."
        )
    return notes


def _check_ids(metadata: Metadata, opened: Opened, column: str) -> None:
    """The id that the metadata names must be in the table."""
    if column not in opened.order and column in (metadata.key, metadata.link):
        raise KinfolkError(
            f"{metadata.file} says that {column!r} links the tables; {opened.name} has no such "
            f"column. Pass {metadata.group_table} first, then {metadata.individual_table}."
        )


_UNTOLD = LeftOut("the metadata does not name it")


def _profiles(opened: Opened) -> dict[str, Profile | LeftOut]:
    found: dict[str, Profile | LeftOut] = {}
    for name in opened.order:
        if name in opened.unreadable:
            found[name] = LeftOut(opened.unreadable[name])
        else:
            column = opened.source.columns[name]
            found[name] = profile(name, column, untyped=opened.source.untyped)
    return found


def _kept(profiles: dict[str, Profile | LeftOut], draft: TableDraft) -> dict[str, Profile]:
    """The profiles of the columns that became attributes."""
    return {
        name: found
        for name, found in profiles.items()
        if isinstance(found, Profile) and name in draft.attributes
    }


def _nothing_left(name: str, draft: TableDraft) -> str:
    reasons = "; ".join(f"{commented(n)}: {out.why}" for n, out in list(draft.left_out.items())[:5])
    what = f"no column can be an attribute ({reasons})" if reasons else "it has only the id"
    return (
        f"{name}: {what}. A schema needs at least one column of the individuals; add or mend one."
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
