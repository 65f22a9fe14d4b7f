"""What a condition is made of, once it has been read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from kinfolk.schema.attributes import Attribute, Numeric
from kinfolk.schema.names import AttributeNames

if TYPE_CHECKING:
    from kinfolk.schema.schema import Schema


@dataclass(frozen=True, kw_only=True)
class Ref:
    """An attribute that a condition names, and whose it is."""

    level: Literal["group", "count", "individual", "role"]
    """The group's, its size, a person's, or the role column."""
    name: str
    """The column; for the size, its name in queries."""
    of: str | None = None
    """The role of the member that is meant; None for the person that a condition is about."""


@dataclass(frozen=True, kw_only=True)
class Linear:
    """coefficient * attribute + ... compared with a number."""

    terms: tuple[tuple[Ref, float], ...]
    operator: str
    constant: float
    by_value: bool = False
    """Whether it asks if values are the same, which codes can be that are no quantities."""


@dataclass(frozen=True, kw_only=True)
class Range:
    """Numbers from low to high."""

    low: float
    high: float
    closed: bool = True
    """Whether it includes its upper end."""


@dataclass(frozen=True, kw_only=True)
class Listed:
    """An attribute is, or is not, one of several values."""

    ref: Ref
    codes: frozenset[int] = frozenset()
    """Categories, of an attribute that has a list of values, of the size or the role column."""
    numbers: frozenset[float] = frozenset()
    """Numbers, of an attribute that has bins."""
    ranges: tuple[Range, ...] = ()
    blank: bool = False
    """Whether a blank is among them; it never is among the others."""
    negated: bool = False


@dataclass(frozen=True, kw_only=True)
class Same:
    """Two attributes with lists of values have the same value, or have not."""

    left: Ref
    right: Ref
    negated: bool = False


@dataclass(frozen=True, kw_only=True)
class Missing:
    """An attribute is blank, or is not."""

    ref: Ref
    negated: bool = False


@dataclass(frozen=True, kw_only=True)
class Both:
    """`and`, `or`."""

    parts: tuple[Condition, ...]
    any: bool
    """Whether one of the parts is enough: `or`."""


@dataclass(frozen=True, kw_only=True)
class Not:
    """A condition does not hold."""

    part: Condition


@dataclass(frozen=True, kw_only=True)
class Nobody:
    """No member of the group is such."""

    part: Condition


Condition: TypeAlias = Linear | Listed | Same | Missing | Both | Not | Nobody


def atoms(condition: Condition, *, inside: bool = True) -> Iterator[Condition]:
    """The comparisons of a condition; with `inside`, those about nobody as well."""
    if isinstance(condition, Both):
        for part in condition.parts:
            yield from atoms(part, inside=inside)
    elif isinstance(condition, Not) or (isinstance(condition, Nobody) and inside):
        yield from atoms(condition.part, inside=inside)
    else:
        yield condition


def refs(condition: Condition, *, inside: bool = True) -> tuple[Ref, ...]:
    """The attributes that a condition names, each once, in the order of the text."""
    found: dict[Ref, None] = {}
    for atom in atoms(condition, inside=inside):
        if isinstance(atom, Linear):
            found.update(dict.fromkeys(ref for ref, _ in atom.terms))
        elif isinstance(atom, Same):
            found.update(dict.fromkeys((atom.left, atom.right)))
        elif isinstance(atom, Listed | Missing):
            found[atom.ref] = None
    return tuple(found)


def attribute_of(schema: Schema, ref: Ref) -> Attribute:
    """What an attribute may hold; the size and the role column as if they were declared ones."""
    if ref.level == "group":
        return schema.group_attributes[ref.name]
    if ref.level == "individual":
        return schema.individual_attributes[ref.name]
    if ref.level == "count":
        return schema.size_attribute
    assert schema.roles is not None  # noqa: S101  (a reference to the role column)
    return schema.roles.by_name


def whose(ref: Ref) -> str:
    """An attribute as a rule would write it."""
    return f"{ref.of}.{ref.name}" if ref.of else ref.name


def has_numbers(attribute: Attribute) -> bool:
    """Whether the values of an attribute can be added, and compared with < and >."""
    return isinstance(attribute, Numeric) or attribute.kind == "number"


def kind_of_values(attribute: Attribute) -> str:
    """Name the kind of an attribute's values: number, text or true/false."""
    return "number" if isinstance(attribute, Numeric) else attribute.kind


def named_refs(schema: Schema) -> dict[str, Ref | None]:
    """Every name of an attribute, and what it means; None where it means two."""
    names: dict[str, Ref | None] = {}
    listed = AttributeNames(schema)
    count = listed.first_individual - 1
    own = [*schema.group_attributes, schema.count, *schema.member_attributes]
    for name, found in listed.places().items():
        level: Literal["group", "count", "individual", "role"] = "group"
        if found[0] == count:
            level = "count"
        elif listed.is_role(found[0]):
            level = "role"
        elif found[0] > count:
            level = "individual"
        names[name] = Ref(level=level, name=own[found[0]]) if len(found) == 1 else None
    if schema.roles is not None:
        # Asked for or not: where there is only one role, it is no attribute.
        names.setdefault(schema.roles.column, Ref(level="role", name=schema.roles.column))
        for role in schema.roles.names:
            for name in schema.individual_attributes:
                ref = Ref(level="individual", name=name, of=role)
                names.setdefault(f"{role}.{name}", ref)
    return names


def is_code(special: float, attribute: Numeric) -> bool:
    """Whether a special value lies outside the bins, and is no quantity."""
    return not attribute.bins[0] <= special <= attribute.bins[-1]


def has_codes(attribute: Attribute) -> bool:
    """Whether some of its values are no quantities, with which no comparison holds."""
    return isinstance(attribute, Numeric) and any(is_code(x, attribute) for x in attribute.special)
