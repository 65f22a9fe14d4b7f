"""A release checked against its schema: does the certificate follow from it, noise and all?"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from kinfolk.errors import KinfolkError
from kinfolk.methods.method import Method, Step
from kinfolk.methods.registry import method_named
from kinfolk.privacy import recheck
from kinfolk.privacy.account import Allotment, Released
from kinfolk.privacy.certificate import certificate_of, check_certificate, warnings_of, wording_of
from kinfolk.privacy.chain import Head
from kinfolk.privacy.curator import Curator, schema_digest, workload_digest
from kinfolk.privacy.guarantee import Guarantee
from kinfolk.privacy.unit import Neighbours
from kinfolk.privacy.view import GROUPS, PEOPLE, TOTALS, PublicView, Purchase, public_totals
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema

GUESSES = (100, 10_000, 1_000_000)
"""How many groups there may be, where nobody knows yet."""
Planned = Mapping[str, Step]
"""What a method plans to buy, by the step's name."""


def verify(certificate: Mapping[str, Any], schema: Schema) -> list[str]:
    """What does not hold in a certificate, given its schema; an empty list means that all does.

    The arithmetic first; then the words, what each step bought and its sensitivity, and the noise
    that the method's settings and the budget make of it.
    """
    wrong = check_certificate(certificate)
    if wrong:
        return wrong
    run = certificate["run"]
    if run.get("schema") != schema_digest(schema):
        return ["it was made with another schema"]
    try:
        settings = run["settings"]
        method = method_named(run["method"], **settings)
        view = view_of(
            certificate, method.asks(Workload.of(schema)), size_weighted=method.size_weighted
        )
        if run.get("workload") != workload_digest(view) or run.get("queries") != view.workload.size:
            return ["it was made for other queries than the schema's"]
        planned = {step.key: step for step in method.steps(view)}
    except (LookupError, TypeError, ValueError, KinfolkError) as error:
        return [f"its run cannot be repeated from the schema ({error!s:.160})"]
    return recompute(certificate, view, planned)


def settled_groups(certificate: Mapping[str, Any], schema: Schema) -> int | None:
    """How many groups a release has, by its certificate."""
    return view_of(certificate, Workload.of(schema), size_weighted=False).groups


def verify_plan(curator: Curator, method: Method) -> None:
    """Refuse a run whose certificate would not hold, before anything is spent.

    Guarantee: the certificate of everything that the method plans to buy has passed the checks that
    the real one will be put to. What is planned may depend on the number of groups: where that has
    to be bought first, it is checked for few, for some and for many.
    """
    view = curator.view
    guesses = (view.groups,) if view.groups is not None else GUESSES
    checked: list[list[tuple[str, Fraction]]] = []
    for groups in guesses:
        steps = method.steps(view.knowing(groups=groups))
        prices = [(step.key, step.rho) for step in steps]
        if prices not in checked:
            checked.append(prices)
            _check_steps(curator, view.knowing(groups=groups), steps)


def _check_steps(curator: Curator, view: PublicView, steps: Sequence[Step]) -> None:
    own = curator.own
    rehearsed = Allotment(
        number=own.number, guarantee=own.guarantee, private=own.private, run=own.run
    )
    for step in steps:
        purchase = step.purchase
        spend = rehearsed.next_spend(step.key, purchase.mechanism, dict(purchase.bought))
        rehearsed.add_spend(spend)
        # What it will say does not matter to what it costs.
        rehearsed.add_release(Released(spend=spend, value=[view.groups]))
    head = Head(lines=1, check="0" * 64)
    planned = certificate_of(curator.account, rehearsed, view.workload.schema, head=head)
    planned["ledger"]["spent"] = planned["ledger"]["rho"]
    wrong = check_certificate(planned) or recompute(planned, view)
    if wrong:
        raise KinfolkError(
            f"the certificate of this run would not hold: {wrong[0]}. Nothing was spent. This is a "
            "bug in kinfolk; please report it with your schema."
        )


def view_of(
    certificate: Mapping[str, Any], workload: Workload, *, size_weighted: bool
) -> PublicView:
    """What the curator of a release could sell, by its certificate and the schema."""
    totals = certificate["totals"]
    view = PublicView.of(
        workload, Guarantee.from_description(certificate), size_weighted=size_weighted
    )
    _, _, read = public_totals(workload.schema, view.guarantee.neighbours)
    view = replace(
        view,
        groups_read=totals.get("groups_read") if read else None,
        informed=certificate["run"].get("public") is not None,
    )
    groups, people = totals.get(GROUPS), totals.get(PEOPLE)
    if groups is not None and view.sells_groups:
        groups = view.settled_groups(groups)
    if groups is not None and people is not None and view.sells_people:
        people = view.settled_people(people, groups=groups)
    return replace(view, groups=groups, people=people)


