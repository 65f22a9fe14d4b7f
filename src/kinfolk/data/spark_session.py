"""Apache Spark, where it is installed: when it is used, its session, and its types of columns."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.types as pt

from kinfolk.errors import KinfolkError, private

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ENGINES = ("local", "spark")
"""Where tables are counted and drawn: on this machine, or on a cluster."""

PIECE = 500_000
"""Rows that come to the driver at a time, where rows come at all."""

Task = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What runs on an executor: rows of a partition in, rows out."""

_TYPES: dict[str, pa.DataType] = {
    "ByteType": pa.int8(),
    "ShortType": pa.int16(),
    "IntegerType": pa.int32(),
    "LongType": pa.int64(),
    "FloatType": pa.float32(),
    "DoubleType": pa.float64(),
    "BooleanType": pa.bool_(),
    "StringType": pa.string(),
}
"""Spark's types that hold what a schema can declare."""


def is_spark(table: object) -> bool:
    """Whether this is a DataFrame of Spark."""
    return type(table).__module__.startswith("pyspark.")


def runs_on_spark(tables: object, engine: str | None) -> bool:
    """Whether tables are Spark's to read: as the caller says, or else by what they are."""
    if engine is not None and engine not in ENGINES:
        raise KinfolkError(f"engine {engine!r} is unknown. Use one of {', '.join(ENGINES)}.")
    if engine is not None:
        return engine == "spark"
    return isinstance(tables, Mapping) and any(map(is_spark, tables.values()))


def need_pyspark() -> None:
    """Say what to install."""
    try:
        # PySpark insists on pandas for anything that touches Arrow.
        import pandas  # noqa: F401
        import pyspark  # noqa: F401
    except ImportError as error:
        raise KinfolkError(
            f"Spark needs {error.name}, which is not installed. Run: pip install 'kinfolk[spark]'"
        ) from None


def spark_session() -> SparkSession:
    """The session there is, or a new one."""
    need_pyspark()
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    # Workers of a local session must run this Python, not whichever comes first on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # What goes wrong comes back as an error. In a log it would stand with pieces of the data.
    settings = {"spark.log.level": "OFF", "spark.ui.showConsoleProgress": "false"}
    try:
        with quiet():
            return SparkSession.builder.config(map=settings).getOrCreate()
    except PySparkRuntimeError as error:
        raise KinfolkError(
            f"Spark does not start ({str(error).splitlines()[0]}). It needs Java 17 or later: "
            "install one, such as openjdk-17-jre-headless, or set JAVA_HOME to where it is."
        ) from None


def mapped(frame: DataFrame, task: Task, columns: Any) -> DataFrame:
    """The rows that a task makes of every partition, as Arrow."""
    with quiet():
        return frame.mapInArrow(task, columns)


@contextmanager
def quiet() -> Iterator[None]:
    """PySpark asks for an older pandas here and there; it is not used."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support", FutureWarning)
        yield


def collected(frame: DataFrame, doing: str) -> pa.Table:
    """The rows of a small DataFrame; what fails on the way becomes a message."""
    with _failing(doing):
        return frame.toArrow()


def row_count(frame: DataFrame, doing: str) -> int:
    """How many rows a DataFrame has."""
    from pyspark.sql import functions

    number = frame.agg(functions.count(functions.lit(1)).alias("rows"))
    return int(collected(number, doing).column("rows")[0].as_py())


def streamed(frame: DataFrame, doing: str) -> Iterator[pa.RecordBatch]:
    """The rows of a DataFrame in their order, PIECE of them at a time in the driver.

    Those of files come in the order of the files' names, as on one machine.
    """
    from pyspark.sql import functions

    pieces = -(-row_count(frame, doing) // PIECE)
    place = {"file": functions.input_file_name(), "row": functions.monotonically_increasing_id()}
    rows = frame.withColumns(place)
    rows = rows.repartitionByRange(max(pieces, 1), *place).sortWithinPartitions(*place)
    packed = mapped(rows.drop(*place), _packed, "rows binary")
    with _failing(doing):
        found = packed.toLocalIterator()
    while True:
        with _failing(doing):
            row = next(found, None)
        if row is None:
            return
        yield from ipc.open_stream(row[0])


def _packed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches as bytes, since Spark iterates over rows of its own only."""
    for batch in batches:
        sink = pa.BufferOutputStream()
        with ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        held = pa.array([sink.getvalue().to_pybytes()], pa.binary())
        yield pa.record_batch([held], names=["rows"])


@contextmanager
def _failing(doing: str) -> Iterator[None]:
    """What fails in Spark becomes a message."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        with quiet():
            yield
    except (PySparkException, Py4JError) as error:
        text = str(error)
        said = re.search(r"kinfolk\.errors\.KinfolkError: (.+)", text)
        if said:
            raise KinfolkError(said[1]) from None
        if "No module named 'kinfolk" in text:
            raise KinfolkError(
                "the Python of Spark's executors has no kinfolk. Install it there, and let "
                "spark.pyspark.python name that Python."
            ) from None
        raise KinfolkError(
            f"Spark fails while it {doing} ({private(_first_line(text))}). Check that the tables "
            "can be read as what they are, and that the executors have room."
        ) from None


def _first_line(text: str) -> str:
    line = next((one.strip() for one in text.splitlines() if one.strip()), "no reason given")
    return line if len(line) <= 200 else f"{line[:197]}..."


def arrow_type(dtype: Any) -> pa.DataType | None:
    """The Arrow type of a column of Spark; None where no attribute could be of that type."""
    return _TYPES.get(type(dtype).__name__)


def spark_columns(columns: pa.Schema) -> tuple[Any, pa.Schema]:
    """The columns of an Arrow table as Spark has them: its own words for it, and Arrow's.

    Spark has no unsigned numbers and no dictionaries.
    """
    from pyspark.sql import types

    stored = pa.schema([(field.name, _held(field.type)) for field in columns])
    names = {dtype: name for name, dtype in _TYPES.items()}
    fields = [
        types.StructField(field.name, getattr(types, names[field.type])()) for field in stored
    ]
    return types.StructType(fields), stored


def _held(dtype: pa.DataType) -> pa.DataType:
    """A type of Spark that holds what a type of Arrow does."""
    if pt.is_dictionary(dtype):
        return _held(dtype.value_type)
    if pt.is_unsigned_integer(dtype):
        # Declared values are far below 2**63.
        return {8: pa.int16(), 16: pa.int32()}.get(dtype.bit_width, pa.int64())
    return dtype if dtype in _TYPES.values() else pa.string()


def own_threads() -> None:
    """Let compiled loops use the cores that Spark gives a task, and no others."""
    # Imported here because it takes a second.
    import numba
    from pyspark import TaskContext

    context = TaskContext.get()
    threads = context.cpus() if context is not None else 1
    numba.set_num_threads(max(1, min(threads, numba.config.NUMBA_NUM_THREADS)))
