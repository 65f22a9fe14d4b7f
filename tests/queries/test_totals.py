"""Totals: what groups have of amounts, counted up to a cap, named, and read back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from kinfolk.data.encode import encode
from kinfolk.data.encoded import Encoded, capped_units, joint_bands, total_units
from kinfolk.privacy.sensitivity import (
    WEIGHT_SCALE,
    workload_sensitivities,
    workload_weights,
)
from kinfolk.queries import counting
from kinfolk.queries.added_marginals import with_numbers, with_totals
from kinfolk.queries.counting import Counter, count
from kinfolk.queries.naming import describe_marginal, marginal_from
from kinfolk.queries.workload import Workload
from kinfolk.schema import Level, Schema
from kinfolk.schema.totals import UNITS, Totals
from promises import ADD_REMOVE, IN_PLACE, REPLACE

SCHEMA = Schema.from_text("""
group:
  table: homes
  id: home
  attributes:
    weight: {bins: [0, 10, 20, 1000], decimals: 0}
    income: {bins: [-1000, 0, 100, 300, 600, 100000], special: [0], decimals: 0, missing: true}
    aid: {bins: [0, 50, 9000], special: [0], decimals: 0}
    rooms: {bins: [1, 2, 3], integer: true}
  weight: weight
individual:
  table: people
  group_id: home
  attributes:
    age: {bins: [0, 18, 99], integer: true}
    wage: {bins: [0, 100, 200, 400, 50000], special: [0], decimals: 0, missing: true}
    hours: {bins: [0, 35, 99], integer: true, missing: true}
    gift: {bins: [0, 10, 5000], special: [0], decimals: 2}
max_size: 3
workload: {k: 1}
""")
TABLES = {
    "homes": pa.table(
        {
            "home": [1, 2, 3],
            "weight": [5, 15, 30],
            "income": pa.array([-50, None, 900], pa.int64()),
            "aid": [0, 60, 0],
            "rooms": [1, 2, 2],
        }
    ),
    "people": pa.table(
        {
            "home": [1, 2, 2, 3, 3],
            "age": [40, 30, 5, 50, 60],
            "wage": pa.array([150, 350, None, 390, 380], pa.int64()),
            "hours": pa.array([40, None, None, 20, 10], pa.int64()),
            "gift": [0.0, 2.0, 3.0, 0.0, 0.0],
        }
    ),
}
WORKLOAD = with_totals(with_numbers(Workload.of(SCHEMA)))


def data(**told: bool) -> Encoded:
    return encode(SCHEMA, TABLES, **told)


def test_totals_are_the_weight_the_largest_amount_and_those_of_members() -> None:
    totals = Totals(schema=SCHEMA)
    named = [(one.level, one.positions, one.cap) for one in totals.sums]
    assert named == [
        (Level.GROUP, (0,), 20.0),
        (Level.GROUP, (1,), 600.0),
        (Level.INDIVIDUAL, (1,), 400.0),
        (Level.INDIVIDUAL, (3,), 10.0),
    ]
    # Gifts are of another kind than the income, as they are far smaller.
    assert totals.joint is not None
    assert (totals.joint[0], totals.joint[1].positions) == (1, (1,))


def test_amounts_are_of_one_kind_however_many_decimals_they_have() -> None:
    text = SCHEMA.to_yaml().replace("[0, 10, 5000]", "[0, 10, 20, 5000]")
    joint = Totals(schema=Schema.from_text(text)).joint
    assert joint is not None
    assert joint[1].positions == (1, 3)


def test_totals_of_numbers_and_of_cells_agree() -> None:
    """A group's total is known to within the cells that its numbers lie in."""
    known, cells = data(keep_numbers=True), data(finely=True)
    for total, exact in zip(
        Totals(schema=SCHEMA).sums,
        ([5, 15, 20], [0, 0, 600], [150, 350, 400], [0, 5, 0]),
        strict=True,
    ):
        units = np.array(exact) * UNITS / total.cap
        assert np.abs(capped_units(known, total) - units).max() <= 1
        assert np.abs(capped_units(cells, total) - units).max() <= 0.1 * UNITS
    wage = Totals(schema=SCHEMA).sums[2]
    assert np.abs(total_units(known, wage) - np.array([150, 350, 770]) * UNITS / 400).max() <= 2


def test_bands_tell_nothing_from_something() -> None:
    own, members = joint_bands(data(keep_numbers=True), Totals(schema=SCHEMA))
    shape = Totals(schema=SCHEMA).shape_of_joint()
    # Bands are those of the income: below 0, to 100, 300, 600, beyond; 0 and blank are apart.
    assert (own.tolist(), shape) == ([0, 6, 4], (7, 5))
    assert members.tolist() == [2, 3, 4]


