"""What objects look like in a notebook: one plain table, whatever their names hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def show(
    caption: str, rows: Iterable[Sequence[object]], *, headings: Sequence[str] = (), note: str = ""
) -> str:
    """A small HTML table; the first cell of a row names it. Everything is escaped.

    >>> show("Sizes", [["<one>", 1]])
    '<table><caption>Sizes</caption><tr><th scope="row">&lt;one&gt;</th><td>1</td></tr></table>'
    """
    top = "".join(f'<th scope="col">{_text(heading)}</th>' for heading in headings)
    body = "".join(
        f'<tr><th scope="row">{_text(first)}</th>'
        f"{''.join(f'<td>{_text(cell)}</td>' for cell in rest)}</tr>"
        for first, *rest in rows
    )
    table = f"<table><caption>{_text(caption)}</caption>{top and f'<tr>{top}</tr>'}{body}</table>"
    return f"<p><strong>{_text(note)}</strong></p>{table}" if note else table


def _text(value: object) -> str:
    """Plain text; half a character of UTF-16, which no file can hold, becomes a question mark."""
    return escape(str(value).encode("utf-8", "replace").decode("utf-8"))
