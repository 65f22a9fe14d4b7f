"""`kinfolk plan`: what a run would do, without data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kinfolk.cli.console import (
    PATH,
    PROMISE,
    SETTINGS,
    err,
    options,
    promise_of,
    required,
    say,
    table,
    tell,
)
from kinfolk.errors import listed
from kinfolk.schema import Schema
from kinfolk.schema.doubtful import doubtful_relations, wide_bins

if TYPE_CHECKING:
    from kinfolk.data.encoded import Encoded
    from kinfolk.evaluate.rehearsal import Rehearsal
    from kinfolk.evaluate.verdict import Verdict
    from kinfolk.methods.method import Method
    from kinfolk.privacy.guarantee import Guarantee
    from kinfolk.release.estimate import Family, RunEstimate

HELP = """Say what a run would do: how many queries, how much noise, how long, with how much memory.

No data is needed or read, and nothing is spent. The method begins to work on made-up groups of
the same schema, to see how fast this machine is, which takes up to a minute; where roles make more
than 1,000 compositions, that is left out. With --public, it also does the whole run on public
tables, for half the epsilon, the epsilon and twice as much, and says what errors, sizes and records
to expect.

\b
Example:
  kinfolk plan schema.yaml --groups 87453 --unit household --epsilon 1 --delta 1e-9
