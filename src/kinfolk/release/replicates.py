"""The replicates of a release: models fitted again to made-up noise, and tables drawn from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from kinfolk.data.shapes import SHARES, Shapes
from kinfolk.errors import KinfolkError
from kinfolk.methods.allocate import BANDS, FINELY, TOTALS, planned_purchases
from kinfolk.methods.compositions import fitted_layout
from kinfolk.methods.marginals import Marginals
from kinfolk.methods.method import Progress, silent
from kinfolk.methods.rake import POOL, Measures
from kinfolk.methods.refits import (
    PASSES,
    REPLICATE_GROUPS,
    REPLICATE_RAKING,
    REPLICATE_SHARES,
    REPLICATES,
    Refits,
    Replicate,
    arrays_of,
    deal_batches,
)
from kinfolk.methods.registry import method_named
from kinfolk.models.hpd import HPD
from kinfolk.models.raking import RAKING, Features, Raking
from kinfolk.models.records import Records
from kinfolk.privacy.certificate import Certificate
from kinfolk.privacy.view import GROUPS
from kinfolk.queries.workload import Workload
from kinfolk.release.archive import model_digest
from kinfolk.release.release import PROBABILITIES, Release
from kinfolk.release.verify import view_of

MOST_PASSES = 100_000
"""That a model file may say."""


def held(release: Release) -> list[Replicate]:
    """The replicates that a release holds; KinfolkError where they are damaged."""
    tables = release.extra.get(REPLICATES)
    checked = None if tables is None else release.model.check_replicates(tables)
    if checked is None:
        return []
    number = len(checked)
    groups = release.extra.get(REPLICATE_GROUPS, np.full(number, release.groups))
    if groups.shape != (number,) or groups.dtype != np.int64 or (groups < 1).any():
        raise _damaged("numbers of groups")
    shares = release.extra.get(REPLICATE_SHARES)
    if shares is not None and (shares.ndim != 2 or len(shares) != number):
        raise _damaged("shapes of numbers")
    if shares is not None:
        for one in shares:
            Shapes.from_arrays(release.schema, {SHARES: one})
    raking = release.extra.get(REPLICATE_RAKING)
    if raking is not None:
        if len(raking) != number:
            raise _damaged("raking")
        for one in raking:
            Raking.of(release.schema, one)
    return [
        Replicate(
            probabilities=table,
            shares=None if shares is None else shares[at],
            raking=None if raking is None else raking[at],
            groups=int(groups[at]),
        )
        for at, table in enumerate(checked)
    ]


def _damaged(what: str) -> KinfolkError:
    return KinfolkError(
        f"the model is damaged: the {what} of its replicates are not what they should be. Get "
        "another copy."
    )


def replicate_releases(release: Release, number: int | None) -> list[Release]:
    """So many replicates as releases, by default all: each draws its own groups and numbers.

    How many groups each would have been taken to have is as noisy as it was for the release.
    """
    found = held(release)
    if not found:
        raise KinfolkError(
            "the model holds no replicates. Fit it by the method `marginals`, with `--replicates` "
            "(`replicates=` in Python) of at least 2."
        )
    wanted = len(found) if number is None else number
    if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 1:
        raise KinfolkError(f"replicates: {wanted!r} is not a whole number of at least 1.")
    if wanted > len(found):
        raise KinfolkError(
            f"the model holds {len(found)} replicates, not {wanted}. Use as many, or make more "
            "from it: `kinfolk sample --refit`, or `release.with_replicates(...)` in Python. That "
            "takes as long as fitting does, and costs no privacy."
        )
    return [_as_release(release, one, at) for at, one in enumerate(found[:wanted], 1)]


def _as_release(release: Release, one: Replicate, number: int) -> Release:
    model = release.model
    assert isinstance(model, HPD)  # noqa: S101  (others hold no replicates)
    kept = {} if SHARES not in release.extra else {SHARES: release.extra[SHARES]}
    own = {SHARES: one.shares, RAKING: one.raking}
    stated = {**release.certificate["release"], "replicate": number}
    return replace(
        release,
        model=HPD(layout=model.layout, probabilities=one.probabilities),
        groups=one.groups,
        extra={**kept, **{name: array for name, array in own.items() if array is not None}},
        certificate=Certificate({**release.certificate, "release": stated}),
    )


def replicate_seed(seed: int | None, number: int) -> int | None:
    """The seed of a replicate's table: it has nothing to do with that of the others."""
    if seed is None:
        return None
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


