"""`evaluate`: compare, then hand over figures and a page.

The page is one HTML file that asks for nothing from anywhere: `kinfolk.template` escapes whatever
it shows, and lets it run nothing but its own script.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import kinfolk
from kinfolk._io import local_path, write_whole
from kinfolk.data.spark_session import runs_on_spark
from kinfolk.data.tables import TableLike
from kinfolk.errors import KinfolkError
from kinfolk.evaluate.compare import NOTICE, Comparison, Stage, compare
from kinfolk.evaluate.distributions import Distribution
from kinfolk.evaluate.metrics import BANDS, COMMON
from kinfolk.evaluate.sides import find_tables
from kinfolk.evaluate.verdict import number_words
from kinfolk.privacy.certificate import accounting_text, check_certificate, read_certificate
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema
from kinfolk.template import Templates, content_policy

METRICS, REPORT, CERTIFICATE = "metrics.json", "report.html", "privacy.json"

SETS = 300
"""Attribute sets listed in the page; all of them are in metrics.json."""
COMPOSITIONS = 15
"""Compositions shown one by one."""
SPENDS = 200
"""Steps listed one by one."""


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
        found = self.comparison
        words = families(found.schema)
        return _templates().render("notebook.html.j2", found=found, words=words, notice=NOTICE)

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
    engine: str | None = None,
    stage: Stage | None = None,
) -> Evaluation:
    """Judge synthetic tables against the real ones, on the schema's workload and beyond it.

    Tables are files or data frames by the schema's names; `synthetic` may also be a folder that
    holds `<table>.csv`, or in another format, and `privacy.json` where there is one. They may come
    from any tool. DataFrames of Spark, or with `engine="spark"` whatever Spark reads, come to this
    machine piece by piece. NOT PRIVATE: nothing of the result may leave the place where the real
    data is.

    >>> from kinfolk import load_detroit
    >>> schema, tables = load_detroit()
    >>> workload = Workload.of(schema, k=1)
    >>> evaluate(schema, real=tables, synthetic=tables, workload=workload)
    Evaluation(507 queries, max error 0, mean 0; NOT PRIVATE)
    """
    certificate = None
    if isinstance(synthetic, str | Path):
        certificate = _certificate(synthetic)
        synthetic = _tables(schema, synthetic, engine)
    comparison = compare(
        schema, real=real, synthetic=synthetic, workload=workload, engine=engine, stage=stage
    )
    return Evaluation(comparison=comparison, certificate=certificate)


def _tables(schema: Schema, folder: str | Path, engine: str | None) -> Mapping[str, TableLike]:
    """The tables of a folder."""
    if not runs_on_spark(None, engine):
        return find_tables(schema, local_path(folder))
    # Imported here because others need no Spark.
    from kinfolk.queries.spark import find_spark_tables

    return find_spark_tables(schema, folder)


def _certificate(folder: str | Path) -> Mapping[str, Any] | str | None:
    """The certificate, if there is one; a bad one is no reason not to compare the tables."""
    try:
        path = local_path(folder) / CERTIFICATE
    except KinfolkError:
        # Spark reads the tables from another place.
        return None
    if not path.exists():
        return None
    try:
        return read_certificate(path)
    except KinfolkError as error:
        return str(error)


def page(found: Comparison, certificate: Mapping[str, Any] | str | None = None) -> str:
    """The whole page."""
    style, script = _templates().read("static/report.css"), _script()
    words = families(found.schema)
    used = sorted({name for one in found.worst for name in one.attributes})
    return _templates().render(
        "report.html.j2",
        found=found,
        groups=found.schema.table_names[0],
        people=found.schema.individual.table,
        words=words,
        asked=f"{found.families['all'].queries:,}",
        at_least=f"{COMMON:.0%}",
        kinds=[(family, words[family]) for family in found.families if family != "all"],
        named=[(name, name) for name in used],
        most_sets=SETS,
        compositions=_compositions(found),
        promise=None if certificate is None else read_promise(certificate),
        data=_data(found),
        notice=NOTICE,
        version=kinfolk.__version__,
        style=style,
        script=script,
        policy=content_policy(style, script),
    )


@cache
def _templates() -> Templates:
    filters = {"comma": comma, "percent": percent, "points": points, "times": times}
    return Templates("kinfolk.evaluate", {**filters, "figure": number_words})


def _script() -> str:
    """The page's script: its files in order, in a scope of their own."""
    parts = (_templates().read(f"static/{name}.js") for name in ("charts", "choices", "tables"))
    return f'(() => {{\n"use strict";\n{"".join(parts)}}})();'


def _compositions(found: Comparison) -> Distribution | None:
    return found.compositions.most_common(COMPOSITIONS) if found.compositions else None


