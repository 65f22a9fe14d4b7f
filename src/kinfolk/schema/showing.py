"""A schema in a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kinfolk.notebook import show
from kinfolk.schema.attributes import Attribute, Categorical

if TYPE_CHECKING:
    from kinfolk.schema.schema import Schema


def schema_html(schema: Schema) -> str:
    """Every attribute with its table and categories; then sizes, roles, relations and queries."""
    note = ""
    if schema.domain == "drafted":
        note = "Drafted from the data and not confirmed: the domain itself leaks."
    tables = " and ".join(schema.table_names)
    headings = ["", "table", "categories", "what they are"]
    return show(f"Schema of {tables}", _rows(schema), headings=headings, note=note)


def _rows(schema: Schema) -> Iterator[list[object]]:
    tables = [table for table in (schema.group, schema.individual) if table is not None]
    for table in tables:
        for name, attribute in table.attributes.items():
            yield [name, table.table, attribute.size, _categories(attribute)]
    if schema.group is not None:
        sizes = schema.sizes
        what = f"the size of a group, {sizes[0]} to {sizes[-1]} ({schema.oversize} beyond)"
        yield [schema.count, schema.group.table, len(sizes), what]
    if schema.roles is not None:
        parts = [
            f"{name} {low} to {high}"
            for name, (low, high) in zip(
                schema.roles.names, schema.roles.limits(schema.max_size), strict=True
            )
        ]
        yield ["roles", schema.individual.table, len(parts), ", ".join(parts)]
    if schema.relations:
        yield ["relations", schema.individual.table, "", ", ".join(schema.relations)]
    for rule in schema.rules:
        yield ["never", "", "", rule.text]
    asked = schema.workload
    many = f"{len(asked.sets)} attribute sets" if asked.sets else f"all sets of {asked.k}"
    yield ["queries", "", "", f"{many} attributes: {', '.join(asked.levels)}"]


def _categories(attribute: Attribute) -> str:
    """The first and the last category, in words."""
    listed = isinstance(attribute, Categorical)
    ends = dict.fromkeys(attribute.label(code) for code in (0, attribute.size - 1))
    derived = ", computed from the members" if attribute.derived else ""
    if isinstance(attribute.derived, str):
        derived += f": {attribute.derived}"
    return f"{'values' if listed else 'bins'} {' ... '.join(ends)}{derived}"
