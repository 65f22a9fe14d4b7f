"""Panels with lines and error bars as one SVG, drawn by hand: no plotting library is needed.

Axes are logarithmic, or run from 0 to 1. Colours follow the reader's preference for light or dark;
every line also has a mark, or dashes, of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 340, 250
"""Of the drawing inside a panel."""
_LEFT, _TOP, _GAP, _BOTTOM = 64, 34, 84, 56
_HEAD, _LINE = 58, 18

LIGHT = ("#0b62a4", "#b3440b", "#5f3a9e", "#1b7a43", "#a3195b", "#6b5d00")
DARK = ("#6db8f2", "#f59a63", "#bfa3f5", "#63c98b", "#f28cb8", "#d9c65c")

_MARKS = (
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z",
    "M-4,-4h8v8h-8z",
    "M0,-5.2L5,3.8H-5z",
    "M0,-5.5L5.5,0L0,5.5L-5.5,0z",
    "M0,5.2L5,-3.8H-5z",
    "M-1.6,-5h3.2v3.4h3.4v3.2h-3.4v3.4h-3.2v-3.4h-3.4v-3.2h3.4z",
)


@dataclass(frozen=True, kw_only=True)
class Point:
    """A mean with one standard error; not a number where that is not known."""

    x: float
    y: float
    error: float = math.nan

    @property
    def high(self) -> float:
        """The upper end of its bar."""
        return self.y if math.isnan(self.error) else self.y + self.error

    @property
    def low(self) -> float:
        """The lower end of its bar; no logarithmic axis reaches zero."""
        return self.y if math.isnan(self.error) else max(self.y - self.error, self.y / 10)


@dataclass(frozen=True, kw_only=True)
class Series:
    """One line."""

    label: str
    style: int
    """Which colour and mark: the same in all panels and figures."""
    points: tuple[Point, ...]
    marked: bool = True
    """Whether every point has a mark."""
    dashes: str = ""
    """As SVG writes them, such as "2 4"."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One pair of axes."""

    title: str
    x_label: str
    series: tuple[Series, ...]
    shares: bool = False
    """Whether both axes run from 0 to 1, and are not logarithmic."""


