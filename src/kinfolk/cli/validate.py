"""`kinfolk validate`: do the tables fit the schema?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kinfolk.cli.console import ENGINE, PATH, REDACT, TABLE, name_tables, say, table, tell
from kinfolk.errors import redacting
from kinfolk.schema import Schema

if TYPE_CHECKING:
    from kinfolk.queries.validation import Validation

HELP = """Check tables against a schema and show everything there is to mend, in one run.

SCHEMA is a schema.yaml; TABLES are the files of its tables, households first, in CSV, Parquet,
Arrow, or those of Stata, SPSS, SAS and Excel. Flat data (a schema without `group`) takes one table.
Nothing is written, and nothing here is private: the output speaks about the data as it is and is
meant for whoever holds it. With --redact it says what is wrong with which column and what to do,
and shows nothing of the data. With --engine spark, TABLES are Parquet or CSV that Spark reads, and
all of it is done on the cluster.

\b
Example:
  kinfolk validate schema.yaml households.csv persons.csv
"""

DRAFTED = (
    "Warning: the schema says `domain: drafted`: its values were read off the data, which leaks.\n"
    "Confirm the marked lines and set `domain: declared`."
)


@click.command(name="validate", help=HELP, short_help="Check tables against a schema.")
@click.argument("schema", type=PATH)
@click.argument("tables", nargs=-1, required=True, type=TABLE)
@ENGINE
@REDACT
def validate_command(schema: Path, tables: tuple[str, ...], engine: str) -> None:
    """See HELP."""
    from kinfolk.queries.validation import NOTICE, validate

    declared = Schema.from_yaml(schema)
    found = validate(declared, name_tables(declared, tables, engine=engine), engine=engine)
    if redacting():
        say("The tables fit the schema.")
    else:
        say(f"The tables fit the schema. ({NOTICE}.)\n")
        _summarise(found)
    for note in found.notes:
        tell(f"\n{note}")
    if declared.domain == "drafted":
        tell(f"\n{DRAFTED}")


def warn_of_computed(schema: Schema, tables: Mapping[str, Any], *, engine: str = "local") -> None:
    """Warn of group attributes that seem computed and do not say so: for the unit `person`."""
    # Imported here because Arrow's reader of folders brings pandas along.
    from kinfolk.data.undeclared import seem_computed

    if engine == "spark":
        from kinfolk.queries.spark import SparkTables

        found = SparkTables.of(schema, tables).seem_computed()
    else:
        found = seem_computed(schema, tables)
    for name, formula in found:
        tell(
            f"Warning: {name} seems computed from the members ({formula}).\n"
            "If it is, people are less protected than promised: write `derived: true`."
        )


def _summarise(found: Validation) -> None:
    """Print what the data looks like: sizes, roles, domain, and what was left out."""
    rows = [
        [one.name, f"{one.read:,}", f"{one.kept:,}", f"{one.attributes}", f"{one.categories}"]
        for one in found.tables
    ]
    table("Tables", ["table", "rows read", "rows kept", "attributes", "categories"], rows)
    for text in found.left_out():
        say(f"  {text}")
    for title, first, second, counts in (
        ("Group sizes", "members", "groups", found.sizes),
        ("Roles", "role", "people", found.roles),
    ):
        if counts:
            say()
            total = sum(counts.values())
            rows = [[str(key), f"{n:,}", f"{n / total:.1%}"] for key, n in counts.items()]
            table(title, [first, second, "share"], rows)
    if found.rules:
        say()
        rows = [[text, f"{count:,}" if count else "none"] for text, count in found.rules.items()]
        table("Rules", ["never", "groups that break it"], rows)
    if found.schema.formulas:
        say()
        formulas = found.schema.formulas
        rows = [[name, formula.text, "all groups"] for name, formula in formulas.items()]
        table("Computed from the members", ["attribute", "formula", "agrees in"], rows)
