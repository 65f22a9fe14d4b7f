"""The guarantee: units, accounting, exact mechanisms and the ledger.

A step reads the same everywhere: find what was released before, or debit, touch, release.
Public are the names in `__all__`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinfolk._surface import export

if TYPE_CHECKING:
    from kinfolk.privacy.accounting import Accounting, epsilon_from
    from kinfolk.privacy.curator import Curator
    from kinfolk.privacy.guarantee import Guarantee
    from kinfolk.privacy.sensitivity import (
        marginal_sensitivity,
        paired_sensitivities,
        size_weights,
        workload_weights,
    )
    from kinfolk.privacy.unit import Neighbours, Unit, Wording

__all__ = [
    "Accounting",
    "Curator",
    "Guarantee",
    "Neighbours",
    "Unit",
    "Wording",
    "epsilon_from",
    "marginal_sensitivity",
    "paired_sensitivities",
    "size_weights",
    "workload_weights",
]

__getattr__ = export(
    __name__,
    {
        "kinfolk.privacy.accounting": "Accounting delta_from epsilon_from rho_from",
        "kinfolk.privacy.curator": "Curator",
        "kinfolk.privacy.guarantee": "Guarantee",
        "kinfolk.privacy.sensitivity": "marginal_sensitivity paired_sensitivities size_weights "
        "workload_weights",
        "kinfolk.privacy.unit": "Neighbours Unit Wording",
        # What follows is not public; it saves the tests from long imports.
        "kinfolk.privacy.account": "Account Allotment OverspendError Released Spend read_account",
        "kinfolk.privacy.ledger": "Ledger create_ledger",
        "kinfolk.privacy.mechanisms": "Exponential Gaussian Mechanism RoundShares mechanism_from "
        "round_shares",
        "kinfolk.privacy.noise": "Randomness measure select",
    },
)
