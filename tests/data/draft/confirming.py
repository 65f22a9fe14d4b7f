"""A draft as somebody leaves it who does what the file says, and takes every suggestion."""

from __future__ import annotations

import re

MARKED = "  # READ FROM THE DATA: confirm"
KEYS = r"(roles|relations|never):$|  (column|others|\w+_\w+): |workload: |on_violation: "
"""Lines without a mark, whose comment signs are taken off as well."""


def confirmed(text: str) -> str:
    """Take the comment signs off all suggestions, and delete what they replace."""
    suggestions = [line for line in text.splitlines() if line.startswith("# ")]
    roles = re.search(r"(?m)^#   column: (.*)$", text)
    replaced = [f"    {roles[1]}: "] if roles and "#   others: " in text else []
    if any(line.startswith("# workload:") for line in suggestions):
        replaced.append("workload: ")
    lines = []
    for line in text[text.index("\ndomain: ") + 1 :].splitlines():
        found = re.fullmatch(r"( *)# (.*)", line)
        if found and (found[2].endswith(MARKED) or re.match(KEYS, found[2])):
            lines.append(found[1] + found[2])
        elif not found and not line.startswith(tuple(replaced)):
            lines.append(line)
    return "\n".join(lines).replace(MARKED, "").replace("domain: drafted", "domain: declared")
