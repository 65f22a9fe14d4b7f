"""Guarantees and certificates, in few words."""

from __future__ import annotations

from kinfolk.privacy.accounting import Accounting
from kinfolk.privacy.certificate import Certificate, certificate_of
from kinfolk.privacy.curator import Curator
from kinfolk.privacy.guarantee import Guarantee
from kinfolk.privacy.unit import Neighbours

ADD_REMOVE, REPLACE, IN_PLACE = Neighbours


def promise(
    neighbours: Neighbours = ADD_REMOVE,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    accounting: Accounting = Accounting.ZCDP,
) -> Guarantee:
    return Guarantee.of(neighbours=neighbours, epsilon=epsilon, delta=delta, accounting=accounting)


def certified(gate: Curator) -> Certificate:
    """The certificate of what was bought so far."""
    return certificate_of(gate.account, gate.own, gate.workload.schema, head=gate.head)
