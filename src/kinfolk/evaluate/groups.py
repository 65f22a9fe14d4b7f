"""Whole groups: what their members have in common, which are identical, and drawing them again.

Couples of the same education, parents and the ages of their children: what a method loses first.
With relations, the pairs are those that the schema relates; without, all members of a group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from kinfolk._typing import Ints
from kinfolk.data.buckets import Hashes, mix
from kinfolk.data.encoded import Encoded
from kinfolk.evaluate.distributions import Shown, distance
from kinfolk.schema import Schema

CHUNK = 65_536
"""Groups whose members are paired at a time."""
_STEP = np.uint64(0x9E3779B97F4A7C15)
SEED = 20_240_229
"""These draws only set a yardstick; the same data gives the same report."""


@dataclass(frozen=True, kw_only=True)
class Tie:
    """Who is paired with whom, by role; without roles, everybody in a group with everybody."""

    name: str
    pairs: tuple[tuple[str, str], ...]
    """(role of the one, role of the other); empty means all pairs of members."""
    rows: str
    """Who the one is, in words."""
    columns: str
    """Who the other is."""


@dataclass(frozen=True, kw_only=True)
class PairTable:
    """Counts of pairs: the one's category by row, the other's by column."""

    tie: int
    """Position in the list of ties."""
    attribute: int
    """Position in the list of attributes."""
    real: tuple[int, ...]
    synthetic: tuple[int, ...]
    distance: float
    chance: float
    """The distance of a second survey of the same size from the real pairs."""
    same: tuple[float, float]
    """The share of pairs in the same category: real, synthetic."""


def ties_of(schema: Schema) -> tuple[Tie, ...]:
    """The relations, each direction once; without relations, all members of a group.

    >>> from kinfolk import load_schema
    >>> [(tie.name, tie.rows, tie.columns) for tie in ties_of(load_schema("detroit"))]
    [('married_to', 'head', 'spouse'), ('has_child', 'head or spouse', 'child')]
    """
    if schema.size_limit < 2:
        return ()
    if not schema.relations:
        return (Tie(name="members", pairs=(), rows="one member", columns="another member"),)
    found: list[Tie] = []
    seen: set[frozenset[tuple[str, str]]] = set()
    for name, given in schema.relations.items():
        pairs = tuple(
            pair
            for i, pair in enumerate(given)
            if pair[0] == pair[1] or pair[::-1] not in given[:i]
        )
        # The same pairs seen from the other side show nothing new.
        if frozenset(pairs) in seen or frozenset(pair[::-1] for pair in pairs) in seen:
            continue
        seen.add(frozenset(pairs))
        sides = [" or ".join(dict.fromkeys(side)) for side in zip(*pairs, strict=True)]
        found.append(Tie(name=name, pairs=pairs, rows=sides[0], columns=sides[1]))
    return tuple(found)


def pair_tables(
    ties: Sequence[Tie],
    shown: Sequence[Shown],
    *,
    real: Encoded,
    synthetic: Encoded,
    second: Encoded,
) -> tuple[PairTable, ...]:
    """Every tie and individual attribute, those that differ most first."""
    first = len(shown) - len(real.schema.member_attributes)
    tables = []
    for tie_at, tie in enumerate(ties):
        for column in range(len(real.schema.individual_attributes)):
            fold = shown[first + column]
            counts = [pair_counts(data, tie, column, fold) for data in (real, synthetic, second)]
            if not all(count.any() for count in counts[:2]):
                continue
            tables.append(
                PairTable(
                    tie=tie_at,
                    attribute=first + column,
                    real=tuple(counts[0].ravel().tolist()),
                    synthetic=tuple(counts[1].ravel().tolist()),
                    distance=distance(counts[0].ravel(), counts[1].ravel()),
                    chance=distance(counts[0].ravel(), counts[2].ravel()),
                    same=(_same(counts[0]), _same(counts[1])),
                )
            )
    return tuple(sorted(tables, key=lambda table: -table.distance))


def pair_counts(data: Encoded, tie: Tie, attribute: int, shown: Shown) -> Ints:
    """(categories, categories) how many pairs there are; without roles every pair both ways.

    With C the (groups, categories) counts of the two sides, the pairs are C' C, and nobody is
    paired with himself.
    """
    roles = data.schema.roles.names if data.schema.roles else ()
    codes = shown.fold[data.individual[:, attribute]]
    total = np.zeros((shown.size, shown.size))
    for start in range(0, data.groups, CHUNK):
        groups = range(start, min(start + CHUNK, data.groups))
        if not tie.pairs:
            members = _members(data, codes, groups, shown.size, None)
            total += members.T @ members - np.diag(members.sum(axis=0))
        for who, whom in tie.pairs:
            ones = _members(data, codes, groups, shown.size, roles.index(who))
            others = _members(data, codes, groups, shown.size, roles.index(whom))
            total += ones.T @ others
            if who == whom:
                total -= np.diag(ones.sum(axis=0))
    return np.rint(total).astype(np.int64)


def _members(
    data: Encoded, codes: npt.NDArray[np.uint8], groups: range, width: int, role: int | None
) -> npt.NDArray[np.float64]:
    """(groups, categories) how many members have each category, of one role or of all."""
    people = slice(int(data.offsets[groups.start]), int(data.offsets[groups.stop]))
    group = np.repeat(np.arange(len(groups)), data.sizes[groups.start : groups.stop])
    cells = group * width + codes[people]
    if role is not None and data.role is not None:
        cells = cells[data.role[people] == role]
    found = np.bincount(cells, minlength=len(groups) * width)
    return found.reshape(len(groups), width).astype(np.float64)


def _same(counts: Ints) -> float:
    return float(np.trace(counts) / counts.sum())


@dataclass(frozen=True, kw_only=True)
class Copies:
    """Groups that agree with a real one in everything: their attributes and all their members.

    The real groups are split into two random halves. Real groups of the one half occur in the other
    because people are alike, not because anybody copied them: that share is chance. Synthetic
    groups are compared with the same half, so that both shares have the same chances.
    """

    synthetic_in_real: float
    """The share of synthetic groups that are identical to any real group."""
    synthetic_in_half: float
    """The share of synthetic groups that are identical to a group of the first half."""
    half_in_half: float
    """The share of the second half's groups that are identical to a group of the first."""


