"""`kinfolk demo`: the main job on bundled real data."""

from __future__ import annotations

from pathlib import Path

import click

from kinfolk.cli.screen import say
from kinfolk.cli.validate import summarise
from kinfolk.data.encode import encode
from kinfolk.data.frames import write_table
from kinfolk.datasets import load_detroit, schema_text

HELP = """Run kinfolk on real households that come with it.

Writes the tables and their schema into a folder, checks and encodes them and prints what is there,
so that you can see what your own two tables should look like.

\b
Example:
  kinfolk demo -o kinfolk-demo
"""


@click.command(help=HELP, short_help="Try kinfolk on real data; nothing to set up.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("kinfolk-demo"),
    show_default=True,
    help="The folder to write into.",
)
def demo(output: Path) -> None:
    """See HELP."""
    schema, tables = load_detroit()
    output.mkdir(parents=True, exist_ok=True)
    (output / "schema.yaml").write_text(schema_text("detroit"), encoding="utf-8")
    for name, rows in tables.items():
        write_table(rows, output / f"{name}.csv")
    encoded = encode(schema, {name: output / f"{name}.csv" for name in tables})
    say("Real households of Detroit (American Community Survey), bundled with kinfolk.")
    say("The figures are those of the public sample itself: nothing private is at stake here.\n")
    summarise(encoded)
    size = encoded.group.nbytes + encoded.individual.nbytes + encoded.offsets.nbytes
    say(f"\nEncoded in {size / 1e6:.1f} MB. Files are in {output}/:")
    say("  schema.yaml        what may stand in the tables, with roles and relations")
    for name in tables:
        say(f"  {name + '.csv':<18} the {name}")
    say("\nNext, with your own files:")
    say("  kinfolk init HOUSEHOLDS PERSONS -o schema.yaml      draft a schema")
    say("  kinfolk validate schema.yaml HOUSEHOLDS PERSONS     see what is left to mend")
    say("  kinfolk simulate acs --groups 10000 --seed 1 -o DIR practise on made-up households")
