"""The unit: named, unambiguous, and spelled out."""

from __future__ import annotations

import pytest

from kinfolk.errors import KinfolkError
from kinfolk.privacy import Unit

FAMILIES = {"group_table": "referrals", "individual_table": "children"}


@pytest.mark.parametrize(
    ("word", "unit"),
    [
        ("household", Unit.GROUP),
        ("households", Unit.GROUP),
        ("group", Unit.GROUP),
        (" Group ", Unit.GROUP),
        ("person", Unit.INDIVIDUAL),
        ("persons", Unit.INDIVIDUAL),
        ("people", Unit.INDIVIDUAL),
        ("individual", Unit.INDIVIDUAL),
        ("individuals", Unit.INDIVIDUAL),
    ],
)
def test_words_of_the_trade(word: str, unit: Unit) -> None:
    assert Unit.parse(word) is unit
    assert Unit.parse(word, **FAMILIES) is unit


@pytest.mark.parametrize(
    ("word", "unit"),
    [
        ("referral", Unit.GROUP),
        ("referrals", Unit.GROUP),
        ("child", Unit.INDIVIDUAL),
        ("children", Unit.INDIVIDUAL),
    ],
)
def test_the_schemas_own_tables(word: str, unit: Unit) -> None:
    assert Unit.parse(word, **FAMILIES) is unit
    with pytest.raises(KinfolkError, match="Choose 'household'"):
        Unit.parse(word)


@pytest.mark.parametrize("word", ["", "record", "row", "both"])
def test_anything_else_lists_the_choices(word: str) -> None:
    with pytest.raises(KinfolkError) as caught:
        Unit.parse(word, **FAMILIES)
    for choice in ("referral", "group", "child", "individual", "no default"):
        assert choice in str(caught.value)


def test_a_word_for_both_units_is_refused() -> None:
    tables = {"group_table": "persons", "individual_table": "visits"}
    with pytest.raises(KinfolkError, match="could mean either"):
        Unit.parse("person", **tables)
    assert Unit.parse("group", **tables) is Unit.GROUP
    assert Unit.parse("visit", **tables) is Unit.INDIVIDUAL


def test_each_unit_says_what_it_hides_and_what_it_does_not() -> None:
    group = Unit.GROUP.within(max_size=9)
    assert group.name == "household"
    assert "Replace one whole household" in group.neighbours
    assert "9" in group.neighbours
    assert not any("size of every" in fact or "number of persons" in fact for fact in group.public)

    person = Unit.INDIVIDUAL.within(max_size=9)
    assert person.name == "person"
    assert "in place" in person.neighbours
    public = " / ".join(person.public)
    for fact in ("number of households", "number of persons", "size of every", "own attributes"):
        assert fact in public


def test_the_words_are_the_schemas() -> None:
    spelled = Unit.INDIVIDUAL.within(max_size=4, **FAMILIES)
    assert spelled.name == "child"
    assert "one child" in spelled.neighbours
    assert "the number of children" in spelled.public
    with pytest.raises(KinfolkError, match="max_size is 0"):
        Unit.GROUP.within(max_size=0)


def test_roles_are_public_for_the_person_unit_only() -> None:
    def public(unit: Unit, *, roles: bool) -> tuple[str, ...]:
        return unit.within(max_size=6, roles=roles).public

    assert "the role of every person" in public(Unit.INDIVIDUAL, roles=True)
    assert "the role of every person" not in public(Unit.INDIVIDUAL, roles=False)
    assert not any("role" in fact for fact in public(Unit.GROUP, roles=True))
