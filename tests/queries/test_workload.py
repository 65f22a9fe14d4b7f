"""Which queries there are, and what they are called."""

import itertools
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generators import schemas
from kinfolk.datasets import load_schema
from kinfolk.errors import KinfolkError
from kinfolk.queries import workload
from kinfolk.queries.questions import describe
from kinfolk.queries.workload import Workload
from kinfolk.schema import Categorical, GroupTable, IndividualTable, Schema, WorkloadSpec


def symmetric(k: int, sizes: list[int]) -> int:
    """The sum over all k-subsets of the product of their sizes."""
    totals = [1, *[0] * k]
    for size in sizes:
        for order in range(k, 0, -1):
            totals[order] += totals[order - 1] * size
    return totals[k]


@pytest.mark.parametrize(
    ("name", "level", "queries"),
    [
        ("acs-red", "group", 1333),
        ("acs-red", "individual", 1333),
        ("acs", "group", 526_684),
        ("acs", "individual", 526_684),
        ("afst", "group", 127_593),
        ("afst", "individual", 127_593),
    ],
)
def test_the_papers_numbers(name: str, level: str, queries: int) -> None:
    assert Workload.of(load_schema(name)).count(level) == queries


def test_one_reading_gives_the_papers_number_of_relation_queries() -> None:
    """As docs/queries.md has it: two attributes of both sides, and a third of anybody."""
    schema = load_schema("acs-rel")
    own = [a.size for name, a in schema.individual_attributes.items() if name != "SFRELATE"]
    group = [a.size for name, a in schema.group_attributes.items() if name != "MULTGEN"]
    pairs = sum(a * b for a, b in itertools.combinations(own, 2))
    assert pairs * (sum(group) + 2 * sum(own)) == 292_530
    assert 3 * 292_530 == 877_590


def test_the_papers_reduced_universe() -> None:
    schema = load_schema("acs-red")
    own = symmetric(4, [a.size for a in schema.group_attributes.values()])
    person = symmetric(4, [a.size for a in schema.individual_attributes.values()])
    assert own * sum(person**size for size in schema.sizes) == 262_080


@settings(deadline=None, max_examples=60)
@given(schemas())
def test_sizes_are_symmetric_polynomials(schema: Schema) -> None:
    k = schema.workload.k
    group = [a.size for a in schema.group_attributes.values()] + [len(schema.sizes)]
    own = [a.size for a in schema.individual_attributes.values()]
    workload = Workload.of(schema)
    asked = [a.size for a in schema.member_attributes.values()]
    assert workload.count("group") == workload.count("individual") == symmetric(k, group + asked)
    if schema.relations:
        expected = sum(
            symmetric(k - number, group + own) * symmetric(number, own)
            for number in range(1, k + 1)
        )
        for relation in schema.relations:
            assert workload.count("relation", relation) == expected


@settings(deadline=None, max_examples=60)
@given(schemas(), st.data())
def test_a_query_is_found_by_its_number(schema: Schema, data: st.DataObject) -> None:
    workload = Workload.of(schema)
    index = data.draw(st.integers(0, workload.size - 1))
    query = workload.query(index)
    assert workload.index(query) == index
    assert all(code < size for code, size in zip(query.codes, query.marginal.shape, strict=True))
    assert describe(schema, query).startswith("Share of ")


def test_every_query_of_a_marginal_reads_differently() -> None:
    schema = load_schema("acs-rel")
    workload = Workload.of(schema, k=2)
    texts = {describe(schema, workload.query(index)) for index in range(workload.size)}
    # Two labels of different columns may read alike; within a marginal none do.
    for marginal, place in workload.slices():
        inside = {describe(schema, workload.query(index)) for index in range(*place.indices(10**9))}
        assert len(inside) == marginal.cells
    assert len(texts) > 0.99 * workload.size


def test_plain_english() -> None:
    schema = load_schema("detroit")
    workload = Workload.of(schema, k=2, levels=["relation"], attributes=["sex", "esr"])
    assert describe(schema, workload.query(0)).startswith("Share of people who are male and are ")
    texts = [describe(schema, workload.query(index)) for index in range(workload.size)]
    assert "Share of people who are female and are married to somebody who is employed" in texts
    assert "Share of people who have a child who is male and employed" in texts


def test_subsets() -> None:
    schema = load_schema("detroit")
    pairs = Workload.of(schema, sets=[["sex", "age"], ["cars", "sex"]], levels=["group"])
    assert [marginal.shape for marginal in pairs.marginals] == [(2, 10), (7, 2)]
    chosen = Workload.of(schema, k=2, attributes=["sex", "age", "COUNT"], levels=["individual"])
    assert len(chosen.marginals) == comb(3, 2)


def test_a_workload_in_the_schema() -> None:
    text = load_schema("acs-red").to_yaml()
    lines = [line for line in text.splitlines() if not line.startswith("workload")]
    spec = "workload: {k: 2, attributes: [SEX, AGE, COUNT], weights: {group: 2.5}}"
    schema = Schema.from_text("\n".join([*lines, spec]))
    assert Schema.from_text(schema.to_yaml()) == schema
    workload = Workload.of(schema)
    assert len(workload.marginals) == 6
    assert {marginal.weight for marginal in workload.marginals if marginal.level == "group"} == {
        2.5
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 99}, "k = 99, but there are 9 attributes to choose from. Use k from 1 to 9."),
        ({"k": 0}, "k = 0, but there are 9 attributes"),
        ({"attributes": ["sexx"]}, "attribute 'sexx' is unknown."),
        ({"levels": ["relation"]}, "relation queries need roles and relations"),
        ({"levels": ["people"]}, "level 'people' is unknown."),
    ],
)
def test_bad_workloads(options: dict, message: str) -> None:
    with pytest.raises(KinfolkError) as caught:
        Workload.of(load_schema("acs-red"), **options)
    assert message in str(caught.value)


def test_an_ambiguous_name_is_not_guessed() -> None:
    schema = load_schema("detroit")
    with pytest.raises(KinfolkError, match=r"households\.race_id or persons\.race_id"):
        Workload.of(schema, k=1, attributes=["race_id"])
    workload = Workload.of(schema, k=1, attributes=["persons.race_id"], levels=["group"])
    assert workload.marginals[0].individual


def test_too_many_marginals_are_counted_and_refused_before_they_are_made() -> None:
    names = [f"a{number}" for number in range(1000)]
    one = Categorical(values=[0, 1])
    schema = Schema(
        group=GroupTable(table="homes", id="home", attributes={}),
        individual=IndividualTable(
            table="people", group_id="home", attributes=dict.fromkeys(names, one)
        ),
        max_size=3,
        workload=WorkloadSpec(k=5, levels=["individual"]),
    )
    number = f"{comb(1001, 5):,}"
    with pytest.raises(KinfolkError, match=rf"has {number} sets of attributes \(1,001 attributes"):
        Workload.of(schema)
    few = Workload.of(schema, sets=[names[:2], names[1:4]])
    assert [marginal.cells for marginal in few.marginals] == [4, 8]


@settings(max_examples=20)
@given(schemas())
def test_marginals_are_counted_as_they_are_made(schema: Schema) -> None:
    made = len(Workload.of(schema).marginals)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workload, "MOST_MARGINALS", made)
        Workload.of(schema)
        patch.setattr(workload, "MOST_MARGINALS", made - 1)
        with pytest.raises(KinfolkError, match=f"has {made:,} sets"):
            Workload.of(schema)
