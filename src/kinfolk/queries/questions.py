"""A question: like a query, but an attribute may have any of several categories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from kinfolk.queries.english import describe
from kinfolk.queries.workload import Marginal, Query
from kinfolk.schema import Attribute, Categorical, Numeric, Schema, WorkloadSpec
from kinfolk.schema.attributes import MISSING_LABEL

Codes = tuple[int, ...]
"""Categories of one attribute, in increasing order."""
Conditions = Mapping[int, Codes]
"""What attributes must be, by position: any of these categories."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """Whose share is asked for. Levels and positions are those of a `Marginal`.

    >>> from kinfolk.datasets import load_schema
    >>> schema = load_schema("detroit")
    >>> print(Question(schema=schema, level="group", group={0: (0, 1)}, individual={1: (8, 9)}))
    Share of households with cars = no vehicle or 1 vehicle that contain at least one person who \
is aged 65 to 120
    """

    schema: Schema
    level: str
    """group, individual or relation."""
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
        """Whether the schema's workload asks for this many attributes at this level."""
        spec = self.schema.workload
        most = max(map(len, spec.sets), default=spec.k)
        number = len(self.group) + len(self.individual) + len(self.relative)
        return self.level in spec.levels and number <= most

    def __str__(self) -> str:
        """What is asked, in plain English: the words are those of `describe`.

        They come from a schema in which every choice of categories is one category.
        """
        schema = self.schema
        texts: dict[tuple[str, int], list[str]] = {}
        group = [*schema.group_attributes.items(), (schema.count, sizes_of(schema))]
        people = list(schema.member_attributes.items())
        for table, attributes, conditions in (
            ("group", group, self.group),
            ("individual", people, self.individual),
            ("individual", people, self.relative),
        ):
            for position, codes in conditions.items():
                known = texts.setdefault((table, position), [])
                known.append(words(attributes[position][1], codes))
        told = replace(
            schema,
            group=schema.group
            and replace(schema.group, attributes=_told(group, "group", texts), weight=None),
            individual=replace(schema.individual, attributes=_told(people, "individual", texts)),
            # The size is one of the group attributes here, and the role one of a member's.
            count="",
            roles=None,
            relations={},
            workload=WorkloadSpec(k=1),
            never=(),
        )
        parts = (self.group, self.individual, self.relative)
        marginal = Marginal(
            level=self.level,
            relation=self.relation,
            group=tuple(self.group),
            individual=tuple(self.individual),
            relative=tuple(self.relative),
            shape=(1,) * sum(map(len, parts)),
        )
        # A relative's condition on an attribute comes after the person's own.
        told_codes = [0] * (len(self.group) + len(self.individual))
        told_codes += [len(set(texts["individual", position])) - 1 for position in self.relative]
        return describe(told, Query(marginal=marginal, codes=tuple(told_codes)))


def sizes_of(schema: Schema) -> Categorical:
    """The size of a group, as if it were an attribute like the others."""
    return Categorical(values=list(schema.sizes))


def words(attribute: Attribute, codes: Codes) -> str:
    """Several categories of an attribute in words.

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


def _told(
    attributes: list[tuple[str, Attribute]],
    table: str,
    texts: Mapping[tuple[str, int], list[str]],
) -> dict[str, Attribute]:
    """The attributes with what is asked of them as their only categories."""
    told: dict[str, Attribute] = {}
    for position, (name, attribute) in enumerate(attributes):
        known = list(dict.fromkeys(texts.get((table, position), ["any"])))
        # Without labels it says "has x = missing" rather than "is missing".
        labelled = attribute.labels and MISSING_LABEL not in known
        told[name] = Categorical(values=known, labels=known if labelled else None)
    return told
