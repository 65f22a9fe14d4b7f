"""What the compiled loops are told to do."""

from __future__ import annotations

from typing import NamedTuple

from kinfolk.models.layout import Ints


class Jobs(NamedTuple):
    """Attribute sets to work through, a range of cells each, as flat arrays.

    An output of a job is either stored, for every cell and component, or multiplied by the job's
    own left factor and summed over components.
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
    """Where the output's cells go: from this row on; or, negative, added to sums from -1 - this."""
    group_starts: Ints
    """(jobs + 1,) where the rows of the left factor begin:"""
    group_rows: Ints
    """those of the group's attributes,"""
    own_starts: Ints
    own_rows: Ints
    """and, in the first slot, those of the people who ask."""