def recompute(
    certificate: Mapping[str, Any], view: PublicView, planned: Planned | None = None
) -> list[str]:
    """What does not follow from the schema; an empty list means that everything does.

    The certificate's own arithmetic must hold already. `planned` has what the method would buy, and
    for how much, where that is known in advance.
    """
    schema = view.workload.schema
    try:
        wrong = _wording(certificate, schema, view.guarantee) + _totals(certificate, schema)
        if planned is not None and certificate["complete"]:
            released = {spend["step"] for spend in certificate["spends"] if spend["released"]}
            missing = [step for step in planned if step not in released]
            if missing and not _lost(certificate):
                wrong.append(f"it is said to be complete, and {missing[0]} is missing")
        for spend in certificate["spends"]:
            wrong += _spend(certificate, spend, view, planned)
    except (LookupError, TypeError, ValueError, AttributeError, KinfolkError) as error:
        return [f"it does not belong to this schema ({error!s:.160})"]
    return wrong


def _wording(certificate: Mapping[str, Any], schema: Schema, guarantee: Guarantee) -> list[str]:
    wrong: list[str] = []
    expected = wording_of(schema, guarantee.neighbours, guarantee.accounting)
    for name in ("unprotected", "rules"):
        expected.setdefault(name, None)
    expected["domain"] = schema.domain
    for name, value in expected.items():
        if certificate.get(name) != value:
            wrong.append(f"{name} is not what the schema and the neighbours make it")
    if certificate["warnings"] != warnings_of(guarantee, certificate["totals"]):
        wrong.append("warnings are left out or added")
    return wrong


def _totals(certificate: Mapping[str, Any], schema: Schema) -> list[str]:
    """The numbers of groups and people are stated where they are public, or were bought."""
    public = public_totals(schema, Neighbours(certificate["neighbours"]))
    expected = {name for name, known in zip(TOTALS, public, strict=True) if known}
    expected |= {
        spend["bought"]["total"]
        for spend in certificate["spends"]
        if spend["released"] and "total" in spend["bought"]
    }
    if set(certificate["totals"]) != expected:
        return ["totals are stated that are neither public nor bought, or left out"]
    return []


def _lost(certificate: Mapping[str, Any]) -> bool:
    """Whether something was paid for and lost in a crash."""
    return recheck.exact(certificate["torn"]) > 0 or not all(
        spend["released"] for spend in certificate["spends"]
    )


def _spend(
    certificate: Mapping[str, Any],
    spend: Mapping[str, Any],
    view: PublicView,
    planned: Planned | None,
) -> list[str]:
    step, stated = str(spend["step"])[:80], recheck.exact(spend["rho"])
    again = view.again(spend["bought"], rho=stated)
    sensitivity = _sensitivity(again.mechanism.describe())
    if sensitivity != _sensitivity(spend):
        return [
            f"{step} states a sensitivity of {_sensitivity(spend)!s:.40}, and what it bought has "
            f"{sensitivity}"
        ]
    if not _same_noise(spend, again):
        return [f"{step} states another noise than its price buys"]
    if planned is None:
        return []
    if step not in planned:
        return [f"{step} is no step of the method that is named"]
    due = planned[step]
    if not due.chosen and spend["bought"] != json.loads(json.dumps(due.purchase.bought)):
        return [f"{step} states that it bought something else than the method would"]
    expected = view.again(spend["bought"], rho=due.rho)
    # Where something was lost in a crash, what was bought after it had to make do with less.
    if not _lost(certificate) and not _same_noise(spend, expected):
        return [
            f"{step} states a noise of {_noise(spend):.6g}, and the method's settings and budget "
            f"make it {_noise(expected.mechanism.describe()):.6g}"
        ]
    return []


def _sensitivity(described: Mapping[str, Any]) -> Any:
    return described.get("squared_sensitivity", described.get("sensitivity"))


def _noise(described: Mapping[str, Any]) -> float:
    return float(described.get("sigma") or described.get("scale") or 0.0)


def _same_noise(spend: Mapping[str, Any], purchase: Purchase) -> bool:
    described = purchase.mechanism.describe()
    return all(spend.get(name) == value for name, value in described.items())
