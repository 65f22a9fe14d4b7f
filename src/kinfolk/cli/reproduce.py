"""`kinfolk reproduce`: the paper's experiments, on the user's data or on simulated data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kinfolk.cli.console import given, options, reporting, say, table, tell
from kinfolk.cli.prepare import CENSUS, read_census
from kinfolk.errors import KinfolkError

if TYPE_CHECKING:
    from kinfolk.experiments.grid import Grid, RunFile
    from kinfolk.experiments.reproducing import Dataset, Standing

HELP = """Run the paper's experiments again. NOT PRIVATE.

EXPERIMENT is acs-red, acs, acs-rel or afst. Every method is fitted at every epsilon, for several
numbers of rounds T and with several seeds, and its answers are compared with the true ones. The
data is an IPUMS extract or the two PUMS files, as for `kinfolk prepare`, or two tables in the
columns of the experiment's schema. Without any, it is simulated, and every file says so.

Writes runs.csv (one line for each run, as soon as it is finished), summary.csv, summary.md and
figures. The same command again goes on where it was stopped; other methods, epsilons, rounds or
seeds are added to what is there.

Everything here compares with true answers, and the noise has a seed. Nothing is private.

\b
Examples:
  kinfolk reproduce acs-red --quick
  kinfolk reproduce acs --ipums usa_00001.dat.gz --ddi usa_00001.xml -o acs-ny
