"""A certificate is checked by arithmetic of its own, and a wrong one is refused."""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from kinfolk.cli.main import run
from kinfolk.privacy import Accounting, Exponential, Gaussian, Ledger, Terms, Unit
from kinfolk.privacy.certificate import (
    certificate_of,
    check_certificate,
    write_certificate,
)


def account(folder: Path, accounting: Accounting = Accounting.ZCDP, *, private: bool = True) -> Any:
    name = "person" if accounting is Accounting.PAPER else "household"
    unit = Unit.parse(name).within(max_size=9)
    terms = Terms.promise(
        unit=unit, epsilon=1.0, delta=1e-9, private=private, accounting=accounting
    )
    with Ledger(folder / "ledger.jsonl", terms) as ledger:
        noise = Gaussian.for_rho(terms.rho / 2, squared_sensitivity=18, accounting=accounting)
        ledger.release(ledger.debit("measure", noise), [1], private=private)
        if accounting is Accounting.GAUSSIAN:
            ledger.debit("measure again", noise)
            return ledger.account
        choice = Exponential.for_rho(terms.rho / 4, sensitivity=9, accounting=accounting)
        ledger.debit("select", choice)
        return ledger.account


@pytest.mark.parametrize("accounting", list(Accounting))
@pytest.mark.parametrize("private", [True, False])
def test_an_honest_certificate_holds(
    tmp_path: Path, accounting: Accounting, private: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "privacy.json"
    certificate = write_certificate(account(tmp_path, accounting, private=private), path)
    assert check_certificate(certificate) == []
    assert json.loads(path.read_text(encoding="utf-8")) == certificate
    assert run(["certificate", str(path), "--spends"]) == 0
    shown = capsys.readouterr().out
    assert f"for one {certificate['unit_name']}" in shown
    assert "The arithmetic holds" in shown
    assert ("NOT PRIVATE" in shown) is not private
    assert ("paper's accounting" in shown) is (accounting is Accounting.PAPER)


def test_exact_accounting_is_for_gaussian_noise_alone(tmp_path: Path) -> None:
    honest = certificate_of(account(tmp_path, Accounting.GAUSSIAN))
    assert check_certificate(honest) == []
    # The price of the continuous Gaussian, a little less than what the discrete one costs.
    cheap = copy.deepcopy(honest)
    for spend in cheap["spends"]:
        square, sigma = Fraction(spend["squared_sensitivity"]), Fraction(spend["sigma"])
        spend["rho"] = str(square / (2 * sigma**2))
    cheap["spent"] = str(sum(Fraction(spend["rho"]) for spend in cheap["spends"]))
    assert "but its sensitivity and scale cost" in check_certificate(cheap)[0]
    # A choice has no price there, and zCDP does not buy as much.
    chosen = copy.deepcopy(honest)
    del chosen["spends"][1]["squared_sensitivity"], chosen["spends"][1]["sigma"]
    chosen["spends"][1] |= {"mechanism": "exponential", "sensitivity": "1", "scale": 1e6}
    assert "no price under 'gaussian'" in check_certificate(chosen)[0]
    relabelled = {**honest, "accounting": "zcdp"}
    assert "more than the promised" in check_certificate(relabelled)[0]
    unknown = {**honest, "accounting": "moments"}
    assert "unknown" in check_certificate(unknown)[0]


def halve_sigma(c: dict[str, Any]) -> None:
    c["spends"][0]["sigma"] /= 2


def understate_price(c: dict[str, Any]) -> None:
    c["spends"][1]["rho"] = str(Fraction(c["spends"][1]["rho"]) / 2)


def forget_a_spend(c: dict[str, Any]) -> None:
    c["spends"].pop()


def overspend(c: dict[str, Any]) -> None:
    c["rho"] = str(Fraction(c["spent"]) / 2)


def promise_less_epsilon(c: dict[str, Any]) -> None:
    c["epsilon"] = 0.99


def promise_less_delta(c: dict[str, Any]) -> None:
    c["delta"] = 0.9e-9


def claim_sharper_selection(c: dict[str, Any]) -> None:
    c["spends"][1]["sensitivity"] = "10"


def leave_out_the_unit(c: dict[str, Any]) -> None:
    del c["neighbours"]


def unknown_mechanism(c: dict[str, Any]) -> None:
    c["spends"][0]["mechanism"] = "trust me"


def get_something_back(c: dict[str, Any]) -> None:
    c["torn"] = "-1/1000"
    c["spent"] = str(Fraction(c["spent"]) - Fraction(1, 1000))


def renumber(c: dict[str, Any]) -> None:
    c["spends"][1]["number"] = 1


@pytest.mark.parametrize(
    "tamper",
    [
        halve_sigma,
        understate_price,
        forget_a_spend,
        overspend,
        promise_less_epsilon,
        promise_less_delta,
        claim_sharper_selection,
        leave_out_the_unit,
        unknown_mechanism,
        renumber,
        get_something_back,
    ],
)
def test_a_wrong_certificate_is_refused(
    tmp_path: Path, tamper: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    certificate = copy.deepcopy(certificate_of(account(tmp_path)))
    assert check_certificate(certificate) == []
    tamper(certificate)
    assert check_certificate(certificate) != []
    path = tmp_path / "privacy.json"
    path.write_text(json.dumps(certificate), encoding="utf-8")
    assert run(["certificate", str(path)]) == 2
    assert "does not hold" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"format": "other"}', "\x00"])
def test_other_files_are_refused(
    tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "privacy.json"
    path.write_text(content, encoding="utf-8")
    assert run(["certificate", str(path)]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_what_was_lost_in_a_crash_is_shown(tmp_path: Path) -> None:
    certificate = certificate_of(account(tmp_path))
    assert [spend["released"] for spend in certificate["spends"]] == [True, False]
