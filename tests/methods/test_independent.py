"""Every attribute by itself: what is bought, what is learnt, and what is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from homes import HOMES, homes
from kinfolk.data.encode import encode
from kinfolk.errors import KinfolkError
from kinfolk.methods.independent import Independent
from kinfolk.methods.method import NothingLearntError
from kinfolk.privacy.accounting import Accounting
from kinfolk.privacy.curator import Curator
from kinfolk.privacy.view import PublicView
from kinfolk.queries.counting import Counter, count
from kinfolk.queries.workload import Workload
from kinfolk.release.synthesizer import Synthesizer
from kinfolk.release.verify import verify
from kinfolk.schema import Schema
from promises import IN_PLACE, REPLACE, promise
from release.small import FAMILIES, FLAT, families, flat_people

RULED = Schema.from_text(FAMILIES.to_yaml() + "never: [who = s and sex = f]\n")


def maker(schema: Schema = HOMES, **told: Any) -> Synthesizer:
    settings = {"unit": "group", "epsilon": 2.0, "delta": 1e-6, "seed": 1, **told}
    return Synthesizer(schema, method="independent", **settings)


def shares(schema: Schema, tables: Any, workload: Workload) -> Any:
    data = encode(schema, tables)
    totals = {"group": data.groups, "individual": data.people}
    marginals = workload.marginals
    each = np.repeat([totals[one.level] for one in marginals], [one.cells for one in marginals])
    return count(data, workload) / each


@pytest.mark.parametrize(
    ("schema", "tables"),
    [(HOMES, homes()), (FLAT, flat_people()), (FAMILIES, families()), (RULED, families())],
    ids=["homes", "flat", "roles", "rules"],
)
@pytest.mark.parametrize(
    "told",
    [{"neighbours": "add-remove"}, {"neighbours": "replace"}, {"unit": "individual"}],
    ids=lambda told: next(iter(told.values())),
)
def test_it_buys_what_it_plans_and_its_certificate_holds(
    schema: Schema, tables: Any, told: dict[str, str]
) -> None:
    made = maker(schema, seed=None, **told).fit(tables)
    assert verify(made.certificate, schema) == []
    asked = made.method.asks(Workload.of(schema))
    view = PublicView.of(asked, made.guarantee, size_weighted=False)
    planned = [step.key for step in made.method.steps(view)]
    assert [spend["step"] for spend in made.certificate["spends"]] == planned
    if told != {"neighbours": "replace"}:  # there it depends on what the schema leaves out
        assert ("groups" in planned) is ("neighbours" in told)
    assert sum(step.rho for step in made.method.steps(view)) == made.guarantee.rho


def test_every_attribute_is_asked_once_whatever_the_workload() -> None:
    text = FAMILIES.to_yaml().replace("k: 2", "k: 1, attributes: [sex]")
    asked = Independent().asks(Workload.of(Schema.from_text(text)))
    found = [(one.level.value, one.group, one.individual) for one in asked.marginals]
    assert found == [
        ("group", (0,), ()),
        ("group", (1,), ()),
        ("individual", (), (0,)),
        ("individual", (), (1,)),
    ]


@pytest.mark.parametrize("unit", ["group", "individual"])
@pytest.mark.parametrize(("schema", "tables"), [(HOMES, homes(2000)), (FAMILIES, families(2000))])
def test_it_learns_the_attributes_where_epsilon_is_large(
    schema: Schema, tables: Any, unit: str
) -> None:
    """Noise far below one in a hundred at one end, and of several times all groups at the other."""
    asked = Independent().asks(Workload.of(schema))
    true = shares(schema, tables, asked)
    far = {}
    for epsilon in (500.0, 0.001):
        made = maker(schema, unit=unit, epsilon=epsilon).fit(tables)
        far[epsilon] = np.abs(made.release.model.answer(asked) - true).max()
    assert far[500.0] < 0.01
    assert far[0.001] > 0.2


def test_it_learns_no_association() -> None:
    """Every home with a vehicle is all men: the model has as many men in each."""
    tables = homes(1000)
    veh = dict(zip(*(tables["homes"][name].to_pylist() for name in ("home", "veh")), strict=True))
    sex = ["m" if veh[home] else "f" for home in tables["people"]["home"].to_pylist()]
    tables["people"] = tables["people"].set_column(0, "sex", [sex])
    made = maker(epsilon=100.0).fit(tables)
    pairs = Workload.of(HOMES, levels=["individual"], sets=[["veh", "sex"]])
    true = shares(HOMES, tables, pairs).reshape(3, 2)
    found = np.asarray(made.release.model.answer(pairs)).reshape(3, 2)
    assert true[0, 0] == 0
    alone = np.outer(found.sum(axis=1), found.sum(axis=0))
    assert np.abs(found - alone).max() < 1e-6
    assert np.abs(alone.sum(axis=0) - true.sum(axis=0)).max() < 0.05


def test_a_run_goes_on_after_a_crash_with_what_it_bought(tmp_path: Path) -> None:
    def crash(doing: str, done: int, total: int) -> None:
        if doing == "fitting":
            raise RuntimeError("crash")

    made = maker(ledger=tmp_path / "ledger.jsonl")
    with pytest.raises(RuntimeError, match="crash"):
        made.fit(homes(), progress=crash)
    made.fit(homes(), resume=True)
    whole = maker().fit(homes())
    assert [one["step"] for one in made.certificate["spends"]] == [
        "groups",
        "group attributes",
        "individual attributes",
    ]
    assert made.certificate["spent"] == whole.certificate["spent"]
    models = made.release.model.probabilities, whole.release.model.probabilities
    np.testing.assert_array_equal(*models)


def test_there_is_no_model_before_the_fit(tmp_path: Path) -> None:
    counter = Counter(Independent().asks(Workload.of(HOMES)))
    counter.add(encode(HOMES, homes()))
    ledger = tmp_path / "ledger.jsonl"
    with Curator(counter, guarantee=promise(IN_PLACE), ledger=ledger, seed=1) as gate:
        training = Independent().start(gate, rng=np.random.default_rng(1))
        with pytest.raises(NothingLearntError, match="before it had learnt anything"):
            training.model()


def test_the_noise_of_single_attributes_is_planned() -> None:
    workload = Workload.of(HOMES, k=1, levels=["group", "individual"])
    guarantee = promise(REPLACE, accounting=Accounting.GAUSSIAN)
    view = PublicView.of(Independent().asks(workload), guarantee, size_weighted=False)
    noise = Independent().planned_noise(view, workload)
    groups, people = (
        step.purchase.mechanism.noise for step in Independent().steps(view) if step.key != "groups"
    )
    # One home replaced by another moves up to three people to another sex.
    assert people > 1.5 * groups
    # Vehicles, sizes and sex.
    expected = [groups, groups, None, None, None, people]
    assert noise == [None if one is None else pytest.approx(one) for one in expected]
    assert Independent().planned_noise(view, Workload.of(HOMES, k=2)) == [None] * 6


def test_numbers_are_bought_finely_and_kept() -> None:
    """Everybody is 3 in the first bin, which is cut into cells: few synthetic people are older."""
    tables = flat_people(4000)
    ages = [3 if age < 18 else age for age in tables["people"]["age"].to_pylist()]
    tables["people"] = tables["people"].set_column(1, "age", [ages])
    made = maker(FLAT, unit="individual", epsilon=50.0).fit(tables)
    assert [one["step"] for one in made.certificate["spends"]] == [
        "individual attributes",
        "numbers",
    ]
    drawn = made.sample(4000)["people"]["age"].to_pylist()
    young = [age for age in drawn if age < 18]
    assert 0.1 < len(young) / 4000 < 0.2
    assert sum(age == 3 for age in young) > 0.8 * len(young)


def test_it_has_no_settings() -> None:
    with pytest.raises(KinfolkError, match=r"has no components\. It can be told: nothing"):
        maker(components=5)
