"""Where inside its bin a number lies: a distribution over the cells of every bin.

And the shapes of all numbers of a schema, as a file keeps them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from kinfolk._typing import Codes, Floats
from kinfolk.data.shape_fit import fit_shares
from kinfolk.errors import KinfolkError
from kinfolk.schema import Attribute, Numeric, Schema
from kinfolk.schema.bins import bin_of_cells, fine

Inexact = TypeVar("Inexact", bound=npt.NDArray[np.floating[Any]])

SHARES = "shares"
"""The array that holds the shares of all cells of all shapes."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Shape:
    """How the numbers of one attribute lie inside its bins.

    >>> hours = Numeric(bins=[1, 35, 45, 99], integer=True)
    >>> shape = Shape.even(hours)
    >>> shape.draw(np.array([0, 1, 1]), np.random.default_rng(0)).tolist()
    [21.0, 37.0, 35.0]
    """

    attribute: Numeric
    shares: Floats
    """(cells,) of each bin's numbers, the share in each of its cells; 1 in total for a bin."""

    def __post_init__(self) -> None:
        shares, bins = self.shares, self.bins
        if not isinstance(shares, np.ndarray) or shares.dtype != np.float64:
            raise KinfolkError("the shape of a number is not an array of float64.")
        if shares.shape != bins.shape:
            raise KinfolkError(
                f"the shape of a number has {shares.size} shares for {bins.size} cells."
            )
        totals = np.bincount(bins, weights=shares)
        # NaN fails both.
        if not (shares >= 0).all() or not (np.abs(totals - 1) < 1e-6).all():
            raise KinfolkError("the shares of a bin's cells are not a distribution.")

    @classmethod
    def even(cls, attribute: Numeric) -> Shape:
        """Knowing nothing: evenly inside a bin."""
        cells = fine(attribute)
        return cls(attribute=attribute, shares=_normal(_widths(cells), _bins(attribute, cells)))

    @classmethod
    def fitted(
        cls, attribute: Numeric, counts: Floats, *, sigma: float, totals: Floats | None = None
    ) -> Shape:
        """From noisy counts of the cells.

        counts: (cells,) or with the special values and blank at the end, which do not matter here;
        sigma: the noise's standard deviation; totals: (bins,) what is known of the bins' counts
        from elsewhere, on the same scale.
        """
        cells = fine(attribute)
        bins = _bins(attribute, cells)
        seen = np.asarray(counts, dtype=np.float64)[: bins.size]
        if seen.shape != bins.shape or not np.isfinite(seen).all() or not sigma >= 0:
            raise KinfolkError(
                f"{bins.size} finite counts and their noise make a shape, not {counts!r}."
            )
        return cls(
            attribute=attribute,
            shares=fit_shares(attribute, cells, seen, sigma=sigma, totals=totals),
        )

    @cached_property
    def cells(self) -> Numeric:
        """The attribute with its cells as bins."""
        return fine(self.attribute)

    @cached_property
    def bins(self) -> npt.NDArray[np.int64]:
        """(cells,) the bin of each."""
        return _bins(self.attribute, self.cells)

    @cached_property
    def _ends(self) -> Floats:
        """(cells,) c + the share of bin c up to the end of a cell."""
        ends = np.cumsum(self.shares)
        before = np.concatenate([[0.0], ends])[np.searchsorted(self.bins, self.bins)]
        found: Floats = self.bins + (ends - before)
        return found

    def draw(self, codes: Codes, rng: np.random.Generator) -> Floats:
        """Numbers for the codes of bins, (rows,); for other codes anything in the last bin."""
        last = len(self.attribute.bins) - 2
        code = np.minimum(codes.astype(np.int64), last)
        cell = np.searchsorted(self._ends, code + rng.random(code.size), side="right")
        # Rounding may have left the bin, or reached a cell without a share.
        cell = self._filled[np.clip(cell, self._first[code], self._first[code + 1] - 1)]
        return draw_inside(self.cells, cell, rng)

    @cached_property
    def _first(self) -> npt.NDArray[np.int64]:
        """(bins + 1,) the first cell of each bin."""
        return np.searchsorted(self.bins, np.arange(len(self.attribute.bins)))

    @cached_property
    def _filled(self) -> npt.NDArray[np.int64]:
        """(cells,) the cell itself, or the nearest one before (or after) it with a share."""
        found = np.arange(self.bins.size)
        for first, end in zip(self._first[:-1], self._first[1:], strict=True):
            own = first + np.flatnonzero(self.shares[first:end])
            at = np.searchsorted(own, found[first:end], side="right") - 1
            found[first:end] = own[np.maximum(at, 0)]
        return found


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


