"""`kinfolk query`: what a model says about a question, and how sure it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kinfolk.cli.console import say, tell

if TYPE_CHECKING:
    from kinfolk.queries.questions import Question
    from kinfolk.release.answers import Answers

HELP = """Ask a model questions: shares with standard errors and intervals.

MODEL is a model.kinfolk that `kinfolk fit` or `synth` wrote. No data is needed and nothing is
spent. A question begins with the name of a table (or households, people) and says what
attributes are, joined by `and` or commas. Of households, it asks for those that contain at least
one person who is all that is said of people.

\b
Values            sex = female, cars != 0, age in (0..4, 5..11), hht = 1|2, COUNT >= 3
Numbers           whole bins: age = 35..54, age < 18
Blanks            esr = blank
Relatives         married_to: sex = female
One by one        an attribute alone asks for each of its values

\b
Examples:
  kinfolk query model.kinfolk "households with cars = 0 that contain a person with age = 65..120"
  kinfolk query model.kinfolk "people: sex = female, married_to: age < 35" "people: sex, esr"
"""


@click.command(help=HELP, short_help="Ask a model questions, with standard errors.")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("questions", nargs=-1, required=True)
@click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.9,
    show_default=True,
    help="How often intervals are to hold the true answer.",
)
@click.option("--count", is_flag=True, help="Standard errors and intervals of counts, not shares.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def query(
    model: Path, questions: tuple[str, ...], level: float, count: bool, as_json: bool
) -> None:
    """See HELP."""
    # Imported here because it brings the compiled loops along, which other commands do without.
    from kinfolk.queries.question_parser import parse
    from kinfolk.release import load

    release = load(model)
    asked = [question for text in questions for question in parse(release.schema, text)]
    answers = release.answer(asked)
    rows = _rows(asked, answers, level)
    stated = release.certificate
    if as_json:
        promise = {name: stated[name] for name in ("unit_name", "epsilon", "delta", "private")}
        report = {"method": release.method, **promise, "level": level, "answers": rows}
        say(json.dumps(report, indent=2))
        return
    for row in rows:
        _show(row, level, count=count)
    say(
        f"From the model alone ({release.method}; epsilon = {stated['epsilon']:g} and delta = "
        f"{stated['delta']:.3g} for one {stated['unit_name']}): no data was touched, nothing spent."
    )
    if answers.errors is None:
        tell(f"The method {release.method} gives no standard errors; `marginals` does.")
    elif not all(row["in_workload"] for row in rows):
        tell("(*) Beyond the queries the model was fitted to: the error is only indicative.")
    if not release.private:
        say("NOT PRIVATE: the model was fitted with a seed, and nobody is protected.")


def _rows(asked: list[Question], answers: Answers, level: float) -> list[dict[str, Any]]:
    """Each answer, as JSON."""
    errors = None if answers.errors is None else answers.errors.tolist()
    ends = None if errors is None else [one.tolist() for one in answers.interval(level)]
    return [
        {
            "question": str(question),
            "share": share,
            "standard_error": errors and errors[at],
            "interval": ends and [ends[0][at], ends[1][at]],
            "total": total,
            "total_is_exact": question.level == "group",
            "of": _of(question),
            "in_workload": question.in_workload,
        }
        for at, (question, share, total) in enumerate(
            zip(asked, answers.shares.tolist(), answers.totals.tolist(), strict=True)
        )
    ]


def _of(question: Question) -> str:
    tables = question.schema.table_names
    return tables[0] if question.level == "group" else tables[-1]


def _show(row: dict[str, Any], level: float, *, count: bool) -> None:
    total = row["total"]
    about = "" if row["total_is_exact"] else "about "

    def written(share: float) -> str:
        return f"{share * total:,.0f}" if count else f"{share:.5f}"

    say(row["question"])
    number = f"{row['share'] * total:,.0f} of {about}{total:,.0f} {row['of']}"
    say(f"  answer          {row['share']:.5f}, which is about {number}")
    if row["standard_error"] is not None:
        low, high = row["interval"]
        mark = "" if row["in_workload"] else " (*)"
        say(f"  standard error  {written(row['standard_error'])}{mark}")
        say(f"  {f'{level * 100:g}% interval':<14}  {written(low)} to {written(high)}{mark}")
    say()
