"""HTML that is escaped by construction: whatever is not `Html` already is treated as plain text."""

from __future__ import annotations

import json
import re
from html import escape

_VOID = {"meta", "input", "br", "hr"}
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class Html(str):
    """Markup that may stand in a page as it is."""

    __slots__ = ()


def text(value: object) -> Html:
    """Plain text, whatever stands in it.

    >>> text('<b>"&')
    '&lt;b&gt;&quot;&amp;'
    """
    if isinstance(value, Html):
        return value
    # HTML knows no control characters, and UTF-8 no halves of characters.
    plain = _CONTROLS.sub("\ufffd", str(value)).encode("utf-8", "replace").decode("utf-8")
    return Html(escape(plain, quote=True))


def tag(name: str, /, *children: object, **attributes: object) -> Html:
    """An element. An attribute that is None or False is left out; `class_` and `data_x` are usual.

    >>> tag("p", "a < b", class_="note", hidden=True)
    '<p class="note" hidden>a &lt; b</p>'
    """
    parts = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        word = key.rstrip("_").replace("_", "-")
        parts.append(word if value is True else f'{word}="{text(value)}"')
    opening = f"<{' '.join(parts)}>"
    if name in _VOID:
        return Html(opening)
    return Html(f"{opening}{join(*children)}</{name}>")


def join(*children: object) -> Html:
    """Pieces one after the other."""
    return Html("".join(text(child) for child in children))


def name(value: object) -> Html:
    """A name or value of the data within a sentence: its direction stays its own."""
    return tag("bdi", value)


def json_block(identifier: str, value: object) -> Html:
    """Data for the page's script; nothing in it can end the element.

    >>> json_block("x", "</script>")
    '<script type="application/json" id="x">"\\\\u003c/script\\\\u003e"</script>'
    """
    written = json.dumps(value, separators=(",", ":"))
    for character in "<>&":
        written = written.replace(character, f"\\u{ord(character):04x}")
    return Html(f'<script type="application/json" id="{identifier}">{written}</script>')
