"""Questions in one line of text, such as `mean wage of people with age >= 16 by sex, education`.

    line       =  ["weighted"] [STATISTIC] [SUBJECT] [conditions] ["by" names] ["where" conditions]
    STATISTIC  =  "mean" NUMBER  |  "sum" NUMBER  |  "median" NUMBER  |  "p90" NUMBER
               |  "ratio of" NUMBER "to" NUMBER  |  a share, if nothing is said
    conditions =  what `schema/language.py` says, with commas or "and" between them
               or ATTRIBUTE                                      every value of it, one by one
               or RELATION ":" conditions on the relative
    names      =  ATTRIBUTE {"," ATTRIBUTE}, or RELATION ":" names of the relative's

NUMBER is an attribute that has numbers. The subject is the name of a table, or one of households,
groups, people and individuals. Words that only make it a sentence (with, that contain, who are) are
passed over. The table that an attribute belongs to says whether it is asked of the group, or of one
person: all such are of the same person.

A share is of all groups or people; after `by` and `where`, of those in the cell. Without anything
that is said before `by`, it is the share of the cell.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NoReturn

from kinfolk.errors import KinfolkError, closest, did_you_mean
from kinfolk.queries.question_reader import FILLERS, SIGN, LineReader, Place, Section
from kinfolk.queries.questions import (
    Codes,
    Figure,
    Kind,
    Question,
    as_weighted,
    check_number,
    numbers_of,
)
from kinfolk.schema import Level, Schema
from kinfolk.schema.attributes import shown
from kinfolk.schema.names import singular

MOST = 1000
"""Questions that one line may stand for."""

_WEIGHTED = re.compile(r"\s*weighted\s+", re.I)
_STATISTIC = re.compile(
    r"\s*(mean|average|sum|total|median|ratio|p(\d{1,2}(?:\.\d+)?))\b(?:\s+of\b)?(?:\s+the\b)?\s*",
    re.I,
)
_TO = re.compile(r"\s*(to\b|/)\s*", re.I)
_KINDS = {
    "mean": Kind.MEAN,
    "average": Kind.MEAN,
    "sum": Kind.SUM,
    "total": Kind.SUM,
    "median": Kind.QUANTILE,
    "ratio": Kind.RATIO,
}


def parse(schema: Schema, text: str) -> tuple[Question | Figure, ...]:
    """What a line of text asks: one thing, or all that it is broken down into.

    >>> from kinfolk import load_schema
    >>> schema = load_schema("detroit")
    >>> for text in (
    ...     "households with cars = 2 that contain a person with sex = female and age = 35..54",
    ...     "people: age < 18, has_parent: esr in (unemployed, 6)",
    ...     "mean age of people with esr = unemployed by sex",
    ... ):
    ...     print(*parse(schema, text), sep=chr(10))
    Share of households with cars = 2 vehicles that contain at least one person who is female and \
aged 35 to 54
    Share of people who are aged 0 to 17 and have a parent who has esr = unemployed or not in the \
