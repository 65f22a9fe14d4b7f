"""The shapes of all numbers of a schema, and how a file keeps them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kinfolk.data.shape import Shape
from kinfolk.errors import KinfolkError
from kinfolk.schema import Attribute, Numeric, Schema

SHARES = "shares"
"""The array that holds the shares of all cells of all shapes."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Shapes:
    """For every numeric attribute how its numbers lie inside the bins.

    >>> from kinfolk.datasets import load_schema
    >>> schema = load_schema("acs")
    >>> shapes = Shapes.even(schema)
    >>> again = Shapes.from_arrays(schema, shapes.to_arrays())
    >>> list(again.individual) == list(shapes.individual)
    True
    """

    group: Mapping[str, Shape]
    """Of group attributes, by name."""
    individual: Mapping[str, Shape]
    """Of individual attributes, by name."""

    @classmethod
    def even(cls, schema: Schema) -> Shapes:
        """Knowing nothing: evenly inside bins."""
        return cls(
            group={name: Shape.even(one) for name, one in numerics(schema.group_attributes)},
            individual={
                name: Shape.even(one) for name, one in numerics(schema.individual_attributes)
            },
        )

    def to_arrays(self) -> dict[str, npt.NDArray[np.float64]]:
        """What a file keeps."""
        own = [*self.group.values(), *self.individual.values()]
        found = np.concatenate([shape.shares for shape in own]) if own else np.empty(0)
        return {SHARES: found}

    @classmethod
    def from_arrays(cls, schema: Schema, arrays: Mapping[str, npt.NDArray[np.float64]]) -> Shapes:
        """From what a file kept; the schema says what the shares belong to."""
        known = cls.even(schema)
        shares = arrays.get(SHARES)
        most = sum(
            len(shape.shares)
            for table in (known.group, known.individual)
            for shape in table.values()
        )
        if not isinstance(shares, np.ndarray) or shares.shape != (most,):
            raise KinfolkError(
                f"the shapes of numbers are not {most} shares of cells, as the schema says. "
                "The file is damaged, or of another schema."
            )
        found: list[dict[str, Shape]] = []
        at = 0
        for table in (known.group, known.individual):
            own: dict[str, Shape] = {}
            for name, shape in table.items():
                end = at + len(shape.shares)
                own[name] = Shape(attribute=shape.attribute, shares=shares[at:end])
                at = end
            found.append(own)
        return cls(group=found[0], individual=found[1])


def numerics(attributes: Mapping[str, Attribute]) -> Iterator[tuple[str, Numeric]]:
    """The numeric ones among attributes, by name.

    >>> [name for name, _ in numerics({"age": Numeric(bins=[0, 18, 120])})]
    ['age']
    """
    for name, attribute in attributes.items():
        if isinstance(attribute, Numeric):
            yield name, attribute
