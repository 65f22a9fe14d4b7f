"""Whether records are believable, beside slow and obvious loops."""

from __future__ import annotations

import itertools
import json
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kinfolk.evaluate import Comparison, compare, evaluate, sides
from kinfolk.evaluate.amounts import QUANTILES, Figures
from kinfolk.evaluate.bonds import pair_rows
from kinfolk.evaluate.groups import ties_of
from kinfolk.evaluate.sides import read_real
from kinfolk.evaluate.verdict import Finding, verdicts
from kinfolk.schema import Schema

HOMES = """
group:
  table: homes
  id: home
  attributes:
    income: {bins: [0, 10, 100, 1000], special: [0], decimals: 1}
    weight: {bins: [0, 1, 5]}
    size: {derived: count, values: [1, 2, 3]}
    head_age: {derived: head.age, bins: [0, 16, 40, 100], integer: true}
    tenure: {values: [own, rent]}
  weight: weight
individual:
  table: people
  group_id: home
  attributes:
    age: {bins: [0, 16, 40, 100], integer: true}
    job: {values: ['no', 'yes'], missing: true}
    wage: {bins: [0, 10, 1000], special: [0, -9]}
roles:
  column: relate
  head: {values: [h], min: 1, max: 1}
  spouse: {values: [s], max: 1}
  child: {values: [c], max: 2}
relations:
  married_to: [[head, spouse], [spouse, head]]
  has_child: [[head, child], [spouse, child]]
  has_sibling: [[child, child]]
max_size: 3
never:
  - age < 16 and job = "yes"
  - child.age > head.age - 12
on_violation: drop
workload: {k: 1}
"""
SCHEMA = Schema.from_text(HOMES)

Tables = dict[str, pa.Table]


