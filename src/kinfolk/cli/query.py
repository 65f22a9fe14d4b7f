"""`kinfolk query` and `queries`: what a model answers, and what a schema asks of the data."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kinfolk._io import new_file
from kinfolk.cli.console import PATH, progress, say, table, tell
from kinfolk.errors import KinfolkError
from kinfolk.queries.questions import describe
from kinfolk.queries.workload import FAMILIES, Workload
from kinfolk.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from kinfolk.queries.questions import Figure, Question
    from kinfolk.release.release import Release


HELP = """Ask a model questions: shares, means, sums, medians and ratios, with standard errors.

MODEL is a model.kinfolk that `kinfolk fit` or `synth` wrote. No data is needed and nothing is
spent. A question says what attributes are, joined by `and` or commas. A share begins with the name
of a table (or households, people). Of households, it asks for those that contain at least one
person who is all that is said of people.

\b
Values            sex = female, cars != 0, age in (0..4, 5..11), hht = 1|2, COUNT >= 3
Numbers           whole bins: age = 35..54, age < 18
Blanks            esr missing, esr not missing
Relatives         married_to: sex = female
One by one        an attribute alone asks for each of its values
Figures           mean wage, sum of wage, median wage, p90 of wage, ratio of wage to hours
Tables            by sex, education
Among some only   where age >= 16
Survey weights    answered beside the others if the schema names a weight; or weighted mean wage

\b
Examples:
  kinfolk query model.kinfolk "households with cars = 0 that contain a person with age = 65..120"
  kinfolk query model.kinfolk "people: sex = female, married_to: age < 35" "people: sex, esr"
  kinfolk query model.kinfolk "mean wage by sex, education" --format csv
  kinfolk query model.kinfolk "share of people with esr = employed by sex where age >= 16"
"""

Row = dict[str, Any]

BESIDE = ("value", "standard_error", "low", "high", "in_workload")
"""What is said of a weighted answer."""


@click.command(help=HELP, short_help="Ask a model questions, with standard errors.")
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
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json"]),
    default="table",
    show_default=True,
    help="For people, for spreadsheets, or for programs.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
def query(
    model: Path, questions: tuple[str, ...], level: float, count: bool, form: str, as_json: bool
) -> None:
    """See HELP."""
    # Imported here because it brings the compiled loops along, which other commands do without.
    from kinfolk.queries.question_parser import parse
    from kinfolk.release import load

    release = load(model)
    lines = [parse(release.schema, text) for text in questions]
    asked = [one for line in lines for one in line]
    rows = _rows(release, asked, level)
    if as_json or form == "json":
        say(json.dumps(_report(release, rows, level), indent=2))
        return
    rows_left = rows
    if form == "csv":
        say(_csv(rows).rstrip("\n"))
        _remarks(release, rows)
        return
    for title, number in _tables(questions, lines):
        own, rows_left = rows_left[:number], rows_left[number:]
        if number == 1:
            _show(own[0], level, count=count)
        else:
            _show_table(title, own, level, count=count)
        say()
    stated = release.certificate
    say(
        f"From the model alone ({release.method}; epsilon = {stated['epsilon']:g} and delta = "
        f"{stated['delta']:.3g} for one {stated['unit_name']}): no data was touched, nothing spent."
    )
    _remarks(release, rows)
    if not release.private:
        say("NOT PRIVATE: the model was fitted with a seed, and nobody is protected.")


def _tables(
    questions: Sequence[str], lines: Sequence[Sequence[Question | Figure]]
) -> Iterator[tuple[str, int]]:
    """A title and a number of answers for each table: lines with one answer share one."""
    alone = 0
    for text, line in zip(questions, lines, strict=True):
        if len(line) == 1:
            alone += 1
            continue
        if alone:
            yield "Answers", alone
        alone = 0
        yield text, len(line)
    if alone:
        yield "Answers", alone


def _rows(release: Release, asked: Sequence[Question | Figure], level: float) -> list[Row]:
    """Each answer, and where the schema names a weight, the weighted one beside it."""
    from kinfolk.queries.questions import as_weighted, can_be_weighted
    from kinfolk.release.answers import drawn_apart

    rows = release.answer(asked).rows(level)
    twins = [at for at, one in enumerate(asked) if can_be_weighted(one)]
    beside = release.answer([as_weighted(asked[at]) for at in twins]).rows(level) if twins else []
    for at, twin in zip(twins, beside, strict=True):
        rows[at]["weighted"] = {name: twin[name] for name in BESIDE}
    for row, one in zip(rows, asked, strict=True):
        row["drawn_apart"] = drawn_apart(one)
    return rows


def _report(release: Release, rows: Sequence[Row], level: float) -> dict[str, Any]:
    """What programs get: today's keys of shares, and those of all figures."""
    stated = release.certificate
    promise = {name: stated[name] for name in ("unit_name", "epsilon", "delta", "private")}
    answers = []
    for row in rows:
        share = {"share": row["value"]} if row["statistic"] == "share" else {}
        weights = {"weighted": _with_interval(row["weighted"])} if "weighted" in row else {}
        first = {"question": row["question"], **share, **_with_interval(row)}
        answers.append({**first, **weights, "total_is_exact": row["total_is_exact"]})
    return {"method": release.method, **promise, "level": level, "answers": answers}


