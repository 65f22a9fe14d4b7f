"""Marginals over fewer attributes than a workload asks for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from kinfolk.queries.workload import Marginal, Workload


def order_of(marginal: Marginal) -> int:
    """How many attributes a marginal is about."""
    return len(marginal.shape)


def with_lower_orders(workload: Workload) -> Workload:
    """The workload, followed by every marginal that follows from one of its own by adding up.

    >>> from kinfolk.datasets import load_schema
    >>> asked = Workload.of(load_schema("acs-red"), k=2, attributes=["FARM", "SEX", "AGE"])
    >>> [order_of(marginal) for marginal in with_lower_orders(asked).marginals]
    [2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1]
    """
    lower = {part: None for marginal in workload.marginals for part in parts_of(marginal)}
    for marginal in workload.marginals:
        lower.pop(marginal, None)
    ordered = sorted(lower, key=order_of, reverse=True)
    return replace(workload, marginals=(*workload.marginals, *ordered))


def with_sizes(workload: Workload) -> Workload:
    """The workload, followed by the marginal of the groups' sizes if none of its own has them.

    >>> from kinfolk.datasets import load_schema
    >>> asked = Workload.of(load_schema("acs-red"), k=1, attributes=["SEX"])
    >>> with_sizes(asked).marginals[-1].shape
    (3,)
    """
    schema = workload.schema
    size = len(schema.group_attributes)
    if len(schema.sizes) == 1 or any(size in marginal.group for marginal in workload.marginals):
        return workload
    marginal = Marginal(
        level="group",
        relation=None,
        group=(size,),
        individual=(),
        relative=(),
        shape=(len(schema.sizes),),
    )
    return replace(workload, marginals=(*workload.marginals, marginal))


def parts_of(marginal: Marginal) -> Iterator[Marginal]:
    """All marginals over some of its attributes; a relation needs one of the relative's."""
    group, own = len(marginal.group), len(marginal.group) + len(marginal.individual)
    named = (*marginal.group, *marginal.individual, *marginal.relative)
    for number in range(1, order_of(marginal)):
        for kept in itertools.combinations(range(len(named)), number):
            relative = tuple(named[at] for at in kept if at >= own)
            if marginal.relation is not None and not relative:
                continue
            yield replace(
                marginal,
                group=tuple(named[at] for at in kept if at < group),
                individual=tuple(named[at] for at in kept if group <= at < own),
                relative=relative,
                shape=tuple(marginal.shape[at] for at in kept),
            )
