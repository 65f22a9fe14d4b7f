"""Numbers with large bins: counted, priced, named and answered as if the schema had only these."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from kinfolk.data.encode import encode
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.models.mixture.prepared import Grains, Prepared
from kinfolk.privacy.sensitivity import (
    paired_marginals,
    paired_sensitivities,
    workload_sensitivities,
    workload_weights,
)
from kinfolk.privacy.unit import Neighbours
from kinfolk.queries.added_marginals import with_coarse, with_numbers
from kinfolk.queries.counting import count
from kinfolk.queries.naming import describe_marginal, marginal_from
from kinfolk.queries.workload import Workload
from kinfolk.schema import Numeric, Schema
from kinfolk.schema.bins import BINS, EVERYBODYS_BINS, coarse_codes, coarse_size

SCHEMA = Schema.from_text("""
group:
  table: homes
  id: home
  attributes:
    rent: {bins: [0, 100, 200, 300, 400, 500, 600, 700, 9000], special: [0], missing: true}
    grant: {bins: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], derived: true}
    region: {values: [n, s]}
individual:
  table: people
  group_id: home
  attributes:
    sex: {values: [m, f]}
    age: {bins: [0, 5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 120], integer: true}
    wage: {bins: [0, 1, 2, 3, 4, 5, 6, 7, 8], missing: true}
roles:
  column: relate
  head: {values: [head], min: 1, max: 1}
  spouse: {values: [spouse], min: 0, max: 1}
  child: {values: [child], min: 0, max: 2}
relations:
  married_to: [[head, spouse], [spouse, head]]
  has_child: [[head, child], [spouse, child]]
