"""Which columns link the tables, and what others turn out to be then: sizes, repetitions."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from kinfolk._typing import Ints
from kinfolk.data.columns import distinct
from kinfolk.data.draft.infer_attribute import SMALL_TABLE
from kinfolk.data.draft.profile import LeftOut, Opened, Profile
from kinfolk.data.membership import Links, link_by, rank_within
from kinfolk.errors import DataError, KinfolkError, Problem, did_you_mean

_SIZE = re.compile(r"(?i)(np|persons?|size|hh_?size|household_?size|numprec|n_?persons|members)")
_RUNNING = re.compile(
    r"(?i)(sporder|pernum|member_?(id|no|num)|person_?(no|num|number)|line_?(no|num)|pnum|perid)"
)


@dataclass(frozen=True, eq=False)
class Membership:
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


def is_size(profile: Profile, groups: Membership, *, people: bool) -> LeftOut | None:
    """A column that says how many members the group has."""
    sizes = groups.sizes[groups.group_of] if people else groups.sizes
    enough = groups.count >= SMALL_TABLE or _SIZE.fullmatch(profile.name)
    if not enough or not profile.whole or profile.blanks:
        return None
    if profile.numbers[-1] != sizes.max() or not np.array_equal(profile.at(), sizes):
        return None
    why = "it equals the number of members, which is queried as the group's size anyway"
    return LeftOut(why, instead=None if people else "{derived: count}")


def is_running_number(profile: Profile, groups: Membership) -> LeftOut | None:
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
    profile: Profile, same_name: Profile | None, groups: Membership, table: str
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


def names_group(profile: Profile, groups: Membership) -> LeftOut | None:
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


WELL_KNOWN = (
    "householdid", "hhid", "serialno", "serial", "hid", "hhserial", "idhh", "hhnum", "hhno",
    "householdno", "householdnumber", "hhnumber", "household", "familyid", "famid", "groupid",
    "dwellingid", "caseid",
)  # fmt: skip
"""Names of household ids in published data, in lower case, letters only."""

OPTIONS = "--id COLUMN (in {homes}) and --group-id COLUMN (in {people})"


@dataclass(frozen=True, kw_only=True)
class Ids:
    """The columns that link the tables, and how they do."""

    key: str
    """The id in the group table."""
    link: str
    """The group's id in the individual table."""
    guessed: bool
    """Whether either was guessed from the data."""
    groups: Membership


def find_ids(homes: Opened, people: Opened, *, key: str | None, link: str | None) -> Ids:
    """Find the columns that link the tables; what the caller named is not questioned."""
    for opened, name, option in ((homes, key, "--id"), (people, link, "--group-id")):
        if name is not None and name not in opened.source.columns:
            why = opened.unreadable.get(name)
            what = f"the column {name!r} cannot be read: {why}" if why else f"no column {name!r}"
            known = did_you_mean(name, opened.source.columns)
            raise KinfolkError(f"{opened.name}: {what}. {known} Say which with {option}.")
    guessed = key is None or link is None
    if key is None and link in homes.source.columns:
        key = link
    elif link is None and key in people.source.columns:
        link = key
    if key is None or link is None:
        key, link = _guess(homes, people, key, link)
    return Ids(key=key, link=link, guessed=guessed, groups=_linked(homes, people, key, link))


def _linked(homes: Opened, people: Opened, key: str, link: str) -> Membership:
    links, problems = _try(homes, people, key, link)
    if links is None or links.ids is None or len(links.ids.unique()) < links.groups:
        heading = f"{people.name} and {homes.name} do not link by {link} and {key}"
        raise DataError(heading, problems)
    return Membership(links.group_of, links.groups)


def _try(
    homes: Opened, people: Opened, key: str, link: str
) -> tuple[Links | None, tuple[Problem, ...]]:
    """Link the tables exactly as `encode` will."""
    problems: list[Problem] = []
    try:
        links = link_by(key, link, homes.source, people.source, problems)
    except (pa.ArrowException, ValueError, OverflowError) as error:
        what = f"its values cannot be compared ({str(error).splitlines()[0]})."
        where = f"{people.name}, column {link}"
        return None, (Problem(where=where, what=what, fix="Store ids as numbers or text."),)
    everybody = links is not None and bool((links.group_of >= 0).all())
    return links if everybody else None, tuple(problems)


