"""Questions in one line of text, such as `households with cars = 2 and sex = female`.

    question   =  [SUBJECT] condition {("," or "and") condition}
    condition  =  ATTRIBUTE ("=" or "!=" or "in" or "not in") value {("|" or "or") value}
               or ATTRIBUTE ("<" or "<=" or ">" or ">=") NUMBER
               or ATTRIBUTE                                      every value of it, one by one
               or RELATION ":" conditions on the relative
    value      =  a value, a label, blank, or a range of numbers: 35..44 or 35 to 44

The subject is the name of a table, or one of households, groups, people and individuals. Words that
only make it a sentence (with, that contain, who are) are passed over. The table that an attribute
belongs to says whether it is asked of the group, or of one person: all such are of the same person.
"""

from __future__ import annotations

import itertools
import math
import re

from kinfolk.errors import KinfolkError
from kinfolk.queries.questions import Codes, Question, size_attribute
from kinfolk.queries.values import NUMBER, codes_compared, read_value
from kinfolk.schema import Attribute, Level, Schema
from kinfolk.schema.attributes import shown
from kinfolk.schema.findings import did_you_mean
from kinfolk.schema.names import AttributeNames
from kinfolk.schema.words import singular

MOST = 1000
"""Questions that one line may stand for."""

FILLERS = re.compile(
    r"(a|an|and|are|at|by|contain|containing|contains|has|have|having|how|in|is|least|live|living|"
    r"many|number|of|one|percentage|proportion|share|somebody|someone|that|the|which|who|whose|with)",
    re.I,
)
"""Words that are passed over."""

_EQUAL = re.compile(r"\s*(==|=|!=|<>|not\s+in\b|in\b|is\s+not\b|is\b)\s*", re.I)
_ORDER = re.compile(r"\s*(<=|>=|<|>)\s*")
_NUMBER = re.compile(rf"{NUMBER}(?!\w|\.\d)")
_OR = re.compile(r"\s*(\||or\b)\s*", re.I)
_STOP = re.compile(r"\s*($|[,;&)]|and\b)", re.I)
_GAP = re.compile(r"[\s,;:&.?]+")
_WORD = re.compile(r"[^\s,;:&|()=<>!]+|.")


def parse(schema: Schema, text: str) -> tuple[Question, ...]:
    """The questions that a line of text asks: one, or all that it is broken down into.

    >>> from kinfolk import load_schema
    >>> schema = load_schema("detroit")
    >>> for text in (
    ...     "households with cars = 2 that contain a person with sex = female and age = 35..54",
    ...     "people: age < 18, has_parent: esr in (unemployed, 6)",
    ... ):
    ...     print(*parse(schema, text))
    Share of households with cars = 2 vehicles that contain at least one person who is female and \
aged 35 to 54
    Share of people who are aged 0 to 17 and have a parent who has esr = unemployed or not in the \
labor force
    """
    try:
        return _Reader(schema, text).questions()
    except KinfolkError as error:
        raise KinfolkError(f"{shown(text)}: {error}") from None


