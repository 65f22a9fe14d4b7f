"""`validate`: do tables fit a schema, and what do they look like to it? NOT PRIVATE.

Guarantee: none. What is found here are true figures of the data, for whoever holds it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

import numpy as np

from kinfolk._io import local_path
from kinfolk._typing import Ints
from kinfolk.data.encode import HEADING, encode, encode_sources
from kinfolk.data.encoded import Cleaning, Encoded
from kinfolk.data.membership import nobody_left
from kinfolk.data.spark_session import runs_on_spark
from kinfolk.data.tables import Source, TableLike
from kinfolk.data.undeclared import seem_computed
from kinfolk.errors import DataError, Problem, redacting
from kinfolk.queries.workload import Workload
from kinfolk.schema import Level, Schema
from kinfolk.schema.doubtful import doubtful_relations, wide_bins
from kinfolk.schema.names import AttributeNames
from kinfolk.template import show

NOTICE = "These are true figures of the data: not private"
LARGE = 32 * 2**20
"""Bytes of files; more than that are read in pieces, ..."""
MEMORY = 256 * 2**20
"""... whose rows take about so many bytes of memory."""


@dataclass(frozen=True, kw_only=True)
class TableSummary:
    """One table, as far as it was looked at."""

    name: str
    read: int
    """Rows that were read."""
    kept: int
    """Rows that are left when the schema's limits are applied."""
    attributes: int
    categories: int
    """Of all attributes together."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Validation:
    """Tables that fit a schema: what there is in them. NOT PRIVATE."""

    schema: Schema
    tables: tuple[TableSummary, ...]
    cleaning: Cleaning
    """What was left out on the schema's instructions."""
    sizes: Mapping[int, int]
    """How many groups have so many members; empty for flat data."""
    roles: Mapping[str, int]
    """How many people have each role."""
    rules: Mapping[str, int]
    """How many groups break each rule, where such groups are dropped."""
    notes: tuple[str, ...]
    """What is doubtful, in sentences."""

    def left_out(self) -> list[str]:
        """What was left out, in sentences."""
        schema, cleaning = self.schema, self.cleaning
        found = []
        if cleaning.people_outside_roles:
            found.append(
                f"{cleaning.people_outside_roles:,} people have no declared role (others: drop)."
            )
        if cleaning.groups_outside_roles:
            found.append(
                f"{cleaning.groups_outside_roles:,} groups have nobody in a declared role."
            )
        if cleaning.groups_oversize:
            done = "dropped" if schema.oversize == "drop" else "cut"
            found.append(
                f"{cleaning.groups_oversize:,} oversize groups were {done}, with "
                f"{cleaning.people_oversize:,} people (oversize: {schema.oversize})."
            )
        if cleaning.groups_against_rules:
            found.append(
                f"{cleaning.groups_against_rules:,} groups that break a rule were dropped, with "
                f"{cleaning.people_against_rules:,} people (on_violation: drop)."
            )
        return found

    def __repr__(self) -> str:
        kept = ", ".join(f"{table.kept:,} {table.name}" for table in self.tables)
        return f"Validation({kept} fit the schema; NOT PRIVATE)"

    def _repr_html_(self) -> str:
        headings = ["", "rows read", "rows kept", "attributes", "categories"]
        rows = [[t.name, t.read, t.kept, t.attributes, t.categories] for t in self.tables]
        rows += [["note", text, "", "", ""] for text in (*self.left_out(), *self.notes)]
        return show("The tables fit the schema", rows, headings=headings, note=f"{NOTICE}.")


def validate(
    schema: Schema | str | os.PathLike[str],
    tables: Mapping[str, TableLike],
    *,
    engine: str | None = None,
) -> Validation:
    """Check tables by name against a schema; a DataError has everything there is to mend.

    Tables are data frames of pandas, polars or pyarrow, or paths. Those of Spark are checked on the
    cluster, and with `engine="spark"`, paths that Spark can read. NOT PRIVATE: what it returns are
    true figures of the data.

    >>> from kinfolk import load_detroit
    >>> schema, tables = load_detroit()
    >>> validate(schema, tables)
    Validation(14,793 households, 30,534 persons fit the schema; NOT PRIVATE)
    """
    declared = Schema.of(schema)
    if runs_on_spark(tables, engine):
        figures, computed = _spark_figures(declared, tables)
    elif _bytes(tables) > LARGE:
        figures, computed = _file_figures(declared, tables)
    else:
        encoded = encode(declared, tables)
        figures, computed = _figures(encoded), seem_computed(declared, encoded)
    names = declared.table_names
    cleaning = figures.cleaning
    read = [cleaning.groups_read, cleaning.people_read][-len(names) :]
    kept = [figures.groups, figures.people][-len(names) :]
    domains = [declared.group_attributes, declared.individual_attributes][-len(names) :]
    sizes, roles, against = (
        one.tolist() for one in (figures.sizes, figures.roles, figures.against)
    )
    return Validation(
        schema=declared,
        tables=tuple(
            TableSummary(
                name=name,
                read=before,
                kept=after,
                attributes=len(domain),
                categories=sum(attribute.size for attribute in domain.values()),
            )
            for name, before, after, domain in zip(names, read, kept, domains, strict=True)
        ),
        cleaning=cleaning,
        sizes=dict(zip(declared.sizes, sizes, strict=True)) if declared.group else {},
        roles=dict(zip(declared.roles.names, roles, strict=True)) if declared.roles else {},
        rules=dict(zip(declared.never, against, strict=True)),
        notes=tuple(_notes(declared, figures, computed)),
    )


