"""A query in plain English, with the schema's labels."""

from __future__ import annotations

from kinfolk.queries.workload import Query
from kinfolk.schema import Attribute, Schema
from kinfolk.schema.words import singular

_OPENINGS = {"a", "an", "in", "not", "never", "under", "over", "without", "of"}
_NOT_ADJECTIVES = {"yes", "no", "none", "other", "some", "any", "unknown", "head", "spouse"}
_PLURALS = {"person": "people", "child": "children", "man": "men", "woman": "women"}


def describe(schema: Schema, query: Query) -> str:
    """Say what a query asks.

    A label that completes "a person who is ..." (female, never married, a veteran) is used that
    way; for all others the column is named.

    >>> from kinfolk.datasets import load_schema
    >>> from kinfolk.queries.workload import Workload
    >>> schema = load_schema("detroit")
    >>> workload = Workload.of(schema, attributes=["cars", "sex", "age"])
    >>> print(describe(schema, workload.query(15)))
    Share of households with cars = no vehicle that contain at least one person who is female and \
aged 35 to 44
    """
    marginal = query.marginal
    group_end = len(marginal.group)
    own_end = group_end + len(marginal.individual)
    home = _group_part(schema, marginal.group, query.codes[:group_end])
    own = _phrases(schema, marginal.individual, query.codes[group_end:own_end])
    groups, people = _group_noun(schema), _plural(singular(schema.individual.table))
    if marginal.level == "group":
        text = f"Share of {groups}{home}"
        if own:
            text += f" that contain at least one {singular(schema.individual.table)} {_who(own, 1)}"
        return text
    text = f"Share of {people}"
    if own:
        text += f" {_who(own, 2)}"
    if marginal.relation is not None:
        relative = _phrases(schema, marginal.relative, query.codes[own_end:])
        joint = " and" if own else " who"
        text += f"{joint} {_relation_phrase(marginal.relation)} {_who(relative, 1)}"
    if home:
        comma = "," if own or marginal.relation else ""
        text += f"{comma} in {groups}{home}"
    return text


def _group_noun(schema: Schema) -> str:
    return _plural(singular(schema.group.table)) if schema.group else "records"


def _plural(noun: str) -> str:
    if noun in _PLURALS:
        return _PLURALS[noun]
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def _group_part(schema: Schema, positions: tuple[int, ...], codes: tuple[int, ...]) -> str:
    names, attributes = list(schema.group_attributes), list(schema.group_attributes.values())
    parts: list[str] = []
    for position, code in zip(positions, codes, strict=True):
        if position == len(attributes):
            parts.append(f"{schema.count} = {schema.sizes[code]}")
        else:
            parts.append(f"{names[position]} = {attributes[position].label(code)}")
    return f" with {_and(parts)}" if parts else ""


def _phrases(
    schema: Schema, positions: tuple[int, ...], codes: tuple[int, ...]
) -> list[tuple[str, str]]:
    """Each condition as (verb, complement): ('is', 'female') or ('has', 'esr = 3')."""
    names = list(schema.member_attributes)
    attributes = list(schema.member_attributes.values())
    return [
        _phrase(names[position], attributes[position], code)
        for position, code in zip(positions, codes, strict=True)
    ]


def _phrase(name: str, attribute: Attribute, code: int) -> tuple[str, str]:
    label = attribute.label(code)
    blank = attribute.missing and code == attribute.size - 1
    if attribute.labels and not blank and _completes(label):
        return "is", label
    if name.lower().startswith("age") and not blank and label[:1].isdigit():
        return "is", f"aged {label}"
    return "has", f"{name} = {label}"


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
    for verb, words in sorted(phrases, key=lambda phrase: phrase[0] != "is"):
        parts.append(words if verb == last else f"{verbs.get(verb, verb)} {words}")
        last = verb
    return f"who {_and(parts)}"


def _relation_phrase(relation: str) -> str:
    words = relation.replace("_", " ")
    if words.startswith("has "):
        return f"have a {words[4:]}"
    return f"are {words} somebody"


def _and(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
