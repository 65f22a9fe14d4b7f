"""What a group's relatives can add: the quick way beside every way to label them."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk.privacy.contributions import _relation_total
from kinfolk.queries.workload import Tie
from kinfolk.schema import Role, Roles

MEMBERS = 4


def seen(relation: tuple[Tie, ...], people: list[int], labels: tuple[int, ...], label: int) -> int:
    """How many people, by tie, have a relative other than themselves who wears the label."""
    return sum(
        any(
            other != person and people[other] in whom and labels[other] == label
            for other in range(len(people))
        )
        for who, whom in relation
        for person in range(len(people))
        if people[person] == who
    )


@st.composite
def groups(draw: st.DrawFn) -> tuple[tuple[Tie, ...], tuple[int, ...], int]:
    roles = draw(st.integers(1, 3))
    role = st.integers(0, roles - 1)
    ties = draw(st.lists(st.tuples(role, st.frozensets(role, min_size=1)), min_size=1, max_size=3))
    people = draw(st.lists(role, min_size=1, max_size=MEMBERS))
    return tuple(ties), tuple(map(people.count, range(roles))), draw(st.integers(1, len(people)))


@settings(max_examples=150)
@given(groups())
def test_the_worst_labels_are_found(
    case: tuple[tuple[Tie, ...], tuple[int, ...], int],
) -> None:
    relation, composition, cells = case
    people = [role for role, number in enumerate(composition) for _ in range(number)]
    every = [
        [seen(relation, people, labels, label) for label in range(cells)]
        for labels in itertools.product(range(cells), repeat=len(people))
    ]
    found = _relation_total(relation, composition, cells)
    assert found.single == max(max(one) for one in every)
    assert found.l1 == max(sum(one) for one in every)
    assert found.l2_squared == max(sum(number**2 for number in one) for one in every)


def test_many_roles_are_no_obstacle() -> None:
    """Everybody is everybody's relative: whoever has a label alone is seen by all but one."""
    everybody = tuple((who, frozenset(range(7))) for who in range(7))
    found = _relation_total(everybody, (2,) * 7, 14)
    assert (found.single, found.l1, found.l2_squared) == (14, 14 * 13, 14 * 13**2)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 4)), min_size=1, max_size=4),
    st.integers(1, 7),
    st.sampled_from(["drop", "keep"]),
)
def test_compositions_are_all_that_there_are(
    limits: list[tuple[int, int]], max_size: int, others: str
) -> None:
    named = {
        f"r{at}": Role(values=[at], min=min(low, high), max=high)
        for at, (low, high) in enumerate(limits)
    }
    roles = Roles(column="rel", roles=named, others=others)  # type: ignore[arg-type]
    if sum(role.min for role in named.values()) > max_size:
        return
    ranges = [range(low, high + 1) for low, high in roles.limits(max_size)]
    expected = tuple(c for c in itertools.product(*ranges) if 1 <= sum(c) <= max_size)
    assert roles.compositions(max_size) == expected
    assert roles.number_of_compositions(max_size) == len(expected)
