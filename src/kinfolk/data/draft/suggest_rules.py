"""Rules that the data suggests, for comments: what never occurs although it could be expected to.

Guarantee: none. A zero in the data is no proof that something cannot be, and a rule that was read
off the data leaks like a value that was: whoever uses one has found it in a codebook.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kinfolk._typing import Bools, Floats, Ints
from kinfolk.data.draft.hints import RoleGuess, name_in_rule, value_in_rule
from kinfolk.data.draft.links import Membership
from kinfolk.data.draft.profile import Profile
from kinfolk.errors import Findings
from kinfolk.schema import Attribute, Categorical, Numeric, Schema, Value
from kinfolk.schema.rules import check_rules

MOST = 26
"""Rules that are suggested, ..."""
OF_A_KIND = (10, 4, 10, 3, 3)
"""... and how many of each kind at most, from the surest to the least sure."""
ENOUGH = 30
"""What would be expected to occur so often, and does not, is no accident."""
MOST_AGES = 150
"""An attribute with more whole numbers than that is no age."""
MOST_VALUES = 40
"""Attributes with more categories than that are not looked at one by one."""
ROUND = (1, 2, 3, 5, 6, 10, 12, 14, 15, 16, 18, 20, 21, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70)
"""Limits that somebody could name who has not seen the data."""
LONGEST = 96
"""A longer rule is nothing to read."""
GAP = 12
"""Years that parents are older than children, at least, where the data do not say less."""


@dataclass(frozen=True, kw_only=True, order=True)
class Suggestion:
    """A rule, and how surprising it is that the data keep it."""

    rank: int
    """What kind of rule it is: 0 for the surest."""
    expected: float
    """Minus how often it would be broken if its parts had nothing to do with each other."""
    text: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Column:
    """One attribute of the individuals, as numbers that are equal where the values are."""

    name: str
    written: str
    """Its name in a rule."""
    attribute: Attribute
    codes: Ints
    """(people,) which of `values` each has; the last code is that for nothing."""
    values: Sequence[Value]
    nothing: Value | None
    """What stands for nothing, such as -9; None where that is a blank."""

    @staticmethod
    def of(profile: Profile, attribute: Attribute, *, table: str | None) -> Column:
        """A column of the file; `table` is needed to name it where both have such a column."""
        nothing = None if profile.blanks else _nothing(attribute)
        values = [value for value in profile.tally if value != nothing]
        if profile.kind == "text":
            places = {value: code for code, value in enumerate(values)}
            codes = np.array([places.get(cell, len(values)) for cell in profile.at()], np.int64)
        else:
            cells = np.asarray(profile.at(), dtype=float)
            codes = np.searchsorted(np.array(values, dtype=float), cells).astype(np.int64)
            codes[np.isnan(cells) | (cells == nothing)] = len(values)
        return Column(
            name=profile.name,
            written=name_in_rule(profile.name, table=table),
            attribute=attribute,
            codes=codes,
            values=values,
            nothing=nothing,
        )

    @cached_property
    def blank(self) -> Bools:
        """(people,) where there is nothing."""
        return np.asarray(self.codes == len(self.values))

    @cached_property
    def numbers(self) -> Floats:
        """(people,) the values themselves; blank is NaN."""
        return np.array([*self.values, np.nan], dtype=float)[self.codes]

    @cached_property
    def is_age(self) -> bool:
        """Whether limits can be drawn in it: many whole numbers, never blank, from 0 upwards."""
        return (
            isinstance(self.attribute, Numeric)
            and self.attribute.integer
            and all(one >= 0 for one in self.attribute.special)
            and not self.blank.any()
            and len(self.values) <= MOST_AGES
            and self.numbers.min() >= 0
            and self.numbers.max() > 20
        )

    def listed(self, codes: Sequence[int]) -> str:
        """That it has one of these values."""
        words = [value_in_rule(self.values[code]) for code in codes]
        if len(words) == 1:
            return f"{self.written} = {words[0]}"
        return f"{self.written} in ({', '.join(words)})"

    @property
    def lists(self) -> bool:
        """Whether it has few categories, which can be named one by one."""
        return isinstance(self.attribute, Categorical) and len(self.values) <= MOST_VALUES

    def parts(self) -> Iterator[tuple[str, Bools]]:
        """What can be said of it as a whole: that it is blank, that it is not, that it is not 0."""
        if self.blank.any():
            no, some = f"{self.written} missing", f"{self.written} not missing"
            if self.nothing is not None:
                word = value_in_rule(self.nothing)
                no, some = f"{self.written} = {word}", f"{self.written} != {word}"
            yield some, ~self.blank
            yield no, self.blank
        elif isinstance(self.attribute, Numeric) and not self.is_age and self.numbers.min() == 0:
            yield f"{self.written} > 0", self.numbers > 0


def _nothing(attribute: Attribute) -> Value | None:
    """The one negative code among others that are not, which stands for nothing."""
    codes = attribute.special if isinstance(attribute, Numeric) else attribute.values
    negative = [one for one in codes if not isinstance(one, str) and one < 0]
    return negative[0] if len(negative) == 1 else None


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Rules to suggest, the most useful first."""

    plain: tuple[str, ...] = ()
    of_roles: tuple[str, ...] = ()
    """Those that are about members in roles."""


