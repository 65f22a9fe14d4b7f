"""Names that every system takes for a file: tables are written under their names."""

from __future__ import annotations

import re

LONGEST = 200
"""Bytes of a name; file systems allow 255, and a suffix and a temporary name have to fit."""

_FOLDER = re.compile(r"[/\\]|^\.{1,2}$")
_FORBIDDEN = re.compile(r"[:\x00-\x1f\x7f\ud800-\udfff]")
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)


def unfit(name: str) -> tuple[str, str] | None:
    """Why something cannot be the name of a file, and what to do; None for a good name.

    >>> unfit("households")
    >>> unfit("C:x")
    ("'C:x' cannot be the name of a file: it contains ':'.", 'Leave that out.')
    >>> unfit("Con")
    ("'Con' cannot be the name of a file: Windows keeps it for a device.", 'Choose another.')
    """
    shown = ascii(name) if _FORBIDDEN.search(name) else repr(name)
    if _FOLDER.search(name):
        return f"{shown} cannot be the name of a file.", "Write a name without a folder."
    if bad := _FORBIDDEN.search(name):
        what = f"{shown} cannot be the name of a file: it contains {bad[0]!a}."
        return what, "Leave that out."
    if _RESERVED.fullmatch(name.strip()):
        what = f"{shown} cannot be the name of a file: Windows keeps it for a device."
        return what, "Choose another."
    if (length := len(name.encode())) > LONGEST:
        what = f"a name of {length} bytes ({name[:20]!r}, ...) is too long for a file."
        return what, f"Use at most {LONGEST}."
    return None
