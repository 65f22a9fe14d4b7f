"""The certificate: honest ones hold, and whatever contradicts itself is refused, quickly."""

from __future__ import annotations

import copy
import json
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from kinfolk.cli.main import run
from kinfolk.privacy import Accounting, Exponential, Gaussian, Ledger
from kinfolk.privacy.certificate import Certificate, certificate_of, check_certificate
from kinfolk.schema import Schema
from promises import IN_PLACE, promise

SCHEMA = Schema.from_text("""
group: {table: households, id: home, attributes: {veh: {values: [0, 1]}}}
individual: {table: persons, group_id: home, attributes: {sex: {values: [1, 2]}}}
max_size: 9
workload: {k: 1}
""")


def made(
    folder: Path, accounting: Accounting = Accounting.ZCDP, *, private: bool = True
) -> Certificate:
    """The certificate of a small run: one step released, another one lost."""
    guarantee = promise(IN_PLACE, delta=1e-9, accounting=accounting)
    path = folder / "ledger.jsonl"
    with Ledger(path, guarantee, private=private, run={"rounds": 2}) as ledger:
        noise = Gaussian.for_rho(guarantee.rho / 2, squared_sensitivity=8, accounting=accounting)
        ledger.release(ledger.debit("measure", noise), [1, 2, 3], private=private)
        rest = guarantee.rho / 4
        if accounting is Accounting.GAUSSIAN:
            choice: Any = Gaussian.for_rho(rest, squared_sensitivity=2, accounting=accounting)
        else:
            choice = Exponential.for_rho(rest, sensitivity=9, accounting=accounting)
        ledger.debit("select", choice)
        return certificate_of(ledger.account, ledger.own, SCHEMA, head=ledger.head)


def write(certificate: Any, folder: Path) -> Path:
    path = folder / "privacy.json"
    path.write_text(json.dumps(certificate), encoding="utf-8")
    return path


