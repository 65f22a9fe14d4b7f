"""`kinfolk queries` and `query`: what a schema asks of the data, and what a model answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kinfolk._io import new_file
from kinfolk.cli.console import PATH, progress, say, table, tell
from kinfolk.errors import KinfolkError
from kinfolk.queries.questions import Question, describe
from kinfolk.queries.workload import FAMILIES, Workload
from kinfolk.schema import Level, Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from kinfolk.release.answers import Answers

QUERIES = """Show the queries a schema asks for: how many, how sensitive, and in words.

No data is needed. By default the schema's own workload is shown; the options choose another one.

\b
Examples:
  kinfolk queries schema.yaml
  kinfolk queries schema.yaml -k 2 --level group --list 20
  kinfolk queries schema.yaml --attribute sex --attribute agep -k 2 --export queries.csv
"""

QUERY = """Ask a model questions: shares with standard errors and intervals.

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

BATCH = 50_000


@click.command(help=QUERIES, short_help="Show the queries a schema asks for.")
@click.argument("schema", type=PATH)
@click.option("-k", type=int, help="How many attributes a query names.")
@click.option("--level", "levels", multiple=True, help="group, individual or relation; repeatable.")
@click.option("--attribute", "attributes", multiple=True, help="Only these; repeatable.")
@click.option("--list", "shown", type=int, default=0, help="Print this many queries in words.")
@click.option("--export", type=PATH, help="Write all of them to a .csv or .parquet.")
def queries(
    schema: Path,
    k: int | None,
    levels: tuple[str, ...],
    attributes: tuple[str, ...],
    shown: int,
    export: Path | None,
) -> None:
    """See QUERIES."""
    declared = Schema.from_yaml(schema)
    workload = Workload.of(
        declared, k=k, levels=levels or None, attributes=list(attributes) or None
    )
    _summarise(workload)
    if shown:
        say()
        # Evenly spaced, so that every family and marginal gets its turn.
        for place in range(min(shown, workload.size)):
            index = place * workload.size // min(shown, workload.size)
            say(f"{index:>10,}  {describe(declared, workload.query(index))}")
    if export is not None:
        _export(workload, export)


def _summarise(workload: Workload) -> None:
    from kinfolk.privacy.sensitivity import workload_sensitivities
    from kinfolk.privacy.unit import Neighbours, Wording

    kinds = dict.fromkeys((marginal.level, marginal.relation) for marginal in workload.marginals)
    bounds = {one: workload_sensitivities(workload, one) for one in Neighbours}
    rows: list[list[str]] = []
    for level, relation in kinds:
        chosen = [
            index
            for index, marginal in enumerate(workload.marginals)
            if (marginal.level, marginal.relation) == (level, relation)
        ]
        name = FAMILIES[level] + (f" {relation}" if relation else "")
        row = [name, f"{len(chosen):,}", f"{workload.count(level, relation):,}"]
        for one in Neighbours:
            parts = [bounds[one][index] for index in chosen]
            row.append(f"{max(p.single for p in parts)} / {max(p.l2 for p in parts):.3g}")
        rows.append(row)
    rows.append(["all", f"{len(workload.marginals):,}", f"{workload.size:,}", *[""] * len(bounds)])
    names = [Wording.of(workload.schema, one).name for one in Neighbours]
    heads = [f"{name}, {one.value}" for name, one in zip(names, Neighbours, strict=True)]
    table("Queries", ["family", "marginals", "queries", *heads], rows)
    say("Per unit and neighbours: the sensitivity of one query / of a whole marginal in L2, in")
    say("counts; the largest of the family.")
    if workload.schema.never:
        say(f"Rules in the schema, which all groups keep: {len(workload.schema.never)}.")


def _export(workload: Workload, path: Path) -> None:
    """Write every query with its number, level, cell and words, batch by batch."""
    import pyarrow as pa
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    if path.suffix not in (".csv", ".parquet"):
        raise KinfolkError(f"{path}: the file type is unknown. Name a .csv or a .parquet file.")
    columns = pa.schema(
        [
            ("query", pa.int64()),
            ("family", pa.string()),
            ("relation", pa.string()),
            ("text", pa.string()),
        ]
    )
    maker = pacsv.CSVWriter if path.suffix == ".csv" else pq.ParquetWriter
    with (
        progress("Writing the queries", workload.size) as bar,
        new_file(path) as file,
        maker(file, columns) as writer,
    ):
        for batch in _batches(workload, columns):
            writer.write(batch)
            bar.advance(bar.task_ids[0], batch.num_rows)
    say(f"Wrote {workload.size:,} queries to {path}.")


def _batches(workload: Workload, columns: pa.Schema) -> Iterator[pa.Table]:
    import pyarrow as pa

    for start in range(0, workload.size, BATCH):
        numbers = range(start, min(start + BATCH, workload.size))
        found = [workload.query(index) for index in numbers]
        yield pa.table(
            {
                "query": list(numbers),
                "family": [FAMILIES[query.marginal.level] for query in found],
                "relation": [query.marginal.relation for query in found],
                "text": [describe(workload.schema, query) for query in found],
            },
            schema=columns,
        )


@click.command(help=QUERY, short_help="Ask a model questions, with standard errors.")
@click.argument("model", type=PATH)
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
    """See QUERY."""
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
            "total_is_exact": question.level == Level.GROUP,
            "of": _of(question),
            "in_workload": question.in_workload,
        }
        for at, (question, share, total) in enumerate(
            zip(asked, answers.shares.tolist(), answers.totals.tolist(), strict=True)
        )
    ]


def _of(question: Question) -> str:
    tables = question.schema.table_names
    return tables[0] if question.level == Level.GROUP else tables[-1]


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
