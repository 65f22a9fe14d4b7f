"""Mistakes in tables passed from memory, each with its exact message."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from bad_input.cases import TABLES, Case, arrow, households, persons


def in_memory(name: str, make: Callable[[], Any], *says: str, heading: str | None = TABLES) -> Case:
    """Tables passed to Python rather than read from files."""
    return Case(name=name, heading=heading, tables=make, says=says)


def both(groups: Any, individuals: Any) -> dict[str, Any]:
    """The two tables under their names."""
    return {"households": groups, "persons": individuals}


def broken_text() -> pa.Table:
    """A text column with a byte that is no UTF-8, as a careless writer leaves it."""
    table = arrow(persons())
    cells = pa.array([b"female", b"m\xe2le", b"female", b"male", b"female", b"male"])
    text = pa.Array.from_buffers(pa.string(), len(cells), cells.buffers())
    return table.set_column(table.column_names.index("sex"), "sex", text)


def of_spark() -> Any:
    """What Spark hands out, as far as one can tell without Java; it can do nothing at all."""
    return type("DataFrame", (), {"__module__": "pyspark.sql.classic.dataframe"})()


FRAME_CASES = [
    in_memory(
        "ids as text here and numbers there",
        lambda: both(households(household_id=["901", "902", "903"]), persons()),
        (
            "persons, column household_id: the ids are numbers (901), but text (901) in "
            "households, column household_id. Store both ids as the same type."
        ),
    ),
    in_memory(
        "a blank id among numbers (pandas NaN)",
        lambda: both(households(), persons(household_id=[901, 901, np.nan, 902, 903, 903])),
        "persons, row 3, column household_id: the id is blank. Every row needs one.",
    ),
    in_memory(
        "ids that are lists",
        lambda: both(households(household_id=[[901], [902], [903]]), persons()),
        (
            "households, column household_id: the ids are of the type list<item: int64>, "
            "which cannot be compared. Use numbers or text as ids."
        ),
    ),
    in_memory(
        "a column of dates",
        lambda: both(households(), persons(age=[date(1983, 4, 1)] * 6)),
        (
            "persons, row 1, column age: the column holds dates or times (1983-04-01), "
            "the schema says numbers (6 such rows; this is the first). Convert the "
            "column to numbers."
        ),
    ),
    in_memory(
        "a column that mixes kinds",
        lambda: both(
            households(),
            persons(sex=pd.Series(["female", 1, "female", 1, "female", 1], dtype=object)),
        ),
        (
            "persons, row 2, column sex: the column mixes text ('female' in row 1) and "
            "number (1) (3 such rows; this is the first). Give the column one type: all "
            "numbers, all text, or all true/false."
        ),
    ),
    in_memory(
        "true/false where the schema has numbers",
        lambda: both(households(), persons(relate=[False, True, True, False, False, True])),
        (
            "persons, row 1, column relate: the column holds true/false (False), the "
            "schema says numbers (6 such rows; this is the first). Convert the column to "
            "numbers."
        ),
    ),
    in_memory(
        "infinity",
        lambda: both(households(rent=[750, np.inf, 0]), persons()),
        (
            "households, row 2, column rent: inf lies outside the bins 0 to 5000. "
            "Correct it, or widen the bins."
        ),
    ),
    in_memory(
        "text that is not UTF-8",
        lambda: both(households(), broken_text()),
        "persons, row 2, column sex: b'm\\xe2le' is not text in UTF-8. Store the text in UTF-8.",
    ),
    in_memory(
        "two columns of the same name (pandas)",
        lambda: both(pd.concat([households(), households()[["veh"]]], axis=1), persons()),
        "households: two columns have the same name. Rename or remove all but one.",
    ),
    in_memory(
        "tables without rows",
        lambda: both(households()[:0], persons()[:0]),
        "households: the table has no rows. Check that it is the right one.",
        "persons: the table has no rows. Check that it is the right one.",
    ),
    in_memory(
        "a lazy frame whose query fails",
        lambda: both(pl.LazyFrame({"veh": [1]}).select("car"), persons()),
        (
            'households: the lazy frame cannot be computed (unable to find column "car"; '
            'valid columns: ["veh"]). Check its query.'
        ),
    ),
    in_memory(
        "something that is not a table",
        lambda: both([901, 902, 903], persons()),
        "households: list is not a table. Pass a path, or a pandas, polars or pyarrow table.",
    ),
    in_memory(
        "DataFrames of Spark",
        lambda: both(of_spark(), of_spark()),
        (
            "a DataFrame of Spark is not collected on one machine. `Synthesizer.fit`, `validate`, "
            "`evaluate` and `count_spark` take it as it is, if all tables are Spark's; for "
            "anything else, write it as Parquet (frame.write.parquet) to a folder that this "
            "machine can read, and pass the path."
        ),
        heading=None,
    ),
    in_memory(
        "tables under other names",
        lambda: {"homes": households(), "people": persons()},
        (
            "got tables named homes, people; the schema names households, persons. Pass "
            "a dict with exactly these keys."
        ),
        heading=None,
    ),
    in_memory(
        "a list instead of a dict",
        lambda: [households(), persons()],
        "got list instead of tables. Pass a dict with the tables households, persons.",
        heading=None,
    ),
]
