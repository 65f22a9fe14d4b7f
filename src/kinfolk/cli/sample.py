"""`kinfolk sample`: more tables from a model, at no cost."""

from __future__ import annotations

from pathlib import Path

import click

from kinfolk.cli.console import say
from kinfolk.cli.progress import FORCE, FORMAT, GROUPS, INTO_FOLDER, options, stages
from kinfolk.errors import KinfolkError

HELP = """Draw synthetic tables from a model.

MODEL is a model.kinfolk that `kinfolk fit` or `synth` wrote. No data is needed and nothing is
spent: draw as often and as much as you like. Written into the folder are the tables and the
model's certificate, privacy.json. Streams: the number of groups is limited by the disk alone.

\b
Example:
  kinfolk sample model.kinfolk --groups 1000000 --format parquet -o more
"""


@click.command(help=HELP, short_help="Draw synthetic tables from a model.")
@click.argument("model", type=click.Path(path_type=Path))
@options(GROUPS, INTO_FOLDER, FORMAT)
@click.option("--seed", type=int, help="The same seed draws the same tables.")
@FORCE
def sample(
    model: Path, groups: int | None, output: Path, form: str, seed: int | None, force: bool
) -> None:
    """See HELP."""
    # Imported here because it brings the compiled loops along, which other commands do without.
    from kinfolk.release import load

    release = load(model)
    names = [f"{name}.{form}" for name in release.schema.table_names]
    there = [output / name for name in [*names, "privacy.json"] if (output / name).exists()]
    if there and not force:
        raise KinfolkError(f"{there[0]}: the file exists. Write to another place, or add --force.")
    wanted = release.groups if groups is None else groups
    with stages() as show:
        drawn = release.write(
            output,
            groups=groups,
            seed=seed,
            format=form,
            progress=lambda done: show("writing", done, wanted),
        )
    for name, rows in drawn.rows.items():
        say(f"Wrote {drawn.paths[name]}: {rows:,} rows.")
    say(f"Wrote {output / 'privacy.json'}.")
    if not release.private:
        say("NOT PRIVATE: the model was fitted with a seed, and nobody is protected.")