def chart_svg(title: str, notes: Sequence[str], panels: Sequence[Panel]) -> str:
    """Panels two by two under a title and notes, one legend for all.

    >>> line = Series(label="MWEM", style=1, points=(Point(x=1, y=0.1, error=0.01),))
    >>> panel = Panel(title="Max error", x_label="epsilon", series=(line,))
    >>> chart_svg("Errors", ["NOT PRIVATE"], [panel]).startswith("<svg xmlns=")
    True
    """
    across = min(2, len(panels))
    down = math.ceil(len(panels) / across)
    every = {one.label: one for panel in panels for one in panel.series}
    legend = sorted(every.values(), key=lambda one: one.style)
    head = _HEAD + _LINE * len(notes)
    cell = _TOP + HEIGHT + _BOTTOM
    width = _LEFT + across * WIDTH + (across - 1) * _GAP + 30
    height = head + down * cell + math.ceil(len(legend) / across) * _LINE + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        _style(),
        f'<rect class="paper" width="{width}" height="{height}"/>',
        _text(20, 32, title, size=16),
        *(_text(20, 54 + _LINE * row, note) for row, note in enumerate(notes)),
    ]
    for index, panel in enumerate(panels):
        x = _LEFT + (index % across) * (WIDTH + _GAP)
        y = head + (index // across) * cell + _TOP
        parts += [f'<g transform="translate({x} {y})">', *_panel(panel), "</g>"]
    for index, one in enumerate(legend):
        x = _LEFT + (index % across) * (WIDTH + _GAP)
        y = head + down * cell + (index // across) * _LINE + 8
        if len(one.points) > 1:
            parts.append(_line(one, f"M{x},{y - 4}h32"))
        if one.marked:
            parts.append(_mark(one, f"{x + 16} {y - 4}"))
        parts.append(_text(x + 42, y, one.label))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _style() -> str:
    def colours(ink: str, paper: str, faint: str, lines: Sequence[str]) -> str:
        rules = [f"text{{fill:{ink}}}.paper{{fill:{paper}}}.axis{{stroke:{faint}}}"]
        rules += [f".s{index}{{--c:{colour}}}" for index, colour in enumerate(lines)]
        return "".join(rules)

    return (
        "<style>.axis{fill:none}.line{fill:none;stroke:var(--c);stroke-width:2}"
        ".bar{fill:none;stroke:var(--c);stroke-width:1.2}.mark{fill:var(--c)}"
        f"{colours('#1f2933', '#ffffff', '#c5ccd3', LIGHT)}"
        "@media (prefers-color-scheme: dark){"
        f"{colours('#e4e8ec', '#14181d', '#4a535d', DARK)}}}</style>"
    )


def _panel(panel: Panel) -> Iterator[str]:
    x_axis, y_axis = _axes(panel)
    yield _text(0, -12, panel.title, size=13)
    yield f'<rect class="axis" width="{WIDTH}" height="{HEIGHT}"/>'
    for tick in x_axis.ticks:
        yield _text(x_axis.place(tick), HEIGHT + 18, f"{tick:g}", anchor="middle")
    for tick in y_axis.ticks:
        y = HEIGHT - y_axis.place(tick)
        yield f'<path class="axis" d="M0,{y:.1f}h{WIDTH}" stroke-dasharray="1 4"/>'
        yield _text(-8, y + 4, f"{tick:g}", anchor="end")
    yield _text(WIDTH / 2, HEIGHT + 38, panel.x_label, anchor="middle")
    for one in panel.series:
        places = [(x_axis.place(p.x), HEIGHT - y_axis.place(p.y)) for p in one.points]
        if len(places) > 1:
            yield _line(one, "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in places))
        for (x, y), point in zip(places, one.points, strict=True):
            if point.high > point.y:
                top, bottom = (HEIGHT - y_axis.place(end) for end in (point.high, point.low))
                yield (
                    f'<path class="bar s{one.style}" d="M{x:.1f},{top:.1f}V{bottom:.1f}'
                    f'M{x - 3:.1f},{top:.1f}h6M{x - 3:.1f},{bottom:.1f}h6"/>'
                )
            if one.marked:
                yield _mark(one, f"{x:.1f} {y:.1f}")


def _line(one: Series, path: str) -> str:
    dashes = f' stroke-dasharray="{one.dashes}"' if one.dashes else ""
    return f'<path class="line s{one.style}" d="{path}"{dashes}/>'


def _mark(one: Series, place: str) -> str:
    return (
        f'<path class="mark s{one.style}" transform="translate({place})" d="{_MARKS[one.style]}"/>'
    )


@dataclass(frozen=True, kw_only=True)
class _Axis:
    """An axis from `low` to `high`; a logarithmic one, unless it begins at 0."""

    low: float
    high: float
    length: int
    ticks: list[float]

    def place(self, value: float) -> float:
        """Where a value stands, from the start of the axis."""
        if self.low == 0:
            return self.length * value / self.high
        share = math.log(max(value, 1e-9) / self.low) / math.log(self.high / self.low)
        return self.length * share


def _axes(panel: Panel) -> tuple[_Axis, _Axis]:
    """The horizontal and the vertical axis."""
    if panel.shares:
        ticks = [0, 0.25, 0.5, 0.75, 1]
        across = _Axis(low=0, high=1, length=WIDTH, ticks=ticks)
        return across, _Axis(low=0, high=1, length=HEIGHT, ticks=ticks)
    points = [point for one in panel.series for point in one.points]
    xs = [point.x for point in points]
    low, high = _ends(xs)
    across = _Axis(low=low, high=high, length=WIDTH, ticks=_own_ticks(xs, low, high))
    low, high = _ends([end for point in points for end in (point.low, point.high)])
    return across, _Axis(low=low, high=high, length=HEIGHT, ticks=_round_ticks(low, high))


def _ends(values: Sequence[float]) -> tuple[float, float]:
    """The ends of a logarithmic axis, with a little room beyond the values."""
    # An error of exactly zero would have no place.
    positive = [max(value, 1e-9) for value in values]
    room = (max(positive) / min(positive)) ** 0.06 * 1.04
    return min(positive) / room, max(positive) * room


def _own_ticks(values: Sequence[float], low: float, high: float) -> list[float]:
    """A tick at every value, the fewer the closer they lie."""
    kept: list[float] = []
    for value in sorted(set(values)):
        if not kept or math.log(value / kept[-1]) / math.log(high / low) > 0.09:
            kept.append(value)
    return kept


def _round_ticks(low: float, high: float) -> list[float]:
    """At least three round numbers: 1, 2, 5 over decades, or evenly spaced on a short axis."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    wide = [step * 10.0**decade for decade in decades for step in (1, 2, 5)]
    inside = [tick for tick in wide if low <= tick <= high]
    if len(inside) >= 3:
        return inside
    unit = 10.0 ** math.floor(math.log10((high - low) / 3))
    step = max(unit * times for times in (1, 2, 5) if unit * times <= (high - low) / 3)
    return [step * times for times in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _text(x: float, y: float, words: str, *, size: int = 12, anchor: str = "start") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}">'
        f"{escape(words)}</text>"
    )
