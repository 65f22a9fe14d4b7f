"""Groups like something follow the model's law, given that they are; exactly as many as wanted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk.data.decode import decode
from kinfolk.data.encoded import Encoded
from kinfolk.data.numbers import draw_numbers, group_values
from kinfolk.errors import KinfolkError
from kinfolk.models import records as records_module
from kinfolk.models.base import Model
from kinfolk.models.histogram import Histogram, _written
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.models.records import Records, broken
from kinfolk.schema import Categorical, Schema
from kinfolk.schema.where import Where
from models.listed import group_keys, tiny_schema
from models.mixtures import as_histogram, random_mixture
from models.test_records import FAMILY, obvious, small

PLAIN = tiny_schema([2, 3], [2, 2], max_size=3)
ROLES = tiny_schema([2], [2, 2], max_size=4, roles=True)
KINDS = pytest.mark.parametrize("kind", ["mixture", "histogram"])
EXACT = ["g1 = 2", "g0 = 1 and g1 != 0", "COUNT = 2", "g0 = 1 and COUNT in (1, 3)", "not g0 = 0"]
TIED = ["g0 = 1 or g1 = 2", "COUNT + g1 = 3", "COUNT = 2 or g0 = 0"]
MEMBERS = ["no person with i0 = 1", "any(i0 = 1 and i1 = 0)", "g1 = 1 and any(i1 = 1)"]
SAMPLE = 6_000
FALSE_ALARM = 1e-6


def model_of(kind: str, schema: Schema, seed: int = 1) -> Model:
    rng = np.random.default_rng(seed)
    mixture = random_mixture(schema, components=6, rng=rng)
    return mixture if kind == "mixture" else as_histogram(mixture)


def all_of(model: Model) -> tuple[Encoded, np.ndarray]:
    """Every group up to the order of members once, and how likely the model makes it."""
    whole = model if isinstance(model, Histogram) else as_histogram(model)
    universe = whole.universe
    cells = np.arange(whole.probabilities.size)
    return _written(universe, cells, np.random.default_rng(0)), whole.probabilities.ravel()


def disagreement(drawn: Encoded, groups: Encoded, law: np.ndarray) -> float:
    """The largest distance of a count from its expectation, by Bernstein's inequality."""
    expected = dict(zip(group_keys(groups), law, strict=True))
    counts = Counter(group_keys(drawn))
    assert set(counts) <= {key for key, chance in expected.items() if chance > 0}
    allowed_log = np.log(2 * len(law) / FALSE_ALARM)
    worst = 0.0
    for key, chance in expected.items():
        spread = np.sqrt(2 * chance * (1 - chance) * allowed_log / drawn.groups)
        allowed = spread + allowed_log / (3 * drawn.groups)
        worst = max(worst, abs(counts[key] / drawn.groups - chance) / allowed)
    return worst


def met(where: Where, groups: Encoded) -> np.ndarray:
    """Which groups meet a condition, looked at one by one."""
    complete = draw_numbers(groups, rng=np.random.default_rng(0))
    return where.chosen(group_values(complete))


@KINDS
@pytest.mark.parametrize("stratified", [True, False])
@pytest.mark.parametrize(
    ("schema", "text"),
    [
        *((PLAIN, text) for text in (*EXACT, *TIED, *MEMBERS)),
        (ROLES, "spouse.i0 = 1"),
        (ROLES, "head.i0 = spouse.i0 and g0 = 1"),
        (ROLES, "g0 = 1 or child.i0 = 0"),
        (ROLES, "COUNT > 2 and no person with i1 = 1"),
    ],
)
def test_groups_follow_the_conditional_law(
    kind: str, schema: Schema, text: str, stratified: bool
) -> None:
    """False alarms: one in a million; the law without the condition is rejected."""
    model, where = model_of(kind, schema), Where.parse(text, schema)
    groups, law = all_of(model)
    given = np.where(met(where, groups), law, 0)
    assert 0 < given.sum() < 0.99
    drawing = Records(model=model, where=where)
    (*parts,) = drawing.draw(SAMPLE, rng=np.random.default_rng(3), stratified=stratified)
    drawn = Encoded.joined(parts)
    assert drawn.groups == SAMPLE
    assert disagreement(drawn, groups, given / given.sum()) < 1
    assert met(where, drawn).all()
    # Nothing was drawn in vain where all is known before.
    assert (drawing.search.looked_at == 0) is where.exact
    other = random_mixture(schema, components=6, rng=np.random.default_rng(2))
    wrong = Records(model=other, where=where).draw_all(SAMPLE, rng=np.random.default_rng(3))
    assert disagreement_or_impossible(wrong, groups, given / given.sum()) > 1


