"""Figures in words: what they mean, what they are called, and what is said to wrong ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kinfolk.errors import KinfolkError
from kinfolk.queries.question_parser import parse
from kinfolk.queries.questions import (
    Figure,
    Kind,
    Question,
    as_weighted,
    can_be_weighted,
    named_attributes,
)
from kinfolk.schema import Schema, WorkloadSpec
from queries.test_question_parser import AGE, HOMES, RENT, SEX, TENURE, VEH

WEIGHTED = replace(HOMES, group=replace(HOMES.group, weight="rent"))  # type: ignore[type-var]
FIRST = 5
"""The position of the first attribute of a member."""


def whom(level: str = "individual", **parts: Any) -> Question:
    return Question(schema=HOMES, level=level, **parts)  # type: ignore[arg-type]


def mean(number: int, of: Question, **more: Any) -> Figure:
    return Figure(kind=Kind.MEAN, of=of, numbers=(number,), **more)


MEANING = {
    "mean age": [mean(FIRST + AGE, whom())],
    "the average of the age of people": [mean(FIRST + AGE, whom())],
    "mean rent": [mean(RENT, whom("group"))],
    "mean rent of members": [mean(RENT, whom())],
    "Mean COUNT": [mean(4, whom("group"))],
    "sum of veh": [Figure(kind=Kind.SUM, of=whom("group"), numbers=(VEH,))],
    "total age": [Figure(kind=Kind.SUM, of=whom(), numbers=(FIRST + AGE,))],
    "median age": [Figure(kind=Kind.QUANTILE, of=whom(), numbers=(FIRST + AGE,))],
    "p90 of age": [Figure(kind=Kind.QUANTILE, of=whom(), numbers=(FIRST + AGE,), quantile=0.9)],
    "p2.5 age": [Figure(kind=Kind.QUANTILE, of=whom(), numbers=(FIRST + AGE,), quantile=0.025)],
    "ratio of age to veh": [Figure(kind=Kind.RATIO, of=whom(), numbers=(FIRST + AGE, VEH))],
    "ratio rent / veh": [Figure(kind=Kind.RATIO, of=whom("group"), numbers=(RENT, VEH))],
    "mean age of people with sex = female, tenure = own": [
        mean(FIRST + AGE, whom(group={TENURE: (0,)}, individual={SEX: (1,)}))
    ],
    "mean age where sex = female and tenure = own": [
        mean(FIRST + AGE, whom(group={TENURE: (0,)}, individual={SEX: (1,)}))
    ],
    "mean age by sex": [
        mean(FIRST + AGE, whom(individual={SEX: (0,)}), cell={"sex": "male"}),
        mean(FIRST + AGE, whom(individual={SEX: (1,)}), cell={"sex": "female"}),
    ],
    "mean age of people: tenure not missing by sex where age >= 18": [
        mean(
            FIRST + AGE,
            whom(group={TENURE: (0, 1)}, individual={SEX: (sex,), AGE: (2, 3)}),
            cell={"sex": label},
        )
        for sex, label in enumerate(("male", "female"))
    ],
    "mean rent of families by tenure where tenure not missing": [
        mean(RENT, whom("group", group={TENURE: (code,)}), cell={"tenure": label})
        for code, label in enumerate(("own", "rent"))
    ],
    "mean age of people by married_to: sex": [
        mean(
            FIRST + AGE,
            whom("relation", relation="married_to", relative={SEX: (sex,)}),
            cell={"married_to: sex": label},
        )
        for sex, label in enumerate(("male", "female"))
    ],
    "share of people with tenure = own by sex": [
        Figure(
            kind=Kind.SHARE,
            of=whom(individual={SEX: (sex,)}),
            counted=whom(group={TENURE: (0,)}, individual={SEX: (sex,)}),
            cell={"sex": label},
        )
        for sex, label in enumerate(("male", "female"))
    ],
    "count of people by sex": [
        Figure(
            kind=Kind.SHARE,
            of=whom(),
            counted=whom(individual={SEX: (sex,)}),
            cell={"sex": label},
        )
        for sex, label in enumerate(("male", "female"))
    ],
    "people by sex": [
        Figure(
            kind=Kind.SHARE,
            of=whom(),
            counted=whom(individual={SEX: (sex,)}),
            cell={"sex": label},
        )
        for sex, label in enumerate(("male", "female"))
    ],
    "people: sex where sex = female": [
        Figure(
            kind=Kind.SHARE,
            of=whom(individual={SEX: (1,)}),
            counted=whom(individual={SEX: (1,)}),
            cell={},
        )
    ],
    "families with veh = 2 where tenure = own": [
        Figure(
            kind=Kind.SHARE,
            of=whom("group", group={TENURE: (0,)}),
            counted=whom("group", group={VEH: (2,), TENURE: (0,)}),
        )
    ],
    "people with age = 0..4 where age = 0..17": [
        Figure(
            kind=Kind.SHARE,
            of=whom(individual={AGE: (0, 1)}),
            counted=whom(individual={AGE: (0,)}),
        )
    ],
    "people with married_to: sex = male among sex = female": [
        Figure(
            kind=Kind.SHARE,
            of=whom(individual={SEX: (1,)}),
            counted=whom(
                "relation", relation="married_to", individual={SEX: (1,)}, relative={SEX: (0,)}
            ),
        )
    ],
}


@pytest.mark.parametrize("text", MEANING)
def test_meaning(text: str) -> None:
    assert list(parse(HOMES, text)) == MEANING[text]


def test_the_last_attribute_changes_fastest() -> None:
    cells = [one.cell for one in parse(HOMES, "mean age by tenure, sex") if isinstance(one, Figure)]
    assert [tuple(cell.values()) for cell in cells] == [
        (tenure, sex) for tenure in ("own", "rent", "missing") for sex in ("male", "female")
    ]


WORDS = {
    "mean age of people with sex = 2": "Mean age of members who are female",
    "p90 of age": "P90 of age of members",
    "median rent": "Median of rent of families",
    "sum of rent of families with veh = two": "Sum of rent of families with veh = two",
    "ratio of age to veh": "Ratio of age to veh of members",
    "people with tenure = own where sex = 1": "Share of members who are male, in families with "
    "tenure = own, among members who are male",
    "people by tenure where sex = 1, tenure = own": "Share of members who are male, in families "
    "with tenure = own, among members who are male",
}


@pytest.mark.parametrize("text", WORDS)
def test_words(text: str) -> None:
    assert [str(one) for one in parse(HOMES, text)] == [WORDS[text]]


WRONG = {
    "mean": "say of which number after 'mean'. Known here: veh, rent",
    "mean wage": "say of which number after 'mean'",
    "mean rents by sex": "say of which number after 'mean'. Did you mean 'rent'? Known here: veh",
    "mean tenure": "tenure has no numbers. Ask for shares, such as `share of families with tenure "
    "= own`. Numbers of members: veh, rent",
    "age by sex": "say of what: begin with 'families' or with 'members', or ask for a figure: mean "
    "age.",
    "mean head.age": "head.age is about a member in a role. Ask for mean age where who = head.",
    "mean age of families": "age is a number of members, not of families: ask for that of members. "
    "Numbers of families: veh, rent, families.kind, COUNT.",
    "mean rent by sex": "say of what: mean rent of families (that contain such a member), or mean "
    "rent of members.",
    "mean age = 5..17": "age is asked for. Say after `where` what it is to be.",
    "mean kind": "in both tables. Write families.kind or members.kind",
    "ratio of age by sex": "a ratio has two numbers: ratio of age to another one.",
    "p0 of age": "p0 is no percentile. Ask for p1 to p99.",
    "mean age by": "say by what: name an attribute after `by`, such as by sex.",
    "mean age by sex = 1": "after `by` stand names of attributes alone. Say what sex is after",
    "std of age": "'std' is neither an attribute nor a statistic. Ask for a share, a mean, sum,",
    "mean age, mean rent by sex": "mean comes second. Ask for one statistic in a line.",
    "mean age where rent between 0 and 500": "'between 0 and 500' stands where what rent is, such "
    "as `=`, `<`, `in` or `missing`, is expected.",
    "mean age by sexe": "attribute 'sexe' is unknown. Did you mean 'sex'?",
    "mean age where sex missing": "sex is never blank",
    "people with sex = 1 by sex": "sex is asked for before `by` and after it. Leave one out.",
    "people with age = 0..4 where age = 5..17": "no category of age is all that it is said to be",
    "tenure = own by sex": "say of what: begin with 'families' or with 'members'",
    "mean rent of families by married_to: sex": "married_to is asked of people",
    "weighted mean age": "the schema names no survey weight, so nothing can be weighted.",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_said(text: str) -> None:
    with pytest.raises(KinfolkError) as caught:
        parse(HOMES, text)
    assert WRONG[text] in str(caught.value)


def test_weights() -> None:
    (plain,), (found,) = (parse(WEIGHTED, text) for text in ("mean age", "weighted mean age"))
    assert isinstance(found, Figure)
    assert as_weighted(plain) == found
    assert str(found) == "Weighted mean age of members"
    assert (can_be_weighted(plain), can_be_weighted(found)) == (True, False)
    assert not can_be_weighted(parse(WEIGHTED, "mean rent")[0])
    assert not can_be_weighted(parse(HOMES, "mean age")[0])
    (share,) = parse(WEIGHTED, "weighted share of people with sex = female")
    assert isinstance(share, Figure)
    assert str(share) == "Weighted share of members who are female"
    assert share == as_weighted(parse(WEIGHTED, "people: sex = female")[0])
    with pytest.raises(KinfolkError, match="rent is the weight itself"):
        parse(WEIGHTED, "weighted mean rent")


def test_how_many_attributes_are_asked_for() -> None:
    """The workload has pairs."""
    for text, inside in (("mean age by sex", True), ("mean age by sex, tenure", False)):
        assert {one.in_workload for one in parse(HOMES, text)} == {inside}
    assert not any(one.in_workload for one in parse(WEIGHTED, "weighted mean age by sex"))
    assert named_attributes(parse(HOMES, "mean age where tenure = own")[0]) == {"age", "tenure"}


@pytest.mark.parametrize(
    ("workload", "inside"),
    [
        (WorkloadSpec(k=2), {"people: sex, age", "mean age by veh", "mean age by tenure"}),
        (
            WorkloadSpec(k=2, attributes=["sex", "age", "veh"]),
            {"people: sex, age", "mean age by veh"},
        ),
        (WorkloadSpec(sets=[["sex", "age", "rent"], ["veh", "tenure"]]), {"people: sex, age"}),
        (WorkloadSpec(k=2, levels=["group"]), set()),
    ],
)
def test_only_what_was_measured_together_is_in_the_workload(
    workload: WorkloadSpec, inside: set[str]
) -> None:
    """As many attributes as there are in a set are not yet those of a set."""
    schema = replace(HOMES, workload=workload)
    for text in ("people: sex, age", "mean age by veh", "mean age by tenure"):
        assert {one.in_workload for one in parse(schema, text)} == {text in inside}


def test_a_set_is_split_between_relatives() -> None:
    """The age of both is never in a set that names age once."""
    sets = WorkloadSpec(sets=[["sex", "age"]], levels=["relation"])
    schema = replace(HOMES, workload=sets)
    for text, inside in (
        ("people: sex = 1, married_to: age = 0..4", True),
        ("people: age = 0..4, married_to: age = 0..4", False),
    ):
        assert {one.in_workload for one in parse(schema, text)} == {inside}


NAMED = Schema.from_text("""
individual:
  table: people
  attributes:
    total: {bins: [0, 10, 20]}
    mean: {values: [1, 2]}
    by: {values: [1, 2]}
    weighted: {values: [1, 2]}
max_size: 1
workload: {k: 2}
""")


def test_attributes_that_are_called_like_statistics() -> None:
    for text, position in (
        ("mean = 1", 1),
        ("by = 1", 2),
        ("weighted = 1", 3),
        ("mean, by = 1", 2),
    ):
        for found in parse(NAMED, text):
            assert isinstance(found, Question)
            assert position in found.individual
    (found,) = parse(NAMED, "mean total")
    assert isinstance(found, Figure)
    assert found.numbers == (1,)
    assert [one.cell for one in parse(NAMED, "mean total by by") if isinstance(one, Figure)] == [
        {"by": "1"},
        {"by": "2"},
    ]