NO_RULES = Rules()


def suggest_rules(
    people: Mapping[str, tuple[Profile, Attribute]],
    homes: Mapping[str, tuple[Profile, Attribute]],
    groups: Membership,
    *,
    roles: RoleGuess | None,
    count: str,
    tables: tuple[str, str],
) -> Rules:
    """Rules that the tables keep.

    What is blank exactly where an age or an activity says so comes first, then ages of roles, then
    categories that do not occur with others.
    """
    both = people.keys() & homes.keys()
    own, columns = (
        [Column.of(*one, table=table if name in both else None) for name, one in columns.items()]
        for table, columns in zip(tables, (homes, people), strict=True)
    )
    role = roles.column if roles is not None and roles.roles else None
    plain = [one for one in columns if one.name != role]
    found = [*_limits(plain), *_universes(plain), *_pairs(plain), *_sizes(own, groups, count)]
    found += _adults(plain, groups)
    related = list(_roles(columns, groups, roles)) if roles is not None and role else []
    chosen = [
        one
        for rank, most in enumerate(OF_A_KIND)
        for one in sorted(o for o in found if o.rank == rank and len(o.text) <= LONGEST)[:most]
    ]
    of_roles = tuple(one.text for one in sorted(related))[: MOST // 3]
    texts = tuple(dict.fromkeys(one.text for one in chosen))
    return Rules(plain=texts[: MOST - len(of_roles)], of_roles=of_roles)


def sensible(rules: Rules, schema: Schema, with_roles: Schema | None) -> Rules:
    """Those that the drafted schema understands, without and with roles, one by one and all."""
    of_roles = _accepted(rules.of_roles, with_roles) if with_roles is not None else ()
    return Rules(plain=_accepted(rules.plain, schema), of_roles=of_roles)


def _accepted(texts: Sequence[str], schema: Schema) -> tuple[str, ...]:
    good: list[str] = []
    for text in texts:
        findings = Findings()
        check_rules([*good, text], schema, findings)
        if not findings.problems:
            good.append(text)
    return tuple(good)


def _limits(columns: Sequence[Column]) -> Iterator[Suggestion]:
    """Below or above an age, nobody has something."""
    for age in (one for one in columns if one.is_age):
        for other in columns:
            if other is age:
                continue
            known = np.zeros(len(age.codes), np.bool_)
            for text, part in other.parts():
                limit = age.numbers[part].min()
                exact = bool((part == (age.numbers >= limit)).all())
                if not exact:
                    limit = _below(limit)
                expected = float((age.numbers < limit).mean() * part.sum())
                if expected >= ENOUGH:
                    known |= age.numbers < limit
                    yield _made(
                        0 if other.blank.any() else 1,
                        expected,
                        f"{age.written} < {limit:g} and {text}",
                    )
                top = age.numbers[part].max()
                expected = float((age.numbers > top).mean() * part.sum())
                if expected >= ENOUGH and bool((part == (age.numbers <= top)).all()):
                    yield _made(1, expected, f"{age.written} > {top:g} and {text}")
            if other.lists:
                yield from _limited(age, other, known)


def _limited(age: Column, other: Column, known: Bools) -> Iterator[Suggestion]:
    """Categories that nobody below an age has, in one rule for every age."""
    alike: dict[float, list[int]] = {}
    share: dict[float, float] = {}
    for code in range(len(other.values)):
        part = other.codes == code
        limit = _below(float(age.numbers[part].min())) if part.any() else 0.0
        # What follows from a limit for all categories is not said again.
        expected = float(((age.numbers < limit) & ~known).mean() * part.sum())
        if expected >= ENOUGH:
            alike.setdefault(limit, []).append(code)
            share[limit] = share.get(limit, 0.0) + expected
    for limit, codes in alike.items():
        yield _made(3, share[limit], f"{age.written} < {limit:g} and {other.listed(codes)}")


def _universes(columns: Sequence[Column]) -> Iterator[Suggestion]:
    """What is filled in with some categories of another attribute only."""
    for lists in (one for one in columns if one.lists):
        people = np.bincount(lists.codes, minlength=len(lists.values) + 1)
        there = ~lists.blank
        for other in columns:
            if other is lists:
                continue
            for text, part in other.parts():
                having = np.bincount(lists.codes[part], minlength=len(people))
                usual = part[there].mean() * people
                never = [code for code in range(len(lists.values)) if not having[code]]
                surely = float(usual[:-1][having[:-1] == 0].sum())
                some = [code for code in range(len(lists.values)) if having[code]]
                if not never or not some or surely < ENOUGH:
                    continue
                said = lists.listed(never)
                if len(some) < len(never):
                    # A code for nothing is a value like others in a rule, and is not meant.
                    nothing = [] if lists.nothing is None else [lists.nothing]
                    others = [*nothing, *(lists.values[code] for code in some)]
                    words = ", ".join(value_in_rule(value) for value in others)
                    # A blank is in no list that does not name it.
                    words += ", missing" if having[-1] and lists.nothing is None else ""
                    said = f"{lists.written} not in ({words})"
                exact = bool((having[some] == people[some]).all())
                filled = " not missing" in text or " != " in text
                yield _made(1 if exact or filled else 3, surely, f"{text} and {said}")


def _pairs(columns: Sequence[Column]) -> Iterator[Suggestion]:
    """Categories of two attributes that do not occur together."""
    lists = [one for one in columns if one.lists]
    for at, one in enumerate(lists):
        for other in lists[at + 1 :]:
            width = len(other.values) + 1
            cells = np.bincount(
                one.codes * width + other.codes, minlength=(len(one.values) + 1) * width
            )
            joint = cells.reshape(-1, width)[:-1, :-1]
            total = max(1, int(joint.sum()))
            usual = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True) / total
            yield from _condensed(one, other, (joint == 0) & (usual >= ENOUGH), usual)


