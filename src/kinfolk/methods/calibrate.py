"""The last turn of a fit: sizes and numbers as they were measured on their own.

The many noisy marginals of a workload push a mixture all in one direction: what is negative in them
cannot be learnt, so that rare categories become too likely, and the largest numbers are rare. Sizes
and numbers are measured on their own, with little noise and none of that. In the end a mixture is
therefore tilted towards them: every category by one factor, the same in all components and slots.
For a size that is its own; for the bins of a number they rise or fall evenly from bin to bin, so
that a share of zeros and a mean are set right, and no bin's noise is learnt.

All that is seen here is released.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kinfolk._typing import Floats, Ints
from kinfolk.methods.mixture_fit import Measured, Table
from kinfolk.methods.smooth import falling
from kinfolk.models.layout import Layout
from kinfolk.models.mixture.derived import DerivedColumns
from kinfolk.queries.added_marginals import is_sizes
from kinfolk.queries.workload import Marginal
from kinfolk.schema import Level, Numeric

TURNS = 10
"""How often factors are worked out again, as one number's move others, ..."""
CAUTION = 0.5
"""... and how far they go each time: two numbers that hang together would both go all the way."""
USUAL_TILT = 0.5
"""By how much the logarithm of a number's factors may usually differ from none."""
LARGEST = 20.0
"""No factor of a size is larger than this in one turn, or smaller than one over it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Own:
    """The categories of one number, or all sizes, in a table of probabilities."""

    rows: Ints
    """(rows,) where they stand."""
    categories: Ints
    """(rows,) which of them stands there."""
    ordered: int
    """How many of the categories, the first ones, are in order: sizes, or bins."""
    moves: Floats | None
    """(categories, moves) how the logarithms of the factors can change; None: each by itself."""


def own_rows(layout: Layout, marginal: Marginal) -> Own:
    """Where the categories of a marginal of one attribute stand, and how their factors go."""
    schema = layout.schema
    if is_sizes(schema, marginal):
        return Own(
            rows=np.arange(layout.group_start),
            categories=layout.sizes - schema.sizes.start,
            ordered=len(schema.sizes),
            moves=None,
        )
    if marginal.level == Level.GROUP:
        (at,) = marginal.group
        attribute = list(schema.group_attributes.values())[at]
        starts = [layout.group_start + layout.group_offsets[at]]
    else:
        (at,) = marginal.individual
        attribute = list(schema.individual_attributes.values())[at]
        first = layout.individual_start + layout.individual_offsets[at]
        starts = [first + kind * layout.kind_rows for kind in range(layout.kinds)]
    assert isinstance(attribute, Numeric)  # noqa: S101  (only numbers are counted on their own)
    size, bins = attribute.size, len(attribute.bins) - 1
    # Special values and blanks move each by itself; bins all together, and evenly in their order.
    moves = np.zeros((size, 2 + size - bins))
    moves[:bins, 0] = 1.0
    moves[:bins, 1] = np.linspace(-1.0, 1.0, bins) if bins > 1 else 0.0
    moves[range(bins, size), range(2, 2 + size - bins)] = 1.0
    codes = np.arange(size)
    return Own(
        rows=np.concatenate([start + codes for start in starts]),
        categories=np.tile(codes, len(starts)),
        ordered=bins,
        moves=moves,
    )


def calibrated(layout: Layout, batches: Sequence[Measured], probabilities: Table) -> Table:
    """The mixture, (rows, K), with sizes and numbers as they were measured on their own."""
    for batch in batches:
        if batch.own:
            probabilities = _tilted(layout, batch, probabilities)
    return probabilities


def _tilted(layout: Layout, measured: Measured, probabilities: Table) -> Table:
    marginals = measured.own
    own = [own_rows(layout, one) for one in marginals]
    places = np.cumsum([one.cells for one in marginals])[:-1]
    rates, precision = (np.split(one, places) for one in (measured.rates, measured.precision))
    targets = [
        np.concatenate([falling(rate[: one.ordered], known[: one.ordered]), rate[one.ordered :]])
        for one, rate, known in zip(own, rates, precision, strict=True)
    ]
    tilts = [np.zeros(0 if one.moves is None else one.moves.shape[1]) for one in own]
    found, derived = probabilities, DerivedColumns.of(layout)
    for _ in range(TURNS):
        answers = np.split(measured.prepared.answers(found), places)
        factors = np.ones(len(found))
        for at, one in enumerate(own):
            if one.moves is None:
                step = np.log(np.maximum(targets[at], 1e-12) / np.maximum(answers[at], 1e-12))
                logs = np.clip(step, -np.log(LARGEST), np.log(LARGEST))
            else:
                move = CAUTION * _move(
                    one.moves, answers[at], targets[at], precision[at], tilts[at]
                )
                tilts[at] += move
                logs = one.moves @ move
            factors[one.rows] = np.exp(logs)[one.categories]
        found = _normal(found * factors[:, None].astype(found.dtype), layout.segments)
        derived.fill(found)
    return found


def _move(
    moves: Floats, answers: Floats, target: Floats, precision: Floats, so_far: Floats
) -> Floats:
    """One step towards the target's shares and mean bin, held back by what is usual.

    What is compared are sums over categories, one for each move, and each with its own noise: so a
    mean comes out right also where no even rise could bring every bin to its target. No move
    changes the sum of all of them: what that is off by is noise, and tells of that of the others.
    """
    slope = moves.T @ (answers[:, None] * (moves - answers @ moves / max(answers.sum(), 1e-12)))
    known = np.linalg.pinv(moves.T @ (moves / precision[:, None]), rcond=1e-9)
    usual = 1 / USUAL_TILT**2
    pull = slope.T @ known @ (moves.T @ (target - answers)) - usual * so_far
    bend = slope.T @ known @ slope + usual * np.eye(len(pull))
    return np.asarray(np.clip(np.linalg.solve(bend, pull), -1.0, 1.0))


def _normal(table: Table, segments: Ints) -> Table:
    """Every distribution of a table of probabilities with a total of 1."""
    totals = np.add.reduceat(table, segments[:-1], axis=0)
    return np.asarray(table / np.repeat(totals, np.diff(segments), axis=0))
