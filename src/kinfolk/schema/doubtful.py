"""What in a schema will be hard to keep: relations, and bins in which too much is alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from kinfolk.schema.attributes import Numeric
from kinfolk.schema.bins import NARROW, tail_of
from kinfolk.schema.schema import Schema

HALF = 0.5
"""A bin, other than a tail, should not hold more than this part of the range."""
LONG = 50
"""A tail should not be so many times longer than all other bins together."""
CROWDED = 0.4
"""A bin should not hold more than this share of the rows, ..."""
CROWDED_TAIL = 0.2
"""... and a tail not more than this."""


def doubtful_relations(schema: Schema) -> list[str]:
    """Sentences about relations whose two sides nothing tells apart."""
    roles = schema.roles
    if roles is None or not schema.relations:
        return []
    found = [
        f"the relation {name} is between members of one role ({pairs[0][0]}): nothing tells its "
        "two sides apart."
        for name, pairs in schema.relations.items()
        if all(first == second for first, second in pairs)
    ]
    spec = schema.workload
    asked = {name.rsplit(".", 1)[-1] for one in (spec.attributes, *spec.sets) for name in one}
    if asked and roles.column not in asked:
        found.append(
            f"the workload leaves out {roles.column}: nothing is asked about who is in which role, "
            "so that the members of a relation may be mistaken for one another. Add it."
        )
    return found


def wide_bins(
    schema: Schema, counts: Mapping[tuple[str, str], Sequence[float]] | None = None
) -> list[str]:
    """What to say about bins that are too wide, one text for each attribute that has some.

    counts: for a table and an attribute, how many rows each category has. They are private: what is
    said with them is for the data holder only.

    >>> wide_bins(Schema.from_text('''
    ... individual:
    ...   table: people
    ...   attributes: {income: {bins: [0, 20000, 5000000]}}
    ... max_size: 1
    ... '''))
    ['income of people has a bin 20000 to 5e+06, 249 times as long as all others together: cut it \
into several, so that most people are in the others']
    """
    tables = [table for table in (schema.group, schema.individual) if table is not None]
    found: list[str] = []
    for table in tables:
        for name, attribute in table.attributes.items():
            if isinstance(attribute, Numeric):
                own = counts.get((table.table, name)) if counts else None
                said = next(_too_wide(attribute, own), None)
                if said:
                    found.append(f"{name} of {table.table} has {said}")
    return found


def _too_wide(attribute: Numeric, counts: Sequence[float] | None) -> Iterator[str]:
    bins = attribute.bins
    widths = [high - low for low, high in pairwise(bins)]
    codes = [code for code in range(len(widths)) if _many(attribute, code)]
    single = len(widths) == 1
    tails = {code for code in codes if tail_of(attribute, code)}
    inner = sum(width for code, width in enumerate(widths) if code not in tails)
    if single and codes:
        yield "a single bin: cut it into several, at round numbers"
        return
    if counts is not None:
        yield from _crowded(attribute, codes, tails, counts)
    for code in sorted(tails):
        if widths[code] > LONG * inner:
            yield (
                f"a bin {attribute.label(code)}, {widths[code] / inner:.0f} times as long as all "
                "others together: cut it into several, so that most people are in the others"
            )
    for code in codes:
        # Of two bins one is always half of the range.
        if code not in tails and widths[code] > HALF * inner and len(widths) - len(tails) > 2:
            said = attribute.label(code)
            yield f"a bin {said} that is more than half of its range: cut it into several"


def _crowded(
    attribute: Numeric, codes: Sequence[int], tails: set[int], counts: Sequence[float]
) -> Iterator[str]:
    total = sum(counts[: len(attribute.bins) - 1])
    for code in codes:
        share = counts[code] / total if total else 0.0
        if share > (CROWDED_TAIL if code in tails else CROWDED):
            kind = "tail" if code in tails else "bin"
            yield (
                f"a {kind} {attribute.label(code)} with {share:.0%} of the rows that have a "
                "number: cut it into several, or declare a value that many have as `special`"
            )


def _many(attribute: Numeric, code: int) -> bool:
    """Whether a bin has so many numbers that they are not learnt one by one."""
    return attribute.places is None or len(attribute.writable(code)) > NARROW
