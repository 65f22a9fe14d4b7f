"""Redacted messages keep tables, columns, the mistake and its remedy, and nothing of the data."""

import ast
import re
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kinfolk
from bad_input.cases import PERSONS, SCHEMA, Case, households, persons, swap
from bad_input.file_mistakes import FILE_CASES
from bad_input.frame_mistakes import FRAME_CASES
from bad_input.making import read_and_encode, write, write_files
from homes import HOMES, MISTAKES, homes, written
from kinfolk.data.encode import encode
from kinfolk.errors import DataError, KinfolkError, private, redact, redacted, redacting
from kinfolk.queries.streaming import count_files
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema

NO_DATA = {
    "one file too few",
    "tables under other names",
    "a list instead of a dict",
    "something that is not a table",
    "a file on another machine",
    "DataFrames of Spark",
}
"""Cases whose message has nothing to hide: it speaks of what the caller passed."""
CASES = [case for case in (*FILE_CASES, *FRAME_CASES) if case.name not in NO_DATA]
PUBLIC = (
    "declared values 0, 1, 2",
    "never[0]",
    "bins 0 to 120",
    "bins 0 to 5000",
    "needs at least 1",
    "max: 1 is unique",
    "UTF-8",
    "Latin-1, Windows-1252 or UTF-16",
    "such as 1234.5",
    ".sas7bdat",
)
"""Digits in the schema or in the remedy: they do not depend on the data."""
WORDS = ("n/a", "female'", "'male", "car", "valid", "list<item", "m\\xe2le", "VEH", "inf")
"""What the catalogue's tables hold beside numbers and the declared values."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def leaks(message: str) -> list[str]:
    """What of a message may come from the data: any digit, and any word only the tables have."""
    for phrase in PUBLIC:
        message = message.replace(phrase, "")
    heading = re.compile(r"(?m)^(the tables do not fit the schema.*): \d+ problems?$")
    message = heading.sub("", message)
    return [*re.findall(r"[0-9]+", message), *(word for word in WORDS if word in message)]


def message_of(case: Case) -> str:
    with pytest.raises(KinfolkError) as caught, redacted():
        read_and_encode(case)
    shown = "".join(traceback.format_exception(caught.value))
    assert "During handling" not in shown
    return str(caught.value)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_no_message_shows_data(case: Case, folder: Path) -> None:
    write_files(case, folder)
    message = message_of(case)
    assert leaks(message) == []
    # The remedy is the same, and so is the place, but for the line.
    place = re.sub(r"(line|row) \d+", r"\1 [redacted]", case.says[0].split(": ")[0])
    assert f"  - {place}: " in message
    told = re.sub(r"Did you mean '.*'\? ", "", case.says[0])
    assert told.rsplit(". ", 1)[-1] in message


def test_the_check_of_leaks_has_teeth(folder: Path) -> None:
    """Most messages would fail it as they are without redaction."""
    found = [case.name for case in CASES if leaks(case.message)]
    assert len(found) > 0.75 * len(CASES)


def test_what_came_from_the_caller_stays(folder: Path) -> None:
    for case in (*FILE_CASES, *FRAME_CASES):
        if case.name in NO_DATA:
            for path in folder.iterdir():
                path.unlink()
            write_files(case, folder)
            assert message_of(case) == case.message


def test_several_values_and_rows_look_like_one(folder: Path) -> None:
    """Not even whether there are more of the kind is told."""
    for files in (
        {"persons.csv": swap(PERSONS, ("902,0,male", "902,0,m"))},
        {"persons.csv": PERSONS.replace(",male,", ",m,").replace(",female,", ",f,")},
    ):
        case = Case(name="", says=(), files=files)
        write_files(case, folder)
        assert message_of(case).splitlines()[1:] == [
            "  - persons.csv, line [redacted], column sex: [redacted] is not among the declared "
            "values male, female. Correct the rows, or add the value to the schema."
        ]


def test_a_file_without_names_of_columns(folder: Path) -> None:
    """Its first row would pass for them."""
    write(folder / "persons.csv", "901,0,female,41\n901,1,male,43\n")
    with pytest.raises(DataError) as caught, redacted():
        encode(Schema.from_text(SCHEMA), {"households": households(), "persons": "persons.csv"})
    assert leaks(str(caught.value)) == []
    assert "there are [redacted]. Add the column" in str(caught.value)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("spoil", MISTAKES)
def test_counting_files_says_the_same(tmp_path: Path, spoil: Any, kind: str) -> None:
    paths = written(tmp_path, spoil(homes()), kind)
    with redacted():
        with pytest.raises(DataError) as expected:
            encode(HOMES, paths)
        with pytest.raises(DataError) as found:
            count_files(Workload.of(HOMES), paths, memory=50_000)
    assert found.value.problems == expected.value.problems
    assert "[redacted]" in str(found.value)
    assert "During handling" not in "".join(traceback.format_exception(found.value))


@pytest.mark.parametrize("column", ["household_id", "veh", "rent"])
def test_cells_that_arrow_cannot_hold(column: str) -> None:
    """Arrow's own words show the cell."""
    for cells in ([{"secret": 1}, b"secret", "secret"], [10**40, "secret", 1.5], [1j, 1j, 1j]):
        tables = {"households": households(**{column: cells}), "persons": persons()}
        with pytest.raises(DataError) as caught, redacted():
            encode(Schema.from_text(SCHEMA), tables)
        assert "secret" not in str(caught.value)
        assert leaks(str(caught.value)) == []


