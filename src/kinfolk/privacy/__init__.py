"""The guarantee: units, accounting, exact mechanisms and the ledger.

A step reads the same everywhere: find what was released before, or debit, touch, release.
"""

from kinfolk.privacy.account import (
    Account,
    Allotment,
    OverspendError,
    Released,
    Spend,
    read_account,
)
from kinfolk.privacy.accounting import Accounting, delta_from, epsilon_from, rho_from
from kinfolk.privacy.guarantee import Guarantee
from kinfolk.privacy.ledger import Ledger, create_ledger
from kinfolk.privacy.mechanisms import (
    Exponential,
    Gaussian,
    Mechanism,
    RoundShares,
    mechanism_from,
    round_shares,
)
from kinfolk.privacy.noise import Randomness, measure
from kinfolk.privacy.selection import select
from kinfolk.privacy.unit import Neighbours, Unit

__all__ = [
    "Account",
    "Accounting",
    "Allotment",
    "Exponential",
    "Gaussian",
    "Guarantee",
    "Ledger",
    "Mechanism",
    "Neighbours",
    "OverspendError",
    "Randomness",
    "Released",
    "RoundShares",
    "Spend",
    "Unit",
    "create_ledger",
    "delta_from",
    "epsilon_from",
    "measure",
    "mechanism_from",
    "read_account",
    "rho_from",
    "round_shares",
    "select",
]
