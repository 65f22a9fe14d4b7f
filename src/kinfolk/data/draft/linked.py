"""What columns turn out to be once the tables are linked: sizes, running numbers, repetitions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kinfolk.data.clean import rank_within
from kinfolk.data.draft.infer_attribute import SMALL_TABLE
from kinfolk.data.draft.profile import LeftOut, Profile
from kinfolk.data.draft.rounding import Ints

_SIZE = re.compile(r"(?i)(np|persons?|size|hh_?size|household_?size|numprec|n_?persons|members)")
_RUNNING = re.compile(
    r"(?i)(sporder|pernum|member_?(id|no|num)|person_?(no|num|number)|line_?(no|num)|pnum|perid)"
)


@dataclass(frozen=True, eq=False)
class Groups:
    """Who belongs to which group."""

    group_of: Ints
    """(people,) the group's row."""
    count: int
    """How many groups there are."""

    @cached_property
    def sizes(self) -> Ints:
        """(groups,) how many members each has."""
        return np.bincount(self.group_of, minlength=self.count)

    @cached_property
    def ranks(self) -> Ints:
        """(people,) how many members of the same group come before."""
        return rank_within(self.group_of)

    @cached_property
    def firsts(self) -> Ints:
        """(groups,) the row of everybody's first member; -1 for a group without members."""
        first = np.full(self.count, -1, np.int64)
        first[self.group_of[::-1]] = np.arange(len(self.group_of))[::-1]
        return first


def is_size(profile: Profile, groups: Groups, *, people: bool) -> LeftOut | None:
    """A column that says how many members the group has."""
    sizes = groups.sizes[groups.group_of] if people else groups.sizes
    enough = groups.count >= SMALL_TABLE or _SIZE.fullmatch(profile.name)
    if not enough or not profile.whole or profile.blanks:
        return None
    if profile.numbers[-1] != sizes.max() or not np.array_equal(profile.at(), sizes):
        return None
    return LeftOut("it equals the number of members, which is queried as the group's size anyway")


def is_running_number(profile: Profile, groups: Groups) -> LeftOut | None:
    """A column that numbers the members of every group 1, 2, 3 or 0, 1, 2."""
    named = _RUNNING.fullmatch(profile.name)
    if not profile.whole or profile.blanks or (groups.count < SMALL_TABLE and not named):
        return None
    largest = 10 * groups.sizes.max()
    if np.abs(profile.numbers[[0, -1]]).max() > largest:
        return None
    numbers = profile.at().astype(np.int64)
    running = np.ptp(numbers - groups.ranks) == 0 and groups.sizes.max() > 1
    if not running and named:
        pairs = groups.group_of * (np.ptp(numbers) + 1) + numbers - numbers.min()
        running = len(np.unique(pairs)) == len(pairs)
    return LeftOut("it numbers the members within their group") if running else None


def repeats_group_column(
    profile: Profile, same_name: Profile | None, groups: Groups, table: str
) -> LeftOut | None:
    """A column of the individuals that says nothing the group's does not say."""
    if same_name is None or same_name.kind != profile.kind or groups.count < SMALL_TABLE:
        return None
    if not groups.sizes.max() > 1 or set(profile.tally) - set(same_name.tally):
        return None
    theirs, ours = same_name.at()[groups.group_of], profile.at()
    if profile.kind == "text":
        equal = bool((theirs == ours).all())
    else:
        equal = np.array_equal(theirs, ours, equal_nan=True)
    return LeftOut(f"it repeats {table}.{profile.name} for every member") if equal else None


def names_group(profile: Profile, groups: Groups) -> LeftOut | None:
    """A second id of the group: one value for all members, another one in every other group."""
    if profile.blanks or profile.kind == "true/false" or groups.count < 4 * SMALL_TABLE:
        return None
    members = np.count_nonzero(groups.sizes)
    if len(profile.tally) != members or not (profile.whole or profile.kind == "text"):
        return None
    values = profile.at()
    constant = bool((values == values[groups.firsts[groups.group_of]]).all())
    if profile.kind == "number" and np.ptp(profile.numbers) >= 10 * members:
        firsts = values[groups.firsts[groups.firsts >= 0]]
        constant = constant and bool((np.diff(firsts) > 0).all())
    return LeftOut("it identifies the group, like an id") if constant else None
