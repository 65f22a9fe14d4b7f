"""SDV's metadata.json -> the tables' names, their ids, and what kind of column each one is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kinfolk.data.draft.profile import LeftOut
from kinfolk.errors import KinfolkError

VERSIONS = ("V1", "MULTI_TABLE_V1")
"""The versions of the format that describe several tables."""

BASIC = {"categorical": "categorical", "boolean": "categorical", "numerical": "numerical"}
"""The sdtypes that can be attributes, and what they mean here."""

Kinds = Mapping[str, str | LeftOut]
"""Per column: 'categorical', 'numerical', 'unknown' (see the data), or why it is left out."""


@dataclass(frozen=True, kw_only=True)
class Metadata:
    """What an SDV file says about two tables."""

    file: str
    group_table: str
    individual_table: str
    key: str
    """The parent's primary key: the id of a group."""
    link: str
    """The child's foreign key: the group's id in the individual table."""
    group: Kinds
    individual: Kinds


def read_metadata(path: str | Path) -> Metadata:
    """Read a metadata.json that describes two tables and the one relationship between them."""
    file = Path(path)
    document = _load(file)
    return _Reader(file.name).metadata(document)


def _load(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise KinfolkError(f"{file}: there is no such file. Check the path.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise KinfolkError(f"{file}: cannot be read ({error}). Name a metadata.json.") from None
    except (ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        raise KinfolkError(
            f"{file.name}: is not JSON ({reason}). Write it with SDV's metadata.save_to_json."
        ) from None


class _Reader:
    """Walks the document; everything unexpected is said with the file's name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def metadata(self, document: Any) -> Metadata:
        tables = self._tables(document)
        relation = self._relation(document)
        parent = self._word(relation, "parent_table_name")
        child = self._word(relation, "child_table_name")
        for table in (parent, child):
            if table not in tables:
                known = ", ".join(map(str, tables))
                raise self._error(f"the relationship names the table {table!r}", f"Known: {known}.")
        if parent == child:
            what = f"the relationship links {parent!r} with itself"
            raise self._error(what, "It must go from the groups to the individuals.")
        key = self._word(relation, "parent_primary_key")
        link = self._word(relation, "child_foreign_key")
        return Metadata(
            file=self.name,
            group_table=parent,
            individual_table=child,
            key=key,
            link=link,
            group=self._kinds(tables[parent], parent),
            individual=self._kinds(tables[child], child),
        )

    def _error(self, what: str, fix: str) -> KinfolkError:
        return KinfolkError(f"{self.name}: {what}. {fix}")

    def _tables(self, document: Any) -> Mapping[str, Any]:
        if not isinstance(document, Mapping):
            raise self._error("holds no metadata", "Write it with SDV's metadata.save_to_json.")
        if "columns" in document and "tables" not in document:
            what = "describes a single table"
            raise self._error(what, "kinfolk needs two tables and one relationship.")
        version = document.get("METADATA_SPEC_VERSION", "V1")
        if version not in VERSIONS:
            what = f"METADATA_SPEC_VERSION {version!r} is not {' or '.join(VERSIONS)}"
            raise self._error(what, "Load it in SDV 1.x and save it again.")
        tables = document.get("tables")
        if not isinstance(tables, Mapping):
            raise self._error("has no `tables`", "Write it with SDV's metadata.save_to_json.")
        if len(tables) != 2:
            names = ", ".join(map(str, tables)) or "none"
            what = f"describes {len(tables)} tables ({names})"
            raise self._error(what, "Keep two: the groups and the individuals.")
        return tables

    def _relation(self, document: Mapping[str, Any]) -> Mapping[str, Any]:
        relations = document.get("relationships") or []
        if not isinstance(relations, list) or len(relations) != 1:
            count = len(relations) if isinstance(relations, list) else "no list of"
            what = f"describes {count} relationships"
            raise self._error(what, "There must be one, from the groups to the individuals.")
        if not isinstance(relations[0], Mapping):
            raise self._error(f"the relationship {relations[0]!r} is not an object", "Mend it.")
        return relations[0]

    def _word(self, relation: Mapping[str, Any], name: str) -> str:
        value = relation.get(name)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, str) and value:
            return value
        what = f"{name} of the relationship is {value!r}, not the name of one column or table"
        fix = "kinfolk links tables by one column; join several into one." if value else "Add it."
        raise self._error(what, fix)

    def _kinds(self, table: Any, name: str) -> dict[str, str | LeftOut]:
        columns = table.get("columns") if isinstance(table, Mapping) else None
        if not isinstance(columns, Mapping):
            what = f"the table {name!r} has no `columns`"
            raise self._error(what, "Load the file in SDV 1.x and save it again.")
        kinds: dict[str, str | LeftOut] = {}
        for column, entry in columns.items():
            sdtype = entry.get("sdtype") if isinstance(entry, Mapping) else None
            if not isinstance(sdtype, str):
                what = f"the column {name}.{column} has no sdtype"
                raise self._error(what, "Load the file in SDV 1.x and save it again.")
            kinds[column] = kind_of_column(sdtype, pii=entry.get("pii"))
        return kinds


def kind_of_column(sdtype: str, *, pii: Any) -> str | LeftOut:
    """What an sdtype means here.

    Types beyond SDV's basic ones (email, ssn, address, ...) are personal data unless the file
    says otherwise.
    """
    if sdtype == "id":
        return LeftOut("the metadata says that it is an id")
    if sdtype == "datetime":
        return LeftOut("the metadata says that it holds dates; turn them into a year or an age")
    if pii is True or (pii is not False and sdtype not in BASIC):
        return LeftOut(f"the metadata says that it is personal data ({ascii(sdtype)[1:-1]})")
    return BASIC.get(sdtype, "unknown")