max_size: 4
never: ["age < 10 and wage not missing"]
on_violation: drop
workload: {k: 2, levels: [group, individual, relation]}
""")


def merged(attribute: Numeric) -> Numeric:
    """The same number with the large bins alone, as somebody might have declared it."""
    codes = coarse_codes(attribute)
    starts = [at for at in range(len(attribute.bins) - 1) if at == 0 or codes[at] != codes[at - 1]]
    return replace(attribute, bins=[*(attribute.bins[at] for at in starts), attribute.bins[-1]])


def declared_so(schema: Schema) -> Schema:
    """The schema with large bins declared; rules that need the others are left out."""
    assert schema.group is not None

    def large(attributes: dict) -> dict:
        return {n: merged(a) if isinstance(a, Numeric) else a for n, a in attributes.items()}

    return replace(
        schema,
        group=replace(schema.group, attributes=large(dict(schema.group.attributes))),
        individual=replace(schema.individual, attributes=large(dict(schema.individual.attributes))),
        never=(),
    )


def some_tables(homes: int, seed: int) -> dict[str, pa.Table]:
    rng = np.random.default_rng(seed)
    rows: dict[str, list] = {"home": [], "relate": [], "sex": [], "age": [], "wage": []}
    for home in range(homes):
        roles = ["head", *["spouse"] * rng.integers(2), *["child"] * rng.integers(3)]
        for role in roles:
            age = int(rng.integers(120))
            rows["home"].append(home)
            rows["relate"].append(role)
            rows["sex"].append("mf"[rng.integers(2)])
            rows["age"].append(age)
            rows["wage"].append(None if age < 10 or rng.random() < 0.3 else 8 * rng.random())
    rent = [
        None if rng.random() < 0.1 else float(rng.choice([0, 50, 350, 650])) for _ in range(homes)
    ]
    return {
        "homes": pa.table(
            {
                "home": list(range(homes)),
                "rent": pa.array(rent, pa.float64()),
                "grant": rng.integers(9, size=homes).astype(float),
                "region": [("n", "s")[one] for one in rng.integers(2, size=homes)],
            }
        ),
        "people": pa.table({**rows, "wage": pa.array(rows["wage"], pa.float64())}),
    }


def coarse_part(schema: Schema) -> tuple[Workload, Workload]:
    """What is counted coarsely, and the same of the schema that declares large bins."""
    every = with_coarse(Workload.of(schema)).marginals
    other = declared_so(schema)
    marginals = tuple(one for one in every if one.coarse)
    return (
        Workload(schema=schema, marginals=marginals),
        Workload(schema=other, marginals=tuple(replace(one, coarse=False) for one in marginals)),
    )


def test_bins_are_put_together_and_nothing_else() -> None:
    age = Numeric(bins=[0, *range(5, 90, 5), 120], integer=True, special=[-1], missing=True)
    codes = coarse_codes(age)
    large = codes[: len(age.bins) - 1]
    assert set(large) == set(range(BINS))
    assert list(large) == sorted(large)
    assert codes[-2:] == (BINS, BINS + 1)
    assert coarse_size(age) == BINS + 2


def test_what_goes_together_is_counted_coarsely() -> None:
    found, _ = coarse_part(SCHEMA)
    named = {
        (str(one.level), one.relation, *map(tuple, (one.group, one.individual, one.relative)))
        for one in found.marginals
    }
    # The rent and the size with age and wage, by people and by groups; age and wage of relatives.
    # Neither what is computed nor what has no numbers.
    size = len(SCHEMA.group_attributes)
    assert named == {
        *(
            (level, None, (own,), (at,), ())
            for level in ("group", "individual")
            for own in (0, size)
            for at in (1, 2)
        ),
        *(("relation", one, (), (at,), (at,)) for one in SCHEMA.relations for at in (1, 2)),
    }


def test_counts_are_those_of_a_schema_with_large_bins() -> None:
    coarse, declared = coarse_part(SCHEMA)
    tables = some_tables(60, seed=1)
    weights = workload_weights(coarse, Neighbours.REPLACE.unit)
    ours = count(encode(SCHEMA, tables), coarse, weights=weights)
    theirs = count(encode(declared.schema, tables), declared, weights=weights)
    assert ours.sum() > 0
    np.testing.assert_array_equal(ours, theirs)
    # Beside all other marginals, cells included, they are the same.
    every = with_coarse(with_numbers(Workload.of(SCHEMA)))
    both = count(encode(SCHEMA, tables, finely=True), every)
    np.testing.assert_array_equal(both[-coarse.size :], count(encode(SCHEMA, tables), coarse))


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_they_cost_what_they_cost_with_large_bins(neighbours: Neighbours) -> None:
    coarse, declared = coarse_part(SCHEMA)
    assert paired_marginals(coarse) == paired_marginals(declared)
    weights = workload_weights(coarse, neighbours.unit)
    np.testing.assert_array_equal(weights, workload_weights(declared, neighbours.unit))
    for of in (workload_sensitivities, paired_sensitivities):
        assert of(coarse, neighbours, weights=weights) == of(declared, neighbours, weights=weights)


def test_a_pair_is_of_one_grain() -> None:
    every = with_coarse(Workload.of(SCHEMA))
    for group, individual in paired_marginals(every):
        assert every.marginals[group].shape == every.marginals[individual].shape


def test_names_are_read_back_and_others_refused() -> None:
    coarse, _ = coarse_part(SCHEMA)
    for marginal in coarse.marginals:
        described = describe_marginal(SCHEMA, marginal)
        assert described["coarsely"] is True
        assert marginal_from(SCHEMA, described) == marginal
    plain = {"level": "individual", "individual": ["sex"], "coarsely": True}
    with pytest.raises(ValueError, match="no large bins"):
        marginal_from(SCHEMA, plain)


def test_a_mixture_answers_them_as_one_with_large_bins_would() -> None:
    coarse, _ = coarse_part(SCHEMA)
    rng = np.random.default_rng(3)
    layout = Layout.of(SCHEMA)
    assert layout.kinded
    table = HPD.random(layout, 4, rng).probabilities
    every = Workload(
        schema=SCHEMA, marginals=(*Workload.of(SCHEMA).marginals[:5], *coarse.marginals)
    )
    weights = workload_weights(every, Neighbours.REPLACE.unit)
    prepared = Grains(layout, every, weights).prepare(range(len(every.marginals)))
    answers = prepared.answers(table)
    plain = Prepared.of(layout, every, weights=weights, marginals=range(5)).answers(table)
    np.testing.assert_allclose(answers[: len(plain)], plain)
    # Large bins, answered one kind of people at a time by hand: the sums of rows.
    summed = np.zeros((layout.coarsened.rows, 4))
    np.add.at(summed, layout.coarse_rows, table)
    for first, last in zip(layout.coarsened.segments, layout.coarsened.segments[1:], strict=False):
        np.testing.assert_allclose(summed[first:last].sum(axis=0), 1)
    by_hand = Prepared.of(
        layout.coarsened, every, weights=weights, marginals=range(5, len(every.marginals))
    ).answers(summed)
    np.testing.assert_allclose(answers[len(plain) :], by_hand)
    # What is asked of people adds up over bins.
    fine = [one for one in Workload.of(SCHEMA).marginals if one.level == "individual"]
    own = next(one for one in fine if (one.group, one.individual) == ((0,), (1,)))
    asked = Workload(schema=SCHEMA, marginals=(own,))
    cells = HPD(layout=layout, probabilities=table).rates(asked).reshape(own.shape)
    total = np.zeros([coarse_size(SCHEMA.group_attributes["rent"]), EVERYBODYS_BINS])
    rents = coarse_codes(SCHEMA.group_attributes["rent"])
    ages = coarse_codes(SCHEMA.individual_attributes["age"])
    np.add.at(total, np.ix_(rents, ages), cells)
    same = next(
        at
        for at, one in enumerate(coarse.marginals)
        if (one.level, one.group, one.individual) == ("individual", (0,), (1,))
    )
    alone = Workload(schema=SCHEMA, marginals=(coarse.marginals[same],))
    ones = np.ones((1, SCHEMA.size_limit + 1), np.int64)
    found = Grains(layout, alone, ones).prepare([0]).answers(table)
    np.testing.assert_allclose(found, total.ravel())


def test_the_gradient_is_that_of_the_answers() -> None:
    coarse, _ = coarse_part(SCHEMA)
    rng = np.random.default_rng(5)
    layout = Layout.of(SCHEMA)
    table = HPD.random(layout, 2, rng).probabilities
    weights = np.ones((len(coarse.marginals), SCHEMA.size_limit + 1), np.int64)
    prepared = Grains(layout, coarse, weights).prepare(range(len(coarse.marginals)))
    cotangent = rng.standard_normal(coarse.size)
    gradient = prepared.vjp(table, cotangent)
    direction = rng.standard_normal(table.shape) * layout.possible[:, None]
    step = 1e-6
    ahead, back = (prepared.answers(table + sign * step * direction) for sign in (1, -1))
    slope = (ahead - back) @ cotangent / (2 * step)
    np.testing.assert_allclose((gradient * direction).sum(), slope, rtol=1e-6)
