"""Anonymeter's risks: what an attacker learns of those in the data, beyond others. NOT PRIVATE.

    python -m bench.suites.anonymeter_judge WORK SCORES

kinfolk's tables are made from one half of the real households; the other half is the control. A
risk is how much more often an attack succeeds on the first half than on the control. That attacks
can succeed at all is seen by publishing the half itself. One row is a household with its head.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator
from bench.suites.coding import in_words
from bench.suites.results import ATTACKED, judge_all
from bench.suites.tables import KEY, Tables, read

ATTACKS = 1000
"""To single somebody out. Links and secrets are guessed of everybody."""
SECRETS = {"ends_meet": False, "head_health": False, "income": True}
"""Columns that are guessed from all others, and whether they are numbers (to be within 5%)."""


def with_head(tables: Tables, real: Tables) -> pd.DataFrame:
    words = in_words(tables, real)
    heads = words.persons[words.persons["relate"] == "head"].drop_duplicates(KEY)
    rows = words.households.merge(heads.drop(columns="relate").rename(columns=_head), on=KEY)
    numbers = rows.select_dtypes("number").columns
    return rows.drop(columns=KEY).fillna(dict.fromkeys(numbers, -1))


def score(_: Path, candidate: Path) -> Mapping[str, float]:
    real = read(candidate.parent / "half")
    ours = with_head(real, real)
    control = with_head(read(candidate.parent / "second-survey"), real)
    theirs = with_head(read(candidate), real)
    told = {"ori": ours, "syn": theirs, "control": control}
    attacks = {
        f"singling out by {mode} columns": SinglingOutEvaluator(
            **told, n_attacks=ATTACKS, n_cols=4, seed=0
        ).evaluate(mode="univariate" if mode == "single" else "multivariate")
        for mode in ("single", "four")
    }
    told["n_attacks"] = min(len(ours), len(control))
    of_head = [name for name in ours if name.startswith("head_")]
    own = [name for name in ours if not name.startswith("head_")]
    np.random.seed(0)  # noqa: NPY002 - the generator that the targets are drawn with
    attacks["linking head and household"] = LinkabilityEvaluator(
        **told, aux_cols=(own, of_head), n_neighbors=10
    ).evaluate(n_jobs=1)
    for secret, number in SECRETS.items():
        known = [name for name in ours if name != secret]
        attacks[f"guessing {secret}"] = InferenceEvaluator(
            **told, aux_cols=known, secret=secret, regression=number
        ).evaluate(n_jobs=1)
    said = {}
    for name, attack in attacks.items():
        risk = attack.risk(confidence_level=0.95)
        said |= {name: risk.value, f"{name}, low": risk.ci[0], f"{name}, high": risk.ci[1]}
    return {name: float(figure) for name, figure in said.items()}


def _head(name: str) -> str:
    return name if name == KEY else f"head_{name}"


def main() -> None:
    _, work, scores = sys.argv
    judge_all("anonymeter", Path(work), Path(scores), score, ATTACKED)


if __name__ == "__main__":
    main()
