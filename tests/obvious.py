"""Exact answers the slow, obvious way: plain loops over groups and people, one query at a time."""

from __future__ import annotations

from kinfolk.data.encoded import Encoded
from kinfolk.queries.workload import Query, Workload


def obvious_counts(data: Encoded, workload: Workload) -> list[int]:
    return [obvious_count(data, workload.query(index)) for index in range(workload.size)]


def obvious_count(data: Encoded, query: Query) -> int:
    marginal, codes = query.marginal, list(query.codes)
    group_codes = [codes.pop(0) for _ in marginal.group]
    own_codes = [codes.pop(0) for _ in marginal.individual]
    relative_codes = codes
    total = 0
    for g in range(data.groups):
        members = range(data.offsets[g], data.offsets[g + 1])
        if not group_matches(data, g, marginal.group, group_codes):
            continue
        matching = [i for i in members if matches(data, i, marginal.individual, own_codes)]
        if marginal.level == "group":
            total += bool(matching)
        elif marginal.level == "individual":
            total += len(matching)
        else:
            for i in matching:
                total += relation_count(data, i, list(members), query, relative_codes)
    return total


def group_matches(data: Encoded, g: int, attributes: tuple[int, ...], codes: list[int]) -> bool:
    for attribute, code in zip(attributes, codes, strict=True):
        if attribute == data.group.shape[1]:
            if data.sizes[g] != data.schema.sizes[code]:
                return False
        elif data.group[g, attribute] != code:
            return False
    return True


def matches(data: Encoded, i: int, attributes: tuple[int, ...], codes: list[int]) -> bool:
    return all(code_of(data, i, a) == c for a, c in zip(attributes, codes, strict=True))


def code_of(data: Encoded, i: int, attribute: int) -> int:
    if attribute < data.individual.shape[1]:
        return int(data.individual[i, attribute])
    assert data.role is not None
    return int(data.role[i])


def relation_count(
    data: Encoded, i: int, members: list[int], query: Query, codes: list[int]
) -> int:
    """How often person i counts: once if any relative matches, or once per role that has one."""
    schema, marginal = data.schema, query.marginal
    assert schema.roles is not None
    assert data.role is not None
    assert marginal.relation is not None
    names = schema.roles.names
    found = 0
    for who, whom in schema.relations[marginal.relation]:
        if names[data.role[i]] != who:
            continue
        relatives = [j for j in members if j != i and names[data.role[j]] == whom]
        found += any(matches(data, j, marginal.relative, codes) for j in relatives)
    return min(found, 1) if schema.workload.relation_counts == "people" else found
