"""Links inside groups, from the numbers themselves: relatives, and groups beside their members."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kinfolk._typing import Floats, Ints
from kinfolk.data.encoded import Encoded
from kinfolk.data.numbers import group_values
from kinfolk.data.shapes import numerics
from kinfolk.evaluate.distributions import Shown
from kinfolk.evaluate.groups import PairTable, Tie
from kinfolk.evaluate.verdict import Finding, number_words
from kinfolk.schema.condition_evaluator import quantities

PAIRS = 2_000_000
"""Pairs that are looked at one by one at most; of more, those of every second group, and so on."""
FEW = 50
"""Fewer pairs than that say nothing about a correlation."""
LINKED = 0.2
"""Numbers that correlate less are not alike."""
STRONGEST = 3
"""Numbers of groups and of their members that are shown, by the real rank correlation."""


@dataclass(frozen=True, kw_only=True)
class Gap:
    """The one's number less the other's."""

    mean: float
    sd: float
    p5: float
    p95: float

    @property
    def words(self) -> str:
        """Its mean, and what nine of ten pairs lie between."""
        return f"{number_words(self.mean)} ({self.range})"

    @property
    def range(self) -> str:
        """What nine of ten pairs lie between."""
        return f"{number_words(self.p5)} to {number_words(self.p95)}"


@dataclass(frozen=True, kw_only=True)
class Bond:
    """One attribute of two people who belong together, on both sides: real, synthetic."""

    tie: str
    rows: str
    columns: str
    """Who the two are."""
    attribute: str
    pairs: tuple[int, int]
    same: tuple[float, float]
    """The share of pairs in the same category."""
    correlation: tuple[float, float] | None
    """Of numbers."""
    gap: tuple[Gap, Gap] | None
    """Of numbers that are alike or in order in truth, where the two people can be told apart."""

    def findings(self) -> Iterator[Finding]:
        """How far the synthetic pairs are off."""
        who = f"{self.rows} and {self.columns}"
        chance = 2 * np.sqrt(sum(1 / number for number in self.pairs))
        real, other = self.same
        allowed = max(0.03, chance * np.sqrt(real * (1 - real)))
        words = (
            f"{100 * other:.1f}% of pairs of {who} have the same {self.attribute}, really "
            f"{100 * real:.1f}%"
        )
        yield Finding(topic="links", size=abs(other - real) / allowed, words=words)
        if self.correlation is not None:
            real, other = self.correlation
            words = f"{self.attribute} of {who} correlates at {other:.2f}, really at {real:.2f}"
            size = abs(other - real) / (0.05 + chance)
            yield Finding(topic="links", size=size, words=words)
        if self.gap is not None:
            ours, theirs = self.gap
            what = f"{self.attribute} of {self.rows} less that of {self.columns}"
            off = abs(theirs.mean - ours.mean)
            words = (
                f"{what} is {number_words(theirs.mean)} on average, really "
                f"{number_words(ours.mean)}"
            )
            ends = max(abs(theirs.p5 - ours.p5), abs(theirs.p95 - ours.p95)) / 2
            if ends > off:
                off = ends
                words = f"{what} is {theirs.range} in 9 of 10 pairs, really {ours.range}"
            size = off / ((0.1 + chance) * ours.sd or 1.0)
            yield Finding(topic="links", size=size, words=words)


@dataclass(frozen=True, kw_only=True)
class Total:
    """A number of the group beside the sum of its members' numbers."""

    group: str
    members: str
    correlation: tuple[float, float]
    """Spearman's rank correlation, real and synthetic."""

    def findings(self) -> Iterator[Finding]:
        """How far the synthetic groups are off."""
        real, other = self.correlation
        words = (
            f"{self.group} and the members' {self.members} have a rank correlation of {other:.2f}, "
            f"really {real:.2f}"
        )
        yield Finding(topic="links", size=abs(other - real) / 0.05, words=words)


