"""Records keep every rule, for the values that are written, and computed columns agree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generators import sample_encoded
from kinfolk.data.decode import decode
from kinfolk.data.encode import encode
from kinfolk.data.encoded import Encoded, composition_of
from kinfolk.errors import KinfolkError
from kinfolk.models import base
from kinfolk.models.histogram import Histogram
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.models.records import Acceptance, Drawing, Records, broken
from kinfolk.queries.counting import Counter
from kinfolk.queries.workload import Workload
from kinfolk.schema import Categorical, GroupTable, IndividualTable, Numeric, Role, Roles, Schema
from kinfolk.schema.where import Where

FAMILY = Schema(
    group=GroupTable(
        table="homes",
        id="home",
        attributes={
            "rooms": Categorical(values=[1, 2, 3]),
            "income": Numeric(bins=[-100, 0, 100, 1000, 9000], special=[0], decimals=2),
            "kids": Categorical(values=[0, 1, 2], derived="count(age < 18)"),
            "head_age": Numeric(bins=[0, 30, 60, 121], integer=True, derived="head.age"),
        },
    ),
    individual=IndividualTable(
        table="people",
        group_id="home",
        attributes={
            "age": Numeric(bins=[0, 10, 20, 40, 60, 120], integer=True),
            "wage": Numeric(bins=[0, 100, 1000, 9000], special=[0], missing=True),
        },
    ),
    max_size=4,
    roles=Roles(
        column="who",
        roles={"head": Role(values=["h"], min=1), "child": Role(values=["c"], max=3)},
    ),
    never=[
        "age < 16 and wage not missing",
        "head.age < 18",
        "child.age > head.age - 15",
        "rooms = 1 and income > 500.5",
        "no person with age >= 18",
        "COUNT = 4 and rooms = 1",
    ],
)


def obvious(tables: dict[str, list[dict]]) -> list[str]:
    """What is wrong with tables, looked at one household after the other."""
    wrong: list[str] = []
    people: dict[int, list[dict]] = {}
    for one in tables["people"]:
        people.setdefault(one["home"], []).append(one)
    for home in tables["homes"]:
        own = people[home["home"]]
        head = next(one for one in own if one["who"] == "h")
        children = [one for one in own if one["who"] == "c"]
        wrong += ["wage" for one in own if one["age"] < 16 and one["wage"] is not None]
        wrong += ["young head"] * (head["age"] < 18)
        wrong += ["old child" for one in children if one["age"] > head["age"] - 15]
        wrong += ["rich"] * (home["rooms"] == 1 and home["income"] > 500.5)
        wrong += ["crowd"] * (home["rooms"] == 1 and len(own) == 4)
        wrong += ["kids"] * (home["kids"] != min(2, sum(one["age"] < 18 for one in own)))
        wrong += ["head_age"] * (home["head_age"] != head["age"])
    return wrong


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1))
def test_what_is_drawn_keeps_every_rule(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = HPD.random(Layout.of(FAMILY), 4, rng)
    records = Records(model=model)
    drawn = records.draw_all(500, rng=np.random.default_rng(seed))
    assert drawn.groups == 500
    tables = decode(drawn, rng=rng)
    assert obvious({name: table.to_pylist() for name, table in tables.items()}) == []
    assert not broken(drawn).any()
    # Codes and numbers say the same.
    again = encode(FAMILY, tables)
    assert np.array_equal(again.group, drawn.group)
    assert np.array_equal(again.individual, drawn.individual)
    assert 0 < records.acceptance.rate < 1


def test_a_number_is_drawn_from_the_part_of_its_bin_that_a_rule_leaves() -> None:
    """Who is between 10 and 19 has a wage from 16 on only; so no group is drawn again for it."""
    schema = replace(FAMILY, never=["age < 16 and wage not missing", "age >= 16 and wage missing"])
    model = HPD.random(Layout.of(schema), 4, np.random.default_rng(1))
    records = Records(model=model)
    drawn = records.draw_all(20_000, rng=np.random.default_rng(2))
    assert records.acceptance.rate == 1
    assert drawn.numbers is not None
    age, wage = drawn.numbers.individual["age"], drawn.numbers.individual["wage"]
    between = (age >= 10) & (age < 20)
    with_wage, without = (
        np.bincount(age[between & part].astype(int), minlength=20)[10:]
        for part in (~np.isnan(wage), np.isnan(wage))
    )
    assert not with_wage[:6].any()
    assert not without[6:].any()
    # Evenly inside what is left: six standard deviations.
    for counts in (with_wage[6:], without[:6]):
        assert np.abs(counts - counts.mean()).max() < 6 * np.sqrt(counts.mean())


def test_a_rule_that_cuts_a_bin_leaves_what_the_model_says_alone() -> None:
    """Drawing whole groups again would make members in the bin rarer than the model has them."""
    schema = replace(FAMILY, never=["age < 16 and wage not missing", "age >= 16 and wage missing"])
    model = HPD.random(Layout.of(schema), 4, np.random.default_rng(1))
    drawn = Records(model=model).draw_all(40_000, rng=np.random.default_rng(2))
    every = Workload.of(schema, k=1, levels=["individual"])
    own = tuple(one for one in every.marginals if one.individual)
    workload = Workload(schema=schema, marginals=own)
    said = np.asarray(model.answer(workload))
    found = Counter.of(drawn, workload).shares
    assert np.abs(found - said).max() < 6 * 0.5 / np.sqrt(drawn.groups)


def test_without_rules_there_is_plenty_to_break() -> None:
    free = replace(FAMILY, never=())
    model = HPD.random(Layout.of(free), 4, np.random.default_rng(1))
    drawn = Records(model=model).draw_all(500, rng=np.random.default_rng(1))
    found = obvious(
        {n: t.to_pylist() for n, t in decode(drawn, rng=np.random.default_rng(1)).items()}
    )
    assert {"wage", "young head", "old child", "rich", "crowd"} <= set(found)
    # What is computed is right all the same.
    assert not {"kids", "head_age"} & set(found)


def test_sizes_and_roles_stay_as_they_were_drawn() -> None:
    schema = replace(FAMILY, never=FAMILY.never[:3])
    model = HPD.random(Layout.of(schema), 4, np.random.default_rng(1))
    before = sample_encoded(model, 2000, rng=np.random.default_rng(5))
    records = Records(model=model)
    after = records.draw_all(2000, rng=np.random.default_rng(5))
    assert records.acceptance.repeated == 0
    assert records.acceptance.kept < 2000
    assert np.array_equal(composition_of(before), composition_of(after))


@pytest.mark.parametrize("where", [None, "rooms = 2", "any(age > 60)"])
def test_a_batch_needs_no_other_batch(monkeypatch: pytest.MonkeyPatch, where: str | None) -> None:
    """Drawn alone, in any order, batches are what they are in a row; none is another's copy."""
    monkeypatch.setattr(base, "BATCH", 97)
    model = HPD.random(Layout.of(FAMILY), 4, np.random.default_rng(1))
    condition = None if where is None else Where.parse(where, FAMILY)
    records = Records(model=model, where=condition)
    whole = decode(records.draw_all(333, rng=np.random.default_rng(5)), rng=np.random.default_rng())
    drawing = Drawing.of(FAMILY, 333, rng=np.random.default_rng(5))
    others = [Records(model=model, where=condition) for _ in range(4)]
    alone = [others[at].batch(drawing, at) for at in (3, 1, 0, 2)]
    drawn = [alone[at] for at in (2, 1, 3, 0)]
    assert [one.groups for one in drawn] == [97, 97, 97, 42]
    tables = decode(Encoded.joined(drawn), rng=np.random.default_rng())
    assert tables == whole
    assert not np.array_equal(drawn[0].individual[:97], drawn[1].individual[:97])
    assert records.acceptance.drawn == sum(one.acceptance.drawn for one in others)
    assert records.acceptance.kept == sum(one.acceptance.kept for one in others)


