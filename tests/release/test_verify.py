"""A certificate is worked out again from the schema: no forgery of what the review found passes."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from homes import HOMES, homes, written
from kinfolk import KinfolkError, Schema, Synthesizer, load
from kinfolk.cli.main import run
from kinfolk.privacy import Gaussian
from kinfolk.privacy.accounting import round_up, to_text
from kinfolk.privacy.certificate import check_certificate, check_ledger
from kinfolk.release.file import read_archive, write_archive
from kinfolk.release.verify import verify
from release.small import FAMILIES, FLAT, families, flat_people, synthesizer

QUICK: dict[str, Any] = {"components": 6, "parts": 1, "replicates": 0, "max_passes": 2}
DERIVED = Schema.from_text(
    HOMES.to_yaml().replace("values: [0, 1, 2]}", "values: [0, 1, 2], derived: true}")
)
DROPPING = Schema.from_text(HOMES.to_yaml().replace("oversize: first", "oversize: drop"))


KEEPING = Schema.from_text(FLAT.to_yaml() + "never: [age < 1 and sex = m]\n")


def plain(certificate: Any) -> dict[str, Any]:
    """As it stands in a file."""
    found: dict[str, Any] = json.loads(json.dumps(certificate))
    return found


def released(schema: Schema = HOMES, tables: Any = None, **told: Any) -> Any:
    """A private release by the default method."""
    settings: dict[str, Any] = {"unit": "group", "epsilon": 2.0, "delta": 1e-6, **QUICK, **told}
    return Synthesizer(schema, **settings).fit(homes() if tables is None else tables)


@pytest.mark.parametrize(
    ("schema", "tables"),
    [(HOMES, homes()), (DROPPING, homes()), (DERIVED, homes()), (FLAT, flat_people()),
     (FAMILIES, families()), (KEEPING, flat_people())],
    ids=["homes", "dropping", "derived", "flat", "roles", "rules"],
)  # fmt: skip
@pytest.mark.parametrize(
    "told",
    [
        {"neighbours": "add-remove"},
        {"neighbours": "replace"},
        {"unit": "individual"},
        {"accounting": "zcdp"},
    ],
    ids=lambda told: next(iter(told.values())),
)
def test_an_honest_release_follows_from_its_schema(
    schema: Schema, tables: Any, told: dict[str, str]
) -> None:
    assert verify(plain(released(schema, tables, **told).certificate), schema) == []


@pytest.mark.parametrize("method", ["hpd-fixed", "mwem", "pep"])
@pytest.mark.parametrize(
    "told",
    [
        {},
        {"neighbours": "replace"},
        {"unit": "person"},
        {"unit": "person", "accounting": "paper"},
        {"measure": "marginal", "repeats": False, "clip": True},
        {"unit": "person", "accounting": "paper", "measure": "marginal"},
    ],
    ids=["add-remove", "replace", "person", "paper", "marginal", "paper-marginal"],
)
def test_so_it_is_with_the_papers_methods(method: str, told: dict[str, Any]) -> None:
    settings: dict[str, Any] = {
        "unit": "group",
        "method": method,
        "rounds": 3,
        "seed": None,
        **told,
    }
    if method == "hpd-fixed":
        settings |= {"components": 5, "max_iterations": 2}
    maker = Synthesizer(HOMES, epsilon=1.0, delta=1e-6, **settings).fit(homes())
    assert verify(plain(maker.certificate), HOMES) == []


@pytest.fixture(scope="module")
def honest() -> dict[str, Any]:
    return plain(released(DROPPING).certificate)


def rho(certificate: dict[str, Any], spend: dict[str, Any]) -> None:
    """Give a spend the price of its noise, and the certificate their sum: all of it adds up."""
    variance = Fraction(spend["sigma"]) ** 2 - 4
    spend["rho"] = to_text(round_up(Fraction(spend["squared_sensitivity"]) / (2 * variance)))
    total = sum((Fraction(one["rho"]) for one in certificate["spends"]), Fraction(0))
    certificate["spent"] = to_text(total)


def every_sigma(factor: float) -> Callable[[dict[str, Any]], None]:
    """Another noise, with prices and their sum to match."""

    def forge(certificate: dict[str, Any]) -> None:
        for spend in certificate["spends"]:
            spend["sigma"] *= factor
            rho(certificate, spend)

    return forge


def smaller_sensitivity(certificate: dict[str, Any]) -> None:
    """Half the sensitivity and half the noise: the price stays what it was."""
    spend = certificate["spends"][-1]
    square = int(spend["squared_sensitivity"])
    spend["squared_sensitivity"] = str(square // 4)
    spend["sigma"] = math.sqrt((spend["sigma"] ** 2 - 4) / 4 + 4)
    rho(certificate, spend)


def change(**entries: Any) -> Callable[[dict[str, Any]], None]:
    return lambda certificate: certificate.update(entries)


def run_change(**entries: Any) -> Callable[[dict[str, Any]], None]:
    return lambda certificate: certificate["run"].update(entries)


def bought(certificate: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = certificate["spends"][-1]["bought"]
    return found


def claim_replace(certificate: dict[str, Any]) -> None:
    """A stronger promise, in the words that go with it."""
    other = plain(released(DROPPING, neighbours="replace").certificate)
    for name in ("neighbours", "difference", "protects", "public", "totals"):
        certificate[name] = other[name]


def claim_person(certificate: dict[str, Any]) -> None:
    other = plain(released(DROPPING, unit="person").certificate)
    for name in ("unit", "unit_name", "neighbours", "difference", "protects", "public", "totals"):
        certificate[name] = other[name]


def no_spends(certificate: dict[str, Any]) -> None:
    certificate |= {"spends": [], "spent": "0/1", "torn": "0/1"}


def one_spend_less(certificate: dict[str, Any]) -> None:
    certificate["spends"] = certificate["spends"][1:]
    certificate["spends"][0]["number"] = 1
    rho(certificate, certificate["spends"][0])


def fewer_marginals(certificate: dict[str, Any]) -> None:
    bought(certificate)["marginals"].pop()


def another_marginal(certificate: dict[str, Any]) -> None:
    bought(certificate)["marginals"][0]["individual"] = ["age"]


def smaller_weights(certificate: dict[str, Any]) -> None:
    for row in bought(certificate)["weights"]:
        row[:] = [number // 2 for number in row]


def a_weight_less(certificate: dict[str, Any]) -> None:
    """Of three people everybody counts for less; the sensitivity is that of lone people."""
    for row in bought(certificate)["weights"]:
        row[3] -= 5


def not_weighted(certificate: dict[str, Any]) -> None:
    del bought(certificate)["weights"]


def bought_nothing(certificate: dict[str, Any]) -> None:
    certificate["spends"][-1]["bought"] = {}


FORGERIES: dict[str, Callable[[dict[str, Any]], None]] = {
    "the unit": change(unit="individual"),
    "the unit, with its neighbours": change(unit="individual", neighbours="in-place"),
    "the unit, with all its words": claim_person,
    "the unit's name": change(unit_name="person"),
    "the neighbours": change(neighbours="replace"),
    "the neighbours, with all their words": claim_replace,
    "the words of the neighbours": change(difference="Replace everything by anything."),
    "what it protects": change(protects="everybody, always"),
    "a public fact left out": lambda c: c["public"].pop(),
    "a public fact added": lambda c: c["public"].append("the weather"),
    "something unprotected": change(unprotected=["the rich"]),
    "rules that the schema does not have": change(
        rules={"never": ["veh = 2"], "on_violation": "error"}
    ),
    "rules that are none": change(rules=["veh = 2"]),
    "what cleaning does": lambda c: c["cleaning"].update(oversize="first"),
    "the domain": change(domain="drafted"),
    "the schema's digest": run_change(schema="0" * 64),
    "the workload's digest": run_change(workload="0" * 64),
    "the number of queries": run_change(queries=7),
    "all spends removed": no_spends,
    "a spend removed": one_spend_less,
    "sigma times ten": lambda c: c["spends"][-1].update(sigma=c["spends"][-1]["sigma"] * 10),
    "sigma times ten, prices to match": every_sigma(10.0),
    "a tenth more noise, prices to match": every_sigma(1.1),
    "a sensitivity that is too small": smaller_sensitivity,
    "delta of five": change(delta=5.0),
    "a tenth of epsilon": change(epsilon=0.2),
    "another accounting": change(accounting="zcdp"),
    "marginals left out": fewer_marginals,
    "another marginal": another_marginal,
    "smaller weights": smaller_weights,
    "weights left out": not_weighted,
    "nothing bought": bought_nothing,
    "another method": run_change(method="hpd-fixed"),
    "other settings": run_change(settings={"rounds": 3}),
    "a method that is none": run_change(method="magic"),
    "warnings left out": change(warnings=["all is well"]),
    "a total that nobody bought": lambda c: c["totals"].update(people=700),
    "weights that cost the same": a_weight_less,
}
"""Everything that the review forged, and more. Free text (versions, names of steps) is not here."""


@pytest.mark.parametrize("what", FORGERIES)
def test_a_forgery_is_refused_where_the_schema_is_given(
    what: str, honest: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forged = copy.deepcopy(honest)
    FORGERIES[what](forged)
    DROPPING.to_yaml(tmp_path / "schema.yaml")
    path = tmp_path / "privacy.json"
    for content, status in ((honest, 0), (forged, 2)):
        path.write_text(json.dumps(content), encoding="utf-8")
        command = ["certificate", str(path), "--schema", str(tmp_path / "schema.yaml")]
        assert run(command) == status
    assert "does not hold" in capsys.readouterr().err


RULED = Schema.from_text(
    DROPPING.to_yaml() + "never: [COUNT = 3 and veh = 2, sex = m and veh = 1]\non_violation: drop\n"
)
RULE_FORGERIES: dict[str, Callable[[dict[str, Any]], object]] = {
    "left out": lambda c: c.pop("rules"),
    "one left out": lambda c: c["rules"]["never"].pop(),
    "one added": lambda c: c["rules"]["never"].append("sex = f and veh = 0"),
    "another": lambda c: c["rules"]["never"].__setitem__(0, "COUNT = 3 and veh = 1"),
    "refused instead of dropped": lambda c: c["rules"].update(on_violation="error"),
    "not said to drop anybody": lambda c: c["cleaning"]["dropped"].pop(),
    "not said to be public": lambda c: c["public"].pop(),
}


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_rules_are_stated_and_recomputed(neighbours: str, tmp_path: Path) -> None:
    maker = released(RULED, neighbours=neighbours)
    honest = plain(maker.certificate)
    assert honest["rules"] == {"never": list(RULED.never), "on_violation": "drop"}
    assert honest["cleaning"]["dropped"] == ["more than 3 members", "against a rule"]
    assert "(more than 3 members; against a rule)" in honest["difference"]
    assert verify(honest, RULED) == []
    path = tmp_path / "model.kinfolk"
    maker.save(path)
    assert load(path).schema.never == RULED.never
    header, arrays = read_archive(path)
    for what, forge in RULE_FORGERIES.items():
        forged = copy.deepcopy(honest)
        forge(forged)
        assert verify(forged, RULED), what
        changed = copy.deepcopy(header)
        forge(changed["certificate"])
        write_archive(path, changed, arrays)
        with pytest.raises(KinfolkError, match="its certificate does not hold"):
            load(path)


def test_how_often_the_rules_were_kept_stands_beside_the_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    maker = released(RULED)
    written = maker.release.write(tmp_path, groups=50, seed=1)
    stated = json.loads((tmp_path / "privacy.json").read_text(encoding="utf-8"))
    assert stated["release"]["acceptance"] == written.acceptance.describe()
    assert stated["release"]["acceptance"]["drawn"] == 50
    RULED.to_yaml(tmp_path / "schema.yaml")
    command = ["certificate", str(tmp_path / "privacy.json")]
    assert run([*command, "--schema", str(tmp_path / "schema.yaml")]) == 0
    out = capsys.readouterr().out
    assert all(rule in out for rule in RULED.never)
    released().release.write(tmp_path, groups=20, seed=1)
    stated = json.loads((tmp_path / "privacy.json").read_text(encoding="utf-8"))
    assert "acceptance" not in stated["release"]
    assert "rules" not in stated


def scaled(certificate: dict[str, Any]) -> None:
    """Three times the noise for three times the sensitivity: the price stays what it was."""
    spend = certificate["spends"][-1]
    spend["squared_sensitivity"] = str(9 * int(spend["squared_sensitivity"]))
    spend["sigma"] = math.sqrt(9 * (spend["sigma"] ** 2 - 4) + 4)
    rho(certificate, spend)
    certificate["ledger"]["spent"] = certificate["spent"]


def never_informed(certificate: dict[str, Any]) -> None:
    del certificate["run"]["public"], certificate["release"]["prior"]


OUTSIDE: dict[str, Callable[[dict[str, Any]], None]] = {
    "noise that came from a seed": change(private=True),
    "public tables": never_informed,
    "other public tables": lambda c: c["run"]["public"]["tables"].update(people="0" * 64),
    "another seed": run_change(modelling_seed=2),
    "another number of groups": lambda c: c["totals"].update(groups=c["totals"]["groups"] + 1),
    "a run that was cut short": change(complete=False),
    "something lost in a crash": lambda c: c["spends"][-1].update(released=False),
    "other weights": a_weight_less,
    "sensitivity and noise": scaled,
    "what was spent of the ledger": lambda c: c["ledger"].update(spent=c["ledger"]["rho"]),
}
"""What adds up and only the ledger can tell, or hardly anybody else."""


@pytest.fixture(scope="module")
def ledgered(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """A certificate and its ledger: seeded, so that there is something to hide, and informed."""
    ledger = tmp_path_factory.mktemp("ledgered") / "ledger.jsonl"
    settings: dict[str, Any] = {"unit": "group", "epsilon": 50.0, "delta": 1e-6, **QUICK}
    maker = Synthesizer(HOMES, seed=1, ledger=ledger, **settings)
    return plain(maker.fit(homes(), public=homes(90)).certificate), ledger


@pytest.mark.parametrize("what", OUTSIDE)
def test_a_forgery_is_refused_where_the_ledger_is_given(
    what: str, ledgered: tuple[dict[str, Any], Path]
) -> None:
    honest, ledger = ledgered
    assert check_certificate(honest) == verify(honest, HOMES) == check_ledger(honest, ledger) == []
    forged = copy.deepcopy(honest)
    OUTSIDE[what](forged)
    assert check_certificate(forged) == []
    assert check_ledger(forged, ledger)


def test_public_tables_are_not_hidden_by_halves(ledgered: tuple[dict[str, Any], Path]) -> None:
    for forge in (
        lambda c: c["run"].pop("public"),
        lambda c: c["release"].pop("prior"),
        lambda c: c["run"].update(public=None),
        lambda c: c["run"]["public"].update(tables=3),
    ):
        forged = copy.deepcopy(ledgered[0])
        forge(forged)
        assert check_certificate(forged)


def test_some_forgeries_add_up(honest: dict[str, Any]) -> None:
    """Without the schema they pass: that is what the schema is for."""
    for what in ("sigma times ten, prices to match", "what it protects", "marginals left out"):
        forged = copy.deepcopy(honest)
        FORGERIES[what](forged)
        assert check_certificate(forged) == []


@pytest.mark.parametrize(
    "what", [*FORGERIES, "another model's digest", "groups", "groups of the certificate"]
)
def test_a_model_is_not_loaded_with_a_forged_certificate(what: str, tmp_path: Path) -> None:
    path = tmp_path / "model.kinfolk"
    released(DROPPING).save(path)
    load(path)
    header, arrays = read_archive(path)
    if what == "another model's digest":
        header["certificate"]["release"]["model"] = "0" * 64
    elif what == "groups":
        header["groups"] += 1
    elif what == "groups of the certificate":
        header["certificate"]["totals"]["groups"] += 1
    else:
        FORGERIES[what](header["certificate"])
    write_archive(path, header, arrays)
    with pytest.raises(KinfolkError, match="its certificate does not hold"):
        load(path)


def test_tables_beside_a_certificate_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    released().release.write(tmp_path, groups=20, seed=1)
    certificate = str(tmp_path / "privacy.json")
    assert run(["certificate", certificate]) == 0
    with (tmp_path / "people.csv").open("a") as file:
        file.write("9,m\n")
    assert run(["certificate", certificate]) == 2
    assert "people.csv is not the table that was released" in capsys.readouterr().err


def test_a_model_beside_a_certificate_is_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = released().release
    made.write(tmp_path, groups=20, seed=1)
    certificate, model = str(tmp_path / "privacy.json"), tmp_path / "model.kinfolk"
    made.save(model)
    assert run(["certificate", certificate]) == 0
    released().save(model)
    assert run(["certificate", certificate]) == 2
    model.write_bytes(b"nothing of the kind")
    assert run(["certificate", certificate]) == 2
    assert capsys.readouterr().err.count("model.kinfolk is not the model that was released") == 2


def test_a_run_whose_certificate_would_not_hold_spends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted bug: noise a hair smaller than its price, which only the check can see."""
    honest = Gaussian.for_rho

    def cheap(rho: Any, **rest: Any) -> Gaussian:
        found = honest(rho, **rest)
        return Gaussian(
            squared_sensitivity=found.squared_sensitivity, sigma=found.sigma * (1 - 1e-9)
        )

    monkeypatch.setattr(Gaussian, "for_rho", cheap)
    monkeypatch.setattr(Gaussian, "rho", lambda self, accounting: Fraction(1, 2**40))
    ledger = tmp_path / "ledger.jsonl"
    with pytest.raises(KinfolkError, match=r"would not hold.*Nothing was spent"):
        released(ledger=ledger)
    assert not ledger.exists()


