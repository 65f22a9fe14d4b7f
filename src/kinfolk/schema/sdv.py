"""A schema as the metadata of SDV and SDMetrics, so that their tools read synthetic tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kinfolk.schema.attributes import Attribute, Numeric

if TYPE_CHECKING:
    from kinfolk.schema.schema import Schema

VERSION = "V1"
"""Of the format."""


def sdv_metadata(schema: Schema) -> dict[str, Any]:
    """The tables with their columns, keys and the relationship between them, as plain JSON."""
    own = _columns(schema.individual.attributes)
    if schema.roles is not None:
        own = {schema.roles.column: {"sdtype": "categorical"}, **own}
    individual, link = schema.individual.table, schema.individual.group_id
    if schema.group is None or link is None:
        return _document({individual: {"columns": own}}, [])
    group, key = schema.group.table, schema.group.id
    grouped = _columns(schema.group.attributes)
    tables = {
        group: {"primary_key": key, "columns": {key: {"sdtype": "id"}, **grouped}},
        individual: {"columns": {link: {"sdtype": "id"}, **own}},
    }
    relationship = {
        "parent_table_name": group,
        "parent_primary_key": key,
        "child_table_name": individual,
        "child_foreign_key": link,
    }
    return _document(tables, [relationship])


def _columns(attributes: Mapping[str, Attribute]) -> dict[str, dict[str, str]]:
    return {
        name: {"sdtype": "numerical" if isinstance(one, Numeric) else "categorical"}
        for name, one in attributes.items()
    }


def _document(tables: dict[str, Any], relationships: list[dict[str, str]]) -> dict[str, Any]:
    return {"METADATA_SPEC_VERSION": VERSION, "tables": tables, "relationships": relationships}
