"""`kinfolk queries`: what a schema asks of the data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kinfolk._io import new_file
from kinfolk.cli.console import PATH, progress, say, table
from kinfolk.errors import KinfolkError
from kinfolk.queries.questions import describe
from kinfolk.queries.workload import FAMILIES, Workload
from kinfolk.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

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
