"""What matters more than the rest: attributes, and how many times as much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kinfolk.errors import Findings, did_you_mean
from kinfolk.schema.attributes import kind_of, shown

KEYS = ("attributes", "times", "relation")
MOST = 1000
"""How many times as much one can ask for: what everything else gets then is next to nothing."""


@dataclass(frozen=True, kw_only=True)
class Priority:
    """Some attributes that matter more than others, or less, together."""

    attributes: Sequence[str]
    """Meant are all sets that name these; one that is listed twice, of somebody and a relative."""
    times: float
    """How many times as much of the budget as they would have had."""
    relation: str | None = None
    """Only in queries of this relation; otherwise in all queries."""


def read_priorities(given: object, findings: Findings) -> tuple[Priority, ...]:
    """Priorities as they stand in a schema; what is wrong with them is noted."""
    if isinstance(given, str) or not isinstance(given, Sequence):
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
    if (
        isinstance(names, str)
        or not isinstance(names, Sequence)
        or not names
        or not all(isinstance(one, str) for one in names)
    ):
        fix = "Write a list of names, such as [income, wage]."
        findings.add(f"{place}.attributes", f"{shown(names)} is not a list of names.", fix)
    if kind_of(times) != "number" or not 1 / MOST <= float(str(times)) <= MOST:
        what = f"{shown(times)} is not a number from {1 / MOST} to {MOST}."
        fix = "Say how many times as much of the budget these should have, such as 5."
        findings.add(f"{place}.times", what, fix)
    if relation is not None and not isinstance(relation, str):
        fix = "Write the name of a relation."
        findings.add(f"{place}.relation", f"{shown(relation)} is not a name.", fix)
    if len(findings.problems) > before or not isinstance(names, Sequence):
        return None
    return Priority(attributes=tuple(names), times=float(str(times)), relation=relation)