def with_replicates(
    release: Release, number: int, *, seed: int | None = None, progress: Progress = silent
) -> Release:
    """The same release with at least so many replicates, made from what it holds.

    Guarantee: the data is not touched. All that is used is released: the model, how noisy what it
    was fitted to is, and how many passes it was fitted for.
    """
    found = held(release)
    if number <= len(found):
        return release
    refits = refits_of(release, np.random.default_rng(None if seed is None else [seed, 0]))
    model = release.model
    assert isinstance(model, HPD)  # noqa: S101  (`refits_of` has seen to it)
    made: list[Replicate] = []
    for at in range(len(found), number):
        rng = np.random.default_rng(None if seed is None else [seed, 1 + at])
        made.append(refits.make(model, release.shapes, rng=rng))
        progress("repeating", len(made), number - len(found))
    arrays: Mapping[str, npt.NDArray[Any]] = arrays_of([*found, *made])
    extra = {**release.extra, **arrays}
    digest = model_digest(
        release.schema, release.groups, {PROBABILITIES: model.probabilities, **extra}
    )
    stated = {**release.certificate["release"], "model": digest}
    certificate = Certificate({**release.certificate, "release": stated})
    return replace(release, extra=extra, certificate=certificate)


def refits_of(release: Release, rng: np.random.Generator) -> Refits:
    """What it takes to make more replicates, from the release alone.

    What was bought, and with which noise, the certificate says; how marginals were weighted follows
    from the schema.
    """
    passes = release.extra.get(PASSES)
    method = method_named(release.method, **release.settings)
    model = release.model
    if passes is None or not isinstance(method, Marginals) or not isinstance(model, HPD):
        raise KinfolkError(
            "more replicates cannot be made from this model. Fit one by the method `marginals`, "
            "with as many `--replicates` as you want."
        )
    if passes.shape != (1,) or passes.dtype != np.int64 or not 1 <= passes[0] <= MOST_PASSES:
        raise _damaged("passes")
    workload = method.asks(Workload.of(release.schema))
    view = view_of(release.certificate, workload, size_weighted=method.size_weighted)
    view = view.knowing(groups=release.groups)
    noise = {
        spend["step"]: float(spend["sigma"])
        for spend in release.certificate["spends"]
        if spend["released"]
    }
    found: dict[int, npt.NDArray[np.float64]] = {}
    totals: dict[int, npt.NDArray[np.float64]] = {}
    fine: tuple[int, ...] = ()
    for step, one in planned_purchases(view).items():
        if step not in noise:
            # It was lost in a crash.
            continue
        if step == FINELY:
            fine = one.marginals
            continue
        whole = totals if step in (TOTALS, BANDS) else found
        precision = (release.groups / noise[step]) ** 2
        for at in one.marginals:
            cells = workload.marginals[at].cells
            whole[at] = np.stack([np.zeros(cells), np.full(cells, precision)])
    parts = np.array_split(np.arange(method.components), method.parts)
    layout = fitted_layout(model)
    measures = means = None
    if release.raking is not None:
        measures = Measures.of(view, totals, Features.of(release.schema))
        records = Records(model=model, shapes=release.shapes, raking=release.raking)
        pool = records.draw_all(POOL, rng=rng)
        means = measures.features.matrix(pool).mean(axis=0, dtype=np.float64)
    return Refits(
        view=view,
        groups_sigma=noise.get(GROUPS, 0.0),
        layout=layout,
        batches=deal_batches(layout, view, found, rng),
        passes=int(passes[0]),
        components=len(parts[0]),
        fine=fine,
        fine_sigma=noise.get(FINELY, 0.0),
        measures=measures,
        means=means,
    )
