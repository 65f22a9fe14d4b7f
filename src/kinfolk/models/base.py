"""What all models have in common: they answer queries, and groups are drawn from them, in batches.

Which groups are in a batch and which random numbers it uses follow from the seeds and from its
number alone: whoever draws some batches, on whichever machine, draws what others would have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from kinfolk._typing import Floats, Ints
from kinfolk.data.encoded import Encoded
from kinfolk.errors import KinfolkError
from kinfolk.queries.questions import Question
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema
from kinfolk.schema.attributes import shown
from kinfolk.schema.roles import is_whole
from kinfolk.schema.where import Factor

BATCH = 262_144
"""Groups that are drawn, and evened out, together."""

_PEOPLE = 4_194_304
"""People in a batch at most; only very large groups get there."""

Seeds: TypeAlias = tuple[int, ...]


def fresh_seeds(rng: np.random.Generator) -> Seeds:
    """Seeds for generators of its own."""
    return tuple(rng.integers(2**63, size=4).tolist())


def batch_rng(seeds: Seeds, at: int) -> np.random.Generator:
    """The generator of a batch."""
    return np.random.default_rng([*seeds, at] if at else list(seeds))


@dataclass(frozen=True, kw_only=True)
class Batches:
    """So many groups in batches of `size`; the last one may be smaller.

    >>> batches = Batches(groups=600, size=256, seeds=(1, 2), stratified=True)
    >>> [(batches.start(at), batches.number(at)) for at in range(len(batches))]
    [(0, 256), (256, 256), (512, 88)]
    """

    groups: int
    size: int
    seeds: Seeds
    stratified: bool
    """Whether the groups of a batch are more even than independent ones."""

    @classmethod
    def of(
        cls, schema: Schema, groups: int, *, rng: np.random.Generator, stratified: bool
    ) -> Batches:
        """The batches of a sample: of a size that is public, the same for all of a schema."""
        size = min(BATCH, max(1, _PEOPLE // schema.size_limit))
        return cls(groups=groups, size=size, seeds=fresh_seeds(rng), stratified=stratified)

    def __len__(self) -> int:
        return -(-self.groups // self.size)

    def start(self, at: int) -> int:
        """How many groups the batches before it have."""
        return at * self.size

    def number(self, at: int) -> int:
        """How many groups a batch has."""
        return min(self.size, self.groups - self.start(at))

    def rng(self, at: int) -> np.random.Generator:
        """The generator of a batch."""
        return batch_rng(self.seeds, at)


Table: TypeAlias = npt.NDArray[np.float32] | Floats
"""A model's probabilities."""
Asked: TypeAlias = Workload | tuple[Question, ...]
"""A whole workload, or questions one by one."""


class GroupSource(Protocol):
    """What groups are drawn from: a model, or what is left of one under a condition."""

    @property
    def schema(self) -> Schema:
        """The schema whose groups these are."""

    def composition_chances(self) -> Floats:
        """(compositions,) how likely a group is to have each."""

    def batch(self, batches: Batches, at: int) -> Encoded:
        """Draw one of the batches of a sample, its groups in random order; see `sample`."""

    def like(self, compositions: Ints, *, rng: np.random.Generator) -> Encoded:
        """One group for each of these compositions, by position, in that order."""


