"""The paper's figures from a summary of runs. NOT PRIVATE."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kinfolk.reproduce.chart import Panel, Point, Series, chart_svg
from kinfolk.reproduce.experiments import VARIANTS
from kinfolk.reproduce.summary import BEST, Cell

NAMES = {
    "max_error": "Max error",
    "mean_error": "Mean error",
    "sampled_max_error": "Max error of a sampled table",
    "sampled_mean_error": "Mean error of a sampled table",
}
"""Measures, for people."""

_GEN = ("hpd-gen", "hpd-gen-resampled")


def figures(cells: Sequence[Cell], *, title: str, notes: Sequence[str]) -> dict[str, str]:
    """SVGs by file name; only those that the runs have something for.

    `notes` stand under every title: what the data is, above all.
    """
    drawn: dict[str, str] = {}
    sets = list(dict.fromkeys(cell.queries for cell in cells))
    for queries in sets:
        own = [cell for cell in cells if cell.queries == queries]
        name, words = ("", "") if len(sets) == 1 else (f"-{queries}", f", {queries} queries")
        best = [cell for cell in own if cell.best]
        # Beside the others, only the better known of the two kinds of noise.
        kinds = [cell for cell in best if cell.method != "hpd-gen-resampled"] or best
        told = [*notes, f"T: {BEST}."]
        drawn[f"errors{name}.svg"] = chart_svg(
            f"{title}: error against epsilon{words}", told, _against_epsilon(kinds)
        )
        noises = [cell for cell in best if cell.method in _GEN]
        if len({cell.method for cell in noises}) == 2:
            drawn[f"noise{name}.svg"] = chart_svg(
                f"{title}: fixed against resampled noise{words}", told, _against_epsilon(noises)
            )
        tried = [cell for cell in own if _times(own, cell.method) > 1]
        if tried:
            drawn[f"rounds{name}.svg"] = chart_svg(
                f"{title}: max error against T{words}", notes, _against_rounds(tried)
            )
    return drawn


def _times(cells: Sequence[Cell], method: str) -> int:
    return len({cell.rounds for cell in cells if cell.method == method})


def _against_epsilon(cells: Sequence[Cell]) -> list[Panel]:
    return [
        Panel(
            title=NAMES[measure],
            x_label="epsilon",
            series=_series(cells, measure, lambda cell: cell.epsilon),
        )
        for measure in ("max_error", "mean_error")
    ]


def _against_rounds(cells: Sequence[Cell]) -> list[Panel]:
    return [
        Panel(
            title=f"epsilon = {epsilon:g}",
            x_label="T",
            series=_series(
                [cell for cell in cells if cell.epsilon == epsilon],
                "max_error",
                lambda cell: cell.rounds,
            ),
        )
        for epsilon in sorted({cell.epsilon for cell in cells})
    ]


def _series(cells: Iterable[Cell], measure: str, x: Callable[[Cell], float]) -> tuple[Series, ...]:
    lines: dict[str, list[Point]] = {}
    for cell in sorted(cells, key=x):
        found = cell.errors[measure]
        point = Point(x=x(cell), y=found.mean, error=found.error)
        lines.setdefault(cell.method, []).append(point)
    return tuple(
        Series(label=variant.label, style=style, points=tuple(lines[name]))
        for style, (name, variant) in enumerate(VARIANTS.items())
        if name in lines
    )