def _with_interval(row: Row) -> Row:
    """Both ends of the interval together."""
    ends = None if row["low"] is None else [row["low"], row["high"]]
    rest = {name: value for name, value in row.items() if name not in ("low", "high", "weighted")}
    return {**rest, "interval": ends}


def _csv(rows: Sequence[Row]) -> str:
    """One line for each answer; weighted ones in columns of their own."""
    from kinfolk.release.answers import flat

    plain = []
    for row in flat([{**row, "drawn_apart": "; ".join(row["drawn_apart"])} for row in rows]):
        beside = row.pop("weighted", None)
        if any("weighted" in one for one in rows):
            empty = dict.fromkeys(BESIDE)
            row |= {f"weighted_{name}": value for name, value in (beside or empty).items()}
        plain.append(row)
    written = io.StringIO()
    writer = csv.DictWriter(written, list(plain[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(plain)
    return written.getvalue()


def _show(row: Row, level: float, *, count: bool) -> None:
    """One answer, line by line."""
    total, share = row["total"], row["statistic"] == "share"
    about = "" if row["total_is_exact"] else "about "
    say(row["question"])
    if row["value"] is None:
        say(f"  answer          none: the model has no such {row['of']}")
        return
    if share:
        number = f"{row['value'] * total:,.0f} of {about}{total:,.0f} {row['of']}"
        say(f"  answer          {row['value']:.5f}, which is about {number}")
    else:
        say(f"  answer          {_written(row, 'value')}, of about {total:,.0f} {row['of']}")
    if row["standard_error"] is not None:
        mark = _mark(row)
        say(f"  standard error  {_written(row, 'standard_error', count=count)}{mark}")
        say(f"  {f'{level * 100:g}% interval':<14}  {_interval(row, count=count)}{mark}")
    if "weighted" in row and row["weighted"]["value"] is not None:
        beside = {**row, **row["weighted"]}
        error = ""
        if beside["standard_error"] is not None:
            error = f", standard error {_written(beside, 'standard_error')}{_mark(beside)}"
        say(f"  weighted        {_written(beside, 'value')}{error}")


def _show_table(text: str, rows: Sequence[Row], level: float, *, count: bool) -> None:
    """Several answers, a line for each."""
    by = list(dict.fromkeys(name for row in rows for name in row["by"]))
    kinds = dict.fromkeys(row["statistic"] for row in rows)
    sure = any(row["standard_error"] is not None for row in rows)
    weights = any("weighted" in row for row in rows)
    if count:
        kinds = dict.fromkeys("count" if kind == "share" else kind for kind in kinds)
    headings = [*(by or ["question"]), *(kinds if len(kinds) == 1 else ["answer"])]
    headings += ["standard error", f"{level * 100:g}% interval"] if sure else []
    # A weighted share has no count: the weights add up to another number.
    headings += ["weighted share" if "count" in kinds else "weighted"] if weights else []
    headings += ["standard error"] if weights and sure else []
    # What all have in common is said once: tables are wide enough.
    alike = len({row["of"] for row in rows}) == 1
    headings += [f"of about ({rows[0]['of']})" if alike else "of about"]
    body = []
    for row in rows:
        cells = [row["by"].get(name, "") for name in by] or [row["question"]]
        cells.append(_written(row, "value", count=count))
        if sure:
            ends = _interval(row, count=count)
            cells.append(_written(row, "standard_error", count=count))
            cells.append(f"{ends}{_mark(row) if ends else ''}")
        if weights:
            beside = {**row, **row.get("weighted", dict.fromkeys(BESIDE))}
            error = _written(beside, "standard_error")
            cells.append(_written(beside, "value"))
            cells += [f"{error}{_mark(beside) if error else ''}"] if sure else []
        cells.append(f"{row['total']:,.0f}" if alike else f"{row['total']:,.0f} {row['of']}")
        body.append(cells)
    table(text, headings, body, left=max(1, len(by)))


def _mark(row: Row) -> str:
    """What follows an error that is only indicative."""
    return "" if row["in_workload"] else " (*)"


def _interval(row: Row, *, count: bool) -> str:
    if row["low"] is None:
        return ""
    return f"{_written(row, 'low', count=count)} to {_written(row, 'high', count=count)}"


def _written(row: Row, name: str, *, count: bool = False) -> str:
    """A value of a row with as many digits as its standard error leaves."""
    value, error = row[name], row["standard_error"]
    if value is None:
        return ""
    if row["statistic"] == "share":
        return f"{value * row['total']:,.0f}" if count else f"{value:.5f}"
    if not error:
        return f"{value:,.6g}"
    digits = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:,.{min(digits, 9)}f}"


def _remarks(release: Release, rows: Sequence[Row]) -> None:
    """What is to be known of the answers."""
    if all(row["standard_error"] is None for row in rows):
        tell(
            "The model holds no replicates, so no standard errors. The method marginals makes some."
        )
    elif not all(one["in_workload"] for row in rows for one in (row, row.get("weighted", row))):
        tell("(*) Beyond the queries the model was fitted to: the error is only indicative.")
    for remark in dict.fromkeys(one for row in rows for one in row["drawn_apart"]):
        tell(remark)


QUERIES = """Show the queries a schema asks for: how many, how sensitive, and in words.

No data is needed. By default the schema's own workload is shown; the options choose another one.

\b
Examples:
  kinfolk queries schema.yaml
  kinfolk queries schema.yaml -k 2 --level group --list 20
  kinfolk queries schema.yaml --attribute sex --attribute agep -k 2 --export queries.csv
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