"""


@click.command(
    name="reproduce", help=HELP, short_help="Run the paper's experiments again (not private)."
)
@click.argument("experiment")
@click.option("--quick", is_flag=True, help="About ten minutes on two cores; says what is cut.")
@options(*CENSUS)
@click.option(
    "--tables",
    nargs=2,
    type=click.Path(path_type=Path),
    metavar="GROUPS MEMBERS",
    help="Two tables in the schema's columns, as `kinfolk prepare` writes them.",
)
@click.option(
    "--groups", type=int, help="How many groups to simulate.  [default: about the paper's number]"
)
@click.option("--method", "methods", multiple=True, help="Only this one; may be repeated.")
@click.option("--epsilon", "epsilons", type=float, multiple=True, help="Likewise.")
@click.option("--rounds", type=int, multiple=True, help="T, for all methods; may be repeated.")
@click.option("--seeds", type=int, help="How many runs to average.  [default: 5]")
@click.option("--components", type=int, help="K of hpd-fixed.  [default: 1000]")
@click.option("--gen-components", type=int, help="K of hpd-gen.  [default: 1000]")
@click.option("--accounting", default="paper", show_default=True, help="paper, or zcdp for ours.")
@click.option("--jobs", type=int, help="Runs at a time.  [default: as many as there are cores]")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="The folder to write into.  [default: reproduce-EXPERIMENT, or ...-quick]",
)
def reproduce_command(
    experiment: str,
    quick: bool,
    groups: int | None,
    methods: tuple[str, ...],
    rounds: tuple[int, ...],
    epsilons: tuple[float, ...],
    accounting: str,
    jobs: int | None,
    output: Path | None,
    **told: Any,
) -> None:
    """See HELP."""
    # Imported here because it brings the compiled counting along, which other commands do without.
    from kinfolk.experiments.grid import RunFile, experiment_named, grid_for
    from kinfolk.experiments.reproducing import reproduce, settings_of
    from kinfolk.experiments.results import data_line, write_results

    effort = {name: told.pop(name) for name in ("seeds", "components", "gen_components")}
    grid = grid_for(
        experiment_named(experiment),
        quick=quick,
        methods=methods,
        rounds=rounds,
        accounting=accounting,
        **given({**effort, "epsilons": epsilons or None}),
    )
    if quick:
        tell(reduced_text(grid))
    folder = output or Path(f"reproduce-{experiment}{'-quick' if quick else ''}")
    data = _read(grid, groups=groups, **told)
    records = RunFile.open(folder, settings_of(grid, data))
    tell(data_line(records.settings))
    try:
        with reporting("Running") as show:
            reproduce(
                grid,
                data,
                records,
                jobs=_cores() if jobs is None else jobs,
                advance=lambda one: show(_words(one), one.done, one.total),
            )
    except KeyboardInterrupt:
        tell(f"{len(records.results):,} runs are finished. The same command goes on from there.")
        raise
    finally:
        # A look at what there is, also after Ctrl-C.
        written = write_results(records)
    _show(records)
    for path in written:
        say(f"Wrote {path}")
    say("\nNOT PRIVATE: true errors, and T chosen by them. For comparing methods, not for release.")


def _cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def reduced_text(grid: Grid) -> str:
    """What a quick version leaves out."""
    paper, effort = grid.experiment.paper, grid.effort
    lines = [
        "Quick version; the paper's in brackets:",
        f"  epsilon {_listed(effort.epsilons)} ({_listed(paper.epsilons)})",
        f"  seeds {effort.seeds} ({paper.seeds})",
        f"  K of hpd-fixed {effort.components} (we assume {paper.components}), "
        f"of hpd-gen {effort.gen_components} ({paper.gen_components})",
    ]
    for name, several in effort.rounds.items():
        usual = paper.rounds.get(name)
        lines.append(f"  T of {name} {_listed(several)} ({_listed(usual) if usual else 'not run'})")
    return "\n".join(lines)


def _listed(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _read(
    grid: Grid,
    *,
    groups: int | None,
    tables: tuple[Path, Path] | None,
    ipums: Path | None,
    pums: tuple[Path, Path] | None,
    **extract: Any,
) -> Dataset:
    """The user's data, counted; or simulated data where there is none."""
    from kinfolk.data.sources import TARGETS
    from kinfolk.experiments.reproducing import Dataset, simulated_dataset

    experiment, schema = grid.experiment, grid.schema
    sources = [option for option in (ipums, pums, tables) if option]
    if len(sources) > 1:
        raise KinfolkError("give one of --ipums, --pums and --tables.")
    if sources and groups is not None:
        raise KinfolkError("--groups is for simulated data. Leave it out: all groups are used.")
    if not sources:
        tell("Simulating and counting.")
        number = experiment.groups if groups is None else groups
        return simulated_dataset(experiment, schema, groups=number)
    tell("Reading and counting.")
    source = " and ".join(path.name for path in tables or pums or ())
    if tables:
        named = dict(zip(schema.table_names, tables, strict=True))
        return Dataset.of(experiment, schema, [named], source=source)
    if experiment.name not in TARGETS:
        raise KinfolkError(
            f"{experiment.name} is not made from a census extract. "
            "Give two tables with --tables, or nothing."
        )
    read = read_census(experiment.name, ipums=ipums, pums=pums, **extract)
    source = f"IPUMS extract {ipums.name}" if ipums is not None else f"PUMS files {source}"
    for note in read.notes:
        tell(f"Note: {note}")
    return Dataset.of(experiment, schema, [read.tables], source=source)


def _words(standing: Standing) -> str:
    """Where the runs are.

    >>> from kinfolk.experiments.reproducing import Standing
    >>> _words(Standing(done=3, total=60, seconds_left=400.0))
    '3 of 60 runs, about 7 minutes left'
    """
    words = f"{standing.done:,} of {standing.total:,} runs"
    if standing.seconds_left is None:
        return words
    minutes = round(standing.seconds_left / 60)
    if minutes < 1:
        return f"{words}, less than a minute left"
    return f"{words}, about {minutes:,} minute{'s' if minutes > 1 else ''} left"


def _show(records: RunFile) -> None:
    """Print the errors at the best T."""
    from kinfolk.experiments.grid import VARIANTS
    from kinfolk.experiments.results import BEST, summarise

    rows = [
        [
            cell.queries,
            VARIANTS[cell.method].label,
            f"{cell.epsilon:g}",
            f"{cell.rounds}",
            str(cell.errors["max_error"]),
            str(cell.errors["mean_error"]),
        ]
        for cell in summarise(records.results.values())
        if cell.best
    ]
    headings = ["queries", "method", "epsilon", "T", "max error", "mean error"]
    table("Errors on shares (NOT PRIVATE)", headings, rows, left=2)
    say(f"T: {BEST}.\n")
