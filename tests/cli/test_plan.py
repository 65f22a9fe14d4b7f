"""`kinfolk plan`: what it says is what a run then does."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

from homes import HOMES, homes
from kinfolk.cli.main import run
from kinfolk.datasets import load_schema, schema_text
from kinfolk.methods.marginals import Marginals
from kinfolk.methods.method import Method, Step
from kinfolk.methods.paper import hpd_fixed, mwem
from kinfolk.privacy.unit import Unit
from kinfolk.privacy.view import PublicView
from kinfolk.queries.workload import FAMILIES, Workload
from kinfolk.release.estimate import MOST_TRIED, USUAL_PASSES, _Enough, _Watch, estimate_run, known
from kinfolk.release.synthesizer import Synthesizer
from kinfolk.schema import Schema
from promises import IN_PLACE, REPLACE, promise
from release.small import synthesizer


@pytest.mark.parametrize(
    ("unit", "accounting"),
    [(Unit.GROUP, "zcdp"), (Unit.INDIVIDUAL, "zcdp"), (Unit.INDIVIDUAL, "paper")],
)
def test_the_noise_is_that_of_a_run(unit: Unit, accounting: str) -> None:
    maker = synthesizer(unit=unit, accounting=accounting, rounds=12).fit(homes())
    people = sum(size * n for size, n in _sizes().items())
    estimate = estimate_run(
        HOMES, maker.method, maker.guarantee, groups=400, people=people, benchmark=False
    )
    measured = {
        spend["sigma"] for spend in maker.certificate["spends"] if "measure" in spend["step"]
    }
    planned = {sigma for family in estimate.families for sigma in family.noise or ()}
    assert measured <= planned
    assert len(measured) == len(planned), "not every family was measured: take more rounds"


@pytest.mark.parametrize("unit", list(Unit))
def test_the_noise_is_that_of_whole_marginals(unit: Unit) -> None:
    quick = {"components": 4, "parts": 1, "replicates": 0, "max_passes": 1}
    maker = Synthesizer(
        HOMES, unit=unit, epsilon=5.0, delta=1e-6, seed=1, method="marginals", **quick
    ).fit(homes())
    people = sum(size * n for size, n in _sizes().items())
    estimate = estimate_run(
        HOMES, maker.method, maker.guarantee, groups=400, people=people, benchmark=False
    )
    # What a home with one member adds: to each of a pair, or to what it has by itself.
    pair = 1781 if unit is Unit.GROUP else 2520
    before = ("groups", "sizes")
    spends = [one for one in maker.certificate["spends"] if one["step"] not in before]
    paired = [any("individual" in one for one in spend["bought"]["marginals"]) for spend in spends]
    measured = {
        spend["sigma"] / (pair if both else 2520)
        for spend, both in zip(spends, paired, strict=True)
    }
    planned = {sigma for family in estimate.families for sigma in family.noise or ()}
    assert sorted(measured) == pytest.approx(sorted(planned))


def test_numbers_on_their_own_are_planned() -> None:
    schema, method = load_schema("acs"), Marginals()
    guarantee = promise(REPLACE, accounting=method.accounting)
    found = estimate_run(schema, method, guarantee, groups=10_000, benchmark=False).families
    noise = {one.name: one.noise for one in found if "numbers" in one.name}
    assert set(noise) == {"Q_I numbers", "Q_I numbers, finely"}
    # 0.75% of the budget for the one number that there is, and 2%.
    (bins, _), (cells, _) = noise["Q_I numbers"], noise["Q_I numbers, finely"]
    assert bins == pytest.approx((8 / 3) ** 0.5 * cells, rel=1e-6)


@pytest.mark.parametrize(
    ("groups", "known"),
    [(30_000, {"group", "individual", "relation"}), (3000, {"group", "individual"}), (1000, {})],
)
def test_what_is_too_noisy_to_be_bought_is_without_noise(groups: int, known: set[str]) -> None:
    """But for what makes a household: that is bought at any budget."""
    guarantee = promise(REPLACE, epsilon=0.5, delta=1e-9, accounting=Marginals().accounting)
    estimate = estimate_run(
        load_schema("acs-rel"), Marginals(), guarantee, groups=groups, benchmark=False
    )
    # Numbers on their own are bought in any case.
    families = [family for family in estimate.families if "numbers" not in family.name]
    told = {one.name.split()[0] for one in families if one.bought == one.marginals}
    assert told == {FAMILIES[level] for level in known}
    assert all(one.bought > 0 and one.noise is not None for one in families)


def _sizes() -> dict[int, int]:
    """How many homes of each size are kept: the first three members of each."""
    counts = homes()["people"].column("home").value_counts()
    sizes = [min(one["counts"].as_py(), 3) for one in counts]
    return {size: sizes.count(size) for size in set(sizes)}


@pytest.mark.parametrize("method", [hpd_fixed(rounds=5, components=10), mwem(rounds=5)])
def test_a_rehearsal_needs_no_data(method: Method) -> None:
    estimate = estimate_run(HOMES, method, promise(), groups=3000)
    assert estimate.expected is not None
    assert estimate.expected.counting_seconds > 0
    assert estimate.expected.fitting_seconds > 0
    assert 2**26 < estimate.expected.peak_bytes < 2**34
    assert estimate.explicit
    assert estimate.universe == 3 * (2 + 4 + 8)
    assert (estimate.parameters is None) == (method.name == "mwem")


def test_steps_are_extrapolated_and_finished_stages_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr("kinfolk.release.estimate.time.perf_counter", lambda: now)
    watch = _Watch()
    # However long buying takes, the fit that comes after it is watched, too.
    for step in range(1, 11):
        now += 0.5
        watch("measuring", step, 10)
    now += 50.0  # compiling
    for step in range(1, 4):
        now += 0.4
        watch("rounds", step, 100)
    now += 0.4
    with pytest.raises(_Enough):
        watch("rounds", 4, 100)
    assert watch.seconds({}) == pytest.approx(5 + 40)


def test_the_fits_that_come_after_the_trial_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("kinfolk.release.estimate.time.perf_counter", lambda: now)
    watch = _Watch()
    for step in range(1, 4):
        now += 0.4
        watch("trying", step, 60)
    now += 0.4
    with pytest.raises(_Enough):
        watch("trying", 4, 60)
    # As many passes as is usual of the trial, of each part and of each replicate.
    settings = Marginals(parts=4, replicates=8).settings
    assert watch.seconds(settings) == pytest.approx(0.4 * USUAL_PASSES * (1 + 4 + 8))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = tmp_path / "schema.yaml"
    schema.write_text(schema_text("acs-red"), encoding="utf-8")
    method = ["--method", "hpd-fixed", "--components", "20"]
    told = ["--unit", "person", "--epsilon", "1", "--delta", "1e-9", "--rounds", "7"]
    assert run(["plan", str(schema), "--groups", "2000", *told, *method]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    parameters = 20 * 39
    for text in ("Q_G", "1,333", "262,080", "mwem and pep can list them", f"{parameters}", "MB"):
        assert text in printed.out
    assert len(load_schema("acs-red").compositions) == 3
    assert "Compositions  3" in printed.out
    assert run(["plan", str(schema), "--groups", "0", *told, *method]) == 2
    assert "groups is 0" in capsys.readouterr().err


MANY_KINDS = """
group: {table: homes, id: home, attributes: {veh: {values: [0, 1]}}}
individual: {table: people, group_id: home, attributes: {sex: {values: [m, f]}}}
max_size: 46
roles:
  column: who
  head: {values: [h], min: 1, max: 1}
  child: {values: [c], min: 0, max: 45}
  guest: {values: [g], min: 0, max: 45}
