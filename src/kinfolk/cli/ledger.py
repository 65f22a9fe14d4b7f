"""`kinfolk ledger`: one budget for all releases from one dataset."""

from __future__ import annotations

from pathlib import Path

import click

from kinfolk.cli.console import say, table
from kinfolk.errors import KinfolkError

HELP = """Keep one budget for all releases from one dataset.

A ledger made here is a total: `kinfolk synth` and `fit` draw on it with --ledger FILE, each release
with an epsilon of its own, whatever its method and settings. A release that would exceed the total
is refused before any data is read. The ledger recognises the data that it is for, and refuses any
other. It holds released values, and what recognises the data: keep it with the data, together with
its companion FILE.head; publish neither.

\b
Example:
  kinfolk ledger create survey.ledger --unit household --epsilon 2 --delta 1e-9
  kinfolk ledger show survey.ledger
"""

CREATE = """Begin a ledger.

\b
Example:
  kinfolk ledger create survey.ledger --unit household --epsilon 2 --delta 1e-9
  kinfolk synth schema.yaml households.csv persons.csv --ledger survey.ledger --epsilon 0.5 -o one
  kinfolk ledger show survey.ledger
"""

SHOW = """Show what was promised, what has been spent, and by which releases."""


@click.group(name="ledger", help=HELP, short_help="Keep one budget for several releases.")
def ledger_command() -> None:
    """See HELP."""


@ledger_command.command(help=CREATE, short_help="Begin a ledger.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--unit", required=True, help="Whom to protect: household or person.")
@click.option("--epsilon", type=float, required=True, help="What all releases promise together.")
@click.option("--delta", type=float, required=True, help="What all releases promise together.")
@click.option("--neighbours", help="Of households: add-remove (the default) or replace.")
@click.option(
    "--accounting",
    default="zcdp",
    show_default=True,
    help="zcdp, for all methods; or gaussian, a little tighter, for `marginals` alone.",
)
def create(
    file: Path, unit: str, epsilon: float, delta: float, neighbours: str | None, accounting: str
) -> None:
    """See CREATE."""
    from kinfolk.privacy.accounting import Accounting
    from kinfolk.privacy.guarantee import Guarantee
    from kinfolk.privacy.ledger import create_ledger
    from kinfolk.privacy.unit import Neighbours, Unit

    total = Guarantee.of(
        neighbours=Neighbours.parse(neighbours, unit=Unit.parse(unit)),
        epsilon=epsilon,
        delta=delta,
        accounting=Accounting.parse(accounting),
    )
    if not file.parent.is_dir():
        raise KinfolkError(f"{file.parent}: there is no such folder. Make it.")
    create_ledger(file, total)
    say(
        f"Wrote {file} and {file}.head: epsilon = {epsilon:g}, delta = {delta:.3g} for one "
        f"{total.unit.value}, neighbours {total.neighbours.value}, {accounting} accounting."
    )
    for warning in total.warnings():
        say(f"Warning: {warning}.")
    say("Keep both with the data; they are not for publishing.")


@ledger_command.command(help=SHOW, short_help="Show what is left of a ledger.")
@click.argument("file", type=click.Path(path_type=Path))
def show(file: Path) -> None:
    """See SHOW."""
    from kinfolk.privacy.account import read_account

    account = read_account(file)
    total = account.total
    say(
        f"Total      epsilon = {total.epsilon:g}, delta = {total.delta:.3g} for one "
        f"{total.unit.value}, neighbours {total.neighbours.value}"
    )
    say(f"Budget     rho = {float(total.rho):.6g}, {total.accounting.value} accounting")
    if not account.private:
        say("NOT PRIVATE: the noise comes from a seed, and nobody is protected.")
    say(f"Spent      {float(account.spent / total.rho):.1%}")
    say(f"Left       {float(account.remaining / total.rho):.1%} for other releases")
    bound = "recognised by a keyed digest" if account.data else "not known yet"
    say(f"Data       {bound}")
    rows = [
        [
            str(one.number),
            str(one.run.get("method", "")),
            f"{one.guarantee.epsilon:g}",
            f"{float(one.spent / total.rho):.1%}",
            str(len(one.spends)),
            str(len(one.unreleased)),
            "finished" if one.closed else "unfinished",
        ]
        for one in account.allotments
    ]
    if rows:
        say()
        heads = ["release", "method", "epsilon", "spent", "steps", "lost", "state"]
        table("Releases", heads, rows, left=2)
