"""The sections of the report: each says one thing about a comparison."""

from __future__ import annotations

import json
from itertools import pairwise

from kinfolk.evaluate.compare import Comparison
from kinfolk.evaluate.html import Html, join, name, tag
from kinfolk.evaluate.metrics import BANDS, COMMON
from kinfolk.evaluate.tables import Cell, Heading, table
from kinfolk.evaluate.wording import families, percent, points, times

SETS = 300
"""Attribute sets listed in the page; all of them are in metrics.json."""
SHORT = 25
"""Rows of a long table that are shown at first."""


def section(identifier: str, title: str, *children: object) -> Html:
    """A part of the page with its heading."""
    heading = tag("h2", title, id=f"{identifier}-title")
    return tag("section", heading, *children, id=identifier, aria_labelledby=f"{identifier}-title")


def note(*children: object) -> Html:
    """An explanation under a heading."""
    return tag("p", *children, class_="note")


def chart(kind: str, caption: str) -> Html:
    """A place for a chart, drawn by the page's script from the page's data."""
    return tag("figure", tag("figcaption", caption), data_chart=kind)


def summary(found: Comparison) -> Html:
    """The whole answer in one look."""
    total, second = found.families["all"], found.second_survey["all"]
    common = found.common["all"]
    answers = [
        tag("strong", f"9 of 10 answers are off by at most {points(total.p90)} percentage points"),
        f", on average by {points(total.mean)}; the worst by {points(total.max)}.",
    ]
    if common.queries:
        answers.append(
            f" Of the {common.queries:,} answers that are at least {COMMON:.0%} in the real "
            f"data, 9 of 10 are off by at most {points(common.p90)} points."
        )
    cards = [
        _card("9 of 10 answers within", total.p90, second.p90),
        _card(f"9 of 10 answers of {COMMON:.0%} or more", common.p90, found.second_common.p90),
        _card("Mean error", total.mean, second.mean),
        _card("Largest error", total.max, second.max),
    ]
    ratio = ""
    if second.mean:
        ratio = (
            f"The mean error is {times(total.mean / second.mean)} that of a second real survey "
            "of the same size: real data drawn again, with replacement. Errors of that size are "
            "what chance alone does to a survey."
        )
    return section(
        "summary",
        "In one look",
        tag("p", *answers, class_="lead"),
        tag("div", *cards, class_="cards"),
        note(ratio) if ratio else "",
        chart("bands", "How far answers are off, by kind of question"),
        family_table(found),
    )


def _card(words: str, error: float, second: float) -> Html:
    return tag(
        "div",
        tag("p", words, class_="card-words"),
        tag("p", points(error), tag("span", " points"), class_="card-number"),
        tag("p", f"second real survey: {points(second)}", class_="card-second"),
        class_="card",
    )


def family_table(found: Comparison) -> Html:
    """The errors of each level of the workload."""
    words = families(found.schema)
    rows = []
    for family, one in found.families.items():
        second = found.second_survey[family]
        figures = one.mean, second.mean, one.p95, second.p95, one.max, second.max
        rows.append(
            [
                Cell(shown=words[family]),
                Cell(shown=f"{one.queries:,}"),
                *(Cell(shown=points(figure)) for figure in figures),
            ]
        )
    heads = [
        Heading(words="questions about", number=False),
        Heading(words="questions", minor=True),
        Heading(words="mean"),
        Heading(words="second survey"),
        Heading(words="19 of 20 within", minor=True),
        Heading(words="second survey", minor=True),
        Heading(words="largest"),
        Heading(words="second survey"),
    ]
    return table("Errors in percentage points, beside those of a second real survey", heads, rows)


def band_labels() -> list[str]:
    """The bands of the errors' distribution, in words."""
    edges = [f"{100 * edge:g}" for edge in BANDS]
    middle = [f"{low} to {high}" for low, high in pairwise(edges)]
    return [f"under {edges[0]}", *middle, f"{edges[-1]} or more"]


