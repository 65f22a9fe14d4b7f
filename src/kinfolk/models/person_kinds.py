"""Kinds of people: what the rules of a schema say of one member, as structural zeros."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kinfolk.schema import Schema

Kind = tuple[npt.NDArray[np.bool_], ...]
"""For each attribute of a member, the role included, which of its categories go with the kind."""


def person_kinds(schema: Schema) -> tuple[tuple[Kind, ...], ...]:
    """For each role, kinds of people that have nothing in common and make up all that may be."""
    attributes = list(schema.individual_attributes.values())
    roles = len(schema.roles.names) if schema.roles else 1
    asked = len(schema.member_attributes) > len(attributes)
    found = []
    for role in range(roles):
        free = tuple(np.ones(attribute.size, np.bool_) for attribute in attributes)
        found.append((free + ((np.arange(roles) == role,) if asked else ()),))
    return tuple(found)
