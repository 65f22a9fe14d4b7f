"""What the commands print: results to stdout, progress and messages to stderr.

Names and values come from files that somebody else may have written. Whatever is printed goes
through `visible`, so that none of them can move the cursor, or make a line read other than it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from kinfolk._io import local_path
from kinfolk.errors import redact

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
def progress(label: str, total: float | None) -> Iterator[Progress]:
    """A progress bar on stderr with the time left; the task's id is 0."""
    columns = [
        _Words(),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    ]
    with Progress(*columns, console=err, transient=True) as bar:
        bar.add_task(label, total=total)
        yield bar
