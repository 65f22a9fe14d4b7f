"""Numbers on their own: counted by bins and by cells, named, and read back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generators import datasets, schemas, with_cells
from homes import in_memory
from kinfolk.data.decode import decode
from kinfolk.data.encode import encode
from kinfolk.queries.added_marginals import with_numbers
from kinfolk.queries.counting import Counter, count
from kinfolk.queries.naming import describe_marginal, marginal_from
from kinfolk.queries.workload import Workload
from kinfolk.schema import Level, Schema
from kinfolk.schema.bins import FineAttributes, codes_of_cells

SCHEMA = Schema.from_text("""
group:
  table: homes
  id: home
  attributes:
    rent: {bins: [0, 500, 1000, 9000], special: [0]}
    rooms: {bins: [0, 1, 2, 3], integer: true, special: [3]}
individual:
  table: people
  group_id: home
  attributes: {sex: {values: [m, f]}, hours: {bins: [0, 35, 99], integer: true, missing: true}}
max_size: 3
workload: {k: 1}
""")
TABLES = {
    "homes": pa.table({"home": [1, 2, 3], "rent": [0.0, 450.0, 8500.0], "rooms": [1, 2, 3]}),
    "people": pa.table(
        {
            "home": [3, 1, 2, 2],
            "sex": ["m", "f", "m", "f"],
            "hours": pa.array([40, 40, None, 12], pa.int64()),
        }
    ),
}


def test_cells_are_counted_with_the_weights_of_their_groups() -> None:
    workload = with_numbers(Workload.of(SCHEMA, attributes=["sex"]))
    fine = FineAttributes.of(SCHEMA)
    weights = np.array([[0, 12, 6, 4]] * len(workload.marginals))
    counts = count(encode(SCHEMA, TABLES, finely=True), workload, weights=weights)
    found = {
        (one.level, one.fine, one.shape): counts[place]
        for one, place in workload.slices()
        if one.alone
    }
    assert len(found) == 2 * (len(fine.group) + len(fine.individual))
    hours = found[Level.INDIVIDUAL, True, (fine.individual["hours"].size,)]
    edges = fine.individual["hours"].bins
    assert {edges[at]: hours[at] for at in np.flatnonzero(hours[:-1])} == {
        max(edge for edge in edges if edge <= 40): 24,
        max(edge for edge in edges if edge <= 12): 6,
    }
    assert hours[-1] == 6
    rent = found[Level.GROUP, True, (fine.group["rent"].size,)]
    # The special value is no cell, but stands after them.
    assert rent[-1] == 12
    assert rent.sum() == 12 + 6 + 12
    bins = codes_of_cells(SCHEMA.group_attributes["rent"], fine.group["rent"])
    by_bins = found[Level.GROUP, False, (SCHEMA.group_attributes["rent"].size,)]
    np.testing.assert_array_equal(np.bincount(bins, weights=rent), by_bins)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_cells_add_up_to_bins(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    workload = with_numbers(Workload.of(schema))
    drawn = with_cells(data.draw(datasets(schema)), rng)
    counter = in_memory(workload, decode(drawn, rng=rng))
    attributes = {
        Level.GROUP: schema.group_attributes,
        Level.INDIVIDUAL: schema.individual_attributes,
    }
    places = {
        (one.level, one.group or one.individual, one.fine): counter.counts[place]
        for one, place in workload.slices()
        if one.alone
    }
    for (level, (position,), fine), cells in places.items():
        if fine:
            attribute = list(attributes[level].values())[position]
            own = FineAttributes.of(schema)
            name = list(attributes[level])[position]
            finer = (own.group if level is Level.GROUP else own.individual)[name]
            found = np.bincount(
                codes_of_cells(attribute, finer), weights=cells, minlength=attribute.size
            )
            np.testing.assert_array_equal(found, places[level, (position,), False])


@settings(deadline=None, max_examples=60)
@given(schemas())
def test_what_is_written_down_is_read_back(schema: Schema) -> None:
    for marginal in with_numbers(Workload.of(schema)).marginals:
        assert marginal_from(schema, describe_marginal(schema, marginal)) == marginal


@pytest.mark.parametrize(
    "described",
    [
        {"level": "individual", "individual": ["sex"], "number": "finely"},
        {"level": "group", "individual": ["hours"], "number": "finely"},
        {"level": "individual", "group": ["rent"], "number": "by bins"},
        {"level": "group", "group": ["COUNT"], "number": "finely"},
        {"level": "group", "group": ["rooms"], "number": "finely"},
        {"level": "group", "group": ["rent", "rooms"], "number": "finely"},
        {"level": "individual", "individual": ["hours"], "number": "coarsely"},
        {"level": "individual", "individual": ["hours"], "number": ["finely"]},
    ],
)
def test_what_is_no_number_on_its_own_is_refused(described: dict[str, object]) -> None:
    with pytest.raises((LookupError, ValueError)):
        marginal_from(SCHEMA, described)


def test_cells_that_were_not_encoded_cannot_be_counted() -> None:
    counter = Counter(with_numbers(Workload.of(SCHEMA)))
    with pytest.raises(ValueError, match="not encoded finely"):
        counter.add(encode(SCHEMA, TABLES))
