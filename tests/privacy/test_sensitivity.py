"""No pair of neighbours moves the answers further than stated; some pair moves them that far."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generators import FAMILY, RELATIONS, random_dataset, schemas, with_cells
from kinfolk.data.encoded import Encoded
from kinfolk.privacy.sensitivity import (
    Sensitivity,
    marginal_sensitivity,
    moves_whole_groups,
    paired_marginals,
    paired_sensitivities,
    size_weights,
    total_sensitivity,
    workload_sensitivities,
    workload_weights,
)
from kinfolk.privacy.unit import Neighbours, Unit
from kinfolk.queries.added_marginals import with_numbers, with_totals
from kinfolk.queries.counting import count
from kinfolk.queries.workload import Workload
from kinfolk.schema import Level, Role, Roles, Schema
from kinfolk.schema.bins import FineAttributes, codes_of_cells
from promises import ADD_REMOVE, IN_PLACE, REPLACE

Weights = np.ndarray | None


def one_group(schema: Schema, rng: np.random.Generator) -> Encoded:
    return random_dataset(schema, groups=1, rng=rng)


def change_person(data: Encoded, person: int, rng: np.random.Generator) -> Encoded:
    """Another person in the same place: same role; derived attributes of the group follow."""
    schema = data.schema
    individual, group = data.individual.copy(), data.group.copy()
    for index, attribute in enumerate(schema.individual_attributes.values()):
        individual[person, index] = rng.integers(attribute.size)
    for index, attribute in enumerate(schema.group_attributes.values()):
        if attribute.derived:
            group[0, index] = rng.integers(attribute.size)
    return replace(data, individual=individual, group=group)


def exceeded(change: np.ndarray, bound: Sensitivity) -> bool:
    return bool(
        np.abs(change).max(initial=0) > bound.single
        or np.abs(change).sum() > bound.l1
        or (change**2).sum() > bound.l2_squared
    )


def check(
    workload: Workload, old: Encoded | None, new: Encoded, neighbours: Neighbours, weights: Weights
) -> bool:
    """Whether every marginal's change stays within its stated sensitivity."""
    change = count(new, workload, weights=weights)
    # A group that is not there, or that cleaning drops, adds nothing.
    if old is not None:
        change -= count(old, workload, weights=weights)
    bounds = workload_sensitivities(workload, neighbours, weights=weights)
    places = [place for _, place in workload.slices()]
    both = paired_sensitivities(workload, neighbours, weights=weights)
    return (
        not exceeded(change, total_sensitivity(bounds))
        and not any(exceeded(change[at], bound) for at, bound in zip(places, bounds, strict=True))
        and not any(
            exceeded(np.concatenate([change[places[at]] for at in pair]), bound)
            for pair, bound in both.items()
        )
    )