def _distinct_count(opened: Opened, column: str) -> tuple[int, bool]:
    """How many distinct ids a column has, and whether some are blank."""
    try:
        cells, positions = distinct(opened.source.columns[column])
    except (pa.ArrowException, ValueError):
        return 0, True
    return len(cells), bool((positions < 0).any())


def _is_key(opened: Opened, column: str) -> bool:
    count, blank = _distinct_count(opened, column)
    return not blank and count == opened.source.rows


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _fame(name: str) -> int:
    """How well known a name is as a household's id; 0 for unknown."""
    plain = _plain(name)
    return len(WELL_KNOWN) - WELL_KNOWN.index(plain) if plain in WELL_KNOWN else 0


def _guess(homes: Opened, people: Opened, key: str | None, link: str | None) -> tuple[str, str]:
    keys = [key] if key else [c for c in homes.source.columns if _is_key(homes, c)]
    links = [link] if link else list(people.source.columns)
    same = sorted((c for c in keys if c in links), key=_fame, reverse=True)
    pairs = [(c, c) for c in same if _fits(homes, people, c, c) > (0 if _fame(c) else 0.5)]
    if not pairs:
        pairs = _by_values(homes, people, keys, links)
    if not pairs:
        raise KinfolkError(_no_ids(homes, people))
    return pairs[0]


def _fits(homes: Opened, people: Opened, key: str, link: str) -> float:
    """The share of groups that have members, if everybody has a group; else 0."""
    links, _ = _try(_unplaced(homes), _unplaced(people), key, link)
    if links is None or not links.groups:
        return 0.0
    return len(np.unique(links.group_of)) / links.groups


def _unplaced(opened: Opened) -> Opened:
    """Without its file: nobody reads the line numbers of an attempt, and they are slow to find."""
    return replace(opened, source=replace(opened.source, path=None))


def _by_values(
    homes: Opened, people: Opened, keys: Iterable[str], links: Iterable[str]
) -> list[tuple[str, str]]:
    """Pairs of differently named columns that link the tables, the most likely first.

    A running number within the household is also contained in the ids 1 to N. It reaches few
    groups, so at least half of them must have members.
    """
    many = [c for c in links if 2 * _distinct_count(people, c)[0] >= homes.source.rows]
    found: list[tuple[float, ...]] = []
    pairs = [(key, link) for key in keys for link in many if key != link]
    for index, (key, link) in enumerate(pairs):
        share = _fits(homes, people, key, link)
        if share >= 0.5:
            alike = difflib.SequenceMatcher(None, _plain(key), _plain(link)).ratio()
            known = (_fame(key) > 0) + (_fame(link) > 0)
            found.append((known, share, alike, -index))
    return [pairs[-int(score[-1])] for score in sorted(found, reverse=True)]


def _no_ids(homes: Opened, people: Opened) -> str:
    """Say that the ids were not found, and what comes nearest."""
    parts = [
        f"cannot tell which columns link {people.name} to {homes.name}: no column of {homes.name} "
        f"is different in every row and holds every value of a column of {people.name}."
    ]
    swapped = [c for c in people.source.columns if c in homes.source.columns]
    if any(_is_key(people, c) and _fits(people, homes, c, c) > 0.5 for c in swapped):
        parts.append("The two seem to be swapped: the table of groups (households) comes first.")
    else:
        near = next((c for c in sorted(swapped, key=_fame, reverse=True) if _fame(c)), None)
        if near is not None:
            _, problems = _try(homes, people, near, near)
            parts.append(f"{near} comes nearest, but: {problems[0]}" if problems else "")
        options = OPTIONS.format(homes=homes.name, people=people.name)
        parts.append(f"Name the columns with {options}, or mend the ids.")
    return " ".join(part for part in parts if part)
