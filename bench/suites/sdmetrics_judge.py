"""SDMetrics' quality report of both tables, in two ways. NOT PRIVATE.

    python -m bench.suites.sdmetrics_judge WORK SCORES

`plain` has everything as a category, numbers as tenths of the real ones, and counts all pairs of
columns. `default` has numbers as numbers and what the report does by itself: its own ranges, and
only pairs that have enough to do with each other in the real tables.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from bench.suites.coding import as_dict, in_ranges, in_words, sdv_metadata
from bench.suites.results import judge_all
from bench.suites.tables import Tables, read
from sdmetrics.reports import QualityReport


def score(real_folder: Path, candidate_folder: Path) -> Mapping[str, float]:
    real, candidate = read(real_folder), read(candidate_folder)
    plain = QualityReport()
    plain.real_correlation_threshold = 0
    plain.real_association_threshold = 0
    return {
        **judged("plain", plain, in_ranges(real, real), in_ranges(candidate, real)),
        **judged("default", QualityReport(), in_words(real, real), in_words(candidate, real)),
    }


def judged(how: str, report: QualityReport, real: Tables, candidate: Tables) -> dict[str, float]:
    report.generate(as_dict(real), as_dict(candidate), sdv_metadata(real), verbose=False)
    parts = report.get_properties().set_index("Property")["Score"].to_dict()
    parts["quality"] = report.get_score()
    return {f"{how}: {name.lower()}": float(part) for name, part in parts.items()}


def main() -> None:
    _, work, scores = sys.argv
    judge_all("sdmetrics", Path(work), Path(scores), score)


if __name__ == "__main__":
    main()