@pytest.mark.parametrize("weighted", [False, True])
@settings(deadline=None, max_examples=150)
@given(schema=schemas(), seed=st.integers(0, 2**32 - 1))
def test_a_replaced_group_stays_within_bounds(schema: Schema, seed: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    workload = Workload.of(schema)
    weights = workload_weights(workload, REPLACE.unit) if weighted else None
    old, new = one_group(schema, rng), one_group(schema, rng)
    assert check(workload, old, new, REPLACE, weights)
    # One more or less; or one that is kept by one that cleaning drops.
    assert check(workload, None, new, ADD_REMOVE, weights)
    assert check(workload, None, new, REPLACE, weights)


@pytest.mark.parametrize("weighted", [False, True])
@settings(deadline=None, max_examples=150)
@given(schema=schemas(), seed=st.integers(0, 2**32 - 1))
def test_a_changed_person_stays_within_bounds(schema: Schema, seed: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    workload = Workload.of(schema)
    weights = workload_weights(workload, IN_PLACE.unit) if weighted else None
    old = one_group(schema, rng)
    new = change_person(old, int(rng.integers(old.people)), rng)
    assert check(workload, old, new, IN_PLACE, weights)


def change_person_finely(data: Encoded, person: int, rng: np.random.Generator) -> Encoded:
    """Another person in the same place, whose numbers may lie elsewhere in the same bins."""
    changed = with_cells(change_person(data, person, rng), rng)
    old, new, fine = data.cells, changed.cells, FineAttributes.of(data.schema)
    assert old is not None
    assert new is not None
    # Everybody else stays as they were, and what is not derived of the group.
    individual, group = changed.individual.copy(), changed.group.copy()
    for name, own in new.individual.items():
        own[np.arange(data.people) != person] = old.individual[name][
            np.arange(data.people) != person
        ]
        attribute = data.schema.individual_attributes[name]
        bins = np.array(codes_of_cells(attribute, fine.individual[name]))
        individual[:, list(data.schema.individual_attributes).index(name)] = bins[own]
    for name, own in new.group.items():
        if not data.schema.group_attributes[name].derived:
            own[:] = old.group[name]
        attribute = data.schema.group_attributes[name]
        bins = np.array(codes_of_cells(attribute, fine.group[name]))
        group[:, list(data.schema.group_attributes).index(name)] = bins[own]
    return replace(changed, individual=individual, group=group)


@pytest.mark.parametrize("weighted", [False, True])
@settings(deadline=None, max_examples=100)
@given(schema=schemas(), seed=st.integers(0, 2**32 - 1))
def test_numbers_on_their_own_stay_within_bounds(schema: Schema, seed: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    workload = with_totals(with_numbers(Workload.of(schema)))
    for neighbours in (REPLACE, ADD_REMOVE, IN_PLACE):
        weights = workload_weights(workload, neighbours.unit) if weighted else None
        old = with_cells(one_group(schema, rng), rng)
        if neighbours is IN_PLACE:
            new = change_person_finely(old, int(rng.integers(old.people)), rng)
        else:
            new = with_cells(one_group(schema, rng), rng)
        assert check(workload, None if neighbours is ADD_REMOVE else old, new, neighbours, weights)


@pytest.mark.parametrize(
    ("neighbours", "group", "individual"), [(ADD_REMOVE, 1, 1), (REPLACE, 2, 2), (IN_PLACE, 0, 2)]
)
def test_a_number_on_its_own_costs_what_one_household_can_move(
    neighbours: Neighbours, group: int, individual: int
) -> None:
    """All members in one cell, and then in another, move a number as far as is stated."""
    schema = Schema.from_text("""
group: {table: homes, id: home, attributes: {rent: {bins: [0, 10, 99]}}}
individual: {table: people, group_id: home, attributes: {age: {bins: [0, 18, 99], integer: true}}}
max_size: 5
workload: {k: 1}
""")
    workload = with_numbers(Workload.of(schema))
    weights = workload_weights(workload, neighbours.unit)
    bounds = workload_sensitivities(workload, neighbours, weights=weights)
    stated = {
        (one.level, one.fine): bound.l2_squared / 2520**2
        for one, bound in zip(workload.marginals, bounds, strict=True)
        if one.alone
    }
    expected = {Level.GROUP: group, Level.INDIVIDUAL: individual}
    assert stated == {(level, fine): expected[level] for level in expected for fine in (0, 1)}
    paired = {
        at for pair in paired_sensitivities(workload, neighbours, weights=weights) for at in pair
    }
    assert not any(workload.marginals[at].alone for at in paired)
    seen: set[tuple[Level, bool, int]] = set()
    rng = np.random.default_rng(1)
    for size in schema.sizes:
        base = replace(one_group(schema, rng), offsets=np.array([0, size]))
        base = replace(base, individual=np.zeros((size, 1), np.uint8))
        base = with_cells(base, rng)
        assert base.cells is not None
        for cell in base.cells.individual.values():
            cell[:] = 0
        other = replace(
            base,
            cells=replace(
                base.cells,
                individual={"age": base.cells.individual["age"] + 1},
                group={"rent": (base.cells.group["rent"] + 1) % 5},
            ),
        )
        change = count(other, workload, weights=weights)
        if neighbours is REPLACE:
            change -= count(base, workload, weights=weights)
        for one, place in workload.slices():
            if one.fine and neighbours is not IN_PLACE:
                seen.add((one.level, one.fine, int((change[place] ** 2).sum() / 2520**2 + 0.001)))
    if neighbours is not IN_PLACE:
        assert seen == {(level, True, expected[level]) for level in expected}


def family_schema(*, counts: str = "people", children: int = 4) -> Schema:
    """Attributes with room for everybody to differ, so that the worst case exists."""
    values = ", ".join(map(str, range(14)))
    schema = Schema.from_text(f"""
group: {{table: homes, id: home, attributes: {{g: {{values: [0, 1]}}}}}}
individual: {{table: people, group_id: home, attributes: {{a: {{values: [{values}]}}}}}}
max_size: {2 + children}
workload: {{k: 2}}
""")
    roles = {**FAMILY.roles, "child": Role(values=[2], min=0, max=children)}
    return replace(
        schema,
        roles=Roles(column="relate", roles=roles),
        relations=RELATIONS,
        workload=replace(
            schema.workload,
            levels=("group", "individual", "relation"),
            relation_counts=counts,
        ),
    )


def patterns(schema: Schema) -> list[Encoded]:
    """Groups of every composition whose values pile up or spread out, role by role."""
    found: list[Encoded] = []
    base = random_dataset(schema, groups=1, rng=np.random.default_rng(0))
    for composition in schema.compositions:
        members = sum(composition)
        role = np.repeat(np.arange(len(composition)), composition).astype(np.uint8)
        same = np.zeros(members, int)
        layouts = [same, same + 1, np.arange(members), np.arange(members) + 7]
        # Heads and spouses alike, children apart; and the other way round.
        layouts += [np.where(role < 2, 0, np.arange(members)), np.where(role < 2, role, 5)]
        for layout in layouts:
            codes = (layout % 14).astype(base.individual.dtype).reshape(-1, 1)
            found.append(
                replace(
                    base,
                    individual=codes,
                    role=role if schema.roles else None,
                    offsets=np.array([0, members]),
                )
            )
    return found


def largest_change(
    schema: Schema, neighbours: Neighbours, workload: Workload, weights: Weights
) -> list[dict]:
    """Per marginal, the largest changes over all pairs of patterns."""
    groups = patterns(schema)
    found = [dict.fromkeys(("single", "l1", "l2_squared"), 0) for _ in workload.marginals]

    def note(old: np.ndarray, new: np.ndarray) -> None:
        for best, (_, place) in zip(found, workload.slices(), strict=True):
            change = new[place] - old[place]
            best["single"] = max(best["single"], int(np.abs(change).max()))
            best["l1"] = max(best["l1"], int(np.abs(change).sum()))
            best["l2_squared"] = max(best["l2_squared"], int((change**2).sum()))

    if neighbours is not IN_PLACE:
        answers = [count(group, workload, weights=weights) for group in groups]
        nothing = np.zeros_like(answers[0])
        replaced = itertools.combinations(answers, 2) if neighbours is REPLACE else ()
        for old, new in (*((nothing, one) for one in answers), *replaced):
            note(old, new)
        return found
    for group in groups:
        before = count(group, workload, weights=weights)
        for person, value in itertools.product(range(group.people), range(14)):
            codes = group.individual.copy()
            codes[person, 0] = value
            changed = replace(group, individual=codes)
            note(before, count(changed, workload, weights=weights))
    return found


# The table of the privacy brief: single query, L2 of the whole marginal, squared, for M_c = 4.
EXPECTED = {
    ("people", REPLACE, "group"): (1, 2 * 6),
    ("people", REPLACE, "individual"): (6, 2 * 6**2),
    ("people", REPLACE, "married_to"): (2, 8),
    ("people", REPLACE, "has_child"): (2, 8 * 4),
    ("people", REPLACE, "has_parent"): (4, 8**2),
    ("pairs", REPLACE, "has_parent"): (8, 8 * 4**2),
    ("people", ADD_REMOVE, "group"): (1, 6),
    ("people", ADD_REMOVE, "individual"): (6, 6**2),
    ("people", ADD_REMOVE, "married_to"): (2, 4),
    ("people", ADD_REMOVE, "has_child"): (2, 4 * 4),
    ("people", ADD_REMOVE, "has_parent"): (4, 32),
    ("pairs", ADD_REMOVE, "has_parent"): (8, 4 * 4**2),
    ("people", IN_PLACE, "group"): (1, 2),
    ("people", IN_PLACE, "individual"): (1, 2),
    ("people", IN_PLACE, "married_to"): (2, 6),
    ("people", IN_PLACE, "has_child"): (2, 8),
    ("people", IN_PLACE, "has_parent"): (4, 32),
    ("pairs", IN_PLACE, "has_parent"): (4, 2 * 4**2),
}


@pytest.mark.parametrize(("counts", "neighbours", "family"), EXPECTED)
def test_the_table_is_stated_and_attained(counts: str, neighbours: Neighbours, family: str) -> None:
    schema = family_schema(counts=counts)
    workload = Workload.of(schema, sets=[["a"], ["g", "a"]])
    full = Workload.of(schema, k=2, levels=["relation"])
    both = [b for b in full.marginals if b.individual and b.relative]
    marginals = [b for b in workload.marginals if family in (b.level, b.relation)]
    marginals += [b for b in both if b.relation == family]
    workload = replace(workload, marginals=tuple(marginals))
    stated = workload_sensitivities(workload, neighbours)
    single, l2_squared = EXPECTED[counts, neighbours, family]
    assert max(bound.single for bound in stated) == single
    assert max(bound.l2_squared for bound in stated) == l2_squared
    reached = largest_change(schema, neighbours, workload, None)
    assert max(best["single"] for best in reached) == single
    assert max(best["l2_squared"] for best in reached) == l2_squared


@pytest.mark.parametrize(("neighbours", "turns"), [(ADD_REMOVE, 1), (REPLACE, 2)])
@pytest.mark.parametrize("level", ["group", "individual"])
def test_size_weights_make_the_household_nearly_free(
    level: str, neighbours: Neighbours, turns: int
) -> None:
    """Weighted, a group adds at most one unit to any marginal, and some group adds as much.

    So one more or less moves it by one, and one by another by sqrt(2).
    """
    schema = family_schema()
    workload = Workload.of(schema, sets=[["a"]], levels=[level])
    weights = workload_weights(workload, neighbours.unit)
    (bound,) = workload_sensitivities(workload, neighbours, weights=weights)
    (reached,) = largest_change(schema, neighbours, workload, weights)
    unit = turns * 2520**2
    assert unit * 0.999 < bound.l2_squared <= unit
    assert reached["l2_squared"] == bound.l2_squared


@pytest.mark.parametrize("relation", list(RELATIONS))
@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_size_weights_make_relations_as_cheap_as_the_rest(
    neighbours: Neighbours, relation: str
) -> None:
    """Weighted, a unit moves no relation by more than sqrt(2) units; some change attains it."""
    schema = family_schema()
    workload = Workload.of(schema, k=2, levels=["relation"])
    marginals = [one for one in workload.marginals if one.relation == relation and one.individual]
    workload = replace(workload, marginals=tuple(marginals))
    weights = workload_weights(workload, neighbours.unit)
    bounds = workload_sensitivities(workload, neighbours, weights=weights)
    most = (1 if neighbours is ADD_REMOVE else 2) * 2520**2
    assert all(0 < bound.l2_squared <= most for bound in bounds)
    reached = largest_change(schema, neighbours, workload, weights)
    assert [one["l2_squared"] for one in reached] == [bound.l2_squared for bound in bounds]
    plain = workload_sensitivities(workload, neighbours)
    assert all(one.l2_squared >= 4 for one in plain)


@pytest.mark.parametrize(("neighbours", "turns"), [(ADD_REMOVE, 1), (REPLACE, 2)])
@pytest.mark.parametrize("cells", [2, 3, 14])
def test_pairs_cost_no_more_than_one(cells: int, neighbours: Neighbours, turns: int) -> None:
    """Groups and individuals asked the same, weighted: one unit (or two) for both, and no less."""
    schema = family_schema()
    few = replace(schema.individual_attributes["a"], values=range(cells))
    schema = replace(schema, individual=replace(schema.individual, attributes={"a": few}))
    workload = Workload.of(schema, sets=[["a"]], levels=["group", "individual"])
    weights = workload_weights(workload, REPLACE.unit)
    ((pair, both),) = paired_sensitivities(workload, neighbours, weights=weights).items()
    assert pair == (0, 1)
    unit = turns * 2520**2
    assert unit * 0.998 < both.l2_squared <= unit
    alone = workload_sensitivities(workload, neighbours, weights=weights)
    assert total_sensitivity(alone).l2_squared > 1.4 * both.l2_squared
    # Over every size and every way to fill the cells, two groups without a cell in common.
    norms = [
        sum(
            int(weights[0, size]) ** 2 * (number > 0) + (int(weights[1, size]) * number) ** 2
            for number in numbers
        )
        for size in schema.sizes
        for numbers in itertools.product(range(size + 1), repeat=min(cells, size))
        if sum(numbers) == size
    ]
    assert max(norms) * turns == both.l2_squared


@pytest.mark.parametrize("weighted", [False, True])
def test_the_bound_on_pairs_is_attained(weighted: bool) -> None:
    schema = family_schema()
    workload = Workload.of(schema, sets=[["a"]], levels=["group", "individual"])
    weights = workload_weights(workload, REPLACE.unit) if weighted else None
    answers = [count(group, workload, weights=weights) for group in patterns(schema)]
    (both,) = paired_sensitivities(workload, REPLACE, weights=weights).values()
    changes = [((a - b) ** 2).sum() for a, b in itertools.combinations(answers, 2)]
    assert max(changes) == both.l2_squared
    (one,) = paired_sensitivities(workload, ADD_REMOVE, weights=weights).values()
    assert max((answer**2).sum() for answer in answers) == one.l2_squared


def test_one_person_can_move_pairs_as_far_as_either_goes() -> None:
    """Only where a whole group changes is there anything to save."""
    schema = family_schema()
    workload = Workload.of(schema, sets=[["a"], ["g", "a"]], levels=["group", "individual"])
    assert paired_sensitivities(workload, IN_PLACE) == {}
    derived = replace(schema.group_attributes["g"], derived=True)
    assert schema.group is not None
    schema = replace(schema, group=replace(schema.group, attributes={"g": derived}))
    workload = replace(workload, schema=schema)
    group = paired_sensitivities(workload, REPLACE)
    (person,) = paired_sensitivities(workload, IN_PLACE).items()
    assert len(group) == 2
    assert person in group.items()


def test_a_group_attribute_alone_is_not_protected_by_the_person_unit() -> None:
    schema = family_schema()
    workload = Workload.of(schema, sets=[["g"]], levels=["group", "individual"])
    for bound in workload_sensitivities(workload, IN_PLACE):
        assert bound == Sensitivity(single=0, l1=0, l2_squared=0)


def test_a_derived_attribute_takes_the_household_column() -> None:
    schema = family_schema()
    assert schema.group is not None
    attributes = {"g": replace(schema.group_attributes["g"], derived=True)}
    derived = replace(schema, group=replace(schema.group, attributes=attributes))
    for marginal in Workload.of(derived, sets=[["g", "a"]]).marginals:
        person = marginal_sensitivity(derived, marginal, IN_PLACE)
        assert person == marginal_sensitivity(derived, marginal, REPLACE)


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_a_planted_half_is_caught(neighbours: Neighbours, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check above must fail for a sensitivity that is half of what it should be."""
    schema = family_schema()
    workload = Workload.of(schema, sets=[["a"]], levels=["individual"])
    groups = patterns(schema)
    rng = np.random.default_rng(1)
    pairs = {
        ADD_REMOVE: [(None, group) for group in groups],
        REPLACE: list(itertools.product(groups, groups)),
        IN_PLACE: [(group, change_person(group, 0, rng)) for group in groups],
    }[neighbours]
    assert all(check(workload, old, new, neighbours, None) for old, new in pairs)

    def halved(
        workload: Workload, neighbours: Neighbours, *, weights: Weights = None
    ) -> list[Sensitivity]:
        bounds = [
            marginal_sensitivity(workload.schema, marginal, neighbours)
            for marginal in workload.marginals
        ]
        return [replace(b, single=b.single / 2, l2_squared=b.l2_squared / 4) for b in bounds]

    monkeypatch.setitem(globals(), "workload_sensitivities", halved)
    assert not all(check(workload, old, new, neighbours, None) for old, new in pairs)


def test_pairs_that_are_too_cheap_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check must fail if pairs are charged as the dearer of the two alone, unweighted."""
    schema = family_schema()
    workload = Workload.of(schema, sets=[["a"]], levels=["group", "individual"])
    neighbours = list(itertools.product(patterns(schema), repeat=2))
    assert all(check(workload, old, new, REPLACE, None) for old, new in neighbours)

    def dearer(workload: Workload, unit: Neighbours, *, weights: Weights) -> dict:
        alone = workload_sensitivities(workload, unit, weights=weights)
        both = total_sensitivity(alone)
        return {(0, 1): replace(both, l2_squared=max(one.l2_squared for one in alone))}

    monkeypatch.setitem(globals(), "paired_sensitivities", dearer)
    assert not all(check(workload, old, new, REPLACE, None) for old, new in neighbours)


def test_weights_of_sizes_that_cannot_occur_are_zero() -> None:
    schema = family_schema()
    assert schema.roles is not None
    marginal = Workload.of(schema, sets=[["a"]]).marginals[0]
    assert size_weights(schema, marginal, REPLACE.unit)[0] == 0


@pytest.mark.parametrize("neighbours", list(Neighbours))
@settings(deadline=None, max_examples=60)
@given(schema=schemas())
def test_what_marginals_share_is_what_each_has(schema: Schema, neighbours: Neighbours) -> None:
    workload = Workload.of(schema)
    for weights in (None, workload_weights(workload, neighbours.unit)):
        rows = weights if weights is not None else [None] * len(workload.marginals)
        assert workload_sensitivities(workload, neighbours, weights=weights) == [
            marginal_sensitivity(schema, marginal, neighbours, weights=row)
            for marginal, row in zip(workload.marginals, rows, strict=True)
        ]


@pytest.mark.parametrize("unit", list(Unit))
@settings(deadline=None, max_examples=60)
@given(schema=schemas())
def test_weights_that_marginals_share_are_what_each_has(schema: Schema, unit: Unit) -> None:
    workload = Workload.of(schema)
    paired = {at for pair in paired_marginals(workload) for at in pair}
    for at, row in enumerate(workload_weights(workload, unit)):
        marginal = workload.marginals[at]
        joint = at in paired and moves_whole_groups(schema, marginal, unit)
        assert row.tolist() == size_weights(schema, marginal, unit, paired=joint).tolist()
