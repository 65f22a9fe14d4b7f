"""`kinfolk synth`, `fit` and `sample`: from private tables to what may be published."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kinfolk.cli.console import (
    ENGINE,
    FORCE,
    FORMAT,
    GROUPS,
    INTO_FOLDER,
    PATH,
    PROMISE,
    REDACT,
    SETTINGS,
    TABLE,
    name_tables,
    options,
    promise_of,
    required,
    say,
    stages,
    tell,
)
from kinfolk.cli.validate import DRAFTED, warn_of_computed
from kinfolk.errors import KinfolkError
from kinfolk.schema import Schema

if TYPE_CHECKING:
    from kinfolk.methods.method import Progress
    from kinfolk.release import Fitted, Release

SYNTH = """Make synthetic tables from private ones, with a certificate.

SCHEMA is a schema.yaml; TABLES are the files of its tables, households first, in CSV, Parquet,
Arrow, or those of Stata, SPSS, SAS and Excel. Flat data (a schema without `group`) takes one file.
Written into the folder are the synthetic tables, privacy.json (the certificate), model.kinfolk (to
draw more from, at no cost) and a codebook, codebook.html and codebook.xml (DDI-Codebook 2.5): all
of it may be published. With --engine spark, TABLES are Parquet or CSV that Spark reads: they are
checked and counted on the cluster, for the same release; the synthetic tables are drawn here.

What was spent, and on what, stands in a ledger beside the folder (FOLDER.ledger.jsonl, with its
companion FOLDER.ledger.jsonl.head), which stays with the data. A ledger is a budget: one that is
there is only continued, with --resume; after Ctrl-C, a crash or a power cut, what was bought before
is used again and nothing is bought twice. With --ledger FILE, several releases draw on one budget,
made by `kinfolk ledger create`; unit, neighbours, delta and accounting are then the ledger's.

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

SAMPLE = """Draw synthetic tables from a model.

MODEL is a model.kinfolk that `kinfolk fit` or `synth` wrote. No data is needed and nothing is
spent: draw as often and as much as you like. Written into the folder are the tables, the model's
certificate, privacy.json, and the codebook. Streams: the number of groups is limited by the disk
alone, except with --format dta or sav, which are put together in memory. With --engine spark, a
cluster draws folders of Parquet, for the same seed the same tables; all machines must see -o.

With --where, all groups meet a condition on the group ("region = ES51 and COUNT > 2"), on members
in roles ("head.age >= 65") or on anybody ("no person with age < 18", "any(age < 18)"), and follow
what the model says of such groups. With --replicates M, the folder holds main/ and replicate-1/ to
replicate-M/: tables of models that were fitted again to noise like ours. Whatever is computed on
all of them has a standard error: `kinfolk.pool` in Python, or see the page on inference.

\b
Examples:
  kinfolk sample model.kinfolk --groups 1000000 --format parquet -o more
  kinfolk sample model.kinfolk --where "region = ES51" --groups 10000 -o region
  kinfolk sample model.kinfolk --replicates 8 -o inference
"""

MODEL = "model.kinfolk"
CERTIFICATE = "privacy.json"
CODEBOOK = ("codebook.html", "codebook.xml")
LEDGER = "ledger.jsonl"

SEED = click.option(
    "--seed", type=int, help="For tests: the same seed gives the same result, and NO PRIVACY."
)
SHARED = click.option(
    "--ledger", "shared", type=PATH, help="A ledger that `kinfolk ledger create` made, to draw on."
)
PUBLIC = click.option(
    "--public",
    type=PATH,
    help="A folder with public tables of the same schema, named as in it, such as last year's: "
    "prior knowledge at no cost. Nobody in them is protected.",
)
RESUME = click.option(
    "--resume", is_flag=True, help="Go on with the run whose ledger is there, if there is one."
)


