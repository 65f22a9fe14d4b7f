"""The settings of the commands that fit a model, and how they show that they are at work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kinfolk.cli.console import PATH, err, progress, tell

if TYPE_CHECKING:
    from kinfolk.methods.method import Method, Progress
    from kinfolk.privacy.guarantee import Guarantee
    from kinfolk.schema import Schema

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


@contextmanager
def stages() -> Iterator[Progress]:
    """Shows stage after stage on stderr: a bar with the time left, or a line now and then."""
    if not err.is_terminal:
        yield _lines()
        return
    with progress("Starting", None) as bar:
        stage = ""

        def show(doing: str, done: int, total: int) -> None:
            nonlocal stage
            if doing not in (stage, "stopping"):
                for task in bar.task_ids:
                    bar.remove_task(task)
                # Of counting only the beginning and the end are known.
                bar.add_task("", total=total if total > 1 else None)
                stage = doing
            description = _label(doing, done, total)
            bar.update(bar.task_ids[0], description=description, completed=done)

        yield show


def _lines() -> Progress:
    """For a log: says where the run is every half minute."""
    said = time.monotonic()

    def show(doing: str, done: int, total: int) -> None:
        nonlocal said
        if time.monotonic() - said >= EVERY:
            said = time.monotonic()
            tell(_label(doing, done, total))

    return show


def _label(doing: str, done: int, total: int) -> str:
    label = LABELS.get(doing, doing.capitalize())
    return f"{label} {done:,} of {total:,}" if total > 1 else label