def test_groups_like_others_are_those_of_the_model() -> None:
    """Given the composition, `like` draws as the model does; false alarms: one in a million."""
    schema = replace(FAMILY, never=())
    models = [
        HPD.random(Layout.of(schema), 3, np.random.default_rng(2)),
        Histogram.uniform(small()),
    ]
    for model in models:
        rng = np.random.default_rng(4)
        drawn = sample_encoded(model, 40_000, rng=rng, stratified=False)
        wanted = composition_of(drawn)
        again = model.like(wanted, rng=rng)
        assert np.array_equal(composition_of(again), wanted)
        for one, other in ((drawn.group, again.group), (drawn.individual, again.individual)):
            for column in range(one.shape[1]):
                counts = [np.bincount(part[:, column], minlength=6) for part in (one, other)]
                share = sum(counts) / (2 * len(one))
                off = np.abs(counts[0] - counts[1]) / np.sqrt(
                    np.maximum(2 * len(one) * share * (1 - share), 1)
                )
                assert off.max() < 7 * np.sqrt(3)  # members of a household are alike


def small() -> Schema:
    return Schema(
        group=GroupTable(table="g", id="g", attributes={"a": Categorical(values=[0, 1, 2])}),
        individual=IndividualTable(
            table="i", group_id="g", attributes={"b": Categorical(values=[0, 1])}
        ),
        max_size=3,
    )


