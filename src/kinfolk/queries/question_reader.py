"""Goes through a line of text and collects what it says of groups, people and relatives.

Conditions are those of `schema/language.py`. A question is about whole categories, each attribute
on its own: what a condition says beyond that is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import NoReturn

import numpy as np

from kinfolk.errors import KinfolkError, did_you_mean
from kinfolk.queries.questions import Codes, asked_attributes
from kinfolk.schema import Attribute, Level, Numeric, Schema
from kinfolk.schema.attributes import shown
from kinfolk.schema.condition_evaluator import Cells, cells_of
from kinfolk.schema.conditions import (
    Both,
    Condition,
    Linear,
    Nobody,
    Range,
    Ref,
    atoms,
    attribute_of,
    refs,
    whose,
)
from kinfolk.schema.language import Reader
from kinfolk.schema.names import AttributeNames, singular
from kinfolk.schema.spelling import Meaning, condition_text, listed_words
from kinfolk.schema.where import MOST_CELLS

Place = tuple[bool, int]
"""Whether something is said of the relative, and the position of the attribute."""

FILLERS = re.compile(
    r"(a|an|and|are|at|contain|containing|contains|count|has|have|having|how|in|is|least|live|living|"
    r"many|number|of|one|percentage|proportion|share|somebody|someone|that|the|what|which|who|"
    r"whose|with)",
    re.I,
)
"""Words that are passed over."""

SIGN = re.compile(r"\s*(==|=|!=|<>|<=|>=|<|>)")
"""What makes an attribute a condition, wherever it stands."""

_COMPARED = re.compile(r"\s*(?:[-+=<>]|!=|(?:not\s+)?(?:in|missing|blank)\b|is\b)", re.I)
_STOP = re.compile(r"\s*($|[,;&)]|(and|by|where|among)\b)", re.I)
_OPENING = re.compile(r"\(|not\b|nobody\b|any\s*\(|no\s+\w+\s+with\b|-?\d[\d.]*\s*[<>=!]", re.I)
_GAP = re.compile(r"[\s,;:&.?]+")
_WORD = re.compile(r"[^\s,;:&|()=<>!]+|.")
_SECTION = re.compile(r"(by|where|among)\b", re.I)
_EDGE = {">": ">=", "<=": "<"}


class Section(StrEnum):
    """The part of a line that something is said in."""

    FIRST = "first"
    """Who is meant."""
    BY = "by"
    """What it is broken down by."""
    WHERE = "where"
    """Among whom."""


class LineReader(Reader):
    """Goes through a text once, from left to right."""

    through = re.compile(r"\.\.|to\b|-|\u2013", re.I)

    def __init__(self, schema: Schema, text: str) -> None:
        super().__init__(text, schema)
        self.listed = AttributeNames(schema)
        self.attributes = asked_attributes(schema)
        self.nouns = _nouns(schema)
        self.level = None if schema.group else Level.INDIVIDUAL
        self.relation: str | None = None
        self.section = Section.FIRST
        self.of_relative = self.in_brackets = False
        self.said: dict[Section, dict[Place, list[Codes]]] = {one: {} for one in Section}
        """What is said of attributes in every section: what to ask one by one."""

    def read(self) -> None:
        """Read everything."""
        while self.left():
            if not (
                self._subject() or self._relation() or self._condition() or self._next_section()
            ):
                self._pass_over()
        if self.section is Section.BY and not self.said[Section.BY]:
            first = next(iter(self.schema.individual_attributes))
            raise KinfolkError(f"say by what: name an attribute after `by`, such as by {first}.")

    def left(self) -> bool:
        """Pass over what separates; whether anything is left."""
        gap = _GAP.match(self.text, self.at)
        self.at = gap.end() if gap else self.at
        if self.in_brackets and self.text[self.at : self.at + 1] == ")":
            self.at, self.in_brackets, self.of_relative = self.at + 1, False, False
            return self.left()
        return self.at < len(self.text)

    def here(self, words: list[str]) -> str | None:
        """The longest of some words that stands here, whatever its case."""
        rest = self.text[self.at :]
        fits = [
            word
            for word in words
            if rest[: len(word)].lower() == word.lower()
            and not re.match(r"\w|\.\w", rest[len(word) :])
        ]
        return max(fits, key=lambda word: (len(word), rest.startswith(word)), default=None)

    def _subject(self) -> bool:
        """The first table that is named says of what the share is."""
        noun = self.here(list(self.nouns))
        if noun is None or self.named():
            return False
        self.level = self.level or self.nouns[noun]
        self.at += len(noun)
        return True

    def _relation(self) -> bool:
        spellings = {name.replace("_", gap): name for name in self.schema.relations for gap in "_ "}
        spelling = self.here(list(spellings))
        if spelling is None:
            return False
        if self.relation:
            raise KinfolkError(f"{self.relation} is named already. Ask about one relation.")
        self.relation, self.of_relative = spellings[spelling], True
        self.at += len(spelling)
        opening = re.compile(r"\s*:?\s*\(").match(self.text, self.at)
        if opening:
            self.at, self.in_brackets = opening.end(), True
        return True

    def _next_section(self) -> bool:
        """What follows `by`, or `where`."""
        word = _SECTION.match(self.text, self.at)
        if word is None:
            return False
        self.at = word.end()
        self.section = Section.BY if word[1].lower() == "by" else Section.WHERE
        self.of_relative = self.in_brackets = False
        return True

    def name_here(self) -> str | None:
        """The name of an attribute that stands here, whatever its case."""
        return self.here(list(self.names))

    def ref(self) -> Ref | None:
        """The attribute that stands here; after a relation, the relative's if people have it."""
        name = self.name_here() if self.of_relative else None
        if name is not None and name in self.schema.individual_attributes:
            self.at += len(name)
            return Ref(level="individual", name=name)
        return super().ref()

    def named(self, *, alone: bool = True) -> bool:
        """Whether an attribute stands here, of which something is said; or, `alone`, nothing."""
        name = self.name_here()
        end = self.at + len(name or "")
        after = _COMPARED.match(self.text, end) or (alone and _STOP.match(self.text, end))
        return name is not None and bool(after)

    def goes_on(self, word: str) -> bool:
        """Pass over `and` or `or`; what comes after `and` may be no condition."""
        before = self.at
        if self.word(word):
            self.skip()
            if word == "or" or _OPENING.match(self.text, self.at) or self.named(alone=False):
                return True
        self.at = before
        return False

    def _condition(self) -> bool:
        """A condition, or an attribute of which nothing is said: every value of it."""
        found: dict[Place, list[Codes]] = {}
        if self.named(alone=False) or _OPENING.match(self.text, self.at):
            if self.section is Section.BY:
                name = self.name_here() or "it"
                raise KinfolkError(
                    f"after `by` stand names of attributes alone. Say what {name} is after `where`."
                )
            for part in _conjuncts(self.condition()):
                found = self.merged(found, self._chosen(part))
        elif self.named():
            ref = self.ref()
            assert ref is not None  # noqa: S101  (it is named)
            every = range(self.attributes[self.position(ref)][1].size)
            found = {self._place(ref): [(code,) for code in every]}
        else:
            return False
        self.said[self.section] = self.merged(self.said[self.section], found)
        return True

    def position(self, ref: Ref) -> int:
        """The position of an attribute; only what a model knows of people and groups has one."""
        first = self.listed.first_individual
        if ref.of is not None:
            roles = self.schema.roles.column if self.schema.roles else "role"
            self.fail(
                f"{whose(ref)} is about a member in a role.",
                f"Ask about people: {roles} = {ref.of} and {ref.name} ...",
            )
        if ref.level == "group":
            return list(self.schema.group_attributes).index(ref.name)
        if ref.level == "count":
            return first - 1
        members = list(self.schema.member_attributes)
        if ref.name not in members:
            self.fail(
                f"there is one role only, and nothing to ask about {ref.name}.", "Leave it out."
            )
        return first + members.index(ref.name)

    def _place(self, ref: Ref) -> Place:
        position = self.position(ref)
        return self.of_relative and self.listed.is_individual(position), position

    def merged(self, *parts: Mapping[Place, list[Codes]]) -> dict[Place, list[Codes]]:
        """All that is said of attributes in several parts; the categories that all of them mean."""
        found: dict[Place, list[Codes]] = {}
        for part in parts:
            for place, choices in part.items():
                before = found.get(place, choices)
                both = (tuple(sorted({*a} & {*b})) for a in before for b in choices)
                found[place] = list(dict.fromkeys(codes for codes in both if codes))
                if not found[place]:
                    name = self.attributes[place[1]][0]
                    raise KinfolkError(f"no category of {name} is all that it is said to be.")
        return found

    def _chosen(self, condition: Condition) -> dict[Place, list[Codes]]:
        """The categories of each attribute that a condition is about."""
        if any(isinstance(atom, Nobody) for atom in atoms(condition, inside=False)):
            groups, people = self.schema.table_names[0], singular(self.schema.individual.table)
            fix = f"Ask for {groups} that contain a {people} who is such; the others are the rest."
            self.fail("nobody and any(...) say something of all members at once.", fix)
        named = refs(condition)
        places = [self._place(ref) for ref in named]
        sizes = [attribute_of(self.schema, ref).size for ref in named]
        if math.prod(sizes) > MOST_CELLS:
            self._entangled(condition)
        cells = cells_of(condition, self.schema)
        whole = (cells.every == cells.some).all()
        if len(named) == 1 and not whole:
            self._inside_a_bin(condition, named[0])
        codes = list(_sides(cells))
        if not whole or cells.every.sum() != math.prod(map(len, codes)):
            self._entangled(condition)
        return {place: [own] for place, own in zip(places, codes, strict=True)}

    def _inside_a_bin(self, condition: Condition, ref: Ref) -> NoReturn:
        """Refuse what tells numbers of one bin apart."""
        said = condition_text(condition, self.schema)
        if isinstance(condition, Linear) and condition.operator in _EDGE:
            other = replace(condition, operator=_EDGE[condition.operator])
            cells = cells_of(other, self.schema)
            if (cells.every == cells.some).all():
                what = f"{said}: a bin holds its lower end and not its upper one."
                self.fail(what, f"Write {condition_text(other, self.schema)}.")
        what = f"{said} is not made of whole bins, and nothing is known inside a bin."
        self.fail(what, self.known(attribute_of(self.schema, ref)))

    def _entangled(self, condition: Condition) -> NoReturn:
        """Refuse what makes one attribute depend on another."""
        self.fail(
            f"`{condition_text(condition, self.schema)}` is about several attributes at once.",
            "Say of each on its own what it is: `or` stands between values of one attribute. Of "
            "people, ask for the one, for the other and for both; both are in the first two twice.",
        )

    def meaning(self, ref: Ref) -> Meaning | None:
        """As in rules; but bins of numbers that are not whole hold their lower ends only."""
        found, attribute = super().meaning(ref), attribute_of(self.schema, ref)
        if isinstance(found, Range) and found.closed and isinstance(attribute, Numeric):
            return replace(found, closed=attribute.integer or found.high >= attribute.bins[-1])
        return found

    def known(self, attribute: Attribute, word: str = "") -> str:
        """What a value could be; of a number, which bins there are."""
        if not isinstance(attribute, Numeric):
            return super().known(attribute, word)
        labels = [attribute.label(code) for code in range(attribute.size)]
        for code in range(len(attribute.bins) - 1 if attribute.labels else 0):
            low, high = attribute.bounds(code)
            labels[code] = f"{low:g} to {high - attribute.integer:g} ({labels[code]})"
        return listed_words(labels)

    def fail(self, what: str, fix: str) -> NoReturn:
        """Refuse the text, which whoever reads questions will name."""
        raise KinfolkError(f"{what} {fix}")

    def _pass_over(self) -> None:
        """Pass over a word that says nothing; any other is a mistake."""
        word = _WORD.findall(self.text, self.at)[0]
        if FILLERS.fullmatch(word):
            self.at += len(word)
            return
        name = self.name_here()
        if name is not None:
            self.at += len(name)
            self.expected(f"what {name} is, such as `=`, `<`, `in` or `missing`,")
        self.unknown_name(word)

    def unknown_name(self, word: str | None = None) -> NoReturn:
        """Refuse a word that names no attribute; it may be a value of one."""
        self.skip()
        if word is None and self.text[: self.at].rstrip()[-1:] in ("<", ">", "="):
            self.expected("a number")
        if word is None and self.at == len(self.text):
            self.expected("a number or an attribute")
        word = word or _WORD.findall(self.text, self.at)[0]
        for name, attribute in (self.attributes[position] for position in self.listed.all):
            label = self.here([attribute.label(code) for code in range(attribute.size)])
            if label is not None:
                raise KinfolkError(f"say what is {label!r}, such as {name} = {label}.")
        known = [*self.listed.places(), *self.schema.relations]
        raise KinfolkError(f"attribute {shown(word)} is unknown. {did_you_mean(word, known)}")


def _conjuncts(condition: Condition) -> Iterator[Condition]:
    """The conditions that have to hold together."""
    if isinstance(condition, Both) and not condition.any:
        for part in condition.parts:
            yield from _conjuncts(part)
    else:
        yield condition


def _sides(cells: Cells) -> Iterator[Codes]:
    """The categories of each attribute for which a condition can hold."""
    for axis in range(len(cells.refs)):
        others = tuple(other for other in range(len(cells.refs)) if other != axis)
        yield tuple(np.flatnonzero(cells.every.any(axis=others)).tolist())


def _nouns(schema: Schema) -> dict[str, Level]:
    """How groups and individuals can be called, and the level that means."""
    tables = {Level.INDIVIDUAL: schema.individual.table}
    if schema.group:
        tables = {Level.GROUP: schema.group.table, **tables}
    nouns = {noun: level for level, table in tables.items() for noun in (table, singular(table))}
    usual = {Level.GROUP: "group groups household households"} if schema.group else {}
    usual |= {Level.INDIVIDUAL: "individual individuals people person persons"}
    for level, words in usual.items():
        for word in words.split():
            nouns.setdefault(word, level)
    return nouns
