"""Edges of bins where suggested rules cut."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from data.draft.confirming import confirmed
from kinfolk.data.draft import draft_schema
from kinfolk.data.draft.rule_cuts import cut_at_rules, with_edges
from kinfolk.schema import Attribute, Categorical, GroupTable, IndividualTable, Numeric, Schema
from kinfolk.schema.rules import Rule

PEOPLE: dict[str, Attribute] = {
    "age": Numeric(bins=[0, 5, 10, 15, 20, 65, 120], integer=True),
    "wage": Numeric(bins=[0, 1000, 50_000], special=[0]),
    "work": Categorical(values=[1, 2]),
}
SCHEMA = Schema(
    group=GroupTable(table="homes", id="hid", attributes={}),
    individual=IndividualTable(table="people", group_id="hid", attributes=PEOPLE),
    max_size=3,
)


def bins(*texts: str) -> dict[str, list[float]]:
    found = cut_at_rules(PEOPLE, [Rule.parse(text, SCHEMA) for text in texts])
    return {name: list(one.bins) for name, one in found.items()}


def test_an_edge_stands_where_a_rule_cuts() -> None:
    assert bins("age < 16 and work = 1") == {"age": [0, 5, 10, 16, 20, 65, 120]}
    assert bins("age > 17 and work = 1", "age <= 2 and work = 2") == {
        "age": [0, 3, 5, 10, 15, 18, 20, 65, 120]
    }
    assert bins("no person with age >= 18") == {"age": [0, 5, 10, 15, 18, 20, 65, 120]}
    assert bins("wage > 2500.5 and work = 1") == {"wage": [0, 1000, 2500.5, 50_000]}


def test_where_no_edge_is_needed() -> None:
    assert bins("age < 65 and work = 1", "wage > 0 and work = 1", "age > wage and work = 2") == {}


def test_edges_that_rules_need_stay() -> None:
    assert bins("age < 15 and work = 1", "age < 16 and work = 2") == {
        "age": [0, 5, 10, 15, 16, 20, 65, 120]
    }
    single = Numeric(bins=[0, 1, 2, 3, 9], integer=True)
    assert with_edges(single, [4]).bins == (0, 1, 2, 3, 4, 9)


def test_labels_of_special_values_stay() -> None:
    hours = Numeric(
        bins=[0, 40, 99], integer=True, special=[-9], labels=["0 to 39", "40 to 99", "no work"]
    )
    assert with_edges(hours, [20]).labels == ("0 to 19", "20 to 39", "40 to 99", "no work")


def test_a_draft_cuts_where_its_rules_do() -> None:
    """Also where they are about members in roles."""
    rng = np.random.default_rng(8)
    homes = 500
    rank = np.tile([0, 1, 2], homes)
    head = np.repeat(rng.integers(21, 80, homes), 3)
    age = np.where(rank == 0, head, np.where(rank == 1, rng.integers(18, 80, 3 * homes), 0))
    age[rank == 2] = np.maximum(0, head[rank == 2] - rng.integers(20, 60, homes))
    work = np.where(age < 14, np.nan, rng.integers(1, 4, 3 * homes))
    people = {
        "hid": np.repeat(np.arange(homes), 3),
        "relate": np.array(["head", "spouse", "child"])[rank],
        "age": age,
        "work": work,
    }
    tables = pa.table({"hid": np.arange(homes), "cars": np.arange(homes) % 3}), pa.table(people)
    schema = Schema.from_text(confirmed(draft_schema(*tables).text))
    assert {"age < 14 and work not missing", "spouse.age < 18", "head.age < 21"} <= set(
        schema.never
    )
    found = schema.individual_attributes["age"]
    assert isinstance(found, Numeric)
    assert {14, 18, 21} < set(found.bins)
    assert not {15, 20} & set(found.bins)