def _condensed(one: Column, other: Column, never: Bools, usual: Floats) -> Iterator[Suggestion]:
    """One rule for all categories of `one` that miss the same ones of `other`."""
    alike: dict[tuple[int, ...], list[int]] = {}
    for code, row in enumerate(never):
        missed = tuple(np.flatnonzero(row).tolist())
        if missed:
            alike.setdefault(missed, []).append(code)
    for missed, codes in alike.items():
        expected = float(usual[np.ix_(codes, missed)].sum())
        yield _made(4, expected, f"{one.listed(codes)} and {other.listed(missed)}")


def _sizes(columns: Sequence[Column], groups: Membership, count: str) -> Iterator[Suggestion]:
    """Categories of the group that only groups of some sizes have."""
    sizes = groups.sizes
    for column in (one for one in columns if one.lists):
        for sign, ends in (("<", np.min), (">", np.max)):
            alike: dict[int, list[int]] = {}
            expected: dict[int, float] = {}
            for code in range(len(column.values)):
                part = column.codes == code
                limit = int(ends(sizes[part]))
                beyond = sizes < limit if sign == "<" else sizes > limit
                usual = float(beyond.mean() * part.sum())
                if usual >= ENOUGH:
                    alike.setdefault(limit, []).append(code)
                    expected[limit] = expected.get(limit, 0.0) + usual
            for limit, codes in alike.items():
                text = f"{column.listed(codes)} and {count} {sign} {limit}"
                yield _made(2, expected[limit], text)


def _adults(columns: Sequence[Column], groups: Membership) -> Iterator[Suggestion]:
    """Every group has somebody who is old enough."""
    for age in (one for one in columns if one.is_age):
        oldest = np.full(groups.count, -1.0)
        np.maximum.at(oldest, groups.group_of, age.numbers)
        limit = _below(float(oldest[oldest >= 0].min()))
        young = float((age.numbers < limit).mean()) * groups.count
        if limit >= 10 and young >= ENOUGH:
            yield _made(2, young, f"no person with {age.written} >= {limit:g}")


def _roles(
    columns: Sequence[Column], groups: Membership, guess: RoleGuess | None
) -> Iterator[Suggestion]:
    """How old members in a role are, by themselves and beside the head."""
    if guess is None:
        return
    named = next((one for one in columns if one.name == guess.column), None)
    for age in (one for one in columns if one.is_age and named is not None):
        assert named is not None  # noqa: S101  (mypy does not see the condition above)
        for name, role in guess.roles.items():
            own = name_in_rule(age.name, table=name)
            codes = [code for code, value in enumerate(named.values) if value in role.values]
            part = np.isin(named.codes, codes)
            if not part.any():
                continue
            limit = _below(float(age.numbers[part].min()))
            expected = float((age.numbers < limit).mean() * part.sum())
            if limit >= 10 and expected >= ENOUGH:
                yield _made(0, expected, f"{own} < {limit:g}")
            if name == "child" and guess.heads is not None and int(part.sum()) >= ENOUGH:
                heads = guess.heads[groups.group_of[part]]
                gap = min(GAP, int((age.numbers[heads] - age.numbers[part])[heads >= 0].min()))
                if gap > 0:
                    head = name_in_rule(age.name, table="head")
                    text = f"{own} > {head} - {gap}"
                    yield _made(0, float(part.sum()), text)


def _below(limit: float) -> float:
    """The largest round number that is not above."""
    return float(max((one for one in ROUND if one <= limit), default=0))


def _made(rank: int, expected: float, text: str) -> Suggestion:
    return Suggestion(rank=rank, expected=-expected, text=text)