class Model(GroupSource, Protocol):
    """A distribution over whole groups: a schema, and one table of probabilities.

    A new one stands in a folder of its own and is named in `kinfolk.release.file.KINDS`.
    """

    kind: ClassVar[str]
    """How a model file calls it."""

    @property
    def probabilities(self) -> npt.NDArray[Any]:
        """All that was learnt, in one array."""

    def mean_size(self) -> float:
        """How many members a group has on average."""

    def answer(self, asked: Workload) -> npt.NDArray[Any]:
        """The share of groups or of people that every query asks for: (queries,)."""

    def evaluator(self, asked: Asked) -> Callable[[Table], Floats]:
        """Prepares queries once; they are asked of one table like its own after the other."""

    def restricted(self, factors: Sequence[Factor]) -> GroupSource:
        """The same law for groups that are as some factors of a condition say."""

    def describe(self) -> Mapping[str, Any]:
        """What a model file says of it, beside schema and probabilities: JSON values."""

    @classmethod
    def from_description(
        cls, described: Mapping[str, Any], schema: Schema, table: npt.NDArray[Any]
    ) -> Self:
        """The model that a file describes; KinfolkError where the table does not hold it."""

    def check_replicates(self, tables: npt.NDArray[Any]) -> Table | None:
        """Tables like its own, (replicates, ...), if they are; None if it has no use for any."""


def sample(
    model: GroupSource,
    groups: int,
    *,
    rng: np.random.Generator,
    chunk: int | None = None,
    stratified: bool = True,
) -> Iterator[Encoded]:
    """Draw exactly so many groups, in chunks of `chunk` groups; memory does not grow with `groups`.

    Every group follows the model. With `stratified` the groups together are more even than
    independent ones: each component (or possible group) comes up its share of times, and inside a
    component every category of every attribute does, give or take one in each batch. So answers
    are closer to the model's. They come in random order: neighbours have nothing in common. The
    same `rng` gives the same groups, whatever the chunks.

    >>> from kinfolk.datasets import load_schema
    >>> from kinfolk.models.histogram import Histogram
    >>> model = Histogram.uniform(load_schema("acs-red"))
    >>> list(sample(model, 1000, rng=np.random.default_rng(1), chunk=600))
    [Encoded(600 groups, 1,757 people), Encoded(400 groups, 1,176 people)]
    """
    check_groups(groups)
    if chunk is not None and (not is_whole(chunk) or chunk < 1):
        raise KinfolkError(f"chunk: {shown(chunk)} is not a whole number of at least 1.")
    # Drawing begins later, when the first chunk is wanted; what becomes of rng until then is
    # nobody's business.
    batches = Batches.of(model.schema, groups, rng=rng, stratified=stratified)
    drawn = (model.batch(batches, at) for at in range(len(batches)))
    return drawn if chunk is None else rechunked(drawn, chunk)


def check_groups(groups: int) -> None:
    """Refuse a number of groups that is none."""
    if not is_whole(groups) or groups < 1:
        raise KinfolkError(
            f"groups: {shown(groups)} is not a whole number of at least 1. "
            "Say how many groups to draw, such as 1000."
        )


def rechunked(batches: Iterable[Encoded], chunk: int) -> Iterator[Encoded]:
    """The same groups in other portions."""
    waiting: list[Encoded] = []
    number = 0
    for batch in batches:
        start = 0
        while start < batch.groups:
            stop = min(batch.groups, start + chunk - number)
            waiting.append(batch.take(np.arange(start, stop)))
            number += stop - start
            start = stop
            if number == chunk:
                yield Encoded.joined(waiting)
                waiting, number = [], 0
    if waiting:
        yield Encoded.joined(waiting)


class NoSuchGroupError(KinfolkError):
    """A model gives no chance to what is wanted."""


def no_such_group() -> NoSuchGroupError:
    """The error where a model gives no chance to what is wanted."""
    return NoSuchGroupError(
        "where: the model makes no such group. Choose a condition that some groups of it meet."
    )


def check_sums(table: npt.NDArray[Any], sums: Any) -> None:
    """Refuse a table from a file that holds no distributions."""
    if table.min() < 0 or np.abs(sums - 1).max() > 1e-4:
        raise KinfolkError("is damaged: its probabilities are negative or do not add up to one.")


def wrong_shape(table: npt.NDArray[Any]) -> KinfolkError:
    """The error where a table from a file is not what the schema needs."""
    return KinfolkError(
        f"is damaged: its probabilities are {table.shape} of {table.dtype}, which is not what its "
        "schema needs."
    )
