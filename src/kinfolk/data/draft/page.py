"""The drafted schema.yaml: what was read off the data is marked, line by line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kinfolk.data.draft.hints import Computed, RoleGuess
from kinfolk.data.draft.profile import LeftOut, is_clean
from kinfolk.data.draft.suggest_rules import NO_RULES, Rules
from kinfolk.schema import Attribute
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
#   2. Widen bins and max_size to limits that anyone could name, such as ages from 0 to 120.
#   3. Remove the marker from every line that you have confirmed.
#   4. Delete the commented lines below; they were read off the data as well.
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
    roles: RoleGuess | None,
    rules: Rules = NO_RULES,
) -> str:
    """Write the draft as YAML; `ids_read` says whether the ids were guessed from the data."""
    mark = f"  {MARKER}" if ids_read else ""
    k = min(3, len(homes.attributes) + len(people.attributes) + 1)
    lines = [
        HEADER,
        "domain: drafted  # declared, once every marked line is confirmed",
        "group:",
        f"  table: {scalar_text(homes.table)}",
        f"  id: {scalar_text(key)}{mark}",
        *_attribute_lines(homes),
        "individual:",
        f"  table: {scalar_text(people.table)}",
        f"  group_id: {scalar_text(link)}{mark}",
        *_attribute_lines(people),
        f"max_size: {max_size}  {MARKER}",
        "oversize: drop  # or first: keep the first max_size members of a larger group",
        f"count: {scalar_text(count)}  # the name under which a group's size is queried",
        *(_role_lines(roles) if roles else []),
        f"workload: {{k: {k}, levels: [group, individual]}}",
        *_rule_lines(rules),
    ]
    return "\n".join(lines) + "\n"


def commented(name: str) -> str:
    """A column's name in a comment, whatever it holds."""
    return scalar_text(name) if is_clean(name) and name else ascii(name)


def _attribute_lines(draft: TableDraft) -> list[str]:
    lines = ["  attributes:" if draft.attributes else "  attributes: {}"]
    for name, column in draft.columns.items():
        if isinstance(column, LeftOut):
            why = column.why if is_clean(column.why) else ascii(column.why)[1:-1]
            lines.append(f"    # {commented(name)}: left out: {why}.")
            continue
        if name in draft.computed:
            lines.append(
                f"    # The next line looks computed from the members: it equals "
                f"{draft.computed[name].text}. If it is, add {_derived(draft.computed[name])}."
            )
        lines.append(f"    {scalar_text(name)}: {attribute_text(column)}  {MARKER}")
    return lines


def _derived(computed: Computed) -> str:
    if computed.formula is None:
        return "`derived: true`"
    written = scalar_text(computed.formula)
    roles = " (once `head` is a role)" if computed.formula.startswith("head.") else ""
    return f"`derived: {written}`{roles}, or `derived: true` if the formula is another"


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
        "# To use roles, check the codes against the codebook, remove the column from the",
        "# attributes above, and take the comment signs off these lines:",
        "# roles:",
        f"#   column: {name}",
    ]
    for role, entry in guess.roles.items():
        limits = f"min: {entry.min}, max: {entry.max}"
        lines.append(f"#   {role}: {{values: {list_text(entry.values)}, {limits}}}  {MARKER}")
    return [*lines, "#   others: keep  # or drop: leave everybody else out"]
