"""What the commands print: results to stdout, progress and messages to stderr."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

# Names and values of the data are printed as they are: `:x:` is no emoji, `[red]` no colour.
out = Console(highlight=False, soft_wrap=True, emoji=False)
err = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)


def say(text: str = "") -> None:
    """Print a line of the result, exactly as it is."""
    out.print(text, markup=False)


def tell(text: str) -> None:
    """Print a message about the run."""
    err.print(text, markup=False)


def table(title: str, headings: list[str], rows: list[list[str]], *, left: int = 1) -> None:
    """Print a small table; the first `left` columns are text, the others numbers."""
    grid = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for index, heading in enumerate(headings):
        justify: Literal["left", "right"] = "left" if index < left else "right"
        grid.add_column(heading, justify=justify, overflow="fold", header_style="dim")
    for row in rows:
        grid.add_row(*row)
    out.print(grid, markup=False, soft_wrap=False)


@contextmanager
def progress(label: str, total: float | None) -> Iterator[Progress]:
    """A progress bar on stderr with the time left; the task's id is 0."""
    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    ]
    with Progress(*columns, console=err, transient=True) as bar:
        bar.add_task(label, total=total)
        yield bar
