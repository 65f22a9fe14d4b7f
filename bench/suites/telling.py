"""What gives each candidate away, by `bench.suites.detector`. NOT PRIVATE.

    python -m bench.suites.telling WORK SCORES

Writes telling-CANDIDATE.json of kinfolk's beside the scores, for the page.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from bench.suites.detector import look, write
from bench.suites.results import judge_all
from bench.suites.views import VIEWS


def main() -> None:
    _, work, scores = sys.argv

    def score(real: Path, candidate: Path) -> Mapping[str, float]:
        found = [look(real, candidate, view) for view in VIEWS]
        if candidate.name.startswith("kinfolk"):
            write(Path(scores).with_name(f"telling-{candidate.name}.json"), found)
        return {
            **{f"accuracy, {one.view}": one.accuracy for one in found},
            **{f"AUC, {one.view}": one.auc for one in found},
        }

    judge_all("detector", Path(work), Path(scores), score)


if __name__ == "__main__":
    main()
