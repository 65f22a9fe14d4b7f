"""What the commands share: what they print, what their arguments mean, and the options of a fit.

Names and values come from files that somebody else may have written. Whatever is printed goes
through `visible`, so that none of them can move the cursor, or make a line read other than it is.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import (
    Progress as Bar,
)
from rich.table import Table
from rich.text import Text

from kinfolk._io import local_path
from kinfolk.errors import KinfolkError, redact

if TYPE_CHECKING:
    from kinfolk.methods.method import Method, Progress
    from kinfolk.privacy.guarantee import Guarantee
    from kinfolk.schema import Schema


# Names and values of the data are printed as they are: `:x:` is no emoji, `[red]` no colour.
out = Console(highlight=False, soft_wrap=True, emoji=False)
err = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)


class _LocalPath(click.Path):
    """A file or folder of this machine."""

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> Path:
        """A path, or a file:// address, as a path."""
        return local_path(os.fsdecode(super().convert(value, parameter, context)))


ENGINE = click.option(
    "--engine",
    type=click.Choice(["local", "spark"]),
    default="local",
    show_default=True,
    help="Where it is done: on this machine, or on Apache Spark (Parquet or CSV that Spark reads).",
)
"""For commands that can do their work on a cluster."""

TABLE = click.Path(path_type=str)
"""What names a table: a path, or with Spark also an address, such as s3a://bucket/homes."""

PATH = _LocalPath(path_type=Path)
"""What an option or argument that names a file or folder takes."""

REDACT = click.option(
    "--redact",
    is_flag=True,
    expose_value=False,
    callback=lambda context, option, on: redact() if on else None,
    help="For logs that others read: messages show no value, id, line or number of rows.",
)
"""For commands that read private tables; `redacting` says whether it was given."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Controls of terminals but line breaks and tabs; changes of the direction of writing; halves of
characters."""


def visible(text: str) -> str:
    r"""The same, with what would act on a terminal written as an escape.

    >>> print(visible("\x1b[2J caf\u00e9 \u202efdp.exe"))
    \x1b[2J café \u202efdp.exe
    """
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def say(text: str = "") -> None:
    """Print a line of the result, exactly as it is."""
    out.print(visible(text), markup=False)


def tell(text: str) -> None:
    """Print a message about the run."""
    err.print(visible(text), markup=False)


def table(title: str, headings: list[str], rows: list[list[str]], *, left: int = 1) -> None:
    """Print a small table; the first `left` columns are text, the others numbers."""
    heading = Text(visible(title), style="bold")
    grid = Table(title=heading, title_justify="left", box=None, pad_edge=False)
    for index, column in enumerate(headings):
        justify: Literal["left", "right"] = "left" if index < left else "right"
        grid.add_column(_plain(column), justify=justify, overflow="fold", header_style="dim")
    for row in rows:
        grid.add_row(*map(_plain, row))
    out.print(grid, markup=False, soft_wrap=False)


def _plain(text: str) -> Text:
    return Text(visible(text))


class _Words(TextColumn):
    """What a progress bar is about."""

    def __init__(self) -> None:
        super().__init__("")

    def render(self, task: Task) -> Text:
        return _plain(task.description)


@contextmanager
def progress(label: str, total: float | None) -> Iterator[Bar]:
    """A progress bar on stderr with the time left; the task's id is 0."""
    columns = [
        _Words(),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    ]
    with Bar(*columns, console=err, transient=True) as bar:
        bar.add_task(label, total=total)
        yield bar


def name_tables(
    schema: Schema, paths: tuple[str | Path, ...], *, given: str = "got", engine: str = "local"
) -> dict[str, Any]:
    """Give the files the schema's table names, in order: groups first.

    Those of this machine become paths; what Spark reads stays as it is written.
    """
    names = schema.table_names
    if len(paths) != len(names):
        raise KinfolkError(
            f"{given} {len(paths)} file{'s' if len(paths) != 1 else ''}, but the schema has "
            f"{len(names)} table{'s' if len(names) != 1 else ''}. "
            f"Name one file for each, in this order: {', '.join(names)}."
        )
    found = paths if engine == "spark" else tuple(map(local_path, paths))
    return dict(zip(names, found, strict=True))


Command = TypeVar("Command", bound=Callable[..., Any])


