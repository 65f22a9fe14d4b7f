"""Questions in words: what they mean, what they are called, and what is said to wrong ones."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinfolk.datasets import load_schema
from kinfolk.errors import KinfolkError
from kinfolk.queries.question_parser import MOST, parse
from kinfolk.queries.questions import Question
from kinfolk.schema import Schema
from kinfolk.schema.names import AttributeNames

HOMES = Schema.from_text("""
group:
  table: families
  id: home
  attributes:
    veh: {values: [0, 1, 2, 3], labels: [none, one and only one, two, three or more]}
    tenure: {values: [own, rent], missing: true}
    rent: {bins: [0, 500, 1000.5, 2000], missing: true}
    kind: {values: [1, 2]}
individual:
  table: members
  group_id: home
  attributes:
    sex: {values: [1, 2], labels: [male, female]}
    age: {bins: [0, 5, 18, 65, 120], integer: true, special: [-9], missing: true}
    a: {values: [2, 1], labels: ["1", "with, and (a) comma"]}
    kind: {values: [1, 2]}
max_size: 4
roles:
  column: who
  head: {values: [h], min: 1, max: 1}
  spouse: {values: [s], min: 0, max: 1}
  child: {values: [c], min: 0, max: 2}
relations:
  married_to: [[head, spouse], [spouse, head]]
  has_child: [[head, child], [spouse, child]]
