"""The drafted schema.yaml: what was read off the data is marked, line by line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import comb, floor, log10, sqrt
from typing import TypeGuard

from kinfolk.data.draft.hints import Computed, RoleGuess
from kinfolk.data.draft.profile import LeftOut, is_clean
from kinfolk.data.draft.suggest_rules import NO_RULES, Rules
from kinfolk.schema import Attribute, Numeric
from kinfolk.schema.writing import attribute_text, list_text
from kinfolk.schema.yaml_text import scalar_text

MARKER = "# READ FROM THE DATA: confirm"
"""Ends every line that was read off the data."""

HEADER = f"""\
# A DRAFT made by `kinfolk init`. It was read off the data: do not use or share it as it is.
#
# The privacy guarantee covers what the data say about people within a domain that is public.
# Every line that ends in
#     {MARKER}
# was copied from the data, so using it as it is makes the domain depend on the data, and that
# leaks. An example: a rare occupation is listed below only because one person has it. Whoever
# sees the list, or synthetic data made with it, learns that such a person is in the data.
#
# To confirm the draft:
#   1. Compare each marked line with the codebook or other public knowledge. Add the values that
#      can occur but did not, and remove or merge those that you know only from these data.
#      Numbers with bins that are really codes (zones, occupations) need `values` instead.
#   2. Widen bins and max_size to limits that anyone could name, such as ages from 0 to 120; choose
#      k by what you want to know, and by a number of groups that is public.
#   3. Some suggestions are comments: a weight, roles, relations, rules. Where they are right, take
#      the comment sign and the space after it off their lines. Delete the others, and the words
#      around them: they were read off the data as well.
#   4. Remove the marker from every line that you have confirmed.
#   5. Set `domain: declared`.
"""


@dataclass(frozen=True, kw_only=True)
class TableDraft:
    """What is drafted for one table."""

    table: str
    columns: Mapping[str, Attribute | LeftOut]
    """Every column but the id, in the file's order."""
    computed: Mapping[str, Computed] = field(default_factory=dict)
    """Columns that look computed from the members, and from what."""

    def derived(self, computed: Mapping[str, Computed], people: TableDraft) -> TableDraft:
        """The same, with the columns that look computed from people declared so."""
        known = {
            name: one.declared(self.attributes[name], people.attributes)
            for name, one in computed.items()
        }
        return replace(self, columns={**self.columns, **known}, computed=computed)

    @property
    def attributes(self) -> dict[str, Attribute]:
        """The columns that became attributes."""
        return {n: a for n, a in self.columns.items() if not isinstance(a, LeftOut)}

    @property
    def left_out(self) -> dict[str, LeftOut]:
        """The columns that did not."""
        return {n: a for n, a in self.columns.items() if isinstance(a, LeftOut)}


def write_page(
    homes: TableDraft,
    people: TableDraft,
    *,
    key: str,
    link: str,
    ids_read: bool,
    max_size: int,
    count: str,
    weight: str | None,
    groups: int,
    roles: RoleGuess | None = None,
    rules: Rules = NO_RULES,
) -> str:
    """Write the draft as YAML; `ids_read` says whether the ids were guessed from the data."""
    mark = f"  {MARKER}" if ids_read else ""
    lines = [
        HEADER,
        "domain: drafted  # declared, once every marked line is confirmed",
        "group:",
        f"  table: {scalar_text(homes.table)}",
        f"  id: {scalar_text(key)}{mark}",
        *_attribute_lines(homes),
        *(_weight_lines(weight) if weight is not None else []),
        "individual:",
        f"  table: {scalar_text(people.table)}",
        f"  group_id: {scalar_text(link)}{mark}",
        *_attribute_lines(people, role=roles.column if roles and roles.roles else None),
        f"max_size: {max_size}  {MARKER}",
        "oversize: drop  # or first: keep the first max_size members of a larger group",
        f"count: {scalar_text(count)}  # the name under which a group's size is queried",
        *(_role_lines(roles) if roles else []),
        *_workload_lines(len(homes.attributes) + len(people.attributes), groups, roles),
        *_rule_lines(rules),
    ]
    return "\n".join(lines) + "\n"


def commented(name: str) -> str:
    """A column's name in a comment, whatever it holds."""
    return scalar_text(name) if is_clean(name) and name else ascii(name)


def _attribute_lines(draft: TableDraft, *, role: str | None = None) -> list[str]:
    lines = ["  attributes:" if draft.attributes else "  attributes: {}"]
    for name, column in draft.columns.items():
        if isinstance(column, LeftOut):
            why = column.why if is_clean(column.why) else ascii(column.why)[1:-1]
            more = "" if column.instead is None else " To have it written, take the sign off:"
            lines.append(f"    # {commented(name)}: left out: {why}.{more}")
            if column.instead is not None:
                lines.append(f"    # {scalar_text(name)}: {column.instead}  {MARKER}")
            continue
        if name in draft.computed:
            lines.append(
                f"    # The next line looks computed from the members: it equals "
                f"{draft.computed[name].text}. {_derived(draft.computed[name])}"
            )
        if name == role:
            lines.append("    # Delete the next line if you use the roles below.")
        if _ends_in_a_heap(column):
            lines.append(
                f"    # So many have {column.bins[-2]} in the next line that it may mean that many "
                f"or more; it has a bin of its own, in which nobody is {column.bins[-2] + 1}."
            )
        lines.append(f"    {scalar_text(name)}: {attribute_text(column)}  {MARKER}")
    return lines