def copies(ours: Hashes, theirs: Hashes) -> Copies:
    """Compare whole groups by their identities, (groups,) each: the real ones and the synthetic."""
    first, second = (ours[half] for half in halves(len(ours)))
    return Copies(
        synthetic_in_real=_share(theirs, ours),
        synthetic_in_half=_share(theirs, first),
        half_in_half=_share(second, first),
    )


def identities(data: Encoded) -> Hashes:
    """(groups,) a number for each; identical groups have the same, in whatever order their members.

    Others have different ones, but for a chance of under one in a million among millions of groups.
    """
    members = np.full(data.people, len(data.individual.T), np.uint64)
    for codes in (*data.individual.T, data.role_or_zero):
        members = _mixed(members, codes)
    found = np.full(data.groups, len(data.group.T), np.uint64)
    for codes in data.group.T:
        found = _mixed(found, codes)
    # A sum does not depend on the order; sizes tell apart what would only seem to be equal sums.
    together = np.add.reduceat(members, data.offsets[:-1]) if data.groups else found
    return _mixed(_mixed(found, together), data.sizes)


def _mixed(before: Hashes, codes: npt.NDArray[Any]) -> Hashes:
    """Hashes with one more number each, as in SplitMix64."""
    return mix((before + codes.astype(np.uint64)) * _STEP)


def _share(those: Hashes, among: Hashes) -> float:
    """The share of some that are among others; in pieces, as there may be very many."""
    known, found = np.sort(among), 0
    for start in range(0, len(those) if len(known) else 0, CHUNK):
        piece = those[start : start + CHUNK]
        place = np.minimum(np.searchsorted(known, piece), len(known) - 1)
        found += int((known[place] == piece).sum())
    return found / len(those) if len(those) else 0.0


def bootstrap_resample(data: Encoded, rng: np.random.Generator | None = None) -> Encoded:
    """As many groups, drawn with replacement: what another survey of the same size would look like.

    Its errors are what chance alone does to a survey of this size: a yardstick for all others.
    """
    rng = rng or np.random.default_rng(SEED)
    return replace(data, numbers=None).take(rng.integers(data.groups, size=data.groups))


def halves(groups: int) -> tuple[Ints, Ints]:
    """Two random halves of so many groups: which are in each."""
    order = np.random.default_rng(SEED).permutation(groups)
    middle = (groups + 1) // 2
    return order[:middle], order[middle:]
