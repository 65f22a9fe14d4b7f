"""Hierarchical product distributions: a mixture of K products, over whole groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from kinfolk.data.encoded import Encoded
from kinfolk.errors import KinfolkError
from kinfolk.models.base import Asked, Batches, Table, check_sums, wrong_shape
from kinfolk.models.layout import Floats, Layout
from kinfolk.models.mixture.prepared import Answers, Prepared, softmax, softmax_vjp
from kinfolk.models.mixture.sample import RestrictedMixture, mixture_batch, mixture_groups
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema
from kinfolk.schema.where import Factor
from kinfolk.template import show


@dataclass(frozen=True, kw_only=True, eq=False)
class HPD:
    """K components, equally likely; each holds a product distribution over whole groups.

    A group comes from one component: its composition, its attributes and all its members.

    >>> from kinfolk.datasets import load_schema
    >>> layout = Layout.of(load_schema("acs-red"))
    >>> model = HPD.random(layout, components=5, rng=np.random.default_rng(1))
    >>> model.composition.shape, model.group.shape, model.individual.shape
    ((3, 5), (12, 5), (3, 8, 5))
    >>> workload = Workload.of(layout.schema, k=1, levels=["individual"], attributes=["SEX"])
    >>> round(float(model.answer(workload).sum()), 6)
    1.0
    """

    kind: ClassVar[str] = "hpd"

    layout: Layout
    probabilities: Floats
    """(rows, K) all distributions of a component stacked, as the layout says."""

    def __post_init__(self) -> None:
        table = self.probabilities
        if table.ndim != 2 or table.shape[0] != self.layout.rows or table.shape[1] < 1:
            raise ValueError(f"probabilities have shape {table.shape}, not ({self.layout.rows}, K)")
        if table.dtype not in (np.float32, np.float64) or not table.flags.c_contiguous:
            raise ValueError("probabilities must be a C-ordered array of float32 or float64")

    @classmethod
    def random(
        cls,
        layout: Layout,
        components: int,
        rng: np.random.Generator,
        *,
        dtype: npt.DTypeLike = np.float64,
    ) -> HPD:
        """Distributions from standard normal logits."""
        kind: Any = np.dtype(dtype)
        logits = rng.standard_normal((layout.rows, components), dtype=kind)
        return cls.from_logits(layout, logits)

    @classmethod
    def from_logits(cls, layout: Layout, logits: Floats) -> HPD:
        """Each distribution is the softmax of its logits, (rows, K), over what can occur."""
        allowed = logits if layout.possible.all() else layout.masked(logits.copy())
        return cls(layout=layout, probabilities=softmax(allowed, layout.segments))

    @property
    def schema(self) -> Schema:
        """The schema whose groups these are."""
        return self.layout.schema

    @property
    def components(self) -> int:
        """K, the number of components."""
        return int(self.probabilities.shape[1])

    @property
    def component_probabilities(self) -> npt.NDArray[np.float64]:
        """(K,) how likely a group is to come from each component: all alike."""
        return np.full(self.components, 1 / self.components)

    @property
    def composition(self) -> Floats:
        """(compositions, K) how likely each composition is."""
        return self.probabilities[: self.layout.group_start]

    @property
    def group(self) -> Floats:
        """(D_G, K) how likely each value of the group attributes is."""
        return self.probabilities[self.layout.group_start : self.layout.kind_start]

    @property
    def individual(self) -> Floats:
        """(kinds, D_I, K) how likely each value of an attribute is, in a kind of people."""
        rows = self.probabilities[self.layout.individual_start :]
        return rows.reshape(self.layout.kinds, self.layout.kind_rows, self.components)

    @property
    def kinds(self) -> Floats:
        """(kinds, K) how likely each kind of people is in its slot."""
        if not self.layout.kinded:
            return np.ones((self.layout.kinds, self.components), self.probabilities.dtype)
        return self.probabilities[self.layout.kind_start : self.layout.individual_start]

    def mean_size(self) -> float:
        """How many members a group has on average."""
        return float(self.layout.sizes @ self.composition.mean(axis=1, dtype=np.float64))

    def rates(
        self, asked: Workload | Prepared, *, weights: npt.NDArray[np.int64] | None = None
    ) -> Answers:
        """What one group adds to every query on average: (queries,).

        The expected counts of so many groups, divided by their number. `weights` says what a group
        of each size counts for, (marginals, sizes + 1), where a workload is asked as it is.
        """
        return self._prepared(asked, weights).answers(self.probabilities)

    def answer(self, asked: Workload | Prepared) -> Answers:
        """The share of groups or of people that every query asks for: (queries,)."""
        prepared = self._prepared(asked, None)
        rates = prepared.answers(self.probabilities)
        return np.where(prepared.per_person, rates / self.mean_size(), rates)

    def rates_vjp(self, asked: Prepared, cotangent: npt.ArrayLike) -> Floats:
        """The gradient by the probabilities, (rows, K), from that by the rates, (queries,)."""
        return self._prepared(asked, None).vjp(self.probabilities, cotangent)

    def answer_vjp(self, asked: Prepared, answers: Answers, cotangent: npt.ArrayLike) -> Floats:
        """The gradient by the probabilities, (rows, K), from that by the answers, (queries,).

        answers: (queries,) what `answer` gave. Shares of people also depend on the mean size.
        """
        size = self.mean_size()
        people, given = asked.per_person, np.asarray(cotangent, np.float64)
        gradient = self.rates_vjp(asked, np.where(people, given / size, given))
        by_size = -float(given[people] @ answers[people]) / size
        sizes = self.layout.sizes[:, None] * (by_size / self.components)
        gradient[: self.layout.group_start] += sizes.astype(gradient.dtype)
        return gradient

    def logits_vjp(self, cotangent: Floats) -> Floats:
        """The gradient by the logits, (rows, K), from that by the probabilities."""
        return softmax_vjp(self.probabilities, cotangent, self.layout.segments)

    def _prepared(
        self, asked: Workload | Prepared, weights: npt.NDArray[np.int64] | None
    ) -> Prepared:
        if isinstance(asked, Workload):
            return Prepared.of(self.layout, asked, weights=weights)
        if weights is not None:
            raise ValueError("weights are given when the queries are prepared")
        if asked.layout is not self.layout and asked.layout != self.layout:
            raise ValueError("the queries were prepared for another layout")
        return asked

    def evaluator(self, asked: Asked) -> Callable[[Table], npt.NDArray[np.float64]]:
        """Prepares queries once; they are asked of one table, (rows, K), after the other."""
        from kinfolk.models.coarsened_model import CoarsenedModel

        if not isinstance(asked, Workload):
            return CoarsenedModel(self.layout, asked).answer
        prepared = Prepared.of(self.layout, asked)

        def shares(table: Table) -> npt.NDArray[np.float64]:
            found = HPD(layout=self.layout, probabilities=table).answer(prepared)
            return np.asarray(found, np.float64)

        return shares

    def composition_chances(self) -> npt.NDArray[np.float64]:
        """(compositions,) how likely a group is to have each."""
        return np.asarray(self.composition.mean(axis=1, dtype=np.float64))

    def batch(self, batches: Batches, at: int) -> Encoded:
        """Draw one of the batches of a sample, its groups in random order."""
        return mixture_batch(self.layout, self.probabilities, batches, at)

    def like(self, compositions: npt.NDArray[np.int64], *, rng: np.random.Generator) -> Encoded:
        """One group for each of these compositions, by position, in that order."""
        return mixture_groups(
            self.layout,
            self.probabilities,
            compositions,
            components=self.component_probabilities,
            rng=rng,
        )

    def restricted(self, factors: Sequence[Factor]) -> RestrictedMixture:
        """The same law for groups that are as some factors say."""
        return RestrictedMixture(
            layout=self.layout,
            probabilities=self.probabilities,
            components=self.component_probabilities,
            factors=factors,
        )

    def describe(self) -> Mapping[str, Any]:
        """The sharing scheme, for the model file."""
        return {"kind": self.kind, "scheme": [list(part) for part in self.layout.scheme]}

    @classmethod
    def from_description(
        cls, described: Mapping[str, Any], schema: Schema, table: npt.NDArray[Any]
    ) -> Self:
        """The model that a file describes, if the table holds its distributions."""
        layout = Layout(schema=schema, scheme=_scheme(described.get("scheme"), schema))
        fits = table.ndim == 2 and table.shape[0] == layout.rows and table.shape[1] >= 1
        if not fits or table.dtype not in (np.float32, np.float64):
            raise wrong_shape(table)
        check_sums(table, np.add.reduceat(table, layout.segments[:-1], axis=0, dtype=np.float64))
        return cls(layout=layout, probabilities=table)

    def check_replicates(self, tables: npt.NDArray[Any]) -> Table:
        """Models fitted to made-up noise, (replicates, rows, K), if they fit this one."""
        rows = self.layout.rows
        if (
            tables.ndim != 3
            or tables.shape[1] != rows
            or 0 in tables.shape
            or tables.dtype not in (np.float32, np.float64)
        ):
            raise KinfolkError(
                f"the model is damaged: its replicates are {tables.shape} of {tables.dtype}, not "
                f"(replicates, {rows}, components) of floating-point numbers. Get another copy."
            )
        starts = self.layout.segments[:-1]
        for table in tables:
            sums = np.add.reduceat(table, starts, axis=0, dtype=np.float64)
            # Written so that what is not a number fails as well.
            if not (table.min() >= 0 and np.abs(sums - 1).max() <= 1e-4):
                raise KinfolkError(
                    "the model is damaged: its replicates are negative or do not add up to one. "
                    "Get another copy."
                )
        return np.ascontiguousarray(tables)

    def __repr__(self) -> str:
        kind = self.probabilities.dtype
        return f"HPD({self.components:,} components of {self.layout.rows:,} rows, {kind})"

    def _repr_html_(self) -> str:
        rows = [
            ["components", f"{self.components:,}"],
            ["compositions", f"{len(self.composition):,}"],
            ["slots", f"{self.layout.slots:,}"],
            ["rows of a component", f"{self.layout.rows:,}"],
            ["members of a group, on average", f"{self.mean_size():.3g}"],
        ]
        return show("Mixture of product distributions over whole groups", rows)


def _scheme(scheme: object, schema: Schema) -> tuple[tuple[int, ...], ...]:
    """The sharing scheme that a model file holds."""
    roles = 1 if schema.roles is None else len(schema.roles.names)
    if (
        not isinstance(scheme, list)
        or len(scheme) != roles
        or not all(isinstance(part, list) and len(part) <= schema.max_size for part in scheme)
    ):
        raise KinfolkError("is damaged: its sharing scheme is not one for its schema.")
    return tuple(tuple(part) for part in scheme)
