"""The model's answers equal full enumeration of the groups that it can draw."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generators import RELATIONS, schemas
from kinfolk.data.encoded import Encoded, code_type
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.models.mixture import schedule
from kinfolk.models.mixture.prepared import Prepared
from kinfolk.privacy.sensitivity import workload_weights
from kinfolk.privacy.unit import Unit
from kinfolk.queries.workload import Query, Workload
from kinfolk.schema import Attribute, Categorical, Schema
from obvious import group_matches, matches, relation_count

SIBLINGS = {**RELATIONS, "has_sibling": (("child", "child"),)}


def tiny(schema: Schema) -> Schema:
    """The same schema with so few values that all groups can be listed."""

    def few(attributes: dict[str, Attribute], sizes: tuple[int, ...]) -> dict[str, Attribute]:
        named = zip(attributes.items(), sizes, strict=False)
        return {n: Categorical(values=list(range(min(a.size, size)))) for (n, a), size in named}

    assert schema.group is not None
    group = few(dict(schema.group_attributes), (2, 2))
    individual = few(dict(schema.individual_attributes), (2, 2))
    return replace(
        schema,
        group=replace(schema.group, attributes=group),
        individual=replace(schema.individual, attributes=individual),
        max_size=min(schema.max_size, 4 if schema.roles else 3),
        relations=SIBLINGS if schema.roles else {},
        workload=replace(
            schema.workload, k=min(schema.workload.k, len(group) + len(individual) + 1)
        ),
    )


@st.composite
def models(draw: st.DrawFn, schema: Schema, *, components: int = 2) -> HPD:
    """A random model of the schema, with one of several sharing schemes."""
    if schema.roles is None:
        scheme = draw(st.sampled_from([None, [3], [2, 1, 1], [1, 2]]))
    else:
        scheme = draw(st.sampled_from([None, {"child": [1, 1]}]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return HPD.random(Layout.of(schema, scheme=scheme), components, rng)


def all_groups(model: HPD) -> tuple[Encoded, np.ndarray]:
    """Every group the model can draw, and how likely it is to draw it."""
    layout, schema = model.layout, model.layout.schema
    group_cells = list(
        itertools.product(*(range(a.size) for a in schema.group_attributes.values()))
    )
    people = list(
        itertools.product(*(range(a.size) for a in schema.individual_attributes.values()))
    )
    group, individual, roles, sizes, chances = [], [], [], [], []
    for c, mult in enumerate(layout.mult):
        slots = np.repeat(np.arange(layout.slots), mult)
        for own in group_cells:
            for members in itertools.product(people, repeat=len(slots)):
                chance = model.composition[c].copy()
                for offset, code in zip(layout.group_offsets, own, strict=False):
                    chance *= model.group[offset + code]
                for slot, codes in zip(slots, members, strict=True):
                    for offset, code in zip(layout.individual_offsets, codes, strict=False):
                        chance *= model.individual[slot, offset + code]
                chances.append(chance.mean())
                group.append(own)
                individual.extend(members)
                roles.extend(layout.slot_roles[slot] for slot in slots)
                sizes.append(len(slots))
    kind = code_type(schema)
    data = Encoded(
        schema=schema,
        group=np.array(group, kind).reshape(len(group), len(schema.group_attributes)),
        individual=np.array(individual, kind),
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        role=np.array(roles, np.uint8) if schema.roles else None,
    )
    return data, np.array(chances)


def contribution(data: Encoded, query: Query, g: int) -> int:
    """What one group adds to a query, by plain loops."""
    marginal, codes = query.marginal, list(query.codes)
    first, second = len(marginal.group), len(marginal.group) + len(marginal.individual)
    if not group_matches(data, g, marginal.group, codes[:first]):
        return 0
    members = list(range(data.offsets[g], data.offsets[g + 1]))
    found = [i for i in members if matches(data, i, marginal.individual, codes[first:second])]
    if marginal.level == "group":
        return int(bool(found))
    if marginal.level == "individual":
        return len(found)
    return sum(relation_count(data, i, members, query, codes[second:]) for i in found)


def enumerated(
    model: HPD, workload: Workload, queries: list[int], weights: np.ndarray | None = None
) -> np.ndarray:
    """Expected contributions of one group, from all groups that are possible."""
    data, chances = all_groups(model)
    assert chances.sum() == pytest.approx(1)
    found = np.zeros(len(queries))
    for position, number in enumerate(queries):
        query, row = workload.query(number), workload.marginal_of(number)
        for g, chance in enumerate(chances):
            weight = 1 if weights is None else weights[row, data.sizes[g]]
            found[position] += chance * weight * contribution(data, query, g)
    return found


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("roles", [False, True])
@settings(max_examples=6)
@given(data=st.data())
def test_rates_equal_enumeration(k: int, roles: bool, data: st.DataObject) -> None:
    schema = tiny(data.draw(schemas(k=k, roles=roles)))
    model = data.draw(models(schema))
    workload = Workload.of(schema)
    weights = data.draw(st.sampled_from([None, workload_weights(workload, Unit.GROUP)]))
    scale = 1 if weights is None else 2520
    rates = model.rates(workload, weights=weights)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    queries = rng.integers(workload.size, size=24).tolist()
    expected = enumerated(model, workload, queries, weights)
    np.testing.assert_allclose(rates[queries] / scale, expected / scale, atol=1e-12)
    selection = Prepared.of_queries(model.layout, workload, queries, weights=weights)
    np.testing.assert_allclose(model.rates(selection) / scale, expected / scale, atol=1e-12)


def test_counting_pairs_for_people_would_be_noticed() -> None:
    """The comparison has teeth: another reading of a relation fails it."""
    schema = replace(tiny(example(roles=True)[0]), max_size=3)
    other = replace(schema, workload=replace(schema.workload, relation_counts="pairs"))
    people, pairs = (Workload.of(one, k=1, levels=["relation"]) for one in (schema, other))
    model = HPD.random(Layout.of(schema), 2, np.random.default_rng(1))
    wrong = HPD(layout=Layout.of(other), probabilities=model.probabilities).rates(pairs)
    expected = enumerated(model, people, list(range(people.size)))
    np.testing.assert_allclose(model.rates(people), expected, atol=1e-12)
    assert np.abs(wrong - expected).max() > 0.01


def example(roles: bool) -> tuple[Schema, Workload]:
    text = """