@click.command(help=SYNTH, short_help="Make synthetic tables from private ones.")
@click.argument("schema", type=PATH)
@click.argument("tables", nargs=-1, required=True, type=TABLE)
@options(*PROMISE, INTO_FOLDER, GROUPS, FORMAT, ENGINE, PUBLIC, SHARED, SEED, RESUME, FORCE)
@options(*SETTINGS)
@REDACT
def synth(
    schema: Path,
    tables: tuple[str, ...],
    output: Path,
    groups: int | None,
    form: str,
    engine: str,
    public: Path | None,
    shared: Path | None,
    resume: bool,
    force: bool,
    **settings: Any,
) -> None:
    """See SYNTH."""
    # Imported here because it brings Arrow along.
    from kinfolk.data.stat_files import check_writable

    declared = Schema.from_yaml(schema)
    files = name_tables(declared, tables, engine=engine)
    check_writable(declared, form)
    ledger = _ledger(shared, output, settings)
    written = [output / f"{name}.{form}" for name in declared.table_names]
    results = [*written, *(output / name for name in (CERTIFICATE, MODEL, *CODEBOOK))]
    _check_old_ledger(output / LEDGER)
    _check_place(ledger, results, shared=shared is not None, resume=resume, force=force)
    if groups is not None and groups < 1:
        raise KinfolkError(f"--groups is {groups}. Draw at least one.")
    overwritten = {path.resolve() for path in results} & {
        Path(path).resolve() for path in files.values()
    }
    if overwritten:
        raise KinfolkError(
            f"{overwritten.pop()}: would be overwritten by its synthetic copy. "
            "Choose another folder."
        )
    ledger.parent.mkdir(parents=True, exist_ok=True)
    with _resumable(ledger), stages() as show:
        beside = output / CERTIFICATE
        fitted = _fit(declared, files, engine, public, ledger, resume, beside, settings, show)
        release = fitted.release
        output.mkdir(parents=True, exist_ok=True)
        release.save(output / MODEL)
        drawn = _draw(release, output, groups, fitted.modelling_seed, form, show)
    for line in drawn:
        say(line)
    say(f"Wrote {output / CERTIFICATE}, {output / MODEL} and {output / CODEBOOK[0]} (and .xml).")
    _close(fitted, ledger)


@click.command(name="fit", help=FIT, short_help="Fit a model to private tables.")
@click.argument("schema", type=PATH)
@click.argument("tables", nargs=-1, required=True, type=TABLE)
@options(*PROMISE)
@click.option("-o", "--output", type=PATH, required=True, help="The model file.")
@options(ENGINE, PUBLIC, SHARED, SEED, RESUME, FORCE, *SETTINGS)
@REDACT
def fit_command(
    schema: Path,
    tables: tuple[str, ...],
    output: Path,
    engine: str,
    public: Path | None,
    shared: Path | None,
    resume: bool,
    force: bool,
    **settings: Any,
) -> None:
    """See FIT."""
    declared = Schema.from_yaml(schema)
    files = name_tables(declared, tables, engine=engine)
    if output.is_dir():
        raise KinfolkError(f"{output}: is a folder. Name the model file, such as model.kinfolk.")
    ledger = _ledger(shared, output, settings)
    _check_place(ledger, [output], shared=shared is not None, resume=resume, force=force)
    output.parent.mkdir(parents=True, exist_ok=True)
    with _resumable(ledger), stages() as show:
        fitted = _fit(declared, files, engine, public, ledger, resume, None, settings, show)
        fitted.release.save(output)
    say(f"Wrote {output}.")
    _close(fitted, ledger)


