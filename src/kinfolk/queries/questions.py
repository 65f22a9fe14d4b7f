"""Queries, questions and figures in plain English, with the schema's labels.

A question is like a query, but an attribute may have any of several categories.

Each is about the groups or people whom a question describes. One line of text may ask for a whole
table of them, one for each cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from kinfolk.errors import KinfolkError, listed
from kinfolk.queries.workload import Query
from kinfolk.schema import Attribute, Level, Numeric, Schema
from kinfolk.schema.conditions import has_numbers
from kinfolk.schema.names import AttributeNames, singular

Codes = tuple[int, ...]
"""Categories of one attribute, in increasing order."""
Conditions = Mapping[int, Codes]
"""What attributes must be, by position: any of these categories."""

_OPENINGS = {"a", "an", "in", "not", "never", "under", "over", "without", "of"}
_NOT_ADJECTIVES = {"yes", "no", "none", "other", "some", "any", "unknown", "head", "spouse"}
_PLURALS = {"person": "people", "child": "children", "man": "men", "woman": "women"}


@dataclass(frozen=True, kw_only=True)
class Question:
    """Whose share is asked for. Levels and positions are those of a `Marginal`.

    >>> from kinfolk import load_schema
    >>> schema = load_schema("detroit")
    >>> print(Question(schema=schema, level=Level.GROUP, group={0: (0, 1)}, individual={1: (8, 9)}))
    Share of households with cars = no vehicle or 1 vehicle that contain at least one person who \
is aged 65 to 120
    """

    schema: Schema
    level: Level
    """What is counted."""
    relation: str | None = None
    """The relation's name, at the relation level."""
    group: Conditions = field(default_factory=dict)
    """On the group; the position after its last attribute is its size."""
    individual: Conditions = field(default_factory=dict)
    """On one person."""
    relative: Conditions = field(default_factory=dict)
    """On a relative of that person, at the relation level."""

    @property
    def in_workload(self) -> bool:
        """Whether the schema's workload asks for these attributes together at this level."""
        spec, names = self.schema.workload, AttributeNames(self.schema)
        first, places = names.first_individual, names.places()
        positions = [*self.group, *(first + at for at in (*self.individual, *self.relative))]
        asked = {*positions}
        if self.level not in spec.levels:
            return False
        if spec.sets:
            # At the relation level, a set is split: each attribute is the person's or the other's.
            sets = ({places[name][0] for name in one} for one in spec.sets)
            return len(asked) == len(positions) and any(asked <= one for one in sets)
        listed = {places[name][0] for name in spec.attributes} or {*names.all}
        return len(positions) <= spec.k and asked <= listed

    def __str__(self) -> str:
        """What is asked, in plain English."""
        return f"Share of {self.whom}"

    @property
    def whom(self) -> str:
        """Who is meant, in plain English.

        A label that completes "a person who is ..." (female, never married, a veteran) is used
        that way; for all others the column is named.
        """
        schema = self.schema
        home = _of_group(schema, self.group)
        own, relative = _of_person(schema, self.individual), _of_person(schema, self.relative)
        person = singular(schema.individual.table)
        groups = _plural(singular(schema.group.table)) if schema.group else "records"
        if self.level == Level.GROUP:
            containing = f" that contain at least one {person} {_who(own, 1)}" if own else ""
            return f"{groups}{home}{containing}"
        text = _plural(person)
        if own:
            text += f" {_who(own, 2)}"
        if self.relation is not None:
            joint = " and" if own else " who"
            text += f"{joint} {_relation_phrase(self.relation)} {_who(relative, 1)}"
        if home:
            comma = "," if own or self.relation else ""
            text += f"{comma} in {groups}{home}"
        return text


def describe(schema: Schema, query: Query) -> str:
    """Say what a query asks.

    >>> from kinfolk import Workload, load_schema
    >>> schema = load_schema("detroit")
    >>> workload = Workload.of(schema, attributes=["cars", "sex", "age"])
    >>> print(describe(schema, workload.query(15)))
    Share of households with cars = no vehicle that contain at least one person who is female and \
aged 35 to 44
    """
    question = Question(
        schema=schema,
        level=query.level,
        relation=query.relation,
        group=query.group,
        individual=query.individual,
        relative=query.relative,
    )
    return str(question)


