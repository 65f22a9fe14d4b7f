"""`kinfolk validate`: do the tables fit the schema?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kinfolk.cli.console import PATH, REDACT, say, table, tell
from kinfolk.errors import KinfolkError, redacting
from kinfolk.schema import Schema

if TYPE_CHECKING:
    from kinfolk.data.encoded import Encoded

HELP = """Check tables against a schema and show everything there is to mend, in one run.

SCHEMA is a schema.yaml; HOUSEHOLDS and PERSONS are CSV, Parquet or Arrow files. Flat data (a schema
without `group`) takes one table. Nothing is written, and nothing here is private: the output speaks
about the data as it is and is meant for whoever holds it. With --redact it says what is wrong with
which column and what to do, and shows nothing of the data.

\b
Example:
  kinfolk validate schema.yaml households.csv persons.csv
"""

DRAFTED = (
    "Warning: the schema says `domain: drafted`: its values were read off the data, which leaks.\n"
    "Confirm the marked lines and set `domain: declared`."
)


@click.command(help=HELP, short_help="Check tables against a schema.")
@click.argument("schema", type=PATH)
@click.argument("tables", nargs=-1, required=True, type=PATH)
@REDACT
def validate(schema: Path, tables: tuple[Path, ...]) -> None:
    """See HELP."""
    from kinfolk.data.encode import encode

    declared = Schema.from_yaml(schema)
    encoded = encode(declared, name_tables(declared, tables))
    if redacting():
        say("The tables fit the schema.")
    else:
        say("The tables fit the schema. (These are true figures of the data: not private.)\n")
        _summarise(encoded)
    for name, formula in _seem_computed(declared, encoded):
        tell(
            f"\nNote: {name} seems computed from the members ({formula}).\n"
            "If it is, and the unit is `person`, write `derived: true`."
        )
    for warning in doubtful_relations(declared):
        tell(f"\nNote: {warning}")
    warn_of_wide_bins(declared, None if redacting() else _category_counts(encoded))
    if declared.domain == "drafted":
        tell(f"\n{DRAFTED}")


def doubtful_relations(schema: Schema) -> list[str]:
    """Sentences about relations whose two sides nothing tells apart."""
    roles = schema.roles
    if roles is None or not schema.relations:
        return []
    found = [
        f"the relation {name} is between members of one role ({pairs[0][0]}): nothing tells its "
        "two sides apart."
        for name, pairs in schema.relations.items()
        if all(first == second for first, second in pairs)
    ]
    spec = schema.workload
    asked = {name.rsplit(".", 1)[-1] for one in (spec.attributes, *spec.sets) for name in one}
    if asked and roles.column not in asked:
        found.append(
            f"the workload leaves out {roles.column}: nothing is asked about who is in which role, "
            "so that the members of a relation may be mistaken for one another. Add it."
        )
    return found


def warn_of_wide_bins(
    schema: Schema, counts: Mapping[tuple[str, str], Sequence[float]] | None = None
) -> None:
    """Warn of bins that hold too much; `counts` are true figures of the data."""
    from kinfolk.schema.wide import wide_bins

    for text in wide_bins(schema, counts):
        tell(f"Warning: {text}.")


def _category_counts(encoded: Encoded) -> dict[tuple[str, str], Sequence[float]]:
    """For a table and an attribute, how many rows each category has."""
    import numpy as np

    schema = encoded.schema
    tables = [(schema.group, encoded.group), (schema.individual, encoded.individual)]
    return {
        (table.table, name): np.bincount(codes[:, at], minlength=attribute.size).tolist()
        for table, codes in tables
        if table is not None
        for at, (name, attribute) in enumerate(table.attributes.items())
    }


def warn_of_computed(schema: Schema, tables: Mapping[str, Any]) -> None:
    """Warn of group attributes that seem computed and do not say so: for the unit `person`."""
    for name, formula in _seem_computed(schema, tables):
        tell(
            f"Warning: {name} seems computed from the members ({formula}).\n"
            "If it is, people are less protected than promised: write `derived: true`."
        )


def _seem_computed(schema: Schema, data: Encoded | Mapping[str, Any]) -> list[tuple[str, str]]:
    # Imported here because Arrow's reader of folders brings pandas along.
    from kinfolk.data.undeclared import seem_computed

    return seem_computed(schema, data)


def name_tables(schema: Schema, paths: tuple[Path, ...], *, given: str = "got") -> dict[str, Any]:
    """Give the files the schema's table names, in order: groups first."""
    names = schema.table_names
    if len(paths) != len(names):
        raise KinfolkError(
            f"{given} {len(paths)} file{'s' if len(paths) != 1 else ''}, but the schema has "
            f"{len(names)} table{'s' if len(names) != 1 else ''}. "
            f"Name one file for each, in this order: {', '.join(names)}."
        )
    return dict(zip(names, paths, strict=True))