@click.command(name="sample", help=SAMPLE, short_help="Draw synthetic tables from a model.")
@click.argument("model", type=PATH)
@options(GROUPS, INTO_FOLDER)
@click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "parquet", "dta", "sav"]),
    help="Of the tables; dta is Stata's, sav SPSS's.  [default: csv; with Spark, parquet]",
)
@ENGINE
@click.option("--where", help="Only groups that meet this condition.")
@click.option("--replicates", type=int, help="Also so many tables of refits, for standard errors.")
@click.option("--refit", is_flag=True, help="Make replicates that the model does not hold.")
@click.option("--seed", type=int, help="The same seed draws the same tables.")
@FORCE
def sample_command(
    model: Path,
    groups: int | None,
    output: Path,
    form: str | None,
    engine: str,
    where: str | None,
    replicates: int | None,
    refit: bool,
    seed: int | None,
    force: bool,
) -> None:
    """See SAMPLE."""
    # Imported here because it brings the compiled loops along, which other commands do without.
    from kinfolk.release import load
    from kinfolk.release.replicates import replicate_releases, replicate_seed

    release = load(model)
    form = form or ("parquet" if engine == "spark" else "csv")
    if refit and replicates is None:
        raise KinfolkError("--refit makes replicates. Say how many, by --replicates.")
    with stages() as show:
        sources, seeds, folders = [release], [seed], [output]
        if replicates is not None:
            if refit:
                release = release.with_replicates(replicates, seed=seed, progress=show)
            sources += replicate_releases(release, replicates)
            numbers = range(1, replicates + 1)
            seeds += [replicate_seed(seed, number) for number in numbers]
            folders = [output / "main", *(output / f"replicate-{number}" for number in numbers)]
        tables = [f"{name}.{form}" for name in release.schema.table_names]
        names = [*tables, CERTIFICATE, *CODEBOOK]
        _check_free((folder / name for folder in folders for name in names), force=force)
        drawn: list[str] = []
        for source, own, folder in zip(sources, seeds, folders, strict=True):
            drawn += _draw(source, folder, groups, own, form, show, where=where, engine=engine)
    for line in drawn:
        say(line)
    also = ", and as much in each folder" if folders[1:] else ""
    say(f"Wrote {folders[0] / CERTIFICATE} and {folders[0] / CODEBOOK[0]} (and .xml){also}.")
    if not release.private:
        say("NOT PRIVATE: the model was fitted with a seed, and nobody is protected.")


def _check_free(results: Iterable[Path], *, force: bool) -> None:
    """Nothing is overwritten unless somebody says so."""
    there = next((path for path in results if path.exists()), None)
    if there is not None and not force:
        raise KinfolkError(f"{there}: the file exists. Write to another place, or add --force.")


def _draw(
    release: Release,
    output: Path,
    groups: int | None,
    seed: int | None,
    form: str,
    on_progress: Progress,
    where: str | None = None,
    engine: str = "local",
) -> list[str]:
    """Draw tables into a folder; what to say about each, and of the rules if they made trouble."""
    wanted = release.groups if groups is None else groups
    drawn = release.write(
        output,
        groups=groups,
        where=where,
        seed=seed,
        format=form,
        engine=engine,
        progress=lambda done: on_progress("writing", done, wanted),
    )
    lines = [f"Wrote {drawn.paths[name]}: {rows:,} rows." for name, rows in drawn.rows.items()]
    return [*lines, *(f"Note: {note}." for note in drawn.acceptance.notes())]


def _ledger(shared: Path | None, output: Path, settings: dict[str, Any]) -> Path:
    """The ledger to draw on: beside what is written, or one that fills in what is not set."""
    if shared is None:
        required(unit=settings["unit"], delta=settings["delta"])
        # A folder may be called `.` or `..`, beside which nothing can be written.
        named = output if output.name not in ("", "..") else output.resolve()
        return named.with_name(f"{named.name or 'kinfolk'}.{LEDGER}")
    from kinfolk.privacy.account import read_account

    account = read_account(shared)
    if not account.shared:
        raise KinfolkError(
            f"{shared}: is the ledger of one release. Make one for several by `kinfolk ledger "
            "create`."
        )
    total = account.total
    filling = {
        "unit": total.unit.value,
        "delta": total.delta,
        "neighbours": total.neighbours.value,
        "accounting": total.accounting.value,
    }
    for name, value in filling.items():
        if settings[name] is None:
            settings[name] = value
    return shared


def _check_old_ledger(ledger: Path) -> None:
    """Earlier versions kept the ledger in the folder; a budget that is there is not begun anew."""
    if ledger.exists():
        raise KinfolkError(
            f"{ledger}: a run of an earlier version of kinfolk has spent from this ledger. Finish "
            "it with that version, or write to another place, which spends anew."
        )


def _check_place(
    ledger: Path, results: Iterable[Path], *, shared: bool, resume: bool, force: bool
) -> None:
    """Nothing is overwritten unless somebody says so, and no budget is spent twice."""
    if ledger.exists() and not shared:
        if not resume:
            raise KinfolkError(
                f"{ledger}: an earlier run has spent from this ledger. Add --resume to go on with "
                "it, or write to another place, which spends anew."
            )
        return
    _check_free(results, force=force or (shared and resume))


