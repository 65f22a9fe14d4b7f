"""Marginals over fewer attributes than a workload asks for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from kinfolk.queries.workload import Block, Workload


def order_of(block: Block) -> int:
    """How many attributes a block is about."""
    return len(block.shape)


def with_lower_orders(workload: Workload) -> Workload:
    """The workload, followed by every marginal that follows from one of its own by adding up.

    >>> from kinfolk.datasets import load_schema
    >>> asked = Workload.of(load_schema("acs-red"), k=2, attributes=["FARM", "SEX", "AGE"])
    >>> [order_of(block) for block in with_lower_orders(asked).blocks]
    [2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1]
    """
    lower = {part: None for block in workload.blocks for part in parts_of(block)}
    for block in workload.blocks:
        lower.pop(block, None)
    ordered = sorted(lower, key=order_of, reverse=True)
    return replace(workload, blocks=(*workload.blocks, *ordered))


def with_sizes(workload: Workload) -> Workload:
    """The workload, followed by the marginal of the groups' sizes if none of its own has them.

    >>> from kinfolk.datasets import load_schema
    >>> asked = Workload.of(load_schema("acs-red"), k=1, attributes=["SEX"])
    >>> with_sizes(asked).blocks[-1].shape
    (3,)
    """
    schema = workload.schema
    size = len(schema.group_attributes)
    if len(schema.sizes) == 1 or any(size in block.group for block in workload.blocks):
        return workload
    block = Block(
        level="group",
        relation=None,
        group=(size,),
        individual=(),
        relative=(),
        shape=(len(schema.sizes),),
    )
    return replace(workload, blocks=(*workload.blocks, block))


def parts_of(block: Block) -> Iterator[Block]:
    """All blocks over some of its attributes; a relation needs one of the relative's."""
    group, own = len(block.group), len(block.group) + len(block.individual)
    named = (*block.group, *block.individual, *block.relative)
    for number in range(1, order_of(block)):
        for kept in itertools.combinations(range(len(named)), number):
            relative = tuple(named[at] for at in kept if at >= own)
            if block.relation is not None and not relative:
                continue
            yield replace(
                block,
                group=tuple(named[at] for at in kept if at < group),
                individual=tuple(named[at] for at in kept if group <= at < own),
                relative=relative,
                shape=tuple(block.shape[at] for at in kept),
            )
