"""The words of a schema, as people say them."""

from __future__ import annotations

_IRREGULAR = {"people": "person", "children": "child", "men": "man", "women": "woman"}


def singular(table: str) -> str:
    """One row of a table, in words.

    >>> [singular(name) for name in ("households", "Families", "people", "boxes", "class")]
    ['household', 'family', 'person', 'box', 'class']
    """
    word = table.strip().lower()
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
