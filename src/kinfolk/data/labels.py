"""What columns and their values are called: in a file that has labels, or by a schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kinfolk.schema import Attribute, Numeric, Schema, Value
from kinfolk.schema.names import singular


@dataclass(frozen=True, kw_only=True)
class Labels:
    """What the columns of one table and their values are called."""

    columns: Mapping[str, str] = field(default_factory=dict)
    """By column."""
    values: Mapping[str, Mapping[Value, str]] = field(default_factory=dict)
    """By column, then by value."""


def schema_labels(schema: Schema) -> dict[str, Labels]:
    """The labels of the tables that a schema describes, by table.

    >>> from kinfolk.datasets import load_schema
    >>> labels = schema_labels(load_schema("detroit"))["persons"]
    >>> labels.columns["relate"], labels.values["sex"]
    ('Role in the household', {1: 'male', 2: 'female'})
    """
    group = singular(schema.table_names[0])
    columns, values = _of(schema.individual_attributes)
    if schema.individual.group_id is not None:
        columns = {schema.individual.group_id: f"Identifier of the {group}", **columns}
    if schema.roles is not None:
        columns[schema.roles.column] = f"Role in the {group}"
        # Each role is written as the first of its values.
        values[schema.roles.column] = {
            role.values[0]: name for name, role in schema.roles.roles.items()
        }
    found = {schema.individual.table: Labels(columns=columns, values=values)}
    if schema.group is not None:
        columns, values = _of(schema.group_attributes)
        columns = {schema.group.id: f"Identifier of the {group}", **columns}
        found = {schema.group.table: Labels(columns=columns, values=values), **found}
    return found


def _of(
    attributes: Mapping[str, Attribute],
) -> tuple[dict[str, str], dict[str, Mapping[Value, str]]]:
    columns = {name: one.title for name, one in attributes.items() if one.title is not None}
    return columns, {
        name: words for name, one in attributes.items() if (words := value_labels(one))
    }


def value_labels(attribute: Attribute) -> dict[Value, str]:
    """What the values of an attribute are called, where they have other words than themselves.

    Of a number these are its special values; its bins are not values.
    """
    if isinstance(attribute, Numeric):
        words = attribute.labels[len(attribute.bins) - 1 :] if attribute.labels else ()
        return dict(zip(attribute.special, words, strict=False))
    if attribute.labels is None:
        return {False: "false", True: "true"} if attribute.kind == "true/false" else {}
    return dict(zip(attribute.values, attribute.labels, strict=True))
