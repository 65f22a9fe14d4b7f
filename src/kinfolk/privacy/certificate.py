"""The release certificate: what was promised, to whom, and how every bit of it was spent.

A certificate is written from the ledger and stands next to the released data. Checking it uses
none of the code that wrote it: the prices are worked out again from the stated sensitivities and
scales, and the conversion is evaluated afresh, so that a mistake in the accountant does not vouch
for itself.
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Mapping
from fractions import Fraction
from importlib import metadata
from pathlib import Path
from statistics import NormalDist
from typing import Any

import kinfolk
from kinfolk.errors import KinfolkError
from kinfolk.notebook import show
from kinfolk.privacy.account import Account
from kinfolk.privacy.amounts import to_text

FORMAT = "kinfolk certificate 1"

PACKAGES = ("kinfolk", "opendp", "numpy")

NOT_PRIVATE = "NOT PRIVATE: the noise came from a seed, and nobody is protected."


class Certificate(dict[str, Any]):
    """A certificate as plain JSON, which a notebook shows for people."""

    def _repr_html_(self) -> str:
        note = "" if self["private"] else NOT_PRIVATE
        return show("Certificate", certificate_rows(self), note=note)


def write_certificate(account: Account, path: Path) -> Certificate:
    """Write the certificate of a run next to its results, and return it."""
    certificate = certificate_of(account)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(certificate, indent=2) + "\n", encoding="utf-8")
    partial.replace(path)
    return certificate


def certificate_of(account: Account) -> Certificate:
    """Everything a reviewer needs, as plain JSON; it holds nothing private."""
    terms = account.terms
    unreleased = {spend.number for spend in account.unreleased}
    run = dict(terms.run)
    stated = {
        "format": FORMAT,
        "private": terms.private,
        "unit": terms.unit.unit.value,
        "unit_name": terms.unit.name,
        "neighbours": terms.unit.neighbours,
        "protects": terms.unit.protects,
        "public": list(terms.unit.public),
        **({"unprotected": list(terms.unit.unprotected)} if terms.unit.unprotected else {}),
        "domain": run.pop("domain", "declared"),
        "epsilon": terms.epsilon,
        "delta": terms.delta,
        "rho": to_text(terms.rho),
        "accounting": terms.accounting.value,
        "spent": to_text(account.spent),
        "torn": to_text(account.torn),
        "spends": [
            {
                "number": spend.number,
                "step": spend.key,
                **spend.mechanism.describe(),
                "rho": to_text(spend.rho),
                "released": spend.number not in unreleased,
            }
            for spend in account.spends
        ],
        "run": run,
        "versions": {"python": platform.python_version(), **_versions()},
    }
    return Certificate(stated)


def _versions() -> dict[str, str]:
    found = {"kinfolk": kinfolk.__version__}
    for name in PACKAGES[1:]:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def read_certificate(path: Path) -> Certificate:
    """Read a certificate file."""
    try:
        certificate = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise KinfolkError(f"{path}: there is no such file. Check the path.") from None
    except (OSError, ValueError) as error:
        raise KinfolkError(f"{path}: cannot be read as JSON ({error}).") from None
    if not isinstance(certificate, dict) or certificate.get("format") != FORMAT:
        raise KinfolkError(f"{path}: is not a {FORMAT!r}. Name the privacy.json that a run wrote.")
    return Certificate(certificate)


def check_certificate(certificate: Mapping[str, Any]) -> list[str]:
    """What does not hold in a certificate; an empty list means that its arithmetic does.

    The check covers the arithmetic: the prices, their sum, the budget, and the promise. It cannot
    know whether the sensitivities are right for the unit, or whether the run did what it says.
    """
    try:
        return _check(certificate)
    except (LookupError, TypeError, ValueError, ArithmeticError) as error:
        return [f"it is not complete or not well-formed ({type(error).__name__}: {error})"]


def _check(certificate: Mapping[str, Any]) -> list[str]:
    wrong: list[str] = []
    accounting = certificate["accounting"]
    paper = accounting == "paper"
    if accounting not in _DELTA:
        raise ValueError(f"the accounting {accounting!r} is unknown")
    total = Fraction(certificate["torn"])
    if total < 0 or any(Fraction(spend["rho"]) <= 0 for spend in certificate["spends"]):
        wrong.append("an amount is negative, or a step is free")
    for position, spend in enumerate(certificate["spends"], start=1):
        price = _price(spend, accounting)
        stated = Fraction(spend["rho"])
        if spend["number"] != position:
            wrong.append(f"spend {position} has the number {spend['number']}")
        if stated < price:
            wrong.append(
                f"spend {position} ({spend['step']}) states rho = {float(stated):.6g}, but its "
                f"sensitivity and scale cost {float(price):.6g}"
            )
        total += stated
    spent, rho = Fraction(certificate["spent"]), Fraction(certificate["rho"])
    if total != spent:
        wrong.append(f"the spends add up to {float(total):.6g}, not {float(spent):.6g}")
    if spent > rho:
        wrong.append(f"{float(spent):.6g} was spent of a budget of {float(rho):.6g}")
    epsilon, delta = float(certificate["epsilon"]), float(certificate["delta"])
    reached = _DELTA[accounting](float(rho), epsilon)
    if not reached <= delta * (1 + 1e-6):
        wrong.append(
            f"rho = {float(rho):.6g} gives delta = {reached:.3g} at epsilon = {epsilon}, "
            f"more than the promised {delta:.3g}"
        )
    if certificate["unit"] not in ("group", "individual") or not certificate["neighbours"]:
        wrong.append("the unit or its neighbours are not stated")
    if paper and certificate["unit"] == "group":
        wrong.append("the paper's accounting promises nothing for a whole group")
    return wrong


def _price(spend: Mapping[str, Any], accounting: str) -> Fraction:
    """What a spend costs, from first principles."""
    if spend["mechanism"] == "gaussian":
        # Exact accounting for the discrete Gaussian leaves a variance of 4 out.
        variance = Fraction(spend["sigma"]) ** 2 - (4 if accounting == "gaussian" else 0)
        if variance <= 0:
            raise ValueError(f"sigma = {spend['sigma']} is too small for its accounting")
        return Fraction(spend["squared_sensitivity"]) / (2 * variance)
    if spend["mechanism"] == "exponential" and accounting != "gaussian":
        range_bound = 2 * Fraction(spend["sensitivity"]) / Fraction(spend["scale"])
        return range_bound**2 / (2 if accounting == "paper" else 8)
    raise ValueError(f"{spend['mechanism']!r} has no price under {accounting!r} accounting")


def _paper_delta(rho: float, epsilon: float) -> float:
    """The paper's lemma, solved for delta."""
    return math.exp(-((epsilon - rho) ** 2) / (4 * rho)) if epsilon > rho else 1.0


