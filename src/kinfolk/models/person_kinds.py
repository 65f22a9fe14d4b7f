"""Kinds of people: what the rules of a schema say of one member, as structural zeros.

A rule such as "nobody under 16 has a wage" forbids cells of a table of codes. People who break no
rule are cut into kinds, children and adults, say: within a kind every attribute is free to have any
of its own categories, whatever the others are, so that a product distribution can hold it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from kinfolk._typing import Bools
from kinfolk.schema import Schema

Kind = tuple[Bools, ...]
"""For each attribute of a member, the role included, which of its categories go with the kind."""
Forbidden = tuple[tuple[int, ...], Bools]
"""Attributes by position, and which cells of their categories cannot be: one axis for each."""

MOST_KINDS = 8
"""Of people in a role. Rules that would need more are kept when groups are drawn."""


def person_kinds(schema: Schema) -> tuple[tuple[Kind, ...], ...]:
    """For each role, kinds of people that have nothing in common and make up all that may be.

    >>> from kinfolk.datasets import load_schema
    >>> [len(kinds) for kinds in person_kinds(load_schema("acs-rel"))]
    [1, 1, 1]
    """
    attributes = list(schema.individual_attributes.values())
    roles = schema.roles.names if schema.roles else ("",)
    asked = len(schema.member_attributes) > len(attributes)
    found = []
    for position, role in enumerate(roles):
        free = [np.ones(attribute.size, np.bool_) for attribute in attributes]
        if asked:
            free.append(np.arange(len(roles)) == position)
        together: dict[tuple[int, ...], Bools] = {}
        for positions, cells in _forbidden(schema, role):
            together[positions] = together.get(positions, False) | cells
        found.append(cut(tuple(free), list(together.items()), most=MOST_KINDS))
    return tuple(found)


def _forbidden(schema: Schema, role: str) -> Iterator[Forbidden]:
    """What rules say of one member in a role, whoever else is in the group."""
    names = list(schema.member_attributes)
    for rule in schema.rules:
        if rule.scope == "members" and rule.roles != (role,):
            continue
        if rule.cells is None or rule.group_positions or rule.scope not in ("person", "members"):
            continue
        positions = [names.index(ref.name) for ref in rule.cells.refs]
        order = np.argsort(positions)
        yield tuple(sorted(positions)), np.transpose(rule.cells.every, order)


def cut(kind: Kind, forbidden: Sequence[Forbidden], *, most: int) -> tuple[Kind, ...]:
    """A kind in as many as it takes for nothing forbidden to be left in any; at most so many.

    What takes the fewest kinds goes first; what would take too many is left in.

    >>> age, wage = np.ones(3, bool), np.ones(2, bool)
    >>> none_for_children = np.array([[False, True], [False, False], [False, False]])
    >>> for kind in cut((age, wage), [((0, 1), none_for_children)], most=2):
    ...     print([allowed.astype(int).tolist() for allowed in kind])
    [[1, 0, 0], [1, 0]]
    [[0, 1, 1], [1, 1]]
    """
    kinds, waiting = [kind], list(forbidden)
    while waiting:
        tried = [[part for one in kinds for part in _without(one, *each)] for each in waiting]
        tried = [_joined(parts) for parts in tried]
        best = min(range(len(tried)), key=lambda at: len(tried[at]))
        if not 1 <= len(tried[best]) <= most:
            break
        kinds = tried[best]
        del waiting[best]
    return tuple(kinds)


def _without(kind: Kind, positions: tuple[int, ...], forbidden: Bools) -> list[Kind]:
    """A kind without what is forbidden, in parts.

    The categories of one attribute are told apart by what they forbid of the others; it is the one
    with the fewest such classes.
    """
    inside = forbidden & _box(kind, positions)
    if not inside.any():
        return [kind]
    if len(positions) == 1:
        return _narrowed(kind, positions[0], ~inside)
    choices = [_classes(np.moveaxis(inside, axis, 0), kind[p]) for axis, p in enumerate(positions)]
    axis = min(range(len(positions)), key=lambda at: len(choices[at]))
    rest = positions[:axis] + positions[axis + 1 :]
    found: list[Kind] = []
    for members, others in choices[axis]:
        for part in _narrowed(kind, positions[axis], members):
            found += _without(part, rest, others)
    return found


def _box(kind: Kind, positions: tuple[int, ...]) -> Bools:
    """The cells of some attributes that a kind allows."""
    found = np.ones((1,) * len(positions), np.bool_)
    for axis, position in enumerate(positions):
        shape = [-1 if other == axis else 1 for other in range(len(positions))]
        found = found & kind[position].reshape(shape)
    return found


def _classes(forbidden: Bools, allowed: Bools) -> list[tuple[Bools, Bools]]:
    """Categories that forbid the same of the other attributes: which they are, and what it is."""
    found: dict[bytes, list[int]] = {}
    for code in np.flatnonzero(allowed).tolist():
        found.setdefault(forbidden[code].tobytes(), []).append(code)
    return [
        (np.isin(np.arange(len(allowed)), codes), forbidden[codes[0]]) for codes in found.values()
    ]


def _narrowed(kind: Kind, position: int, allowed: Bools) -> list[Kind]:
    """A kind with fewer categories of an attribute, or nothing if there are none left."""
    left = kind[position] & allowed
    return [(*kind[:position], left, *kind[position + 1 :])] if left.any() else []


def _joined(kinds: Sequence[Kind]) -> list[Kind]:
    """Kinds that differ in one attribute only are one."""
    found = list(kinds)
    for first, second in itertools.combinations(range(len(found)), 2):
        pairs = zip(found[first], found[second], strict=True)
        differ = [at for at, pair in enumerate(pairs) if not np.array_equal(*pair)]
        if len(differ) == 1:
            at = differ[0]
            union = found[first][at] | found[second][at]
            found[first] = (*found[first][:at], union, *found[first][at + 1 :])
            del found[second]
            return _joined(found)
    return found