labor force
    Mean age of people who are male and unemployed
    Mean age of people who are female and unemployed
    """
    try:
        return _Line(schema, text).asked()
    except KinfolkError as error:
        raise KinfolkError(f"{shown(text)}: {error}") from None


@dataclass(frozen=True, kw_only=True)
class _Statistic:
    """How a line begins that asks for more than a share."""

    kind: Kind
    word: str
    numbers: tuple[int, ...]
    names: tuple[str, ...]
    quantile: float = 0.5

    @property
    def words(self) -> str:
        """As it may be written."""
        of = "of " if self.kind is Kind.RATIO else ""
        return f"{self.word} {of}{' to '.join(self.names)}"


class _Line(LineReader):
    """What a whole line asks."""

    def asked(self) -> tuple[Question | Figure, ...]:
        """Read everything."""
        weights, statistic = self._begin()
        self.read()
        self._check(statistic)
        by, where = self.said[Section.BY], self.said[Section.WHERE]
        if statistic is None and not by and not where:
            plain = tuple(self._question(chosen) for chosen in _choices(self.said[Section.FIRST]))
            return tuple(map(as_weighted, plain)) if weights else plain
        return tuple(self._figures(statistic, weights=weights))

    def _begin(self) -> tuple[bool, _Statistic | None]:
        """Whether weights count, and what statistic is asked for."""
        self._pass_fillers()
        weights = _WEIGHTED.match(self.text, self.at) if not self.named() else None
        self.at = weights.end() if weights else self.at
        self._pass_fillers()
        found = _STATISTIC.match(self.text, self.at) if not self.named() else None
        if found is None:
            return bool(weights), None
        self.at = found.end()
        word = found[1].lower()
        kind = Kind.QUANTILE if found[2] else _KINDS[word]
        numbers = [self._number(word)]
        if kind is Kind.RATIO:
            to = _TO.match(self.text, self.at)
            if to is None:
                first = self.attributes[numbers[0]][0]
                raise KinfolkError(f"a ratio has two numbers: ratio of {first} to another one.")
            self.at = to.end()
            numbers.append(self._number("to"))
        share = float(found[2]) / 100 if found[2] else 0.5
        if not 0 < share < 1:
            raise KinfolkError(f"{word} is no percentile. Ask for p1 to p99.")
        names = tuple(self.listed.by_position()[position] for position in numbers)
        return bool(weights), _Statistic(
            kind=kind, word=word, numbers=tuple(numbers), names=names, quantile=share
        )

    def _pass_fillers(self) -> None:
        """Words that say nothing, up to one that might."""
        while self.left() and not self.named():
            word = re.compile(r"\w+").match(self.text, self.at)
            if word is None or not FILLERS.fullmatch(word[0]) or self.here(list(self.nouns)):
                return
            self.at = word.end()

    def _number(self, word: str) -> int:
        """The number that a statistic is of."""
        name = self.here(list(self.listed.places()))
        if name is None:
            known = list(numbers_of(self.schema, Level.INDIVIDUAL)) or ["none"]
            instead = re.compile(r"(\w*)(?:\.(\w+))?").match(self.text, self.at)
            role, of = instead.groups() if instead else ("", None)
            if self.schema.roles and of and role in self.schema.roles.names:
                raise KinfolkError(
                    f"{role}.{of} is about a member in a role. Ask for {word} {of} where "
                    f"{self.schema.roles.column} = {role}."
                )
            hint = did_you_mean(role, known)
            raise KinfolkError(f"say of which number after {word!r}. {hint}")
        self.at += len(name)
        if SIGN.match(self.text, self.at):
            raise KinfolkError(f"{name} is asked for. Say after `where` what it is to be.")
        position = self.listed.find(name)
        check_number(self.schema, position, Level.INDIVIDUAL)
        return position

    def unknown_name(self, word: str | None = None) -> NoReturn:
        """Refuse a word; it may be meant for a statistic."""
        if word is not None and word.lower() in _KINDS:
            raise KinfolkError(f"{word} comes second. Ask for one statistic in a line.")
        if word is not None and not self.text[: self.at].strip():
            known = [*self.listed.places(), *self.schema.relations, *self.nouns]
            of = re.match(r"\s+of\b", self.text[self.at + len(word) :], re.I)
            if of or closest(word, known) is None:
                raise KinfolkError(
                    f"{shown(word)} is neither an attribute nor a statistic. Ask for a share, a "
                    "mean, sum, median, percentile (p90) or ratio. Anything else can be worked out "
                    "on replicate tables: `kinfolk sample --replicates`."
                )
        super().unknown_name(word)

    def _check(self, statistic: _Statistic | None) -> None:
        """Settle of what is asked, and refuse what says too little."""
        said = {place for part in self.said.values() for place in part}
        if self.level is None and statistic is not None:
            self.level = self._level_of(statistic, said)
        if self.level is None:
            group, people = self.schema.table_names
            raise KinfolkError(
                f"say of what: begin with {group!r} or with {people!r}{self._or_a_figure()}."
            )
        if self.relation and self.level is Level.GROUP:
            people = self.schema.individual.table
            raise KinfolkError(f"{self.relation} is asked of people: begin with {people!r}.")
        if self.relation and not any(relative for relative, _ in said):
            first, attribute = next(iter(self.schema.individual_attributes.items()))
            raise KinfolkError(
                f"say what the relative is like, such as {self.relation}: {first} = "
                f"{attribute.label(0)}; or whatever they are like, with every value of {first}."
            )
        if not said and statistic is None:
            known = ", ".join(self.listed.places())
            raise KinfolkError(f"no attribute is named. Known here: {known}.")
        twice = self.said[Section.FIRST].keys() & self.said[Section.BY].keys()
        if twice and statistic is None:
            name = self.attributes[next(iter(twice))[1]][0]
            raise KinfolkError(f"{name} is asked for before `by` and after it. Leave one out.")
        parts = [len(choices) for part in self.said.values() for choices in part.values()]
        if math.prod(parts) > MOST:
            raise KinfolkError(
                f"these are {math.prod(parts):,} questions. Ask at most {MOST:,} in one line."
            )

    def _or_a_figure(self) -> str:
        """What else a line may begin with that names a number and says nothing of it."""
        listed, numbers = self.listed.by_position(), numbers_of(self.schema, Level.INDIVIDUAL)
        for (_, position), choices in self.said[Section.FIRST].items():
            if len(choices) > 1 and listed[position] in numbers:
                return f", or ask for a figure: mean {listed[position]}"
        return ""

    def _level_of(self, statistic: _Statistic, said: set[Place]) -> Level:
        """Of whom a statistic is where no table is named: of whoever has the numbers."""
        if any(map(self.listed.is_individual, statistic.numbers)):
            return Level.INDIVIDUAL
        if self.relation or any(self.listed.is_individual(position) for _, position in said):
            group, people = self.schema.table_names
            raise KinfolkError(
                f"say of what: {statistic.words} of {group} (that contain such a "
                f"{singular(people)}), or {statistic.words} of {people}."
            )
        return Level.GROUP

    def _figures(self, statistic: _Statistic | None, *, weights: bool) -> Iterator[Figure]:
        """One for each cell, the last attribute after `by` changing fastest."""
        first, by, where = (self.said[one] for one in Section)
        every = self.merged(by, first, where)
        among = {place: _any_of(codes) for place, codes in self.merged(by, where).items()}
        cells = [place for place, choices in every.items() if place in by or len(choices) > 1]
        for chosen in _choices(every):
            cell = self._cell({place: chosen[place] for place in cells})
            if statistic is not None:
                yield Figure(
                    kind=statistic.kind,
                    of=self._question(chosen),
                    numbers=statistic.numbers,
                    quantile=statistic.quantile,
                    weighted=weights,
                    cell=cell,
                )
                continue
            about = {
                place: among[place] if place in first else chosen[place]
                for place in among
                if first or place not in by
            }
            yield Figure(
                kind=Kind.SHARE,
                of=self._question(about, of_anybody=True),
                counted=self._question(chosen),
                weighted=weights,
                cell=cell,
            )

    def _cell(self, chosen: Mapping[Place, Codes]) -> dict[str, str]:
        """What a table calls a cell: attributes and categories."""
        names = self.listed.by_position()
        return {
            f"{self.relation}: {names[place[1]]}" if place[0] else names[place[1]]: " or ".join(
                self.attributes[place[1]][1].label(code) for code in codes
            )
            for place, codes in chosen.items()
        }

    def _question(self, chosen: Mapping[Place, Codes], *, of_anybody: bool = False) -> Question:
        """Those who are all that is chosen; `of_anybody`: if nothing is said of relatives, all."""
        first = self.listed.first_individual
        group: dict[int, Codes] = {}
        people: dict[bool, dict[int, Codes]] = {False: {}, True: {}}
        for (relative, position), codes in sorted(chosen.items()):
            if position < first:
                group[position] = codes
            else:
                people[relative][position - first] = codes
        related = self.relation is not None and (not of_anybody or bool(people[True]))
        return Question(
            schema=self.schema,
            level=Level.RELATION if related else self.level or Level.INDIVIDUAL,
            relation=self.relation if related else None,
            group=group,
            individual=people[False],
            relative=people[True],
        )


def _choices(said: Mapping[Place, list[Codes]]) -> Iterator[dict[Place, Codes]]:
    """Every way to choose one of what is said of each attribute."""
    for chosen in itertools.product(*said.values()):
        yield dict(zip(said, chosen, strict=True))


def _any_of(choices: list[Codes]) -> Codes:
    """All categories that are among the choices."""
    return tuple(sorted({code for codes in choices for code in codes}))