workload: {k: 1, levels: [group, individual]}
"""


def test_so_many_compositions_that_trying_them_would_take_long(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def tried(*given: object, **options: object) -> None:
        raise AssertionError("it was tried")

    monkeypatch.setattr("kinfolk.release.estimate.benchmark_run", tried)
    schema = tmp_path / "schema.yaml"
    schema.write_text(MANY_KINDS, encoding="utf-8")
    assert len(Schema.from_yaml(schema).compositions) == 1_081 > MOST_TRIED
    told = ["--unit", "home", "--epsilon", "1", "--delta", "1e-9"]
    assert run(["plan", str(schema), "--groups", "2000", *told]) == 0
    said = capsys.readouterr().out
    assert "Compositions  1,081" in said
    assert "Time          not tried: made-up groups of so many compositions" in said


RELATED = """
group: {table: homes, id: home, attributes: {veh: {values: [0, 1]}, size: {derived: count}}}
individual: {table: people, group_id: home, attributes: {sex: {values: [m, f]}}}
max_size: 4
roles:
  column: who
  head: {values: [h], min: 1, max: 1}
  child: {values: [c], min: 0, max: 3}
relations:
  sibling: [[child, child]]
  parent: [[head, child]]
never: [veh = 1 and COUNT = 4]
workload: {k: 2, levels: [group, individual, relation]}
"""


def test_rules_and_relations_that_nothing_tells_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "schema.yaml"
    path.write_text(RELATED, encoding="utf-8")
    promised = ["--groups", "500", "--unit", "household", "--epsilon", "1", "--delta", "1e-9"]
    assert run(["plan", str(path), *promised]) == 0
    printed = capsys.readouterr()
    assert "Rules         1 (on_violation: error)" in printed.out
    assert "Computed      size" in printed.out
    assert "the relation sibling is between members of one role (child)" in printed.err
    assert "parent" not in printed.err
    assert "leaves out" not in printed.err
    path.write_text(RELATED.replace("{k: 2,", "{k: 2, attributes: [sex, veh],"), encoding="utf-8")
    assert run(["plan", str(path), *promised]) == 0
    assert "the workload leaves out who" in capsys.readouterr().err
    path.write_text(RELATED + "on_violation: drop\n", encoding="utf-8")
    promised[promised.index("household")] = "person"
    assert run(["plan", str(path), *promised]) == 2
    assert "`on_violation: drop` leaves out whole groups" in capsys.readouterr().err


def _own_view(schema: Schema, method: Method, *, people: int) -> PublicView:
    guarantee = promise(IN_PLACE, accounting=method.accounting)
    workload = method.asks(Workload.of(schema))
    return PublicView.of(
        workload,
        guarantee,
        size_weighted=method.size_weighted,
        groups=people,
        people=people,
    )


def test_what_is_known_follows_from_what_is_measured() -> None:
    """By hand: two measured marginals, with sums over what is not asked for."""
    schema = Schema.from_text("""
