"""A whole run on public tables, to say what error to expect before any budget is spent."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kinfolk.errors import KinfolkError
from kinfolk.methods.marginals import Marginals
from kinfolk.methods.method import Method
from kinfolk.methods.run import run
from kinfolk.privacy.curator import Curator
from kinfolk.privacy.guarantee import Guarantee
from kinfolk.queries.workload import Workload
from kinfolk.release.public import Public, count_resampled
from kinfolk.schema import Schema

SEED = 1
"""Of the noise, which protects nobody: the tables are public."""
FACTORS = (0.5, 1.0, 2.0)
"""Times the epsilon that was asked for."""


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """What a run came to on public tables; errors are of shares, over all queries."""

    epsilon: float
    max_error: float
    mean_error: float


def rehearse(
    schema: Schema,
    method: Method,
    guarantee: Guarantee,
    public: Public,
    *,
    groups: int,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    factors: Sequence[float] = FACTORS,
) -> list[Rehearsal]:
    """Do a run on as many public groups as there will be private ones, for several epsilons.

    The public tables stand for the private ones: groups are drawn from them with replacement, and
    nothing is known beforehand. A second public file would be needed to try out a prior.
    """
    if groups < 1:
        raise KinfolkError(f"groups is {groups}. Use at least one group.")
    chosen = replace(method, replicates=0) if isinstance(method, Marginals) else method
    workload = Workload.of(schema)
    asked = chosen.asks(workload)
    rng = np.random.default_rng(SEED)
    plain, counter = count_resampled(
        schema,
        public,
        (workload, asked),
        groups=groups,
        unit=guarantee.unit if chosen.size_weighted else None,
        rng=rng,
    )
    levels = [one.level == "group" for one in workload.marginals]
    of_groups = np.repeat(levels, [one.cells for one in workload.marginals])
    true = plain.counts / np.where(of_groups, plain.groups, plain.people)
    found: list[Rehearsal] = []
    for done, factor in enumerate(factors):
        on_progress(done, len(factors))
        promise = Guarantee.of(
            neighbours=guarantee.neighbours,
            epsilon=guarantee.epsilon * factor,
            delta=guarantee.delta,
            accounting=guarantee.accounting,
        )
        with tempfile.TemporaryDirectory(prefix="kinfolk-") as folder:
            ledger = Path(folder) / "ledger.jsonl"
            with Curator(counter, guarantee=promise, ledger=ledger, seed=SEED) as curator:
                model = run(curator, chosen, rng=rng).training.model()
        wrong = np.abs(np.asarray(model.answer(workload), np.float64) - true)
        found.append(
            Rehearsal(
                epsilon=promise.epsilon,
                max_error=float(wrong.max()),
                mean_error=float(wrong.mean()),
            )
        )
    return found
