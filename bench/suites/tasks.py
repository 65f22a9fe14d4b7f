"""Trained on a candidate's tables, tested on real ones. NOT PRIVATE.

    python -m bench.suites.tasks WORK SCORES

All are tested on the same half of the real households, which is no part of the second survey.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from bench.suites.results import judge_all
from bench.suites.tables import KEY, Tables, read
from bench.suites.views import beside, coded, with_aggregates
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import r2_score, roc_auc_score
from threadpoolctl import threadpool_limits

MONEY = ("wage", "self_income", "pension")
LOW = 12_000
"""Euros a year, about the lowest quarter of the households."""


def low_income(tables: Tables, real: Tables) -> tuple[pd.DataFrame, pd.Series]:
    """From who lives there, without anybody's money."""
    members = _members(tables, real)
    known = [name for name in members if not name.endswith(tuple(f"of {one}" for one in MONEY))]
    income = tables.households.set_index(KEY)["income"]
    return _known(members[known], (income < LOW).where(income.notna()))


def income(tables: Tables, real: Tables) -> tuple[pd.DataFrame, pd.Series]:
    """From who lives there and what they earn."""
    return _known(_members(tables, real), tables.households.set_index(KEY)["income"])


def employed(tables: Tables, _: Tables) -> tuple[pd.DataFrame, pd.Series]:
    """Of the people between 16 and 64, from what else is known of them but hours and money."""
    people = tables.persons[tables.persons["age"].between(16, 64)].reset_index(drop=True)
    at_work = people["activity"].isin(["employee", "self-employed"])
    known = people.drop(columns=[KEY, "activity", "hours", *MONEY])
    return _known(known, at_work.where(people["activity"].notna()))


def score(real: Path, candidate: Path) -> Mapping[str, float]:
    taught, asked = read(candidate), read(real.parent / "half")
    said = {}
    for name, task in (("low income", low_income), ("employed", employed), ("income", income)):
        (x, y), (x_real, y_real) = task(taught, asked), task(asked, asked)
        both = coded(beside(x_real, x)[0])
        x_real, x = both[: len(x_real)], both[len(x_real) :]
        if task is income:
            trees = HistGradientBoostingRegressor(random_state=0).fit(x, y)
            said[f"{name}: R2"] = float(r2_score(y_real, trees.predict(x_real)))
        else:
            chooser = HistGradientBoostingClassifier(random_state=0).fit(x, y.astype(bool))
            right = roc_auc_score(y_real.astype(bool), chooser.predict_proba(x_real)[:, 1])
            said[f"{name}: AUC"] = float(right)
    return said


def _members(tables: Tables, real: Tables) -> pd.DataFrame:
    own = tables.households.columns.drop(KEY)
    return with_aggregates(tables, real).drop(columns=own)


def _known(features: pd.DataFrame, target: pd.Series) -> tuple[pd.DataFrame, pd.Series]:
    there = np.asarray(target.notna())
    return features[there], target[there]


def main() -> None:
    _, work, scores = sys.argv
    with threadpool_limits(1):
        judge_all("tasks", Path(work), Path(scores), score)


if __name__ == "__main__":
    main()
