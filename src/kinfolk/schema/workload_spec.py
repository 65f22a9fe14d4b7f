"""Which queries matter, and which of them more than the rest: `workload:` in a schema."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, TypeGuard

from kinfolk.errors import Findings, did_you_mean
from kinfolk.schema.attributes import kind_of, shown
from kinfolk.schema.roles import is_whole

KEYS = ("attributes", "times", "relation")
MOST = 1000
"""How many times as much one can ask for: what everything else gets then is next to nothing."""


class Level(StrEnum):
    """What a query counts."""

    GROUP = "group"
    """Groups."""
    INDIVIDUAL = "individual"
    """Individuals."""
    RELATION = "relation"
    """Individuals with a relative."""

    def __repr__(self) -> str:
        """As in a schema and in messages."""
        return repr(self.value)


@dataclass(frozen=True, kw_only=True)
class Priority:
    """Some attributes that matter more than others, or less, together."""

    attributes: Sequence[str]
    """Meant are all sets that name these; one that is listed twice, of somebody and a relative."""
    times: float
    """How many times as much of the budget as they would have had."""
    relation: str | None = None
    """Only in queries of this relation; otherwise in all queries."""


@dataclass(frozen=True, kw_only=True)
class WorkloadSpec:
    """Which queries matter: all sets of `k` attributes at the chosen levels."""

    k: int = 3
    """How many attributes one query names."""
    levels: Sequence[str] = (Level.GROUP, Level.INDIVIDUAL)
    """Any of group, individual and relation."""
    relation_counts: Literal["people", "pairs"] = "people"
    """Whether a relation query counts people with at least one such relative, or pairs."""
    attributes: Sequence[str] = ()
    """Only these attributes; empty means all. One that both tables have is `table.name`."""
    sets: Sequence[Sequence[str]] = ()
    """Exactly these attribute sets instead of all sets of k."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """How much the errors of a level matter; 1 where not given."""
    priorities: Sequence[Priority] = ()
    """Attributes that matter more, or less, than others."""

    def __post_init__(self) -> None:
        findings = Findings()
        if not is_whole(self.k) or self.k < 1:
            what = f"{shown(self.k)} is not a whole number of at least 1."
            findings.add("k", what, "Say how many attributes a query names, such as 3.")
        if not is_list(self.levels):
            fix = "Write a list, such as [group, individual]."
            findings.add("levels", f"{shown(self.levels)} is not a list.", fix)
        else:
            known = [Level(level) if level in list(Level) else level for level in self.levels]
            object.__setattr__(self, "levels", tuple(known))
            if not self.levels:
                findings.add("levels", "the list is empty.", f"Use some of {', '.join(Level)}.")
            for index, level in enumerate(self.levels):
                place = f"levels[{index}]"
                if level not in list(Level):
                    fix = did_you_mean(level, Level)
                    findings.add(place, f"{shown(level)} is not a level.", fix)
                elif level in self.levels[:index]:
                    findings.add(place, f"{level!r} is listed twice.", "Remove one.")
        if self.relation_counts not in ("people", "pairs"):
            what = f"{shown(self.relation_counts)} is neither people nor pairs."
            findings.add("relation_counts", what, "Write people or pairs.")
        self._check_subset(findings)
        object.__setattr__(self, "priorities", read_priorities(self.priorities, findings))
        findings.raise_if_any("workload")

    def _check_subset(self, findings: Findings) -> None:
        for name, fix in (
            ("attributes", "Write a list of names, such as [sex, agep]."),
            ("sets", "Write a list of lists of names, such as [[sex, agep], [veh, sex]]."),
        ):
            given = getattr(self, name)
            nested = name == "sets"
            fits = _is_list_of_lists if nested else _is_list_of_texts
            if not fits(given):
                findings.add(name, f"{shown(given)} is not what is expected.", fix)
            else:
                frozen = tuple(tuple(one) if nested else one for one in given)
                object.__setattr__(self, name, frozen)
        weights: object = self.weights
        if not isinstance(weights, Mapping):
            fix = "Write levels and numbers, such as {group: 1, individual: 2}."
            findings.add("weights", f"{shown(weights)} is not a mapping.", fix)
            return
        for level, weight in weights.items():
            if level not in list(Level):
                fix = did_you_mean(level, Level)
                findings.add(f"weights.{level}", f"{level!r} is not a level.", fix)
            elif kind_of(weight) != "number" or not 0 < weight < math.inf:
                what = f"{shown(weight)} is not a positive number."
                findings.add(f"weights.{level}", what, "Weights are positive numbers.")


def read_priorities(given: object, findings: Findings) -> tuple[Priority, ...]:
    """Priorities as they stand in a schema; what is wrong with them is noted."""
    if not is_list(given):
        fix = "Write a list, such as [{attributes: [income, wage], times: 5}]."
        findings.add("priorities", f"{shown(given)} is not a list.", fix)
        return ()
    found = (_read(one, f"priorities[{at}]", findings) for at, one in enumerate(given))
    return tuple(one for one in found if one is not None)


def _read(given: Any, place: str, findings: Findings) -> Priority | None:
    if isinstance(given, Priority):
        given = {key: getattr(given, key) for key in KEYS}
    if not isinstance(given, Mapping):
        fix = "Write {attributes: [income, wage], times: 5}."
        findings.add(place, f"{shown(given)} says neither attributes nor how many times.", fix)
        return None
    before = len(findings.problems)
    for key in given:
        if key not in KEYS:
            findings.add(f"{place}.{key}", "the key is unknown.", did_you_mean(key, KEYS))
    names, times, relation = (given.get(key) for key in KEYS)
    if not _is_list_of_texts(names) or not names:
        fix = "Write a list of names, such as [income, wage]."
        findings.add(f"{place}.attributes", f"{shown(names)} is not a list of names.", fix)
    if kind_of(times) != "number" or not 1 / MOST <= float(str(times)) <= MOST:
        what = f"{shown(times)} is not a number from {1 / MOST} to {MOST}."
        fix = "Say how many times as much of the budget these should have, such as 5."
        findings.add(f"{place}.times", what, fix)
    if relation is not None and not isinstance(relation, str):
        fix = "Write the name of a relation."
        findings.add(f"{place}.relation", f"{shown(relation)} is not a name.", fix)
    if len(findings.problems) > before or names is None:
        return None
    return Priority(attributes=tuple(names), times=float(str(times)), relation=relation)


def is_list(given: object) -> TypeGuard[Sequence[object]]:
    """Whether something is a list, and no text."""
    return isinstance(given, Sequence) and not isinstance(given, str)


def _is_list_of_texts(given: object) -> bool:
    return is_list(given) and all(isinstance(one, str) for one in given)


def _is_list_of_lists(given: object) -> bool:
    return is_list(given) and all(one and _is_list_of_texts(one) for one in given)
