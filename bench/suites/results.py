"""What the judges said: one file that each adds to, from its own environment. NOT PRIVATE."""

from __future__ import annotations

import csv
import hashlib
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from pathlib import Path

CANDIDATES = {
    "kinfolk-eps-1": "kinfolk, eps 1",
    "kinfolk-eps-10": "kinfolk, eps 10",
    "kinfolk-before-eps-1": "an earlier kinfolk, eps 1",
    "second-survey": "second survey",
    "shuffled": "shuffled columns",
    "sdv-hma": "SDV's HMA",
}
"""Folders of tables, and what they are called."""
ATTACKED = {"kinfolk-half-eps-1": "kinfolk, eps 1", "half": "the real tables"}
"""The same, of what anonymeter attacks: made from one half of the households."""


@dataclass(frozen=True, kw_only=True, order=True)
class Score:
    """One figure about one candidate, whose tables are known by their digest."""

    judge: str
    measure: str
    candidate: str
    score: float
    tables: str


def beside_whom(candidate: str) -> str:
    """The folder of real tables that a candidate is compared with: no household is in both."""
    return "half" if candidate == "second-survey" else "real"


def digest(folder: Path) -> str:
    """Of both tables, short."""
    found = hashlib.sha256()
    for name in ("households.csv", "persons.csv"):
        found.update((folder / name).read_bytes())
    return found.hexdigest()[:12]


def read_scores(file: Path) -> list[Score]:
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        return [
            Score(
                judge=row["judge"],
                measure=row["measure"],
                candidate=row["candidate"],
                score=float(row["score"]),
                tables=row["tables"],
            )
            for row in csv.DictReader(lines)
        ]


def record(file: Path, judge: str, candidate: str, tables: str, said: Mapping[str, float]) -> None:
    """Puts a judge's scores of a candidate in the place of earlier ones."""
    kept = [one for one in read_scores(file) if (one.judge, one.candidate) != (judge, candidate)]
    new = [
        Score(judge=judge, measure=measure, candidate=candidate, score=score, tables=tables)
        for measure, score in said.items()
    ]
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(field.name for field in fields(Score))
        writer.writerows(
            (*astuple(one)[:3], f"{one.score:.4f}", one.tables) for one in sorted(kept + new)
        )


def judge_all(
    judge: str,
    work: Path,
    file: Path,
    score: Callable[[Path, Path], Mapping[str, float]],
    candidates: Iterable[str] = CANDIDATES,
) -> None:
    """Asks for the scores of the candidates whose tables are new to the judge.

    score: takes the folder of the real tables and that of the candidate's.
    """
    known = {(one.judge, one.candidate, one.tables) for one in read_scores(file)}
    for candidate in candidates:
        if not (work / candidate / "persons.csv").exists():
            continue
        tables = digest(work / candidate)
        if (judge, candidate, tables) in known:
            continue
        print(f"{judge}: {candidate}", file=sys.stderr, flush=True)
        said = score(work / beside_whom(candidate), work / candidate)
        record(file, judge, candidate, tables, said)
