"""Writes the tables of docs/suites.md from what the judges said. NOT PRIVATE.

    python -m bench.suites.page

The sentences of the page are written by hand. What stands between `<!-- NAME -->` and
`<!-- /NAME -->` is replaced. Reads docs/suites: scores.csv, tables.json and telling-CANDIDATE.json.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.suites.results import ATTACKED, CANDIDATES, Score, read_scores

DOCS = Path(__file__).resolve().parents[2] / "docs"
BEFORE = "kinfolk-before-eps-1"
SHOWN = 6
"""So many features and pairs of each view."""


def main() -> None:
    file = DOCS / "suites.md"
    folder = DOCS / "suites"
    written = page(
        file.read_text(encoding="utf-8"),
        read_scores(folder / "scores.csv"),
        json.loads((folder / "tables.json").read_text(encoding="utf-8")),
        {
            name: json.loads((folder / f"telling-{name}.json").read_text(encoding="utf-8"))
            for name in CANDIDATES
            if (folder / f"telling-{name}.json").exists()
        },
    )
    file.write_text(written, encoding="utf-8")
    print(f"Wrote {file}")


def page(
    text: str,
    scores: Sequence[Score],
    about: Mapping[str, Mapping[str, str]],
    telling: Mapping[str, Sequence[Mapping[str, Any]]],
) -> str:
    """The text with every block written anew."""
    scores = unless_same(scores)
    blocks = {
        "made": made(about, {one.candidate for one in scores}),
        **{
            judge: score_table(scores, judge)
            for judge in ("detector", "syntherela", "sdmetrics", "tasks")
        },
        "anonymeter": risk_table(scores),
        **{f"telling {name}": told_apart(found) for name, found in telling.items()},
    }
    if BEFORE not in {one.candidate for one in scores}:
        blocks[f"telling {BEFORE}"] = "The tables above are the first that were judged."
    for name, block in blocks.items():
        text = replaced(text, name, block)
    return text


def replaced(text: str, name: str, block: str) -> str:
    """With the block between its marks, if the page has them."""
    marks = re.compile(
        rf"(<!-- {re.escape(name)} -->\n).*?(<!-- /{re.escape(name)} -->)", re.DOTALL
    )
    return marks.sub(lambda found: f"{found[1]}\n{block}\n\n{found[2]}", text)


def unless_same(scores: Sequence[Score]) -> list[Score]:
    """Without the earlier tables, where they are today's."""
    today = {one.tables for one in scores if one.candidate == "kinfolk-eps-1"}
    return [one for one in scores if one.candidate != BEFORE or one.tables not in today]


def made(about: Mapping[str, Mapping[str, str]], shown: set[str]) -> str:
    rows = [
        [
            CANDIDATES.get(name) or f"{ATTACKED[name]}, from a half",
            f"`{one['commit']}`",
            f"`{one['options']}`",
        ]
        for name, one in sorted(about.items())
        if name in shown
    ]
    return table(["tables", "commit", "options of `kinfolk synth`"], rows)


def score_table(scores: Sequence[Score], judge: str) -> str:
    """One row per measure, one column per candidate."""
    found = {(one.measure, one.candidate): one.score for one in scores if one.judge == judge}
    names = [name for name in CANDIDATES if any(name == candidate for _, candidate in found)]
    measures = sorted({measure for measure, _ in found})
    return table(
        ["", *(CANDIDATES[name] for name in names)],
        [
            [measure, *(_shown(found.get((measure, name))) for name in names)]
            for measure in measures
        ],
    )


def risk_table(scores: Sequence[Score]) -> str:
    found = {(one.measure, one.candidate): one.score for one in scores if one.judge == "anonymeter"}
    names = [name for name in ATTACKED if any(name == candidate for _, candidate in found)]
    attacks = sorted({measure for measure, _ in found if not measure.endswith((", low", ", high"))})
    rows = [[attack, *(_risk(found, attack, name) for name in names)] for attack in attacks]
    missing = [ATTACKED[name] for name in ATTACKED if name not in names]
    note = f"\n\nNot attacked yet: {', '.join(missing)}." if missing else ""
    return table(["attack", *(ATTACKED[name] for name in names)], rows) + note


def told_apart(found: Sequence[Mapping[str, Any]]) -> str:
    """What the detector would miss most, and which pairs it needs, view by view."""
    parts = []
    for view in found:
        rows = [
            [
                " and ".join(one["features"]),
                _shown(one["auc"]),
                _shown(one.get("lost")),
                one["where"],
            ]
            for one in [*view["features"][:SHOWN], *view["pairs"][:SHOWN]]
        ]
        head = [
            "feature, or two",
            "AUC alone",
            "AUC lost without it",
            "where the shares are furthest apart",
        ]
        title = f"{view['view'].capitalize()}: accuracy {_shown(view['accuracy'])}"
        parts.append(f"**{title}, AUC {_shown(view['auc'])}**\n\n{table(head, rows)}")
    return "\n\n".join(parts)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in cells)


def _risk(found: Mapping[tuple[str, str], float], attack: str, name: str) -> str:
    low, high = found.get((f"{attack}, low", name)), found.get((f"{attack}, high", name))
    return f"{_shown(found.get((attack, name)))} ({_shown(low)} to {_shown(high)})"


def _shown(figure: float | None) -> str:
    return "" if figure is None else f"{figure:.3f}"


if __name__ == "__main__":
    main()
