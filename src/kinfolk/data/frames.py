"""Arrow tables out: into the data frames the caller uses, or into files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from kinfolk._io import new_file
from kinfolk.errors import KinfolkError

FORMATS = ("csv", "parquet")


def to_frame(table: pa.Table, like: str) -> Any:
    """Turn an Arrow table into a 'pandas', 'polars' or 'pyarrow' table.

    >>> to_frame(pa.table({"veh": [0, 1]}), "pyarrow").num_rows
    2
    """
    if like == "pyarrow":
        return table
    if like not in ("pandas", "polars"):
        choices = "pandas, polars or pyarrow"
        raise KinfolkError(f"frames of kind {like!r} are unknown. Use {choices}.")
    frame = nw.from_native(table, eager_only=True)
    try:
        return frame.to_pandas() if like == "pandas" else frame.to_polars()
    except ImportError:
        raise KinfolkError(f"{like} is not installed. Run `pip install {like}`.") from None


def frame_kind(frame: Any) -> str:
    """Tell which library a table comes from; a path counts as 'pyarrow'."""
    if isinstance(frame, str | Path | pa.Table | pa.RecordBatch):
        return "pyarrow"
    implementation = nw.from_native(frame).implementation
    if implementation.is_pandas():
        return "pandas"
    return "polars" if implementation.is_polars() else "pyarrow"


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table as CSV or Parquet, by the file's suffix, all of it or nothing."""
    with new_file(path) as file:
        if path.suffix == ".csv":
            pacsv.write_csv(without_dictionaries(table), file)
        else:
            pq.write_table(table, file)


def without_dictionaries(table: pa.Table) -> pa.Table:
    """The values themselves: Arrow cannot write dictionaries as CSV."""
    plain = [c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for c in table]
    return pa.table(plain, names=table.column_names)
