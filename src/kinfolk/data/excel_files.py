"""Excel workbooks: one sheet, its first row the names; cells are text, as those of a CSV file.

Excel has no columns of one type: 1, 2 and '3+' may stand below each other. So cells are read as the
text that they would be in a CSV file, and blank where they are empty.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa

from kinfolk.data.csv_files import UnreadableError
from kinfolk.errors import KinfolkError, private


class ExcelFile:
    """The only sheet of a workbook that has cells; it is read at once, as it may be small."""

    def __init__(self, path: Path) -> None:
        self._name = path.name
        sheets = {name: rows for name, rows in _sheets(path) if rows}
        if not sheets:
            raise UnreadableError(
                path.name, "the file is empty.", "Check that it is the right one."
            )
        if len(sheets) > 1:
            what = f"{private(len(sheets))} sheets have cells ({private(', '.join(sheets))})."
            raise UnreadableError(path.name, what, "Save each of them as a file of its own.")
        header, *self._rows = next(iter(sheets.values()))
        self.header = [text or "" for text in header]
        self.schema = pa.schema([(name, pa.string()) for name in self.header])

    def batches(self, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Some columns, so many rows at a time."""
        places = [self.header.index(name) for name in columns]
        for start in range(0, len(self._rows), rows):
            piece = self._rows[start : start + rows]
            arrays = [
                pa.array([row[at] if at < len(row) else None for row in piece], pa.string())
                for at in places
            ]
            yield pa.record_batch(arrays, names=columns)


def _sheets(path: Path) -> Iterator[tuple[str, list[list[str | None]]]]:
    """Every sheet as rows of text, without empty rows at its end."""
    try:
        openpyxl = import_module("openpyxl")
    except ImportError:
        raise KinfolkError(
            f"{path.name}: Excel files need openpyxl. Run `pip install 'kinfolk[files]'`, or save "
            "the sheet as CSV."
        ) from None
    try:
        with path.open("rb") as file:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            for sheet in book.worksheets:
                rows = [_texts(cells) for cells in sheet.iter_rows(values_only=True)]
                while rows and not rows[-1]:
                    rows.pop()
                yield sheet.title, rows
    except OSError:
        raise
    except Exception as error:
        # A damaged archive or sheet fails in as many ways as there are libraries below.
        raise OSError(str(error).rstrip(".") or type(error).__name__) from None


def _texts(cells: tuple[Any, ...]) -> list[str | None]:
    """A row, without empty cells at its end."""
    found = [_text(cell) for cell in cells]
    while found and found[-1] is None:
        found.pop()
    return found


def _text(cell: Any) -> str | None:
    """A cell as it would stand in a CSV file.

    >>> _text(3.0), _text(2.5), _text(True), _text(None), _text(datetime.date(2020, 2, 1))
    ('3', '2.5', 'true', None, '2020-02-01')
    """
    if cell is None or cell == "":
        return None
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date().isoformat()
    if isinstance(cell, datetime.date | datetime.time):
        return cell.isoformat()
    return str(cell)
