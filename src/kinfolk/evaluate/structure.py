"""Sections about groups: sizes, compositions, who lives with whom, and whether it is sound."""

from __future__ import annotations

from kinfolk.evaluate.compare import Comparison
from kinfolk.evaluate.distributions import Distribution
from kinfolk.evaluate.html import Html, join, name, tag
from kinfolk.evaluate.sections import SHORT, chart, note, section
from kinfolk.evaluate.tables import Cell, Heading, table
from kinfolk.evaluate.wording import percent, points

COMPOSITIONS = 15
"""Compositions shown one by one."""


def sizes(found: Comparison) -> Html:
    """How large groups are, and of whom they consist."""
    groups = found.schema.table_names[0]
    parts: list[Html] = [
        chart("sizes", f"Members per group, as a share of {groups}"),
        _alternative(found.sizes, "members", groups),
    ]
    if found.compositions is not None:
        shown = found.compositions.most_common(COMPOSITIONS)
        parts += [
            chart("compositions", f"Who the members are, as a share of {groups}"),
            _alternative(shown, "members", groups),
        ]
    return section("groups", f"Who belongs together: {groups}", *parts)


def _alternative(shown: Distribution, what: str, groups: str) -> Html:
    """The chart's figures as a table."""
    totals = sum(shown.real), sum(shown.synthetic)
    rows = []
    for label, real, synthetic in zip(shown.labels, shown.real, shown.synthetic, strict=True):
        shares = real / max(totals[0], 1), synthetic / max(totals[1], 1)
        rows.append([Cell(shown=name(label)), *(Cell(shown=percent(share)) for share in shares)])
    heads = [Heading(words=what, number=False), Heading(words="real"), Heading(words="synthetic")]
    return tag(
        "details",
        tag("summary", "Show as a table"),
        table(f"Share of {groups}; distance {percent(shown.distance)}", heads, rows),
    )


def one_attribute() -> Html:
    """One attribute at a time; the script fills in what is chosen."""
    return section(
        "one-way",
        "One attribute at a time",
        tag("div", _choice("one", "Attribute"), class_="controls script"),
        chart("one", "Real and synthetic shares"),
        tag("div", id="one-table"),
        _noscript(),
    )


def two_attributes(found: Comparison) -> Html:
    """Two attributes together; the script fills in what is chosen."""
    if not found.two_way:
        return Html("")
    return section(
        "two-way",
        "Two attributes together",
        note(
            "The distance is the share that would have to move to another cell to make both "
            "tables equal."
        ),
        tag(
            "div", _choice("rows", "Rows"), _choice("columns", "Columns"), class_="controls script"
        ),
        chart("two", "Shares of every combination"),
        tag("div", id="two-table"),
        _noscript(),
    )


def within_groups(found: Comparison) -> Html:
    """The same attribute of two people who belong together."""
    if not found.pairs:
        return Html("")
    return section(
        "within",
        "Within the same group",
        note(
            "One attribute of two people who belong together: are couples of one age, children "
            "younger than their parents? Shares are of all such pairs."
        ),
        tag(
            "div", _choice("tie", "Pair"), _choice("shared", "Attribute"), class_="controls script"
        ),
        chart("pairs", "Shares of pairs"),
        tag("div", id="pairs-table"),
        _noscript(),
        _pair_table(found),
        note(
            "Same: the share of pairs in the same category. Mean gap: the first one's number less "
            "the second one's, from the middles of the bins. Second survey: the distance that real "
            "data drawn again would have."
        ),
    )


def _pair_table(found: Comparison) -> Html:
    gaps = any(one.gap is not None for one in found.pairs)
    rows = []
    for one in found.pairs:
        tie = found.ties[one.tie]
        row = [
            Cell(shown=name(found.shown[one.attribute].name)),
            Cell(shown=join(name(tie.rows), " and ", name(tie.columns))),
            *(Cell(shown=percent(share), value=share) for share in one.same),
            Cell(shown=percent(one.distance), value=one.distance),
            Cell(shown=percent(one.chance), value=one.chance),
        ]
        if gaps:
            row += [Cell(shown=f"{gap:.1f}", value=gap) for gap in one.gap or ()]
            row += [Cell(shown="")] * (0 if one.gap else 2)
        rows.append(row)
    heads = [
        Heading(words="attribute", number=False),
        Heading(words="pair", number=False, minor=len(found.ties) == 1),
        Heading(words="same, real"),
        Heading(words="same, synthetic"),
        Heading(words="distance"),
        Heading(words="second survey", minor=True),
    ]
    if gaps:
        heads += [Heading(words=f"mean gap, {side}", minor=True) for side in ("real", "synthetic")]
    caption = "All pairs: how many agree, and how far apart the two tables are"
    return table(caption, heads, rows, sortable=True, short=SHORT)


