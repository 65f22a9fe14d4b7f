"""A table that Spark reads as a file: piece by piece, in its order, on the driver.

Rows come to this machine here, though never all at once. Nothing but what is labelled NOT PRIVATE
reads tables so; what becomes a release is counted where it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from kinfolk.data.spark_session import collected, streamed
from kinfolk.data.tables import OpenFile, TableFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

READING = "reads the tables"


class SparkFile(TableFile):
    """Some columns of a DataFrame, by name."""

    def __init__(
        self,
        name: str,
        frame: DataFrame,
        columns: list[str],
        *,
        untyped: bool,
        named_by: str | None,
    ) -> None:
        super().__init__(Path(name))
        self._frame, self._columns, self._untyped = frame, columns, untyped
        self.named_by = named_by

    @cached_property
    def kind(self) -> str:
        """No kind of file."""
        return "Spark"

    @property
    def untyped(self) -> bool:
        """Whether cells are plain text."""
        return self._untyped

    @cached_property
    def _opened(self) -> OpenFile:
        types = collected(self._frame.limit(0), READING).schema.types

        def batches(columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
            for batch in streamed(self._frame, READING):
                yield batch.rename_columns(self._columns).select(columns)

        return OpenFile(schema=pa.schema(zip(self._columns, types, strict=True)), batches=batches)
