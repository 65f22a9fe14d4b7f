"""Edges of bins where suggested rules cut: the model keeps such rules by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from kinfolk.schema import Attribute, Numeric
from kinfolk.schema.conditions import Linear, atoms
from kinfolk.schema.rules import Rule

ALONE = 3
"""An edge that a rule does not need gives way to one beside it, if all others are so far away."""


def cut_at_rules(attributes: Mapping[str, Attribute], rules: Iterable[Rule]) -> dict[str, Numeric]:
    """The attributes of individuals whose bins rules cut, with an edge at every threshold."""
    cuts: dict[str, set[float]] = {}
    for rule in rules:
        for atom in atoms(rule.condition):
            if isinstance(atom, Linear) and len(atom.terms) == 1:
                ((ref, factor),) = atom.terms
                attribute = attributes.get(ref.name)
                if ref.level == "individual" and factor == 1 and isinstance(attribute, Numeric):
                    cut = _threshold(attribute, atom)
                    cuts.setdefault(ref.name, set()).update([] if cut is None else [cut])
    found: dict[str, Numeric] = {}
    for name, at in cuts.items():
        attribute = attributes[name]
        if isinstance(attribute, Numeric) and not at <= set(attribute.bins):
            found[name] = with_edges(attribute, at)
    return found


def _threshold(attribute: Numeric, atom: Linear) -> float | None:
    """Where the bins must be cut for every number of a bin to keep it, or none to."""
    if atom.constant in attribute.special:
        return None
    beyond = attribute.integer and atom.operator in (">", "<=")
    cut = atom.constant + 1 if beyond else atom.constant
    inside = attribute.bins[0] < cut < attribute.bins[-1]
    return cut if inside and not (attribute.integer and cut % 1) else None


def with_edges(attribute: Numeric, cuts: Iterable[float]) -> Numeric:
    """The attribute with more edges; 16 takes the place of 15 where edges are five apart.

    >>> with_edges(Numeric(bins=[0, 5, 10, 15, 20, 120], integer=True), [16, 18]).bins
    (0, 5, 10, 16, 18, 20, 120)
    """
    bins = attribute.bins
    new = {int(cut) if float(cut).is_integer() else cut for cut in cuts}
    spare = {
        edge
        for before, edge, after in zip(bins, bins[1:], bins[2:], strict=False)
        if attribute.integer
        and edge not in new
        and min(edge - before, after - edge) >= ALONE
        and new & {edge - 1, edge + 1}
    }
    cut = replace(attribute, bins=sorted({*bins, *new} - spare), labels=None)
    if attribute.labels is None:
        return cut
    own = attribute.labels[len(bins) - 1 :]
    words = [cut.label(code) for code in range(len(cut.bins) - 1)]
    return replace(cut, labels=[*words, *own])
