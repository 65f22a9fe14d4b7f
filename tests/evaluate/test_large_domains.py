"""Attributes with many categories are folded, so that a report stays small."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kinfolk.evaluate import compare
from kinfolk.evaluate.distributions import CELLS, FOLDS, OTHERS
from kinfolk.schema import Categorical, IndividualTable, Schema, WorkloadSpec


def test_flat_data_with_wide_attributes() -> None:
    rng = np.random.default_rng(1)
    wide = Categorical(values=list(range(1_000)))
    names = [f"a{index}" for index in range(40)]
    schema = Schema(
        group=None,
        individual=IndividualTable(
            table="people", group_id=None, attributes=dict.fromkeys(names, wide)
        ),
        max_size=1,
        workload=WorkloadSpec(k=1, levels=["individual"]),
    )
    # A few common values, many rare ones.
    drawn = [rng.geometric(0.1, size=(500, 40)).clip(max=999) for _ in range(2)]
    real, made = ({"people": pa.table(dict(zip(names, rows.T, strict=True)))} for rows in drawn)
    found = compare(schema, real=real, synthetic=made)
    assert not found.pairs
    assert max(one.size for one in found.shown) <= FOLDS[0]
    assert sum(len(table.real) for table in found.two_way) <= CELLS
    assert all(one.labels[-1] == OTHERS for one in found.shown)
    assert all(sum(one.real) == sum(one.synthetic) == 500 for one in found.one_way)
