"""A release checked against its schema: does the certificate follow from it, noise and all?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from kinfolk.errors import KinfolkError
from kinfolk.methods.method import Method, Step
from kinfolk.methods.registry import method_named
from kinfolk.privacy.account import Allotment, Released
from kinfolk.privacy.certificate import certificate_of, check_certificate
from kinfolk.privacy.chain import Head
from kinfolk.privacy.curator import Curator, schema_digest, workload_digest
from kinfolk.privacy.recompute import recompute, view_of
from kinfolk.privacy.view import PublicView
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema

GUESSES = (100, 10_000, 1_000_000)
"""How many groups there may be, where nobody knows yet."""


def verify(certificate: Mapping[str, Any], schema: Schema) -> list[str]:
    """What does not hold in a certificate, given its schema; an empty list means that all does.

    The arithmetic first; then the words, the sensitivities of what each step bought, and the noise
    that the method's settings and the budget make of them.
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
        planned = {step.key: step.rho for step in method.steps(view)}
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