def _ends_in_a_heap(column: Attribute) -> TypeGuard[Numeric]:
    """Whether the last bin is for one number."""
    last = column.bins[-2:] if isinstance(column, Numeric) and column.integer else (0, 0)
    return last[1] - last[0] == 0.5


def _derived(computed: Computed) -> str:
    no = "if it is not computed at all, take it out."
    if computed.formula is None:
        return f"Hence `derived: true`; {no}"
    written = scalar_text(computed.formula)
    roles = " (once `head` is a role)" if computed.formula.startswith("head.") else ""
    return (
        f"Hence `derived: true`. With `derived: {written}` in its place{roles} it is checked, and "
        f"computed from the synthetic members; {no}"
    )


def _weight_lines(weight: str) -> list[str]:
    """The weight as a suggestion."""
    return [
        f"  # {commented(weight)} looks like a survey weight: how many groups of the population",
        "  # one stands for. If it is, take the sign off: it is synthesized like any number all",
        "  # the same, and `kinfolk query` and `evaluate` give weighted answers as well.",
        f"  # weight: {scalar_text(weight)}  {MARKER}",
    ]


NOISE = 5.5
"""Noise in a count, as a standard deviation, for one set of attributes alone: epsilon 1, delta
1e-9, whole groups. It grows with the square root of the number of sets."""
TOO_MUCH = 0.01
"""With more noise than this share of the groups, sets of three are left out."""


def propose_k(attributes: int, groups: int) -> tuple[int, list[str]]:
    """How many attributes to ask for together, and why, in lines of words.

    >>> propose_k(attributes=15, groups=24_061)[0], propose_k(attributes=26, groups=13_109)[0]
    (3, 2)
    """
    asked = attributes + 1  # with the size
    if asked < 3:
        return asked, []
    scale = 10 ** floor(log10(groups))
    about = groups // scale * scale
    sets = comb(asked, 3)
    noise = NOISE * sqrt(2 * sets) / about
    said = [
        f"With about {about:,} groups and {sets:,} sets of three attributes, k: 3 would mean noise",
        f"of about {noise:.1%} of the groups in each share (epsilon 1 for whole groups). `kinfolk",
    ]
    if noise > TOO_MUCH:
        return 2, [*said, "plan` says more. So only pairs are asked for: k: 2."]
    return 3, [*said, "plan` says more. k: 2 asks for pairs only, with less noise."]


def _workload_lines(attributes: int, groups: int, roles: RoleGuess | None) -> list[str]:
    k, why = propose_k(attributes, groups)
    # How many groups there are is private, and so is what follows from it.
    mark = f"  {MARKER}" if why else ""
    asked = f"workload: {{k: {k}, levels: [group, individual]}}{mark}"
    lines = [*(f"# {line}" for line in why), asked]
    if roles is None or not roles.relations:
        return lines
    return [
        *lines,
        "# How old couples are, or parents and children, is learnt only where relations are asked",
        "# for. If you use them, delete the line above and take the sign off this one:",
        f"# workload: {{k: {k}, levels: [group, individual, relation]}}{mark}",
    ]


def _rule_lines(rules: Rules) -> list[str]:
    """Rules as a suggestion: what the data never shows is not what cannot be."""
    if not rules.plain and not rules.of_roles:
        return []
    plain, of_roles = (
        [f"#   - {scalar_text(text)}  {MARKER}" for text in texts]
        for texts in (rules.plain, rules.of_roles)
    )
    return [
        "# Never seen in the data, although it would be expected to occur. Where the codebook or",
        "# common sense says that something cannot be at all, take the comment signs off its line",
        "# (and off `never:`): synthetic data will then keep the rule. Delete the others.",
        "# never:",
        *plain,
        *(["#   # these need the roles:", *of_roles] if of_roles else []),
        "# on_violation: error  # or drop: leave groups that break a rule out",
    ]


def _role_lines(guess: RoleGuess) -> list[str]:
    """Roles as a suggestion; nothing is in force until the analyst takes the signs off."""
    name = scalar_text(guess.column)
    lines = [
        f"# The column {name} looks like it says who somebody is in the group. Its values in the",
        f"# data: {list_text(guess.values)}",
    ]
    if not guess.roles:
        example = f"head: {{values: [{scalar_text(guess.values[0])}], min: 1, max: 1}}"
        return [
            *lines,
            "# To use roles, look the codes up in the codebook, remove the column from the",
            "# attributes above, and write for example:",
            *("# roles:", f"#   column: {name}", f"#   {example}", "#   others: keep"),
        ]
    lines += [
        "# To use roles, check the codes against the codebook, delete the column's line above, and",
        "# take the comment signs off these lines:",
        "# roles:",
        f"#   column: {name}",
    ]
    for role, entry in guess.roles.items():
        limits = f"min: {entry.min}, max: {entry.max}"
        lines.append(f"#   {role}: {{values: {list_text(entry.values)}, {limits}}}  {MARKER}")
    lines.append(
        "#   others: drop  # every value has a role"
        if guess.others == "drop"
        else "#   others: keep  # a role for everybody else, written as blank; drop leaves them out"
    )
    if guess.relations:
        lines.append("# relations:")
    for relation, pairs in guess.relations.items():
        written = ", ".join(list_text(pair) for pair in pairs)
        lines.append(f"#   {relation}: [{written}]")
    return lines
