"""`kinfolk certificate`: does a release keep its promise, by its own figures?"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import click

from kinfolk.cli.screen import say, table
from kinfolk.errors import KinfolkError
from kinfolk.privacy.certificate import certificate_text, check_certificate, read_certificate

HELP = """Check a release certificate and print it for people.

FILE is the privacy.json that a run wrote. The prices of all steps are worked out again from their
sensitivities and scales, added up, and converted into epsilon and delta, independently of the code
that spent them. Exit status 0 if the arithmetic holds, 2 if it does not.

\b
Example:
  kinfolk certificate release/privacy.json --spends
"""


@click.command(help=HELP, short_help="Check and print a release certificate.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--spends", is_flag=True, help="List every step with its sensitivity and noise.")
def certificate(file: Path, spends: bool) -> None:
    """See HELP."""
    found = read_certificate(file)
    wrong = check_certificate(found)
    if wrong:
        listed = "\n".join(f"  - {reason}" for reason in wrong)
        raise KinfolkError(f"{file}: the certificate does not hold.\n{listed}")
    say(certificate_text(found))
    if spends:
        say()
        rows = [
            [
                str(spend["number"]),
                spend["step"],
                spend["mechanism"],
                spend.get("squared_sensitivity") or spend.get("sensitivity"),
                f"{spend.get('sigma') or spend.get('scale'):.6g}",
                f"{float(Fraction(spend['rho'])):.4g}",
            ]
            for spend in found["spends"]
        ]
        headings = ["step", "what", "mechanism", "sensitivity (squared: gaussian)", "scale", "rho"]
        table("Spends", headings, rows, left=3)
    say("\nThe arithmetic holds: the spends cost what they state, add up, and keep the promise.")
