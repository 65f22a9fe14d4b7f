"""The unit: named, unambiguous, and spelled out."""

from __future__ import annotations

import pytest

from kinfolk.errors import KinfolkError
from kinfolk.privacy.guarantee import Guarantee
from kinfolk.privacy.unit import Neighbours, Unit, Wording, check_rules_fit_unit, dropped
from kinfolk.privacy.view import PublicView, public_totals
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema
from promises import ADD_REMOVE, IN_PLACE, REPLACE

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


HOMES = """
group: {table: households, id: home, attributes: {veh: {values: [0, 1]}}}
individual: {table: persons, group_id: home, attributes: {sex: {values: [1, 2]}}}
max_size: 9
workload: {k: 1}
"""
ROLES = """
roles:
  column: relate
  head: {values: [0], min: 0, max: 1}
  child: {values: [2], min: 0, max: 3}
"""
RULE = "\nnever: [sex = 2 and veh = 1]\n"
DROP = "\non_violation: drop\n"
HEADS = ROLES.replace("min: 0, max: 1", "min: 1, max: 1")


def schema(more: str = "", *, text: str = HOMES) -> Schema:
    return Schema.from_text(text + more)


def public(neighbours: Neighbours, more: str = "") -> str:
    return " / ".join(Wording.of(schema(more), neighbours).public)


def test_neighbours_are_named_for_their_unit() -> None:
    assert Neighbours.parse(None, unit=Unit.GROUP) is ADD_REMOVE
    assert Neighbours.parse("replace", unit=Unit.GROUP) is REPLACE
    assert Neighbours.parse(None, unit=Unit.INDIVIDUAL) is IN_PLACE
    with pytest.raises(KinfolkError, match="it can be 'add-remove' or 'replace'"):
        Neighbours.parse("in-place", unit=Unit.GROUP)
    with pytest.raises(KinfolkError, match="it can be 'in-place'"):
        Neighbours.parse("replace", unit=Unit.INDIVIDUAL)


def test_each_unit_says_what_it_hides_and_what_it_does_not() -> None:
    group = Wording.of(schema(), ADD_REMOVE)
    assert group.name == "household"
    assert group.neighbours.startswith("Add or remove one whole household of any kind")
    assert "that it is there" in group.protects
    assert "number of" not in public(ADD_REMOVE)
    replaced = Wording.of(schema(), REPLACE)
    assert replaced.neighbours.startswith("Replace one whole household by any other")
    assert "the number of households in the file" in replaced.public
    assert "kept" not in public(REPLACE)

    person = Wording.of(schema(), IN_PLACE)
    assert person.name == "person"
    assert "in place" in person.neighbours
    for fact in ("number of households", "number of persons", "size of every", "own attributes"):
        assert fact in public(IN_PLACE)


def test_what_cleaning_drops_is_part_of_the_neighbours() -> None:
    """The words come from what decides whether the number of groups has to be bought."""
    for more, losses in {
        "": ("more than 9 members",),
        "oversize: first\n": (),
        ROLES: ("more than 4 members", "more members of a role", "nobody in a declared role"),
        "oversize: first" + ROLES: ("nobody in a declared role",),
        "oversize: first" + ROLES + "  others: keep\n": (),
        # Whoever has no head is refused, and not dropped.
        "oversize: first" + HEADS: (),
        HEADS: ("more than 4 members", "more members of a role"),
        RULE: ("more than 9 members",),
        RULE + DROP: ("more than 9 members", "against a rule"),
        "oversize: first" + RULE + DROP: ("against a rule",),
        # Without a rule there is nothing to drop for.
        "oversize: first" + DROP: (),
    }.items():
        found = schema(more)
        assert len(dropped(found)) == len(losses)
        for neighbours in (ADD_REMOVE, REPLACE):
            text = Wording.of(found, neighbours).neighbours
            assert all(loss in text for loss in losses)
            assert ("dropped" in text) is bool(losses)
        all_kept = "in the file, all of which are kept" in public(REPLACE, more)
        assert all_kept is not bool(losses)
        assert public_totals(found, REPLACE)[0] is not bool(losses)
        assert not public_totals(found, ADD_REMOVE)[0]


def test_rules_are_public() -> None:
    for neighbours in (ADD_REMOVE, REPLACE, IN_PLACE):
        assert "the rules: what the schema says cannot be" in public(neighbours, RULE)
        assert "rules" not in public(neighbours)


def test_a_group_is_not_dropped_for_a_member_where_members_are_protected() -> None:
    """One other value for one person could take the whole household away."""
    for neighbours in (ADD_REMOVE, REPLACE):
        check_rules_fit_unit(schema(RULE + DROP), neighbours)
    check_rules_fit_unit(schema(RULE), IN_PLACE)
    promise = Guarantee.of(neighbours=IN_PLACE, epsilon=1.0, delta=1e-9)
    for refuse in (
        lambda: check_rules_fit_unit(schema(RULE + DROP), IN_PLACE),
        lambda: PublicView.of(Workload.of(schema(RULE + DROP)), promise),
    ):
        with pytest.raises(KinfolkError, match="`on_violation: drop` leaves out whole groups"):
            refuse()


def test_the_words_are_the_schemas() -> None:
    text = HOMES.replace("households", "referrals").replace("persons", "children")
    spelled = Wording.of(schema(text=text), IN_PLACE)
    assert spelled.name == "child"
    assert "one child" in spelled.neighbours
    assert "the number of children" in spelled.public


def test_roles_and_derived_attributes_are_named_where_there_are_any() -> None:
    assert "the role of every person" in public(IN_PLACE, ROLES)
    assert "role" not in public(IN_PLACE)
    assert "the role of every" not in public(REPLACE, ROLES)
    assert "derived" not in public(IN_PLACE)
    derived = schema(text=HOMES.replace("[0, 1]}", "[0, 1], derived: true}"))
    assert "except those derived" in " / ".join(Wording.of(derived, IN_PLACE).public)


def test_flat_data_has_rows() -> None:
    flat = Schema.from_text(
        "individual: {table: people, attributes: {sex: {values: [1, 2]}}}\n"
        "max_size: 1\nworkload: {k: 1}\n"
    )
    assert Wording.of(flat, IN_PLACE).neighbours == (
        "Replace the attributes of one person by others."
    )
    assert "the number of people in the file, all of which are kept" in (
        Wording.of(flat, REPLACE).public
    )
    assert dropped(flat) == ()
    ruled = Schema.from_text(flat.to_yaml() + "never: [sex = 2]\non_violation: drop\n")
    assert Wording.of(ruled, ADD_REMOVE).neighbours == (
        "Add or remove one whole person of any kind, whether it is kept or dropped "
        "(against a rule)."
    )
    assert not public_totals(ruled, REPLACE)[0]
