"""Everything that is compared, gathered in one value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kinfolk.data.encoded import Cleaning, Encoded
from kinfolk.data.tables import TableLike
from kinfolk.evaluate import distributions, groups
from kinfolk.evaluate.believable import Believable, believable
from kinfolk.evaluate.distributions import Distribution, Shown, TwoWay
from kinfolk.evaluate.groups import Copies, PairTable, Tie
from kinfolk.evaluate.metrics import (
    COMMON,
    Answer,
    AnswerPairs,
    AttributeErrors,
    SetErrors,
    Summary,
    by_attribute,
)
from kinfolk.evaluate.sides import Integrity, Tally, count_in_chunks, read_real, read_synthetic
from kinfolk.evaluate.verdict import Finding, Verdict, verdicts
from kinfolk.evaluate.weighted import Weighted, weighted
from kinfolk.queries.counting import Counter
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema

FORMAT = "kinfolk metrics 1"

NOTICE = (
    "NOT PRIVATE: these are true figures of the real data. Keep them with the real data; do not "
    "publish them."
)

Stage = Callable[[str], None]
"""Told what is being done."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """Synthetic tables beside the real ones. NOT PRIVATE: it holds exact answers."""

    schema: Schema
    real: tuple[int, int]
    """Groups and people that were compared."""
    synthetic: tuple[int, int]
    looked_at: tuple[int, int]
    """Real and synthetic groups that were looked at one by one: of very many, a random part."""
    cleaning: Cleaning
    """What the schema's rules left out of the real tables."""
    integrity: Integrity
    """Whether the synthetic tables hang together."""
    families: Mapping[str, Summary]
    """The errors of each level of the workload, and of all queries."""
    common: Mapping[str, Summary]
    """The same for answers that are at least COMMON in truth."""
    second_survey: Mapping[str, Summary]
    """The errors of real groups drawn with replacement: what chance alone does."""
    second_common: Summary
    """The same for all answers that are at least COMMON in truth."""
    sets: tuple[SetErrors, ...]
    attributes: tuple[AttributeErrors, ...]
    worst: tuple[Answer, ...]
    sizes: Distribution
    compositions: Distribution | None
    shown: tuple[Shown, ...]
    """The attributes as one-way, two-way and pair tables show them."""
    one_way: tuple[Distribution, ...]
    two_way: tuple[TwoWay, ...]
    ties: tuple[Tie, ...]
    pairs: tuple[PairTable, ...]
    copies: Copies
    believable: Believable
    """Whether the records could be real."""
    weighted: Weighted | None
    """Figures by the survey weights, where the schema names them."""

    @cached_property
    def verdict(self) -> tuple[Verdict, ...]:
        """What to make of each topic, the worst first."""
        return verdicts([*self.believable.findings(), *self._of_groups(), *self._of_shares()])

    def _of_groups(self) -> Iterator[Finding]:
        """Sizes and roles."""
        table = self.schema.table_names[0]
        for what, found in (("size", self.sizes), ("composition", self.compositions)):
            if found is not None and len(found.labels) > 1:
                words = f"{100 * found.distance:.1f}% of {table} would have to change their {what}"
                allowed = max(0.02, 2 * found.chance)
                yield Finding(topic="sizes and roles", size=found.distance / allowed, words=words)
        role = self.schema.roles.column if self.schema.roles else None
        for one in self.two_way:
            names = [self.shown[position].name for position in (one.rows, one.columns)]
            if role in names:
                words = (
                    f"{names[0]} by {names[1]} is off by {100 * one.distance:.1f}%, a second real "
                    f"survey by {100 * one.chance:.1f}%"
                )
                size = one.distance / max(0.05, 2 * one.chance)
                yield Finding(topic="sizes and roles", size=size, words=words)

    def _of_shares(self) -> Iterator[Finding]:
        kind, found, second = f"of {COMMON:.0%} or more ", self.common["all"], self.second_common
        if not found.queries:
            kind, found, second = "", self.families["all"], self.second_survey["all"]
        words = (
            f"9 of 10 answers {kind}are off by at most {100 * found.p90:.2f} points, "
            f"{100 * second.p90:.2f} in a second real survey"
        )
        yield Finding(topic="shares", size=found.p90 / max(0.01, 2 * second.p90), words=words)
        most, chance = self.families["all"].max, self.second_survey["all"].max
        words = f"the worst answer is off by {100 * most:.1f} points"
        if self.worst:
            words += f": {self.worst[0].question}"
        yield Finding(topic="shares", size=most / max(0.05, 2 * chance), words=words)

    @property
    def metrics(self) -> dict[str, Any]:
        """What metrics.json holds."""
        families = {name: asdict(summary) for name, summary in self.families.items()}
        distances = zip(self.shown, self.one_way, strict=True)
        return {
            "format": FORMAT,
            "private": False,
            "notice": NOTICE,
            "believable": {
                "verdict": [asdict(one) for one in self.verdict],
                **self.believable.metrics,
            },
            "weighted": self.weighted.metrics if self.weighted else None,
            **families,
            "queries": self.families["all"].queries,
            "common": {name: asdict(summary) for name, summary in self.common.items()},
            "second_survey": {name: asdict(one) for name, one in self.second_survey.items()},
            "real": dict(zip(("groups", "people"), self.real, strict=True)),
            "synthetic": dict(zip(("groups", "people"), self.synthetic, strict=True)),
            "looked_at": dict(zip(("real", "synthetic"), self.looked_at, strict=True)),
            "cleaning": asdict(self.cleaning),
            "integrity": {"sound": self.integrity.sound, **asdict(self.integrity)},
            "copies": asdict(self.copies),
            "sizes": _distribution(self.sizes),
            "compositions": _distribution(self.compositions) if self.compositions else None,
            "one_way": {one.name: found.distance for one, found in distances},
            "two_way": [
                {
                    "attributes": [self.shown[table.rows].name, self.shown[table.columns].name],
                    "distance": table.distance,
                    "second_survey": table.chance,
                }
                for table in self.two_way
            ],
            "within_groups": [
                {
                    "pair": self.ties[table.tie].name,
                    "attribute": self.shown[table.attribute].name,
                    "distance": table.distance,
                    "second_survey": table.chance,
                    "same_real": table.same[0],
                    "same_synthetic": table.same[1],
                }
                for table in self.pairs
            ],
            "attributes": [asdict(one) for one in self.attributes],
            "attribute_sets": [asdict(one) for one in self.sets],
            "worst": [asdict(one) for one in self.worst],
        }


