"""A run of groups with their members, as plain arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from kinfolk.data.simulate.draw import Bools, Ints


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Some groups in order, and their members in the same order, without ids."""

    groups: dict[str, Ints]
    """The group attributes by name, each (groups,)."""
    members: dict[str, Ints]
    """The individual attributes by name, each (people,)."""
    sizes: Ints
    """How many members each group has: (groups,)."""

    def __len__(self) -> int:
        return len(self.sizes)

    def split(self, at: int) -> tuple[Sample, Sample]:
        """The first `at` groups, and the others."""
        people = int(self.sizes[:at].sum())
        first, rest = (
            Sample(
                groups={name: values[cut] for name, values in self.groups.items()},
                members={name: values[crowd] for name, values in self.members.items()},
                sizes=self.sizes[cut],
            )
            for cut, crowd in (
                (slice(None, at), slice(None, people)),
                (slice(at, None), slice(people, None)),
            )
        )
        return first, rest

    def keep(self, groups: Bools, members: Bools | None = None) -> Sample:
        """Only the chosen groups, and of their members only the chosen ones (default: all).

        groups: (groups,); members: (people,). Every kept group must keep a member.
        """
        owner = np.repeat(np.arange(len(self)), self.sizes)
        stays = groups[owner] if members is None else groups[owner] & members
        return Sample(
            groups={name: values[groups] for name, values in self.groups.items()},
            members={name: values[stays] for name, values in self.members.items()},
            sizes=np.bincount(owner[stays], minlength=len(self))[groups],
        )


@dataclass(frozen=True, kw_only=True)
class Source:
    """One kind of data the simulator makes: how its tables are called and how a block is drawn."""

    group_table: str
    member_table: str
    id: str
    """The column that both tables share."""
    draw: Callable[[np.random.Generator], Sample]
    """Draws one block; how many groups come out may differ from block to block."""
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Columns whose numbers stand for words, and the words."""