def test_a_group_that_cannot_be_is_replaced_by_another() -> None:
    schema = replace(small(), never=["COUNT = 3"])
    records = Records(model=Histogram.uniform(schema))
    drawn = records.draw_all(300, rng=np.random.default_rng(1))
    assert drawn.groups == 300
    assert set(drawn.sizes.tolist()) == {1, 2}
    assert records.acceptance.repeated > 0


def test_what_the_model_has_made_rare_is_found_where_a_rule_leaves_nothing_else() -> None:
    """Noise can take all chance from what groups of one size must be like; they stay all the same.

    Drawn again and again until they keep the rule, they would not be found in a million tries.
    """
    schema = replace(FAMILY, never=["COUNT = 1 and rooms in (1, 2)"])
    layout = Layout.of(schema)
    logits = np.random.default_rng(1).standard_normal((layout.rows, 6))
    rooms = layout.group_start + layout.group_offsets[0]
    logits[rooms + 2] = -25.0
    records = Records(model=HPD.from_logits(layout, logits))
    drawn = records.draw_all(2000, rng=np.random.default_rng(2))
    alone = drawn.sizes == 1
    expected = 2000 * HPD.from_logits(layout, logits).composition_chances()[layout.sizes == 1].sum()
    assert alone.sum() == pytest.approx(expected, abs=6 * np.sqrt(expected))
    assert set(drawn.group[alone, 0].tolist()) == {2}
    assert records.acceptance.repeated == 0


def test_a_model_without_a_group_that_keeps_the_rules_is_refused() -> None:
    schema = replace(small(), never=["COUNT = 3", "COUNT = 2 and a < 2", "COUNT < 3 and b = 0"])
    model = Histogram.uniform(schema)
    universe = model.universe
    some = np.zeros_like(model.probabilities)
    some[universe.sizes == 3] = 1
    with pytest.raises(KinfolkError, match="no group that keeps the rules could be drawn"):
        Records(model=replace(model, probabilities=some / some.sum())).draw_all(
            20, rng=np.random.default_rng(1)
        )


def test_what_is_worth_saying_of_the_rules_is_said() -> None:
    assert Acceptance(drawn=100, kept=60).notes() == []
    (low,) = Acceptance(drawn=100, kept=49).notes()
    assert low.startswith("only 49% of the groups kept the rules when they were first drawn")
    (_, copies) = Acceptance(drawn=100, kept=9, repeated=3).notes()
    assert copies.startswith("3 groups could not be drawn so that they keep the rules")
    assert Acceptance(drawn=3, kept=1).describe() == {
        "drawn": 3, "kept": 1, "repeated": 0, "rate": 0.333333,
    }  # fmt: skip
