"""The second page of the report: what was promised, to whom, in plain words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from kinfolk.evaluate.html import Html, join, tag
from kinfolk.evaluate.sections import note, section
from kinfolk.evaluate.tables import Cell, Heading, facts, table
from kinfolk.privacy.certificate import accounting_text, check_certificate

SPENDS = 200
"""Steps listed one by one."""


def promise(certificate: Mapping[str, Any] | str) -> Html:
    """The certificate for people, checked; or why it cannot be shown."""
    if isinstance(certificate, str):
        return section("promise", "What was promised", tag("p", certificate, class_="alarm"))
    wrong = check_certificate(certificate)
    if not wrong:
        try:
            return _held(certificate)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            wrong = [f"it is not complete or not well-formed ({type(error).__name__}: {error})"]
    return section(
        "promise",
        "What was promised",
        tag("p", "The certificate does not hold:", class_="alarm"),
        tag("ul", *(tag("li", reason) for reason in wrong)),
    )


def _held(certificate: Mapping[str, Any]) -> Html:
    return section(
        "promise",
        "What was promised",
        _plain(certificate) if certificate["private"] else _seeded(),
        tag("p", f"Protected is {certificate['protects']}.") if certificate["private"] else "",
        _facts(certificate),
        _spends(certificate),
        note(
            "The arithmetic was checked again for this page: every step costs what it states, the "
            "steps add up, and the sum keeps the promise. The promise is about the synthetic "
            "tables and their model. It does not cover this report, which shows true figures."
        ),
    )


def _seeded() -> Html:
    return tag(
        "p",
        "Nobody is protected: the noise came from a seed, which is for tests only. The figures "
        "below would hold had it been drawn as usual.",
        class_="alarm",
    )


def _plain(certificate: Mapping[str, Any]) -> Html:
    unit, epsilon, delta = (certificate[key] for key in ("unit_name", "epsilon", "delta"))
    factor = math.exp(min(epsilon, 700))
    return tag(
        "p",
        f"To every {unit}: whatever anybody concludes from the synthetic data, they could have "
        f"concluded it as well had this {unit}'s data been different. The probability of any "
        f"conclusion is at most {factor:.3g} times as large, plus {delta:.2g}.",
        class_="lead",
    )


def _facts(certificate: Mapping[str, Any]) -> Html:
    declared = certificate["domain"] == "declared"
    kinds = Counter(str(spend["mechanism"]) for spend in certificate["spends"])
    steps = ", ".join(f"{number:,} {kind}" for kind, number in kinds.items()) or "none"
    spent, budget = float(Fraction(certificate["spent"])), float(Fraction(certificate["rho"]))
    versions = certificate.get("versions", {})
    unprotected = certificate.get("unprotected", ())
    lost = [("Not protected", tag("ul", *(tag("li", one) for one in unprotected)))]
    return facts(
        [
            ("Epsilon and delta", f"{certificate['epsilon']:g} and {certificate['delta']:.3g}"),
            ("For one", certificate["unit_name"]),
            ("What may differ", f"{certificate['difference']} ({certificate['neighbours']})"),
            *((("Warning", tag("strong", one))) for one in certificate["warnings"]),
            *(lost if unprotected else ()),
            ("Treated as public", tag("ul", *(tag("li", one) for one in certificate["public"]))),
            (
                "Domain",
                "declared as public"
                if declared
                else tag("strong", "drafted from the data and not confirmed: it leaks"),
            ),
            ("Spent", f"rho = {spent:.4g} of {budget:.4g}"),
            ("Accounting", accounting_text(certificate["accounting"])),
            ("Steps", steps),
            ("Made with", ", ".join(f"{name} {version}" for name, version in versions.items())),
        ]
    )


def _spends(certificate: Mapping[str, Any]) -> Html:
    listed = certificate["spends"][:SPENDS]
    rows = [
        [
            Cell(shown=spend["step"]),
            Cell(shown=spend["mechanism"]),
            Cell(shown=f"{float(spend.get('sigma') or spend.get('scale')):.4g}"),
            Cell(shown=f"{float(Fraction(spend['rho'])):.3g}"),
        ]
        for spend in listed
    ]
    heads = [
        Heading(words="step", number=False),
        Heading(words="mechanism", number=False, minor=True),
        Heading(words="noise scale"),
        Heading(words="rho"),
    ]
    every = len(certificate["spends"])
    which = f"The first {len(rows)} of {every:,} steps" if every > len(rows) else "Every step"
    return join(
        tag(
            "details",
            tag("summary", "Every step that touched the real data"),
            table(f"{which} and what it cost", heads, rows),
        )
    )
