"""Tables as DataFrames of a local Spark; the session itself is a fixture of all tests."""

from __future__ import annotations

from typing import Any

import pytest

from homes import Tables

needs_spark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning")


def frames(spark: Any, tables: Tables, pieces: int = 3) -> dict[str, Any]:
    """The tables as DataFrames of several partitions, in their order."""
    found = {}
    for name, table in tables.items():
        size = -(-table.num_rows // pieces)
        parts = [spark.createDataFrame(table.slice(i * size, size)) for i in range(pieces)]
        found[name] = parts[0]
        for part in parts[1:]:
            found[name] = found[name].union(part)
    return found