@contextmanager
def _resumable(ledger: Path) -> Iterator[None]:
    """Whoever stops a run before there is anything to write is told how it goes on."""
    try:
        yield
    except KeyboardInterrupt:
        if ledger.exists():
            tell(f"What was bought stands in {ledger}: the same command with --resume goes on.")
        raise


def _fit(
    schema: Schema,
    files: dict[str, Any],
    engine: str,
    public: Path | None,
    ledger: Path,
    resume: bool,
    beside: Path | None,
    settings: dict[str, Any],
    on_progress: Progress,
) -> Fitted:
    # Imported here because it brings the compiled loops along, which other commands do without.
    from kinfolk.privacy.unit import Unit
    from kinfolk.release import fit as fit_tables

    seed = settings.pop("seed")
    method, guarantee = promise_of(schema, settings)
    if guarantee.unit is Unit.INDIVIDUAL:
        warn_of_computed(schema, files, engine=engine)
    return fit_tables(
        schema,
        files,
        guarantee=guarantee,
        method=method,
        ledger=ledger,
        seed=seed,
        resume=resume,
        beside=beside,
        public=public,
        engine=engine,
        progress=on_progress,
    )


_LEFT_OUT = """Note: the budget is small for so few groups. Some sets of attributes of {} would have
been mostly noise, and were not bought. Sizes, single attributes and what relatives have in common
were learnt; of what else goes together, only some. `kinfolk plan` shows what another epsilon, fewer
attributes or a smaller k would give."""
_NOISY = """Note: the budget is small for so few groups. On one count of sets of attributes of {},
the noise is up to {:.0%} of all groups. What is frequent was learnt roughly, from many such counts
together; what is rare is noise."""


def _close(fitted: Fitted, ledger: Path) -> None:
    """Say what was promised and spent; and, where the run was stopped, how to go on."""
    stated = fitted.release.certificate
    spent, budget = float(Fraction(stated["spent"])), float(Fraction(stated["rho"]))
    say(
        f"Promise: epsilon = {stated['epsilon']:g}, delta = {stated['delta']:.3g} for one "
        f"{stated['unit_name']}. Spent: {spent / budget:.1%} of the budget, "
        f"in {len(stated['spends'])} steps."
    )
    say(f"What was spent stands in {ledger}. Keep it, with {ledger.name}.head, beside the data.")
    for warning in stated["warnings"]:
        tell(f"Warning: {warning}.")
    if not stated["private"]:
        say("NOT PRIVATE: the noise came from a seed, and nobody is protected.")
    for note in _prior(stated):
        tell(f"Public tables: {note}.")
    left_out = stated["release"].get("too_noisy")
    if left_out:
        tell(_LEFT_OUT.format(" and of ".join(left_out)))
    noisy = stated["release"].get("noisy", {})
    if noisy:
        tell(_NOISY.format(" and of ".join(noisy), max(noisy.values())))
    tell(f"Counting took {fitted.counting_seconds:.1f} s, fitting {fitted.fitting_seconds:.1f} s.")
    if stated["domain"] == "drafted":
        tell(DRAFTED)
    lost = sum(not spend["released"] for spend in stated["spends"])
    if lost and fitted.ending != "short":
        tell(
            f"Note: {lost} steps that were lost in a crash stay paid for. What was bought instead "
            "had to make do\nwith the rest of the budget; the certificate counts them."
        )
    if fitted.ending == "short":
        raise KinfolkError(f"{fitted.shortfall}. What was written holds it.")
    if fitted.ending == "interrupted":
        tell(
            "kinfolk: stopped. What was written holds what was learnt until now, and its "
            "certificate what was spent.\nRun the same command with --resume to go on."
        )
        raise click.exceptions.Exit(130)


def _prior(certificate: Mapping[str, Any]) -> list[str]:
    """What the public tables lack, and how far they were of use."""
    public, prior = certificate["run"].get("public"), certificate["release"].get("prior")
    if public is None or prior is None:
        return []
    use = {
        "none": "the measurements are met better without them, so that they were not used",
        "tilt": "what they say was tilted towards the measurements",
        "free": "what they say was tilted towards the measurements, then learnt on freely",
    }
    return [*public["notes"], use[prior["use"]]]
