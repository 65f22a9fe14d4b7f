"""Two tables -> an encoded dataset, or one message with everything there is to mend."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kinfolk.data.columns import (
    Codes,
    column_numbers,
    encode_column,
    join_truncated,
    written,
    zeros_and_ones,
)
from kinfolk.data.encoded import CellCodes, CodeArray, Encoded, Numbers, code_type
from kinfolk.data.membership import Links, apply_size_and_role_limits, link_tables
from kinfolk.data.shapes import numerics
from kinfolk.data.tables import Source, TableLike, UnreadableError, read_source
from kinfolk.data.violations import Check
from kinfolk.errors import DataError, KinfolkError, Problem, closest, private, redacting
from kinfolk.schema import Attribute, Numeric, Schema
from kinfolk.schema.bins import FineAttributes, codes_of_cells
from kinfolk.schema.conditions import kind_of_values

HEADING = "the tables do not fit the schema"

_NONE = FineAttributes(group={}, individual={})


def encode(
    schema: Schema,
    tables: Mapping[str, TableLike],
    *,
    keep_numbers: bool = False,
    finely: bool = False,
) -> Encoded:
    """Encode the tables named by the schema; extra columns and their order do not matter.

    Every check runs before anything is reported, so that one run shows all there is to mend.
    Numbers become codes of their bins, and where they are wanted `finely`, of their cells too. The
    numbers themselves are kept beside their codes only on request.

    >>> import pyarrow as pa
    >>> from kinfolk.schema import Schema
    >>> schema = Schema.from_text('''
    ... group: {table: homes, id: home, attributes: {veh: {values: [0, 1]}}}
    ... individual: {table: people, group_id: home, attributes: {sex: {values: [m, f]}}}
    ... max_size: 3
    ... ''')
    >>> encode(schema, {
    ...     "homes": pa.table({"home": [7, 8], "veh": [1, 0]}),
    ...     "people": pa.table({"home": [8, 7, 8], "sex": ["m", "f", "f"]}),
    ... })
    Encoded(2 groups, 3 people)
    """
    check_table_names(schema, tables)
    problems: list[Problem] = []
    homes: Source | None = None
    if schema.group is not None:
        homes = _attempt(read_homes, schema, tables[schema.group.table], problems)
    people = _attempt(read_people, schema, tables[schema.individual.table], problems)
    if people is None or (homes is None and schema.group is not None):
        # One table cannot be read; say what is wrong with the other all the same.
        _encode_columns(schema.group_attributes, homes, problems)
        _encode_columns(schema.individual_attributes, people, problems)
        raise DataError(HEADING, problems)
    if homes is not None and (wrong := swapped(schema, homes.names, people.names)):
        raise DataError(HEADING, [wrong])
    return encode_sources(schema, homes, people, problems, keep_numbers=keep_numbers, finely=finely)


def _attempt(
    read: Callable[[Schema, TableLike, list[Problem]], Source],
    schema: Schema,
    table: TableLike,
    problems: list[Problem],
) -> Source | None:
    try:
        return read(schema, table, problems)
    except DataError as error:
        problems += error.problems
    except UnreadableError as error:
        problems.append(error.problem)
    return None


def check_table_names(schema: Schema, tables: Mapping[str, TableLike]) -> None:
    """The tables must be named as in the schema."""
    if not isinstance(tables, Mapping):
        raise KinfolkError(
            f"got {type(tables).__name__} instead of tables. Pass a dict with the tables "
            f"{', '.join(schema.table_names)}."
        )
    if set(tables) != set(schema.table_names):
        raise KinfolkError(
            f"got tables named {', '.join(map(str, tables)) or 'nothing'}; the schema names "
            f"{', '.join(schema.table_names)}. Pass a dict with exactly these keys."
        )


def read_homes(schema: Schema, table: TableLike, problems: list[Problem]) -> Source:
    """Read the group table's declared columns."""
    assert schema.group is not None  # noqa: S101  (callers have checked)
    return _read(schema, table, schema.group.table, problems)


def read_people(schema: Schema, table: TableLike, problems: list[Problem]) -> Source:
    """Read the individual table's declared columns."""
    return _read(schema, table, schema.individual.table, problems)


def _read(schema: Schema, table: TableLike, name: str, problems: list[Problem]) -> Source:
    wanted = schema.columns[name]
    source = read_source(table, wanted, name=name)
    problems += missing_columns(source, wanted)
    return source


def missing_columns(source: Source, wanted: Collection[str]) -> list[Problem]:
    """Columns that a table should have and has not, and rows where there are none at all."""
    problems: list[Problem] = []
    missing = [column for column in wanted if column not in source.columns]
    # What the schema does not name may be anything: the first row of a file without names, say.
    there = private(
        join_truncated([written(n) for n in source.names], of=len(source.names), most=8)
    )
    for column in missing:
        # A column that the schema means otherwise is no other spelling of this one.
        free = [n for n in source.names if n not in wanted]
        similar = closest(column.lower(), [n.lower() for n in free])
        guess = [n for n in free if n.lower() == similar]
        what = f"there is no such column; there are {there or 'none at all'}."
        fix = f"Did you mean {guess[0]!r}? " if guess and not redacting() else ""
        fix += "Add the column, or correct the schema."
        problems.append(Problem(where=f"{source.name}, column {column}", what=what, fix=fix))
    if not source.rows and len(missing) < len(wanted):
        what, fix = "the table has no rows.", "Check that it is the right one."
        problems.append(Problem(where=source.name, what=what, fix=fix))
    return problems