def disagreement_or_impossible(drawn: Encoded, groups: Encoded, law: np.ndarray) -> float:
    try:
        return disagreement(drawn, groups, law)
    except AssertionError:
        return np.inf


@pytest.mark.parametrize("text", [*EXACT, *TIED])
def test_what_is_known_of_codes_needs_no_search(text: str) -> None:
    assert Where.parse(text, PLAIN).exact


@pytest.mark.parametrize("text", ["g1 = 2", "COUNT + g1 = 3"])
def test_groups_like_others_follow_the_conditional_law_too(text: str) -> None:
    """Given the composition as well; false alarms: one in a million."""
    model, where = model_of("mixture", PLAIN), Where.parse(text, PLAIN)
    groups, law = all_of(model)
    sizes = np.full(SAMPLE, 1)
    drawn = model.restricted(where.factors).like(sizes, rng=np.random.default_rng(3))
    assert set(drawn.sizes.tolist()) == {2}
    given = np.where(met(where, groups) & (groups.sizes == 2), law, 0)
    assert disagreement(drawn, groups, given / given.sum()) < 1


@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**32 - 1),
    text=st.sampled_from(
        [
            "rooms = 2",
            "income > 250.5 and rooms != 3",
            "COUNT = 3 and rooms in (2, 3)",
            "kids = 1",
            "head.age >= 50 and income not in 0..100",
            "no person with wage missing",
            "any(age > 70) or rooms = 1",
            "rooms = 1 or child.age < 5",
        ]
    ),
)
def test_rules_hold_under_every_condition(seed: int, text: str) -> None:
    rng = np.random.default_rng(seed)
    model = HPD.random(Layout.of(FAMILY), 4, rng)
    where = Where.parse(text, FAMILY)
    drawn = Records(model=model, where=where).draw_all(200, rng=np.random.default_rng(seed))
    assert drawn.groups == 200
    assert not broken(drawn).any()
    tables = {name: table.to_pylist() for name, table in decode(drawn, rng=rng).items()}
    assert obvious(tables) == []
    assert all(OBVIOUS[text](home, own) for home, own in households(tables))


def households(tables: dict[str, list[dict]]) -> list[tuple[dict, list[dict]]]:
    return [
        (home, [one for one in tables["people"] if one["home"] == home["home"]])
        for home in tables["homes"]
    ]


def ages(people: list[dict], role: str) -> list[int]:
    return [one["age"] for one in people if one["who"] == role]


OBVIOUS = {
    "rooms = 2": lambda home, own: home["rooms"] == 2,
    "income > 250.5 and rooms != 3": lambda home, own: home["income"] > 250.5 and home["rooms"] < 3,
    "COUNT = 3 and rooms in (2, 3)": lambda home, own: len(own) == 3 and home["rooms"] > 1,
    "kids = 1": lambda home, own: sum(one["age"] < 18 for one in own) == 1,
    "head.age >= 50 and income not in 0..100": lambda home, own: (
        ages(own, "h")[0] >= 50 and not 0 <= home["income"] <= 100
    ),
    "no person with wage missing": lambda home, own: None not in [one["wage"] for one in own],
    "any(age > 70) or rooms = 1": lambda home, own: (
        home["rooms"] == 1 or max(one["age"] for one in own) > 70
    ),
    "rooms = 1 or child.age < 5": lambda home, own: (
        home["rooms"] == 1 or min(ages(own, "c"), default=99) < 5
    ),
}


def test_a_histogram_keeps_rules_under_a_condition() -> None:
    schema = replace(small(), never=["COUNT = 3 and a = 0", "b = 1 and a = 1"])
    where = Where.parse("COUNT > 1 and a < 2", schema)
    drawn = Records(model=Histogram.uniform(schema), where=where).draw_all(
        300, rng=np.random.default_rng(1)
    )
    assert drawn.groups == 300
    assert not broken(drawn).any()
    assert met(where, drawn).all()