def asked_attributes(schema: Schema) -> list[tuple[str, Attribute]]:
    """All attributes that can be asked about, by position: see `AttributeNames`."""
    return [
        *schema.group_attributes.items(),
        (schema.count, schema.size_attribute),
        *schema.member_attributes.items(),
    ]


def words(attribute: Attribute, codes: Codes) -> str:
    """Several categories of an attribute in words.

    >>> from kinfolk.schema import Categorical
    >>> age = Numeric(bins=[0, 18, 65, 120], integer=True)
    >>> words(age, (0, 1)), words(age, (0, 2))
    ('0 to 64', '0 to 17 or 65 to 120')
    >>> words(Categorical(values=list(range(9))), (1, 2, 3, 4, 5, 6, 7, 8))
    'anything but 0'
    """
    left_out = [code for code in range(attribute.size) if code not in codes]
    if left_out and len(codes) > 3 * len(left_out):
        return f"anything but {words(attribute, tuple(left_out))}"
    parts: list[str] = []
    for run in _runs(attribute, codes):
        if len(run) == 1:
            parts.append(attribute.label(run[0]))
        else:
            first, last = attribute.label(run[0]), attribute.label(run[-1])
            parts.append(f"{first.split(' to ')[0]} to {last.split(' to ')[-1]}")
    return " or ".join(parts)


def _runs(attribute: Attribute, codes: Codes) -> Iterable[list[int]]:
    """Neighbouring bins together, where their labels are their bounds; all others alone."""
    joins = isinstance(attribute, Numeric) and not attribute.labels
    bins = len(attribute.bins) - 1 if isinstance(attribute, Numeric) else 0
    run: list[int] = []
    for code in codes:
        if run and not (joins and code == run[-1] + 1 and code < bins):
            yield run
            run = []
        run.append(code)
    yield run


def _plural(noun: str) -> str:
    if noun in _PLURALS:
        return _PLURALS[noun]
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def _of_group(schema: Schema, conditions: Conditions) -> str:
    attributes = [*schema.group_attributes.items(), (schema.count, schema.size_attribute)]
    parts: list[str] = []
    for position, codes in conditions.items():
        name, attribute = attributes[position]
        parts.append(f"{name} = {words(attribute, codes)}")
    return f" with {listed(parts)}" if parts else ""


def _of_person(schema: Schema, conditions: Conditions) -> list[tuple[str, str]]:
    """Each condition as (verb, complement): ('is', 'female') or ('has', 'esr = 3')."""
    attributes = list(schema.member_attributes.items())
    return [_phrase(*attributes[position], codes) for position, codes in conditions.items()]


def _phrase(name: str, attribute: Attribute, codes: Codes) -> tuple[str, str]:
    text = words(attribute, codes)
    blank = attribute.missing and codes == (attribute.size - 1,)
    if attribute.labels and not blank and _completes(text):
        return "is", text
    if name.lower().startswith("age") and not blank and text[:1].isdigit():
        return "is", f"aged {text}"
    return "has", f"{name} = {text}"


def _completes(label: str) -> bool:
    """Whether "who is LABEL" is English: one plain adjective, or words that begin like one."""
    first, *rest = label.split()
    if rest:
        return first in _OPENINGS or label.endswith("years old")
    return label.isalpha() and label.islower() and label not in _NOT_ADJECTIVES


def _who(phrases: list[tuple[str, str]], number: int) -> str:
    """'who is female and has esr = 3'; in the plural 'who are female and have esr = 3'."""
    verbs = {"is": "are", "has": "have"} if number > 1 else {}
    parts: list[str] = []
    last = ""
    for verb, complement in sorted(phrases, key=lambda phrase: phrase[0] != "is"):
        parts.append(complement if verb == last else f"{verbs.get(verb, verb)} {complement}")
        last = verb
    return f"who {listed(parts)}"


def _relation_phrase(relation: str) -> str:
    spaced = relation.replace("_", " ")
    if spaced.startswith("has "):
        return f"have a {spaced[4:]}"
    return f"are {spaced} somebody"


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
        """Whether the schema's workload asks for these attributes together at this level."""
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


def as_weighted(asked: Question | Figure) -> Figure:
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
    individual = AttributeNames(schema).is_individual(position)
    if not has_numbers(attribute):
        table = tables[-1 if individual else 0]
        raise KinfolkError(
            f"{name} has no numbers. Ask for shares, such as `share of {table} with {name} = "
            f"{attribute.label(0)}`. {_with_numbers(schema, level)}"
        )
    if level == Level.GROUP and individual:
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