def test_names_inside_a_type_are_hidden() -> None:
    struct = pa.array([{"secret": 1}] * 3)
    table = pa.table({"household_id": struct, "veh": struct, "rent": [1, 2, 3]})
    with pytest.raises(DataError) as caught, redacted():
        encode(Schema.from_text(SCHEMA), {"households": table, "persons": persons()})
    assert "secret" not in str(caught.value)
    assert "the ids are of the type struct, which cannot be compared." in str(caught.value)


def test_redaction_ends_with_its_block() -> None:
    assert private(7) == "7"
    with redacted():
        assert private(7) == "[redacted]"
        with redacted(False):
            assert private(7) == "7"
        assert redacting()
    assert not redacting()
    seen: list[bool] = []
    # A thread begins in a context of its own, and cannot redact the others' messages.
    thread = threading.Thread(target=lambda: (redact(), seen.append(redacting())))
    thread.start()
    thread.join()
    assert seen == [True]
    assert not redacting()


PASSES = {"private", "first_of_n", "plain_text", "_quote", "type_name", "reason", "place"}
"""Calls that show something of the data through `private`, or not at all."""
SHOWN: dict[str, set[str]] = {
    "data/buckets.py": {"bucket", "directory", "folder", "host", "reason", "table"},
    "data/columns.py": {
        *("column", "self.what", "place", "what", "held", "said", "declared", "undeclared"),
        *("low", "high", "listed", "of - most", "_NUMBER.pattern"),
        "'numbers' if expected == 'number' else expected",
    },
    "data/csv_files.py": {
        *("path.name", "found", "more", "noun", "word", "SEPARATORS[separator]"),
    },
    "data/encode.py": {
        *("source.name", "column", "guess[0]", "there or 'none at all'", "type(tables).__name__"),
        *("', '.join(schema.table_names)", "', '.join(map(str, tables)) or 'nothing'"),
        *("first", "second"),
    },
    "data/frames.py": {
        *("name", "column", "twice[0]", "kinds[first]", "kinds[row]", "type(frame).__name__"),
        *("like", "choices"),
    },
    "data/membership.py": {
        *("homes.name", "people.name", "source.name", "name", "key", "link"),
        *("earlier", "first[0]", "first[1]", "held[0]", "held[1]"),
        *("limits.min", "links.name(row)", "number", "who", "ruled"),
    },
    "data/tables.py": {
        *("self.name", "self.named_by", "column", "kind", "', '.join(SUFFIXES)"),
    },
    "data/excel_files.py": {"path.name"},
    "data/violations.py": {
        *("place", "at", "who", "name", "there", "right", "listed", "noun", "self._such(groups)"),
        *("singular(self.schema.group.table)", "self.links.name(int(groups[0]))"),
        *("shown(rule.text, most=120)", "shown(formula.text, most=120)"),
        "self._place(int(groups[0]))",
    },
    "evaluate/sides.py": {
        *("directory", "name", "kind", "there[0].name", "there[1].name"),
        *("schema.individual.group_id", "', '.join(FORMATS[1:])"),
    },
    "queries/counting.py": {"shape", "self.weights.shape", "widest.cells", "_MOST_CELLS - 1"},
    "data/spark_session.py": {
        *("engine", "', '.join(ENGINES)", "error.name", "str(error).splitlines()[0]", "doing"),
        "line[:197]",
    },
    "queries/spark.py": {
        *("HEADING", "name", "column", "table.name", "partitions", "reason", "path", "kind"),
        *("type(table).__name__", "i", "index", "other", "salt", "names.index(column)"),
        *("seen", "start"),
    },
    "queries/spark_task.py": {"kind", "i"},
    "queries/streaming.py": {"HEADING", "MEMORY", "memory", "name", "type(file).__name__"},
}
"""All that is put into texts where tables are read, checked and counted, beside calls of PASSES:
words of the schema, of the caller or of this program, and pieces made by PASSES a line above."""
ELSEWHERE = {
    "data/draft/links.py": "`init` shows the data as it is: that is its work",
    "data/sources/survey.py": "`prepare` reads files that are public",
    "release/public.py": "`--public` reads files that are public",
}
"""Other makers of problems with tables; there is no redaction there, and why."""


