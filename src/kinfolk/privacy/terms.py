"""The terms of a run: the promise, whom it protects, and the budget that keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from kinfolk.errors import KinfolkError
from kinfolk.privacy.accounting import Accounting, delta_from, rho_from
from kinfolk.privacy.amounts import from_text, to_text
from kinfolk.privacy.paper import check_unit
from kinfolk.queries.units import Unit, UnitTerms


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What a budget promises, to whom, and by which arithmetic.

    Guarantee: a `Terms` only exists if its accounting makes a budget of rho (epsilon, delta)-DP.

    >>> unit = Unit.parse("household").within(max_size=9)
    >>> terms = Terms.promise(epsilon=1.0, delta=1e-9, unit=unit, private=True)
    >>> float(terms.rho)  # doctest: +ELLIPSIS
    0.01497...
    """

    unit: UnitTerms
    """Whom the promise protects, in the schema's own words."""
    epsilon: float
    """The promise."""
    delta: float
    """The promise."""
    rho: Fraction
    """The budget that keeps it, exact."""
    accounting: Accounting
    """The arithmetic between them."""
    private: bool
    """False if any of the noise comes from a seed: then nothing is promised at all."""
    run: Mapping[str, Any] = field(default_factory=dict)
    """What else identifies the run (schema, method, settings), as JSON; nothing private."""

    def __post_init__(self) -> None:
        reached = delta_from(self.rho, self.epsilon, accounting=self.accounting)
        if self.rho <= 0 or not 0 < self.delta < 1 or reached > self.delta:
            raise KinfolkError(
                f"A budget of rho = {float(self.rho)!r} does not keep the promise epsilon = "
                f"{self.epsilon!r}, delta = {self.delta!r} ({self.accounting} accounting reaches "
                f"delta = {reached!r}). Take rho from `rho_from`."
            )
        check_unit(self.unit, self.accounting)

    @classmethod
    def promise(
        cls,
        *,
        unit: UnitTerms,
        epsilon: float,
        delta: float,
        private: bool,
        accounting: Accounting = Accounting.ZCDP,
        run: Mapping[str, Any] | None = None,
    ) -> Terms:
        """The terms with the largest budget that keeps the promise."""
        return cls(
            unit=unit,
            epsilon=float(epsilon),
            delta=float(delta),
            rho=rho_from(epsilon, delta, accounting=accounting),
            accounting=accounting,
            private=private,
            run=run or {},
        )

    def describe(self) -> dict[str, Any]:
        """What the ledger's first line and a certificate write down."""
        return {
            **asdict(self.unit),
            "unit": self.unit.unit.value,
            "public": list(self.unit.public),
            "unprotected": list(self.unit.unprotected),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rho": to_text(self.rho),
            "accounting": self.accounting.value,
            "private": self.private,
            "run": dict(self.run),
        }

    @classmethod
    def from_description(cls, described: Mapping[str, Any]) -> Terms:
        """The terms that `describe` wrote down."""
        unit = UnitTerms(
            unit=Unit(described["unit"]),
            name=described["name"],
            neighbours=described["neighbours"],
            protects=described["protects"],
            public=tuple(described["public"]),
            unprotected=tuple(described["unprotected"]),
        )
        return cls(
            unit=unit,
            epsilon=described["epsilon"],
            delta=described["delta"],
            rho=from_text(described["rho"]),
            accounting=Accounting.parse(described["accounting"]),
            private=described["private"],
            run=described["run"],
        )
