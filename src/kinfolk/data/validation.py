"""`validate`: do tables fit a schema, and what do they look like to it? NOT PRIVATE.

Guarantee: none. What is found here are true figures of the data, for whoever holds it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kinfolk.data.encode import encode
from kinfolk.data.encoded import Cleaning, Encoded
from kinfolk.data.tables import TableLike
from kinfolk.data.undeclared import seem_computed
from kinfolk.errors import redacting
from kinfolk.notebook import show
from kinfolk.schema import Schema
from kinfolk.schema.doubtful import doubtful_relations, wide_bins

NOTICE = "These are true figures of the data: not private"


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
    schema: Schema | str | os.PathLike[str], tables: Mapping[str, TableLike]
) -> Validation:
    """Check tables by name against a schema; a DataError has everything there is to mend.

    Tables are data frames of pandas, polars or pyarrow, or paths. NOT PRIVATE: what it returns are
    true figures of the data.

    >>> from kinfolk import load_detroit
    >>> schema, tables = load_detroit()
    >>> validate(schema, tables)
    Validation(14,793 households, 30,534 persons fit the schema; NOT PRIVATE)
    """
    declared = Schema.of(schema)
    encoded = encode(declared, tables)
    names = declared.table_names
    cleaning = encoded.cleaning
    read = [cleaning.groups_read, cleaning.people_read][-len(names) :]
    kept = [encoded.groups, encoded.people][-len(names) :]
    domains = [declared.group_attributes, declared.individual_attributes][-len(names) :]
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
        sizes=_sizes(encoded),
        roles=_roles(encoded),
        rules=dict(zip(declared.never, encoded.against or (0,) * len(declared.never), strict=True)),
        notes=tuple(_notes(encoded)),
    )


def _sizes(encoded: Encoded) -> dict[int, int]:
    schema = encoded.schema
    if schema.group is None:
        return {}
    counts = np.bincount(encoded.sizes, minlength=schema.size_limit + 1)
    return {size: int(counts[size]) for size in schema.sizes}


def _roles(encoded: Encoded) -> dict[str, int]:
    roles = encoded.schema.roles
    if roles is None or encoded.role is None:
        return {}
    counts = np.bincount(encoded.role, minlength=len(roles.names))
    return dict(zip(roles.names, counts.tolist(), strict=True))


def _notes(encoded: Encoded) -> list[str]:
    schema = encoded.schema
    found = [
        f"Note: {name} seems computed from the members ({formula}).\n"
        "If it is, and the unit is `person`, write `derived: true`."
        for name, formula in seem_computed(schema, encoded)
    ]
    found += [f"Note: {text}" for text in doubtful_relations(schema)]
    counts = None if redacting() else _category_counts(encoded)
    return found + [f"Warning: {text}." for text in wide_bins(schema, counts)]


def _category_counts(encoded: Encoded) -> dict[tuple[str, str], Sequence[float]]:
    """For a table and an attribute, how many rows each category has."""
    schema = encoded.schema
    tables = [(schema.group, encoded.group), (schema.individual, encoded.individual)]
    return {
        (table.table, name): np.bincount(codes[:, at], minlength=attribute.size).tolist()
        for table, codes in tables
        if table is not None
        for at, (name, attribute) in enumerate(table.attributes.items())
    }
