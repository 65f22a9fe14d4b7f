"""`kinfolk synth` and `fit`: from private tables to what may be published."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kinfolk.cli.screen import say, tell
from kinfolk.cli.telling import (
    FORCE,
    FORMAT,
    GROUPS,
    INTO_FOLDER,
    PROMISE,
    SETTINGS,
    given,
    options,
    stages,
)
from kinfolk.cli.validate import name_tables
from kinfolk.errors import KinfolkError
from kinfolk.schema import Schema

if TYPE_CHECKING:
    from kinfolk.methods.method import Progress
    from kinfolk.release import Fitted

SYNTH = """Make synthetic tables from private ones, with a certificate.

SCHEMA is a schema.yaml; TABLES are the files of its tables, households first, in CSV, Parquet or
Arrow. Flat data (a schema without `group`) takes one file. Written into the folder are the
synthetic tables, privacy.json (the certificate), model.kinfolk (to draw more from, at no cost), and
ledger.jsonl (what was spent, and on what).

The ledger is a budget. A folder that has one is only continued, with --resume: after Ctrl-C, a
crash or a power cut, what was bought before is used again and nothing is bought twice.

\b
Example:
  kinfolk synth schema.yaml households.csv persons.csv --unit household \\
      --epsilon 1 --delta 1e-9 -o release
"""

FIT = """Fit a model to private tables, to draw from later.

The same as `kinfolk synth` without the drawing: MODEL holds the certificate too, and may be
published. Its ledger stands beside it.

\b
Example:
  kinfolk fit schema.yaml households.csv persons.csv --unit household \\
      --epsilon 1 --delta 1e-9 -o model.kinfolk
"""

MODEL = "model.kinfolk"
LEDGER = "ledger.jsonl"

SEED = click.option(
    "--seed", type=int, help="For tests: the same seed gives the same result, and NO PRIVACY."
)
RESUME = click.option(
    "--resume", is_flag=True, help="Go on with the run whose ledger is there, if there is one."
)


@click.command(help=SYNTH, short_help="Make synthetic tables from private ones.")
@click.argument("schema", type=click.Path(path_type=Path))
@click.argument("tables", nargs=-1, required=True, type=click.Path(path_type=Path))
@options(*PROMISE, INTO_FOLDER, GROUPS, FORMAT, SEED, RESUME, FORCE, *SETTINGS)
def synth(
    schema: Path,
    tables: tuple[Path, ...],
    output: Path,
    groups: int | None,
    form: str,
    resume: bool,
    force: bool,
    **told: Any,
) -> None:
    """See SYNTH."""
    declared = Schema.from_yaml(schema)
    files = name_tables(declared, tables)
    ledger = output / LEDGER
    written = [output / f"{name}.{form}" for name in declared.table_names]
    results = [*written, output / "privacy.json", output / MODEL]
    _check_place(ledger, results, resume=resume, force=force)
    if groups is not None and groups < 1:
        raise KinfolkError(f"--groups is {groups}. Draw at least one.")
    overwritten = {path.resolve() for path in results} & {path.resolve() for path in tables}
    if overwritten:
        raise KinfolkError(
            f"{overwritten.pop()}: would be overwritten by its synthetic copy. "
            "Choose another folder."
        )
    output.mkdir(parents=True, exist_ok=True)
    with stages() as show:
        fitted = _fit(declared, files, ledger, resume, told, show)
        release = fitted.release
        release.save(output / MODEL)
        wanted = release.groups if groups is None else groups
        drawn = release.write(
            output,
            groups=groups,
            seed=fitted.modelling_seed,
            format=form,
            progress=lambda done: show("writing", done, wanted),
        )
    for name, rows in drawn.rows.items():
        say(f"Wrote {drawn.paths[name]}: {rows:,} rows.")
    say(f"Wrote {output / 'privacy.json'}, {output / MODEL} and {ledger}.")
    _close(fitted)


@click.command(help=FIT, short_help="Fit a model to private tables.")
@click.argument("schema", type=click.Path(path_type=Path))
@click.argument("tables", nargs=-1, required=True, type=click.Path(path_type=Path))
@options(*PROMISE)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="The model file."
)
@options(SEED, RESUME, FORCE, *SETTINGS)
def fit(
    schema: Path,
    tables: tuple[Path, ...],
    output: Path,
    resume: bool,
    force: bool,
    **told: Any,
) -> None:
    """See FIT."""
    declared = Schema.from_yaml(schema)
    files = name_tables(declared, tables)
    if output.is_dir():
        raise KinfolkError(f"{output}: is a folder. Name the model file, such as model.kinfolk.")
    ledger = output.with_name(f"{output.name}.{LEDGER}")
    _check_place(ledger, [output], resume=resume, force=force)
    output.parent.mkdir(parents=True, exist_ok=True)
    with stages() as show:
        fitted = _fit(declared, files, ledger, resume, told, show)
        fitted.release.save(output)
    say(f"Wrote {output} and {ledger}.")
    _close(fitted)


def _check_place(ledger: Path, results: Iterable[Path], *, resume: bool, force: bool) -> None:
    """Nothing is overwritten unless somebody says so, and no budget is spent twice."""
    if ledger.exists():
        if not resume:
            raise KinfolkError(
                f"{ledger}: an earlier run has spent from this ledger. Add --resume to go on with "
                "it, or write to another place, which spends anew."
            )
        return
    there = [path for path in results if path.exists()]
    if there and not force:
        raise KinfolkError(f"{there[0]}: the file exists. Write to another place, or add --force.")


def _fit(
    schema: Schema,
    files: dict[str, Any],
    ledger: Path,
    resume: bool,
    told: dict[str, Any],
    show: Progress,
) -> Fitted:
    # Imported here because it brings the compiled loops along, which other commands do without.
    from kinfolk.methods.registry import method_named
    from kinfolk.release import fit as fit_tables
    from kinfolk.release.fitting import promised

    settings = dict(told)
    words = {n: settings.pop(n) for n in ("unit", "epsilon", "delta", "accounting", "seed")}
    method = method_named(settings.pop("method"), **given(settings))
    promise = promised(schema, method, **words)
    return fit_tables(
        schema,
        files,
        promise=promise,
        method=method,
        ledger=ledger,
        resume=resume,
        progress=show,
    )


def _close(fitted: Fitted) -> None:
    """Say what was promised and spent; and, where the run was stopped, how to go on."""
    stated = fitted.release.certificate
    spent, budget = float(Fraction(stated["spent"])), float(Fraction(stated["rho"]))
    say(
        f"Promise: epsilon = {stated['epsilon']:g}, delta = {stated['delta']:.3g} for one "
        f"{stated['unit_name']}. Spent: {spent / budget:.1%} of the budget, "
        f"in {len(stated['spends'])} steps."
    )
    if not stated["private"]:
        say("NOT PRIVATE: the noise came from a seed, and nobody is protected.")
    tell(f"Counting took {fitted.counting_seconds:.1f} s, fitting {fitted.fitting_seconds:.1f} s.")
    if stated["domain"] == "drafted":
        tell(
            "Warning: the schema says `domain: drafted`: its values were read off the data, "
            "which leaks.\nConfirm the marked lines and set `domain: declared`."
        )
    if fitted.ending == "exhausted":
        tell(
            "Note: steps that were lost in a crash stay paid for, so the last ones could not be "
            "bought. The result\nis complete without them, and its certificate counts them."
        )
    if fitted.ending == "interrupted":
        tell(
            "kinfolk: stopped. What was written holds what was learnt until now, and its "
            "certificate what was spent.\nRun the same command with --resume to go on."
        )
        raise click.exceptions.Exit(130)
