"""How many synthetic groups are identical to a real one, beside how many would be by chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kinfolk.data.encoded import Encoded
from kinfolk.evaluate.resample import halves

Ints = npt.NDArray[np.int64]


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


def copies(real: Encoded, synthetic: Encoded) -> Copies:
    """Compare whole groups; the order of members does not matter."""
    first, second = halves(real)
    whole = identities([real, first, second, synthetic])
    return Copies(
        synthetic_in_real=_share(whole[3], whole[0]),
        synthetic_in_half=_share(whole[3], whole[1]),
        half_in_half=_share(whole[2], whole[1]),
    )


def identities(datasets: list[Encoded]) -> list[Ints]:
    """(groups,) for each dataset: groups have the same number exactly if they are identical."""
    members = _numbered([_people(data) for data in datasets])
    homes = _numbered([data.group.astype(np.int64) for data in datasets])
    widest = max((int(data.sizes.max(initial=1)) for data in datasets), default=1)
    rows = []
    for data, person, home in zip(datasets, members, homes, strict=True):
        row = np.full((data.groups, 1 + widest), -1, np.int64)
        row[:, 0] = home
        group = np.repeat(np.arange(data.groups), data.sizes)
        # Members in the order of their numbers, so that their order in the file does not matter.
        order = np.lexsort((person, group))
        place = np.arange(data.people) - np.repeat(data.offsets[:-1], data.sizes)
        row[group, 1 + place] = person[order]
        rows.append(row)
    return _numbered(rows)


def _people(data: Encoded) -> Ints:
    """(people, attributes + 1) codes, and the role."""
    role = np.zeros(data.people, np.uint8) if data.role is None else data.role
    return np.column_stack([data.individual.astype(np.int64), role.astype(np.int64)])


def _numbered(tables: list[Ints]) -> list[Ints]:
    """Number rows across tables, so that equal rows have equal numbers."""
    number = np.zeros(sum(map(len, tables)), np.int64)
    stacked = np.concatenate(tables)
    for column in stacked.T:
        values, codes = np.unique(column, return_inverse=True)
        # Column by column the numbers stay below the number of rows, so that nothing overflows.
        _, number = np.unique(number * len(values) + codes, return_inverse=True)
    return np.split(number, np.cumsum([len(table) for table in tables])[:-1])


def _share(those: Ints, among: Ints) -> float:
    return float(np.isin(those, among).mean()) if len(those) else 0.0
