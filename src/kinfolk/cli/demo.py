"""`kinfolk demo`: the main job on bundled real data, by the commands that a user would type."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from kinfolk.cli.console import PATH, say
from kinfolk.errors import KinfolkError

HELP = """Run kinfolk on real households that come with it, from tables to report.

Writes two tables and their schema into a folder, checks them, makes synthetic tables with epsilon =
1 for a whole household, and compares the two in a report, all in a minute or two. The households
are public, so that true figures may be shown. Each step is a command, printed before it runs; a
demo that was stopped goes on where it was.

\b
Example:
  kinfolk demo -o kinfolk-demo
"""

SHIPPED, PAIRS = "workload: {k: 3,", "workload: {k: 2,"
"""Pairs of attributes make 55,751 queries; triples make 3.7 million, which takes a while."""

FEW = ("--components", "512")
"""Half of the default take half of the time; fewer take no less, as they are worked on 128
at a time in four parts, and hold less of what goes together in a household."""

INTRODUCTION = """\
Real households of Detroit (American Community Survey), bundled with kinfolk.
They are public: true figures can be shown here. Of your own data, they would stay with you."""

CLOSING = """\

In short: of {queries:,} questions, 9 in 10 are answered within {within:.2f} percentage points.
If the survey were made again, with as many real households, it would be within {chance:.2f}.

What you have, in {folder}/
  report/report.html    what the synthetic tables keep and what they lose; open it in a browser:
                        {address}
  release/              what may be published: two synthetic tables, their certificate
                        (privacy.json) and the model (model.kinfolk), to draw more from
  release.ledger.jsonl  what was spent, and on what; stays with the data
  schema.yaml           what may stand in the tables, and what is asked: pairs of attributes, to be
                        quick. `k: 3` in its last line asks for triples; leave out --components
                        then.
  {tables}
                        the real tables, as yours might look

Next, with your own files:
  kinfolk init HOUSEHOLDS PERSONS -o schema.yaml       draft a schema, then go through it
  kinfolk validate schema.yaml HOUSEHOLDS PERSONS      see what is left to mend
  kinfolk synth schema.yaml HOUSEHOLDS PERSONS --unit household --epsilon 1 --delta 1e-9 -o release
                                                       make synthetic tables"""


@click.command(help=HELP, short_help="Try kinfolk on real data; nothing to set up.")
@click.option(
    "-o",
    "--output",
    type=PATH,
    default=Path("kinfolk-demo"),
    show_default=True,
    help="The folder to write into.",
)
def demo(output: Path) -> int:
    """See HELP."""
    return run_demo(output)


def run_demo(output: Path, *, workload: str = PAIRS, settings: Sequence[str] = FEW) -> int:
    """Write the tables and run the commands; `settings` are further ones of `kinfolk synth`."""
    # Imported here because it imports this command.
    from kinfolk.cli.main import run

    output.mkdir(parents=True, exist_ok=True)
    tables = _write(output, workload)
    names = [str(output / "schema.yaml"), *(str(output / name) for name in tables)]
    release, report = str(output / "release"), str(output / "report")
    promise = ["--unit", "household", "--epsilon", "1", "--delta", "1e-9"]
    compared = [names[0], "--real", *names[1:], "--synthetic", release]
    say(INTRODUCTION)
    for command in (
        ["validate", *names],
        # Resuming lets a demo be run again: what was bought is found in the ledger.
        ["synth", *names, *promise, *settings, "-o", release, "--resume"],
        ["evaluate", *compared, "-o", report],
    ):
        say(f"\n$ {shlex.join(['kinfolk', *command])}\n")
        status = run(command)
        if status:
            return status
    say(_closing(output, tables))
    return 0


def _write(output: Path, workload: str) -> list[str]:
    """Write the schema and the tables, unless other files stand in their place; their names."""
    from kinfolk.data.frames import write_table
    from kinfolk.datasets import load_detroit, schema_text

    _, tables = load_detroit()
    written = {f"{name}.csv": table for name, table in tables.items()}
    text = schema_text("detroit").replace(SHIPPED, workload)
    place = output / "schema.yaml"
    if not (place.exists() and place.read_bytes() == text.encode()):
        taken = [path for path in (place, *(output / name for name in written)) if path.exists()]
        if taken:
            raise KinfolkError(f"{taken[0]}: is not the demo's. Choose another folder with -o.")
    place.write_bytes(text.encode())
    for name, table in written.items():
        write_table(table, output / name)
    return list(written)


def _closing(output: Path, tables: Sequence[str]) -> str:
    """What came out, what there is, and what to do next."""
    report = output / "report"
    metrics = json.loads((report / "metrics.json").read_text(encoding="utf-8"))
    return CLOSING.format(
        queries=metrics["queries"],
        within=100 * metrics["all"]["p90"],
        chance=100 * metrics["second_survey"]["all"]["p90"],
        folder=output,
        address=(report / "report.html").resolve().as_uri(),
        tables=", ".join(tables),
    )
