"""The release certificate: what was promised, to whom, and how every bit of it was spent.

A certificate is written from the ledger and stands next to the released data. Checking it uses
none of the code that wrote it: the prices are worked out again from the stated sensitivities and
scales (`recheck`), so that a mistake in the accountant does not vouch for itself. With the schema,
`recompute` works the sensitivities out again as well.
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Callable, Mapping
from fractions import Fraction
from importlib import metadata
from pathlib import Path
from typing import Any

import kinfolk
from kinfolk.errors import KinfolkError
from kinfolk.privacy import recheck
from kinfolk.privacy.account import Account, Allotment, account_from
from kinfolk.privacy.accounting import Accounting, to_text
from kinfolk.privacy.chain import Head, read_chain
from kinfolk.privacy.guarantee import Guarantee, unprotected
from kinfolk.privacy.unit import Neighbours, Unit, Wording, dropped
from kinfolk.privacy.view import GROUPS, PEOPLE, TOTALS
from kinfolk.schema import Schema
from kinfolk.template import show

FORMAT = "kinfolk certificate 2"
FIRST_FORMAT = "kinfolk certificate 1"
"""Does not say what each step bought."""
_LONGEST = 64 * 2**20
"""Bytes of a certificate file, at most."""

PUBLIC = "public"
"""Under this name a run's terms keep the digests of the public tables that it was given, if any."""

PRIOR = "prior"
"""Under this name a release keeps how far they were of use."""

PACKAGES = ("kinfolk", "opendp", "numpy")

NOT_PRIVATE = "NOT PRIVATE: the noise came from a seed, and nobody is protected."


class Certificate(dict[str, Any]):
    """A certificate as plain JSON, which a notebook shows for people."""

    def _repr_html_(self) -> str:
        note = "" if self["private"] else NOT_PRIVATE
        return show("Certificate", certificate_rows(self), note=note)


def certificate_of(
    account: Account,
    own: Allotment,
    schema: Schema,
    *,
    head: Head,
    release: Mapping[str, Any] | None = None,
) -> Certificate:
    """Everything a reviewer needs, as plain JSON; it holds nothing private.

    `head` is the end of the ledger, and `release` the digests of what is released.
    """
    recorded = _recorded(account, own, head)
    wording = wording_of(schema, own.guarantee.neighbours, own.guarantee.accounting)
    stated = {
        "format": FORMAT,
        "private": recorded["private"],
        **wording,
        "domain": schema.domain,
        **recorded,
        "release": dict(release or {}),
        "versions": {"python": platform.python_version(), **_versions()},
    }
    return Certificate(stated)


def _recorded(account: Account, own: Allotment, head: Head) -> dict[str, Any]:
    """The part of a certificate that the ledger alone makes, whatever the schema says."""
    guarantee = own.guarantee
    unreleased = {spend.number for spend in own.unreleased}
    run = dict(own.run)
    totals = _totals(own, run)
    return {
        "private": own.private,
        **({"domain": run.pop("domain")} if "domain" in run else {}),
        **guarantee.describe(),
        "warnings": warnings_of(guarantee, totals),
        "totals": totals,
        "complete": own.closed,
        "spent": to_text(own.spent),
        "torn": to_text(own.torn),
        "spends": [
            {
                "number": spend.number,
                "step": spend.key,
                **spend.mechanism.describe(),
                "bought": dict(spend.bought),
                "rho": to_text(spend.rho),
                "released": spend.number not in unreleased,
            }
            for spend in own.spends
        ],
        "ledger": {
            "id": account.identity,
            "lines": head.lines,
            "head": head.check,
            "release": own.number,
            "epsilon": account.total.epsilon,
            "delta": account.total.delta,
            "rho": to_text(account.total.rho),
            "spent": to_text(account.spent),
        },
        "run": run,
    }


def warnings_of(guarantee: Guarantee, totals: Mapping[str, int]) -> list[str]:
    """What makes a promise weaker than it looks, given how many there are of its unit."""
    return list(guarantee.warnings(totals.get(GROUPS if guarantee.unit is Unit.GROUP else PEOPLE)))