group: {table: homes, id: home, attributes: {veh: {values: [0, 1, 2]}, own: {values: [0, 1]}}}
individual:
  table: people
  group_id: home
  attributes: {sex: {values: [m, f]}, age: {values: [0, 1, 2, 3]}, job: {values: [0, 1, 2]}}
max_size: 5
"""
    if roles:
        text += """
roles:
  column: relate
  head: {values: [0], min: 1, max: 1}
  spouse: {values: [1], min: 0, max: 1}
  child: {values: [2], min: 0, max: 3}
relations:
  married_to: [[head, spouse], [spouse, head]]
  has_parent: [[child, head], [child, spouse]]
  has_sibling: [[child, child]]
workload: {k: 3, levels: [group, individual, relation]}
"""
    schema = Schema.from_text(text)
    return schema, Workload.of(schema)


@pytest.mark.parametrize("roles", [False, True])
def test_scratch_of_any_size_gives_the_same(roles: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    schema, workload = example(roles)
    model = HPD.random(Layout.of(schema), 3, np.random.default_rng(1))
    expected = model.rates(workload)
    for stored, results in ((7, 100_000), (4096, 11), (1, 1)):
        monkeypatch.setattr(schedule, "STORED", stored)
        monkeypatch.setattr(schedule, "RESULTS", results)
        np.testing.assert_allclose(model.rates(workload), expected, rtol=1e-12)


@pytest.mark.parametrize("roles", [False, True])
def test_a_mixture_answers_as_its_components_do(roles: bool) -> None:
    """More components than a tile holds, and a last tile that is not full."""
    schema, workload = example(roles)
    model = HPD.random(Layout.of(schema), 300, np.random.default_rng(1))
    parts = [
        HPD(layout=model.layout, probabilities=np.ascontiguousarray(table)).rates(workload)
        * table.shape[1]
        for table in np.split(model.probabilities, [1, 60, 128, 290], axis=1)
    ]
    np.testing.assert_allclose(model.rates(workload), sum(parts) / 300, rtol=1e-12)


def test_answers_are_shares() -> None:
    schema, _ = example(roles=True)
    model = HPD.random(Layout.of(schema), 4, np.random.default_rng(2))
    everything = Workload.of(schema, sets=[["veh", "COUNT", "sex", "age"]], levels=["individual"])
    assert model.answer(everything).sum() == pytest.approx(1)
    assert model.rates(everything).sum() == pytest.approx(model.mean_size())
    homes = Workload.of(schema, sets=[["veh", "COUNT"]], levels=["group"])
    assert model.answer(homes).sum() == pytest.approx(1)
    sizes = Workload.of(schema, sets=[["COUNT"]], levels=["group"])
    assert model.answer(sizes) @ list(schema.sizes) == pytest.approx(model.mean_size())


def test_summing_out_an_attribute_of_the_group_or_the_person() -> None:
    schema, _ = example(roles=False)
    model = HPD.random(Layout.of(schema), 4, np.random.default_rng(2))
    for level in ("group", "individual"):
        fine = Workload.of(schema, sets=[["veh", "own", "COUNT", "sex"]], levels=[level])
        coarse = Workload.of(schema, sets=[["own", "sex"]], levels=[level])
        cells = model.answer(fine).reshape(3, 2, 5, 2).sum(axis=(0, 2))
        np.testing.assert_allclose(cells.ravel(), model.answer(coarse), rtol=1e-12)
    fine = Workload.of(schema, sets=[["veh", "sex", "age"]], levels=["individual"])
    coarse = Workload.of(schema, sets=[["veh", "age"]], levels=["individual"])
    cells = model.answer(fine).reshape(3, 2, 4).sum(axis=1)
    np.testing.assert_allclose(cells.ravel(), model.answer(coarse), rtol=1e-12)


def test_flat_data_has_no_group_part() -> None:
    schema = Schema.from_text(
        "individual: {table: rows, attributes: {a: {values: [1, 2]}, b: {values: [1, 2, 3]}}}\n"
        "max_size: 1\nworkload: {k: 2, levels: [individual]}\n"
    )
    model = HPD.random(Layout.of(schema), 3, np.random.default_rng(1))
    a, b = model.individual[0, :2], model.individual[0, 2:]
    expected = (a[:, None] * b[None]).mean(axis=2).ravel()
    np.testing.assert_allclose(model.answer(Workload.of(schema)), expected, rtol=1e-12)


def test_a_marginal_may_be_asked_twice() -> None:
    schema, workload = example(roles=False)
    twice = replace(workload, marginals=(*workload.marginals[-3:], *workload.marginals[-3:]))
    model = HPD.random(Layout.of(schema), 3, np.random.default_rng(1))
    first, second = np.split(model.rates(twice), 2)
    assert first.tolist() == second.tolist()


def test_single_precision_agrees() -> None:
    schema, workload = example(roles=True)
    model = HPD.random(Layout.of(schema), 40, np.random.default_rng(1))
    single = HPD(layout=model.layout, probabilities=model.probabilities.astype(np.float32))
    np.testing.assert_allclose(single.rates(workload), model.rates(workload), atol=1e-6)
    assert single.composition.dtype == np.float32


def test_what_does_not_fit_is_refused() -> None:
    schema, workload = example(roles=False)
    other, _ = example(roles=True)
    model = HPD.random(Layout.of(schema), 2, np.random.default_rng(1))
    with pytest.raises(ValueError, match="another schema"):
        model.rates(Workload.of(other))
    with pytest.raises(ValueError, match="another layout"):
        model.rates(Prepared.of_queries(Layout.of(schema, scheme=[5]), workload, [1]))
    with pytest.raises(ValueError, match="weights have shape"):
        model.rates(workload, weights=np.ones((2, 2), np.int64))
    with pytest.raises(ValueError, match="whole numbers"):
        model.rates(workload, weights=np.ones((len(workload.marginals), 6)))
    with pytest.raises(ValueError, match="weights are given when"):
        model.rates(
            Prepared.of_queries(model.layout, workload, [1]), weights=np.ones((2, 2), np.int64)
        )
    with pytest.raises(ValueError, match="probabilities have shape"):
        HPD(layout=model.layout, probabilities=np.ones((3, 2)))
    with pytest.raises(ValueError, match="float32 or float64"):
        HPD(layout=model.layout, probabilities=np.ones((model.layout.rows, 2), np.int64))
