"""Figures beside plain shares: means, sums, quantiles, ratios, and shares of some among others.

Each is about the groups or people whom a question describes. One line of text may ask for a whole
table of them, one for each cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from kinfolk.errors import KinfolkError
from kinfolk.queries.questions import Question, asked_attributes
from kinfolk.schema import Attribute, Level, Schema
from kinfolk.schema.conditions import has_numbers
from kinfolk.schema.names import AttributeNames


class Kind(StrEnum):
    """What a figure is."""

    SHARE = "share"
    """Of those whom it is about, who else is meant."""
    MEAN = "mean"
    """Of a number, among those who have one."""
    SUM = "sum"
    """Of a number."""
    QUANTILE = "quantile"
    """Of a number; the median, if nothing else is said."""
    RATIO = "ratio"
    """The sum of one number by the sum of another, of those who have both."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """What is asked: a statistic of those whom a question describes.

    >>> from kinfolk import load_schema
    >>> schema = load_schema("detroit")
    >>> women = Question(schema=schema, level=Level.INDIVIDUAL, individual={0: (1,)})
    >>> print(Figure(kind=Kind.MEAN, of=women, numbers=(8,)))
    Mean age of people who are female
    """

    kind: Kind
    of: Question
    """Whom it is about."""
    numbers: tuple[int, ...] = ()
    """The attributes with the numbers, by position (see `AttributeNames`): one, of a ratio two."""
    counted: Question | None = None
    """Of a share: who is counted; they are all among those whom it is about."""
    quantile: float = 0.5
    """Of a quantile: what share of the numbers is not above it."""
    weighted: bool = False
    """Whether a group, with its people, counts for its survey weight."""
    cell: Mapping[str, str] = field(default_factory=dict)
    """The place in a table: the category of each attribute that it is broken down by, in words."""

    def __post_init__(self) -> None:
        for position in self.numbers:
            check_number(self.schema, position, self.of.level)
        if not self.weighted:
            return
        weight = weight_position(self.schema)
        if weight is None:
            raise KinfolkError(
                "the schema names no survey weight, so nothing can be weighted. Ask without "
                "`weighted`; `weight:` in the schema's group section would name one."
            )
        if weight in self.numbers:
            name = asked_attributes(self.schema)[weight][0]
            raise KinfolkError(f"{name} is the weight itself. Ask for its figures unweighted.")

    @property
    def schema(self) -> Schema:
        """The schema that it is asked of."""
        return self.of.schema

    @property
    def level(self) -> Level:
        """What it counts, as for a question."""
        return self.of.level if self.counted is None else self.counted.level

    @property
    def in_workload(self) -> bool:
        """Whether the schema's workload asks for this many attributes at this level."""
        whole = self.of if self.counted is None else self.counted
        group, people = dict(whole.group), dict(whole.individual)
        first = AttributeNames(self.schema).first_individual
        weight = weight_position(self.schema) if self.weighted else None
        for position in (*self.numbers, *(() if weight is None else (weight,))):
            if position < first:
                group[position] = ()
            else:
                people[position - first] = ()
        return replace(whole, group=group, individual=people).in_workload

    @property
    def statistic(self) -> str:
        """What it is called: share, mean, sum, median, p90, ratio."""
        if self.kind is not Kind.QUANTILE:
            return self.kind.value
        return "median" if self.quantile == 0.5 else f"p{100 * self.quantile:g}"

    def __str__(self) -> str:
        """What is asked, in plain English."""
        names = AttributeNames(self.schema).by_position()
        numbers = [names[position] for position in self.numbers]
        if self.counted is not None:
            among = self.of.whom
            text = f"share of {self.counted.whom}" + (f", among {among}" if self._narrowed else "")
        else:
            start = {
                Kind.MEAN: "mean {0}",
                Kind.SUM: "sum of {0}",
                Kind.QUANTILE: f"{self.statistic} of {{0}}",
                Kind.RATIO: "ratio of {0} to {1}",
            }[self.kind]
            text = f"{start.format(*numbers)} of {self.of.whom}"
        text = f"weighted {text}" if self.weighted else text
        return text[0].upper() + text[1:]

    @property
    def _narrowed(self) -> bool:
        """Whether it is about some only."""
        return bool(self.of.group or self.of.individual or self.of.relation)


def weighted(asked: Question | Figure) -> Figure:
    """The same with survey weights."""
    if isinstance(asked, Figure):
        return replace(asked, weighted=True)
    level = Level.GROUP if asked.level == Level.GROUP else Level.INDIVIDUAL
    everybody = Question(schema=asked.schema, level=level)
    return Figure(kind=Kind.SHARE, of=everybody, counted=asked, weighted=True)


def can_be_weighted(asked: Question | Figure) -> bool:
    """Whether there is a weighted figure beside it."""
    weight = weight_position(asked.schema)
    if weight is None or isinstance(asked, Question):
        return weight is not None
    return not asked.weighted and weight not in asked.numbers


def named_attributes(asked: Question | Figure) -> set[str]:
    """The columns that it is about."""
    attributes = [name for name, _ in asked_attributes(asked.schema)]
    first = AttributeNames(asked.schema).first_individual
    parts = [asked] if isinstance(asked, Question) else [asked.of, asked.counted or asked.of]
    found = set() if isinstance(asked, Question) else {attributes[at] for at in asked.numbers}
    for one in parts:
        found |= {attributes[at] for at in one.group}
        found |= {attributes[first + at] for at in (*one.individual, *one.relative)}
    return found


def weight_position(schema: Schema) -> int | None:
    """The position of the survey weight among the attributes, if the schema names one."""
    name = schema.group.weight if schema.group else None
    return None if name is None else list(schema.group_attributes).index(name)


def numbers_of(schema: Schema, level: Level) -> list[str]:
    """The attributes that have numbers for groups, or for people."""
    names = AttributeNames(schema)
    listed = names.by_position()
    return [
        listed[position]
        for position in names.all
        if has_numbers(asked_attributes(schema)[position][1])
        and not (level == Level.GROUP and names.is_individual(position))
    ]


def check_number(schema: Schema, position: int, level: Level) -> Attribute:
    """The attribute at a position, if a figure of these can be made of its numbers."""
    name, attribute = asked_attributes(schema)[position]
    tables = schema.table_names
    if not has_numbers(attribute):
        raise KinfolkError(
            f"{name} has no numbers. Ask for shares, such as `share of {tables[-1]} with {name} = "
            f"{attribute.label(0)}`. {_with_numbers(schema, level)}"
        )
    if level == Level.GROUP and AttributeNames(schema).is_individual(position):
        raise KinfolkError(
            f"{name} is a number of {tables[-1]}, not of {tables[0]}: ask for that of "
            f"{tables[-1]}. {_with_numbers(schema, level)}"
        )
    return attribute


def _with_numbers(schema: Schema, level: Level) -> str:
    tables = schema.table_names
    known = numbers_of(schema, level)
    whose = tables[0] if level == Level.GROUP else tables[-1]
    return (
        f"Numbers of {whose}: {', '.join(known)}." if known else f"No numbers of {whose} are known."
    )
