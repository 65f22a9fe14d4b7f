"""What columns look like: roles, a survey weight, and what is computed from the members."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from kinfolk._typing import Bools, Floats, Ints
from kinfolk.data.draft.ages import AGE
from kinfolk.data.draft.infer_attribute import MOST_CODES, looks_like_id
from kinfolk.data.draft.links import Membership
from kinfolk.data.draft.profile import LeftOut, Profile
from kinfolk.errors import SchemaError
from kinfolk.schema import Attribute, Categorical, Numeric, Role, Roles, Schema, Value
from kinfolk.schema.attributes import text_of
from kinfolk.schema.language import KEYWORDS
from kinfolk.schema.roles import OTHER_ROLE

NAMES = (
    "relate", "related", "relp", "relshipp", "relationship", "relation", "rel", "relhh", "role",
    "relationshiptohead", "relationtohead", "reltohead", "relationshiptohouseholder", "hhrel",
)  # fmt: skip
"""Names of the column in published data, in lower case, letters only."""

_RELSHIPP = {"head": (20,), "spouse": (21, 23), "child": (25, 26, 27), "parent": (29,)}
_RELP = {"head": (0,), "spouse": (1,), "child": (2, 3, 4), "parent": (6,)}
CODEBOOKS = (
    _RELSHIPP,  # ACS, since 2019
    _RELSHIPP | {"head": (20, 37, 38)},  # ... with people in group quarters, each of whom is alone
    _RELP,  # ACS, until 2018
    _RELP | {"head": (0, 16, 17)},
    {"head": (1,), "spouse": (2,), "child": (3,), "parent": (5,)},  # IPUMS RELATE
)
"""Public codes of who somebody is."""

WORDS = {
    "head": r"head|householder|reference person|self",
    "spouse": r"(?<!ex-)(spouse|husband|wife)",
    "child": r"(?<!grand)(?<!foster )(child|son|daughter)(?!.*in.law)",
    "parent": r"(?<!grand)(?<!foster )(parent|father|mother)(?!.*in.law)",
}

RELATIONS = {
    "married_to": (("head", "spouse"), ("spouse", "head")),
    "has_child": (("head", "child"), ("spouse", "child"), ("parent", "head")),
    "has_parent": (("child", "head"), ("child", "spouse"), ("head", "parent")),
}
"""Who is related how to whom, by their roles."""


@dataclass(frozen=True, kw_only=True)
class RoleGuess:
    """Roles as the data suggests them."""

    column: str
    values: tuple[Value, ...]
    """Everything that occurs in the column."""
    roles: Mapping[str, Role]
    """The roles recognised; none where the codes are unknown."""
    heads: Ints | None
    """(groups,) the row of every group's head; -1 for a group without members."""

    @property
    def others(self) -> Literal["drop", "keep"]:
        """What becomes of people without a role; there are none where every value has one."""
        known = {value for role in self.roles.values() for value in role.values}
        return "drop" if known >= set(self.values) else "keep"

    @property
    def relations(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """Relations between the roles recognised."""
        pairs = {
            name: tuple(pair for pair in known if set(pair) <= self.roles.keys())
            for name, known in RELATIONS.items()
        }
        return {name: known for name, known in pairs.items() if known}

    def applied(self, schema: Schema) -> Schema | None:
        """The schema with these roles and relations, if it can have them."""
        own = schema.individual
        attributes = {name: one for name, one in own.attributes.items() if name != self.column}
        try:
            return replace(
                schema,
                individual=replace(own, attributes=attributes),
                roles=Roles(column=self.column, roles=dict(self.roles), others=self.others),
                relations=self.relations,
            )
        except SchemaError:
            # No role, no other attribute, or too many ways to make up a group.
            return None


def name_in_rule(name: str, *, table: str | None = None) -> str:
    """A column's name in a rule or a formula; the table's before it where both have such a one."""
    plain = all(re.fullmatch(r"[A-Za-z_]\w*", one) for one in (name, table or "x"))
    plain = plain and name.lower() not in KEYWORDS
    whole = f"{table}.{name}" if table else name
    return whole if plain else f"`{whole}`"


def value_in_rule(value: Value) -> str:
    """A value in a rule or a formula.

    >>> [value_in_rule(value) for value in (3, "self-employed", "no", "3+")]
    ['3', 'self-employed', "'no'", "'3+'"]
    """
    if not isinstance(value, str):
        return text_of(value)
    plain = re.fullmatch(r"[^\W\d_][\w-]*", value) and value.lower() not in KEYWORDS
    quote = '"' if "'" in value else "'"
    return value if plain else f"{quote}{value}{quote}"


def has_role_name(name: str) -> bool:
    """Whether a column is called like one that says who somebody is."""
    return re.sub(r"[^a-z]", "", name.lower()) in NAMES


def guess_roles(
    profiles: Mapping[str, Profile],
    groups: Membership,
    labels: Mapping[str, Mapping[Value, str]],
) -> RoleGuess | None:
    """Look for a column of roles; nothing is decided by it. labels: of values, by column."""
    for profile in profiles.values():
        if has_role_name(profile.name) and 1 < len(profile.tally) <= 64 and not profile.blanks:
            return _guess(profile, groups, labels.get(profile.name, {}))
    return None


def _guess(profile: Profile, groups: Membership, labels: Mapping[Value, str]) -> RoleGuess:
    roles: dict[str, Role] = {}
    heads: Ints | None = None
    for codes in _readings(profile, labels):
        rows = _rows(profile, codes["head"])
        counts = np.bincount(groups.group_of[rows], minlength=groups.count)
        if not np.array_equal(counts, np.minimum(groups.sizes, 1)):
            continue
        heads = np.full(groups.count, -1, np.int64)
        heads[groups.group_of[rows]] = rows
        left = [one for one in profile.tally if all(one not in v for v in codes.values())]
        if len(left) == 1:
            codes = {**codes, OTHER_ROLE: (left[0],)}
        for name, values in codes.items():
            held = np.bincount(groups.group_of[_rows(profile, values)], minlength=groups.count)
            if held.any():
                roles[name] = Role(
                    values=values, min=int(name == "head"), max=max(1, int(held.max()))
                )
        break
    return RoleGuess(column=profile.name, values=tuple(profile.tally), roles=roles, heads=heads)


def _readings(profile: Profile, labels: Mapping[Value, str]) -> list[dict[str, tuple[Value, ...]]]:
    """Ways to read the values as roles, each with a head: by what they say, then by their codes."""
    values = list(profile.tally)
    said = {value: labels.get(value, str(value)).lower() for value in values}
    readings: list[dict[str, tuple[Value, ...]]] = [
        {
            name: tuple(v for v in values if re.search(rf"\b({words})\b", said[v]))
            for name, words in WORDS.items()
        }
    ]
    if profile.kind == "text":
        digits = {v: int(str(v)) for v in values if re.fullmatch(r"[0-9]{1,4}", str(v))}
        for book in CODEBOOKS:
            readings.append(
                {
                    name: tuple(v for v in digits if digits[v] in codes)
                    for name, codes in book.items()
                }
            )
    else:
        readings += [dict(book) for book in CODEBOOKS if set(book["head"]) & set(values)]
    return [
        {name: codes for name, codes in reading.items() if codes}
        for reading in readings
        if reading["head"]
    ]


def _rows(profile: Profile, values: tuple[Value, ...]) -> Ints:
    cells = profile.at()
    mask = np.zeros(len(cells), bool)
    for value in values:
        mask |= cells == value
    return np.flatnonzero(mask)


WEIGHT = re.compile(
    r"(?i)((h|hh|house|household|fam|family|sample|sampling|survey|design|final)_?)?"
    r"(weights?|wei?ght|wgt|wt)(_?(h|hh|house|household))?|wgtp|db090"
)
"""Names of the weight of a household; DB090 is that of EU-SILC."""


def find_weight(homes: Mapping[str, Profile | LeftOut]) -> str | None:
    """The group column that looks like a survey weight: by its name, and with many values."""
    for name, profile in homes.items():
        if (
            isinstance(profile, Profile)
            and WEIGHT.fullmatch(name)
            and profile.kind == "number"
            and not profile.blanks
            and len(profile.tally) > MOST_CODES
            and profile.numbers[0] >= 0
            and not looks_like_id(profile)
        ):
            return name
    return None


ENOUGH = 20
"""With fewer groups, two columns agree by chance."""
MOST_VALUES = 25
"""Members are counted by columns with at most this many values."""
AGES = (5, 6, 15, 16, 18, 60, 65, 75)
"""Ages at which members are counted, as `under` and as `at least`."""

Test = Callable[[Floats], Bools]


@dataclass(frozen=True, kw_only=True)
class Computed:
    """What a column looks computed from."""

    text: str
    """In words."""
    formula: str | None
    """As a schema would say it, if it can and if that gives all groups what they have."""
    heads: str | None = None
    """The column of the individuals whose value for the head it is."""

    def declared(self, own: Attribute, people: Mapping[str, Attribute]) -> Attribute:
        """The attribute as one that is computed, with room for whatever the formula can give."""
        theirs = people.get(self.heads or "")
        if isinstance(own, Numeric) and isinstance(theirs, Numeric) and own.labels is None:
            low, *inner, high = own.bins
            low, high = min(low, theirs.bins[0]), max(high, theirs.bins[-1])
            own = replace(own, bins=[low, *inner, high])
        elif isinstance(own, Categorical) and isinstance(theirs, Categorical):
            own = replace(theirs, title=own.title, missing=own.missing or theirs.missing)
        return replace(own, derived=True)


@dataclass(frozen=True, eq=False)
class Recipe:
    """One way to compute a number per group from one column of its members."""

    text: str
    formula: str | None
    profile: Profile
    test: Test | None
    """Which members are counted; None takes the head's value instead."""

    def cook(self, column: Floats, groups: Membership, lead: Ints) -> Floats:
        """(groups,) column: (people,); lead: (groups,) the head's row, -1 where there is none."""
        if self.test is not None:
            held = groups.group_of[self.test(column)]
            return np.bincount(held, minlength=groups.count).astype(float)
        numbers = np.full(groups.count, math.nan)
        numbers[lead >= 0] = column[lead[lead >= 0]]
        return numbers


def find_computed(
    homes: Mapping[str, Profile],
    people: Mapping[str, Profile],
    groups: Membership,
    heads: Ints | None,
) -> dict[str, Computed]:
    """Say for group columns what they look computed from; a suggestion, not a proof."""
    if groups.count < ENOUGH:
        return {}
    lead = groups.firsts if heads is None else heads
    who = "the first member" if heads is None else "the head"
    wanted: dict[bytes, list[str]] = {}
    for name, profile in homes.items():
        wanted.setdefault(_coded(profile).tobytes(), []).append(name)
    found: dict[str, Computed] = {}
    for profile in people.values():
        column = _coded(profile)
        for recipe in _recipes(profile, who, led=heads is not None):
            # Which table is meant, a formula would have to say.
            formula = None if profile.name in homes and recipe.test else recipe.formula
            cooked = recipe.cook(column, groups, lead)
            if not (cooked == cooked[0]).all():
                for name in wanted.get(cooked.tobytes(), []):
                    led = profile.name if recipe.test is None and heads is not None else None
                    computed = Computed(text=recipe.text, formula=formula, heads=led)
                    found.setdefault(name, computed)
    ages = [recipe for profile in people.values() for recipe in _by_age(profile)]
    for name, profile in homes.items():
        if ages and name not in found and profile.whole and profile.numbers[0] == 0:
            nearly = _nearly(_coded(profile), ages, groups, lead)
            found |= {name: Computed(text=nearly, formula=None)} if nearly else {}
    return {name: found[name] for name in homes if name in found}


def _recipes(profile: Profile, who: str, *, led: bool) -> Iterator[Recipe]:
    named = name_in_rule(profile.name)
    yield Recipe(f"the {profile.name} of {who}", f"head.{named}" if led else None, profile, None)
    yield from _by_age(profile)
    if len(profile.tally) > MOST_VALUES:
        return
    for value in profile.tally:
        shown, code = text_of(value), _code(value)
        is_it, is_not = partial(np.equal, code), partial(_differs, code=code)
        text, word = f"the number of members with {profile.name}", value_in_rule(value)
        yield Recipe(f"{text} {shown}", f"count({named} = {word})", profile, is_it)
        yield Recipe(f"{text} not {shown}", f"count({named} != {word})", profile, is_not)


def _by_age(profile: Profile) -> Iterator[Recipe]:
    if profile.kind == "number" and AGE.fullmatch(profile.name):
        text, named = f"the number of members with {profile.name}", name_in_rule(profile.name)
        for age in AGES:
            younger, older = partial(np.greater, age), partial(np.less_equal, age)
            yield Recipe(f"{text} under {age}", f"count({named} < {age})", profile, younger)
            yield Recipe(f"{text} of at least {age}", f"count({named} >= {age})", profile, older)


def _nearly(column: Floats, recipes: list[Recipe], groups: Membership, lead: Ints) -> str | None:
    """A count by age that agrees with the column far better than its commonest value does."""
    if np.nanmax(column) > groups.sizes.max():
        return None
    _, counts = np.unique(column, return_counts=True)
    best, text = 0.25 * (1 - counts.max() / len(column)), None
    for recipe in recipes:
        cooked = recipe.cook(_coded(recipe.profile), groups, lead)
        wrong = float((cooked != column).mean())
        if wrong < best:
            best, text = wrong, recipe.text
    return f"{text}, in nearly every group" if text else None


def _differs(column: Floats, *, code: float) -> Bools:
    return np.not_equal(column, code) & ~np.isnan(column)


def _coded(profile: Profile) -> Floats:
    """(rows,) values as numbers that are equal where the values are; blank is NaN."""
    cells = profile.at()
    if profile.kind == "text":
        codes = {value: _code(value) for value in profile.tally} | {None: math.nan}
        return np.array([codes[cell] for cell in cells], dtype=float)
    # Adding zero turns -0.0 into 0.0, which has other bytes.
    return np.asarray(cells, dtype=float) + 0.0


def _code(value: Value) -> float:
    # A text gets a number that is not whole, so that it never equals a count.
    return hash(value) % 2**50 + 0.5 if isinstance(value, str) else float(value)
