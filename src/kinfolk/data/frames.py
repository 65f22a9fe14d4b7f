"""Arrow tables out: into the data frames the caller uses, or into files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

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
    partial = path.with_name(path.name + ".partial")
    if path.suffix == ".csv":
        # Arrow cannot write dictionaries as CSV; the values themselves are meant.
        plain = [c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for c in table]
        pacsv.write_csv(pa.table(plain, names=table.column_names), partial)
    else:
        pq.write_table(table, partial)
    partial.replace(path)
