"""A whole run on public tables, judged like any other: what a private one can be expected to do.

Nobody in the public tables is to be protected, as whoever names them says, so what is seen here may
be shown. It stands for the private tables as far as the public ones are like these.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kinfolk.data.decode import decode
from kinfolk.data.encode import encode
from kinfolk.data.encoded import Encoded
from kinfolk.errors import DataError, KinfolkError
from kinfolk.evaluate.compare import Comparison, compare
from kinfolk.methods.marginals import Marginals
from kinfolk.methods.method import Method
from kinfolk.privacy.guarantee import Guarantee
from kinfolk.release.fitting import fit
from kinfolk.release.public import HEADING, Public, public_tables
from kinfolk.schema import Schema

SEED = 1
"""Of the noise, which protects nobody: the tables are public."""
FACTORS = (0.5, 1.0, 2.0)
"""Times the epsilon that was asked for."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Rehearsal:
    """What came of a run on public tables."""

    epsilon: float
    comparison: Comparison
    """The tables that it made beside those that it was made from."""

    @property
    def max_error(self) -> float:
        """Of a share, over all queries."""
        return self.comparison.families["all"].max

    @property
    def mean_error(self) -> float:
        """Of shares, over all queries."""
        return self.comparison.families["all"].mean

    @property
    def other_size(self) -> float:
        """The share of groups that would have to change their size."""
        return self.comparison.sizes.distance


def for_rehearsal(schema: Schema, public: Public) -> Encoded:
    """Public tables to rehearse a run on, without groups that break a rule."""
    kept = replace(schema, on_violation="drop") if schema.never else schema
    try:
        return encode(kept, public_tables(schema, public), keep_numbers=True)
    except DataError as error:
        raise DataError(HEADING, error.problems) from None


def rehearse(
    schema: Schema,
    method: Method,
    guarantee: Guarantee,
    public: Encoded,
    *,
    groups: int,
    factors: Sequence[float] = FACTORS,
    on_progress: Callable[[str], None] = lambda words: None,
) -> list[Rehearsal]:
    """Do a run on as many public groups as there will be private ones, for several epsilons.

    The public tables stand for the private ones: groups are drawn from them with replacement, and
    nothing is known beforehand. A second public file would be needed to try out a prior.

    public: from `for_rehearsal`.
    """
    if groups < 1:
        raise KinfolkError(f"groups is {groups}. Use at least one group.")
    rng = np.random.default_rng(SEED)
    drawn = decode(public.take(rng.integers(public.groups, size=groups)), rng=rng)
    chosen = replace(method, replicates=0) if isinstance(method, Marginals) else method
    found: list[Rehearsal] = []
    for factor in factors:
        promise = Guarantee.of(
            neighbours=guarantee.neighbours,
            epsilon=guarantee.epsilon * factor,
            delta=guarantee.delta,
            accounting=guarantee.accounting,
        )
        on_progress(f"epsilon {promise.epsilon:g}: a run on the public tables")
        with tempfile.TemporaryDirectory(prefix="kinfolk-") as folder:
            made = fit(
                schema,
                drawn,
                guarantee=promise,
                method=chosen,
                ledger=Path(folder) / "ledger.jsonl",
                seed=SEED,
                passing=True,
            )
        on_progress(f"epsilon {promise.epsilon:g}: what it is worth")
        synthetic = made.release.sample(groups, seed=SEED, frames="pyarrow")
        comparison = compare(schema, real=drawn, synthetic=synthetic)
        found.append(Rehearsal(epsilon=promise.epsilon, comparison=comparison))
    return found
