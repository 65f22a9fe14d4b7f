"""The guarantee: what is promised, for which neighbours, and the budget that keeps it.

`accounting="paper"` charges for what the paper says: neighbours differ in one individual row, and a
query then changes by at most 1/N_G (of groups) or 1/N_I (of people). That holds where the
attributes of one individual are replaced in place and nothing about any group changes with them.
Where a group attribute is computed from its members, the true sensitivity is that of the whole
group, and the noise is too small. The paper's numbers are repeated here as they are, and the
certificate says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from kinfolk.errors import KinfolkError
from kinfolk.privacy import recheck
from kinfolk.privacy.accounting import Accounting, check_promise, from_text, rho_from, to_text
from kinfolk.privacy.sensitivity import Sensitivity
from kinfolk.privacy.unit import Neighbours, Unit
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema
from kinfolk.schema.names import singular

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


def unprotected(schema: Schema, accounting: Accounting) -> tuple[str, ...]:
    """What a reader might take to be protected and is not; only the paper's claim has such things.

    >>> from kinfolk.datasets import load_schema
    >>> print(unprotected(load_schema("acs-red"), Accounting.PAPER)[0])
    the size and the own attributes of any household
    """
    if accounting is not Accounting.PAPER or schema.group is None:
        return ()
    group, member = (singular(name) for name in schema.table_names)
    found = [
        f"the size and the own attributes of any {group}",
        f"which {group} a {member} belongs to: joining, leaving and moving",
    ]
    derived = [name for name, one in schema.group_attributes.items() if one.derived]
    if derived:
        found.append(
            f"a {member} whose attributes decide those of the {group} that are computed from its "
            f"members ({', '.join(derived)}): their noise is too small, and the promise does not "
            "hold"
        )
    return tuple(found)


def charged_workload(workload: Workload, accounting: Accounting) -> Workload:
    """The workload whose sensitivities are charged.

    The paper's are those of one individual's attributes, derived attributes taken as they are: one
    count, and for relations as many as one individual has a part in (two for `married to` and `has
    child`, M_c for `has parent`).
    """
    group = workload.schema.group
    if accounting is not Accounting.PAPER or group is None:
        return workload
    unchanging = {name: replace(one, derived=False) for name, one in group.attributes.items()}
    schema = replace(workload.schema, group=replace(group, attributes=unchanging))
    return replace(workload, schema=schema)


def shared_sensitivities(
    workload: Workload, bounds: Sequence[Sensitivity], *, groups: int, people: int
) -> dict[str, Fraction]:
    """What one measured query is charged by in the paper, in counts, for each level.

    The paper has one Delta, the largest change of any query as a share of all groups or people, and
    adds noise for it whatever is measured. With group queries at hand, that is N_I / N_G counts of
    people where one would do. `bounds` are what the marginals are charged by.

    >>> from kinfolk.datasets import load_schema
    >>> workload = Workload.of(load_schema("acs-red"), k=1)
    >>> one = Sensitivity(single=1, l1=2, l2_squared=2)
    >>> shared_sensitivities(workload, [one] * len(workload.marginals), groups=40, people=100)
    {'group': Fraction(1, 1), 'individual': Fraction(5, 2)}
    """
    totals = {
        marginal.level: max(groups if marginal.level == "group" else people, 1)
        for marginal in workload.marginals
    }
    delta = max(
        Fraction(bound.single, totals[marginal.level])
        for marginal, bound in zip(workload.marginals, bounds, strict=True)
    )
    return {level: delta * total for level, total in totals.items()}
