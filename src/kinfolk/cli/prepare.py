"""`kinfolk init`, `prepare` and `simulate`: getting from files, or from nothing, to two tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kinfolk._io import write_whole
from kinfolk.cli.console import INTO_FOLDER, PATH, options, progress, say, tell
from kinfolk.errors import KinfolkError

if TYPE_CHECKING:
    from kinfolk.data.sources import SourceTables

INIT = """Draft a schema from two tables.

The draft says of every value, bin and size that it was READ FROM THE DATA. Used as it is, it makes
the domain depend on the data, which leaks: confirm each marked line against your codebook first.
The tables are files in CSV, Parquet, Arrow, or those of Stata, SPSS, SAS and Excel; labels in files
of Stata and SPSS are taken over.

\b
Examples:
  kinfolk init households.csv persons.csv -o schema.yaml
  kinfolk init --sdv metadata.json households.csv persons.csv -o schema.yaml
"""

PREPARE = """Turn census extracts into the paper's tables.

TARGET is acs (10 + 11 attributes, up to 10 people), acs-red (4 + 4, up to 3) or acs-rel (heads,
spouses and children). Give either an IPUMS USA extract (fixed-width with its DDI, or CSV) or the
two Census PUMS files, zipped or not. Writes households.parquet, persons.parquet and schema.yaml.

\b
Examples:
  kinfolk prepare acs --ipums usa_00001.dat.gz --ddi usa_00001.xml -o acs-ny
  kinfolk prepare acs-rel --pums psam_h36.csv psam_p36.csv -o acs-rel-ny
"""

SIMULATE = """Make census-like households from fixed public parameters.

NAME is acs, acs-red, acs-rel or afst. The result stands in for confidential or licensed data in
tests, benchmarks and experiments; it is not estimated from any file. Streams to Parquet: the number
of groups is limited by the disk alone.

\b
Example:
  kinfolk simulate acs --groups 87453 --seed 1 -o acs-simulated
"""

TARGETS = ("acs", "acs-red", "acs-rel")

CENSUS = (
    click.option("--ipums", type=click.Path(path_type=Path), help="An IPUMS USA extract."),
    click.option(
        "--ddi", type=click.Path(path_type=Path), help="The extract's DDI codebook (.xml)."
    ),
    click.option(
        "--pums",
        nargs=2,
        type=click.Path(path_type=Path),
        metavar="HOUSING PERSONS",
        help="The Census Bureau's two PUMS files.",
    ),
    click.option(
        "--crosswalk",
        help="PUMS files name no county: 'ny-2010', or a CSV with columns PUMA and COUNTYFIP.",
    ),
    click.option(
        "--group-quarters",
        is_flag=True,
        help="Keep group quarters as one-person households, as the paper seems to.",
    ),
)
"""What a command that reads an extract can be told."""


@click.command(help=INIT, short_help="Draft a schema from two tables.")
@click.argument("households", type=PATH)
@click.argument("persons", type=PATH)
@click.option(
    "-o",
    "--output",
    type=PATH,
    default=Path("schema.yaml"),
    show_default=True,
    help="Where to write the draft.",
)
@click.option("--id", "group_id", help="The group table's id column, where it cannot be guessed.")
@click.option("--group-id", "link", help="The individual table's column that holds the group's id.")
@click.option("--sdv", type=PATH, help="An SDV metadata.json to start from.")
@click.option("--force", is_flag=True, help="Overwrite an existing schema.")
def init(
    households: Path,
    persons: Path,
    output: Path,
    group_id: str | None,
    link: str | None,
    sdv: Path | None,
    force: bool,
) -> None:
    """See INIT."""
    from kinfolk.data.draft import draft_schema

    if output.exists() and not force:
        raise KinfolkError(f"{output}: the file exists. Choose another name, or add --force.")
    draft = draft_schema(households, persons, group_id=group_id, individual_group_id=link, sdv=sdv)
    # A draft shows values of the data, until somebody has gone through it.
    write_whole(output, draft.text, mode=0o600)
    say(f"Wrote {output}.")
    for note in draft.notes:
        tell(note)
    say(f"Next: edit it, then run `kinfolk validate {output} {households} {persons}`.")


def read_census(
    target: str,
    *,
    ipums: Path | None,
    ddi: Path | None,
    pums: tuple[Path, Path] | None,
    crosswalk: str | None,
    group_quarters: bool,
) -> SourceTables:
    """Read an IPUMS extract or the two PUMS files, whichever is given."""
    from kinfolk.data.sources import read_ipums, read_pums

    if ipums is not None and not pums:
        return read_ipums(ipums, ddi=ddi, target=target, group_quarters=group_quarters)
    if pums and ipums is None:
        return read_pums(
            *pums, target=target, county_crosswalk=crosswalk, group_quarters=group_quarters
        )
    raise KinfolkError("give either --ipums FILE or --pums HOUSING PERSONS.")


@click.command(help=PREPARE, short_help="Read IPUMS or Census PUMS extracts.")
@click.argument("target", type=click.Choice(TARGETS))
@options(*CENSUS)
@INTO_FOLDER
def prepare(target: str, output: Path, **extract: Any) -> None:
    """See PREPARE."""
    from kinfolk.data.frames import write_table
    from kinfolk.datasets import schema_text

    source = read_census(target, **extract)
    output.mkdir(parents=True, exist_ok=True)
    for name, rows in source.tables.items():
        write_table(rows, output / f"{name}.parquet")
        say(f"Wrote {output / name}.parquet: {rows.num_rows:,} rows.")
    (output / "schema.yaml").write_text(schema_text(target), encoding="utf-8")
    say(f"Wrote {output / 'schema.yaml'}.")
    for note in source.notes:
        tell(f"Note: {note}")


@click.command(name="simulate", help=SIMULATE, short_help="Make census-like households.")
@click.argument("name", type=click.Choice([*TARGETS, "afst"]))
@click.option("--groups", type=int, required=True, help="How many households (or referrals).")
@click.option("--seed", type=int, required=True, help="The same seed gives the same households.")
@INTO_FOLDER
def simulate_command(name: str, groups: int, seed: int, output: Path) -> None:
    """See SIMULATE."""
    from kinfolk.experiments.simulate import write_simulation

    with progress(f"Simulating {groups:,} groups", groups) as bar:
        written = write_simulation(
            name,
            output,
            groups=groups,
            seed=seed,
            progress=lambda done: bar.update(bar.task_ids[0], completed=done),
        )
    for table, rows in written["rows"].items():
        say(f"Wrote {output / table}.parquet: {rows:,} rows.")
    say(f"Wrote {output / 'schema.yaml'}.")