def draw_inside(attribute: Numeric, codes: Codes, rng: np.random.Generator) -> Floats:
    """Numbers drawn evenly inside their bins, rounded as the attribute says; no special values.

    >>> income = Numeric(bins=[0, 0.5, 9], decimals=1, special=[0])
    >>> draw_inside(income, np.array([0, 0, 0]), np.random.default_rng(0)).tolist()
    [0.4, 0.3, 0.3]
    """
    if attribute.places is not None:
        return _draw_steps(attribute, codes, rng)
    edges = np.asarray(attribute.bins, dtype=np.float64)
    return keep_inside(rng.uniform(edges[codes], edges[codes + 1]), attribute, codes)


def keep_inside(drawn: Inexact, attribute: Numeric, codes: Codes) -> Inexact:
    """Numbers moved by a hair where rounding has put them on a special value or out of the bin.

    The type of `drawn` must hold all edges and special values exactly.
    """
    edges = np.asarray(attribute.bins, dtype=drawn.dtype)
    special = np.asarray(attribute.special, dtype=drawn.dtype)
    up, down = drawn.dtype.type(np.inf), drawn.dtype.type(-np.inf)
    # The last bin holds its upper end.
    tops = np.append(np.nextafter(edges[1:-1], down), edges[-1])
    kept: Inexact = np.clip(drawn, edges[codes], tops[codes])
    for _ in range(special.size):
        hit = np.isin(kept, special)
        if not hit.any():
            return kept
        kept[hit] = np.nextafter(kept[hit], up)
    # Where special values fill a bin up to its end, the only way is down.
    for _ in range(special.size + 1):
        hit = (kept > tops[codes]) | np.isin(kept, special)
        kept[hit] = np.nextafter(kept[hit], down)
    return kept


def _draw_steps(attribute: Numeric, codes: Codes, rng: np.random.Generator) -> Floats:
    """In units of the last decimal, jumping over the special values."""
    begins, counts, jumps = _steps(attribute)
    drawn = begins[codes] + rng.integers(0, counts[codes])
    for value, reached in jumps:
        drawn += reached[codes] & (drawn >= value)
    return drawn / 10.0 ** (attribute.places or 0)


@lru_cache(maxsize=256)
def _steps(
    attribute: Numeric,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], list[tuple[int, npt.NDArray[np.bool_]]]]:
    """(bins,) where the numbers of each begin, how many there are, and special ones to jump."""
    ranges = [attribute.writable(code) for code in range(len(attribute.bins) - 1)]
    taken = attribute.special_steps()
    inside = [[k for k in taken if k in one] for one in ranges]
    counts = [len(a) - len(b) for a, b in zip(ranges, inside, strict=True)]
    jumps = [
        (value, np.array([value in own for own in inside]))
        for value in sorted({k for own in inside for k in own})
    ]
    begins = np.array([one.start for one in ranges], dtype=np.int64)
    return begins, np.array(counts, dtype=np.int64), jumps


def _bins(attribute: Numeric, cells: Numeric) -> npt.NDArray[np.int64]:
    return np.array(bin_of_cells(attribute, cells), dtype=np.int64)


def _widths(cells: Numeric) -> Floats:
    """(cells,) how much of the scale each cell covers, in numbers that can be written."""
    if cells.places is None:
        return np.diff(np.asarray(cells.bins, dtype=np.float64))
    return np.array([len(cells.writable(c)) for c in range(len(cells.bins) - 1)], np.float64)


def _normal(shares: Floats, bins: npt.NDArray[np.int64]) -> Floats:
    return shares / np.bincount(bins, weights=shares)[bins]
