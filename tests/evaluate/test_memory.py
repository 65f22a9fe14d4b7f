"""What a comparison holds for every person does not depend on how wide numbers can be."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from evaluate.families import FAMILIES, families
from kinfolk.data.encode import encode
from kinfolk.data.encoded import Encoded
from kinfolk.evaluate.distributions import shown_attributes, two_way
from kinfolk.evaluate.groups import copies, identities

GROUPS = 20_000


def in_pairs(data: Encoded) -> None:
    two_way(shown_attributes(data), real=data, synthetic=data, second=data)


def whole(data: Encoded) -> None:
    copies(identities(data), identities(data))


@pytest.mark.parametrize(("compared", "bytes_each"), [(in_pairs, 70), (whole, 80)])
def test_codes_stay_as_small_as_they_are_stored(
    compared: Callable[[Encoded], None], bytes_each: int
) -> None:
    few = encode(FAMILIES, families())
    data = few.take(np.arange(GROUPS) % few.groups)
    compared(few)
    tracemalloc.start()
    try:
        compared(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak / data.people < bytes_each
