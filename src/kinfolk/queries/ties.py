"""Relations as the counting and the sensitivities see them: who has whom as relatives."""

from __future__ import annotations

from kinfolk.schema import Schema

Tie = tuple[int, frozenset[int]]
"""A role, and the roles of those who count as its relatives."""


def ties(schema: Schema, relation: str) -> tuple[Tie, ...]:
    """The ties of a relation, as `relation_counts` says.

    Counting people, somebody with a matching relative counts once, whoever the relative is.
    Counting pairs, as in the paper, somebody counts once for every role that holds a matching
    relative: a child whose two parents both match counts twice.

    >>> from kinfolk.datasets import load_schema
    >>> ties(load_schema("acs-rel"), "has_parent")
    ((2, frozenset({0, 1})),)
    """
    if schema.roles is None:
        return ()
    position = {name: index for index, name in enumerate(schema.roles.names)}
    pairs = [(position[who], position[whom]) for who, whom in schema.relations[relation]]
    if schema.workload.relation_counts == "pairs":
        return tuple((who, frozenset([whom])) for who, whom in pairs)
    merged: dict[int, set[int]] = {}
    for who, whom in pairs:
        merged.setdefault(who, set()).add(whom)
    return tuple((who, frozenset(whom)) for who, whom in merged.items())