def _summarise(encoded: Encoded) -> None:
    """Print what the encoded data looks like: sizes, roles, domain, and what was left out."""
    schema, cleaning = encoded.schema, encoded.cleaning
    names = schema.table_names
    read = [cleaning.groups_read, cleaning.people_read][-len(names) :]
    kept = [encoded.groups, encoded.people][-len(names) :]
    domains = [schema.group_attributes, schema.individual_attributes][-len(names) :]
    rows = [
        [
            name,
            f"{before:,}",
            f"{after:,}",
            f"{len(domain)}",
            f"{sum(a.size for a in domain.values())}",
        ]
        for name, before, after, domain in zip(names, read, kept, domains, strict=True)
    ]
    table("Tables", ["table", "rows read", "rows kept", "attributes", "categories"], rows)
    if cleaning.people_outside_roles:
        say(f"  {cleaning.people_outside_roles:,} people have no declared role (others: drop).")
    if cleaning.groups_outside_roles:
        say(f"  {cleaning.groups_outside_roles:,} groups have nobody in a declared role.")
    if cleaning.groups_oversize:
        done = "dropped" if schema.oversize == "drop" else "cut"
        say(
            f"  {cleaning.groups_oversize:,} oversize groups were {done}, with "
            f"{cleaning.people_oversize:,} people (oversize: {schema.oversize})."
        )
    if cleaning.groups_against_rules:
        say(
            f"  {cleaning.groups_against_rules:,} groups that break a rule were dropped, with "
            f"{cleaning.people_against_rules:,} people (on_violation: drop)."
        )
    if schema.group is not None:
        say()
        _summarise_sizes(encoded)
    _summarise_rules(encoded)


def _summarise_rules(encoded: Encoded) -> None:
    """Which rules hold, and which computed columns agree."""
    schema = encoded.schema
    if schema.never:
        say()
        against = encoded.against or (0,) * len(schema.never)
        rows = [
            [text, f"{count:,}" if count else "none"]
            for text, count in zip(schema.never, against, strict=True)
        ]
        table("Rules", ["never", "groups that break it"], rows)
    if schema.formulas:
        say()
        rows = [[name, formula.text, "all groups"] for name, formula in schema.formulas.items()]
        table("Computed from the members", ["attribute", "formula", "agrees in"], rows)


def _summarise_sizes(encoded: Encoded) -> None:
    import numpy as np

    sizes = np.bincount(encoded.sizes, minlength=encoded.schema.size_limit + 1)
    rows = [
        [str(size), f"{sizes[size]:,}", f"{sizes[size] / encoded.groups:.1%}"]
        for size in encoded.schema.sizes
    ]
    table("Group sizes", ["members", "groups", "share"], rows)
    roles = encoded.schema.roles
    if roles is not None and encoded.role is not None:
        say()
        counts = np.bincount(encoded.role, minlength=len(roles.names))
        rows = [
            [name, f"{count:,}", f"{count / encoded.people:.1%}"]
            for name, count in zip(roles.names, counts, strict=True)
        ]
        table("Roles", ["role", "people", "share"], rows)
