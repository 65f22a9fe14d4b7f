"""Raking: groups are drawn so that what was measured of whole groups comes out.

A mixture holds what two attributes have to do with each other. That a household's income goes with
what all its members earn together, or that amounts have their means, no pair of attributes says; it
is measured on whole groups. Groups are therefore drawn from the model and kept with a chance: an
exponential tilt (generalised raking, as survey statisticians do it with weights) of the model
towards *features* of groups. One that is not kept is drawn again with the same composition, so
that sizes and roles stay as the model has them.

Which features there are follows from the schema alone: totals of amounts and bands of two of them,
which are measured; and what is to stay as the model has it, though groups that break a rule are
drawn again: every attribute of the group, and what members of each role are like.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from kinfolk._typing import Bools, Floats, Ints
from kinfolk.data.encoded import Encoded, capped_units, composition_of, joint_bands
from kinfolk.errors import KinfolkError
from kinfolk.queries.added_marginals import with_totals
from kinfolk.queries.workload import Marginal, Workload
from kinfolk.schema import Level, Schema
from kinfolk.schema.totals import UNITS, Totals

RAKING = "raking"
"""Under this name a release keeps what groups are raked with, (features + compositions,)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Features:
    """What is looked at in a group: cells of some marginals, end to end."""

    schema: Schema
    marginals: tuple[Marginal, ...]

    @classmethod
    def of(cls, schema: Schema) -> Features:
        """Those of a schema; there may be none.

        >>> from kinfolk.datasets import load_schema
        >>> features = Features.of(load_schema("detroit"))
        >>> len(features.marginals), features.size
        (14, 351)
        """
        totals = with_totals(Workload(schema=schema, marginals=())).marginals
        if not totals and not schema.rules:
            return cls(schema=schema, marginals=())
        return cls(schema=schema, marginals=(*totals, *_held(schema)))

    @cached_property
    def starts(self) -> Ints:
        """(marginals + 1,) where the features of each marginal begin."""
        return np.cumsum([0, *(one.cells for one in self.marginals)], dtype=np.int64)

    @property
    def size(self) -> int:
        """How many features there are."""
        return int(self.starts[-1])

    @cached_property
    def _totals(self) -> Totals:
        return Totals(schema=self.schema)

    def matrix(self, groups: Encoded) -> npt.NDArray[np.float32]:
        """(groups, features) how much every group has of each."""
        number = groups.groups
        parts = [
            np.bincount(owners * cells + codes, values, number * cells).reshape(number, cells)
            for cells, owners, codes, values in self._entries(groups)
        ]
        return np.concatenate([np.zeros((number, 0)), *parts], axis=1, dtype=np.float32)

    def scores(self, groups: Encoded, slopes: Floats) -> Floats:
        """(groups,) the sum of each group's features, times what is said of these, (features,)."""
        found, first = np.zeros(groups.groups), 0
        for cells, owners, codes, values in self._entries(groups):
            own = slopes[first : first + cells]
            found += np.bincount(owners, values * own[codes], len(found))
            first += cells
        return found

    def _entries(self, groups: Encoded) -> Iterator[tuple[int, Ints, Ints, Floats]]:
        """For every marginal its cells; which group has something of which cell, and how much.

        Of what members are like it is their share of the group.
        """
        totals = self._totals
        every, people, role = np.arange(groups.groups), groups.owners, groups.role_or_zero
        part = np.repeat(1 / groups.sizes, groups.sizes)
        sums = iter(totals.sums)
        one, nothing = np.ones(groups.groups), np.zeros(groups.groups, np.int64)
        for marginal in self.marginals:
            cells = marginal.cells
            if marginal.total == "sum":
                yield cells, every, nothing, capped_units(groups, next(sums)) / UNITS
            elif marginal.total == "bands":
                own, members = joint_bands(groups, totals)
                yield cells, every, own * marginal.shape[1] + members, one
            elif marginal.level is Level.GROUP:
                yield cells, every, groups.group[:, marginal.group[0]].astype(np.int64), one
            else:
                codes = groups.individual[:, marginal.individual[0]].astype(np.int64)
                if len(marginal.individual) == 2:
                    codes = codes * marginal.shape[1] + role
                yield cells, people, codes, part


def _held(schema: Schema) -> Iterator[Marginal]:
    """What is to stay as the model has it: the group's attributes, and its members' by role."""
    for at, one in enumerate(schema.group_attributes.values()):
        if isinstance(one.derived, bool):
            yield Marginal(level=Level.GROUP, group=(at,), shape=(one.size,))
    role = len(schema.individual_attributes)
    for at, one in enumerate(schema.individual_attributes.values()):
        if schema.roles is None:
            yield Marginal(level=Level.INDIVIDUAL, individual=(at,), shape=(one.size,))
        else:
            shape = (one.size, len(schema.roles.names))
            yield Marginal(level=Level.INDIVIDUAL, individual=(at, role), shape=shape)


@dataclass(frozen=True, kw_only=True, eq=False)
class Raking:
    """Which groups are kept when they are drawn."""

    features: Features
    slopes: Floats
    """(features,) what a feature adds to the logarithm of the chance that a group is kept."""
    levels: Floats
    """(compositions,) what the composition adds to it."""

    @classmethod
    def from_arrays(cls, schema: Schema, arrays: Mapping[str, npt.NDArray[Any]]) -> Raking | None:
        """What a release keeps, if it does; KinfolkError where it is damaged."""
        return None if RAKING not in arrays else cls.of(schema, arrays[RAKING])

    @classmethod
    def of(cls, schema: Schema, array: npt.NDArray[Any]) -> Raking:
        """The same of one array."""
        features = Features.of(schema)
        shape = (features.size + len(schema.compositions),)
        if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
            raise KinfolkError(
                "what groups are raked with is damaged, or from another version of kinfolk."
            )
        slopes, levels = np.split(array, [features.size])
        return cls(features=features, slopes=slopes, levels=levels)

    def to_array(self) -> Floats:
        """What a release keeps: slopes, then levels."""
        return np.concatenate([self.slopes, self.levels])

    def chances(self, groups: Encoded) -> Floats:
        """(groups,) how likely each group is kept; their numbers must have been drawn."""
        scores = self.features.scores(groups, self.slopes)
        scores += self.levels[composition_of(groups)]
        return np.exp(np.minimum(scores, 0.0))

    def kept(self, groups: Encoded, rng: np.random.Generator) -> Bools:
        """(groups,) which groups are kept."""
        return np.asarray(rng.random(groups.groups) < self.chances(groups))
