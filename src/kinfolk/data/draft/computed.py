"""Group columns that look computed from the members: the head's value, or a count of members."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from kinfolk.data.draft.linked import Groups
from kinfolk.data.draft.profile import Profile
from kinfolk.data.draft.rounding import Floats, Ints
from kinfolk.schema import Value
from kinfolk.schema.attributes import text_of

GLANCE = 500
"""Every recipe is tried on this many groups; only what fits there is tried on all."""
ENOUGH = 20
"""With fewer groups, two columns agree by chance."""
MOST_VALUES = 25
"""Members are counted by columns with at most this many values."""
AGES = (5, 6, 15, 16, 18, 60, 65, 75)
"""Ages at which members are counted, as `under` and as `at least`."""

_AGE = re.compile(r"(?i)agep?|age_.*|.*_age")

Test = Callable[[Floats], npt.NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class Recipe:
    """One way to compute a number per group from one column of its members."""

    text: str
    profile: Profile
    test: Test | None
    """Which members are counted; None takes the head's value instead."""

    def cook(self, column: Floats, groups: Groups, lead: Ints) -> Floats:
        """(groups,) column: (people,); lead: (groups,) the head's row, -1 where there is none."""
        if self.test is not None:
            held = groups.group_of[self.test(column)]
            return np.bincount(held, minlength=groups.count).astype(float)
        numbers = np.full(groups.count, math.nan)
        numbers[lead >= 0] = column[lead[lead >= 0]]
        return numbers


def find_computed(
    homes: Mapping[str, Profile],
    people: Mapping[str, Profile],
    groups: Groups,
    heads: Ints | None,
) -> dict[str, str]:
    """Say for group columns what they look computed from; a suggestion, not a proof."""
    if groups.count < ENOUGH:
        return {}
    lead = groups.firsts if heads is None else heads
    who = "the first member" if heads is None else "the head"
    likely = _glance(people, groups, lead, who)
    found: dict[str, str] = {}
    for name, profile in homes.items():
        start = _coded(profile, np.arange(min(GLANCE, groups.count)))
        column: Floats | None = None
        for recipe in likely.get(start.tobytes(), []):
            column = _coded(profile, None) if column is None else column
            cooked = recipe.cook(_coded(recipe.profile, None), groups, lead)
            if np.array_equal(cooked, column, equal_nan=True):
                found[name] = recipe.text
                break
    ages = [recipe for profile in people.values() for recipe in _by_age(profile)]
    for name, profile in homes.items():
        if ages and name not in found and profile.whole and profile.numbers[0] == 0:
            nearly = _nearly(_coded(profile, None), ages, groups, lead)
            found |= {name: nearly} if nearly else {}
    return {name: found[name] for name in homes if name in found}


def _glance(
    people: Mapping[str, Profile], groups: Groups, lead: Ints, who: str
) -> dict[bytes, list[Recipe]]:
    """What every recipe gives for the first groups, as a key to look columns up by."""
    count = min(GLANCE, groups.count)
    rows = np.flatnonzero(groups.group_of < count)
    some = Groups(groups.group_of[rows], count)
    place = np.full(len(groups.group_of) + 1, -1, np.int64)
    place[rows] = np.arange(len(rows))
    known: dict[bytes, list[Recipe]] = {}
    for profile in people.values():
        column = _coded(profile, rows)
        for recipe in _recipes(profile, who):
            cooked = recipe.cook(column, some, place[lead[:count]])
            if not (cooked == cooked[0]).all():
                known.setdefault(cooked.tobytes(), []).append(recipe)
    return known


def _recipes(profile: Profile, who: str) -> Iterator[Recipe]:
    yield Recipe(f"the {profile.name} of {who}", profile, None)
    yield from _by_age(profile)
    if len(profile.tally) > MOST_VALUES:
        return
    for value in profile.tally:
        shown, code = text_of(value), _code(value)
        is_it, is_not = partial(np.equal, code), partial(_differs, code=code)
        yield Recipe(f"the number of members with {profile.name} {shown}", profile, is_it)
        yield Recipe(f"the number of members with {profile.name} not {shown}", profile, is_not)


def _by_age(profile: Profile) -> Iterator[Recipe]:
    if profile.kind == "number" and _AGE.fullmatch(profile.name):
        for age in AGES:
            text = f"the number of members with {profile.name}"
            yield Recipe(f"{text} under {age}", profile, partial(np.greater, age))
            yield Recipe(f"{text} of at least {age}", profile, partial(np.less_equal, age))


def _nearly(column: Floats, recipes: list[Recipe], groups: Groups, lead: Ints) -> str | None:
    """A count by age that agrees with the column far better than its commonest value does."""
    if np.nanmax(column) > groups.sizes.max():
        return None
    _, counts = np.unique(column, return_counts=True)
    best, text = 0.25 * (1 - counts.max() / len(column)), None
    for recipe in recipes:
        cooked = recipe.cook(_coded(recipe.profile, None), groups, lead)
        wrong = float((cooked != column).mean())
        if wrong < best:
            best, text = wrong, recipe.text
    return f"{text}, in nearly every group" if text else None


def _differs(column: Floats, *, code: float) -> npt.NDArray[np.bool_]:
    return np.not_equal(column, code) & ~np.isnan(column)


def _coded(profile: Profile, rows: Ints | None) -> Floats:
    """(rows,) values as numbers that are equal where the values are; blank is NaN."""
    cells = profile.at(rows)
    if profile.kind == "text":
        codes = {value: _code(value) for value in profile.tally} | {None: math.nan}
        return np.array([codes[cell] for cell in cells], dtype=float)
    # Adding zero turns -0.0 into 0.0, which has other bytes.
    return np.asarray(cells, dtype=float) + 0.0


def _code(value: Value) -> float:
    # A text gets a number that is not whole, so that it never equals a count.
    return hash(value) % 2**50 + 0.5 if isinstance(value, str) else float(value)