def _data(found: Comparison) -> dict[str, Any]:
    """What the page's script draws from: counts, as compact as they go."""
    words = families(found.schema)
    kinds = [(words[name], one.bands) for name, one in found.families.items()]
    shown = _compositions(found)
    return {
        "groups": found.schema.table_names[0],
        "people": found.schema.individual.table,
        "bands": {
            "labels": _band_labels(),
            "rows": [*kinds, ("second real survey", found.second_survey["all"].bands)],
        },
        "sizes": _counts(found.sizes),
        "compositions": _counts(shown) if shown else None,
        "attributes": [
            {"name": one.name, "level": one.level, "labels": one.labels} for one in found.shown
        ],
        "one": [[one.real, one.synthetic, one.distance] for one in found.one_way],
        "two": [
            [one.rows, one.columns, one.real, one.synthetic, one.distance, one.chance]
            for one in found.two_way
        ],
        "ties": [{"rows": tie.rows, "columns": tie.columns} for tie in found.ties],
        "pairs": [
            [one.tie, one.attribute, one.real, one.synthetic, one.distance, one.chance]
            for one in found.pairs
        ],
    }


def _counts(found: Distribution) -> dict[str, Any]:
    return {"labels": found.labels, "real": found.real, "synthetic": found.synthetic}


def _band_labels() -> list[str]:
    """The bands of the errors' distribution, in words."""
    edges = [f"{100 * edge:g}" for edge in BANDS]
    middle = [f"{low} to {high}" for low, high in pairwise(edges)]
    return [f"under {edges[0]}", *middle, f"{edges[-1]} or more"]


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What was promised, in words; or why that cannot be said."""

    held: Mapping[str, Any] | None = None
    wrong: Sequence[str] = ()
    """What does not hold."""
    unreadable: str | None = None


def read_promise(certificate: Mapping[str, Any] | str) -> Promise:
    """Check a certificate and put it into words; text says why there is none."""
    if isinstance(certificate, str):
        return Promise(unreadable=certificate)
    wrong = check_certificate(certificate)
    if not wrong:
        try:
            return Promise(held=_held(certificate))
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            wrong = [f"it is not complete or not well-formed ({type(error).__name__}: {error})"]
    return Promise(wrong=wrong)


def _held(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """What the template shows, as text: whatever is missing or ill-formed is found here."""
    epsilon, delta, spends = (certificate[key] for key in ("epsilon", "delta", "spends"))
    kinds = Counter(str(spend["mechanism"]) for spend in spends)
    versions = certificate.get("versions", {})
    listed = spends[:SPENDS]
    cut = len(spends) > len(listed)
    return {
        "private": certificate["private"],
        "unit": certificate["unit_name"],
        "factor": f"{math.exp(min(epsilon, 700)):.3g}",
        "plus": f"{delta:.2g}",
        "protects": certificate["protects"] if certificate["private"] else None,
        "epsilon": f"{epsilon:g}",
        "delta": f"{delta:.3g}",
        "difference": certificate["difference"],
        "neighbours": certificate["neighbours"],
        "warnings": list(certificate["warnings"]),
        "unprotected": list(certificate.get("unprotected", ())),
        "public": list(certificate["public"]),
        "declared": certificate["domain"] == "declared",
        "spent": f"{float(Fraction(certificate['spent'])):.4g}",
        "rho": f"{float(Fraction(certificate['rho'])):.4g}",
        "accounting": accounting_text(certificate["accounting"]),
        "kinds": ", ".join(f"{number:,} {kind}" for kind, number in kinds.items()) or "none",
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "which": f"The first {len(listed)} of {len(spends):,} steps" if cut else "Every step",
        "steps": [
            {
                "step": spend["step"],
                "mechanism": spend["mechanism"],
                "scale": f"{float(spend.get('sigma') or spend.get('scale')):.4g}",
                "rho": f"{float(Fraction(spend['rho'])):.3g}",
            }
            for spend in listed
        ],
    }


def families(schema: Schema) -> Mapping[str, str]:
    """The levels of a workload, in the schema's own words.

    >>> from kinfolk import load_schema
    >>> families(load_schema("detroit"))["relation"]
    'persons and their relatives'
    """
    group, person = schema.table_names[0], schema.individual.table
    return {
        "group": group,
        "individual": person,
        "relation": f"{person} and their relatives",
        "all": "all questions",
    }


def comma(number: int) -> str:
    """A count.

    >>> comma(1234567)
    '1,234,567'
    """
    return f"{number:,}"


def percent(share: float) -> str:
    """A share from 0 to 1, with as many digits as help.

    >>> percent(0.4567), percent(0.0312), percent(0.00021), percent(0.0)
    ('45.7%', '3.1%', '0.02%', '0%')
    """
    return f"{points(share)}%"


def points(error: float) -> str:
    """A difference of shares in percentage points.

    >>> points(0.0576), points(0.00055), points(0.0000012)
    ('5.8', '0.06', '0.0001')
    """
    number = 100 * error
    if number == 0:
        return "0"
    size = abs(number)
    places = 1 if size >= 1 else 2 if size >= 0.01 else 4
    return f"{number:.{places}f}" if size >= 0.00005 else f"{number:.0e}"


def times(ratio: float) -> str:
    """How many times as large something is.

    >>> times(2.34), times(27.1)
    ('2.3 times', '27 times')
    """
    return f"{ratio:.0f} times" if ratio >= 10 else f"{ratio:.1f} times"
