"""Public tables of the same schema, and what they say of marginals.

Tables are read and counted here, exactly, and outside the curator: whoever names tables as public
says that nobody in them is to be protected. Private tables never come this way.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kinfolk.data.encode import check_table_names, encode_sources, missing_columns
from kinfolk.data.encoded import CodeArray, Encoded, code_type
from kinfolk.data.frames import TableLike
from kinfolk.data.tables import (
    Source,
    UnreadableError,
    open_file,
    read_source,
    table_digest,
)
from kinfolk.errors import DataError, KinfolkError, Problem
from kinfolk.methods.prior import PublicRates
from kinfolk.privacy.sensitivity import workload_weights
from kinfolk.privacy.unit import Unit
from kinfolk.queries.counting import Counter
from kinfolk.queries.workload import Marginal, Workload
from kinfolk.schema import Attribute, Schema
from kinfolk.schema.conditions import Ref
from kinfolk.schema.workload_spec import WorkloadSpec

HEADING = "the public tables do not fit the schema"
FORMATS = (".csv", ".csv.gz", ".parquet", ".arrow")
"""What files in a folder of public tables may end with; the first one that is there is read."""

Public = Mapping[str, TableLike] | str | os.PathLike[str]
"""Public tables by name, or a folder in which they are files of these names."""


@dataclass(frozen=True, kw_only=True)
class Lacking:
    """Attributes of a schema that public tables do not have, by name."""

    group: tuple[str, ...]
    individual: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.group, *self.individual)

    def names_any(self, refs: Collection[Ref]) -> bool:
        """Whether a rule or a formula cannot be looked at without them."""
        own = {"group": self.group, "individual": self.individual}
        return any(ref.name in own.get(ref.level, ()) for ref in refs)

    def in_marginal(self, schema: Schema, marginal: Marginal) -> bool:
        """Whether a marginal is about one of them."""
        homes, people = list(schema.group_attributes), list(schema.individual_attributes)
        asked = {homes[at] for at in marginal.group if at < len(homes)}
        of_people = {*marginal.individual, *marginal.relative}
        members = {people[at] for at in of_people if at < len(people)}
        return not (asked.isdisjoint(self.group) and members.isdisjoint(self.individual))


def read_public(
    schema: Schema, public: Public, workload: Workload, *, unit: Unit, size_weighted: bool
) -> PublicRates:
    """Count public tables, for a method that asks the curator for this workload.

    They may lack attributes, of which nothing is then known beforehand; and values. Groups that are
    too large, or that break a rule, are left out: no group like that is ever drawn.
    """
    tables = public_tables(schema, public)
    opened = {name: open_file(table) for name, table in tables.items()}
    encoded, lacking = _encoded(schema, opened)
    chosen = [
        at
        for at, marginal in enumerate(workload.marginals)
        if not (marginal.fine or marginal.total) and not lacking.in_marginal(schema, marginal)
    ]
    own = Workload(schema=schema, marginals=tuple(workload.marginals[at] for at in chosen))
    weights = workload_weights(workload, unit)[chosen] if size_weighted else None
    counter = Counter.of(encoded, own, weights=weights)
    rates = np.split(counter.counts / encoded.groups, own.offsets[1:-1])
    return PublicRates(
        rates=dict(zip(chosen, rates, strict=True)),
        tables={name: table_digest(table).hex() for name, table in opened.items()},
        groups=encoded.groups,
        notes=tuple(_notes(schema, encoded, lacking)),
    )


def public_tables(schema: Schema, public: Public) -> Mapping[str, TableLike]:
    """The tables by name; those of a folder are its files that are called so."""
    if not isinstance(public, str | os.PathLike):
        check_table_names(schema, public)
        return public
    folder = Path(public)
    if not folder.is_dir():
        raise KinfolkError(f"{folder}: there is no such folder. Name one with the public tables.")
    found: dict[str, TableLike] = {}
    for name in schema.table_names:
        paths = [folder / f"{name}{suffix}" for suffix in FORMATS]
        there = [path for path in paths if path.exists()]
        if not there:
            raise KinfolkError(
                f"{folder}: there is no {name}.csv or {name}.parquet in it. Public tables are "
                f"named as in the schema: {', '.join(schema.table_names)}."
            )
        found[name] = there[0]
    return found


def _encoded(schema: Schema, tables: Mapping[str, TableLike]) -> tuple[Encoded, Lacking]:
    """The public groups in codes of the schema, with 0 for what is not known of them."""
    problems: list[Problem] = []
    try:
        sources = [
            read_source(tables[name], wanted, name=name) for name, wanted in schema.columns.items()
        ]
    except UnreadableError as error:
        raise DataError(HEADING, [error.problem]) from None
    except DataError as error:
        raise DataError(HEADING, error.problems) from None
    people, homes = sources[-1], sources[0] if schema.group is not None else None
    lacking = Lacking(
        group=_missing(schema.group_attributes, homes),
        individual=_missing(schema.individual_attributes, people),
    )
    for source, wanted in zip(sources, schema.columns.values(), strict=True):
        needed = [column for column in wanted if column not in lacking.names]
        problems += missing_columns(source, needed)
    if len(lacking.individual) == len(schema.individual_attributes):
        what = "it has none of the declared columns."
        fix = "Public tables have those of the schema, or some of them."
        problems.append(Problem(where=people.name, what=what, fix=fix))
        raise DataError(HEADING, problems)
    known = _without(schema, lacking)
    try:
        found = encode_sources(known, homes, people, problems)
    except DataError as error:
        raise DataError(HEADING, error.problems) from None
    return (
        replace(
            found,
            schema=schema,
            group=_filled(schema, schema.group_attributes, known.group_attributes, found.group),
            individual=_filled(
                schema, schema.individual_attributes, known.individual_attributes, found.individual
            ),
        ),
        lacking,
    )


def _missing(attributes: Mapping[str, Attribute], source: Source | None) -> tuple[str, ...]:
    return tuple(name for name in attributes if source is None or name not in source.columns)


def _without(schema: Schema, lacking: Lacking) -> Schema:
    """The schema of the public tables, without what they lack and what is said about it."""
    rules = zip(schema.never, schema.rules, strict=True)
    kept = {
        name: replace(one, derived=True)
        if name in schema.formulas and lacking.names_any(schema.formulas[name].refs)
        else one
        for name, one in schema.group_attributes.items()
        if name not in lacking.group
    }
    people = {
        name: one
        for name, one in schema.individual_attributes.items()
        if name not in lacking.individual
    }
    return replace(
        schema,
        group=schema.group and replace(schema.group, attributes=kept, weight=None),
        individual=replace(schema.individual, attributes=people),
        never=tuple(text for text, rule in rules if not lacking.names_any(rule.refs)),
        on_violation="drop",
        workload=WorkloadSpec(k=1),
    )


def _filled(
    schema: Schema, every: Mapping[str, Any], known: Mapping[str, Any], codes: CodeArray
) -> CodeArray:
    """(rows, attributes) the codes of known attributes in their places among all of them."""
    found = np.zeros((len(codes), len(every)), code_type(schema))
    places = list(every)
    found[:, [places.index(name) for name in known]] = codes
    return found


def _notes(schema: Schema, encoded: Encoded, lacking: Lacking) -> list[str]:
    """What is not known beforehand, and who was left out; all of it public."""
    notes: list[str] = []
    if lacking.names:
        notes.append(f"the public tables have no {', '.join(lacking.names)}")
    never = _unseen(schema.group_attributes, encoded.group, lacking.group)
    never += _unseen(schema.individual_attributes, encoded.individual, lacking.individual)
    if never:
        notes.append(f"values that nobody in the public tables has: {', '.join(never)}")
    left = encoded.cleaning.groups_oversize + encoded.cleaning.groups_against_rules
    if left:
        notes.append(f"{left:,} public groups are too large or break a rule, and were left out")
    return notes


def _unseen(
    attributes: Mapping[str, Attribute], codes: CodeArray, lacking: Sequence[str]
) -> list[str]:
    """How many values of each attribute do not occur."""
    found = []
    for column, (name, attribute) in zip(codes.T, attributes.items(), strict=True):
        seen = len(np.unique(column))
        if name not in lacking and seen < attribute.size:
            found.append(f"{name} ({attribute.size - seen} of {attribute.size})")
    return found