def _distribution(found: Distribution) -> dict[str, Any]:
    return {"distance": found.distance, **asdict(found)}


def compare(
    schema: Schema,
    *,
    real: Mapping[str, TableLike],
    synthetic: Mapping[str, TableLike],
    workload: Workload | None = None,
    engine: str | None = None,
    stage: Stage | None = None,
) -> Comparison:
    """Compare synthetic tables with the real ones, on the schema's workload and beyond it.

    Tables are files or data frames by the schema's names. NOT PRIVATE: nothing of the result may
    leave the place where the real data is.

    >>> from kinfolk import load_detroit
    >>> schema, tables = load_detroit()
    >>> workload = Workload.of(schema, k=1)
    >>> found = compare(schema, real=tables, synthetic=tables, workload=workload)
    >>> found.families["all"].max, found.copies.synthetic_in_real
    (0.0, 1.0)
    """
    tell = stage or (lambda words: None)
    asked = Workload.of(schema) if workload is None else workload
    ours, theirs, drawn = Tally(asked), Tally(asked), Counter(asked)
    rng = np.random.default_rng(groups.SEED)

    def each(part: Encoded) -> None:
        ours.add(part)
        count_in_chunks(drawn, groups.bootstrap_resample(part, rng))

    tell(f"Reading the real tables and counting {asked.size:,} queries")
    truth = read_real(schema, real, engine=engine, each=each)
    tell("Reading the synthetic tables and counting them likewise")
    made, integrity = read_synthetic(schema, synthetic, engine=engine, each=theirs.add)
    times = ours.counter.groups / truth.groups, theirs.counter.groups / made.groups
    answers = AnswerPairs.of(ours.counter, theirs.counter)
    second = answers.against(drawn)
    tell("Comparing distributions")
    again = groups.bootstrap_resample(truth)
    sets = answers.sets()
    shown = distributions.shown_attributes(truth)
    ties = groups.ties_of(schema)
    two_way = distributions.two_way(shown, real=truth, synthetic=made, second=again)
    pairs = groups.pair_tables(ties, shown, real=truth, synthetic=made, second=again)
    tell("Looking at the records")
    looked = believable(
        real=truth,
        synthetic=made,
        times=times,
        shown=shown,
        two_way=two_way,
        ties=ties,
        pairs=pairs,
    )
    return Comparison(
        schema=schema,
        real=(ours.counter.groups, ours.counter.people),
        synthetic=(theirs.counter.groups, theirs.counter.people),
        looked_at=(truth.groups, made.groups),
        cleaning=truth.cleaning,
        integrity=integrity,
        families=answers.families(),
        common=answers.families(at_least=COMMON),
        second_survey=second.families(),
        second_common=second.families(at_least=COMMON)["all"],
        sets=sets,
        attributes=by_attribute(sets),
        worst=answers.worst(),
        sizes=distributions.sizes(truth, made),
        compositions=distributions.compositions(truth, made),
        shown=shown,
        one_way=distributions.one_way(shown, real=truth, synthetic=made),
        two_way=two_way,
        ties=ties,
        pairs=pairs,
        copies=groups.copies(ours.identities, theirs.identities),
        believable=looked,
        weighted=weighted(truth, made, shown, looked.numbers, times=times),
    )
