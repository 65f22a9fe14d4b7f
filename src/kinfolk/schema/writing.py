"""A schema, written: as schema.yaml, as the metadata of SDV and SDMetrics, and in a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kinfolk.schema.attributes import Attribute, Categorical, Numeric
from kinfolk.schema.schema import Schema
from kinfolk.schema.workload_spec import Level, Priority
from kinfolk.schema.yaml_text import scalar_text
from kinfolk.template import show

SDV_VERSION = "V1"
"""Of the format of the metadata."""


def schema_as_yaml(schema: Schema) -> str:
    """Write a schema as YAML that reads back to an equal schema."""
    lines: list[str] = []
    if schema.group is not None:
        lines += ["group:", f"  table: {scalar_text(schema.group.table)}"]
        lines += [f"  id: {scalar_text(schema.group.id)}"]
        if schema.group.weight is not None:
            lines += [f"  weight: {scalar_text(schema.group.weight)}"]
        lines += ["  attributes:", *_attribute_lines(schema.group_attributes)]
        if not schema.group_attributes:
            lines[-1] += " {}"
    lines += ["individual:", f"  table: {scalar_text(schema.individual.table)}"]
    if schema.individual.group_id is not None:
        lines += [f"  group_id: {scalar_text(schema.individual.group_id)}"]
    lines += ["  attributes:", *_attribute_lines(schema.individual_attributes)]
    lines += [f"max_size: {schema.max_size}", f"oversize: {schema.oversize}"]
    lines += [f"count: {scalar_text(schema.count)}"]
    if schema.roles is not None:
        lines += ["roles:", f"  column: {scalar_text(schema.roles.column)}"]
        for name, role in schema.roles.roles.items():
            values = list_text(role.values)
            entry = f"{{values: {values}, min: {role.min}, max: {role.max}}}"
            lines += [f"  {scalar_text(name)}: {entry}"]
        lines += [f"  others: {schema.roles.others}"]
    if schema.relations:
        lines += ["relations:"]
        for name, pairs in schema.relations.items():
            shown = ", ".join(list_text(pair) for pair in pairs)
            lines += [f"  {scalar_text(name)}: [{shown}]"]
    spec = schema.workload
    entries = [f"k: {spec.k}", f"levels: {list_text(spec.levels)}"]
    if Level.RELATION in spec.levels or spec.relation_counts != "people":
        entries += [f"relation_counts: {spec.relation_counts}"]
    if spec.attributes:
        entries += [f"attributes: {list_text(spec.attributes)}"]
    if spec.sets:
        entries += [f"sets: [{', '.join(list_text(one) for one in spec.sets)}]"]
    if spec.weights:
        shown = ", ".join(f"{level}: {scalar_text(w)}" for level, w in spec.weights.items())
        entries += [f"weights: {{{shown}}}"]
    if spec.priorities:
        entries += [f"priorities: [{', '.join(map(_priority_text, spec.priorities))}]"]
    lines += [f"workload: {{{', '.join(entries)}}}"]
    if schema.never:
        lines += ["never:", *(f"  - {scalar_text(rule)}" for rule in schema.never)]
    if schema.never or schema.on_violation != "error":
        lines += [f"on_violation: {schema.on_violation}"]
    if schema.domain != "declared":
        lines += [f"domain: {schema.domain}"]
    return "\n".join(lines) + "\n"


def _priority_text(one: Priority) -> str:
    relation = "" if one.relation is None else f", relation: {scalar_text(one.relation)}"
    return f"{{attributes: {list_text(one.attributes)}, times: {scalar_text(one.times)}{relation}}}"


def _attribute_lines(attributes: Mapping[str, Attribute]) -> list[str]:
    return [f"    {scalar_text(name)}: {attribute_text(a)}" for name, a in attributes.items()]


def attribute_text(attribute: Attribute) -> str:
    """Write one attribute in the compact form.

    >>> attribute_text(Categorical(values=[1, 2], labels=["male", "female"], missing=True))
    '{values: [1, 2], labels: [male, female], missing: true}'
    """
    if isinstance(attribute, Categorical):
        entries = [f"values: {list_text(attribute.values)}"]
    else:
        entries = [f"bins: {list_text(attribute.bins)}"]
        if attribute.integer:
            entries += ["integer: true"]
        if attribute.decimals is not None:
            entries += [f"decimals: {attribute.decimals}"]
        if attribute.special:
            entries += [f"special: {list_text(attribute.special)}"]
    if attribute.labels:
        entries += [f"labels: {list_text(attribute.labels)}"]
    if attribute.missing:
        entries += ["missing: true"]
    if attribute.derived:
        entries += [f"derived: {scalar_text(attribute.derived)}"]
    if attribute.title is not None:
        entries += [f"label: {scalar_text(attribute.title)}"]
    return f"{{{', '.join(entries)}}}"


def list_text(values: Sequence[object]) -> str:
    """Write a list in the compact form."""
    return f"[{', '.join(scalar_text(value) for value in values)}]"


def sdv_metadata(schema: Schema) -> dict[str, Any]:
    """The tables with their columns, keys and the relationship between them, as plain JSON."""
    tables: dict[str, dict[str, Any]] = {
        table: {"columns": {name: {"sdtype": _sdtype(one)} for name, one in columns.items()}}
        for table, columns in schema.columns.items()
    }
    relationships = []
    if schema.group is not None:
        group, key = schema.group.table, schema.group.id
        tables[group] = {"primary_key": key, **tables[group]}
        relationships.append(
            {
                "parent_table_name": group,
                "parent_primary_key": key,
                "child_table_name": schema.individual.table,
                "child_foreign_key": schema.individual.group_id,
            }
        )
    return {"METADATA_SPEC_VERSION": SDV_VERSION, "tables": tables, "relationships": relationships}


def _sdtype(column: Attribute | None) -> str:
    if column is None:
        return "id"
    return "numerical" if isinstance(column, Numeric) else "categorical"


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
