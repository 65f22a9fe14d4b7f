"""Tables with captions, headings that sort, and numbers that know their value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kinfolk.evaluate.html import Html, join, tag


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What a cell shows, and the number it is sorted by."""

    shown: object
    value: float | None = None


@dataclass(frozen=True, kw_only=True)
class Heading:
    """The head of a column."""

    words: str
    number: bool = True
    minor: bool = False
    """Whether the column may be hidden on a phone."""


def table(
    caption: str,
    headings: Sequence[Heading],
    rows: Sequence[Sequence[Cell]],
    *,
    attributes: Sequence[dict[str, str]] | None = None,
    identifier: str | None = None,
    sortable: bool = False,
    short: int | None = None,
) -> Html:
    """A table whose first column heads its rows.

    `attributes` are those of each row; `short` is how many rows the page's script shows at first.
    """
    head = tag("tr", *(_heading(one, sortable) for one in headings))
    marks = attributes or [{}] * len(rows)
    body = [
        tag(
            "tr",
            *(_cell(cell, head, first=index == 0) for index, (cell, head) in enumerate(pairs)),
            **marked,
        )
        for row, marked in zip(rows, marks, strict=True)
        for pairs in [list(zip(row, headings, strict=True))]
    ]
    grid = tag(
        "table",
        tag("caption", caption),
        tag("thead", head),
        tag("tbody", *body),
        id=identifier,
        data_sortable=sortable,
        data_short=short,
    )
    return tag("div", grid, class_="scroll", role="region", tabindex="0", aria_label=caption)


def _heading(heading: Heading, sortable: bool) -> Html:
    classes = _classes(heading)
    if not sortable:
        return tag("th", heading.words, scope="col", class_=classes)
    button = tag("button", heading.words, type="button")
    return tag("th", button, scope="col", class_=classes, aria_sort="none")


def _cell(cell: Cell, heading: Heading, *, first: bool) -> Html:
    value = None if cell.value is None else f"{cell.value:.6g}"
    kind = "th" if first else "td"
    scope = "row" if first else None
    return tag(kind, cell.shown, scope=scope, class_=_classes(heading), data_value=value)


def _classes(heading: Heading) -> str | None:
    words = [word for word in ("number", "minor") if getattr(heading, word)]
    return " ".join(words) or None


def facts(pairs: Sequence[tuple[object, object]]) -> Html:
    """A list of terms and what is to be said about them."""
    return tag(
        "dl", *(join(tag("dt", term), tag("dd", about)) for term, about in pairs), class_="facts"
    )
