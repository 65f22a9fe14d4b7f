"""What was released, beside what it was released from.

A ledger names what every step bought, in the words of the schema. Whoever knows the exact answers
of both neighbours can say of each released value how much likelier it is for one than for the
other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from kinfolk.errors import KinfolkError
from kinfolk.privacy.account import Released
from kinfolk.privacy.mechanisms import Gaussian
from kinfolk.queries.counting import Counter
from kinfolk.queries.naming import describe_marginal
from kinfolk.queries.workload import Workload

Ints = npt.NDArray[np.int64]


def answers_of(counter: Counter) -> Ints:
    """(queries + 2,) the exact answers, followed by the numbers of groups and of people."""
    return np.concatenate([counter.counts, [counter.groups, counter.people]])


class Places:
    """Where a workload's answers stand, by what the ledger calls them."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload

    def of(self, bought: Mapping[str, Any]) -> Ints:
        """The places of what was bought, in the vector of `answers_of`."""
        match dict(bought):
            case {"total": "groups"}:
                return np.array([self.workload.size])
            case {"total": "people"}:
                return np.array([self.workload.size + 1])
            case {"marginals": [*marginals]}:
                return np.concatenate([self._cells[_key(one)] for one in marginals])
        raise KinfolkError(f"{str(dict(bought))[:60]}: only measurements have places.")

    @cached_property
    def _cells(self) -> dict[str, Ints]:
        offsets, schema = self.workload.offsets, self.workload.schema
        return {
            _key(describe_marginal(schema, marginal)): np.arange(offsets[at], offsets[at + 1])
            for at, marginal in enumerate(self.workload.marginals)
        }


def log_ratio(released: Iterable[Released], places: Places, first: Ints, second: Ints) -> float:
    """How much likelier released values are for the second neighbour, as a logarithm.

    `first` and `second` are the `answers_of` the two. The noise is a discrete Gaussian of the sigma
    that the ledger states, whose weights cancel but for the exponents.
    """
    total = 0.0
    for one in released:
        noise, at = one.spend.mechanism, places.of(one.spend.bought)
        assert isinstance(noise, Gaussian)  # noqa: S101  (what has places was measured)
        # Only what differs says anything, and keeps the squares small.
        at, values = _where_different(at, np.array(one.value, np.int64), first, second)
        far, near = (values - first[at]).astype(float), (values - second[at]).astype(float)
        total += float(far @ far - near @ near) / (2 * noise.sigma**2)
    return total


def _where_different(at: Ints, values: Ints, first: Ints, second: Ints) -> tuple[Ints, Ints]:
    different = first[at] != second[at]
    return at[different], values[different]


def _key(described: Mapping[str, Any]) -> str:
    return json.dumps(
        {name: what for name, what in described.items() if name != "weights"}, sort_keys=True
    )
