"""The totals of encoded groups, in whole units: see `schema.totals`."""

from __future__ import annotations

import numpy as np

from kinfolk._typing import Ints
from kinfolk.data.encoded import Encoded
from kinfolk.schema import Level, Numeric
from kinfolk.schema.bins import finer
from kinfolk.schema.totals import UNITS, GroupTotal, Totals, own_bands


def capped_units(encoded: Encoded, total: GroupTotal) -> Ints:
    """(groups,) a total of each group, from 0 to the cap."""
    return np.clip(total_units(encoded, total), 0, UNITS)


def total_units(encoded: Encoded, total: GroupTotal) -> Ints:
    """(groups,) a total of each group, however large: of the numbers, or else of their cells."""
    found = sum(
        (_column_units(encoded, total, at) for at in total.positions), np.zeros(1, np.int64)
    )
    if total.level is Level.GROUP:
        return found
    before = np.concatenate([[0], np.cumsum(found)])
    return np.asarray(before[encoded.offsets[1:]] - before[encoded.offsets[:-1]])


def joint_bands(encoded: Encoded, totals: Totals) -> tuple[Ints, Ints]:
    """(groups,) the band of a group's own largest amount; and of what its members have together."""
    assert totals.joint is not None  # noqa: S101  (whoever asks knows that there is one)
    at, total = totals.joint
    attribute = list(encoded.schema.group_attributes.values())[at]
    assert isinstance(attribute, Numeric)  # noqa: S101  (only numbers are amounts)
    own = np.array(own_bands(attribute))[encoded.group[:, at]]
    members = np.searchsorted(totals.edges(), total_units(encoded, total), side="right")
    return own, members


def _column_units(encoded: Encoded, total: GroupTotal, at: int) -> Ints:
    """(rows,) how much everybody has of one of a total's numbers; a blank is nothing."""
    schema = encoded.schema
    group = total.level is Level.GROUP
    attributes = schema.group_attributes if group else schema.individual_attributes
    name, attribute = list(attributes.items())[at]
    assert isinstance(attribute, Numeric)  # noqa: S101  (only numbers are amounts)
    if encoded.numbers is not None:
        numbers = (encoded.numbers.group if group else encoded.numbers.individual)[name]
        units = np.nan_to_num(numbers, nan=0.0) * (UNITS / total.cap)
        return np.rint(np.clip(units, -(2**40), 2**40)).astype(np.int64)
    cells = encoded.cells and (encoded.cells.group if group else encoded.cells.individual)
    if cells and name in cells:
        return np.array(total.units(finer(attribute) or attribute))[cells[name]]
    codes = encoded.group if group else encoded.individual
    return np.array(total.units(attribute))[codes[:, at]]
