"""Layouts: who is drawn from which slot, and where probabilities stand."""

from __future__ import annotations

import numpy as np
import pytest

from kinfolk.errors import KinfolkError
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout, Scheme
from kinfolk.schema import Schema


def plain(size: int) -> Schema:
    return Schema.from_text(f"""
group: {{table: homes, id: home, attributes: {{veh: {{values: [0, 1, 2]}}}}}}
individual:
  table: people
  group_id: home
  attributes: {{sex: {{values: [m, f]}}, age: {{values: [0, 1, 2, 3]}}}}
max_size: {size}
workload: {{k: 1}}
""")


def family() -> Schema:
    text = plain(6).to_yaml()
    return Schema.from_text(
        text
        + """
roles:
  column: relate
  head: {values: [0], min: 1, max: 1}
  child: {values: [2], min: 0, max: 3}
  others: keep
"""
    )


@pytest.mark.parametrize(
    ("size", "scheme"),
    [
        (1, [1]),
        (3, [1, 1, 1]),
        (4, [1, 1, 1, 1]),
        (9, [1, 1, 1, 2, 2, 2]),
        (10, [1, 1, 1, 2, 2, 3]),
        (17, [1, 1, 1, 2, 2, 3, 3, 3, 1]),
    ],
)
def test_the_papers_scheme_goes_on(size: int, scheme: list[int]) -> None:
    layout = Layout.of(plain(size))
    assert layout.scheme == (tuple(scheme),)
    assert layout.mult.sum(axis=1).tolist() == list(range(1, size + 1))
    assert layout.mult[-1].tolist() == scheme


def test_members_take_slots_in_order() -> None:
    layout = Layout.of(plain(5), scheme=[1, 3, 4])
    assert layout.scheme == ((1, 3, 1),)
    assert layout.mult.tolist() == [[1, 0, 0], [1, 1, 0], [1, 2, 0], [1, 3, 0], [1, 3, 1]]


def test_each_role_has_its_slots() -> None:
    schema = family()
    layout = Layout.of(schema, scheme={"child": [1, 2]})
    assert layout.slot_roles == (0, 1, 1, 2)
    for composition, mult in zip(schema.compositions, layout.mult, strict=True):
        head, child, other = composition
        assert mult.tolist() == [head, min(child, 1), max(0, child - 1), other]
    assert Layout.of(schema).scheme == ((1,), (3,), (5,))


def test_rows_stand_end_to_end() -> None:
    layout = Layout.of(plain(3))
    assert layout.segments.tolist() == [0, 3, 6, 8, 12, 14, 18, 20, 24]
    assert (layout.group_start, layout.individual_start, layout.rows) == (3, 6, 24)
    model = HPD.random(layout, 7, np.random.default_rng(1))
    sums = np.add.reduceat(model.probabilities, layout.segments[:-1], axis=0)
    np.testing.assert_allclose(sums, 1)
    assert model.individual[1, 2].tolist() == model.probabilities[6 + 6 + 2].tolist()
    assert layout.parameters(7) == model.probabilities.size


def test_layouts_of_equal_schemas_are_equal() -> None:
    assert Layout.of(plain(4)) == Layout.of(plain(4))
    assert Layout.of(plain(4)) != Layout.of(plain(4), scheme=[4])


@pytest.mark.parametrize(
    ("schema", "scheme", "message"),
    [
        (plain(4), [1, 2], r"holds 3 members, but a group may have 4\. Add slots"),
        (plain(4), [1, 0, 3], r"\[1, 0, 3\] is not a list of whole numbers of at least 1"),
        (plain(4), [1, 1.5, 3], "not a list of whole numbers"),
        (plain(4), {"head": [1]}, "names roles, and there are none"),
        (family(), [1, 2], "does not say of which role"),
        (family(), {"child": [2]}, "holds 2 members of role 'child', but a group may have 3"),
        (family(), {"kid": [3]}, "names the role 'kid'. Declared roles: head, child, other"),
    ],
)
def test_schemes_that_do_not_fit_are_refused(schema: Schema, scheme: Scheme, message: str) -> None:
    with pytest.raises(KinfolkError, match=message):
        Layout.of(schema, scheme=scheme)