@dataclass(frozen=True, kw_only=True)
class _Figures:
    """True figures of tables."""

    groups: int
    people: int
    cleaning: Cleaning
    against: Ints
    """(rules,) how many groups break each rule, where they are left out."""
    sizes: Ints
    """(sizes,) how many groups there are of each,"""
    roles: Ints
    """(roles,) how many people of each,"""
    categories: Mapping[tuple[str, str], Ints]
    """and for a table and an attribute, (categories,) how many rows of each."""

    def __add__(self, other: _Figures) -> _Figures:
        return _Figures(
            groups=self.groups + other.groups,
            people=self.people + other.people,
            cleaning=self.cleaning + other.cleaning,
            against=self.against + other.against,
            sizes=self.sizes + other.sizes,
            roles=self.roles + other.roles,
            categories={key: one + other.categories[key] for key, one in self.categories.items()},
        )


def _figures(encoded: Encoded) -> _Figures:
    """Those of tables in memory."""
    schema = encoded.schema
    role = np.zeros(0, np.uint8) if encoded.role is None else encoded.role
    tables = ((schema.group, encoded.group), (schema.individual, encoded.individual))
    return _Figures(
        groups=encoded.groups,
        people=encoded.people,
        cleaning=encoded.cleaning,
        against=np.array(encoded.against or (0,) * len(schema.never), np.int64),
        sizes=np.bincount(encoded.sizes - schema.sizes.start, minlength=len(schema.sizes)),
        roles=np.bincount(role, minlength=len(schema.roles.names) if schema.roles else 0),
        categories={
            (table.table, name): np.bincount(codes[:, at], minlength=attribute.size)
            for table, codes in tables
            if table is not None
            for at, (name, attribute) in enumerate(table.attributes.items())
        },
    )


def _bytes(tables: Mapping[str, TableLike]) -> int:
    """How large the files are, if all tables are files of this machine."""
    paths = tables.values() if isinstance(tables, Mapping) else ()
    if not all(isinstance(path, str | Path) for path in paths):
        return 0
    try:
        found = [local_path(path) for path in paths]
        parts = [part for path in found for part in (path, *path.rglob("*.parquet"))]
        return sum(part.stat().st_size for part in parts)
    except (OSError, ValueError):
        # What is wrong with a path is said where it is read.
        return 0


def _file_figures(
    schema: Schema, tables: Mapping[str, TableLike]
) -> tuple[_Figures, list[tuple[str, str]]]:
    """Those of large files, in pieces of whole groups; and what seems computed in them."""
    # Imported here because it brings the compiled counting along.
    from kinfolk.queries.streaming import read_parts

    def figures(
        homes: Source | None, people: Source, problems: list[Problem], *, part: bool
    ) -> _Figures:
        return _figures(encode_sources(schema, homes, people, problems, part=part))

    found = reduce(_Figures.__add__, read_parts(schema, tables, figures, memory=MEMORY))
    if not found.groups:
        name = local_path(tables[schema.individual.table]).name
        raise DataError(HEADING, [nobody_left(schema, name, found.cleaning)])
    return found, seem_computed(schema, tables)


def _spark_figures(
    schema: Schema, tables: Mapping[str, TableLike]
) -> tuple[_Figures, list[tuple[str, str]]]:
    """Those of tables that Spark reads, and what seems computed in them."""
    # Imported here because it brings the compiled counting along.
    from kinfolk.queries.spark import SparkTables

    read = SparkTables.of(schema, tables)
    counter = read.count(one_attribute_each(schema))
    own, members = list(schema.group_attributes), list(schema.individual_attributes)
    categories: dict[tuple[str, str], Ints] = {}
    sizes, roles = np.array([counter.groups]), np.zeros(1, np.int64)
    for marginal, place in counter.workload.slices():
        counts = counter.counts[place]
        if marginal.group == (len(own),):
            sizes = counts
        elif marginal.group:
            categories[schema.table_names[0], own[marginal.group[0]]] = counts
        elif marginal.individual == (len(members),):
            roles = counts
        else:
            categories[schema.individual.table, members[marginal.individual[0]]] = counts
    figures = _Figures(
        groups=counter.groups,
        people=counter.people,
        cleaning=counter.cleaning,
        against=counter.against,
        sizes=sizes,
        roles=roles,
        categories=categories,
    )
    return figures, read.seem_computed()


def one_attribute_each(schema: Schema) -> Workload:
    """Every attribute on its own, of groups or of people as it is, with sizes and roles.

    >>> from kinfolk import load_schema
    >>> one_attribute_each(load_schema("acs-red"))
    Workload(23 queries in 9 marginals: 15 group, 8 individual)
    """
    names = AttributeNames(schema)
    by_position = names.by_position()
    levels = {Level.GROUP: False, Level.INDIVIDUAL: True}
    found = [
        Workload.of(schema, levels=[level], sets=[[by_position[at]] for at in positions])
        for level, own in levels.items()
        if (positions := [at for at in names.all if names.is_individual(at) is own])
    ]
    return replace(found[0], marginals=tuple(one for part in found for one in part.marginals))


def _notes(schema: Schema, figures: _Figures, computed: list[tuple[str, str]]) -> list[str]:
    found = [
        f"Note: {name} seems computed from the members ({formula}).\n"
        "If it is, and the unit is `person`, write `derived: true`."
        for name, formula in computed
    ]
    found += [f"Note: {text}" for text in doubtful_relations(schema)]
    known = {key: counts.tolist() for key, counts in figures.categories.items()}
    counts = None if redacting() else known
    return found + [f"Warning: {text}." for text in wide_bins(schema, counts)]
