"""A certificate as the report's second tab tells it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from kinfolk.privacy.certificate import accounting_text, check_certificate

SPENDS = 200
"""Steps listed one by one."""


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What was promised, in words; or why that cannot be said."""

    held: Mapping[str, Any] | None = None
    wrong: Sequence[str] = ()
    """What does not hold."""
    unreadable: str | None = None


def read_promise(certificate: Mapping[str, Any] | str) -> Promise:
    """Check a certificate and put it into words; text says why there is none."""
    if isinstance(certificate, str):
        return Promise(unreadable=certificate)
    wrong = check_certificate(certificate)
    if not wrong:
        try:
            return Promise(held=_held(certificate))
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            wrong = [f"it is not complete or not well-formed ({type(error).__name__}: {error})"]
    return Promise(wrong=wrong)


def _held(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """What the template shows, as text: whatever is missing or ill-formed is found here."""
    epsilon, delta, spends = (certificate[key] for key in ("epsilon", "delta", "spends"))
    kinds = Counter(str(spend["mechanism"]) for spend in spends)
    versions = certificate.get("versions", {})
    listed = spends[:SPENDS]
    cut = len(spends) > len(listed)
    return {
        "private": certificate["private"],
        "unit": certificate["unit_name"],
        "factor": f"{math.exp(min(epsilon, 700)):.3g}",
        "plus": f"{delta:.2g}",
        "protects": certificate["protects"] if certificate["private"] else None,
        "epsilon": f"{epsilon:g}",
        "delta": f"{delta:.3g}",
        "difference": certificate["difference"],
        "neighbours": certificate["neighbours"],
        "warnings": list(certificate["warnings"]),
        "unprotected": list(certificate.get("unprotected", ())),
        "public": list(certificate["public"]),
        "declared": certificate["domain"] == "declared",
        "spent": f"{float(Fraction(certificate['spent'])):.4g}",
        "rho": f"{float(Fraction(certificate['rho'])):.4g}",
        "accounting": accounting_text(certificate["accounting"]),
        "kinds": ", ".join(f"{number:,} {kind}" for kind, number in kinds.items()) or "none",
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "which": f"The first {len(listed)} of {len(spends):,} steps" if cut else "Every step",
        "steps": [
            {
                "step": spend["step"],
                "mechanism": spend["mechanism"],
                "scale": f"{float(spend.get('sigma') or spend.get('scale')):.4g}",
                "rho": f"{float(Fraction(spend['rho'])):.3g}",
            }
            for spend in listed
        ],
    }
