"""Relations of a schema that will be hard to keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kinfolk.schema.schema import Schema


def doubtful_relations(schema: Schema) -> list[str]:
    """Sentences about relations whose two sides nothing tells apart."""
    roles = schema.roles
    if roles is None or not schema.relations:
        return []
    found = [
        f"the relation {name} is between members of one role ({pairs[0][0]}): nothing tells its "
        "two sides apart."
        for name, pairs in schema.relations.items()
        if all(first == second for first, second in pairs)
    ]
    spec = schema.workload
    asked = {name.rsplit(".", 1)[-1] for one in (spec.attributes, *spec.sets) for name in one}
    if asked and roles.column not in asked:
        found.append(
            f"the workload leaves out {roles.column}: nothing is asked about who is in which role, "
            "so that the members of a relation may be mistaken for one another. Add it."
        )
    return found