def parts_shown(node: ast.AST) -> Iterator[str]:
    """What is put into texts, and does not pass through `private`."""
    inside = node.value if isinstance(node, ast.FormattedValue) else node
    if isinstance(inside, ast.Call):
        called = inside.func
        word = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if word in PASSES:
            return
        if word in ("shown", "repr", "text_of", "format") and not isinstance(
            node, ast.FormattedValue
        ):
            yield ast.unparse(inside)
    if isinstance(node, ast.FormattedValue):
        yield ast.unparse(inside)
    for child in ast.iter_child_nodes(inside):
        yield from parts_shown(child)


@pytest.mark.parametrize("module", SHOWN)
def test_what_a_message_shows_is_public_or_passes_through_private(module: str) -> None:
    """A new message shows data through `private`, or what it shows is added to SHOWN above."""
    path = Path(kinfolk.__file__).parent / module
    tree = ast.parse(path.read_text(encoding="utf-8"))
    # Of a path, and of a value that the schema declares.
    allowed = SHOWN[module] | {"shown(str(path))", "shown(value)"}
    assert set(parts_shown(tree)) - allowed == set()


def test_every_maker_of_problems_is_held_to_it() -> None:
    root = Path(kinfolk.__file__).parent
    makers = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if re.search(r"\b(Problem|UnreadableError|Misfit)\(", path.read_text(encoding="utf-8"))
    }
    makers -= {"errors.py", *(name for name in makers if name.startswith("schema/"))}
    assert makers - SHOWN.keys() == ELSEWHERE.keys()


def test_the_guard_has_teeth() -> None:
    for text in ("f'{cells[row]} is wrong'", "f'{len(rows):,} rows'", "'in ' + shown(cell)"):
        assert list(parts_shown(ast.parse(text)))
    assert not list(parts_shown(ast.parse("f'{private(shown(cell))} in {source.place(row)}'")))
