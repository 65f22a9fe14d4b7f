"""`kinfolk ledger` and `certificate`: what may be spent, what was, and whether that holds."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Any

import click

from kinfolk.cli.console import PATH, say, table, tell
from kinfolk.cli.synth import MODEL
from kinfolk.errors import KinfolkError

LEDGER = """Keep one budget for all releases from one dataset.

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


CERTIFICATE = """Check a release certificate and print it for people.

FILE is the privacy.json that a run wrote. The prices of all steps are worked out again from their
sensitivities and scales, added up, and converted into epsilon and delta, independently of the code
that spent them. Tables and a model that stand beside it are compared with its digests.

With --schema, everything is worked out again from the schema: the words about whom it protects,
what each step bought, its sensitivity, and the noise that the method makes of the budget. Without
it, the certificate is only known to agree with itself. With --ledger, the data holder sees whether
the ledger still has all that the certificate was made from, and says the same of it.

\b
Exit status
  0  the release keeps its promise as written
  2  the certificate does not hold
  3  it holds, and promises less than it seems: the noise came from a seed (`seeded`), the domain
     was read off the data (`drafted`), or the accounting is the paper's (`paper`); with --allow,
     what you know of counts as 0

\b
Example:
  kinfolk certificate release/privacy.json --schema schema.yaml --spends
"""

WEAK = 3
CAVEATS = {
    "seeded": "the noise came from a seed, and nobody is protected",
    "drafted": "the domain was read off the data and not confirmed, which leaks",
    "paper": "the paper's accounting leaves open what is listed as unprotected",
}


@click.group(name="ledger", help=LEDGER, short_help="Keep one budget for several releases.")
def ledger_command() -> None:
    """See LEDGER."""


@ledger_command.command(help=CREATE, short_help="Begin a ledger.")
@click.argument("file", type=PATH)
@click.option("--unit", required=True, help="Whom to protect: household or person.")
@click.option("--epsilon", type=float, required=True, help="What all releases promise together.")
@click.option("--delta", type=float, required=True, help="What all releases promise together.")
@click.option("--neighbours", help="Of households: add-remove (the default) or replace.")
@click.option(
    "--accounting",
    default="zcdp",
    show_default=True,
    help="zcdp, for all methods; or gaussian, a little tighter, for methods that only measure.",
)
def create(
    file: Path, unit: str, epsilon: float, delta: float, neighbours: str | None, accounting: str
) -> None:
    """See CREATE."""
    from kinfolk.privacy import Accounting, Guarantee, Neighbours, Unit
    from kinfolk.privacy.ledger import create_ledger

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


@ledger_command.command(name="show", help=SHOW, short_help="Show what is left of a ledger.")
@click.argument("file", type=PATH)
def show_ledger(file: Path) -> None:
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


@click.command(help=CERTIFICATE, short_help="Check and print a release certificate.")
@click.argument("file", type=PATH)
@click.option("--schema", type=PATH, help="The schema.yaml of the release.")
@click.option("--ledger", type=PATH, help="The ledger it was made from.")
@click.option("--spends", is_flag=True, help="List every step with its sensitivity and noise.")
@click.option(
    "--allow",
    multiple=True,
    type=click.Choice(list(CAVEATS)),
    help="Exit with 0 all the same; may be given several times.",
)
def certificate(
    file: Path, schema: Path | None, ledger: Path | None, spends: bool, allow: tuple[str, ...]
) -> int:
    """See CERTIFICATE."""
    from kinfolk.privacy.certificate import (
        certificate_text,
        check_certificate,
        check_ledger,
        read_certificate,
    )

    found = read_certificate(file)
    wrong = check_certificate(found)
    if not wrong and schema is not None:
        # Imported here because it brings the compiled loops along, which the rest does without.
        from kinfolk.release.verify import verify
        from kinfolk.schema import Schema

        wrong = verify(found, Schema.from_yaml(schema))
    if not wrong and ledger is not None:
        wrong = check_ledger(found, ledger)
    wrong = wrong or _other_files(found, file.parent)
    if wrong:
        listed = "\n".join(f"  - {reason}" for reason in wrong)
        raise KinfolkError(f"{file}: the certificate does not hold.\n{listed}")
    say(certificate_text(found))
    if spends:
        _list(found)
    say("\nThe arithmetic holds: the spends cost what they state, add up, and keep the promise.")
    if schema is not None:
        say("The schema makes the same of it: words, sensitivities and noise.")
    else:
        say("Whether the sensitivities are right, only the schema can tell: add --schema.")
    if ledger is not None:
        say("The ledger has all that it was made from.")
    caveats = [name for name in _caveats(found) if name not in allow]
    for name in caveats:
        tell(f"kinfolk: {CAVEATS[name]}. Where that is meant, add --allow {name}.")
    return WEAK if caveats else 0


def _caveats(certificate: Mapping[str, Any]) -> list[str]:
    found = {
        "seeded": certificate["private"] is not True,
        "drafted": certificate["domain"] != "declared",
        "paper": certificate["accounting"] == "paper",
    }
    return [name for name, holds in found.items() if holds]


def _other_files(certificate: Mapping[str, Any], folder: Path) -> list[str]:
    """Which of the tables beside a certificate are not those that it names; and the model."""
    release = certificate["release"]
    tables, model = release.get("tables"), folder / MODEL
    named = tables if isinstance(tables, dict) else {}
    if not named and not model.is_file():
        return []
    # Imported here because it brings the compiled loops along, which the rest does without.
    from kinfolk.release.file import file_digest, stored_digest

    names = [name for name in named if isinstance(name, str) and _is_below(name)]
    wrong = [
        f"{name} is not the table that was released"
        for name in names
        if (folder / name).is_file() and file_digest(folder / name) != named[name]
    ]
    if "model" in release and model.is_file() and stored_digest(model) != release["model"]:
        wrong.append(f"{MODEL} is not the model that was released")
    return wrong


def _is_below(name: str) -> bool:
    """Whether a name is one of a file in the folder itself, or of a part of a table in it."""
    path = PurePosixPath(name)
    own = len(path.parts) <= 2 and not path.is_absolute() and ".." not in path.parts
    return own and all(Path(part).name == part for part in path.parts)


def _list(certificate: Mapping[str, Any]) -> None:
    say()
    rows = [
        [
            str(spend["number"]),
            spend["step"],
            _bought(spend["bought"]),
            spend["mechanism"],
            str(spend.get("squared_sensitivity") or spend.get("sensitivity")),
            f"{spend.get('sigma') or spend.get('scale'):.6g}",
            f"{float(Fraction(spend['rho'])):.4g}",
        ]
        for spend in certificate["spends"]
    ]
    heads = ["step", "what", "bought", "mechanism", "sensitivity (squared: gaussian)", "scale"]
    table("Spends", [*heads, "rho"], rows, left=4)


def _bought(bought: Mapping[str, Any]) -> str:
    """What a step bought, in a word."""
    if "marginals" in bought:
        unit = f", in units of {bought['unit']}" if "unit" in bought else ""
        return f"{len(bought['marginals']):,} marginals{unit}"
    if "total" in bought:
        return f"the number of {bought['total']}"
    return f"a choice of a {bought['select']}" if "select" in bought else "a query"
