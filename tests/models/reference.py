"""A mixture's answers the slow, obvious way: plain loops over components, compositions and members.

Derivatives are by complex steps: for a polynomial f of real numbers, f(x + ih) has the imaginary
part h f'(x), up to h^3. Nothing is subtracted, so with a tiny h they are as exact as the answers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kinfolk.models.layout import Layout
from kinfolk.queries.workload import Query

STEP = 1e-30
Column = Sequence[complex]
"""All probabilities of one component, as the layout stacks them."""


def reference_answer(
    layout: Layout, column: Column, query: Query, weights: Sequence[int] | None
) -> complex:
    """What one group of a component adds to a query on average."""
    schema, marginal = layout.schema, query.marginal
    codes = list(query.codes)
    group_codes = [codes.pop(0) for _ in marginal.group]
    own_codes = [codes.pop(0) for _ in marginal.individual]

    def has(slot: int, attributes: tuple[int, ...], values: list[int]) -> complex:
        """The chance that a member drawn from the slot has these values."""
        total: complex = 0
        for kind in range(layout.kind_starts[slot], layout.kind_starts[slot + 1]):
            start = layout.individual_start + kind * layout.kind_rows
            likely = column[layout.kind_start + kind] if layout.kinded else 1
            rows = [
                start + layout.individual_offsets[a] + v
                for a, v in zip(attributes, values, strict=True)
            ]
            total += likely * math.prod((column[row] for row in rows), start=1)
        # Everybody is of some kind, whatever the probabilities add up to.
        return total if attributes else 1

    total: complex = 0
    for number, composition in enumerate(schema.compositions):
        chance = column[number]
        for attribute, code in zip(marginal.group, group_codes, strict=True):
            if attribute < len(schema.group_attributes):
                chance *= column[layout.group_start + layout.group_offsets[attribute] + code]
            elif schema.sizes[code] != sum(composition):
                chance *= 0
        members = slots_of(layout, composition)
        found: complex = 0
        if marginal.level == "group":
            found = somebody([has(slot, marginal.individual, own_codes) for slot in members])
        elif marginal.level == "individual":
            found = sum(has(slot, marginal.individual, own_codes) for slot in members)
        else:
            for person, slot in enumerate(members):
                for relatives in relatives_of(layout, members, person, marginal.relation or ""):
                    theirs = [has(members[other], marginal.relative, codes) for other in relatives]
                    found += has(slot, marginal.individual, own_codes) * somebody(theirs)
        total += chance * found * (1 if weights is None else weights[sum(composition)])
    return total


def somebody(chances: Sequence[complex]) -> complex:
    """The chance that at least one of several independent things happens."""
    return 1 - math.prod((1 - chance for chance in chances), start=1)


def slots_of(layout: Layout, composition: Sequence[int]) -> list[int]:
    """The slot of every member: those of a role fill its slots in order."""
    found, slot = [], 0
    for members, scheme in zip(composition, layout.scheme, strict=True):
        places = [slot + at for at, held in enumerate(scheme) for _ in range(held)]
        found += places[:members]
        slot += len(scheme)
    return found


def relatives_of(
    layout: Layout, members: Sequence[int], person: int, relation: str
) -> list[list[int]]:
    """Each list of relatives of whom one must match for the person to count once."""
    schema = layout.schema
    assert schema.roles is not None
    role = [schema.roles.names[layout.slot_roles[slot]] for slot in members]
    lists = [
        [other for other, theirs in enumerate(role) if other != person and theirs == whom]
        for who, whom in schema.relations[relation]
        if who == role[person]
    ]
    if schema.workload.relation_counts == "pairs":
        return lists
    return [sorted({other for found in lists for other in found})]


def reference_answers(
    layout: Layout,
    table: np.ndarray,
    queries: Sequence[Query],
    weights: Sequence[Sequence[int] | None],
) -> np.ndarray:
    """(queries,) the mean over components, all equally likely. table: (rows, K)."""
    return np.array(
        [
            np.mean(
                [reference_answer(layout, column, query, own).real for column in table.T.tolist()]
            )
            for query, own in zip(queries, weights, strict=True)
        ]
    )


def reference_vjp(
    layout: Layout,
    table: np.ndarray,
    queries: Sequence[Query],
    weights: Sequence[Sequence[int] | None],
    cotangent: np.ndarray,
) -> np.ndarray:
    """(rows, K) the derivative of cotangent @ answers by every probability, one after the other."""
    found = np.zeros(table.shape)
    for k, column in enumerate(table.T.tolist()):
        for row in range(len(column)):
            moved = [*column[:row], column[row] + STEP * 1j, *column[row + 1 :]]
            for query, own, given in zip(queries, weights, cotangent, strict=True):
                change = reference_answer(layout, moved, query, own).imag / STEP
                found[row, k] += given * change / table.shape[1]
    # What cannot occur is no parameter.
    return found * layout.possible[:, None]