individual:
  table: people
  attributes: {a: {values: [0, 1]}, b: {values: [0, 1, 2]}, c: {values: [0, 1, 2, 3]}}
max_size: 1
workload: {sets: [[a, b], [a, c]]}
""")
    view = _own_view(schema, mwem(), people=1000)
    steps = [
        Step(key=f"{at}", rho=Fraction(1, 50), purchase=view.measure([at], rho=Fraction(1, 50)))
        for at in (0, 1)
    ]
    sigma = view.measure([0], rho=Fraction(1, 50)).mechanism.noise / 1000
    (people,) = known(view, steps)
    # a: sums over 3 and over 4 cells, at their best; b: over 2; c: over 2.
    both = (1 / (3 * sigma**2) + 1 / (4 * sigma**2)) ** -0.5
    assert people.errors == pytest.approx({1: sorted([both, sigma * 2**0.5])[1], 2: sigma})
    assert (people.level, people.relation) == ("individual", None)


def test_a_level_without_such_answers_is_left_out() -> None:
    """Of no attribute but a person's own nothing can be said about homes alone."""
    schema = Schema.from_text("""
group: {table: homes, id: home, attributes: {}}
individual: {table: people, group_id: home, attributes: {sex: {values: [m, f]}}}
max_size: 3
workload: {sets: [[sex]], levels: [individual]}
""")
    method = Marginals()
    guarantee = promise(REPLACE, accounting=method.accounting)
    found = estimate_run(schema, method, guarantee, groups=5000, benchmark=False).known
    assert found
    assert all(one.errors for one in found)


@pytest.mark.parametrize("unit", ["household", "person"])
def test_more_attributes_are_known_less_well(unit: str) -> None:
    method = Marginals()
    neighbours = REPLACE if unit == "household" else IN_PLACE
    guarantee = promise(neighbours, epsilon=1.0, delta=1e-9, accounting=method.accounting)
    found = estimate_run(load_schema("acs"), method, guarantee, groups=87_453, benchmark=False)
    assert [one.level for one in found.known] == ["group", "individual"]
    for one in found.known:
        assert list(one.errors) == [1, 2, 3]
        assert list(one.errors.values()) == sorted(one.errors.values())
        # What is measured itself has about the noise that the table shows; own attributes of homes,
        # which no weights make smaller, have less.
        (family,) = (f for f in found.families if f.name == FAMILIES[one.level])
        assert family.noise is not None
        assert family.noise[0] / family.total < 1.5 * one.errors[3]
        assert one.errors[3] < 3 * family.noise[1] / family.total
    assert found.choices == 0


def test_the_plan_says_in_words_what_the_noise_allows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "schema.yaml"
    path.write_text(RELATED, encoding="utf-8")
    promised = ["--groups", "500", "--unit", "household", "--epsilon", "1", "--delta", "1e-9"]
    quick = ["--components", "4", "--parts", "1", "--replicates", "0", "--max-passes", "1"]
    assert run(["plan", str(path), *promised, *quick]) == 0
    said = capsys.readouterr().out
    assert re.search(r"A share of homes by one attribute is known to about [\d.]+ points", said)
    assert "(hardly at all)" in said
    assert re.search(r"A share of people and their relatives \(parent\) by ", said)
    assert "By three attributes nothing is measured: the model fills it in." in said
    assert run(["plan", str(path), *promised, "--method", "mwem", "--rounds", "7"]) == 0
    assert "7 measurements, one chosen after another" in capsys.readouterr().out


def test_no_column_of_the_plan_is_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "schema.yaml"
    path.write_text(RELATED, encoding="utf-8")
    promised = ["--groups", "500", "--unit", "household", "--epsilon", "1", "--delta", "1e-9"]
    assert run(["plan", str(path), *promised, "--method", "independent"]) == 0
    said = capsys.readouterr().out
    assert "noise in counts" not in said
    assert re.search(r"In all [\d,]+ marginals, [\d,]+ queries\.", said)
