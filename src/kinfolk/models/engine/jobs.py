"""What the compiled loops are told to do, and what they work on, as flat arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.models.layout import Ints

Floats = npt.NDArray[np.floating[Any]]


class Programs(NamedTuple):
    """Sums of features, as `members` defines them.

    Features are numbered within a program: first the slots (one member), then its nodes in order.
    Program p has slots[slot_starts[p]:slot_starts[p + 1]], and likewise nodes and outputs; output o
    is the sum of weights[rows[e]] * feature[features[e]] over its range of entries.
    """

    slot_count: int
    """J, the slots of the layout."""
    slot_rows: int
    """D_I, the rows of one slot."""
    most_features: int
    """The features of the largest program, those of one member included."""
    slot_starts: Ints
    slots: Ints
    node_starts: Ints
    parents: Ints
    """The feature to which a member is added,"""
    added: Ints
    """and the slot that the member is drawn from."""
    output_starts: Ints
    entry_starts: Ints
    features: Ints
    rows: Ints


class Jobs(NamedTuple):
    """Attribute sets to work through, a range of cells each.

    An output of a job is either summed over components at once, or stored for every component, to
    be multiplied by left factors first.
    """

    programs: Ints
    """(jobs,) which features and outputs."""
    attribute_starts: Ints
    """(jobs + 1,) where the set's attributes begin in the next two."""
    firsts: Ints
    """The attribute's first row in the first slot,"""
    sizes: Ints
    """and how many rows it has."""
    lows: Ints
    highs: Ints
    """(jobs,) the cells to work through, low to high - 1."""
    target_starts: Ints
    """(jobs + 1,) where the set's outputs begin in `targets`."""
    targets: Ints
    """Where an output's cells go: stored from this row on; or, negative, summed into the results
    from -1 - this on."""
    stores: npt.NDArray[np.bool_]
    """(jobs,) whether any output is stored."""
    stored: int
    """How many rows are stored."""
    alone: bool
    """Whether every job has one cell only, and a stack of its own for each of its outputs: then
    its features are worked out once for both directions."""


class Stacks(NamedTuple):
    """Left cells by stored rows: matrices of sums over components.

    A stack adds left[i] * stored[firsts + j], summed over components, to the result at place
    starts + i * columns + j.
    """

    firsts: Ints
    """(stacks,) the first stored row,"""
    columns: Ints
    """(stacks,) and how many."""
    starts: Ints
    """(stacks,) where the results begin."""
    left_starts: Ints
    """(stacks + 1,) where the left cells begin."""
    row_starts: Ints
    """(left cells + 1,) where the rows begin whose product a left cell is."""
    rows: Ints


class Tile(NamedTuple):
    """What is known about TILE components (see `kernel`), or the pulls on it."""

    table: Floats
    """(rows, TILE) the stacked probabilities."""
    weight: Floats
    """(weights, TILE) the composition weights of entries."""
    result: Floats
    """(results,) what the tile adds to the results, or the pulls on them."""
    stored: Floats
    """(stored, TILE) outputs that are waiting for left factors."""
    left: Floats
    """(4, TILE) left cells."""
    outer: Floats
    """(slots, TILE) products over all attributes but the last."""
    feature: Floats
    """(features, TILE) the features of one cell."""
    output: Floats
    """(TILE,) one output."""
