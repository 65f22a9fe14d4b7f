"""The Python interface: a synthesizer is told everything, then fitted, then drawn from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

from kinfolk._io import local_path, passing_folder
from kinfolk.data.frames import TableLike
from kinfolk.errors import KinfolkError
from kinfolk.methods.method import Method, Progress, silent
from kinfolk.methods.registry import method_named
from kinfolk.privacy.unit import Unit, Wording
from kinfolk.release.fitting import fit, promised
from kinfolk.release.public import Public
from kinfolk.release.release import Drawable, Release, checked_seed
from kinfolk.schema import Schema
from kinfolk.schema.names import singular
from kinfolk.template import show

if TYPE_CHECKING:
    from kinfolk.release.estimate import RunEstimate


class Synthesizer(Drawable):
    """Makes synthetic tables of a schema, under a promise to the unit that is named.

    >>> from kinfolk import load_detroit
    >>> schema, tables = load_detroit(frames="pandas")
    >>> maker = Synthesizer(
    ...     schema, unit="household", epsilon=1.0, delta=1e-9, method="hpd-fixed",
    ...     rounds=2, components=10, max_iterations=2,
    ... )
    >>> synthetic = maker.fit(tables).sample(500)
    >>> list(synthetic), len(synthetic["households"])
    (['households', 'persons'], 500)
    >>> maker.certificate["unit_name"], maker.certificate["private"]
    ('household', True)
    """

    def __init__(
        self,
        schema: Schema | str | os.PathLike[str],
        *,
        unit: str,
        epsilon: float,
        delta: float,
        neighbours: str | None = None,
        method: str | Method | None = None,
        accounting: str | None = None,
        seed: int | None = None,
        ledger: str | os.PathLike[str] | None = None,
        **settings: Any,
    ) -> None:
        """Say everything in advance; nothing is read yet but the schema.

        schema: a Schema, or the path of a schema.yaml.
        unit: whom the promise protects: household, person, or a table of the schema. No default.
        epsilon, delta: the promise. delta should be far below one in the number of people.
        neighbours: for a whole household, 'add-remove' (the default: one more or less) or 'replace'
            (one by another; stronger at the same epsilon, with more noise).
        method: a method's name, or a method; `settings` are those of the method.
        accounting: by default the tightest for the method: 'gaussian', or 'zcdp' where it selects;
            'paper' for the paper's arithmetic.
        seed: fixes everything, for tests: the certificate then says that nothing is private.
        ledger: where the spends and released values are recorded, so that a run can be resumed; or
            a ledger that `kinfolk ledger create` has made, on which several releases draw. By
            default in a temporary folder that goes when the fit ends.
        """
        self.schema = Schema.of(schema)
        if isinstance(method, str) or method is None:
            self.method = method_named(method, **settings)
        elif settings:
            raise KinfolkError(f"{next(iter(settings))}: tell the method itself, or name it.")
        else:
            self.method = method
        self.guarantee = promised(
            self.schema,
            self.method,
            unit=unit,
            epsilon=epsilon,
            delta=delta,
            neighbours=neighbours,
            accounting=accounting,
        )
        self.seed = checked_seed(seed)
        self.ledger = None if ledger is None else local_path(ledger)
        self._release: Release | None = None

    def fit(
        self,
        tables: Mapping[str, TableLike],
        *,
        public: Public | None = None,
        resume: bool = False,
        engine: str | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Fit to tables by name: data frames of pandas, polars, pyarrow or Spark, or paths.

        Those of Spark are checked and counted on the cluster, and with `engine="spark"`, paths that
        Spark can read: Parquet or CSV. Only counts come to the driver.

        `public` are tables of the same schema in which nobody is to be protected, such as an
        earlier public file, or a folder of them: the method `marginals` begins with what they say,
        as far as the noisy measurements bear it out.

        Every fit spends epsilon and delta anew, unless it resumes the run of its ledger. Ctrl-C
        keeps what was learnt so far: `release` has it, and the interruption goes on. So it is with
        a run that has lost most of its budget in a crash: it raises a KinfolkError.
        """
        if not isinstance(tables, Mapping):
            raise KinfolkError(
                f"fit got {type(tables).__name__}. It takes a dict with the tables "
                f"{', '.join(self.schema.table_names)}: data frames of pandas, polars, pyarrow or "
                "Spark, or paths."
            )
        with ExitStack() as ends:
            ledger = self.ledger
            if ledger is None:
                ledger = ends.enter_context(passing_folder()) / "ledger.jsonl"
            fitted = fit(
                self.schema,
                tables,
                guarantee=self.guarantee,
                method=self.method,
                ledger=ledger,
                seed=self.seed,
                resume=resume and self.ledger is not None,
                passing=self.ledger is None,
                public=public,
                engine=engine,
                progress=progress or silent,
            )
        self._release = fitted.release
        if fitted.ending == "interrupted":
            raise KeyboardInterrupt
        if fitted.ending == "short":
            raise KinfolkError(f"{fitted.shortfall}. `release` has it.")
        return self

    def plan(
        self, groups: int, *, people: int | None = None, benchmark: bool = True
    ) -> RunEstimate:
        """Say what a fit to so many groups would do; no data is needed, and nothing is spent.

        To say how long it takes, the method works for a moment on made-up groups (`benchmark`).
        """
        from kinfolk.release.estimate import estimate_run

        return estimate_run(
            self.schema,
            self.method,
            self.guarantee,
            groups=groups,
            people=people,
            benchmark=benchmark,
        )

    @property
    def release(self) -> Release:
        """The model with its certificate."""
        if self._release is None:
            raise KinfolkError("the synthesizer is not fitted yet. Call `fit` with the tables.")
        return self._release

    @property
    def certificate(self) -> Mapping[str, Any]:
        """What was promised, to whom, and how it was spent."""
        return self.release.certificate

    def _drawn_from(self, seed: int | None) -> tuple[Release, int | None]:
        return self.release, self.seed if seed is None else checked_seed(seed)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file; `kinfolk.load` reads it back."""
        self.release.save(path)

    def _repr_html_(self) -> str:
        if self._release is not None:
            return self._release._repr_html_()
        promise = self.guarantee
        rows = [
            ("Method", self.method.name),
            ("Promise", f"epsilon = {promise.epsilon:g}, delta = {promise.delta:.3g}"),
            ("Neighbours", Wording.of(self.schema, promise.neighbours).neighbours),
            ("State", "not fitted"),
        ]
        return show("Synthesizer", rows)

    def __repr__(self) -> str:
        promise = self.guarantee
        protected = singular(self.schema.table_names[0 if promise.unit is Unit.GROUP else -1])
        state = "not fitted" if self._release is None else "fitted"
        return (
            f"Synthesizer({self.method.name}, epsilon = {promise.epsilon:g} and delta = "
            f"{promise.delta:.3g} for one {protected}, {state})"
        )


def plan(
    schema: Schema | str | os.PathLike[str],
    *,
    groups: int,
    people: int | None = None,
    benchmark: bool = True,
    **promise: Any,
) -> RunEstimate:
    """Say what a run would do with so many groups, from the schema alone.

    `promise` is what a `Synthesizer` is told: unit, epsilon, delta, method and so on. To see how
    fast this machine is, the method works for a moment on made-up groups (`benchmark`).

    >>> from kinfolk import load_schema
    >>> promise = {"unit": "household", "epsilon": 1.0, "delta": 1e-9}
    >>> plan(load_schema("acs-red"), groups=10_000, benchmark=False, **promise)
    RunEstimate(2,696 queries of 10,000 groups and 20,000 people, rho = 0.01656)
    """
    return Synthesizer(schema, **promise).plan(groups, people=people, benchmark=benchmark)