workload: {k: 2, levels: [group, individual, relation]}
""")
VEH, TENURE, RENT, KIND, SIZE = range(5)
SEX, AGE, A, OWN_KIND, ROLE = range(5)


def asks(
    level: str, *, relation: str | None = None, **parts: dict[int, tuple[int, ...]]
) -> Question:
    return Question(schema=HOMES, level=level, relation=relation, **parts)  # type: ignore[arg-type]


MEANING = {
    "families: veh = 2": asks("group", group={VEH: (2,)}),
    "Families with VEH = Two": asks("group", group={VEH: (2,)}),
    "households: veh = two, sex = FEMALE": asks("group", group={VEH: (2,)}, individual={SEX: (1,)}),
    "share of families with veh = one and only one that contain at least one member who has "
    "age = 18 to 64 and sex = 2": asks(
        "group", group={VEH: (1,)}, individual={SEX: (1,), AGE: (2,)}
    ),
    "members: age = 0..17": asks("individual", individual={AGE: (0, 1)}),
    "people: age = 5-120": asks("individual", individual={AGE: (1, 2, 3)}),
    "people: age > 4, age < 65": asks("individual", individual={AGE: (1, 2)}),
    "people: age >= 18 and age <= 500": asks("individual", individual={AGE: (2, 3)}),
    "people: age = -9 | blank": asks("individual", individual={AGE: (4, 5)}),
    "people: age != missing": asks("individual", individual={AGE: (0, 1, 2, 3, 4)}),
    "people in families with rent >= 500": asks("individual", group={RENT: (1, 2)}),
    "people: rent = 0..1000.5": asks("individual", group={RENT: (0, 1)}),
    "people: tenure in (own, blank)": asks("individual", group={TENURE: (0, 2)}),
    "people: tenure not in (own)": asks("individual", group={TENURE: (1, 2)}),
    "people: tenure not in (own, blank)": asks("individual", group={TENURE: (1,)}),
    "people: not tenure in (own, rent)": asks("individual", group={TENURE: (2,)}),
    "people: age not in (0..17, blank)": asks("individual", individual={AGE: (2, 3, 4)}),
    "people: not (sex = 1 or age < 18) and veh = 0": asks(
        "individual", group={VEH: (0,)}, individual={SEX: (1,), AGE: (2, 3, 4, 5)}
    ),
    "people: (age < 5 or age >= 65) and age not missing": asks(
        "individual", individual={AGE: (0, 3)}
    ),
    "people: 65 <= age": asks("individual", individual={AGE: (3,)}),
    "people who are who = head": asks("individual", individual={ROLE: (0,)}),
    "people: veh <> 1, sex is not male": asks(
        "individual", group={VEH: (0, 2, 3)}, individual={SEX: (1,)}
    ),
    "people: veh > 1; COUNT = 2 or 3": asks("individual", group={VEH: (2, 3), SIZE: (1, 2)}),
    "families: count <= 2": asks("group", group={SIZE: (0, 1)}),
    "people: a = 1": asks("individual", individual={A: (1,)}),
    "people: a = with, and (a) comma, sex = 1": asks("individual", individual={SEX: (0,), A: (1,)}),
    "people: a = 'With, and (a) comma' or 2": asks("individual", individual={A: (0, 1)}),
    "people: families.kind = 1, members.kind = 2": asks(
        "individual", group={KIND: (0,)}, individual={OWN_KIND: (1,)}
    ),
    "people: sex = 1, married_to: age = 18..64, kind = 2, veh = 0": asks(
        "relation",
        relation="married_to",
        group={VEH: (0,)},
        individual={SEX: (0,)},
        relative={AGE: (2,), OWN_KIND: (1,)},
    ),
    "people who are married to (age = 18..120), age = 65..120": asks(
        "relation", relation="married_to", individual={AGE: (3,)}, relative={AGE: (2, 3)}
    ),
    "people: has_child: age in (0..4, 65 to 120)": asks(
        "relation", relation="has_child", relative={AGE: (0, 3)}
    ),
}


@pytest.mark.parametrize("text", MEANING)
def test_meaning(text: str) -> None:
    assert parse(HOMES, text) == (MEANING[text],)


def test_an_attribute_alone_is_asked_value_by_value() -> None:
    found = parse(HOMES, "families: veh, sex, tenure = own")
    assert [(one.group[VEH], one.individual[SEX]) for one in found] == [
        ((veh,), (sex,)) for veh, sex in itertools.product(range(4), range(2))
    ]
    assert {one.group[TENURE] for one in found} == {(0,)}


WORDS = {
    "people: age = 0..17 | -9, sex in (1, 2)": "members who are aged 0 to 17 or -9 and have sex = "
    "male or female",
    "people: age = blank, married_to: age != blank": "members who have age = missing and are "
    "married to somebody who has age = anything but missing",
    "families: COUNT >= 2, rent = 500..2000": "families with rent = 500 to 2000 and COUNT = 2 or 3 "
    "or 4",
    "people: sex = 2, has_child: sex = 1": "members who are female and have a child who is male",
}


@pytest.mark.parametrize("text", WORDS)
def test_words(text: str) -> None:
    assert [str(one) for one in parse(HOMES, text)] == [f"Share of {WORDS[text]}"]


WRONG = {
    "sex = 2": "say of what: begin with 'families' or with 'members'",
    "": "begin with 'families'",
    "people": "no attribute is named. Known here: veh, tenure",
    "people: sexe = 2": "attribute 'sexe' is unknown. Did you mean 'sex'?",
    "people: kind = 2": "in both tables. Write families.kind or members.kind",
    "people: sex = femal": "sex has no value 'femal'. Did you mean 'female'?",
    "people: sex = 'x'": "sex has no value 'x'",
    "people: sex = 3": "sex has no value '3'. Known here: 1 (male), 2 (female).",
    "people: sex = blank": "sex has no value 'blank'",
    "people: sex =": "the end stands where a value of sex is expected",
    "people: age = 30": "30 is not made of whole bins, and nothing is known inside a bin. Known "
    "here: 0 to 4, 5 to 17, 18 to 64, 65 to 120, -9, missing.",
    "people: age = 5..20": "age in (5 to 20) is not made of whole bins",
    "people: age < 20": "age < 20 is not made of whole bins",
    "people: rent > 500": "Write rent >= 500.",
    "people: rent <= 500": "Write rent < 500.",
    "people: tenure > 2": "tenure is text, and > needs numbers",
    "people: age < old": "'old' stands where a number is expected",
    "people: COUNT = 9": "COUNT has no value '9'. Known here: 1, 2, 3, 4.",
    "people: sex = 1, sex = 2": "no category of sex",
    "people: sex in (1, 2": "the end stands where `)` is expected",
    "people: sex = 1 or age = 0..4": "`or` stands between values of one attribute",
    "people: sex = 1 and age = 0..4 or age = 5..17": "is about several attributes at once",
    "people: age > veh": "`age > veh` is about several attributes at once",
    "people: sex = 1 or femal": "attribute 'femal' is unknown",
    "people: head.age < 18": "Ask about people: who = head and age ...",
    "families: no person with age < 18": "Ask for families that contain a member who is such",
    "people: age > 200": "no category of age is all that it is said to be",
    "people: female": "say what is 'female', such as sex = female",
    "families: married_to: sex = 1": "begin with 'members'",
    "people: married_to": "say what the relative is like, such as married_to: sex = male",
    "people: married_to: sex = 1, has_child: sex = 1": "Ask about one relation",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_said(text: str) -> None:
    with pytest.raises(KinfolkError) as caught:
        parse(HOMES, text)
    assert WRONG[text] in str(caught.value)
    assert str(caught.value).startswith(repr(text))


def test_too_many_questions_at_once() -> None:
    schema = load_schema("detroit")
    assert len(parse(schema, "people: age, industry")) <= MOST
    with pytest.raises(KinfolkError, match="3,400 questions"):
        parse(schema, "people: age, industry, schg")


@pytest.mark.parametrize("name", ["acs", "acs-red", "acs-rel", "afst", "detroit"])
def test_every_label_of_the_shipped_schemas_is_understood(name: str) -> None:
    schema = load_schema(name)
    for attribute_name, places in AttributeNames(schema).places().items():
        for question in parse(schema, f"individuals: {attribute_name}") if len(places) == 1 else ():
            (part,) = (part for part in (question.group, question.individual) if part)
            ((position, (code,)),) = part.items()
            tables = [*schema.group_attributes.values()], [*schema.individual_attributes.values()]
            attributes = tables[bool(question.individual)]
            if position == len(attributes):
                continue
            text = f"individuals: {attribute_name} = {attributes[position].label(code)}, and"
            assert parse(schema, text) == (question,)
            assert str(question).startswith("Share of ")


PIECES = ["families", "people", "veh", "sex", "age", "=", "!=", "<", ">=", "in", "(", ")", ",", "|"]
PIECES += [
    "and",
    "or",
    "2",
    "0..4",
    "female",
    "'",
    '"',
    ":",
    "married_to",
    "a",
    "kind",
    ".",
    "\u0130",
]


@given(text=st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=9))
def test_any_text_is_understood_or_refused(text: list[str]) -> None:
    for gap in (" ", ""):
        try:
            found = parse(HOMES, gap.join(text))
        except KinfolkError:
            continue
        assert all(str(question) for question in found)