def _best_delta(rho: float, epsilon: float) -> float:
    """The conversion of Canonne, Kamath and Steinke: the best alpha of a fine grid, refined."""

    def log_delta(log_beta: float) -> float:
        beta = math.exp(log_beta)  # alpha - 1
        alpha = 1 + beta
        return beta * (alpha * rho - epsilon) + beta * math.log(beta / alpha) - math.log(alpha)

    low, high = -30.0, 30.0
    for _ in range(8):
        step = (high - low) / 400
        grid = [low + step * index for index in range(401)]
        best = min(grid, key=log_delta)
        low, high = best - 2 * step, best + 2 * step
    return math.exp(min(log_delta(best), 0.0))


def _gaussian_delta(rho: float, epsilon: float) -> float:
    """The delta of one Gaussian mechanism with mu^2 = 2 rho."""
    normal, mu = NormalDist(), math.sqrt(2 * rho)
    return normal.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * normal.cdf(
        -mu / 2 - epsilon / mu
    )


_DELTA = {"zcdp": _best_delta, "gaussian": _gaussian_delta, "paper": _paper_delta}
"""How each accounting turns rho and epsilon into delta."""


def certificate_text(certificate: Mapping[str, Any]) -> str:
    """The certificate for people."""
    lines = [] if certificate["private"] else [NOT_PRIVATE, ""]
    named = ""
    for name, line in certificate_rows(certificate):
        lines.append(f"{'' if name == named else name:<13}{line}")
        named = name
    return "\n".join(lines)


def certificate_rows(certificate: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a certificate says, line by line, each with what it is about."""
    spent, rho = Fraction(certificate["spent"]), Fraction(certificate["rho"])
    lost = [spend for spend in certificate["spends"] if not spend["released"]]
    rows = [
        (
            "Promise",
            f"epsilon = {certificate['epsilon']:g}, delta = {certificate['delta']:.3g}, "
            f"for one {certificate['unit_name']}",
        ),
        ("Protects", certificate["protects"]),
        ("Neighbours", certificate["neighbours"]),
        *(("Public", line) for line in certificate["public"]),
        *(("Unprotected", line) for line in certificate.get("unprotected", ())),
        ("Domain", _domain_text(certificate["domain"])),
        ("Budget", f"rho = {float(rho):.6g} ({accounting_text(certificate['accounting'])})"),
        ("Spent", f"rho = {float(spent):.6g}, in {len(certificate['spends'])} steps"),
    ]
    if lost or Fraction(certificate["torn"]):
        rows.append(("Lost", f"{len(lost)} steps were paid for and interrupted; they count."))
    versions = ", ".join(f"{name} {version}" for name, version in certificate["versions"].items())
    return [*rows, ("Made with", versions)]


def _domain_text(domain: str) -> str:
    if domain == "declared":
        return "declared by the analyst as public"
    return "DRAFTED FROM THE DATA and not confirmed: the domain itself leaks"


def accounting_text(accounting: str) -> str:
    """An accounting in words."""
    return {
        "zcdp": "zero-concentrated differential privacy",
        "gaussian": "Gaussian differential privacy",
        "paper": "the paper's accounting, and its sensitivities",
    }[accounting]
