"""Marginals by the names of their attributes: how a ledger and a certificate write them down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinfolk.queries.added_marginals import (
    bands_marginal,
    coarse_marginal,
    number_marginal,
    total_marginal,
)
from kinfolk.queries.workload import Marginal, order_of
from kinfolk.schema import Level, Schema
from kinfolk.schema.names import AttributeNames

PARTS = ("group", "individual", "relative")
NUMBER, BINS, CELLS = "number", "by bins", "finely"
"""Said of a number that is counted on its own, and how."""
TOTAL = "total"
"""Said of what groups have of amounts, and how that is counted."""
COARSELY = "coarsely"
"""Said of a marginal whose numbers have large bins."""


def describe_marginal(schema: Schema, marginal: Marginal) -> dict[str, Any]:
    """A marginal in words: its level, and the names of its attributes.

    >>> from kinfolk import Workload, load_schema
    >>> schema = load_schema("acs-red")
    >>> marginal = Workload.of(schema, k=2, attributes=["FARM", "SEX"]).marginals[0]
    >>> describe_marginal(schema, marginal)
    {'level': 'group', 'group': ['FARM'], 'individual': ['SEX']}
    >>> marginal_from(schema, describe_marginal(schema, marginal)) == marginal
    True
    """
    # Attributes that both tables have are told apart by the part they stand in.
    own = [*schema.group_attributes, schema.count]
    members = list(schema.member_attributes)
    named = {
        "group": [own[position] for position in marginal.group],
        "individual": [members[position] for position in marginal.individual],
        "relative": [members[position] for position in marginal.relative],
    }
    relation = {} if marginal.relation is None else {"relation": marginal.relation}
    return {
        "level": str(marginal.level),
        **relation,
        **{part: names for part, names in named.items() if names},
        **_alone(marginal),
        **({COARSELY: True} if marginal.coarse else {}),
    }


def _alone(marginal: Marginal) -> dict[str, str]:
    """What is said of a marginal that is counted on its own."""
    if not marginal.alone:
        return {}
    return {TOTAL: marginal.total} if marginal.total else {NUMBER: CELLS if marginal.fine else BINS}


def marginal_from(schema: Schema, described: Mapping[str, Any]) -> Marginal:
    """The marginal that `describe_marginal` wrote down; LookupError or ValueError if there is none.

    Its weight in the workload is not written down, and is one.
    """
    level, relation = described["level"], described.get("relation")
    if level not in list(Level) or (level == Level.RELATION) != (relation in schema.relations):
        raise ValueError(f"there is no level {str(level)[:40]!r} with that relation")
    own = [*schema.group_attributes, schema.count]
    members = list(schema.member_attributes)
    parts = {
        part: tuple(names.index(str(one)) for one in described.get(part, ()))
        for part, names in zip(PARTS, (own, members, members), strict=True)
    }
    for part, positions in parts.items():
        if list(positions) != sorted(set(positions)):
            raise ValueError(f"the {part} attributes of a marginal are out of order or repeated")
    if bool(parts["relative"]) != (level == Level.RELATION) or not any(parts.values()):
        raise ValueError("a marginal has too many or too few attributes")
    named = AttributeNames(schema)
    first = named.first_individual
    sizes = [named.size(p) for p in parts["group"]]
    sizes += [named.size(first + p) for p in (*parts["individual"], *parts["relative"])]
    found = Marginal(
        level=Level(level),
        relation=relation,
        group=parts["group"],
        individual=parts["individual"],
        relative=parts["relative"],
        shape=tuple(sizes),
    )
    if TOTAL in described:
        return _total(schema, found, described[TOTAL])
    if NUMBER in described:
        return _number(schema, found, described[NUMBER])
    return _coarsely(schema, found) if COARSELY in described else found


def _coarsely(schema: Schema, marginal: Marginal) -> Marginal:
    """The same marginal with large bins; ValueError if it has none."""
    found = coarse_marginal(schema, marginal)
    if found is None:
        raise ValueError("what is said to be counted coarsely has no large bins")
    return found


def _total(schema: Schema, marginal: Marginal, how: object) -> Marginal:
    """The same amounts as totals of groups; ValueError if they are none."""
    positions = (marginal.group, marginal.individual)
    if how == "sum" and order_of(marginal) == 1:
        level = Level.GROUP if marginal.group else Level.INDIVIDUAL
        return total_marginal(schema, level, positions[level is Level.INDIVIDUAL])
    if how == "bands":
        found = bands_marginal(schema)
        if (found.group, found.individual) == positions:
            return found
    raise ValueError("what is said to be a total is none that is counted")


def _number(schema: Schema, marginal: Marginal, how: object) -> Marginal:
    """The same number, counted on its own; ValueError if it is no number that is counted so."""
    if how not in (BINS, CELLS):
        raise ValueError(f"a number is not counted {str(how)[:40]!r}")
    tables = (
        (Level.GROUP, marginal.group, schema.group_attributes),
        (Level.INDIVIDUAL, marginal.individual, schema.individual_attributes),
    )
    for level, positions, attributes in tables:
        if (marginal.level, order_of(marginal), len(positions)) == (level, 1, 1):
            name = [*attributes, None][positions[0]]
            if name is not None:
                return number_marginal(schema, level, name, fine=how == CELLS)
    raise ValueError("what is said to be counted on its own is no number that can be")
