"""`kinfolk evaluate`: what synthetic tables keep of the real ones. NOT PRIVATE."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kinfolk.cli.console import ENGINE, PATH, REDACT, TABLE, name_tables, say, table, tell
from kinfolk.errors import redacting
from kinfolk.schema import Schema

if TYPE_CHECKING:
    from kinfolk.evaluate import Evaluation

HELP = """Judge synthetic tables against the real ones. NOT PRIVATE.

SCHEMA is a schema.yaml. --real names the real HOUSEHOLDS and PERSONS, in any format that is read;
flat data, a schema without `group`, takes one file. --synthetic names a folder with the synthetic
tables, called as in the schema (households.csv, or .parquet, .dta, .sav). They may come from any
tool: groups that do not hang together are counted and left out; values outside the schema are
refused. With --engine spark, Spark reads the tables, Parquet or CSV, and hands them to this
machine piece by piece.

Writes metrics.json and report.html, one page that works offline. Both hold true figures of the real
data: keep them where the real data is.

\b
Example:
  kinfolk evaluate schema.yaml --real households.csv persons.csv --synthetic release -o report
"""


@click.command(
    name="evaluate",
    help=HELP,
    short_help="Judge synthetic tables against the real ones (not private).",
    options_metavar="",
)
@click.argument(
    "schema", type=PATH, metavar="SCHEMA --real HOUSEHOLDS PERSONS --synthetic DIR -o REPORT_DIR"
)
@click.option(
    "--real",
    "first",
    type=TABLE,
    required=True,
    metavar="HOUSEHOLDS PERSONS",
    help="The real tables, groups first.",
)
# An option of click takes a fixed number of words; the second file comes as an argument.
@click.argument("rest", nargs=-1, type=TABLE, metavar="")
@click.option(
    "--synthetic",
    type=TABLE,
    required=True,
    metavar="DIR",
    help="The folder with the synthetic tables.",
)
@click.option(
    "-o",
    "--output",
    type=PATH,
    required=True,
    metavar="REPORT_DIR",
    help="The folder to write into.",
)
@ENGINE
@REDACT
def evaluate_command(
    schema: Path, first: str, rest: tuple[str, ...], synthetic: str, output: Path, engine: str
) -> None:
    """See HELP."""
    # Imported here because it brings the compiled counting along, which other commands do without.
    from kinfolk.evaluate import evaluate

    declared = Schema.from_yaml(schema)
    real = name_tables(declared, (first, *rest), given="--real names", engine=engine)
    found = evaluate(declared, real=real, synthetic=synthetic, engine=engine, stage=tell)
    written = found.write(output)
    if not redacting():
        print_errors(found)
    for path in written.values():
        say(f"Wrote {path}")
    say("\nNOT PRIVATE: both files hold true figures of the real data. Do not publish them.")


def print_errors(found: Evaluation) -> None:
    """Print the verdict, the errors of each level, and what was left out."""
    comparison = found.comparison
    for verdict in comparison.verdict:
        say(verdict.line)
    say()
    rows = [
        [name, f"{one.queries:,}", f"{one.max:.4g}", f"{one.mean:.4g}", f"{one.p95:.4g}"]
        for name, one in comparison.families.items()
    ]
    second = comparison.second_survey["all"]
    rows.append(
        ["second real survey", "", f"{second.max:.4g}", f"{second.mean:.4g}", f"{second.p95:.4g}"]
    )
    table("Errors on shares", ["queries", "number", "max", "mean", "19 of 20 within"], rows)
    one = comparison.integrity
    if not one.sound:
        say(
            f"Of {one.groups_read:,} synthetic groups and {one.people_read:,} people, "
            f"{one.groups:,} and {one.people:,} were compared; the report says what was wrong with "
            "the others."
        )
    say()
