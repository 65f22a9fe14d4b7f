"""The universe lists every group once, and says what it costs before it does."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings

from kinfolk.datasets import SCHEMAS, load_schema
from kinfolk.errors import KinfolkError
from kinfolk.models.histogram import Histogram
from kinfolk.models.universe import Universe, distinct_size, universe_size
from kinfolk.schema import Schema
from models.listed import all_groups, group_keys, tiny_schema, tiny_schemas


def universe_keys(universe: Universe) -> list[tuple[object, ...]]:
    """What every cast in every kind of household is, casts first."""
    keys: list[tuple[object, ...]] = []
    for cast in range(universe.casts):
        size, composition = universe.sizes[cast], universe.composition[cast]
        roles = universe.roles[composition, :size].tolist()
        codes = universe.person_codes[universe.members[cast, :size]].tolist()
        members = tuple(sorted((r, *c[:-1]) for r, c in zip(roles, codes, strict=True)))
        keys += [(tuple(kind), members) for kind in universe.group_codes.tolist()]
    return keys


@settings(max_examples=40)
@given(schema=tiny_schemas())
def test_every_group_is_listed_once(schema: Schema) -> None:
    universe = Universe.of(schema)
    expected = Counter(group_keys(all_groups(schema)))
    listed = universe_keys(universe)
    assert sorted(listed) == sorted(expected)
    assert universe.size == universe_size(schema) == sum(expected.values())
    assert universe.casts * universe.group_cells == distinct_size(schema) == len(expected)
    orders = np.repeat(np.exp(universe.orders), universe.group_cells)
    np.testing.assert_allclose(orders, [expected[key] for key in listed])


@settings(max_examples=20)
@given(schema=tiny_schemas())
def test_uniform_means_every_order_of_members(schema: Schema) -> None:
    histogram = Histogram.uniform(schema)
    sizes = all_groups(schema).sizes
    assert histogram.probabilities.sum() == pytest.approx(1)
    assert histogram.mean_size() == pytest.approx(sizes.mean())


def test_the_papers_reduced_data_has_the_papers_universe() -> None:
    universe = Universe.of(load_schema("acs-red"))
    assert universe.size == 262_080
    assert universe.casts * universe.group_cells == 60 * (16 + 136 + 816)


@pytest.mark.parametrize("name", [name for name in SCHEMAS if name != "acs-red"])
def test_what_does_not_fit_is_refused_with_its_size(name: str) -> None:
    with pytest.raises(KinfolkError, match=r"allows about \d\.\de\d+ groups, .* 3,000,000"):
        Universe.of(load_schema(name))


def test_the_refusal_says_what_would_fit() -> None:
    schema = load_schema("acs-red")
    with pytest.raises(KinfolkError) as refused:
        Universe.of(schema, limit=10_000)
    assert str(refused.value) == (
        "the schema allows 262,080 groups, 58,080 up to the order of members; a method that lists "
        "them takes 10,000. What would fit: max_size 2; or at most 8 kinds of persons (now 16), by "
        "fewer or coarser attributes. hpd-fixed and hpd-gen have no such limit."
    )


@pytest.mark.parametrize("roles", [False, True])
def test_what_the_refusal_says_would_fit_does(roles: bool) -> None:
    schema = tiny_schema([3], [6], max_size=4, roles=roles)
    smaller = tiny_schema([3], [6], max_size=2, roles=roles)
    limit = distinct_size(smaller)
    with pytest.raises(KinfolkError, match="max_size 2; or at most"):
        Universe.of(schema, limit=limit)
    Universe.of(smaller, limit=limit)


def test_sizes_beyond_any_number_are_still_said() -> None:
    schema = tiny_schema([9] * 6, [60_000] * 5, max_size=255)
    with pytest.raises(KinfolkError, match=r"about \d\.\de60\d\d groups"):
        Universe.of(schema)
