"""Schema -> schema.yaml, one line per attribute, in the order it was declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kinfolk.schema.attributes import Attribute, Categorical
from kinfolk.schema.priorities import Priority
from kinfolk.schema.schema import Level, Schema
from kinfolk.schema.yaml_text import scalar_text


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
