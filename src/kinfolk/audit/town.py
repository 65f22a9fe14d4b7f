"""A made-up town that has everything at once, for audits of whole runs.

Its schema has weights by size, marginals of households and of people over the same attributes,
roles and a relation, an attribute that follows from the members, the size, and households that
cleaning drops. It is tiny, so that a whole run takes some tens of milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa

from kinfolk.data.encoded import Encoded
from kinfolk.schema import Attribute, Categorical, Schema

SCHEMA = """
group:
  table: households
  id: household_id
  attributes:
    owned: {values: [rented, owned]}
    women: {values: [0, 1, 2, 3, 4], derived: true}
individual:
  table: persons
  group_id: household_id
  attributes:
    sex: {values: [woman, man]}
    age: {values: [young, old]}
max_size: 3
oversize: drop
count: COUNT
roles:
  column: role
  head: {values: [head], max: 1}
  spouse: {values: [spouse], max: 1}
  child: {values: [child], max: 2}
  others: drop
relations:
  married_to: [[head, spouse], [spouse, head]]
workload:
  levels: [group, individual, relation]
  sets: [[COUNT, owned, women], [women, sex], [owned, age], [sex, age]]
"""

HEAD, SPOUSE, CHILD, LODGER = range(4)
"""Roles by number; nobody has declared what a lodger is."""
_ROLES = ("head", "spouse", "child", "lodger")
_WOMAN = 0
HOMES = 60
"""Households that both neighbours have."""


@dataclass(frozen=True, kw_only=True)
class Member:
    """Somebody who lives in a household."""

    role: int
    """HEAD, SPOUSE, CHILD or LODGER."""
    codes: tuple[int, ...]
    """The categories of the attributes, in the schema's order."""


@dataclass(frozen=True, kw_only=True)
class Home:
    """A household; how many women live in it follows from its members.

    >>> home = Home(own=(1,), members=(Member(role=HEAD, codes=(0, 1)),))
    >>> home.codes
    (1, 1)
    """

    own: tuple[int, ...]
    """The categories of the attributes that follow from nothing, in the schema's order."""
    members: tuple[Member, ...]
    """In the order of their roles."""

    @property
    def codes(self) -> tuple[int, ...]:
        """The categories of all attributes of the household."""
        return (*self.own, sum(one.codes[0] == _WOMAN for one in self.members))


OVERSIZE = Home(
    own=(1,),
    members=tuple(Member(role=role, codes=(_WOMAN, 1)) for role in (HEAD, SPOUSE, CHILD, CHILD)),
)
"""A household that cleaning drops, as it has too many members."""
LODGERS = Home(own=(0,), members=(Member(role=LODGER, codes=(1, 0)),) * 2)
"""A household that cleaning drops, as nobody in it has a declared role."""


@cache
def town_schema() -> Schema:
    """The schema of the town."""
    return Schema.from_text(SCHEMA)


@cache
def townspeople() -> tuple[Home, ...]:
    """The households that both neighbours have: of all sizes, and one of each kind that is dropped.

    >>> len(townspeople())
    60
    """
    kinds = ((HEAD,), (HEAD, SPOUSE), (HEAD, CHILD), (HEAD, SPOUSE, CHILD), (HEAD, CHILD, CHILD))
    homes = [
        Home(
            own=(number % 2,),
            members=tuple(
                Member(role=role, codes=((number + at) // 2 % 2, (number // 3 + at) % 2))
                for at, role in enumerate(kinds[number % len(kinds)])
            ),
        )
        for number in range(HOMES - 2)
    ]
    return (*homes, OVERSIZE, LODGERS)


def tables_of(homes: Sequence[Home]) -> dict[str, pa.Table]:
    """Households as the two tables that somebody would have of them.

    >>> {name: table.num_rows for name, table in tables_of([LODGERS]).items()}
    {'households': 1, 'persons': 2}
    """
    schema = town_schema()
    households: dict[str, list[object]] = {
        "household_id": list(range(len(homes))),
        **{
            name: [_value(attribute, home.codes[at]) for home in homes]
            for at, (name, attribute) in enumerate(schema.group_attributes.items())
        },
    }
    people = [(number, one) for number, home in enumerate(homes) for one in home.members]
    persons: dict[str, list[object]] = {
        "household_id": [number for number, _ in people],
        "role": [_ROLES[one.role] for _, one in people],
        **{
            name: [_value(attribute, one.codes[at]) for _, one in people]
            for at, (name, attribute) in enumerate(schema.individual_attributes.items())
        },
    }
    return {"households": pa.table(households), "persons": pa.table(persons)}


def _value(attribute: Attribute, code: int) -> object:
    assert isinstance(attribute, Categorical)  # noqa: S101  (as all attributes of the town are)
    return attribute.values[code]


def encoded(home: Home) -> Encoded:
    """One household that cleaning keeps, as it is counted.

    >>> encoded(townspeople()[3])
    Encoded(1 groups, 3 people)
    """
    return Encoded(
        schema=town_schema(),
        group=np.array([home.codes], np.uint8),
        individual=np.array([one.codes for one in home.members], np.uint8),
        offsets=np.array([0, len(home.members)], np.int64),
        role=np.array([one.role for one in home.members], np.uint8),
    )