def bonds(
    ties: Sequence[Tie],
    shown: Sequence[Shown],
    tables: Sequence[PairTable],
    *,
    real: Encoded,
    synthetic: Encoded,
) -> tuple[Bond, ...]:
    """Every tie and individual attribute of which there are pairs, in the schema's order."""
    attributes = list(real.schema.individual_attributes)
    first = len(shown) - len(real.schema.member_attributes)
    columns = [member_numbers(data) for data in (real, synthetic)]
    found = []
    for at, tie in enumerate(ties):
        rows = [pair_rows(data, tie) for data in (real, synthetic)]
        known = {table.attribute: table for table in tables if table.tie == at}
        for position, name in enumerate(attributes, start=first):
            if position not in known:
                continue
            pairs = [
                _both(column[name], those)
                for column, those in zip(columns, rows, strict=True)
                if name in column
            ]
            enough = len(pairs) > 0 and all(len(one) >= FEW for one, _ in pairs)
            links = [_correlation(*pair) for pair in pairs] if enough else []
            # Without roles nobody comes first.
            gaps = [_gap(one - other) for one, other in pairs] if enough and tie.pairs else []
            if gaps and abs(links[0]) < LINKED and abs(gaps[0].mean) < gaps[0].sd:
                # Neither alike nor in order: the gap would only be that of two averages.
                gaps = []
            table = known[position]
            # Without roles every pair was counted both ways.
            ways, counted = 1 if tie.pairs else 2, (sum(table.real), sum(table.synthetic))
            found.append(
                Bond(
                    tie=tie.name,
                    rows=tie.rows,
                    columns=tie.columns,
                    attribute=shown[position].name,
                    pairs=(counted[0] // ways, counted[1] // ways),
                    same=table.same,
                    correlation=(links[0], links[1]) if links else None,
                    gap=(gaps[0], gaps[1]) if gaps else None,
                )
            )
    return tuple(found)


def pair_rows(data: Encoded, tie: Tie) -> tuple[Ints, Ints]:
    """The people of all pairs of a tie: (pairs,) the ones and (pairs,) the others."""
    roles = data.schema.roles.names if data.schema.roles else ()
    owners = data.owners
    found: list[tuple[Ints, Ints]] = []
    for who, whom in tie.pairs or ((None, None),):
        ones, others = (
            np.arange(data.people)
            if name is None or data.role is None
            else np.flatnonzero(data.role == roles.index(name))
            for name in (who, whom)
        )
        first = np.searchsorted(others, data.offsets)
        many = np.diff(first)[owners[ones]]
        every = int(np.ceil(many.sum() / PAIRS))
        if every > 1:
            kept = owners[ones] % every == 0
            ones, many = ones[kept], many[kept]
        left = np.repeat(ones, many)
        turn = np.arange(len(left)) - np.repeat(np.cumsum(many) - many, many)
        right = others[first[owners[left]] + turn]
        apart = left != right
        found.append((left[apart], right[apart]))
    return np.concatenate([one for one, _ in found]), np.concatenate([two for _, two in found])


def member_numbers(data: Encoded) -> dict[str, Floats]:
    """(people,) of every numeric attribute of individuals; NaN where there is no quantity."""
    values = group_values(data)
    return {
        name: quantities(values.individual[name], attribute)
        for name, attribute in numerics(data.schema.individual_attributes)
    }


def _both(column: Floats, rows: tuple[Ints, Ints]) -> tuple[Floats, Floats]:
    """Both numbers of all pairs that have two."""
    left, right = column[rows[0]], column[rows[1]]
    known = ~(np.isnan(left) | np.isnan(right))
    return left[known], right[known]


def _correlation(one: Floats, other: Floats) -> float:
    """Pearson's; 0 where one of them does not vary.

    >>> _correlation(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]))
    1.0
    """
    one, other = one - one.mean(), other - other.mean()
    # Sums of products, not products of vectors: threads would cost more than they save.
    scale = np.sqrt((one * one).sum() * (other * other).sum())
    return float(np.clip((one * other).sum() / scale, -1, 1)) if scale else 0.0


def _gap(difference: Floats) -> Gap:
    p5, p95 = np.quantile(difference, [0.05, 0.95], method="inverted_cdf")
    return Gap(
        mean=float(difference.mean()), sd=float(difference.std()), p5=float(p5), p95=float(p95)
    )


def totals(real: Encoded, synthetic: Encoded) -> tuple[Total, ...]:
    """The group's numbers that go most with its members' numbers, by the real rank correlation."""
    found = _rank_correlations(real)
    strongest = sorted(found, key=lambda pair: -abs(found[pair]))[:STRONGEST]
    made = _rank_correlations(synthetic, only=strongest)
    return tuple(
        Total(group=pair[0], members=pair[1], correlation=(found[pair], made[pair]))
        for pair in strongest
    )


def _rank_correlations(
    data: Encoded, only: Sequence[tuple[str, str]] | None = None
) -> dict[tuple[str, str], float]:
    """Of every number of the group with every sum of the members', by their names."""
    schema, values = data.schema, group_values(data)
    weight = schema.group.weight if schema.group else None
    numbers = {
        name: quantities(values.group[name], attribute)
        for name, attribute in numerics(schema.group_attributes)
        # What is computed from the members goes with them by definition.
        if not attribute.derived and name != weight
    }
    sums = {
        name: np.bincount(values.owners, np.nan_to_num(column), data.groups).astype(np.float64)
        for name, column in member_numbers(data).items()
        if numbers
    }
    pairs = [(one, other) for one in numbers for other in sums] if only is None else only
    found = {}
    for one, other in pairs:
        known = ~np.isnan(numbers[one])
        if known.sum() < FEW:
            found[one, other] = 0.0
            continue
        found[one, other] = _correlation(_ranks(numbers[one][known]), _ranks(sums[other][known]))
    return found


def _ranks(values: Floats) -> Floats:
    """Ranks from 0; equal values share the mean of theirs.

    >>> _ranks(np.array([5.0, 1.0, 5.0])).tolist()
    [1.5, 0.0, 1.5]
    """
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts + 1) / 2)[which])