def wording_of(schema: Schema, neighbours: Neighbours, accounting: Accounting) -> dict[str, Any]:
    """Whom a certificate says it protects, against what; from the schema and nothing else."""
    paper = accounting is Accounting.PAPER
    wording = Wording.of(schema, neighbours, derived=not paper)
    open_to = unprotected(schema, accounting)
    roles = schema.roles
    rules = {"never": list(schema.never), "on_violation": schema.on_violation}
    return {
        "unit": neighbours.unit.value,
        "unit_name": wording.name,
        "neighbours": neighbours.value,
        "difference": wording.neighbours,
        "protects": wording.protects,
        "public": list(wording.public),
        **({"unprotected": list(open_to)} if open_to else {}),
        "cleaning": {
            "max_size": schema.size_limit,
            "oversize": schema.oversize,
            "others": None if roles is None else roles.others,
            "dropped": list(dropped(schema)),
        },
        # What every group that was counted or is drawn keeps.
        **({"rules": rules} if schema.never else {}),
    }


def _totals(own: Allotment, run: dict[str, Any]) -> dict[str, int]:
    """The numbers of groups and people: public ones, or as they were released."""
    totals = {name: run.pop(name) for name in TOTALS if name in run}
    for one in own.releases.values():
        name = one.spend.bought.get("total")
        if name in (GROUPS, PEOPLE):
            totals[name] = int(one.value[0])
    return totals


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
        if path.stat().st_size > _LONGEST:
            raise KinfolkError(f"{path}: is far too long for a certificate.")
        certificate = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise KinfolkError(f"{path}: there is no such file. Check the path.") from None
    except IsADirectoryError:
        raise KinfolkError(f"{path}: is a folder. Name the privacy.json in it.") from None
    except UnicodeDecodeError:
        raise KinfolkError(
            f"{path}: is no text. Name the privacy.json that a run wrote beside its model."
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise KinfolkError(f"{path}: cannot be read as JSON ({reason[:120]}).") from None
    if not isinstance(certificate, dict) or certificate.get("format") != FORMAT:
        if isinstance(certificate, dict) and certificate.get("format") == FIRST_FORMAT:
            raise KinfolkError(
                f"{path}: was written by an earlier version of kinfolk, whose certificates do not "
                "say what each step bought. Check it with that version, or make the release again."
            )
        raise KinfolkError(f"{path}: is not a {FORMAT!r}. Name the privacy.json that a run wrote.")
    return Certificate(certificate)


def check_certificate(certificate: Mapping[str, Any]) -> list[str]:
    """What does not hold in a certificate; an empty list means that its arithmetic does.

    The check covers the arithmetic: the prices, their sum, the budget, and the promise. Whether the
    sensitivities and the words are right for the schema, `recompute` knows.
    """
    wrong = _misshapen(certificate)
    if wrong:
        return wrong
    try:
        return _check(certificate)
    except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        return [f"it is not complete or not well-formed ({type(error).__name__}: {error!s:.120})"]


def _check(certificate: Mapping[str, Any]) -> list[str]:
    wrong: list[str] = []
    accounting = certificate["accounting"]
    total = recheck.exact(certificate["torn"])
    for position, spend in enumerate(certificate["spends"], start=1):
        price, stated = recheck.price(spend, accounting), recheck.exact(spend["rho"])
        if spend["number"] != position:
            wrong.append(f"spend {position} has the number {spend['number']}")
        # What is charged is rounded up to a multiple of 2**-96, and to no other.
        if not price <= stated < price + Fraction(1, 2**96):
            wrong.append(
                f"spend {position} ({spend['step'][:80]}) states rho = {float(stated):.6g}, but "
                f"its sensitivity and scale cost {float(price):.6g}"
            )
        total += stated
    spent, rho = recheck.exact(certificate["spent"]), recheck.exact(certificate["rho"])
    if total != spent:
        wrong.append(f"the spends add up to {float(total):.6g}, not {float(spent):.6g}")
    if spent > rho:
        wrong.append(f"{float(spent):.6g} was spent of a budget of {float(rho):.6g}")
    if not any(spend["released"] for spend in certificate["spends"]):
        wrong.append("nothing was bought: whatever is released was not learnt from the data")
    wrong += _broken_promise(certificate, rho)
    ledger = certificate["ledger"]
    everything = recheck.exact(ledger["rho"])
    if not recheck.keeps(everything, ledger["epsilon"], ledger["delta"], accounting):
        wrong.append("the ledger's budget does not keep the ledger's promise")
    if not spent <= recheck.exact(ledger["spent"]) <= everything:
        wrong.append("the ledger has spent less than this release, or more than it has")
    if Neighbours(certificate["neighbours"]).unit.value != certificate["unit"]:
        wrong.append("the unit is not that of the neighbours")
    if accounting == "paper" and certificate["unit"] == "group":
        wrong.append("the paper's accounting promises nothing for a whole group")
    release = certificate["release"]
    if "model" in release and (PRIOR in release) != (PUBLIC in certificate["run"]):
        wrong.append("public tables were given and not learnt from, or the other way round")
    return wrong


def _broken_promise(certificate: Mapping[str, Any], rho: Fraction) -> list[str]:
    epsilon, delta = certificate["epsilon"], certificate["delta"]
    if recheck.keeps(rho, epsilon, delta, certificate["accounting"]):
        return []
    reached = recheck.log_delta(rho, epsilon, certificate["accounting"])
    return [
        f"rho = {float(rho):.6g} gives delta = {float(reached.exp()):.3g} at epsilon = {epsilon}, "
        f"more than the promised {delta:.3g}"
    ]


def _is_fraction(value: object) -> bool:
    try:
        recheck.exact(value)
    except ValueError:
        return False
    return True


def _is_count(value: object) -> bool:
    return type(value) is int and abs(value) < 2**63


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _is_rules(value: object) -> bool:
    return isinstance(value, dict) and _is_texts(value.get("never"))


def _is_public(run: Mapping[str, Any]) -> bool:
    """Whether a run says of public tables which they are, or nothing at all."""
    if PUBLIC not in run:
        return True
    public = run[PUBLIC]
    tables = public.get("tables") if isinstance(public, dict) else None
    return isinstance(tables, dict) and bool(tables) and _is_texts(list(tables.values()))


_SHAPE: Mapping[str, Callable[[Any], bool]] = {
    "private": lambda value: isinstance(value, bool),
    "unit": lambda value: value in tuple(Unit),
    "unit_name": lambda value: isinstance(value, str),
    "neighbours": lambda value: value in tuple(Neighbours),
    "difference": lambda value: isinstance(value, str),
    "protects": lambda value: isinstance(value, str),
    "public": _is_texts,
    "cleaning": lambda value: isinstance(value, dict),
    "domain": lambda value: value in ("declared", "drafted"),
    "epsilon": lambda value: isinstance(value, float) and 0 < value < math.inf,
    "delta": lambda value: isinstance(value, float) and 0 < value < 1,
    "rho": _is_fraction,
    "accounting": lambda value: value in recheck.ACCOUNTINGS,
    "warnings": _is_texts,
    "totals": lambda value: isinstance(value, dict) and all(map(_is_count, value.values())),
    "complete": lambda value: isinstance(value, bool),
    "spent": _is_fraction,
    "torn": _is_fraction,
    "spends": lambda value: (
        isinstance(value, list)
        and all(isinstance(one, dict) and not _wrong_keys(one, _SPEND) for one in value)
    ),
    "ledger": lambda value: isinstance(value, dict) and not _wrong_keys(value, _LEDGER),
    "run": lambda value: isinstance(value, dict) and _is_public(value),
    "release": lambda value: isinstance(value, dict),
    "versions": lambda value: isinstance(value, dict) and _is_texts(list(value.values())),
}
"""What a certificate has to hold, and what that has to look like."""
_SPEND: Mapping[str, Callable[[Any], bool]] = {
    "number": _is_count,
    "step": lambda value: isinstance(value, str),
    "mechanism": lambda value: isinstance(value, str),
    "bought": lambda value: isinstance(value, dict),
    "rho": lambda value: _is_fraction(value) and recheck.exact(value) > 0,
    "released": lambda value: isinstance(value, bool),
}
_LEDGER: Mapping[str, Callable[[Any], bool]] = {
    "id": lambda value: isinstance(value, str),
    "lines": _is_count,
    "head": lambda value: isinstance(value, str),
    "release": _is_count,
    "epsilon": _SHAPE["epsilon"],
    "delta": _SHAPE["delta"],
    "rho": _is_fraction,
    "spent": _is_fraction,
}


def _wrong_keys(part: Mapping[str, Any], shape: Mapping[str, Callable[[Any], bool]]) -> list[str]:
    return [name for name, fits in shape.items() if name not in part or not fits(part[name])]


def _misshapen(certificate: Mapping[str, Any]) -> list[str]:
    """What is missing or of another kind."""
    shape = {**_SHAPE, **({"rules": _is_rules} if "rules" in certificate else {})}
    try:
        found = _wrong_keys(certificate, shape)
    except RecursionError:
        return ["it is nested too deeply"]
    return [f"{name} is missing, or not what it should be" for name in found]


def check_ledger(certificate: Mapping[str, Any], path: Path) -> list[str]:
    """What a ledger contradicts in a certificate; an empty list means that the two agree.

    A ledger that was cut short, put back or forked since the certificate was made does not have the
    line that the certificate names. Up to that line, it must make the same certificate: the promise
    and whether it is private, every spend with its noise and what it bought, the totals, the run
    with its public tables. Only the words, which are the schema's, and what came after the noise
    (`release`) are not in it.
    """
    chain = read_chain(path)
    stated = certificate["ledger"]
    account = account_from(chain.entries, where=path.name)
    if stated["id"] != account.identity:
        return ["it was made from another ledger"]
    if stated["lines"] < 1 or Head(lines=stated["lines"], check=stated["head"]).missing_from(chain):
        return [
            f"the ledger is not the one it was made from: line {stated['lines']} is missing or "
            "another. Lines were cut off, or two copies went different ways; what they spent stays "
            "spent"
        ]
    then = account_from(chain.entries[: stated["lines"]], where=path.name)
    if not 1 <= stated["release"] <= len(then.allotments):
        return ["the ledger has no such release"]
    head = Head(lines=stated["lines"], check=stated["head"])
    recorded = _recorded(then, then.allotments[stated["release"] - 1], head)
    # As it stands in a file.
    expected = json.loads(json.dumps(recorded))
    return [
        f"{name} is not what the ledger says of this release"
        for name, value in expected.items()
        if certificate.get(name) != value
    ]


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
        *(("Warning", line) for line in certificate["warnings"]),
        ("Protects", certificate["protects"]),
        ("Neighbours", f"{certificate['neighbours']}: {certificate['difference']}"),
        *(("Public", line) for line in certificate["public"]),
        *(("Never", line) for line in certificate.get("rules", {}).get("never", ())),
        *_drawn_rows(certificate["release"]),
        *(("Unprotected", line) for line in certificate.get("unprotected", ())),
        *(("Unprotected", line) for line in _public_text(certificate["run"].get(PUBLIC))),
        ("Domain", _domain_text(certificate["domain"])),
        ("Budget", f"rho = {float(rho):.6g} ({accounting_text(certificate['accounting'])})"),
        ("Spent", f"rho = {float(spent):.6g}, in {len(certificate['spends'])} steps"),
    ]
    if lost or Fraction(certificate["torn"]):
        rows.append(("Lost", f"{len(lost)} steps were paid for and interrupted; they count."))
    ledger = certificate["ledger"]
    if Fraction(ledger["rho"]) > rho or ledger["release"] > 1:
        rows.append(
            (
                "Ledger",
                f"release {ledger['release']} of a budget of epsilon = {ledger['epsilon']:g}, "
                f"delta = {ledger['delta']:.3g}; all releases until then have spent "
                f"{float(Fraction(ledger['spent']) / Fraction(ledger['rho'])):.1%} of it",
            )
        )
    versions = ", ".join(f"{name} {version}" for name, version in certificate["versions"].items())
    return [*rows, ("Made with", versions)]


def _drawn_rows(release: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the tables beside a certificate are, where they are not all that the model makes."""
    rows: list[tuple[str, str]] = []
    if "where" in release:
        rows.append(("Only", f"groups where {release['where']!s:.200}"))
    if "replicate" in release:
        number = f"replicate {release['replicate']!s:.20}"
        rows.append(("Tables", f"{number}: of a refit to made-up noise, for standard errors"))
    return rows


def _public_text(public: Mapping[str, Any] | None) -> list[str]:
    """Whom public tables leave open, and what they are: as a run states it, which may be wrong."""
    if public is None:
        return []
    tables = ", ".join(f"{name} {digest!s:.12}" for name, digest in dict(public["tables"]).items())
    return [f"everybody in the public tables that it was given as prior knowledge ({tables})"]


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
