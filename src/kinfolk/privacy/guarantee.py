"""The guarantee: what is promised, for which neighbours, and the budget that keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from kinfolk.errors import KinfolkError
from kinfolk.privacy import recheck
from kinfolk.privacy.accounting import Accounting, check_promise, from_text, rho_from, to_text
from kinfolk.privacy.unit import Neighbours, Unit

LARGE_EPSILON = 10.0
"""From here on a promise is mostly a matter of form."""


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """(epsilon, delta) for some neighbours, and the rho that may be spent on them.

    Guarantee: one only exists if a budget of rho keeps the promise under its accounting. That is
    checked by `recheck`, which shares nothing with the accountant that worked rho out, and by which
    the certificate will be checked: nothing is ever spent that its own tools would refuse.

    >>> promise = Guarantee.of(neighbours=Neighbours.ADD_REMOVE, epsilon=1.0, delta=1e-9)
    >>> float(promise.rho)  # doctest: +ELLIPSIS
    0.01497...
    """

    neighbours: Neighbours
    """Which datasets are hard to tell apart."""
    epsilon: float
    """The promise: smaller is stronger."""
    delta: float
    """The promise: what is left to chance."""
    rho: Fraction
    """The budget that keeps it, exact."""
    accounting: Accounting
    """The arithmetic between them."""

    def __post_init__(self) -> None:
        check_promise(self.epsilon, self.delta)
        if self.accounting is Accounting.PAPER and self.unit is Unit.GROUP:
            raise KinfolkError(
                "accounting is 'paper' and the unit a whole group. The paper guarantees nothing "
                "for whole groups, only for one individual's attributes. Choose the unit "
                "'individual', or the accounting 'zcdp'."
            )
        if self.rho <= 0 or not recheck.keeps(
            self.rho, self.epsilon, self.delta, self.accounting.value
        ):
            raise KinfolkError(
                f"A budget of rho = {float(self.rho)!r} does not keep the promise epsilon = "
                f"{self.epsilon!r}, delta = {self.delta!r} under {self.accounting} accounting. "
                "Take rho from `rho_from`."
            )

    @classmethod
    def of(
        cls,
        *,
        neighbours: Neighbours,
        epsilon: float,
        delta: float,
        accounting: Accounting = Accounting.ZCDP,
    ) -> Guarantee:
        """The guarantee with the largest budget that keeps the promise."""
        check_promise(epsilon, delta)
        return cls(
            neighbours=neighbours,
            epsilon=float(epsilon),
            delta=float(delta),
            rho=rho_from(epsilon, delta, accounting=accounting),
            accounting=accounting,
        )

    @property
    def unit(self) -> Unit:
        """Whom it protects."""
        return self.neighbours.unit

    def warnings(self, units: int | None = None) -> tuple[str, ...]:
        """What makes the promise weaker than it looks; `units` is about how many there are.

        >>> weak = Guarantee.of(neighbours=Neighbours.REPLACE, epsilon=20.0, delta=0.01)
        >>> len(weak.warnings(5000))
        2
        """
        found: list[str] = []
        if self.epsilon > LARGE_EPSILON:
            found.append(
                f"epsilon = {self.epsilon:g} is above {LARGE_EPSILON:g}: what is released may tell "
                "somebody apart almost as if there were no noise"
            )
        if units is not None and self.delta * units >= 1:
            found.append(
                f"delta = {self.delta:.3g} is not below one in the number of units (about "
                f"{units:,}): publishing one of them outright would keep this promise"
            )
        return tuple(found)

    def describe(self) -> dict[str, Any]:
        """What a ledger and a certificate write down."""
        return {
            "unit": self.unit.value,
            "neighbours": self.neighbours.value,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rho": to_text(self.rho),
            "accounting": self.accounting.value,
        }

    @classmethod
    def from_description(cls, described: Mapping[str, Any]) -> Guarantee:
        """The guarantee that `describe` wrote down."""
        found = cls(
            neighbours=Neighbours(described["neighbours"]),
            epsilon=described["epsilon"],
            delta=described["delta"],
            rho=from_text(described["rho"]),
            accounting=Accounting.parse(described["accounting"]),
        )
        if found.unit.value != described["unit"]:
            raise KinfolkError("its unit is not that of its neighbours.")
        return found
