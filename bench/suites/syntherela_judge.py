"""SyntheRela's detection, aggregation detection, cardinality and trends. NOT PRIVATE.

    python -m bench.suites.syntherela_judge WORK SCORES

Its classes are used as they are, with two changes: the people of one household are always in the
same fold (in its own a detector meets a household in training and again in the test), and XGBoost
makes histograms, which takes a fraction of the time. The trends are those of columns in
different tables, coded as for SDMetrics.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from bench.suites.coding import as_dict, in_ranges, in_words, sdv_metadata
from bench.suites.results import judge_all
from bench.suites.tables import KEY, Tables, folds, read
from syntherela.metadata import Metadata
from syntherela.metrics.base import DetectionBaseMetric
from syntherela.metrics.multi_table.detection import AggregationDetection
from syntherela.metrics.multi_table.statistical import CardinalityShapeSimilarity
from syntherela.metrics.multi_table.trends.table_pairs import MultiTableTrendsReport
from syntherela.metrics.single_table.detection import SingleTableDetection
from xgboost import XGBClassifier

SETTINGS = {
    "classifier_cls": XGBClassifier,
    "classifier_args": {"seed": 0, "tree_method": "hist", "n_jobs": 1},
    "random_state": 42,
}


class ByHousehold(DetectionBaseMetric):
    """Folds by household, which is the index of the rows."""

    def stratified_kfold(
        self, rows: pd.DataFrame, real: np.ndarray, save_models: bool = False
    ) -> list[int]:
        households = np.array([f"{kind} {key}" for kind, key in zip(real, rows.index, strict=True)])
        fold = folds(households, self.folds, seed=0)
        right: list[int] = []
        for number in range(self.folds):
            tested = fold == number
            trees = self.classifier_cls(**self.classifier_args)
            trees.fit(rows[~tested].to_numpy(), real[~tested])
            right.extend(trees.predict(rows[tested].to_numpy()) == real[tested])
        return right


class Single(ByHousehold, SingleTableDetection):
    """One table, its rows by household."""


class Aggregated(ByHousehold, AggregationDetection):
    """Households with counts and means of their members."""


def score(real_folder: Path, candidate_folder: Path) -> Mapping[str, float]:
    plain, other = read(real_folder), read(candidate_folder)
    real, candidate = in_words(plain, plain), in_words(other, plain)
    described = sdv_metadata(real)
    metadata = Metadata.load_from_dict(described)
    ours, theirs = by_household(real), by_household(candidate)
    said = {}
    for table in ("households", "persons"):
        found = Single(**SETTINGS).run(ours[table], theirs[table], described["tables"][table])
        said[f"detection, {table}"] = found["accuracy"]
    found = Aggregated(**SETTINGS).run(ours, theirs, metadata, target_table="households")
    said["aggregation detection, households"] = found["accuracy"]
    found = Single(**SETTINGS).run(joined(real), joined(candidate), described["tables"]["persons"])
    said["detection, persons with their household"] = found["accuracy"]
    (sizes,) = (
        CardinalityShapeSimilarity().run(as_dict(real), as_dict(candidate), metadata).values()
    )
    said["cardinality"] = 1 - sizes["statistic"]
    said["trends between tables"] = trends(plain, other)
    return {name: float(figure) for name, figure in said.items()}


def by_household(tables: Tables) -> dict[str, pd.DataFrame]:
    return {
        name: table.set_axis(table[KEY].to_numpy(), axis=0)
        for name, table in as_dict(tables).items()
    }


def joined(tables: Tables) -> pd.DataFrame:
    """Every person with the columns of the household, as in SyntheRela's parent-child detection."""
    both = tables.persons.merge(tables.households, on=KEY, how="left")
    return both.set_axis(both[KEY].to_numpy(), axis=0)


def trends(real: Tables, candidate: Tables) -> float:
    ours, theirs = in_ranges(real, real), in_ranges(candidate, real)
    report: Any = MultiTableTrendsReport()
    # Not by `multi_table_trends`, which gives `verbose` where SDMetrics expects something else.
    report.generate(as_dict(ours), as_dict(theirs), sdv_metadata(ours), verbose=False)
    return float(report.get_properties().set_index("Property")["Score"]["Intertable Trends"])


def main() -> None:
    _, work, scores = sys.argv
    judge_all("syntherela", Path(work), Path(scores), score)


if __name__ == "__main__":
    main()