def soundness(found: Comparison) -> Html:
    """Do the tables hang together, and were real groups copied?"""
    groups, people = found.schema.table_names[0], found.schema.individual.table
    one = found.integrity
    checks: list[tuple[str, int, str]] = []
    if found.schema.group is not None:
        checks = [
            (f"{groups} whose id is blank or not unique", one.groups_repeated, "left out"),
            (f"{people} whose group is not there", one.people_unlinked, "left out"),
            (f"{groups} with nobody in them", one.groups_empty, "left out"),
            (
                f"{groups} above the largest size, {found.schema.size_limit}, or a role's",
                one.groups_oversize,
                "dropped" if found.schema.oversize == "drop" else "cut",
            ),
        ]
    if found.schema.roles is not None:
        checks += [
            (f"{groups} that break their roles", one.groups_breaking_roles, "left out"),
            (f"{people} without a declared role", one.people_outside_roles, "left out"),
            (f"{groups} with nobody in a declared role", one.groups_outside_roles, "left out"),
        ]
    rows = [
        [Cell(shown=words), Cell(shown=f"{number:,}"), Cell(shown=done if number else "")]
        for words, number, done in checks
    ]
    verdict = (
        f"The synthetic tables hang together: all {one.groups:,} {groups} and {one.people:,} "
        f"{people} were compared."
        if one.sound and checks
        else f"All {one.people:,} synthetic {people} were compared."
        if one.sound
        else f"Of {one.groups_read:,} synthetic {groups} and {one.people_read:,} {people}, "
        f"{one.groups:,} and {one.people:,} were compared; the rest does not fit the schema. "
        "All errors on this page are those of what was kept."
    )
    heads = [
        Heading(words="what was looked for", number=False),
        Heading(words="found"),
        Heading(words="and then"),
    ]
    return section(
        "sound",
        "Is it sound?",
        tag("p", verdict),
        table("Keys, sizes and roles of the synthetic tables", heads, rows) if rows else "",
        _copies(found, groups),
        _left_out(found, groups, people),
    )


def _copies(found: Comparison, groups: str) -> Html:
    one = found.copies
    rows = [
        [Cell(shown=words), Cell(shown=percent(share))]
        for words, share in (
            (f"synthetic {groups} identical to a real one", one.synthetic_in_real),
            (f"synthetic {groups} identical to one of a random half", one.synthetic_in_half),
            (f"real {groups} of the other half identical to one of that half", one.half_in_half),
        )
    ]
    apart = one.synthetic_in_half - one.half_in_half
    verdict = (
        f"Synthetic {groups} repeat real ones no more often than other real {groups} do."
        if apart <= 0
        else f"Synthetic {groups} repeat real ones more often than other real {groups} do, by "
        f"{points(apart)} percentage points."
    )
    return join(
        tag("h3", f"Copies of real {groups}"),
        tag("p", verdict),
        table(
            f"Identical {groups}",
            [Heading(words=groups, number=False), Heading(words="share")],
            rows,
        ),
        note(
            "Identical means: all declared attributes of the group and of all its members agree, "
            "after binning. The last line is chance: real groups that resemble each other without "
            "anybody having copied them. This is a description, not a test of privacy."
        ),
    )


def _left_out(found: Comparison, groups: str, people: str) -> Html:
    one = found.cleaning
    lost = one.groups_read - found.real[0], one.people_read - found.real[1]
    if not any(lost):
        return Html("")
    return note(
        f"Of the real tables, {lost[0]:,} {groups} and {lost[1]:,} {people} were left out as the "
        "schema says (max_size, oversize, roles)."
    )


def _choice(identifier: str, label: str) -> Html:
    """A list that the script fills."""
    return tag("label", tag("span", label), tag("select", id=identifier))


def _noscript() -> Html:
    return tag(
        "noscript", note("This part is drawn by the page's own script, which is switched off.")
    )