def test_no_group_counts_for_more_than_its_weight() -> None:
    weights = workload_weights(WORKLOAD, ADD_REMOVE.unit)
    counts = count(data(finely=True), WORKLOAD, weights=weights)
    found = {
        (one.total, one.group, one.individual): counts[place]
        for one, place in WORKLOAD.slices()
        if one.total
    }
    units = sum(capped_units(data(finely=True), Totals(schema=SCHEMA).sums[2]))
    assert found["sum", (), (1,)].tolist() == [units]
    assert units <= 3 * WEIGHT_SCALE
    bands = found["bands", (1,), (1,)]
    assert bands.sum() == 3 * WEIGHT_SCALE
    assert np.count_nonzero(bands) == 3


def test_counts_of_parts_add_up() -> None:
    whole, parts = Counter(WORKLOAD), Counter(WORKLOAD)
    whole.add(data(finely=True))
    for at in range(3):
        parts.add(data(finely=True).take(np.array([at])))
    assert (whole.counts == parts.counts).all()


@pytest.mark.parametrize(("neighbours", "turns"), [(ADD_REMOVE, 1), (REPLACE, 2), (IN_PLACE, 2)])
def test_one_household_moves_a_total_by_its_weight(neighbours: object, turns: int) -> None:
    """Under `person` too: whoever earns everything takes all of it along."""
    weights = workload_weights(WORKLOAD, neighbours.unit)
    bounds = workload_sensitivities(WORKLOAD, neighbours, weights=weights)
    for marginal, bound in zip(WORKLOAD.marginals, bounds, strict=True):
        if marginal.total and (marginal.individual or neighbours is not IN_PLACE):
            assert bound.single == WEIGHT_SCALE
            assert bound.l2_squared == turns * WEIGHT_SCALE**2


def test_a_cap_that_is_not_kept_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: the third home has nearly twice the cap of wages, and must not count so."""
    weights = workload_weights(WORKLOAD, ADD_REMOVE.unit)
    bounds = workload_sensitivities(WORKLOAD, ADD_REMOVE, weights=weights)
    home = data(finely=True).take(np.array([2]))

    def within() -> bool:
        counts = count(home, WORKLOAD, weights=weights)
        places = [place for _, place in WORKLOAD.slices()]
        return all(
            counts[at].max() <= bound.single and (counts[at] ** 2).sum() <= bound.l2_squared
            for at, bound in zip(places, bounds, strict=True)
        )

    assert within()
    monkeypatch.setattr(counting, "capped_units", total_units)
    assert not within()


def test_a_household_of_endless_means_moves_nobody_else() -> None:
    """Sums that are too large for whole numbers were rounded, and with them those of others."""
    schema = Schema.from_text("""
group: {table: homes, id: home, attributes: {rent: {bins: [0, 0.5, 1, 10], special: [0]}}}
individual:
  table: people
  group_id: home
  attributes: {wage: {bins: [0, 1, 20, 30, 7.0e+15], special: [0]}}
max_size: 3
workload: {k: 1}
""")
    workload = with_totals(with_numbers(Workload.of(schema)))
    assert [one.total for one in workload.marginals if one.total] == ["sum", "sum", "bands"]
    weights = workload_weights(workload, ADD_REMOVE.unit)
    bounds = workload_sensitivities(workload, ADD_REMOVE, weights=weights)

    def counted(wages: list[float]) -> np.ndarray:
        homes = list(range(len(wages)))
        tables = {
            "homes": pa.table({"home": homes, "rent": [0.1] * len(wages)}),
            "people": pa.table({"home": homes, "wage": wages}),
        }
        return count(encode(schema, tables, finely=True), workload, weights=weights)

    poor = [0.2, 0.7, 0.2, 0.7, 0.2]
    change = counted([7e15, *poor]) - counted(poor)
    for (_, place), bound in zip(workload.slices(), bounds, strict=True):
        assert (change[place] ** 2).sum() <= bound.l2_squared


def test_totals_are_written_down_and_read_back() -> None:
    for marginal in WORKLOAD.marginals:
        described = describe_marginal(SCHEMA, marginal)
        assert marginal_from(SCHEMA, described) == marginal
        if marginal.total:
            assert described["total"] == marginal.total


@pytest.mark.parametrize(
    "wrong",
    [
        {"level": "group", "group": ["rooms"], "total": "sum"},
        {"level": "group", "individual": ["age"], "total": "sum"},
        {"level": "group", "group": ["income"], "individual": ["gift"], "total": "bands"},
        {"level": "group", "group": ["income"], "total": "product"},
    ],
)
def test_what_is_no_total_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"total|added up"):
        marginal_from(SCHEMA, wrong)