def worst(found: Comparison) -> Html:
    """The questions with the largest errors, with both answers."""
    words = families(found.schema)
    rows, marks = [], []
    for one in found.worst:
        rows.append(
            [
                Cell(shown=name(one.question)),
                Cell(shown=words[one.family]),
                Cell(shown=percent(one.real), value=one.real),
                Cell(shown=percent(one.synthetic), value=one.synthetic),
                Cell(shown=points(one.error), value=one.error),
            ]
        )
        marks.append({"data_family": one.family, "data_attributes": json.dumps(one.attributes)})
    heads = [
        Heading(words="question", number=False),
        Heading(words="about", number=False, minor=True),
        Heading(words="real"),
        Heading(words="synthetic"),
        Heading(words="error"),
    ]
    asked = found.families["all"].queries
    used = dict.fromkeys(a for one in found.worst for a in one.attributes)
    kinds = [(family, words[family]) for family in found.families if family != "all"]
    filters = tag(
        "div",
        _field("Contains", tag("input", type="search", id="find", autocomplete="off")),
        _field("About", _select("family", [("", "anything"), *kinds])),
        _field("Attribute", _select("attribute", [("", "any"), *((a, a) for a in sorted(used))])),
        class_="controls script",
        role="search",
        aria_label="Filter the questions",
    )
    return section(
        "questions",
        "The worst questions",
        note(
            f"The {len(rows):,} largest errors among {asked:,} questions, the worst of every kind."
        ),
        filters,
        tag("p", id="found", role="status", class_="note script"),
        table(
            "The worst questions, with both answers; errors in percentage points",
            heads,
            rows,
            attributes=marks,
            identifier="worst",
            sortable=True,
            short=SHORT,
        ),
    )


def _field(label: str, control: Html) -> Html:
    return tag("label", tag("span", label), control)


def _select(identifier: str, choices: list[tuple[str, str]]) -> Html:
    return tag(
        "select", *(tag("option", words, value=value) for value, words in choices), id=identifier
    )


def attributes(found: Comparison) -> Html:
    """Which attributes and sets of attributes are hard."""
    words = families(found.schema)
    single = [
        [
            Cell(shown=name(one.attribute)),
            Cell(shown=f"{one.queries:,}", value=one.queries),
            Cell(shown=points(one.mean), value=one.mean),
            Cell(shown=points(one.max), value=one.max),
        ]
        for one in found.attributes
    ]
    sets = [
        [
            Cell(shown=_set_words(one.attributes, one.relative)),
            Cell(shown=one.relation or words[one.family]),
            Cell(shown=f"{one.queries:,}", value=one.queries),
            Cell(shown=points(one.mean), value=one.mean),
            Cell(shown=points(one.p95), value=one.p95),
            Cell(shown=points(one.max), value=one.max),
        ]
        for one in found.sets[:SETS]
    ]
    errors = [Heading(words="mean"), Heading(words="largest")]
    many = len(found.sets) > SETS
    which = f"the {SETS} with the largest error of" if many else "all"
    return section(
        "attributes",
        "Which attributes are hard",
        table(
            "Errors of all questions that name an attribute, in percentage points",
            [Heading(words="attribute", number=False), Heading(words="questions"), *errors],
            single,
            sortable=True,
            short=SHORT,
        ),
        table(
            f"Errors by attribute set, in percentage points: {which} {len(found.sets):,}",
            [
                Heading(words="attributes", number=False),
                Heading(words="about", number=False, minor=True),
                Heading(words="questions", minor=True),
                errors[0],
                Heading(words="19 of 20 within", minor=True),
                errors[1],
            ],
            sets,
            sortable=True,
            short=SHORT,
        ),
    )


def _set_words(own: tuple[str, ...], relative: tuple[str, ...]) -> Html:
    listed = [name(one) for one in own] + [join("relative's ", name(one)) for one in relative]
    return join(*(join(", " if index else "", one) for index, one in enumerate(listed)))
