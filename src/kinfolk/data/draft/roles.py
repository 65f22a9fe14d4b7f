"""A column that says who somebody is in the household, and the roles it suggests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kinfolk.data.draft.linked import Groups
from kinfolk.data.draft.profile import Profile
from kinfolk.data.draft.rounding import Ints
from kinfolk.schema import Role, Value

NAMES = (
    "relate", "related", "relp", "relshipp", "relationship", "relation", "rel", "relhh", "role",
    "relationshiptohead", "relationtohead", "reltohead", "relationshiptohouseholder", "hhrel",
)  # fmt: skip
"""Names of the column in published data, in lower case, letters only."""

CODEBOOKS = (
    {"head": (20,), "spouse": (21, 23), "child": (25, 26, 27)},  # ACS RELSHIPP, since 2019
    {"head": (0,), "spouse": (1,), "child": (2, 3, 4)},  # ACS RELP, until 2018
    {"head": (1,), "spouse": (2,), "child": (3,)},  # IPUMS RELATE
)
"""Public codes of who somebody is."""

WORDS = {
    "head": r"head|householder|reference person|self",
    "spouse": r"(?<!ex-)(spouse|husband|wife)",
    "child": r"(?<!grand)(?<!foster )(child|son|daughter)(?!.*in.law)",
}


@dataclass(frozen=True, kw_only=True)
class RoleGuess:
    """Roles as the data suggests them."""

    column: str
    values: tuple[Value, ...]
    """Everything that occurs in the column."""
    roles: Mapping[str, Role]
    """The roles recognised; none where the codes are unknown."""
    heads: Ints | None
    """(groups,) the row of every group's head; -1 for a group without members."""


def has_role_name(name: str) -> bool:
    """Whether a column is called like one that says who somebody is."""
    return re.sub(r"[^a-z]", "", name.lower()) in NAMES


def guess_roles(profiles: Mapping[str, Profile], groups: Groups) -> RoleGuess | None:
    """Look for a column of roles; nothing is decided by it."""
    for profile in profiles.values():
        if has_role_name(profile.name) and 1 < len(profile.tally) <= 64 and not profile.blanks:
            return _guess(profile, groups)
    return None


def _guess(profile: Profile, groups: Groups) -> RoleGuess:
    roles: dict[str, Role] = {}
    heads: Ints | None = None
    for codes in _readings(profile):
        rows = _rows(profile, codes["head"])
        counts = np.bincount(groups.group_of[rows], minlength=groups.count)
        if not np.array_equal(counts, np.minimum(groups.sizes, 1)):
            continue
        heads = np.full(groups.count, -1, np.int64)
        heads[groups.group_of[rows]] = rows
        for name, values in codes.items():
            held = np.bincount(groups.group_of[_rows(profile, values)], minlength=groups.count)
            if held.any():
                roles[name] = Role(
                    values=values, min=int(name == "head"), max=max(1, int(held.max()))
                )
        break
    return RoleGuess(column=profile.name, values=tuple(profile.tally), roles=roles, heads=heads)


def _readings(profile: Profile) -> list[dict[str, tuple[Value, ...]]]:
    """Ways to read the values as roles, each with a head."""
    values = list(profile.tally)
    if profile.kind == "text":
        readings = [
            {
                name: tuple(v for v in values if re.search(rf"\b({words})\b", str(v).lower()))
                for name, words in WORDS.items()
            }
        ]
        digits = {v: int(str(v)) for v in values if re.fullmatch(r"[0-9]{1,4}", str(v))}
        for book in CODEBOOKS:
            readings.append(
                {
                    name: tuple(v for v in digits if digits[v] in codes)
                    for name, codes in book.items()
                }
            )
    else:
        readings = [dict(book) for book in CODEBOOKS if set(book["head"]) & set(values)]
    return [
        {name: codes for name, codes in reading.items() if codes}
        for reading in readings
        if reading["head"]
    ]


def _rows(profile: Profile, values: tuple[Value, ...]) -> Ints:
    cells = profile.at()
    mask = np.zeros(len(cells), bool)
    for value in values:
        mask |= cells == value
    return np.flatnonzero(mask)
