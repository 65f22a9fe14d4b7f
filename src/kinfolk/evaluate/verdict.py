"""A verdict by topic in plain words, the worst first.

Every finding is a difference between real and synthetic data, measured in units of what is good:
up to one such unit is good, up to three is fair, more is poor. docs/evaluate.md says what the units
are and why.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

Topic: TypeAlias = Literal[
    "rules", "computed columns", "numbers", "links", "sizes and roles", "shares"
]
Level: TypeAlias = Literal["good", "fair", "poor"]

FAIR = 3.0
"""Up to so many units a difference is fair."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One difference, in words."""

    topic: Topic
    size: float
    """In units of what is good."""
    words: str

    @property
    def level(self) -> Level:
        """What to make of it.

        >>> [Finding(topic="rules", size=size, words="").level for size in (0.9, 1.1, 3.1)]
        ['good', 'fair', 'poor']
        """
        if self.size <= 1:
            return "good"
        return "fair" if self.size <= FAIR else "poor"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What to make of one topic: its worst finding, and the others that are not good."""

    topic: Topic
    level: Level
    words: str
    """Its worst finding."""
    more: tuple[str, ...] = ()
    """All other findings of the topic that are not good, the worst first."""

    @property
    def line(self) -> str:
        """All of it in one line.

        >>> Verdict(topic="rules", level="poor", words="nobody keeps them", more=("too",)).line
        'Rules (poor): nobody keeps them; 1 more in the report.'
        """
        more = f"; {len(self.more)} more in the report" if self.more else ""
        return f"{self.topic.capitalize()} ({self.level}): {self.words}{more}."


def verdicts(findings: Iterable[Finding]) -> tuple[Verdict, ...]:
    """One verdict for every topic that has findings, the worst first."""
    topics: dict[Topic, list[Finding]] = {}
    for finding in findings:
        topics.setdefault(finding.topic, []).append(finding)
    worst = {topic: sorted(found, key=lambda one: -one.size) for topic, found in topics.items()}
    return tuple(
        Verdict(
            topic=topic,
            level=found[0].level,
            words=found[0].words,
            more=tuple(one.words for one in found[1:] if one.level != "good"),
        )
        for topic, found in sorted(worst.items(), key=lambda item: -item[1][0].size)
    )


def broken_share(topic: Topic, share: float, words: str) -> Finding:
    """Something that should never be: any of it is not good, above 1% it is poor.

    >>> [broken_share("rules", share, "").level for share in (0, 0.0001, 0.02)]
    ['good', 'fair', 'poor']
    """
    size = max(share * 100 * FAIR, 1.01) if share else 0.0
    return Finding(topic=topic, size=size, words=words)


def number_words(number: float) -> str:
    """A number with as many digits as help.

    >>> [number_words(one) for one in (29510.4, 21.658, 0.3664, 0.00211, 0.0, -3.0, 2e12)]
    ['29,510', '21.7', '0.366', '0.0021', '0', '-3', '2e+12']
    """
    size = abs(number)
    if size >= 1e9:
        return f"{number:.4g}"
    if size >= 1000 or number == int(number):
        return f"{number:,.0f}"
    places = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3 if size >= 0.1 else 4
    return f"{number:.{places}f}" if size >= 0.0005 else f"{number:.1g}"


def beside(synthetic: float, real: float) -> str:
    """How a number lies beside the real one, in words.

    >>> beside(4200, 1000)
    '4.2 times the real one (4,200 and 1,000)'
    >>> beside(9, 10), beside(7, 0)
    ('10% below the real one (9 and 10)', 'far from the real one (7 and 0)')
    """
    both = f"({number_words(synthetic)} and {number_words(real)})"
    if real == 0 or synthetic / real < 0:
        return f"{'far from' if synthetic != real else 'equal to'} the real one {both}"
    ratio = synthetic / real
    if ratio >= 2:
        return f"{ratio:.{0 if ratio >= 10 else 1}f} times the real one {both}"
    change = abs(ratio - 1)
    side = "above" if synthetic > real else "below"
    return f"{100 * change:.{0 if change >= 0.095 else 1}f}% {side} the real one {both}"
