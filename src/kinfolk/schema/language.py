"""The small language of `never`, `derived`, `--where` and `query`: what a condition says.

    condition  =  condition "or" condition  |  condition "and" condition
               |  "not" condition  |  "(" condition ")"
               |  "no person with" condition  |  "nobody with" condition  |  "any(" condition ")"
               |  sum ("=" | "!=" | "<" | "<=" | ">" | ">=") sum
               |  attribute ("=" | "!=" | "is" ["not"] | ["not"] "in") values
               |  attribute ["is"] ["not"] "missing"
    sum        =  numbers and attributes with "+" and "-" between them
    values     =  value {("or" | "|") value}  |  "(" value {"," value} ")"
    value      =  a value, a label, `missing`, or a range of numbers: 16..64, both ends included
    attribute  =  NAME, TABLE.NAME where both tables have it, ROLE.NAME for a member in a role,
                  the name of the size of a group (COUNT), or the role column

`and` binds more tightly than `or`, and `or` between values more tightly still; `no person with`
reaches to the end, or to the closing bracket; `any(...)` is its opposite: some person of the group
is such.
Names and values may be bare; odd names stand in `backquotes`, odd values in "quotes". Where a value
and an attribute are called the same, the value is meant.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn

from kinfolk.errors import did_you_mean
from kinfolk.schema.attributes import Attribute, Categorical, Numeric, shown
from kinfolk.schema.conditions import (
    Both,
    Condition,
    Linear,
    Listed,
    Missing,
    Nobody,
    Not,
    Range,
    Ref,
    Same,
    atoms,
    attribute_of,
    has_numbers,
    kind_of_values,
    named_refs,
    refs,
    whose,
)
from kinfolk.schema.names import singular
from kinfolk.schema.spelling import (
    BLANK,
    MIRRORED,
    QUOTED,
    Cursor,
    Meaning,
    begins,
    find_value,
    fraction_of,
    known_values,
    spelling,
)

if TYPE_CHECKING:
    from kinfolk.schema.schema import Schema

KEYWORDS = ("and", "or", "not", "in", "is", "missing", "no", "nobody", "with", "where")
MOST_NESTED = 50
"""Brackets inside brackets."""

_ANY = re.compile(r"any\s*\(", re.I)
_OPERATOR = re.compile(r"<=|>=|!=|<>|==|=|<|>")
_OR = re.compile(r"\||or\b", re.I)
_COMPARED = re.compile(r"\s*(?:[-+=<>]|!=|(?:not|in|is|missing|blank)\b)", re.I)
_WORD = re.compile(r"[\w.]+|\S")


@dataclass(frozen=True, kw_only=True)
class _Sum:
    """One side of a comparison."""

    terms: Counter[Ref]
    constant: Fraction
    items: int

    @property
    def alone(self) -> Ref | None:
        """The attribute, if that is all there is."""
        return next((ref for ref in self.terms if self.items == 1 and self.terms[ref] == 1), None)


class Reader(Cursor):
    """Reads conditions."""

    through = re.compile(r"\.\.|to\b", re.I)
    """What stands between the ends of a range."""

    def __init__(self, text: str, schema: Schema) -> None:
        super().__init__(text)
        self.schema, self.depth = schema, 0
        self.names = named_refs(schema)

    def condition(self) -> Condition:
        """Conditions with `or` between them."""
        return self._chain("or", lambda: self._chain("and", self._one))

    def _chain(self, word: str, part: Callable[[], Condition]) -> Condition:
        parts = [part()]
        while self.goes_on(word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else Both(parts=tuple(parts), any=word == "or")

    def goes_on(self, word: str) -> bool:
        """Pass over `and` or `or`, if another condition comes after it."""
        return self.word(word)

    def _one(self) -> Condition:
        self.depth += 1
        if self.depth > MOST_NESTED:
            self.fail("brackets are nested too deeply.", "Write several rules.")
        found = self._unit()
        self.depth -= 1
        return found

    def _unit(self) -> Condition:
        if self.symbol("("):
            inner = self.condition()
            self.close()
            return inner
        if self.word("not"):
            return Not(part=self._one())
        if self.match(_ANY):
            inner = self._nobody("any")
            self.close()
            return Not(part=inner)
        if self.word("nobody"):
            return self._with_nobody()
        if self.word("no"):
            nouns = (singular(self.schema.individual.table), "person", "member", "individual")
            if not any(self.word(noun) for noun in nouns):
                self.expected(f"`{nouns[0]} with`")
            return self._with_nobody()
        return self._comparison()

    def _with_nobody(self) -> Condition:
        if not self.word("with"):
            self.expected("`with`")
        return self._nobody("nobody")

    def _nobody(self, word: str) -> Condition:
        part = self.condition()
        if any(isinstance(atom, Nobody) for atom in atoms(part, inside=False)):
            self.fail(f"{word} has another nobody or any inside.", "Use it once.")
        for ref in refs(part):
            if ref.of is not None:
                fix = f"Write {ref.name} for the person, or a rule of its own about {ref.of}."
                self.fail(f"{whose(ref)} is about one member, and {word} about all.", fix)
        if not any(ref.level in ("individual", "role") for ref in refs(part)):
            fix = f"Name an attribute of {self.schema.individual.table}."
            self.fail(f"{word} is said to be like nothing about a person.", fix)
        return Nobody(part=part)

    def _comparison(self) -> Condition:
        start = self.at
        left = self._sum()
        ref = left.alone
        said = self.word("is")
        negated = self.word("not")
        if self.word("missing") or self.word("blank"):
            return self._missing(ref, negated, start)
        if self.word("in"):
            if ref is None:
                self.at = start
                self.expected("one attribute before `in`")
            return _listed(ref, self._values(ref), negated=negated)
        found = None if negated else self.match(_OPERATOR)
        if found is None and not said:
            self.expected("a comparison such as `=`, `<`, `in` or `missing`")
        sign = {"<>": "!=", "==": "=", None: "!=" if negated else "="}.get(found, found or "")
        if ref is not None and sign in ("=", "!="):
            equal = self._equal(ref, negated=sign == "!=")
            if equal is not None:
                return equal
        self._numbers(left.terms, sign)
        right = self._sum()
        self._numbers(right.terms, sign)
        if self.match(_OPERATOR):
            fix = "Write a range, such as `age in 16..64`, or two comparisons with `and`."
            self.fail("three things are compared at once.", fix)
        total = Counter(dict(left.terms))
        total.subtract(dict(right.terms))
        terms = {one: coefficient for one, coefficient in total.items() if coefficient}
        if not terms:
            self.fail("two sides are compared that never differ.", "Name an attribute.")
        constant = right.constant - left.constant
        if len(terms) == 1 and min(terms.values()) < 0:
            terms = {one: -coefficient for one, coefficient in terms.items()}
            sign, constant = MIRRORED[sign], -constant
        plain = all(side.alone or not side.terms for side in (left, right))
        return Linear(
            terms=tuple(terms.items()),
            operator=sign,
            constant=float(constant),
            by_value=plain and sign in ("=", "!="),
        )

    def _missing(self, ref: Ref | None, negated: bool, start: int) -> Condition:
        if ref is None:
            self.at = start
            self.expected("one attribute before `missing`")
        attribute = attribute_of(self.schema, ref)
        if ref.level in ("count", "role") or not attribute.missing:
            fix = "Declare it with `missing: true` if blanks occur, or leave the condition out."
            self.fail(f"{whose(ref)} is never blank.", fix)
        return Missing(ref=ref, negated=negated)

    def _equal(self, ref: Ref, *, negated: bool) -> Condition | None:
        """An attribute and a value of it, or another attribute; None if it is about numbers."""
        attribute = attribute_of(self.schema, ref)
        before = self.at
        found = None if self.looking_at("(") else self.meaning(ref)
        sums = found is None or (has_numbers(attribute) and self.looking_at("+-"))
        self.at = before
        if self.looking_at("(") or not sums:
            values = self._values(ref)
            if len(values) == 1 and isinstance(values[0], float):
                operator, terms = "!=" if negated else "=", ((ref, 1.0),)
                return Linear(terms=terms, operator=operator, constant=values[0], by_value=True)
            return _listed(ref, values, negated=negated)
        other = self.ref()
        if other is not None:
            theirs = attribute_of(self.schema, other)
            if kind_of_values(attribute) != kind_of_values(theirs) or (ref.level == "role") != (
                other.level == "role"
            ):
                what = f"{whose(ref)} and {whose(other)} have no values in common."
                self.fail(what, "Compare attributes of one kind.")
            if not has_numbers(attribute):
                if ref == other:
                    self.fail(f"{whose(ref)} is compared with itself.", "Remove it.")
                return Same(left=ref, right=other, negated=negated)
            self.at = before
        if isinstance(attribute, Categorical) and other is None and not self.looking_at("+-"):
            self._unknown_value(ref, attribute)
        return None

    def _values(self, ref: Ref) -> list[Meaning]:
        """One value, or several: in brackets, or with `or` between them."""
        brackets = self.symbol("(")
        found = [self._value(ref)]
        while (brackets and self.symbol(",")) or self._another(ref):
            found.append(self._value(ref))
        if brackets:
            self.close()
        return found

    def _another(self, ref: Ref) -> bool:
        """Pass over `or`, if a value comes after it and not another condition."""
        before = self.at
        if self.match(_OR) is not None:
            start = self.at
            if self.meaning(ref) is not None and not _COMPARED.match(self.text, self.at):
                self.at = start
                return True
        self.at = before
        return False

    def _value(self, ref: Ref) -> Meaning:
        found = self.meaning(ref)
        if found is None:
            self._unknown_value(ref, attribute_of(self.schema, ref))
        return found

    def meaning(self, ref: Ref) -> Meaning | None:
        """Pass over a value, a label or a range of an attribute, the longest that fits."""
        self.skip()
        attribute, start = attribute_of(self.schema, ref), self.at
        spelled = find_value(self.schema, ref, self.text, start)
        low = self.signed()
        if low is not None and self.match(self.through) is not None:
            high = self.signed()
            if high is None and spelled is None:
                self.expected("the number that the range ends with")
            if high is not None and (spelled is None or self.at > spelled[1]):
                return self._range(ref, attribute, low, high)
        self.at = start if spelled is None else spelled[1]
        if spelled is None and attribute.missing and (self.word("missing") or self.word("blank")):
            return BLANK
        return None if spelled is None else spelled[0]

    def _range(self, ref: Ref, attribute: Attribute, low: Fraction, high: Fraction) -> Meaning:
        if not has_numbers(attribute):
            self.fail(f"{whose(ref)} has no numbers.", self.known(attribute))
        if high < low:
            fix = f"Write {float(high):g}..{float(low):g}."
            self.fail(f"the range {float(low):g}..{float(high):g} is empty.", fix)
        if isinstance(attribute, Numeric):
            return Range(low=float(low), high=float(high))
        listed = enumerate(attribute.values)
        codes = frozenset(code for code, value in listed if low <= fraction_of(value) <= high)
        if not codes:
            what = f"{whose(ref)} has no value from {float(low):g} to {float(high):g}."
            self.fail(what, self.known(attribute))
        return codes

    def known(self, attribute: Attribute, word: str = "") -> str:
        """What a value could be."""
        return known_values(attribute, word)

    def _unknown_value(self, ref: Ref, attribute: Attribute) -> NoReturn:
        self.skip()
        quoted = QUOTED.match(self.text, self.at)
        found = re.compile(r"(?:(?!\s+(?:and|or)\b)[^,;|()])+").match(self.text, self.at)
        word = quoted[0][1:-1] if quoted else found[0].strip() if found else ""
        if not word:
            self.expected(f"a value of {whose(ref)}")
        if word == "missing" and ref.level not in ("count", "role"):
            self.fail("a blank is no value.", f"Write `{whose(ref)} missing`.")
        if ref.level == "role" and self.schema.roles is not None:
            for name, role in self.schema.roles.roles.items():
                if word in map(spelling, role.values):
                    what = f"{' and '.join(map(spelling, role.values))} all mean {name}."
                    self.fail(what, f"Write `{ref.name} = {name}`.")
        self.fail(f"{whose(ref)} has no value {shown(word)}.", self.known(attribute, word))

    def _numbers(self, terms: Iterable[Ref], operator: str) -> None:
        """Only numbers can be added, and compared in order."""
        for ref in terms:
            attribute = attribute_of(self.schema, ref)
            if not has_numbers(attribute):
                fix = "Compare it with = or in."
                self.fail(
                    f"{whose(ref)} is {kind_of_values(attribute)}, and {operator} needs numbers.",
                    fix,
                )

    def _sum(self) -> _Sum:
        """Numbers and attributes with + and - between them."""
        terms: Counter[Ref] = Counter()
        constant, items = Fraction(0), 0
        sign = -1 if self.symbol("-") else 1
        while True:
            items += 1
            number = self.number()
            if number is not None:
                constant += sign * number
            else:
                terms[self.needed_ref()] += sign
            if not self.looking_at("+-"):
                break
            sign = 1 if self.symbol("+") else -self.symbol("-")
        if items > 1:
            self._numbers(terms, "+")
        return _Sum(terms=terms, constant=constant, items=items)

    def needed_ref(self) -> Ref:
        """Pass over the name of an attribute; refuse anything else."""
        found = self.ref()
        if found is None:
            self.unknown_name()
        return found

    def ref(self) -> Ref | None:
        """The attribute that stands here, the longest name that fits."""
        self.skip()
        quoted = re.compile(r"`([^`]+)`").match(self.text, self.at)
        if quoted:
            if quoted[1] not in self.names:
                self.unknown_name(quoted[1])
            name, length = quoted[1], len(quoted[0])
        else:
            here = self.name_here()
            if here is None:
                return None
            name, length = here, len(here)
        found = self.names[name]
        if found is None:
            tables = " or ".join(f"{table}.{name}" for table in self.schema.table_names)
            self.fail(f"attribute {name!r} is in both tables.", f"Write {tables}.")
        self.at += length
        return found

    def name_here(self) -> str | None:
        """The longest name of an attribute that stands here."""
        rest = self.text[self.at :]
        fits = [one for one in self.names if _bare(one) and begins(rest, one)]
        return max(fits, key=len, default=None)

    def unknown_name(self, word: str | None = None) -> NoReturn:
        """Refuse a name that means nothing."""
        self.skip()
        found = _WORD.match(self.text, self.at)
        if word is None and (found is None or not found[0][0].isalpha() or found[0] in KEYWORDS):
            self.expected("a number or an attribute")
        word = word or (found[0] if found else "")
        role, dot, name = word.partition(".")
        roles = self.schema.roles.names if self.schema.roles else ()
        known = [one for one in self.names if "." not in one]
        if dot and role in roles:
            people = list(self.schema.individual_attributes)
            self.fail(f"{role} has no attribute {name!r}.", did_you_mean(name, people))
        if dot and roles:
            self.fail(f"role {role!r} is unknown.", did_you_mean(role, roles))
        if dot:
            fix = "Declare `roles:`, or write the attribute alone."
            self.fail(f"{word} names a role, and there are none.", fix)
        self.fail(f"attribute {word!r} is unknown.", did_you_mean(word, known))


def _bare(name: str) -> bool:
    return (name[0].isalpha() or name[0] == "_") and name.lower() not in KEYWORDS


def _listed(ref: Ref, values: Iterable[Meaning], *, negated: bool) -> Condition:
    """An attribute is, or is not, one of some values."""
    found = list(values)
    if found == [BLANK]:
        return Missing(ref=ref, negated=negated)
    return Listed(
        ref=ref,
        codes=frozenset().union(*(one for one in found if isinstance(one, frozenset))),
        numbers=frozenset(one for one in found if isinstance(one, float)),
        ranges=tuple(one for one in found if isinstance(one, Range)),
        blank=BLANK in found,
        negated=negated,
    )
