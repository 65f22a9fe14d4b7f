"""The report: one HTML file that asks for nothing from anywhere.

A strict content security policy allows exactly the page's own style and script, by their hashes:
even a mistake in escaping could not run a script or send anything.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import kinfolk
from kinfolk.evaluate import sections, structure
from kinfolk.evaluate.compare import NOTICE, Comparison
from kinfolk.evaluate.distributions import Distribution
from kinfolk.evaluate.html import Html, join, json_block, tag
from kinfolk.evaluate.promise import promise
from kinfolk.evaluate.wording import families

TITLE = "NOT PRIVATE: synthetic data beside the real data"


def page(found: Comparison, certificate: Mapping[str, Any] | str | None = None) -> str:
    """The whole page."""
    style, script = _static("report.css"), _script()
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="robots", content="noindex"),
        tag("title", TITLE),
        Html(f"<style>{style}</style>"),
    )
    body = tag(
        "body",
        tag("a", "Skip to the content", href="#main", class_="skip"),
        tag("p", NOTICE, class_="banner", role="note"),
        _header(found),
        _panels(found, certificate),
        tag(
            "footer",
            tag("p", f"Made with kinfolk {kinfolk.__version__}. {NOTICE}"),
        ),
        json_block("data", _data(found)),
        Html(f"<script>{script}</script>"),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _script() -> str:
    """The page's script: its files in order, in a scope of their own."""
    parts = (_static(f"{name}.js") for name in ("charts", "choices", "tables"))
    return f'(() => {{\n"use strict";\n{"".join(parts)}}})();'


def _static(name: str) -> str:
    return files("kinfolk.evaluate").joinpath("static", name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    def digest(content: str) -> str:
        return base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()

    return (
        f"default-src 'none'; style-src 'sha256-{digest(style)}'; "
        f"script-src 'sha256-{digest(script)}'; base-uri 'none'; form-action 'none'"
    )


def _header(found: Comparison) -> Html:
    groups, people = found.schema.table_names[0], found.schema.individual.table
    return tag(
        "header",
        tag("h1", "Synthetic data beside the real data"),
        tag(
            "p",
            f"{_amount(found.synthetic, groups, people)} synthetic, "
            f"{_amount(found.real, groups, people)} real; "
            f"{found.families['all'].queries:,} questions put to both.",
        ),
    )


def _amount(numbers: tuple[int, int], groups: str, people: str) -> str:
    if groups == people:
        return f"{numbers[0]:,} {groups}"
    return f"{numbers[0]:,} {groups} with {numbers[1]:,} {people}"


def _panels(found: Comparison, certificate: Mapping[str, Any] | str | None) -> Html:
    comparison = _comparison(found)
    if certificate is None:
        return tag("main", comparison, id="main")
    tabs = [("comparison", "What is kept and lost"), ("certificate", "What was promised")]
    panels = [comparison, promise(certificate)]
    return tag(
        "main",
        tag(
            "div",
            *(
                tag(
                    "button",
                    words,
                    type="button",
                    role="tab",
                    id=f"tab-{identifier}",
                    aria_controls=f"panel-{identifier}",
                    aria_selected="true" if index == 0 else "false",
                )
                for index, (identifier, words) in enumerate(tabs)
            ),
            role="tablist",
            aria_label="Pages of the report",
            class_="tabs script",
        ),
        *(
            tag(
                "div",
                content,
                role="tabpanel",
                id=f"panel-{identifier}",
                aria_labelledby=f"tab-{identifier}",
            )
            for (identifier, _), content in zip(tabs, panels, strict=True)
        ),
        id="main",
    )


def _comparison(found: Comparison) -> Html:
    parts = [("summary", "In one look", sections.summary(found))]
    if found.schema.size_limit > 1:
        parts.append(("groups", "Groups", structure.sizes(found)))
    parts += [
        ("one-way", "One attribute", structure.one_attribute()),
        ("two-way", "Two attributes", structure.two_attributes(found)),
        ("within", "Within groups", structure.within_groups(found)),
        ("questions", "Worst questions", sections.worst(found)),
        ("attributes", "Hard attributes", sections.attributes(found)),
        ("sound", "Soundness", structure.soundness(found)),
    ]
    there = [part for part in parts if part[2]]
    links = [tag("li", tag("a", words, href=f"#{at}")) for at, words, _ in there]
    contents = tag("nav", tag("ul", *links), aria_label="Sections", class_="contents")
    return join(contents, *(part for _, _, part in there))


def _data(found: Comparison) -> dict[str, Any]:
    """What the page's script draws from: counts, as compact as they go."""
    words = families(found.schema)
    kinds = [(words[name], one.bands) for name, one in found.families.items()]
    shown = found.compositions
    return {
        "groups": found.schema.table_names[0],
        "people": found.schema.individual.table,
        "bands": {
            "labels": sections.band_labels(),
            "rows": [*kinds, ("second real survey", found.second_survey["all"].bands)],
        },
        "sizes": _counts(found.sizes),
        "compositions": _counts(shown.most_common(structure.COMPOSITIONS)) if shown else None,
        "attributes": [
            {"name": one.name, "level": one.level, "labels": one.labels} for one in found.shown
        ],
        "one": [[one.real, one.synthetic, one.distance] for one in found.one_way],
        "two": [
            [one.rows, one.columns, one.real, one.synthetic, one.distance, one.chance]
            for one in found.two_way
        ],
        "ties": [{"rows": tie.rows, "columns": tie.columns} for tie in found.ties],
        "pairs": [
            [one.tie, one.attribute, one.real, one.synthetic, one.distance, one.chance]
            for one in found.pairs
        ],
    }


def _counts(found: Distribution) -> dict[str, Any]:
    return {"labels": found.labels, "real": found.real, "synthetic": found.synthetic}