def test_a_computed_size_is_as_exact_as_the_size() -> None:
    home = PLAIN.group
    assert home is not None
    size = Categorical(values=[1, 2], derived="count")
    schema = replace(PLAIN, group=replace(home, attributes={**home.attributes, "size": size}))
    model = random_mixture(schema, components=6, rng=np.random.default_rng(1))
    for text, sizes in [
        ("size = 2", {2, 3}),
        ("size = 2 and COUNT < 3 and g1 = 1", {2}),
        ("COUNT = 1 or size != 1", {1, 2, 3}),
    ]:
        where = Where.parse(text, schema)
        assert where.exact
        drawn = Records(model=model, where=where).draw_all(500, rng=np.random.default_rng(1))
        assert set(drawn.sizes.tolist()) == sizes
        assert met(where, drawn).all()
    with pytest.raises(KinfolkError, match="no group can be like"):
        Where.parse("size = 1 and COUNT = 3", schema)


def test_a_rare_region_costs_no_search() -> None:
    """One home in ten thousand, and 5,000 of them are drawn at once."""
    model = model_of("mixture", PLAIN)
    table = model.probabilities.copy()
    rows = slice(model.layout.group_start + 2, model.layout.group_start + 5)
    table[rows] = np.array([[0.4], [0.5999], [0.0001]])
    where = Where.parse("g1 = 2", PLAIN)
    drawing = Records(model=replace(model, probabilities=table), where=where)
    drawn = drawing.draw_all(5000, rng=np.random.default_rng(1))
    assert drawn.groups == 5000
    assert (drawn.group[:, 1] == 2).all()
    assert drawing.search.looked_at == 0


def test_a_condition_that_is_too_rare_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records_module, "LONG_LOOK", 10_000)
    monkeypatch.setattr(records_module, "LONGEST_LOOK", 40_000)
    where = Where.parse("any(b = 0)", small())
    model = Histogram.uniform(small())
    table = np.zeros_like(model.probabilities)
    table[model.universe.sizes == 1] = 1
    # The first cast is one person with b = 0.
    table[0] = 1e-3
    model = replace(model, probabilities=table / table.sum())
    told: list[int] = []
    drawing = Records(model=model, where=where, progress=told.append)
    assert drawing.draw_all(5, rng=np.random.default_rng(1)).groups == 5
    assert told[-1] == 5
    with pytest.raises(
        KinfolkError, match=r"^where: .* like 'any\(b = 0\)': too few to find 5,000"
    ):
        drawing.draw_all(5000, rng=np.random.default_rng(1))


def test_what_the_model_cannot_make_is_refused() -> None:
    model = Histogram.uniform(small())
    none = np.where((model.universe.group_codes[:, 0] == 2)[None], 0, model.probabilities)
    where = Where.parse("a = 2", small())
    drawing = Records(model=replace(model, probabilities=none / none.sum()), where=where)
    with pytest.raises(KinfolkError, match="the model makes no such group"):
        drawing.draw_all(5, rng=np.random.default_rng(1))
    ruled = replace(small(), never=["COUNT = 3 and a = 0"])
    drawing = Records(
        model=Histogram.uniform(ruled), where=Where.parse("COUNT = 3 and a = 0", ruled)
    )
    with pytest.raises(KinfolkError, match=r"no group like 'COUNT = 3 .* that keeps the rules"):
        drawing.draw_all(5, rng=np.random.default_rng(1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rooms = 9", "where: in 'rooms = 9', rooms has no value .9.. Known here: 1, 2, 3"),
        ("room = 1", "attribute 'room' is unknown. Did you mean 'rooms'"),
        ("rooms = 1 and", "stands where a number or an attribute is expected"),
        ("age > 70", r"age is of people, and whole groups are chosen. Write any\(age ...\)"),
        ("rooms = 1 or age > 70", "age is of people, and whole groups are chosen"),
        ("head.age > 40 and age > 70", "age is anybody's, and head.age is one member's"),
        ("any(head.age > 40)", "head.age is about one member, and any about all"),
        ("any(rooms = 2)", "any is said to be like nothing about a person"),
        ("rooms = 1 and rooms = 2", "where: no group can be like 'rooms = 1 and rooms = 2'"),
    ],
)
def test_conditions_that_mean_nothing_are_refused(text: str, message: str) -> None:
    with pytest.raises(KinfolkError, match=message):
        Where.parse(text, FAMILY)
