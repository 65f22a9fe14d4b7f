"""Mistakes in the schema, each with its exact message."""

from __future__ import annotations

from bad_input.cases import ABSENT, FOLDER, SCHEMA, Case, in_schema, swap

SCHEMA_CASES = [
    in_schema(
        "an unknown key",
        "  id: household_id",
        "  idd: household_id",
        (
            "group.idd: the key is unknown. Did you mean 'id'? Known here: table, id, weight, "
            "attributes."
        ),
    ),
    in_schema(
        "an unknown key at the top",
        "oversize: drop",
        "over_size: drop",
        (
            "over_size: the key is unknown. Did you mean 'oversize'? Known here: group, "
            "individual, max_size, oversize, count, roles, relations, workload, domain, never, "
            "on_violation."
        ),
    ),
    in_schema(
        "a value listed twice",
        "[0, 1, 2], labels",
        "[0, 1, 1], labels",
        (
            "group.attributes.veh.values[2]: the value 1 is listed twice. It already "
            "stands at values[1]; remove one of the two."
        ),
    ),
    in_schema(
        "values that mix numbers and text",
        "[0, 1, 2], l",
        "[0, 1, 2+], l",
        (
            "group.attributes.veh.values: values mix number (0) and text ('2+'). Use one "
            "kind; quote numbers that are meant as text, such as '0', '1', '3+'."
        ),
    ),
    in_schema(
        "a blank among the values",
        "[male, female]",
        '[male, female, ""]',
        (
            "individual.attributes.sex.values[2]: a blank is not a value. Leave it out "
            "and set `missing: true` if blanks occur."
        ),
    ),
    in_schema(
        "no values",
        "[male, female]",
        "[]",
        "individual.attributes.sex.values: the list is empty. List the values the column may hold.",
    ),
    in_schema(
        "one value instead of a list",
        "[male, female]",
        "male",
        "individual.attributes.sex.values: 'male' is not a list. Write a list, such as [1, 2, 3].",
    ),
    in_schema(
        "values written as `key: label`",
        "[male, female]",
        "{m: male, f: female}",
        (
            "individual.attributes.sex.values: {'f': 'female', 'm': 'male'} is not a "
            "list. Write a list, such as [1, 2, 3]."
        ),
    ),
    in_schema(
        "a list among the values",
        "[male, female]",
        "[male, [female]]",
        (
            "individual.attributes.sex.values[1]: ['female'] is a list. Use numbers, "
            "text or true/false."
        ),
    ),
    in_schema(
        "a value too long for a number",
        "[0, 1, 2], l",
        "[0, 1, 99999999999999999999], l",
        (
            "group.attributes.veh.values[2]: 99999999999999999999 is too large for a "
            "whole number of 64 bits. Put it in quotes if it is a code."
        ),
    ),
    in_schema(
        "too few labels",
        "[none, one, more]",
        "[none, one]",
        (
            "group.attributes.veh.labels: 2 labels for 3 values. Give exactly one label "
            "per value, or leave labels out."
        ),
    ),
    in_schema(
        "a label used twice",
        "[none, one, more]",
        "[none, more, more]",
        (
            "group.attributes.veh.labels[2]: the label 'more' is used twice. Give every "
            "category its own label."
        ),
    ),
    in_schema(
        "a code with leading zeros",
        "[0, 1, 2], labels",
        "[00, 01, 02], labels",
        (
            "line 5, column 21: 00 could be a number or a code with leading zeros. Put "
            "it in quotes if it is a code."
        ),
    ),
    in_schema(
        "bins that do not increase",
        "[0, 500, 1000, 5000]",
        "[0, 1000, 500, 5000]",
        (
            "group.attributes.rent.bins[2]: the edge 500 does not lie above the one "
            "before it, 1000. List the edges in increasing order."
        ),
    ),
    in_schema(
        "a single bin edge",
        "[0, 500, 1000, 5000]",
        "[0]",
        (
            "group.attributes.rent.bins: 1 edge does not make a bin. Give at least two "
            "edges, such as [0, 18, 65, 120]."
        ),
    ),
    in_schema(
        "a bin edge that is no number",
        "[0, 500, 1000, 5000]",
        "[0, 500, more]",
        "group.attributes.rent.bins[2]: 'more' is not a finite number. Bin edges are numbers.",
    ),
    in_schema(
        "a bin edge that is infinite",
        "[0, 500, 1000, 5000]",
        "[0, 500, 1e999]",
        "group.attributes.rent.bins[2]: inf is not a finite number. Bin edges are numbers.",
    ),
    in_schema(
        "a bin without a whole number",
        "[0, 18, 65, 120]",
        "[0, 0.2, 0.7, 120]",
        (
            "individual.attributes.age.bins[2]: no whole number lies in the bin from 0.2 "
            "to 0.7. Widen the bin or drop `integer: true`."
        ),
    ),
    in_schema(
        "special values that fill a bin",
        "[0, 18, 65, 120], integer: true}",
        "[0, 2, 65, 120], integer: true, special: [0, 1]}",
        (
            "individual.attributes.age.bins[1]: every whole number in the bin from 0 to 2 is a "
            "special value. Leave the bin out, or widen it."
        ),
    ),
    in_schema(
        "a special value that is listed twice",
        "5000]}",
        "5000], special: [0, 0]}",
        (
            "group.attributes.rent.special[1]: the value 0 is listed twice. It already stands at "
            "special[0]; remove one of the two."
        ),
    ),
    in_schema(
        "decimals that are no number of decimals",
        "5000]}",
        "5000], decimals: 0.01}",
        (
            "group.attributes.rent.decimals: 0.01 is not a whole number. Write how many decimals "
            "there are, such as 2."
        ),
    ),
    in_schema(
        "decimals of whole numbers",
        "[0, 18, 65, 120], integer: true}",
        "[0, 18, 65, 120], integer: true, decimals: 2}",
        (
            "individual.attributes.age.decimals: whole numbers do not have 2 decimals. Remove "
            "`integer: true` or `decimals`."
        ),
    ),
    in_schema(
        "more decimals than there can be",
        "5000]}",
        "5000], decimals: 14}",
        (
            "group.attributes.rent.decimals: numbers up to 5000 do not have 14 decimals. "
            "Floating-point numbers have about 15 digits; ask for fewer decimals."
        ),
    ),
    in_schema(
        "a bin that rounding would leave empty",
        "[0, 500, 1000, 5000]}",
        "[0, 500, 1000.01, 1000.04, 5000], decimals: 1}",
        (
            "group.attributes.rent.bins[3]: no number with 1 decimal lies in the bin from 1000.01 "
            "to 1000.04. Widen the bin or drop `decimals`."
        ),
    ),
    in_schema(
        "a special value that is no number",
        "5000]}",
        "5000], special: [none]}",
        (
            "group.attributes.rent.special[0]: 'none' is not a number. Special values of "
            "a numeric column are numbers."
        ),
    ),
    in_schema(
        "both values and bins",
        "[male, female]",
        "[male, female], bins: [0, 1]",
        (
            "individual.attributes.sex: it has both `values` and `bins`. Give `values: "
            "[...]` for categories or `bins: [...]` for a number."
        ),
    ),
    in_schema(
        "neither values nor bins",
        "{values: [male, female]}",
        "{missing: true}",
        (
            "individual.attributes.sex: it has neither values nor bins. Give `values: "
            "[...]` for categories or `bins: [...]` for a number."
        ),
    ),
    in_schema(
        "an attribute that is only a list",
        "{values: [male, female]}",
        "[male, female]",
        "individual.attributes.sex: found ['male', 'female']. Expected `key: value` entries here.",
    ),
    in_schema(
        "`missing` that is not true or false",
        "female]}",
        "female], missing: yes}",
        "individual.attributes.sex.missing: 'yes' is neither true nor false. Write true or false.",
    ),
    in_schema(
        "`derived` on an individual",
        "female]}",
        "female], derived: true}",
        (
            "individual.attributes.sex.derived: an individual attribute is not computed "
            "from members. Only group attributes can be derived; remove it."
        ),
    ),
    in_schema(
        "a number as an attribute's name",
        "    veh: ",
        "    7: ",
        "group.attributes.7: 7 is not a name. Write a text; put digits in quotes.",
    ),
    in_schema(
        "no individual attributes",
        "sex: {values: [male, female]}\n    age: {bins: [0, 18, 65, 120], integer: true}\n",
        "{}\n",
        "individual.attributes: there are none. Declare at least one.",
    ),
    in_schema(
        "the id among the attributes",
        "    veh: ",
        "    household_id: ",
        "group.attributes.household_id: 'household_id' is also the id. An id is not an attribute.",
    ),
    in_schema(
        "the role column among the attributes",
        "    sex: ",
        "    relate: ",
        (
            "individual.attributes.relate: 'relate' is also the column that holds the "
            "roles. Remove it here; kinfolk writes that column itself."
        ),
    ),
    in_schema(
        "two tables of the same name",
        "table: persons",
        "table: households",
        "individual.table: both tables are called 'households'. Give them different names.",
    ),
    in_schema(
        "a table whose name is a path",
        "table: persons",
        "table: ../persons",
        (
            "individual.table: '../persons' cannot be the name of a file. Write a name "
            "without a folder."
        ),
    ),
    in_schema(
        "a table whose name holds a character that no file name can",
        "table: persons",
        'table: "per\\0sons"',
        (
            "individual.table: 'per\\x00sons' cannot be the name of a file: it contains '\\x00'. "
            "Leave that out."
        ),
    ),
    in_schema(
        "a table whose name has a drive",
        "table: persons",
        "table: C:x",
        ("individual.table: 'C:x' cannot be the name of a file: it contains ':'. Leave that out."),
    ),
    in_schema(
        "a table whose name is a device of Windows",
        "table: persons",
        "table: CON",
        (
            "individual.table: 'CON' cannot be the name of a file: Windows keeps it for a device. "
            "Choose another."
        ),
    ),
    in_schema(
        "a table whose name is too long",
        "table: persons",
        f"table: {'persons' * 36}",
        (
            "individual.table: a name of 252 bytes ('personspersonsperson', ...) is too long for "
            "a file. Use at most 200."
        ),
    ),
    in_schema(
        "two tables whose names differ in capitals only",
        "table: persons",
        "table: Households",
        (
            "individual.table: both tables are called 'households' or 'Households'. Give them "
            "different names."
        ),
    ),
    Case(
        name="roles that groups can be made up of in too many ways",
        heading="schema.yaml",
        files={
            "schema.yaml": swap(
                SCHEMA,
                ("max_size: 4", "max_size: 200"),
                ("{values: [2, 3], min: 0, max: 2}", "{values: [2, 3], max: 200}"),
                ("others: drop", "others: keep"),
            )
        },
        says=(
            (
                "roles: groups can be made up of the roles in 40,000 ways, more than the 20,000 "
                "that kinfolk handles. Lower max_size or the roles' max, or put rare roles "
                "together."
            ),
        ),
    ),
    in_schema(
        "a `max_size` of 0",
        "max_size: 4",
        "max_size: 0",
        (
            "max_size: 0 is not a whole number of at least 1. Say how many members a "
            "group has at most."
        ),
    ),
    in_schema(
        "`max_size` in words",
        "max_size: 4",
        "max_size: four",
        (
            "max_size: 'four' is not a whole number of at least 1. Say how many members "
            "a group has at most."
        ),
    ),
    in_schema(
        "no `max_size`",
        "max_size: 4\n",
        "",
        "max_size: it is not given. Say how many members a group may have.",
    ),
    in_schema(
        "a `max_size` below what the roles require",
        "min: 0, max: 2",
        "min: 4, max: 4",
        (
            "max_size: the roles require 5 members, max_size allows 4. Raise max_size or "
            "lower the roles' min."
        ),
    ),
    in_schema(
        "a typing error in `oversize`",
        "oversize: drop",
        "oversize: frist",
        (
            "oversize: 'frist' is neither drop nor first. Write drop (leave large groups "
            "out) or first."
        ),
    ),
    in_schema(
        "`count` named like an attribute",
        "count: COUNT",
        "count: veh",
        "count: 'veh' is also an attribute. Choose another name for the size of a group.",
    ),
    in_schema(
        "a role without values",
        "{values: [1], min: 0, max: 1}",
        "{min: 0, max: 1}",
        (
            "roles.spouse.values: it has no values. List the values of the role column "
            "that mean this role, such as [0]."
        ),
    ),
    in_schema(
        "a role with min above max",
        "min: 1, max: 1",
        "min: 2, max: 1",
        "roles.head.min: min 2 is larger than max 1. Lower min or raise max.",
    ),
    in_schema(
        "a value that means two roles",
        "values: [2, 3]",
        "values: [1, 2, 3]",
        "roles.child.values[0]: 1 already means spouse. A value means one role only.",
    ),
    in_schema(
        "roles that mix kinds of values",
        "values: [2, 3]",
        "values: [kid]",
        "roles: the roles' values mix number (head) and text (child). Use one kind for all roles.",
    ),
    in_schema(
        "no role column",
        "  column: relate\n",
        "",
        "roles.column: it is not given. Write `column: NAME`.",
    ),
    in_schema(
        "a typing error in `others`",
        "others: drop",
        "others: ignore",
        "roles.others: 'ignore' is neither drop nor keep. Write `others: drop` or `others: keep`.",
    ),
    in_schema(
        "a relation that names an unknown role",
        "[spouse, head]",
        "[spouse, boss]",
        (
            "relations.married_to[1]: 'boss' is not a declared role. Declared roles: "
            "head, spouse, child."
        ),
    ),
    in_schema(
        "a relation that is no pair",
        "[spouse, head]",
        "spouse",
        (
            "relations.married_to[1]: 'spouse' is not a pair of roles. Write [person, "
            "relative], such as [head, spouse]."
        ),
    ),
    in_schema(
        "a pair listed twice",
        "[spouse, head]",
        "[head, spouse]",
        "relations.married_to[1]: the pair ['head', 'spouse'] is listed twice. Remove one.",
    ),
    Case(
        name="relations without roles",
        heading="schema.yaml",
        files={
            "schema.yaml": SCHEMA.split("roles:")[0] + "relations:" + SCHEMA.split("relations:")[1]
        },
        says=(
            (
                "relations: relations need roles, and there are none. Declare `roles:` "
                "(who is head, spouse, child), or remove the relations."
            ),
        ),
    ),
    in_schema(
        "relation queries without relations",
        "relations:\n  married_to: [[head, spouse], [spouse, head]]\n",
        "",
        (
            "workload.levels[2]: relation queries need relations, and there are none. "
            "Declare `relations:` or remove the level."
        ),
    ),
    in_schema(
        "k larger than the number of attributes",
        "k: 2",
        "k: 9",
        "workload.k: k = 9, but there are 6 attributes (COUNT included). Use k of at most 6.",
    ),
    in_schema(
        "a `k` of 0",
        "k: 2",
        "k: 0",
        (
            "workload.k: 0 is not a whole number of at least 1. Say how many attributes "
            "a query names, such as 3."
        ),
    ),
    in_schema(
        "an unknown level",
        "individual, relation]",
        "individuals, relation]",
        (
            "workload.levels[1]: 'individuals' is not a level. Did you mean "
            "'individual'? Known here: group, individual, relation."
        ),
    ),
    in_schema(
        "an unknown attribute in the workload",
        "k: 2",
        "k: 1, attributes: [veh, sexx]",
        (
            "workload.attributes[1]: attribute 'sexx' is unknown. Did you mean 'sex'? "
            "Known here: veh, rent, COUNT, sex, age, relate."
        ),
    ),
    in_schema(
        "a key that appears twice",
        "oversize: drop",
        "oversize: drop\nmax_size: 5",
        "line 15, column 1: the key 'max_size' appears twice. Remove one of the two.",
    ),
    in_schema(
        "a bracket that is not closed",
        "[male, female]}",
        "[male, female}",
        "line 11, column 32: expected ',' or ']', but got '}'. Mend the line.",
    ),
    in_schema(
        "a comment sign taken off, and not the space after it",
        "max_size:",
        " max_size:",
        (
            "line 13, column 2: the line is not indented as those around it, or lacks the key it "
            "belongs to. Indent it like them; where it was a comment, take off the sign and one "
            "space."
        ),
    ),
    in_schema(
        "a tab as indentation",
        "  table: households",
        "\ttable: households",
        (
            "line 2, column 1: found character '\\t' that cannot start any token. Indent "
            "with spaces, not tabs."
        ),
    ),
    in_schema(
        "a YAML tag",
        "[male, female]",
        "!!set {male, female}",
        "line 11, column 19: the tag !!set has no place in a schema. Remove it.",
    ),
    Case(
        name="an empty schema",
        heading="schema.yaml",
        files={"schema.yaml": ""},
        says=("the file: holds no schema. It needs `group:`, `individual:` and `max_size:`.",),
    ),
    Case(
        name="a schema that is only a text",
        heading="schema.yaml",
        files={"schema.yaml": "households.csv"},
        says=("the file: holds no schema. It needs `group:`, `individual:` and `max_size:`.",),
    ),
    Case(
        name="an image instead of a schema",
        heading=None,
        files={"schema.yaml": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"},
        says=("schema.yaml: is not a text in UTF-8. Name a YAML file, and save it in UTF-8.",),
    ),
    Case(
        name="a schema that does not exist",
        heading=None,
        files={"schema.yaml": ABSENT},
        says=(
            (
                "schema.yaml: there is no such file. Check the path, or draft a schema "
                "with `kinfolk init`."
            ),
        ),
    ),
    Case(
        name="a folder instead of a schema",
        heading=None,
        files={"schema.yaml": FOLDER},
        says=("schema.yaml: is a folder. Name the YAML file in it.",),
    ),
]
