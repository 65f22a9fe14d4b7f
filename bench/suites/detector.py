"""What gives synthetic tables away? NOT PRIVATE: learns from the real tables and shows them.

    python -m bench.suites.detector REAL SYNTHETIC [--view WORD] [--json FILE]

REAL and SYNTHETIC are folders with households.csv and persons.csv, as written. Boosted trees learn
to tell a real row from a synthetic one, and are asked about households they have not seen. An
accuracy and an AUC of .50 mean that they cannot. For each view (persons, households, households
with members' aggregates, households with the head, the spouse and a child) it prints:

- how well all features together do, and which ones it would miss most: how far the AUC falls when
  the feature is shuffled among the rows that are asked about;
- how well each of these does alone, and each two of them;
- where the real and the synthetic shares are furthest apart, of these features and pairs.

Needs scikit-learn and pandas, and nothing of kinfolk.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from bench.suites.coding import ranges
from bench.suites.tables import folds, read
from bench.suites.views import VIEWS, beside, coded, groups
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from threadpoolctl import threadpool_limits

FOLDS = 3
TELLING = 8
"""So many features are shown alone, and the best of their pairs."""


@dataclass(frozen=True, kw_only=True)
class Told:
    """How well rows were told apart by some features, and what was different about these."""

    features: list[str]
    auc: float
    lost: float | None = None
    """By how much the AUC of all features falls without this one."""
    where: str = ""


@dataclass(frozen=True, kw_only=True)
class Findings:
    """Of one view."""

    view: str
    rows: int
    accuracy: float
    auc: float
    features: list[Told]
    pairs: list[Told]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("real", type=Path)
    parser.add_argument("synthetic", type=Path)
    parser.add_argument("--view", default="", help="views whose name has this word")
    parser.add_argument("--json", type=Path, help="write the findings there as well")
    told = parser.parse_args()
    print(f"NOT PRIVATE. {told.synthetic} beside {told.real}; .50 = cannot be told apart")
    found = []
    for name in VIEWS:
        if told.view in name:
            found.append(look(told.real, told.synthetic, name))
            print(as_text(found[-1]), flush=True)
    if told.json:
        write(told.json, found)


def write(file: Path, found: list[Findings]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    said = [asdict(findings) for findings in found]
    file.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")


def look(real_folder: Path, synthetic_folder: Path, name: str) -> Findings:
    """At one of the views."""
    real, synthetic = read(real_folder), read(synthetic_folder)
    # On a busy machine, threads that wait for each other take many times as long.
    with threadpool_limits(1):
        return detect(name, VIEWS[name](real, real), VIEWS[name](synthetic, real))


def detect(name: str, real: pd.DataFrame, synthetic: pd.DataFrame) -> Findings:
    """real, synthetic: (rows, features), indexed by household."""
    words, truth = beside(real, synthetic)
    both = coded(words)
    fold = folds(groups(real, synthetic), FOLDS, seed=0)
    scores = np.zeros(len(both))
    lost = pd.Series(0.0, index=both.columns)
    rng = np.random.default_rng(0)
    for number in range(FOLDS):
        tested = fold == number
        trees = _trees().fit(both[~tested], truth[~tested])
        scores[tested] = trees.predict_proba(both[tested])[:, 1]
        if number == 0:  # Importance of one fold is enough, and takes most of the time.
            lost = _lost(trees, both[tested], truth[tested], scores[tested], rng)
    telling = list(lost.nlargest(TELLING).index)
    alone = {feature: _auc(both[[feature]], truth, fold) for feature in telling}
    together = {pair: _auc(both[list(pair)], truth, fold) for pair in combinations(telling, 2)}
    gain = {pair: auc - max(alone[feature] for feature in pair) for pair, auc in together.items()}
    by_auc = sorted(together, key=lambda pair: -together[pair])[: TELLING // 2]
    by_gain = sorted(together, key=lambda pair: -gain[pair])[: TELLING // 2]
    return Findings(
        view=name,
        rows=len(both),
        accuracy=float(balanced_accuracy_score(truth, scores > 0.5)),
        auc=float(roc_auc_score(truth, scores)),
        features=[
            Told(
                features=[feature],
                auc=alone[feature],
                lost=float(lost[feature]),
                where=apart(words[[feature]], truth),
            )
            for feature in telling
        ],
        pairs=[
            Told(features=list(pair), auc=together[pair], where=apart(words[list(pair)], truth))
            for pair in dict.fromkeys(by_auc + by_gain)
        ],
    )


def apart(columns: pd.DataFrame, truth: np.ndarray, *, cells: int = 3) -> str:
    """Where the shares of real and synthetic rows differ most, in words. columns: (rows, 1 or 2)"""
    kinds = pd.DataFrame(
        {name: f"{name} = " + ranges(columns[name], columns[name]) for name in columns}
    )
    shares = [
        kinds[truth == synthetic].value_counts(normalize=True, dropna=False)
        for synthetic in (False, True)
    ]
    table = pd.concat(shares, axis=1, keys=["real", "synthetic"]).fillna(0)
    most = (table["real"] - table["synthetic"]).abs().nlargest(cells).index
    return "; ".join(
        f"{', '.join(cell if isinstance(cell, tuple) else (cell,))}: "
        f"{table.loc[cell, 'real']:.2%} real, {table.loc[cell, 'synthetic']:.2%} synthetic"
        for cell in most
    )


def as_text(findings: Findings) -> str:
    lines = [
        "",
        f"## {findings.view}: accuracy {findings.accuracy:.3f}, AUC {findings.auc:.3f} "
        f"({findings.rows:,} rows)",
        "features it would miss most (AUC lost without it; AUC of it alone)",
    ]
    for one in findings.features:
        lines.append(f"  {one.lost:+.4f}  {one.auc:.3f}  {one.features[0]}\n        {one.where}")
    lines.append("two features alone: the best, and those that do more than either (AUC)")
    for one in findings.pairs:
        lines.append(f"  {one.auc:.3f}  {' and '.join(one.features)}\n        {one.where}")
    return "\n".join(lines)


def _trees(passes: int = 150) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(
        max_iter=passes, learning_rate=0.1, max_leaf_nodes=31, l2_regularization=1.0, random_state=0
    )


def _lost(
    trees: HistGradientBoostingClassifier,
    rows: pd.DataFrame,
    truth: np.ndarray,
    scores: np.ndarray,
    rng: np.random.Generator,
) -> pd.Series:
    """The AUC that is lost when one feature is shuffled. (features,)"""
    whole = roc_auc_score(truth, scores)
    lost = {}
    for name in rows:
        other = rows.assign(**{name: rng.permutation(rows[name].to_numpy())})
        lost[name] = whole - roc_auc_score(truth, trees.predict_proba(other)[:, 1])
    return pd.Series(lost)


def _auc(features: pd.DataFrame, truth: np.ndarray, fold: np.ndarray) -> float:
    """Of these features alone, asked about the first fold."""
    tested = fold == 0
    trees = _trees(30).fit(features[~tested], truth[~tested])
    return float(roc_auc_score(truth[tested], trees.predict_proba(features[tested])[:, 1]))


if __name__ == "__main__":
    main()
