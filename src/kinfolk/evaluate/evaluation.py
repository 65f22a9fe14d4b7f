"""`evaluate`: compare, then hand over figures and a page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kinfolk._io import local_path, write_whole
from kinfolk.data.tables import TableLike
from kinfolk.errors import KinfolkError
from kinfolk.evaluate.compare import Comparison, Stage, compare
from kinfolk.evaluate.integrity import find_tables
from kinfolk.evaluate.report import notebook, page
from kinfolk.privacy.certificate import read_certificate
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema

METRICS, REPORT, CERTIFICATE = "metrics.json", "report.html", "privacy.json"


@dataclass(frozen=True, kw_only=True, eq=False)
class Evaluation:
    """Synthetic tables judged against the real ones. NOT PRIVATE."""

    comparison: Comparison
    certificate: Mapping[str, Any] | str | None = None
    """What was promised, where the synthetic tables came with it; or why it cannot be read."""

    @property
    def metrics(self) -> dict[str, Any]:
        """All figures, as metrics.json holds them."""
        return self.comparison.metrics

    def html(self) -> str:
        """The report: one page that needs nothing else."""
        return page(self.comparison, self.certificate)

    def write(self, directory: str | Path) -> dict[str, Path]:
        """Write metrics.json and report.html; returns where they are."""
        target = local_path(directory)
        target.mkdir(parents=True, exist_ok=True)
        contents = {
            METRICS: json.dumps(self.metrics, indent=1) + "\n",
            REPORT: self.html(),
        }
        for name, content in contents.items():
            # True figures of the real data: nobody else's to read.
            write_whole(target / name, content, mode=0o600)
        return {name: target / name for name in contents}

    def _repr_html_(self) -> str:
        return notebook(self.comparison)

    def __repr__(self) -> str:
        total = self.comparison.families["all"]
        return (
            f"Evaluation({total.queries:,} queries, max error {total.max:.4g}, mean "
            f"{total.mean:.4g}; NOT PRIVATE)"
        )


def evaluate(
    schema: Schema,
    *,
    real: Mapping[str, TableLike],
    synthetic: Mapping[str, TableLike] | str | Path,
    workload: Workload | None = None,
    stage: Stage | None = None,
) -> Evaluation:
    """Judge synthetic tables against the real ones, on the schema's workload and beyond it.

    Tables are files or data frames by the schema's names; `synthetic` may also be a folder that
    holds `<table>.csv`, or in another format, and `privacy.json` where there is one. They may come
    from any tool. NOT PRIVATE: nothing of the result may leave the place where the real data is.

    >>> from kinfolk import load_detroit
    >>> schema, tables = load_detroit()
    >>> workload = Workload.of(schema, k=1)
    >>> evaluate(schema, real=tables, synthetic=tables, workload=workload)
    Evaluation(503 queries, max error 0, mean 0; NOT PRIVATE)
    """
    certificate = None
    if isinstance(synthetic, str | Path):
        folder = local_path(synthetic)
        synthetic, certificate = find_tables(schema, folder), _certificate(folder / CERTIFICATE)
    comparison = compare(schema, real=real, synthetic=synthetic, workload=workload, stage=stage)
    return Evaluation(comparison=comparison, certificate=certificate)


def _certificate(path: Path) -> Mapping[str, Any] | str | None:
    """The certificate, if there is one; a bad one is no reason not to compare the tables."""
    if not path.exists():
        return None
    try:
        return read_certificate(path)
    except KinfolkError as error:
        return str(error)
