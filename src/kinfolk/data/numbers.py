"""Numbers inside their bins, as they will be written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from kinfolk._typing import Floats, Ints
from kinfolk.data.columns import number_codes
from kinfolk.data.encoded import CodeArray, Encoded, Numbers
from kinfolk.data.shapes import Shape, Shapes, draw_inside, keep_inside, numerics
from kinfolk.schema import Attribute, Numeric
from kinfolk.schema.condition_evaluator import GroupValues

REDRAWS = 30
"""How often a member's numbers are drawn at most, if rules allow but a part of a bin."""


def draw_numbers(
    encoded: Encoded, *, rng: np.random.Generator, shapes: Shapes | None = None
) -> Encoded:
    """The same groups with a number drawn for every code of a numeric attribute.

    It lies inside its bin and has the decimals that the schema says: drawn from the shape of the
    bin where `shapes` has one, evenly otherwise. It is a number that the column's storage type can
    hold, so that what is written is what was drawn. Where a rule about one member cuts a bin, it
    is drawn from the part that goes with what else is known of the member.
    """
    schema = encoded.schema
    people = _members(encoded, None, rng, shapes)
    _settle(encoded, people, rng, shapes)
    group: dict[str, Floats] = {}
    if schema.group is not None:
        own = shapes.group if shapes else {}
        types = encoded.types.get(schema.group.table, {})
        group = _drawn(schema.group_attributes, encoded.group, own, types, rng)
    return replace(encoded, numbers=Numbers(group=group, individual=people))


def _members(
    encoded: Encoded, some: Ints | None, rng: np.random.Generator, shapes: Shapes | None
) -> dict[str, Floats]:
    """Numbers of the members, or of some of them."""
    schema = encoded.schema
    return _drawn(
        schema.individual_attributes,
        encoded.individual if some is None else encoded.individual[some],
        shapes.individual if shapes else {},
        encoded.types.get(schema.individual.table, {}),
        rng,
    )


def _settle(
    encoded: Encoded, numbers: dict[str, Floats], rng: np.random.Generator, shapes: Shapes | None
) -> None:
    """Draw numbers of members again who break a rule by themselves, for a number inside its bin.

    numbers: by name, (people,) each, changed in place. Whoever has categories that no number goes
    with is left as drawn.
    """
    schema = encoded.schema
    rules = [rule for rule in schema.rules if rule.cuts_bins]
    waiting = np.arange(len(encoded.individual))
    for turn in range(REDRAWS if rules else 0):
        if turn:
            for name, drawn in _members(encoded, waiting, rng, shapes).items():
                numbers[name][waiting] = drawn
        # Each as a group of its own: these rules are about nobody else.
        alone = GroupValues(
            offsets=np.arange(len(waiting) + 1),
            group={},
            individual=_values(
                schema.individual_attributes,
                encoded.individual[waiting],
                {name: column[waiting] for name, column in numbers.items()},
            ),
            role=None if encoded.role is None else encoded.role[waiting],
        )
        wrong = np.logical_or.reduce([rule.violated(alone) for rule in rules])
        waiting = waiting[wrong]
        if not len(waiting):
            return


def compute_derived(encoded: Encoded) -> Encoded:
    """The same groups with all that the schema computes from the members computed again."""
    schema, numbers = encoded.schema, encoded.numbers
    if not schema.formulas:
        return encoded
    assert numbers is not None  # noqa: S101  (callers draw them before)
    values, names = group_values(encoded), list(schema.group_attributes)
    group, drawn = encoded.group.copy(), dict(numbers.group)
    for name, formula in schema.formulas.items():
        attribute = schema.group_attributes[name]
        column = formula.compute(values, attribute)
        if isinstance(attribute, Numeric):
            drawn[name] = column
            column = number_codes(column, attribute)
        group[:, names.index(name)] = column
    return replace(encoded, group=group, numbers=replace(numbers, group=drawn))


def group_values(encoded: Encoded) -> GroupValues:
    """Groups as rules and formulas look at them; their numbers must have been drawn."""
    schema, numbers = encoded.schema, encoded.numbers
    assert numbers is not None  # noqa: S101  (callers draw them before)
    return GroupValues(
        offsets=encoded.offsets,
        group=_values(schema.group_attributes, encoded.group, numbers.group),
        individual=_values(schema.individual_attributes, encoded.individual, numbers.individual),
        role=encoded.role,
    )


def _values(
    attributes: Mapping[str, Attribute], codes: CodeArray, numbers: Mapping[str, Floats]
) -> dict[str, npt.NDArray[Any]]:
    return {
        name: numbers[name] if name in numbers else codes[:, column]
        for column, name in enumerate(attributes)
    }


def _drawn(
    attributes: Mapping[str, Attribute],
    codes: CodeArray,
    shapes: Mapping[str, Shape],
    types: Mapping[str, Any],
    rng: np.random.Generator,
) -> dict[str, Floats]:
    places = {name: column for column, name in enumerate(attributes)}
    return {
        name: draw_column(codes[:, places[name]], attribute, shapes.get(name), types.get(name), rng)
        for name, attribute in numerics(attributes)
    }


def draw_column(
    codes: npt.NDArray[np.integer[Any]],
    attribute: Numeric,
    shape: Shape | None,
    dtype: pa.DataType | None,
    rng: np.random.Generator,
) -> Floats:
    """The numbers of one column; see `draw_numbers`."""
    bins = len(attribute.bins) - 1
    inside = codes < bins
    binned = codes[inside].astype(np.int64)
    drawn = draw_inside(attribute, binned, rng) if shape is None else shape.draw(binned, rng)
    if dtype is not None and pt.is_floating(dtype) and stores_floats(attribute, dtype):
        # Rounding to a narrower type must not lift a number into the next bin.
        stored = drawn.astype(dtype.to_pandas_dtype())
        drawn = keep_inside(stored, attribute, binned).astype(np.float64)
    # Special values in the order of their codes, then blank.
    found: Floats = np.array([*[0.0] * bins, *attribute.special, np.nan])[codes]
    found[inside] = drawn
    return found


def is_whole_numbers(attribute: Numeric) -> bool:
    """Whether all numbers of an attribute are whole, special ones included."""
    return attribute.places == 0 and all(float(value).is_integer() for value in attribute.special)


def stores_floats(attribute: Numeric, dtype: pa.DataType) -> bool:
    """Whether a floating-point type holds the ends of the bins and the special values exactly."""
    ends = pa.array([*attribute.bins, *attribute.special], pa.float64())
    return stored_as(ends, dtype) is not None


def stored_as(values: pa.Array, dtype: pa.DataType) -> pa.Array | None:
    """The values in another storage type, if it holds all of them unchanged."""
    try:
        stored = values.cast(dtype)
        return stored if stored.cast(values.type).equals(values) else None
    except pa.ArrowException:
        return None
