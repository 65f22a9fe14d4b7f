"""The trade-off of a guess as a small SVG, drawn by hand: no plotting library is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape

from kinfolk.audit.result import AuditResult, Verdict
from kinfolk.audit.tradeoff import gaussian_floor, promise_floor

_SIDE = 360
_LEFT, _TOP, _RIGHT, _BOTTOM = 64, 64, 24, 132
_WIDTH, _HEIGHT = _LEFT + _SIDE + _RIGHT, _TOP + _SIDE + _BOTTOM
_INK, _FAINT, _SEEN, _FLOOR, _BAD = "#1f2933", "#c5ccd3", "#1a66a8", "#b3541e", "#c0182b"

Point = tuple[float, float]


def plot_svg(result: AuditResult) -> str:
    """Errors that were seen, beside the floors that the claim puts under them.

    >>> from kinfolk.audit.tradeoff import Errors
    >>> from kinfolk.datasets import load_schema
    >>> from kinfolk.privacy.guarantee import Guarantee
    >>> from kinfolk.privacy.unit import Neighbours, Wording
    >>> replaced = Neighbours.REPLACE
    >>> result = AuditResult(
    ...     what="measure",
    ...     wording=Wording.of(load_schema("acs-red"), replaced),
    ...     claim=Guarantee.of(neighbours=replaced, epsilon=4.0, delta=1e-5),
    ...     epsilon=2.5,
    ...     rho=0.2,
    ...     confidence=0.999,
    ...     runs=4000,
    ...     clue="likelihood",
    ...     errors=Errors(false_alarms=0.38, misses=0.38),
    ...     ceiling_mu=0.86,
    ...     curve=(),
    ... )
    >>> plot_svg(result).startswith("<svg xmlns=")
    True
    """
    seen = [(point.false_alarms, point.misses) for point in result.curve]
    judged = (result.errors.false_alarms, result.errors.misses)
    colour = _BAD if result.verdict is Verdict.VIOLATED else _SEEN
    head = f"Audit of {result.what!r} for one {result.wording.name}: {result.verdict}"
    about = (
        f"epsilon at least {result.epsilon:.3g}, claimed {result.claimed_epsilon:.3g}; "
        f"rho at least {result.rho:.3g}, claimed {result.claimed_rho:.3g}"
    )
    legend = [
        (colour, "", "errors seen, by threshold"),
        (_FLOOR, "", "the least errors that the claimed budget allows"),
        (_FLOOR, "2 4", "the least errors that (epsilon, delta) allows"),
    ]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="12" fill="{_INK}">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        _text(_LEFT - 40, 24, head, size=15),
        _text(_LEFT - 40, 44, about),
        *_axes(),
        _line([(0, 1), (1, 0)], _FAINT),
        _line(_points(lambda x: gaussian_floor(result.ceiling_mu, x)), _FLOOR),
        _line(
            _points(lambda x: promise_floor(result.claimed_epsilon, result.delta, x)),
            _FLOOR,
            dash="2 4",
        ),
        _line(seen, colour) if seen else "",
        _circle(judged, colour),
        *_legend(legend, f"upper bounds at {result.confidence:.6g}, {result.runs:,} runs", colour),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _points(floor: Callable[[float], float]) -> list[Point]:
    return [(step / 200, floor(step / 200)) for step in range(201)]


def _place(point: Point) -> tuple[float, float]:
    x, y = point
    return _LEFT + _SIDE * x, _TOP + _SIDE * (1 - y)


def _axes() -> Iterable[str]:
    yield (
        f'<rect x="{_LEFT}" y="{_TOP}" width="{_SIDE}" height="{_SIDE}" fill="none" '
        f'stroke="{_FAINT}"/>'
    )
    for tick in (0, 0.25, 0.5, 0.75, 1):
        x, y = _place((tick, tick))
        yield _text(x, _TOP + _SIDE + 18, f"{tick:g}", anchor="middle")
        yield _text(_LEFT - 8, y + 4, f"{tick:g}", anchor="end")
    yield _text(_LEFT + _SIDE / 2, _TOP + _SIDE + 38, "false alarms", anchor="middle")
    middle = _TOP + _SIDE / 2
    yield (
        f'<text x="20" y="{middle:g}" text-anchor="middle" '
        f'transform="rotate(-90 20 {middle:g})">misses</text>'
    )


def _legend(lines: list[tuple[str, str, str]], mark: str, colour: str) -> Iterable[str]:
    y = _TOP + _SIDE + 62
    for stroke, dash, words in lines:
        yield (
            f'<line x1="{_LEFT}" x2="{_LEFT + 28}" y1="{y - 4}" y2="{y - 4}" stroke="{stroke}" '
            f'stroke-width="2" stroke-dasharray="{dash}"/>'
        )
        yield _text(_LEFT + 38, y, words)
        y += 18
    yield f'<circle cx="{_LEFT + 14}" cy="{y - 4}" r="4" fill="{colour}"/>'
    yield _text(_LEFT + 38, y, mark)


def _line(points: Iterable[Point], stroke: str, *, dash: str = "") -> str:
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(_place, points))
    return (
        f'<polyline points="{places}" fill="none" stroke="{stroke}" stroke-width="2" '
        f'stroke-dasharray="{dash}"/>'
    )


def _circle(point: Point, fill: str) -> str:
    x, y = _place(point)
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{fill}"/>'


def _text(x: float, y: float, words: str, *, size: int = 12, anchor: str = "start") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}">'
        f"{escape(words)}</text>"
    )
