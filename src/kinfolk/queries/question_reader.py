"""Goes through a line of text and collects what it says of groups, people and relatives."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

from kinfolk.errors import KinfolkError, did_you_mean
from kinfolk.queries.questions import Codes, asked_attributes
from kinfolk.queries.values import NUMBER, codes_compared, read_value
from kinfolk.schema import Attribute, Level, Schema
from kinfolk.schema.attributes import shown
from kinfolk.schema.names import AttributeNames, singular

Place = tuple[bool, int]
"""Whether something is said of the relative, and the position of the attribute."""

FILLERS = re.compile(
    r"(a|an|and|are|at|contain|containing|contains|has|have|having|how|in|is|least|live|living|"
    r"many|number|of|one|percentage|proportion|share|somebody|someone|that|the|what|which|who|"
    r"whose|with)",
    re.I,
)
"""Words that are passed over."""

SIGN = re.compile(r"\s*(==|=|!=|<>|<=|>=|<|>)")
"""What makes an attribute a condition, wherever it stands."""

_EQUAL = re.compile(r"\s*(==|=|!=|<>|not\s+in\b|in\b|is\s+not\b(?!\s+missing)|is\b)\s*", re.I)
_MISSING = re.compile(r"\s*(?:is\s+)?(not\s+)?(?:missing|blank)\b", re.I)
_ORDER = re.compile(r"\s*(<=|>=|<|>)\s*")
_NUMBER = re.compile(rf"{NUMBER}(?!\w|\.\d)")
_OR = re.compile(r"\s*(\||or\b)\s*", re.I)
_STOP = re.compile(r"\s*($|[,;&)]|(and|by|where|among)\b)", re.I)
_GAP = re.compile(r"[\s,;:&.?]+")
_WORD = re.compile(r"[^\s,;:&|()=<>!]+|.")
_SECTION = re.compile(r"(by|where|among)\b", re.I)


class Section(StrEnum):
    """The part of a line that something is said in."""

    FIRST = "first"
    """Who is meant."""
    BY = "by"
    """What it is broken down by."""
    WHERE = "where"
    """Among whom."""


class Reader:
    """Goes through a text once, from left to right."""

    def __init__(self, schema: Schema, text: str) -> None:
        self.schema, self.text, self.at = schema, text, 0
        self.names = AttributeNames(schema)
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
        while self.skip():
            if not (
                self._subject() or self._relation() or self._condition() or self._next_section()
            ):
                self.pass_over()
        if self.section is Section.BY and not self.said[Section.BY]:
            raise KinfolkError("say by what: name an attribute after `by`, such as by " + self._any)

    @property
    def _any(self) -> str:
        return f"{next(iter(self.schema.individual_attributes))}."

    def skip(self) -> bool:
        """Pass over what separates; whether anything is left."""
        gap = _GAP.match(self.text, self.at)
        self.at = gap.end() if gap else self.at
        if self.in_brackets and self.text[self.at : self.at + 1] == ")":
            self.at, self.in_brackets, self.of_relative = self.at + 1, False, False
            return self.skip()
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
        if noun is None or self.named() is not None:
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

    def named(self) -> tuple[int, int] | None:
        """The attribute that a condition here is about: its position, and where its name ends."""
        places = self.names.places()
        if self.of_relative:
            first = self.names.first_individual
            own = enumerate(self.schema.individual_attributes, first)
            places |= {name: [position] for position, name in own}
        name = self.here(list(places))
        if name is None:
            return None
        end = self.at + len(name)
        if not any(sign.match(self.text, end) for sign in (_EQUAL, _MISSING, _ORDER, _STOP)):
            return None
        return places[name][0] if len(places[name]) == 1 else self.names.find(name), end

    def _next_section(self) -> bool:
        """What follows `by`, or `where`."""
        word = _SECTION.match(self.text, self.at)
        if word is None:
            return False
        self.at = word.end()
        self.section = Section.BY if word[1].lower() == "by" else Section.WHERE
        self.of_relative = self.in_brackets = False
        return True

    def _condition(self) -> bool:
        named = self.named()
        if named is None:
            return False
        position, self.at = named
        name, attribute = self.attributes[position]
        choice = self._choice(name, attribute)
        if self.section is Section.BY and len(choice) < attribute.size:
            raise KinfolkError(
                f"after `by` stand names of attributes alone. Say what {name} is after `where`."
            )
        key = self.of_relative and self.names.is_individual(position), position
        self.said[self.section] = self.merged(self.said[self.section], {key: choice})
        return True

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

    def _choice(self, name: str, attribute: Attribute) -> list[Codes]:
        """The categories that are meant, or each of them where nothing is said."""
        equal, order = _EQUAL.match(self.text, self.at), _ORDER.match(self.text, self.at)
        blank = _MISSING.match(self.text, self.at)
        if blank and (attribute.missing or not equal):
            if not attribute.missing:
                raise KinfolkError(f"{name} is never blank.")
            self.at = blank.end()
            last = attribute.size - 1
            return [tuple(range(last))] if blank[1] else [(last,)]
        if equal:
            self.at = equal.end()
            codes = self._values(name, attribute)
            if equal[1][0] in "!<" or "not" in equal[1].lower():
                codes = set(range(attribute.size)) - codes
            return [tuple(sorted(codes))]
        if order:
            number = _NUMBER.match(self.text, order.end())
            if number is None:
                raise KinfolkError(f"{name} {order[1]} needs a number after it.")
            self.at = number.end()
            return [codes_compared(name, attribute, order[1], number[0])]
        return [(code,) for code in range(attribute.size)]

    def _values(self, name: str, attribute: Attribute) -> set[int]:
        """One value, or several with | or `or` between them, or with commas in brackets."""
        brackets = self.text[self.at : self.at + 1] in ("(", "[", "{")
        more = re.compile(r"\s*(\||or\b|,)\s*", re.I) if brackets else _OR
        if brackets:
            self.at += 1
        codes: set[int] = set()
        while True:
            while self.text[self.at : self.at + 1].isspace():
                self.at += 1
            try:
                found, self.at = read_value(name, attribute, self.text, self.at)
            except KinfolkError as error:
                if not codes or self.named() is None:
                    raise
                only = "`or` stands between values of one attribute, nowhere else."
                raise KinfolkError(only) from error
            codes.update(found)
            another = more.match(self.text, self.at)
            if another is None:
                break
            self.at = another.end()
        if brackets:
            end = re.compile(r"\s*[)\]}]").match(self.text, self.at)
            if end is None:
                raise KinfolkError(f"the bracket after {name} is not closed.")
            self.at = end.end()
        return codes

    def pass_over(self) -> None:
        """Pass over a word that says nothing; any other is a mistake."""
        word = _WORD.findall(self.text, self.at)[0]
        if FILLERS.fullmatch(word):
            self.at += len(word)
            return
        for name, attribute in (self.attributes[position] for position in self.names.all):
            label = self.here([attribute.label(code) for code in range(attribute.size)])
            if label is not None:
                raise KinfolkError(f"say what is {label!r}, such as {name} = {label}.")
        known = [*self.names.places(), *self.schema.relations]
        raise KinfolkError(f"attribute {shown(word)} is unknown. {did_you_mean(word, known)}")


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