@pytest.mark.parametrize("accounting", list(Accounting))
@pytest.mark.parametrize("private", [True, False])
def test_an_honest_certificate_holds(
    tmp_path: Path, accounting: Accounting, private: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 3 where it promises less than it seems, unless that is allowed."""
    certificate = made(tmp_path, accounting, private=private)
    assert check_certificate(certificate) == []
    path = write(certificate, tmp_path)
    caveats = [] if private else ["seeded"]
    caveats += ["paper"] if accounting is Accounting.PAPER else []
    assert run(["certificate", str(path), "--spends"]) == (3 if caveats else 0)
    printed = capsys.readouterr()
    assert f"for one {certificate['unit_name']}" in printed.out
    assert "The arithmetic holds" in printed.out
    assert "only the schema can tell: add --schema" in printed.out
    assert ("NOT PRIVATE" in printed.out) is not private
    for caveat in caveats:
        assert f"add --allow {caveat}" in printed.err
    allowed = [word for caveat in caveats for word in ("--allow", caveat)]
    assert run(["certificate", str(path), *allowed]) == 0


def test_a_drafted_domain_is_no_promise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write({**made(tmp_path), "domain": "drafted"}, tmp_path)
    assert run(["certificate", str(path)]) == 3
    assert "add --allow drafted" in capsys.readouterr().err
    assert run(["certificate", str(path), "--allow", "drafted"]) == 0


def test_exact_accounting_is_for_gaussian_noise_alone(tmp_path: Path) -> None:
    honest = made(tmp_path, Accounting.GAUSSIAN)
    assert check_certificate(honest) == []
    # The price of the continuous Gaussian, a little less than what the discrete one costs.
    cheap = copy.deepcopy(honest)
    for spend in cheap["spends"]:
        square, sigma = Fraction(spend["squared_sensitivity"]), Fraction(spend["sigma"])
        price = square / (2 * sigma**2) * 2**96
        spend["rho"] = f"{-(-price.numerator // price.denominator)}/{2**96}"
    cheap["spent"] = str(sum(Fraction(spend["rho"]) for spend in cheap["spends"]))
    assert "but its sensitivity and scale cost" in check_certificate(cheap)[0]
    # A choice has no price there, and zCDP does not buy as much.
    chosen = copy.deepcopy(honest)
    del chosen["spends"][1]["squared_sensitivity"], chosen["spends"][1]["sigma"]
    chosen["spends"][1] |= {"mechanism": "exponential", "sensitivity": "1", "scale": 1e6}
    assert "no price under 'gaussian'" in check_certificate(chosen)[0]
    relabelled = {**honest, "accounting": "zcdp"}
    assert any("more than the promised" in reason for reason in check_certificate(relabelled))
    unknown = {**honest, "accounting": "moments"}
    assert "accounting is missing" in check_certificate(unknown)[0]


def every(spend: int, **changes: Any) -> Any:
    return lambda c: c["spends"][spend].update(changes)


def renamed(**changes: Any) -> Any:
    return lambda c: c.update(changes)


def halve_sigma(c: dict[str, Any]) -> None:
    c["spends"][0]["sigma"] /= 2


def tenfold_sigma(c: dict[str, Any]) -> None:
    c["spends"][0]["sigma"] *= 10


def understate_price(c: dict[str, Any]) -> None:
    c["spends"][1]["rho"] = str(Fraction(c["spends"][1]["rho"]) / 2)


def overstate_price(c: dict[str, Any]) -> None:
    """A step that pays for another one that is not listed."""
    c["spends"][1]["rho"] = str(Fraction(c["spends"][1]["rho"]) + Fraction(1, 2**90))


def forget_a_spend(c: dict[str, Any]) -> None:
    c["spends"].pop()


def forget_all_spends(c: dict[str, Any]) -> None:
    c["spends"].clear()
    c["spent"] = "0/1"


def overspend(c: dict[str, Any]) -> None:
    c["rho"] = str(Fraction(c["spent"]) / 2)


def get_something_back(c: dict[str, Any]) -> None:
    c["torn"] = "-1/1000"
    c["spent"] = str(Fraction(c["spent"]) - Fraction(1, 1000))


def ledger(**changes: Any) -> Any:
    return lambda c: c["ledger"].update(changes)


TAMPERED = {
    "sigma halved": halve_sigma,
    "sigma tenfold": tenfold_sigma,
    "price understated": understate_price,
    "price overstated": overstate_price,
    "a spend left out": forget_a_spend,
    "all spends left out": forget_all_spends,
    "overspent": overspend,
    "less epsilon": renamed(epsilon=0.99),
    "less delta": renamed(delta=0.9e-9),
    "delta above one": renamed(delta=5.0),
    "delta of nothing": renamed(delta=0.0),
    "sharper selection": every(1, sensitivity="10"),
    "no neighbours": lambda c: c.pop("neighbours"),
    "another unit": renamed(unit="group"),
    "unit of the paper": renamed(unit="group", neighbours="replace", accounting="paper"),
    "unknown mechanism": every(0, mechanism="trust me"),
    "something given back": get_something_back,
    "another number": every(1, number=1),
    "nothing released": every(0, released=False),
    "a ledger that spent less": ledger(spent="0/1"),
    "a ledger that spent more than it had": ledger(spent="99/1"),
    "a ledger that promises more": ledger(epsilon=0.5),
    "an endless amount": renamed(torn="1e999999999"),
    "an endless price": every(0, rho="1e999999999"),
    "an endless sensitivity": every(0, squared_sensitivity="1e999999999"),
    "a long amount": renamed(rho="1" * 10_000),
    "an infinite epsilon": renamed(epsilon=float("inf")),
    "epsilon that is no number": renamed(epsilon=float("nan")),
    "a text for epsilon": renamed(epsilon="1"),
    "true for delta": renamed(delta=True),
    "spends that are no list": renamed(spends=7),
    "a spend that is no mapping": lambda c: c["spends"].append(3),
    "a spend without a price": lambda c: c["spends"][0].pop("rho"),
    "a price of nothing": every(0, rho="0/1"),
    "a step without a name": every(0, step=None),
    "sigma as a text": every(0, sigma="1"),
    "public as a text": renamed(public="everything"),
    "no ledger": lambda c: c.pop("ledger"),
    "totals that are none": renamed(totals={"groups": "many"}),
    "versions that are none": renamed(versions=[]),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_a_wrong_certificate_is_refused(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    certificate = copy.deepcopy(dict(made(tmp_path)))
    assert check_certificate(certificate) == []
    TAMPERED[what](certificate)
    start = time.process_time()
    assert check_certificate(certificate) != []
    assert run(["certificate", str(write(certificate, tmp_path))]) == 2
    # Of the processor's time, which no other process takes away: a hostile file costs next to none.
    assert time.process_time() - start < 5
    assert "does not hold" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content",
    ["", "{}", "[1]", '{"format": "other"}', "\x00", "[" * 200_000, '{"a":' * 100_000, "9" * 5000],
)
def test_other_files_are_refused(
    tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "privacy.json"
    path.write_text(content, encoding="utf-8")
    assert run(["certificate", str(path)]) == 2
    assert "internal error" not in capsys.readouterr().err


def test_what_stands_beside_a_certificate_is_not_taken_for_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "model.kinfolk"
    model.write_bytes(b"PK\x03\x04\xe9")
    assert run(["certificate", str(tmp_path)]) == 2
    assert "is a folder. Name the privacy.json in it." in capsys.readouterr().err
    assert run(["certificate", str(model)]) == 2
    assert "is no text. Name the privacy.json" in capsys.readouterr().err


def test_a_certificate_of_the_first_kind_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write({"format": "kinfolk certificate 1"}, tmp_path)
    assert run(["certificate", str(path)]) == 2
    assert "an earlier version of kinfolk" in capsys.readouterr().err


def test_each_key_is_needed_and_of_its_kind(tmp_path: Path) -> None:
    honest = made(tmp_path)
    optional = {"format", "unprotected"}
    for key in honest:
        missing = {name: value for name, value in honest.items() if name != key}
        assert bool(check_certificate(missing)) is (key not in optional)
        for other in (None, 3, "x", [[]], {"a": {}}):
            if key not in optional and type(other) is not type(honest[key]):
                assert check_certificate({**honest, key: other})


def test_what_was_lost_in_a_crash_is_shown(tmp_path: Path) -> None:
    assert [spend["released"] for spend in made(tmp_path)["spends"]] == [True, False]


def test_weak_promises_are_warned_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    guarantee = promise(epsilon=20.0, delta=0.01)
    with Ledger(tmp_path / "ledger.jsonl", guarantee) as opened:
        noise = Gaussian.for_rho(guarantee.rho / 2, squared_sensitivity=1)
        spend = opened.debit("groups", noise, bought={"total": "groups"})
        opened.release(spend, [5000], private=True)
        certificate = certificate_of(opened.account, opened.own, SCHEMA, head=opened.head)
    assert len(certificate["warnings"]) == 2
    assert run(["certificate", str(write(certificate, tmp_path))]) == 0
    printed = capsys.readouterr().out
    assert "Warning      epsilon = 20 is above 10" in printed
    assert "delta = 0.01 is not below one in the number of units (about 5,000)" in printed