class _Reader:
    """Goes through a text once, from left to right."""

    def __init__(self, schema: Schema, text: str) -> None:
        self.schema, self.text, self.at = schema, text, 0
        self.names = AttributeNames(schema)
        self.nouns = _nouns(schema)
        self.level = None if schema.group else Level.INDIVIDUAL
        self.relation: str | None = None
        self.of_relative = self.in_brackets = False
        self.found: dict[tuple[bool, int], list[Codes]] = {}
        """Conditions by whether they are on the relative, and position: what to ask one by one."""

    def questions(self) -> tuple[Question, ...]:
        """Read everything."""
        while self._skip():
            if not (self._subject() or self._relation() or self._condition()):
                self._filler()
        if self.level is None:
            group, people = self.schema.table_names
            raise KinfolkError(f"say of what: begin with {group!r} or with {people!r}.")
        if self.relation and self.level is Level.GROUP:
            people = self.schema.individual.table
            raise KinfolkError(f"{self.relation} is asked of people: begin with {people!r}.")
        if self.relation and not any(relative for relative, _ in self.found):
            first, attribute = next(iter(self.schema.individual_attributes.items()))
            raise KinfolkError(
                f"say what the relative is like, such as {self.relation}: {first} = "
                f"{attribute.label(0)}; or whatever they are like, with every value of {first}."
            )
        if not self.found:
            known = ", ".join(self.names.places())
            raise KinfolkError(f"no attribute is named. Known here: {known}.")
        number = math.prod(map(len, self.found.values()))
        if number > MOST:
            raise KinfolkError(f"these are {number:,} questions. Ask at most {MOST:,} in one line.")
        return tuple(map(self._question, itertools.product(*self.found.values())))

    def _question(self, chosen: tuple[Codes, ...]) -> Question:
        first = self.names.first_individual
        group: dict[int, Codes] = {}
        people: dict[bool, dict[int, Codes]] = {False: {}, True: {}}
        for (relative, position), codes in sorted(zip(self.found, chosen, strict=True)):
            if position < first:
                group[position] = codes
            else:
                people[relative][position - first] = codes
        return Question(
            schema=self.schema,
            level=Level.RELATION if self.relation else self.level or Level.INDIVIDUAL,
            relation=self.relation,
            group=group,
            individual=people[False],
            relative=people[True],
        )

    def _skip(self) -> bool:
        """Pass over what separates; whether anything is left."""
        gap = _GAP.match(self.text, self.at)
        self.at = gap.end() if gap else self.at
        if self.in_brackets and self.text[self.at : self.at + 1] == ")":
            self.at, self.in_brackets, self.of_relative = self.at + 1, False, False
            return self._skip()
        return self.at < len(self.text)

    def _here(self, words: list[str]) -> str | None:
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
        noun = self._here(list(self.nouns))
        if noun is None or self._named() is not None:
            return False
        self.level = self.level or self.nouns[noun]
        self.at += len(noun)
        return True

    def _relation(self) -> bool:
        spellings = {name.replace("_", gap): name for name in self.schema.relations for gap in "_ "}
        spelling = self._here(list(spellings))
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

    def _named(self) -> tuple[int, int] | None:
        """The attribute that a condition here is about: its position, and where its name ends."""
        places = self.names.places()
        if self.of_relative:
            first = self.names.first_individual
            own = enumerate(self.schema.individual_attributes, first)
            places |= {name: [position] for position, name in own}
        name = self._here(list(places))
        if name is None:
            return None
        end = self.at + len(name)
        if not any(sign.match(self.text, end) for sign in (_EQUAL, _ORDER, _STOP)):
            return None
        return places[name][0] if len(places[name]) == 1 else self.names.find(name), end

    def _condition(self) -> bool:
        named = self._named()
        if named is None:
            return False
        position, self.at = named
        name, attribute = self._attribute(position)
        equal, order = _EQUAL.match(self.text, self.at), _ORDER.match(self.text, self.at)
        if equal:
            self.at = equal.end()
            codes = self._values(name, attribute)
            if equal[1][0] in "!<" or "not" in equal[1].lower():
                codes = set(range(attribute.size)) - codes
            choice = [tuple(sorted(codes))]
        elif order:
            number = _NUMBER.match(self.text, order.end())
            if number is None:
                raise KinfolkError(f"{name} {order[1]} needs a number after it.")
            self.at = number.end()
            choice = [codes_compared(name, attribute, order[1], number[0])]
        else:
            choice = [(code,) for code in range(attribute.size)]
        key = self.of_relative and self.names.is_individual(position), position
        before = self.found.get(key, choice)
        both = [tuple(sorted({*a} & {*b})) for a in before for b in choice]
        self.found[key] = list(dict.fromkeys(codes for codes in both if codes))
        if not self.found[key]:
            raise KinfolkError(f"no category of {name} is all that it is said to be.")
        return True

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
                if not codes or self._named() is None:
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

    def _attribute(self, position: int) -> tuple[str, Attribute]:
        group = [
            *self.schema.group_attributes.items(),
            (self.schema.count, size_attribute(self.schema)),
        ]
        return [*group, *self.schema.member_attributes.items()][position]

    def _filler(self) -> None:
        """Pass over a word that says nothing; any other is a mistake."""
        word = _WORD.findall(self.text, self.at)[0]
        if FILLERS.fullmatch(word):
            self.at += len(word)
            return
        for name, attribute in map(self._attribute, self.names.all):
            label = self._here([attribute.label(code) for code in range(attribute.size)])
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
