"""Shows docstrings on the page of all public names: used by mkdocstrings, see mkdocs.yml.

Docstrings are written to be read in an editor: examples stand as they are, and arguments as lines
of `name: what it is`. On a page the ones become blocks of code, the others a list.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension

ARGUMENT = re.compile(r"(\w+(?:, \w+)*): (?=\S)")


def on_a_page(text: str) -> str:
    """A docstring in Markdown."""
    return "\n\n".join(_paragraph(one) for one in re.split(r"\n\s*\n", text.strip()))


def _paragraph(text: str) -> str:
    lines = text.splitlines()
    if lines[0].startswith(">>> "):
        return "\n".join(["```pycon", *lines, "```"])
    if ARGUMENT.match(lines[0]) and lines[0][0].islower():
        return "\n".join(ARGUMENT.sub(r"- `\1`: ", line, count=1) for line in lines)
    return text


class Docstrings(Extension):
    """Every docstring as a page wants it."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Rewrite one, if there is one."""
        if obj.docstring is not None:
            obj.docstring.value = on_a_page(obj.docstring.value)