class MethodOption(click.Option):
    """Names all methods in its help, which are imported only when somebody looks at it."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """What help shows."""
        from kinfolk.methods.registry import DEFAULT, METHODS

        others = [name for name in METHODS if name != DEFAULT]
        names = ", ".join([f"{DEFAULT} (the default)", *others[:-1]])
        self.help = f"How to make the model: {names} or {others[-1]}."
        return super().get_help_record(ctx)


SETTINGS = (
    click.option("--rounds", type=int, help="How many times something is chosen and measured."),
    click.option(
        "--alpha",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        help="How a round's budget is split: more for choosing, less for measuring.",
    ),
    click.option(
        "--measure", help="What a round measures: a query, as in the paper, or a whole marginal."
    ),
    click.option("--iterate", help="Of mwem: release the average of all rounds, or the last."),
    click.option("--components", type=int, help="How many distributions are mixed."),
    click.option("--learning-rate", type=float, help="The size of a step."),
    click.option("--max-iterations", type=int, help="Steps after a measurement, at most."),
    click.option("--noise", help="Of hpd-gen: fixed or resampled."),
    click.option("--parts", type=int, help="Of marginals: mixtures that are fitted apart."),
    click.option(
        "--replicates",
        type=int,
        help="Of marginals: fits to made-up noise, for standard errors; 0 is quickest.",
    ),
    click.option("--max-passes", type=int, help="Of marginals: passes of one fit, at most."),
)
"""Of methods; one that does not belong to the chosen method is refused."""

PROMISE = (
    click.option(
        "--unit", help="Whom to protect: household, person, or a table's name.  [required]"
    ),
    click.option("--epsilon", type=float, required=True, help="The promise: smaller is stronger."),
    click.option(
        "--delta",
        type=float,
        help="The promise: far below one in the number of people, such as 1e-9.  [required]",
    ),
    click.option(
        "--neighbours",
        help="Of households: add-remove, one more or less (the default), or replace, one by "
        "another: a stronger promise at the same epsilon, for 1.4 times the noise.",
    ),
    click.option("--method", cls=MethodOption),
    click.option(
        "--accounting",
        help="gaussian, zcdp, or paper for the paper's own arithmetic.  "
        "[default: the tightest for the method]",
    ),
)
"""Of every command that spends, or plans to."""

FORMAT = click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "parquet", "dta", "sav"]),
    default="csv",
    show_default=True,
    help="Of the tables; dta is Stata's, sav SPSS's.",
)
GROUPS = click.option(
    "--groups", type=int, help="How many groups to draw.  [default: as many as the data has]"
)
INTO_FOLDER = click.option(
    "-o", "--output", type=PATH, required=True, help="The folder to write into."
)
FORCE = click.option("--force", is_flag=True, help="Overwrite what is there; never a ledger.")


LABELS = {
    "measuring": "Measuring marginals",
    "reading public tables": "Learning from public tables",
    "raking": "Finding out which groups to keep",
    "repeating": "Working out standard errors",
    "stopping": "Stopping after this step (Ctrl-C again: at once);",
    "trying": "Finding out how long to fit",
    "trying the prior": "Finding out how far to trust public tables",
    "tilting": "Learning with public tables",
}
"""What a stage is called, where that is not its name."""
EVERY = 30.0
"""Seconds between two lines of a log."""


def options(*several: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options at once, in the order in which help shows them."""

    def add(command: Command) -> Command:
        for option in reversed(several):
            command = option(command)
        return command

    return add


def required(**settings: Any) -> None:
    """Refuse to go on without these, which only a ledger can stand in for."""
    for name, value in settings.items():
        if value is None:
            raise click.UsageError(f"Missing option '--{name}'.")


def promise_of(schema: Schema, settings: dict[str, Any]) -> tuple[Method, Guarantee]:
    """The method and the guarantee that PROMISE and SETTINGS ask for."""
    # Imported here because it brings the compiled loops along, which other commands do without.
    from kinfolk.methods.registry import method_named
    from kinfolk.release.fitting import promised

    names = ("unit", "epsilon", "delta", "neighbours", "accounting")
    of_method = {name: value for name, value in settings.items() if name not in names}
    method = method_named(of_method.pop("method"), **given(of_method))
    return method, promised(schema, method, **{name: settings[name] for name in names})


def given(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings that somebody has set."""
    return {name: value for name, value in settings.items() if value is not None}


Show = Callable[..., None]
"""Told in words what is being done, how many steps are done, and of how many, where that is known;
`afresh`, if something else begins."""


@contextmanager
def reporting(label: str) -> Iterator[Show]:
    """Shows on stderr how far something is: a bar with the time left, or a line now and then."""
    if err.is_terminal:
        with progress(label, None) as bar:

            def draw(words: str, done: int, total: int | None, *, afresh: bool = False) -> None:
                if afresh:
                    for task in bar.task_ids:
                        bar.remove_task(task)
                    bar.add_task("", total=total)
                bar.update(bar.task_ids[0], description=words, completed=done, total=total)

            yield draw
        return
    said = time.monotonic()

    def write(words: str, done: int, total: int | None, *, afresh: bool = False) -> None:
        nonlocal said
        if time.monotonic() - said >= EVERY:
            said = time.monotonic()
            tell(words)

    yield write


@contextmanager
def stages() -> Iterator[Progress]:
    """Shows stage after stage of a run."""
    stage = ""
    with reporting("Starting") as show:

        def follow(doing: str, done: int, total: int) -> None:
            nonlocal stage
            afresh = doing not in (stage, "stopping")
            stage = doing if afresh else stage
            # Of counting only the beginning and the end are known.
            known = total if total > 1 else None
            show(_label(doing, done, total), done, known, afresh=afresh)

        yield follow


def _label(doing: str, done: int, total: int) -> str:
    label = LABELS.get(doing, doing.capitalize())
    return f"{label} {done:,} of {total:,}" if total > 1 else label