"""


@click.command(name="plan", help=HELP, short_help="Say what a run would do, without data.")
@click.argument("schema", type=PATH)
@click.option("--groups", type=int, required=True, help="How many groups the data has.")
@click.option("--people", type=int, help="How many people it has.  [default: about 2.5 to a group]")
@click.option(
    "--public",
    type=PATH,
    help="A folder with public tables of the same schema: the run is rehearsed on them.",
)
@options(*PROMISE, *SETTINGS)
def plan_command(
    schema: Path, groups: int, people: int | None, public: Path | None, **settings: Any
) -> None:
    """See HELP."""
    required(unit=settings["unit"], delta=settings["delta"])
    # Imported here because it brings the compiled loops along, which other commands do without.
    from kinfolk.privacy.unit import Unit
    from kinfolk.release.estimate import estimate_run

    declared = Schema.from_yaml(schema)
    method, guarantee = promise_of(declared, settings)
    known = None
    if public is not None:
        from kinfolk.evaluate.rehearsal import for_rehearsal

        # What is wrong with them is said before the long wait.
        known = for_rehearsal(declared, public)
    with err.status("Trying it on made-up groups"):
        estimate = estimate_run(declared, method, guarantee, groups=groups, people=people)
    _show(estimate, method.name, groups, declared)
    if known is not None:
        _rehearse(declared, method, guarantee, known, groups)
    _say_rules(declared)
    for text in wide_bins(declared):
        tell(f"Warning: {text}.")
    _say_promise(declared, guarantee, groups if guarantee.unit is Unit.GROUP else estimate.people)


_LEFT_OUT = """This budget is small for so many attributes and so few groups: most sets of
attributes would be mostly noise, and are not bought. Sizes, single attributes and what relatives
have in common are; what else goes together will not be learnt. A larger epsilon, fewer attributes
or a smaller k help."""


def _show(estimate: RunEstimate, method: str, groups: int, schema: Schema) -> None:
    noisy = any(family.noise is not None for family in estimate.families)
    rows = [
        [family.name, _marginals(family), f"{family.queries:,}"]
        + ([_range(family, 1, ",.1f"), _range(family, family.total, ".3%")] if noisy else [])
        for family in estimate.families
    ]
    heads = [
        "family",
        "marginals",
        "queries",
        *(["noise in counts", "as a share"] if noisy else []),
    ]
    table("Queries", heads, rows)
    marginals, queries = (
        sum(getattr(family, name) for family in estimate.families)
        for name in ("marginals", "queries")
    )
    say(f"In all {marginals:,} marginals, {queries:,} queries.")
    if noisy and any(0 < family.bought < family.marginals for family in estimate.families):
        say(_LEFT_OUT)
    if noisy:
        say(
            "Noise: the standard deviation of a measured query, of the least and the most "
            "sensitive one;"
        )
        say(f"as a share of {groups:,} groups, or of {estimate.people:,} people (--people).")
    say()
    _say_known(estimate, schema)
    say()
    say(f"Method        {method}, with a budget of rho = {float(estimate.rho):.4g}")
    say(f"Compositions  {estimate.compositions:,}")
    if estimate.parameters is not None:
        say(f"Parameters    {estimate.parameters:,}")
    fits = "mwem and pep can list them" if estimate.explicit else "too many for mwem and pep"
    size = (
        f"{estimate.universe:,}" if estimate.universe < 10**12 else f"{_rounded(estimate.universe)}"
    )
    say(f"Universe      {size} possible groups: {fits}")
    if estimate.expected is not None:
        say(f"Memory        about {estimate.expected.peak_bytes / 2**20:,.0f} MB at the peak")
        say(
            f"Time          about {_duration(estimate.expected.counting_seconds)} of counting and "
            f"{_duration(estimate.expected.fitting_seconds)} of fitting on this machine"
        )
        if method == "marginals":
            say("              (longer where there is more to learn, as with a large epsilon)")
    else:
        say("Time          not tried: made-up groups of so many compositions take too long. Lower")
        say("              max_size or the roles' max, or put rare roles together, to know it")


def _marginals(family: Family) -> str:
    """How many marginals a family has, and how many of them are bought where not all are."""
    some = f"{family.bought:,} of " if 0 < family.bought < family.marginals else ""
    return f"{some}{family.marginals:,}"


def _rehearse(
    schema: Schema, method: Method, guarantee: Guarantee, public: Encoded, groups: int
) -> None:
    """Show what a run on public tables comes to."""
    from kinfolk.evaluate.rehearsal import rehearse

    with err.status("Rehearsing on the public tables") as status:
        found = rehearse(
            schema,
            method,
            guarantee,
            public,
            groups=groups,
            on_progress=lambda words: status.update(f"Rehearsing, {words}"),
        )
    rows = [
        [
            f"{one.epsilon:g}",
            f"{one.max_error:.4f}",
            f"{one.mean_error:.5f}",
            f"{one.other_size:.1%}",
            *_levels(one),
        ]
        for one in found
    ]
    # By their first words: all of it fits into 80 columns.
    topics = [verdict.topic.split()[0] for verdict in _by_topic(found[0])]
    say()
    table("Expected of a run", ["epsilon", "largest", "mean", "size", *topics], rows)
    say(f"From runs on {groups:,} groups drawn from the public tables, as if they were private and")
    say("nothing were known beforehand; with `--public`, a run may do better. Largest and mean")
    say("error of shares, how many groups would change their size, and what `evaluate` says.")
    asked = min(found, key=lambda one: abs(one.epsilon - guarantee.epsilon))
    say()
    say(f"What records would be like at epsilon {asked.epsilon:g}, the worst first:")
    for verdict in asked.comparison.verdict:
        say(f"  {verdict.line}")


def _by_topic(one: Rehearsal) -> list[Verdict]:
    return sorted(one.comparison.verdict, key=lambda verdict: verdict.topic)


def _levels(one: Rehearsal) -> list[str]:
    """Good, fair or poor, topic by topic."""
    return [verdict.level for verdict in _by_topic(one)]


def _say_known(estimate: RunEstimate, schema: Schema) -> None:
    """What the noise allows, in words."""
    if estimate.choices:
        say(f"What the noise allows: {estimate.choices:,} measurements, one chosen after another,")
        say("are as good as the table says. All other answers are learnt from these.")
        return
    if not estimate.known:
        return
    say("What the noise allows, as a standard error in points (hundredths of the whole):")
    for one in estimate.known:
        who = schema.table_names[0 if one.level == "group" else -1]
        related = f" and their relatives ({one.relation})" if one.relation else ""
        first, *rest = one.errors
        points = _points(one.errors[first])
        known = [
            f"by {_NUMBERS[first]} attribute{'s' if first > 1 else ''} is known to about {points} "
            f"point{'' if points == '1' else 's'}{_hardly(one.errors[first])}",
            *(
                f"by {_NUMBERS[ways]} to {_points(error)}{_hardly(error)}"
                for ways, error in one.errors.items()
                if ways in rest
            ),
        ]
        say(f"  A share of {who}{related} {listed(known)}.")
    most = max(max(one.errors) for one in estimate.known)
    if left := [number for ways, number in _NUMBERS.items() if ways > most]:
        say(f"  By {listed(left, 'or')} attributes nothing is measured: the model fills it in.")


_NUMBERS = {1: "one", 2: "two", 3: "three"}


def _points(error: float) -> str:
    """A standard error of a share in points.

    >>> [_points(error) for error in (0.00042, 0.0123, 0.3)]
    ['0.042', '1.2', '30']
    """
    points = error * 100
    return f"{points:.2g}" if points < 10 else f"{points:.0f}"


def _hardly(error: float) -> str:
    return " (hardly at all)" if error >= 0.1 else ""


def _say_rules(schema: Schema) -> None:
    """What the schema knows beside the domain, and what it leaves open."""
    if schema.never:
        say(f"Rules         {len(schema.never)} (on_violation: {schema.on_violation})")
    if schema.formulas:
        say(f"Computed      {', '.join(schema.formulas)}")
    for note in doubtful_relations(schema):
        tell(f"Note: {note}")


def _say_promise(schema: Schema, guarantee: Guarantee, units: int) -> None:
    """What the promise is about, and what is weak about it."""
    from kinfolk.privacy.unit import Wording

    wording = Wording.of(schema, guarantee.neighbours)
    say(f"Neighbours    {guarantee.neighbours.value}: {wording.neighbours}")
    for warning in guarantee.warnings(units):
        tell(f"Warning: {warning}.")


def _range(family: Family, unit: int, form: str) -> str:
    """The least and the most noise, once if they are the same."""
    if family.noise is None:
        return "not measured"
    return " to ".join(dict.fromkeys(format(sigma / unit, form) for sigma in family.noise))


def _rounded(number: int) -> str:
    """A number that no float can hold, in powers of ten."""
    digits = len(str(number)) if number < 10**4000 else int(number.bit_length() * 0.30103) + 1
    return f"about 10^{digits - 1}"


def _duration(seconds: float) -> str:
    """Time in words.

    >>> [_duration(seconds) for seconds in (0.4, 59, 150, 9000)]
    ['1 second', '59 seconds', '2.5 minutes', '2.5 hours']
    """
    if seconds < 90:
        whole = max(1, round(seconds))
        return f"{whole} second{'s' if whole > 1 else ''}"
    return f"{seconds / 60:.1f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
