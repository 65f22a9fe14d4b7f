"""From a model to groups and their members, in arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np

from kinfolk.data.encoded import Encoded
from kinfolk.errors import KinfolkError
from kinfolk.models.histogram import Histogram
from kinfolk.models.hpd import HPD
from kinfolk.sampling.listed import listed_batches
from kinfolk.sampling.mixture import mixture_batches
from kinfolk.schema import Schema
from kinfolk.schema.attributes import shown
from kinfolk.schema.roles import is_whole

Model: TypeAlias = HPD | Histogram
"""What groups can be drawn from."""

BATCH = 262_144
"""Groups that are drawn, and evened out, together."""

_PEOPLE = 4_194_304
"""People in a batch at most; only very large groups get there."""


def sample(
    model: Model,
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
    >>> model = Histogram.uniform(load_schema("acs-red"))
    >>> list(sample(model, 1000, rng=np.random.default_rng(1), chunk=600))
    [Encoded(600 groups, 1,757 people), Encoded(400 groups, 1,176 people)]
    """
    check_groups(groups)
    if chunk is not None and (not is_whole(chunk) or chunk < 1):
        raise KinfolkError(f"chunk: {shown(chunk)} is not a whole number of at least 1.")
    # Drawing begins later, when the first chunk is wanted; what becomes of rng until then is
    # nobody's business.
    own = np.random.default_rng(rng.integers(2**63, size=4))
    size = batch_size(schema_of(model))
    batches = (
        mixture_batches(model, groups, size=size, rng=own, stratified=stratified)
        if isinstance(model, HPD)
        else listed_batches(model, groups, size=size, rng=own, stratified=stratified)
    )
    return batches if chunk is None else _rechunked(batches, chunk)


def sample_encoded(
    model: Model, groups: int, *, rng: np.random.Generator, stratified: bool = True
) -> Encoded:
    """Draw exactly so many groups, all in one; see `sample`.

    >>> from kinfolk.datasets import load_schema
    >>> model = Histogram.uniform(load_schema("acs-red"))
    >>> sample_encoded(model, 1000, rng=np.random.default_rng(1))
    Encoded(1,000 groups, 2,933 people)
    """
    return _joined(list(sample(model, groups, rng=rng, stratified=stratified)))


def schema_of(model: Model) -> Schema:
    """The schema whose groups a model draws."""
    return model.layout.schema if isinstance(model, HPD) else model.schema


def check_groups(groups: int) -> None:
    """Refuse a number of groups that is none."""
    if not is_whole(groups) or groups < 1:
        raise KinfolkError(
            f"groups: {shown(groups)} is not a whole number of at least 1. "
            "Say how many groups to draw, such as 1000."
        )


def batch_size(schema: Schema) -> int:
    """How many groups are drawn together: public, and the same for every sample of a schema."""
    return min(BATCH, max(1, _PEOPLE // schema.size_limit))


def _rechunked(batches: Iterable[Encoded], chunk: int) -> Iterator[Encoded]:
    """The same groups in other portions."""
    waiting: list[Encoded] = []
    number = 0
    for batch in batches:
        start = 0
        while start < batch.groups:
            stop = min(batch.groups, start + chunk - number)
            waiting.append(_part(batch, start, stop))
            number += stop - start
            start = stop
            if number == chunk:
                yield _joined(waiting)
                waiting, number = [], 0
    if waiting:
        yield _joined(waiting)


def _part(data: Encoded, start: int, stop: int) -> Encoded:
    low, high = data.offsets[start], data.offsets[stop]
    return Encoded(
        schema=data.schema,
        group=data.group[start:stop],
        individual=data.individual[low:high],
        offsets=data.offsets[start : stop + 1] - low,
        role=None if data.role is None else data.role[low:high],
    )


def _joined(parts: list[Encoded]) -> Encoded:
    if len(parts) == 1:
        return parts[0]
    roles = [part.role for part in parts if part.role is not None]
    sizes = np.concatenate([part.sizes for part in parts])
    return Encoded(
        schema=parts[0].schema,
        group=np.concatenate([part.group for part in parts]),
        individual=np.concatenate([part.individual for part in parts]),
        offsets=np.concatenate([[0], np.cumsum(sizes)]),
        role=np.concatenate(roles) if roles else None,
    )
