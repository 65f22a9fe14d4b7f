"""Queries whose answer the rules of a schema make certain: nobody is such."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

import numpy as np

from kinfolk._typing import Bools
from kinfolk.queries.workload import Marginal, Workload, ties
from kinfolk.schema import Schema
from kinfolk.schema.rules import Rule

Axes = Mapping[tuple[str | None, str], int]
"""Where an attribute stands in a marginal: by whose it is (a role, or nobody's in particular)."""


def impossible_cells(schema: Schema, marginal: Marginal) -> Bools:
    """(cells,) which queries of a marginal have the answer 0, whatever the data is.

    A cell is impossible if it is for a member of every role (at the relation level: for every two
    roles that are related so). A query with the role is about one of them. Of large bins nothing
    is said: rules are about bins.

    >>> from dataclasses import replace
    >>> from kinfolk.datasets import load_schema
    >>> from kinfolk.queries.workload import Workload
    >>> schema = replace(load_schema("acs-red"), never=["SEX = 1 and FARM = 2"])
    >>> marginal = Workload.of(schema, sets=[["FARM", "SEX"]]).marginals[0]
    >>> impossible_cells(schema, marginal).reshape(marginal.shape).tolist()
    [[False, False], [True, False]]
    """
    rules = [rule for rule in schema.rules if rule.cells is not None]
    whole = np.zeros(marginal.shape, np.bool_)
    if not rules or marginal.coarse:
        return whole.ravel()
    names = [*schema.group_attributes, schema.count]
    members = list(schema.member_attributes)
    group: dict[tuple[str | None, str], int] = {
        (None, names[position]): axis for axis, position in enumerate(marginal.group)
    }
    first = len(marginal.group)
    own = {members[position]: first + at for at, position in enumerate(marginal.individual)}
    last = first + len(marginal.individual)
    theirs = {members[position]: last + at for at, position in enumerate(marginal.relative)}
    roles = schema.roles.names if schema.roles else ("",)
    found: list[Bools] = []
    if marginal.relation is not None:
        pairs = [(who, one) for who, whom in ties(schema, marginal.relation) for one in whom]
        for who, whom in pairs:
            person = _forbidden(rules, whole, [_axes(group, {None: own, roles[who]: own})])
            relative = {None: theirs, roles[whom]: theirs}
            both: dict[str | None, dict[str, int]] = {roles[who]: own, roles[whom]: theirs}
            choices = [_axes(group, relative)] + ([_axes(group, both)] if who != whom else [])
            found.append(person | _forbidden(rules, whole, choices))
        return _all(found, whole).ravel()
    for code, role in enumerate(roles):
        mask = _forbidden(rules, whole, [_axes(group, {None: own, role: own})])
        if schema.roles is not None and schema.roles.column in own:
            axis = own[schema.roles.column]
            other = np.arange(marginal.shape[axis]) != code
            mask |= other.reshape([-1 if at == axis else 1 for at in range(whole.ndim)])
        found.append(mask)
    return _all(found, whole).ravel()


def impossible_queries(workload: Workload, marginals: Sequence[int]) -> Bools:
    """(queries,) the same for some marginals of a workload, laid end to end."""
    chosen = [workload.marginals[at] for at in marginals]
    return np.concatenate([impossible_cells(workload.schema, one) for one in chosen])


def _axes(
    group: Axes, members: Mapping[str | None, Mapping[str, int]]
) -> dict[tuple[str | None, str], int]:
    own = {(of, name): axis for of, part in members.items() for name, axis in part.items()}
    return {**own, **group}


def _forbidden(rules: Iterable[Rule], whole: Bools, choices: Iterable[Axes]) -> Bools:
    """The cells that some rule forbids, where all it is about stands in the marginal."""
    found = whole.copy()
    for rule in rules:
        assert rule.cells is not None  # noqa: S101  (the others were left out)
        for axes in choices:
            places = [axes.get((ref.of, ref.name)) for ref in rule.cells.refs]
            known = [place for place in places if place is not None]
            if len(known) < len(places) or len(set(known)) < len(known):
                continue
            shape = [1] * whole.ndim
            for place in known:
                shape[place] = whole.shape[place]
            found |= np.transpose(rule.cells.every, np.argsort(known)).reshape(shape)
    return found


def _all(found: list[Bools], whole: Bools) -> Bools:
    return reduce(np.logical_and, found) if found else whole