def test_nothing_is_spent_where_the_promise_would_be_refused(tmp_path: Path) -> None:
    """What the review found: these were spent, and then refused by their own check."""
    for epsilon, delta in ((10.0, 1e-9), (5.0, 1e-9), (1.0, 1e-20), (0.01, 1e-30)):
        maker = synthesizer(epsilon=epsilon, delta=delta, seed=None).fit(homes(60))
        maker.save(tmp_path / "model.kinfolk")
        assert load(tmp_path / "model.kinfolk").certificate["delta"] == delta
    paths = written(tmp_path, homes(60))
    assert verify(plain(released(tables=paths).certificate), HOMES) == []


def test_a_release_is_checked_without_what_made_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever checks a release of HPD-Gen needs no JAX."""
    maker = Synthesizer(
        HOMES, unit="group", epsilon=1.0, delta=1e-6, method="hpd-gen", rounds=2, components=5,
        hidden=[4], noise_size=2, max_iterations=2,
    ).fit(homes())  # fmt: skip

    def missing() -> None:
        raise KinfolkError("JAX is not installed")

    monkeypatch.setattr("kinfolk.methods.paper.jax_library", missing)
    assert verify(plain(maker.certificate), HOMES) == []
    with pytest.raises(KinfolkError, match="JAX is not installed"):
        Synthesizer(HOMES, unit="group", epsilon=1.0, delta=1e-6, method="hpd-gen").fit(
            {"homes": "no.csv", "people": "none.csv"}
        )
