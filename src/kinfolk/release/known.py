"""How well answers will be known: what the noise that a method plans allows, without any data.

A share by fewer attributes is a sum of shares by more of them, once for every measured marginal
that has them all. Their noise is independent, so the best average of these sums has a standard
error that follows from the schema and the budget. What the model adds to it, or gains from knowing
that all measurements are of the same people, is not in it.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from kinfolk.methods.method import Step
from kinfolk.privacy.view import PublicView
from kinfolk.queries.naming import marginal_from
from kinfolk.queries.workload import FAMILIES, Marginal

MOST = 3
"""Answers by so many attributes are told of, at most."""


@dataclass(frozen=True, kw_only=True)
class Known:
    """How well the answers of one level, or of one relation, will be known."""

    level: str
    relation: str | None
    errors: Mapping[int, float]
    """The standard error of a share by so many attributes, in the middle of all sets of them that
    follow from what is measured."""


def known(view: PublicView, steps: Iterable[Step]) -> tuple[Known, ...]:
    """What these steps will tell, where the view says how many groups and people there are.

    Steps that buy anything but whole marginals tell nothing here. Of groups, shares by their own
    attributes are told of, where there are any.
    """
    precisions: dict[tuple[str, str | None], dict[Attributes, float]] = defaultdict(
        lambda: defaultdict(float)
    )
    for step in steps:
        bought = step.purchase.bought
        for described in bought.get("marginals", ()):
            marginal = marginal_from(view.workload.schema, described)
            if marginal.fine:
                continue
            row = bought["weights"][described["weights"]] if "weights" in bought else None
            groups, people = _totals(view, row)
            sigma = step.purchase.mechanism.noise
            total = groups if marginal.level == "group" else people
            own = precisions[marginal.level, marginal.relation]
            for attributes, cells in _sums(marginal):
                own[attributes] += (total / sigma) ** 2 / cells
                # With weights of about one over the size, people add up to groups.
                if marginal.level == "individual" and not attributes[1] and _evens(view, row):
                    precisions["group", None][attributes] += (people / sigma) ** 2 / cells
    return tuple(
        Known(level=level, relation=relation, errors=errors)
        for wanted in FAMILIES
        for (level, relation), found in precisions.items()
        if level == wanted and (errors := _middle(level, found))
    )


Attributes = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""Positions of group attributes, of individual ones, and of a relative's."""


def _totals(view: PublicView, row: Sequence[int] | None) -> tuple[float, float]:
    """All groups and all people, in what those of a group of the average size add.

    row: what a group of each size adds for one, (sizes + 1,).
    """
    groups, people = view.groups or 1, view.people or 1
    if row is None:
        return groups, people
    sizes = view.workload.schema.sizes
    weight = row[min(max(round(people / groups), sizes[0]), sizes[-1])]
    return groups * weight, people * weight


def _evens(view: PublicView, row: Sequence[int] | None) -> bool:
    """Whether the members of a group add about the same together, however many there are."""
    if row is None:
        return False
    whole = [size * row[size] for size in view.workload.schema.sizes]
    return max(whole) < 1.5 * min(whole)


def _sums(marginal: Marginal) -> Iterable[tuple[Attributes, int]]:
    """Which attributes a sum over the marginal's cells can be by, and of how many cells it is.

    A household that has two kinds of members is in two cells, and somebody with two kinds of
    relatives as well: sums over those do not add up, and are left out.
    """
    own = [*((True, at) for at in marginal.group), *((False, at) for at in marginal.individual)]
    sizes = dict(zip(own, marginal.shape, strict=False))
    free = [one for one in own if one[0] or marginal.level != "group"]
    for number in range(len(free) + 1):
        for summed in itertools.combinations(free, number):
            left = [one for one in own if one not in summed]
            group, individual = (
                tuple(at for of_group, at in left if of_group is wanted) for wanted in (True, False)
            )
            cells = math.prod(sizes[one] for one in summed)
            yield (group, individual, marginal.relative), cells


def _middle(level: str, precisions: Mapping[Attributes, float]) -> dict[int, float]:
    own: dict[int, list[float]] = defaultdict(list)
    every: dict[int, list[float]] = defaultdict(list)
    for attributes, precision in precisions.items():
        ways, error = sum(map(len, attributes)), precision**-0.5
        every[ways].append(error)
        if level == "group" and not attributes[1]:
            own[ways].append(error)
    found = every | own
    return {ways: median(found[ways]) for ways in sorted(found) if 1 <= ways <= MOST}
