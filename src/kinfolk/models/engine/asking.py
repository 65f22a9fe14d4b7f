"""Blocks taken apart: what they ask of the group, of the person who asks, and of members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kinfolk.models.engine.members import Wanted
from kinfolk.models.layout import Ints, Layout
from kinfolk.queries.workload import Block

Attributes = tuple[int, ...]
"""Attributes by position."""


class Left(NamedTuple):
    """The left part of a block: what is asked of the group, and of the person who asks."""

    group: Attributes
    """Group attributes, without the size."""
    own: Attributes
    """Individual attributes, at the relation level."""


class Shape(NamedTuple):
    """A block's queries as an array, in their order."""

    start: int
    """Where the block begins in the vector of answers."""
    group: int
    sizes: int
    own: int
    members: int

    @property
    def left(self) -> int:
        """The number of left cells."""
        return self.group * self.own

    def places(self, low: int, high: int) -> Ints:
        """(left cells, sizes * cells) where the answers for member cells low to high - 1 go."""
        count = self.group * self.sizes * self.own * self.members
        numbers = np.arange(self.start, self.start + count).reshape(self[1:])
        part = numbers[..., low:high].transpose(0, 2, 1, 3)
        return part.reshape(self.left, self.sizes * (high - low))


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A block, taken apart."""

    members: Attributes
    """The attributes of members: one's own, or at the relation level the relative's."""
    wanted: Wanted
    sized: bool
    """Whether the block asks for the group's size."""
    left: Left
    shape: Shape


def take_apart(layout: Layout, block: Block, weights: Ints, start: int) -> Asked:
    """What a block asks. weights: (sizes + 1,); start: where it begins in the vector of answers.

    >>> from kinfolk.datasets import load_schema
    >>> from kinfolk.queries.workload import Workload
    >>> workload = Workload.of(load_schema("acs-red"), sets=[["METRO", "COUNT", "SEX", "AGE"]])
    >>> layout = Layout.of(workload.schema)
    >>> asked = take_apart(layout, workload.blocks[0], np.ones(4, np.int64), 0)
    >>> asked.members, asked.sized, asked.left
    ((0, 1), True, Left(group=(0,), own=()))
    """
    size = len(layout.schema.group_attributes)
    related = block.level == "relation"
    sizes = len(layout.schema.sizes) if size in block.group else 1
    return Asked(
        members=block.relative if related else block.individual,
        wanted=Wanted(
            level=block.level,
            relation=block.relation,
            weights=tuple(weights.tolist()),
            split=related and bool(block.individual),
        ),
        sized=size in block.group,
        left=Left(
            group=tuple(position for position in block.group if position != size),
            own=block.individual if related else (),
        ),
        shape=Shape(
            start=start,
            group=block.group_cells // sizes,
            sizes=sizes,
            own=block.individual_cells if related else 1,
            members=block.relative_cells if related else block.individual_cells,
        ),
    )