def homes(groups: int = 400, *, seed: int = 1, spoilt: float = 0.0) -> Tables:
    """Households that keep all rules, or a share of them that do not."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    table: list[dict[str, Any]] = []
    for home in range(groups):
        age = int(rng.integers(30, 90))
        roles = "h" + "s" * int(rng.integers(2))
        roles += "c" * int(rng.integers(4 - len(roles)))
        broken = rng.random() < spoilt
        own = []
        for role in roles:
            years = {"h": age, "s": min(age + int(rng.integers(-3, 4)), 100), "c": age - 25}[role]
            if broken and role == "c":
                years = age
            job = "yes" if years >= 16 and rng.random() < 0.7 else "no"
            wage = round(float(rng.lognormal(3, 1)), 2) if job == "yes" else 0.0
            own.append({"home": home, "relate": role, "age": years, "job": job})
            own[-1]["wage"] = min(wage, 999.0) if rng.random() < 0.9 else -9.0
        rows += own
        wages = sum(max(one["wage"], 0) for one in own)
        table.append(
            {
                "home": home,
                "income": min(round(wages * (3 if broken else 1), 1), 1000.0),
                "weight": float(rng.uniform(0.5, 4)),
                "size": len(roles),
                "head_age": age + (1 if broken and age % 2 else 0),
                "tenure": "own" if age > 40 else "rent",
            }
        )
    return {"homes": pa.Table.from_pylist(table), "people": pa.Table.from_pylist(rows)}


@pytest.fixture(scope="module")
def found() -> Comparison:
    return compare(SCHEMA, real=homes(seed=1), synthetic=homes(300, seed=2, spoilt=0.3))


def members(tables: Tables) -> dict[int, list[dict[str, Any]]]:
    together: dict[int, list[dict[str, Any]]] = {}
    for row in tables["people"].to_pylist():
        together.setdefault(row["home"], []).append(row)
    return together


def test_rules_are_broken_as_often_as_in_the_loops(found: Comparison) -> None:
    groups = members(homes(300, seed=2, spoilt=0.3))
    young = [any(p["age"] < 16 and p["job"] == "yes" for p in own) for own in groups.values()]
    near = [
        any(c["relate"] == "c" and c["age"] > own[0]["age"] - 12 for c in own)
        for own in groups.values()
    ]
    rates = found.metrics["believable"]["rules"]
    assert rates == {
        'age < 16 and job = "yes"': np.mean(young),
        "child.age > head.age - 12": np.mean(near),
        "any": np.mean(np.array(young) | np.array(near)),
    }
    assert rates["any"] > 0.05
    assert found.metrics["believable"]["rules_real"]["any"] == 0


def test_real_groups_that_were_left_out_count() -> None:
    tables = homes(seed=3, spoilt=0.2)
    ages = {row["home"]: row["age"] for row in tables["people"].to_pylist() if row["relate"] == "h"}
    right = pa.array([ages[home] for home in tables["homes"]["home"].to_pylist()])
    tables["homes"] = tables["homes"].set_column(4, "head_age", right)
    same = compare(SCHEMA, real=tables, synthetic=tables).metrics["believable"]
    assert same["rules"] == same["rules_real"]
    assert same["rules"]["any"] > 0.05


def test_computed_columns_agree_as_often_as_in_the_loops(found: Comparison) -> None:
    tables = homes(300, seed=2, spoilt=0.3)
    own = members(tables)
    rows = tables["homes"].to_pylist()
    right = [row["head_age"] == own[row["home"]][0]["age"] for row in rows]
    shares = found.metrics["believable"]["derived"]
    assert shares == {"size": 1.0, "head_age": pytest.approx(np.mean(right))}
    assert shares["head_age"] < 0.95


def test_figures_are_those_of_the_written_values(found: Comparison) -> None:
    for side, tables in (("real", homes(seed=1)), ("synthetic", homes(300, seed=2, spoilt=0.3))):
        wage = np.array(tables["people"]["wage"].to_pylist())
        wage = wage[wage != -9]
        shown = found.metrics["believable"]["numbers"]["wage"][side]
        assert shown["values"] == len(wage)
        assert shown["mean"] == pytest.approx(wage.mean())
        assert shown["sd"] == pytest.approx(wage.std())
        assert shown["p99"] == np.quantile(wage, 0.99, method="inverted_cdf")
        assert shown["quantiles"] == tuple(np.quantile(wage, QUANTILES, method="inverted_cdf"))
        assert shown["zeros"] == pytest.approx((wage == 0).mean())
        apart = np.abs(wage[:, None] - wage[None, :]).mean()
        assert shown["gini"] == pytest.approx(apart / (2 * wage.mean()))


def test_weights_count(found: Comparison) -> None:
    tables = homes(seed=1)
    weight = np.array(tables["homes"]["weight"].to_pylist())
    numbers = found.metrics["believable"]["numbers"]
    income = np.array(tables["homes"]["income"].to_pylist())
    shown = numbers["income"]["real_weighted"]
    assert shown["mean"] == pytest.approx((weight * income).sum() / weight.sum())
    ages = np.array(tables["people"]["age"].to_pylist())
    each = weight[np.array(tables["people"]["home"].to_pylist())]
    assert numbers["age"]["real_weighted"]["mean"] == pytest.approx(
        (each * ages).sum() / each.sum()
    )
    assert "real_weighted" not in numbers["weight"]


def test_weighted_totals_means_and_shares(found: Comparison) -> None:
    shown = found.metrics["weighted"]
    assert shown["weight"] == "weight"
    shares = {one["attribute"]: one for one in shown["shares"]}
    means = {one["attribute"]: one for one in shown["means"]}
    assert "weight" not in shares
    assert list(shares) == sorted(shares, key=lambda name: -shares[name]["distance"])
    for side, tables in enumerate((homes(seed=1), homes(300, seed=2, spoilt=0.3))):
        rows = {row["home"]: row for row in tables["homes"].to_pylist()}
        people = tables["people"].to_pylist()
        weight = np.array([row["weight"] for row in rows.values()])
        each = np.array([rows[one["home"]]["weight"] for one in people])
        assert shown["groups"][side] == pytest.approx(weight.sum())
        assert shown["people"][side] == pytest.approx(each.sum())
        assert shown["spread"][side] == pytest.approx(weight.std() / weight.mean())
        ages = np.array([one["age"] for one in people])
        which = ("real", "synthetic")[side]
        assert means["age"][which] == pytest.approx((each * ages).sum() / each.sum())
        assert means["age"]["unweighted"][side] == pytest.approx(ages.mean())
        label = shares["tenure"]["category"]
        such = np.array([row["tenure"] == label for row in rows.values()])
        assert shares["tenure"][which] == pytest.approx(weight[such].sum() / weight.sum())
        assert shares["tenure"]["unweighted"][side] == pytest.approx(such.mean())
        jobs = np.array([one["job"] == shares["job"]["category"] for one in people])
        assert shares["job"][which] == pytest.approx(each[jobs].sum() / each.sum())
    page = evaluate(SCHEMA, real=homes(seed=1), synthetic=homes(300, seed=2, spoilt=0.3)).html()
    assert 'id="weighted"' in page
    assert f"{shares['tenure']['real']:.1%}" in page


def test_without_weights_there_is_no_such_section() -> None:
    schema = Schema.from_text(HOMES.replace("  weight: weight\n", ""))
    found = evaluate(schema, real=homes(seed=1), synthetic=homes(seed=2))
    assert found.metrics["weighted"] is None
    assert 'id="weighted"' not in found.html()


def test_whole_weights_are_as_good_as_rows_that_are_there_twice() -> None:
    rng = np.random.default_rng(5)
    values, often = rng.normal(10, 5, 50).round(1), rng.integers(0, 4, 50)
    weighted = Figures.of(values, 10.0, often.astype(float))
    repeated = Figures.of(np.repeat(values, often), 10.0)
    for name in ("mean", "sd", "median", "p99", "quantiles", "zeros", "commonest", "gini"):
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name)), name


def test_a_shift_inside_the_bins_is_seen() -> None:
    """Shares of categories are the same; means and spreads are not."""
    tables = homes()
    wage = np.array(tables["people"]["wage"].to_pylist())
    shifted = np.where(wage >= 10, wage + (999 - wage) * 0.8, wage)
    people = tables["people"].set_column(4, "wage", pa.array(shifted))
    assert people.column_names == tables["people"].column_names
    other = compare(SCHEMA, real=tables, synthetic={**tables, "people": people})
    assert other.families["all"].max == 0
    assert {one.topic: one.level for one in other.verdict}["numbers"] == "poor"
    assert other.verdict[0].topic == "numbers"
    assert "times the real one" in other.verdict[0].words


def test_those_who_are_looked_at_stand_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """A third of the groups, of which some broke a rule: totals and rates are those of all."""
    tables, strict = homes(3_000), replace(SCHEMA, never=("COUNT = 3",))
    whole = compare(strict, real=tables, synthetic=tables).metrics
    monkeypatch.setattr(sides, "HELD", 100_000)
    few = compare(strict, real=tables, synthetic=tables).metrics
    assert whole["believable"]["rules_real"]["any"] > 0.2
    assert 2 * few["looked_at"]["real"] < whole["looked_at"]["real"]
    assert few["believable"]["rules_real"] == pytest.approx(whole["believable"]["rules_real"])
    # Six standard errors of a sum over 500 of them: about one false alarm in a billion.
    for key in ("groups", "people"):
        assert few["weighted"][key] == pytest.approx(whole["weighted"][key], rel=0.16)


def test_pairs_of_people_are_those_of_the_loops() -> None:
    data = read_real(SCHEMA, homes(60))
    names = SCHEMA.roles.names if SCHEMA.roles else ()
    assert data.role is not None
    for tie in ties_of(SCHEMA):
        expected = {
            (i, j)
            for g in range(data.groups)
            for i, j in itertools.permutations(range(data.offsets[g], data.offsets[g + 1]), 2)
            if (names[data.role[i]], names[data.role[j]]) in tie.pairs
        }
        ones, others = pair_rows(data, tie)
        assert len(ones) == len(expected) > 0
        assert set(zip(ones.tolist(), others.tolist(), strict=True)) == expected


def test_links_are_those_of_the_written_values(found: Comparison) -> None:
    couples = [
        (own[0]["age"], own[1]["age"])
        for own in members(homes(seed=1)).values()
        if len(own) > 1 and own[1]["relate"] == "s"
    ]
    head, spouse = np.array(couples).T
    links = {(one.tie, one.attribute): one for one in found.believable.links}
    ages = links["married_to", "age"]
    assert ages.correlation is not None
    assert ages.correlation[0] == pytest.approx(np.corrcoef(head, spouse)[0, 1])
    assert ages.gap is not None
    assert ages.gap[0].mean == pytest.approx((head - spouse).mean())
    assert ages.gap[0].p95 == np.quantile(head - spouse, 0.95, method="inverted_cdf")
    strongest = found.believable.totals[0]
    assert (strongest.group, strongest.members) == ("income", "wage")
    assert strongest.correlation[0] > 0.99


def test_what_no_real_record_has_is_named() -> None:
    tables = homes(600, seed=1)
    turned = pa.array(["own"] * 600)
    made = {**tables, "homes": tables["homes"].set_column(5, "tenure", turned)}
    shown = compare(SCHEMA, real=tables, synthetic=made).believable
    named = {one.attributes: one for one in shown.patterns}["head_age", "tenure"]
    assert named.words == "head_age 16 to 39 with tenure own"
    young = [row["head_age"] < 40 for row in tables["homes"].to_pylist()]
    assert (named.groups, named.combinations) == (sum(young), 1)
    assert shown.unseen >= named.share == pytest.approx(np.mean(young))


def test_the_number_of_members_is_not_named_twice() -> None:
    tables = homes(600, seed=1)
    alone = ["rent" if size == 1 else "own" for size in tables["homes"]["size"].to_pylist()]
    real, made = (
        {**tables, "homes": tables["homes"].set_column(5, "tenure", pa.array(tenure))}
        for tenure in (alone, ["own"] * 600)
    )
    shown = compare(SCHEMA, real=real, synthetic=made).believable
    named = {frozenset(one.attributes) for one in shown.patterns}
    assert {"tenure", "COUNT"} in named
    assert not any("size" in one for one in named)


def test_the_same_tables_are_good() -> None:
    tables = homes()
    same = compare(SCHEMA, real=tables, synthetic=tables)
    assert {one.level for one in same.verdict} == {"good"}
    assert len(same.verdict) == 6


def test_another_sample_is_not_poor() -> None:
    """Chance is no flaw."""
    another = compare(SCHEMA, real=homes(2000, seed=1), synthetic=homes(2000, seed=9))
    assert not [one for one in another.verdict if one.level == "poor"]


def test_the_worst_topic_comes_first(found: Comparison) -> None:
    findings = [
        Finding(topic="links", size=0.5, words="a"),
        Finding(topic="rules", size=2.0, words="b"),
        Finding(topic="rules", size=7.0, words="c"),
        Finding(topic="shares", size=1.5, words="d"),
    ]
    seen = [(one.topic, one.level, one.words, one.more) for one in verdicts(findings)]
    assert seen == [
        ("rules", "poor", "c", ("b",)),
        ("shares", "fair", "d", ()),
        ("links", "good", "a", ()),
    ]
    levels = [one.level for one in found.verdict]
    assert levels == sorted(levels, key=["poor", "fair", "good"].index)


def test_the_page_opens_with_it_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    judged = evaluate(SCHEMA, real=homes(), synthetic=homes(300, seed=2, spoilt=0.3))
    written = judged.write(tmp_path)
    for path in written.values():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = written["report.html"].read_text(encoding="utf-8")
    places = [text.index(f'<section id="{name}"') for name in ("believable", "rules", "summary")]
    assert places == sorted(places)
    metrics = json.loads(written["metrics.json"].read_text(encoding="utf-8"))
    assert {"rules", "numbers", "derived", "verdict"} <= set(metrics["believable"])
    json.dumps(judged.metrics, allow_nan=False)
    assert 'class="verdict"' in judged._repr_html_()


def test_flat_data_and_blanks_alone_are_no_obstacle() -> None:
    schema = Schema.from_text(
        "individual: {table: people, attributes: {wage: {bins: [0, 9], missing: true}}}\n"
        "max_size: 1\nworkload: {k: 1, levels: [individual]}\n"
    )
    blank = {"people": pa.table({"wage": pa.array([None, None], pa.float64())})}
    known = {"people": pa.table({"wage": [1.0, 2.0]})}
    judged = evaluate(schema, real=known, synthetic=blank)
    assert judged.comparison.verdict[0].words == "no synthetic wage is a number"
    assert "no number" in judged.html()
    json.dumps(judged.metrics, allow_nan=False)