def swapped(
    schema: Schema, home_names: Collection[str], people_names: Collection[str]
) -> Problem | None:
    """Whether each table has the columns of the other one, and lacks some of its own."""
    homes, people = (set(columns) for columns in schema.columns.values())
    right = homes <= set(home_names) and people <= set(people_names)
    if right or not (homes <= set(people_names) and people <= set(home_names)):
        return None
    first, second = schema.table_names
    what = f"{first} and {second} seem to be swapped: each has the columns of the other."
    return Problem(where="the tables", what=what, fix="Exchange the two.")


def encode_sources(
    schema: Schema,
    homes: Source | None,
    people: Source,
    problems: list[Problem],
    *,
    part: bool = False,
    links: Links | None = None,
    ruled: bool = True,
    keep_numbers: bool = False,
    finely: bool = False,
) -> Encoded:
    """Encode tables that have been read; `problems` holds what reading them found.

    A `part` of the data may have rows of one table only, or no group left in it. Tables whose
    `links` are known already are not linked again. Unless they are to be `ruled`, rules
    and formulas need not hold.
    """
    if links is None:
        links = link_tables(schema, homes, people, problems, part=part)
    counts = {name for name, formula in schema.formulas.items() if formula.kind == "count"}
    fine = FineAttributes.of(schema) if finely else _NONE
    group, group_cells = _encode_columns(
        schema.group_attributes, homes, problems, fine.group, counts
    )
    individual, cells = _encode_columns(
        schema.individual_attributes, people, problems, fine.individual
    )
    members = None
    if links is not None:
        members = apply_size_and_role_limits(schema, homes, people, links, problems, part=part)
    if links is not None and members is not None and ruled:
        check = Check(
            schema=schema,
            homes=homes,
            people=people,
            links=links,
            group=group,
            individual=individual,
        )
        members = check.apply(members, problems, part=part)
    if problems or links is None or members is None:
        raise DataError(HEADING, problems)
    dtype = code_type(schema)
    kept = members.groups
    kept_numbers = None
    if keep_numbers:
        kept_numbers = Numbers(
            group=_numbers(schema.group_attributes, homes, group, kept),
            individual=_numbers(schema.individual_attributes, people, individual, members.people),
        )
    return Encoded(
        schema=schema,
        group=_matrix(group, links.groups, dtype)[kept],
        individual=_matrix(individual, people.rows, dtype)[members.people],
        offsets=members.offsets,
        role=members.role,
        numbers=kept_numbers,
        cells=CellCodes(group=group_cells, individual=cells).take(kept, members.people)
        if finely
        else None,
        cleaning=members.cleaning,
        against=members.against,
        types=_types(schema, homes, people),
    )


def _encode_columns(
    attributes: Mapping[str, Attribute],
    source: Source | None,
    problems: list[Problem],
    fine: Mapping[str, Numeric] = MappingProxyType({}),
    counts: Collection[str] = (),
) -> tuple[dict[str, Codes], dict[str, npt.NDArray[np.uint16]]]:
    """The codes of columns by name, and those of cells of the ones that are counted finely.

    The last value of `counts` means so many or more.
    """
    columns: dict[str, Codes] = {}
    found: dict[str, npt.NDArray[np.uint16]] = {}
    for name, attribute in attributes.items():
        column = source.columns.get(name) if source else None
        if source is None or column is None:
            continue
        if source.truth_as_numbers and kind_of_values(attribute) == "true/false":
            column = zeros_and_ones(column)
        cells = fine.get(name)
        codes, misfits = encode_column(
            column,
            attribute,
            untyped=source.untyped,
            or_more=name in counts,
            cells_of=cells,
        )
        if cells is not None and isinstance(attribute, Numeric):
            # Every cell lies in one bin, so that the two can never disagree.
            found[name] = codes.astype(np.uint16)
            codes = np.array([*codes_of_cells(attribute, cells), -1], np.int32)[codes]
        problems += [m.problem(source.place(int(m.rows[0])), name) for m in misfits]
        columns[name] = codes
    return columns, found


def _matrix(
    columns: Mapping[str, Codes], rows: int, dtype: type[np.uint8 | np.uint16]
) -> CodeArray:
    matrix: npt.NDArray[np.uint8 | np.uint16] = np.empty((rows, len(columns)), dtype)
    for index, codes in enumerate(columns.values()):
        matrix[:, index] = codes
    return matrix


def _numbers(
    attributes: Mapping[str, Attribute],
    source: Source | None,
    codes: Mapping[str, Codes],
    rows: npt.NDArray[np.int64],
) -> dict[str, npt.NDArray[np.float64]]:
    """The numbers of the rows that stay, by name."""
    return {
        name: column_numbers(source.columns[name], codes[name])[rows]
        for name, _ in numerics(attributes)
        if source is not None
    }


def _types(
    schema: Schema, homes: Source | None, people: Source
) -> dict[str, dict[str, pa.DataType]]:
    sources = {schema.individual.table: people}
    if homes is not None and schema.group is not None:
        sources[schema.group.table] = homes
    return {
        name: {} if source.untyped else {n: column.type for n, column in source.columns.items()}
        for name, source in sources.items()
    }
