"""Pages and tables in HTML: whatever they show is escaped, and they ask for nothing from anywhere.

A content security policy allows exactly a page's own style and script, by their hashes: even a
mistake in escaping could not run a script or send anything.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def printable(text: str) -> str:
    r"""A text that a page can hold: no control characters, and no halves of characters.

    >>> printable("a\x00b")
    'a\ufffdb'
    """
    return _CONTROLS.sub("\ufffd", text).encode("utf-8", "replace").decode("utf-8")


class Templates:
    """The templates of one package, with filters of their own."""

    def __init__(
        self, package: str, filters: Mapping[str, Callable[..., Any]] | None = None
    ) -> None:
        self._package, self._filters = package, dict(filters or {})

    def read(self, name: str) -> str:
        """A file of the package as it is."""
        return files(self._package).joinpath(name).read_text(encoding="utf-8")

    def render(self, template: str, **values: object) -> str:
        """A template, filled in."""
        return printable(self._environment.get_template(template).render(values).strip() + "\n")

    @cached_property
    def _environment(self) -> Environment:
        # Imported here because figures are often wanted without a page.
        from jinja2 import Environment, FunctionLoader, StrictUndefined

        found = Environment(
            loader=FunctionLoader(self.read),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        found.filters |= self._filters
        found.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
        return found


def content_policy(style: str, script: str = "") -> str:
    """What a page may load and run: its own style, and its own script where it has one."""

    def digest(content: str) -> str:
        return base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()

    run = f"script-src 'sha256-{digest(script)}'; " if script else ""
    return (
        f"default-src 'none'; style-src 'sha256-{digest(style)}'; {run}"
        "base-uri 'none'; form-action 'none'"
    )


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
