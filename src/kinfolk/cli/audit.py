"""`kinfolk audit`: try to catch the curator giving away more than it promises."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kinfolk._io import write_whole
from kinfolk.cli.console import PATH, progress, say
from kinfolk.errors import KinfolkError

if TYPE_CHECKING:
    from kinfolk.audit import AuditResult

HELP = """Try to catch kinfolk giving away more than it promises.

Runs something private many times, on one of two made-up datasets that differ in a single unit by as
much as they can, and guesses from what was released which of the two it was. Whoever guesses right
too often has refuted the promise. Nothing of yours is read: this audits the program, as it is
installed here, with the randomness of this machine.

\b
  --what default   the default method, from tables to a release (30 to 50 ms a run)
  --what dropped   the same, where one household is one that cleaning drops
  --what measure   one marginal of people, bought with the whole budget
  --what sizes     how many households have which size: small counts, with the smallest noise
  --what select    one selection, bought with the whole budget
  --what run       three rounds of both, each depending on what was released before

The two datasets of "default" are the worst pair that a search finds. A guess looks at the
likelihood of everything released, at the number of rows that a release has, or at both.

Two bounds hold with the stated confidence: no smaller epsilon could keep the promise, and no
smaller budget rho buys what was seen. Exit status 0 if neither exceeds its claim, 2 if one does.
A claim that survives is not proved; small epsilons take many runs before anything shows.

\b
Example:
  kinfolk audit --unit household --epsilon 8 --delta 1e-5 -o audit.svg
"""


@click.command(name="audit", help=HELP, short_help="Try to refute the privacy promise by trial.")
@click.option("--what", default="default", show_default=True, help="What to run; see above.")
@click.option("--unit", required=True, help="household or person: what the datasets differ in.")
@click.option("--neighbours", help="For a household: add-remove (the default) or replace.")
@click.option(
    "--accounting",
    help="zcdp or gaussian. By default zcdp for measure, select and run, else gaussian.",
)
@click.option("--epsilon", type=float, required=True, help="The promise to audit.")
@click.option("--delta", type=float, required=True, help="The promise to audit.")
@click.option("--runs", type=int, default=1000, show_default=True, help="How many runs.")
@click.option(
    "--confidence",
    type=float,
    default=0.999,
    show_default=True,
    help="How often, at least, the bounds are true.",
)
@click.option("-o", "--output", type=PATH, help="Draw the errors into this .svg.")
def audit_command(
    what: str,
    unit: str,
    neighbours: str | None,
    accounting: str | None,
    epsilon: float,
    delta: float,
    runs: int,
    confidence: float,
    output: Path | None,
) -> None:
    """See HELP."""
    # Imported here because it brings the compiled counting along, which other commands do without.
    from kinfolk.audit import audit, plot_svg
    from kinfolk.privacy import Accounting, Neighbours, Unit

    if output is not None and output.suffix != ".svg":
        raise KinfolkError(f"{output}: the plot is an SVG. Name a file that ends in .svg.")
    chosen = Neighbours.parse(neighbours, unit=Unit.parse(unit))
    with progress(f"Running {what!r}", runs) as bar:
        result = audit(
            what,
            neighbours=chosen,
            accounting=None if accounting is None else Accounting.parse(accounting),
            epsilon=epsilon,
            delta=delta,
            runs=runs,
            confidence=confidence,
            advance=lambda: bar.advance(bar.task_ids[0]),
        )
    say(audit_text(result))
    if output is not None:
        write_whole(output, plot_svg(result))
        say(f"Plot       {output}")
    if result.verdict == "violated":
        raise KinfolkError(
            f"the promise is violated: {_exceeded(result)}. A correct program is accused like this "
            f"once in {1 / (1 - confidence):,.0f} audits at most. Publish nothing made with it."
        )


def audit_text(result: AuditResult) -> str:
    """What an audit found, for people."""
    lines = [
        f"Audited    {result.what}, {result.runs:,} runs",
        f"Neighbours {result.wording.neighbours}",
        f"Claim      epsilon = {result.claimed_epsilon:g}, delta = {result.delta:.3g} for one "
        f"{result.wording.name}: a budget of rho = {result.claimed_rho:.4g} "
        f"({result.claim.accounting.value})",
        f"Seen       epsilon is at least {result.epsilon:.3g}, and rho at least "
        f"{result.rho:.3g} ({result.rho / result.claimed_rho:.0%} of the budget)",
        f"Guessed by {result.clue}",
        f"Confidence {result.confidence:.6g} that both bounds are true",
        f"Verdict    {result.verdict}",
    ]
    if result.verdict == "consistent" and result.rho < result.claimed_rho / 10:
        more = max(result.runs_to_see_half, 4 * result.runs)
        lines.append(f"Note       so few runs show next to nothing here. Try --runs {more}.")
    return "\n".join(lines)


def _exceeded(result: AuditResult) -> str:
    parts = []
    if result.epsilon > result.claimed_epsilon:
        parts.append(
            f"epsilon is at least {result.epsilon:.4g} and claimed to be {result.claimed_epsilon:g}"
        )
    if result.rho > result.claimed_rho:
        parts.append(
            f"what was released costs at least rho = {result.rho:.4g}, and the budget is "
            f"{result.claimed_rho:.4g}"
        )
    return "; ".join(parts)
