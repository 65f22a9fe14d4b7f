"""What `accounting="paper"` charges for, and what it therefore does not promise.

The paper says that neighbours differ in one individual row, and that a query then changes by at
most 1/N_G (of groups) or 1/N_I (of people). That holds where the attributes of one individual are
replaced in place and nothing about any group changes with them. Where a group attribute is computed
from its members, the true sensitivity is that of the whole group, and the noise is too small. The
paper's numbers are repeated here as they are, and the certificate says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from kinfolk.privacy.accounting import Accounting
from kinfolk.privacy.sensitivity import Sensitivity
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema
from kinfolk.schema.names import singular


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
