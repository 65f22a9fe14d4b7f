"""Whether records are believable: what cannot be, what is computed, numbers, and links.

Everything in here is NOT PRIVATE: it holds true figures of the real data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kinfolk.data.encoded import Encoded
from kinfolk.data.numbers import group_values
from kinfolk.data.violations import disagreeing
from kinfolk.evaluate import bonds, distributions
from kinfolk.evaluate.amounts import Amount, amounts
from kinfolk.evaluate.bonds import Bond, Total
from kinfolk.evaluate.distributions import OTHERS, Shown, TwoWay
from kinfolk.evaluate.groups import PairTable, Tie
from kinfolk.evaluate.verdict import Finding, broken_share
from kinfolk.schema import Schema
from kinfolk.schema.names import singular

ANY = "any"
EXPECTED = 10
"""Combinations that independence would have so often among the real are no accident if they never
occur: each of them would be missing by chance once in 22,000 times."""
PATTERNS = 10
"""How many pairs of attributes are listed with what never occurs among the real."""

ALIKE = 8
"""How many links are listed with their shares of equals; all are shown within groups."""


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """Combinations of two attributes that no real record has, and synthetic ones have."""

    attributes: tuple[str, str]
    words: str
    """The commonest such combination."""
    combinations: int
    """How many there are."""
    groups: int
    """Synthetic groups that have one."""
    share: float
    """Of all synthetic groups."""


@dataclass(frozen=True, kw_only=True)
class Believable:
    """Whether the synthetic records could be real. NOT PRIVATE."""

    group: str
    """What one group is called."""
    groups: str
    """What groups are called."""
    rules: Mapping[str, tuple[float, float]]
    """The share of groups that break each declared rule: real, synthetic; and `any` of them."""
    patterns: tuple[Pattern, ...]
    unseen: float
    """The share of synthetic groups with any combination that no real one has."""
    derived: Mapping[str, tuple[float, float]]
    """The share of groups in which a computed column agrees with the members: real, synthetic."""
    numbers: tuple[Amount, ...]
    links: tuple[Bond, ...]
    totals: tuple[Total, ...]

    @property
    def metrics(self) -> dict[str, Any]:
        """What metrics.json holds."""
        return {
            "rules": {text: rate[1] for text, rate in self.rules.items()},
            "rules_real": {text: rate[0] for text, rate in self.rules.items()},
            "unseen": {"any": self.unseen, "largest": [asdict(one) for one in self.patterns]},
            "derived": {name: share[1] for name, share in self.derived.items()},
            "derived_real": {name: share[0] for name, share in self.derived.items()},
            "numbers": {one.name: one.metrics for one in self.numbers},
            "links": [asdict(one) for one in self.links],
            "totals": [asdict(one) for one in self.totals],
        }

    @property
    def worst_rules(self) -> list[tuple[str, tuple[float, float]]]:
        """`any`, then the rules, those that are broken most first."""
        return sorted(self.rules.items(), key=lambda item: (item[0] != ANY, -item[1][1]))

    @property
    def least_alike(self) -> list[Bond]:
        """The links whose shares of equals differ most."""
        return sorted(self.links, key=lambda one: -abs(one.same[0] - one.same[1]))[:ALIKE]

    def findings(self) -> list[Finding]:
        """All that there is to say, in words."""
        found: list[Finding] = []
        if len(self.rules) > 1:
            rates = {text: rate[1] for text, rate in self.rules.items() if text != ANY}
            worst = max(rates, key=lambda text: rates[text])
            words = f"all {self.groups} keep the declared rules"
            if broken := self.rules[ANY][1]:
                words = (
                    f"{_percent(broken)} of {self.groups} break a declared rule, most often: "
                    f"{worst} ({_percent(rates[worst])})"
                )
            found.append(broken_share("rules", self.rules[ANY][1], words))
        words = f"hardly any {self.group} has a combination that no real one has"
        if self.patterns and self.unseen > 0.001:
            kept = len(self.rules) > 1 and not self.rules[ANY][1]
            words = (
                f"{'the declared rules are kept, but ' if kept else ''}"
                f"{_percent(self.unseen)} of {self.groups} have a combination that no real one "
                f"has, most often: {self.patterns[0].words}"
            )
        found.append(Finding(topic="rules", size=self.unseen / 0.01, words=words))
        for name, (real, synthetic) in self.derived.items():
            words = (
                f"{name} agrees with the members in {_percent(synthetic)} of {self.groups}, "
                f"really in {_percent(real)}"
            )
            # What the real data does not keep nobody can ask of synthetic data.
            found.append(broken_share("computed columns", max(real - synthetic, 0.0), words))
        parts: list[Amount | Bond | Total] = [*self.numbers, *self.links, *self.totals]
        return found + [finding for part in parts for finding in part.findings()]


def _percent(share: float) -> str:
    if 0 < share < 0.001:
        return "under 0.1%"
    return "nearly 100%" if 0.999 < share < 1 else f"{100 * share:.{1 if share % 1 else 0}f}%"


def believable(
    *,
    real: Encoded,
    synthetic: Encoded,
    times: tuple[float, float] = (1.0, 1.0),
    shown: Sequence[Shown],
    two_way: Sequence[TwoWay],
    ties: Sequence[Tie],
    pairs: Sequence[PairTable],
) -> Believable:
    """Look at the records themselves; their numbers must have been kept.

    `times` says how many groups each of them stands for.
    """
    table = real.schema.table_names[0]
    patterns, unseen = unseen_patterns(real, synthetic, shown, two_way)
    rates = [rule_rates(data, each) for data, each in zip((real, synthetic), times, strict=True)]
    agree = [derived_shares(data) for data in (real, synthetic)]
    return Believable(
        group=singular(table),
        groups=table,
        rules={text: (rates[0][text], rates[1][text]) for text in rates[0]},
        patterns=patterns,
        unseen=unseen,
        derived={name: (agree[0][name], agree[1][name]) for name in agree[0]},
        numbers=amounts(real, synthetic),
        links=bonds.bonds(ties, shown, pairs, real=real, synthetic=synthetic),
        totals=bonds.totals(real, synthetic),
    )


def rule_rates(data: Encoded, times: float = 1.0) -> dict[str, float]:
    """The share of groups that break each rule of the schema, and `any` of them.

    Every group stands for `times` groups. Real ones that were left out because they do count too.
    """
    values, rules = group_values(data), data.schema.rules
    found = np.zeros(data.groups, np.bool_)
    left_out = data.cleaning.groups_against_rules
    groups = times * data.groups + left_out
    rates: dict[str, float] = {}
    for rule, before in zip(rules, data.against or (0,) * len(rules), strict=True):
        violated = rule.violated(values)
        rates[rule.text] = (times * int(violated.sum()) + before) / groups
        found |= violated
    return {**rates, ANY: (times * int(found.sum()) + left_out) / groups}


def derived_shares(data: Encoded) -> dict[str, float]:
    """The share of groups in which each column with a formula is what its members make it."""
    values = group_values(data)
    return {
        name: float(1 - disagreeing(formula, values, name).mean())
        for name, formula in data.schema.formulas.items()
    }


def unseen_patterns(
    real: Encoded, synthetic: Encoded, shown: Sequence[Shown], two_way: Sequence[TwoWay]
) -> tuple[tuple[Pattern, ...], float]:
    """What no real record has and synthetic ones have, the most frequent first; and any of it.

    A combination counts where independence would have it at least EXPECTED times among the real.
    """
    codes = distributions.folded(shown, synthetic)
    owners = synthetic.owners
    found: list[Pattern] = []
    whole = np.zeros(synthetic.groups, np.bool_)
    said_twice = _sizes(real.schema, shown)
    for table in two_way:
        one, other = shown[table.rows], shown[table.columns]
        if said_twice & {one.name, other.name}:
            continue
        seen, made = (
            np.array(counts).reshape(one.size, other.size)
            for counts in (table.real, table.synthetic)
        )
        expected = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / max(seen.sum(), 1)
        # People of one group share its attributes: it takes groups, not people, to be sure.
        mixed = one.level != other.level
        needed = EXPECTED * (real.people / real.groups if mixed else 1)
        never = (seen == 0) & (made > 0) & (expected >= needed)
        never[_others(one), :] = never[:, _others(other)] = False
        if not never.any():
            continue
        first, second = codes[table.rows], codes[table.columns]
        if one.level == other.level == "group":
            having = never[first, second]
        else:
            first = first[owners] if one.level == "group" else first
            having = np.zeros(synthetic.groups, np.bool_)
            having[owners[never[first, second]]] = True
        whole |= having
        row, column = np.unravel_index(np.argmax(np.where(never, made, 0)), never.shape)
        found.append(
            Pattern(
                attributes=(one.name, other.name),
                words=f"{one.name} {one.labels[row]} with {other.name} {other.labels[column]}",
                combinations=int(never.sum()),
                groups=int(having.sum()),
                share=float(having.mean()),
            )
        )
    found.sort(key=lambda pattern: -pattern.groups)
    return tuple(found[:PATTERNS]), float(whole.mean())


def _sizes(schema: Schema, shown: Sequence[Shown]) -> set[str]:
    """Columns that are the number of members, where that is shown by its own name as well."""
    if all(one.name != schema.count for one in shown):
        return set()
    formulas = schema.formulas.items()
    return {name for name, one in formulas if one.kind == "count" and one.condition is None}


def _others(shown: Shown) -> slice:
    """The place of the category that stands for several, if there is one."""
    several = len(shown.labels) < len(shown.fold) and shown.labels[-1] == OTHERS
    return slice(shown.size - 1, None) if several else slice(0, 0)
