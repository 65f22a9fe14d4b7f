"""Bad input and the message it gets: the one list behind the tests and docs/bad-input.md.

Every case starts from the same good schema and two good tables and spoils one thing. The messages
are exact. After changing one, run `python tests/bad_input/write_docs.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

SCHEMA = """\
group:
  table: households
  id: household_id
  attributes:
    veh:  {values: [0, 1, 2], labels: [none, one, more]}
    rent: {bins: [0, 500, 1000, 5000]}
individual:
  table: persons
  group_id: household_id
  attributes:
    sex: {values: [male, female]}
    age: {bins: [0, 18, 65, 120], integer: true}
max_size: 4
oversize: drop
count: COUNT
roles:
  column: relate
  head:   {values: [0], min: 1, max: 1}
  spouse: {values: [1], min: 0, max: 1}
  child:  {values: [2, 3], min: 0, max: 2}
  others: drop
relations:
  married_to: [[head, spouse], [spouse, head]]
workload: {k: 2, levels: [group, individual, relation]}
"""

HOUSEHOLDS = """\
household_id,veh,rent
901,1,750
902,0,0
903,2,1200.50
"""

PERSONS = """\
household_id,relate,sex,age
901,0,female,41
901,1,male,43
901,2,female,9
902,0,male,70
903,0,female,33
903,1,male,35
"""

FOLDER = object()
"""Instead of a file's content: a folder of that name."""
ABSENT = object()
"""Instead of a file's content: no such file."""

TABLES = "the tables do not fit the schema"


@dataclass(frozen=True, kw_only=True)
class Case:
    """One kind of bad input."""

    name: str
    """What is wrong, in the words of the docs."""
    says: tuple[str, ...]
    """The problems, exactly."""
    heading: str | None = TABLES
    """What stands above them; None for a message that is one line."""
    files: Mapping[str, Any] = field(default_factory=dict)
    """What stands in the files instead of the good content: text, bytes or a table."""
    arguments: tuple[str, ...] = ("schema.yaml", "households.csv", "persons.csv")
    """The files given: the schema, then the tables."""
    tables: Callable[[], Any] | None = None
    """Tables in memory, for what does not come from files."""

    @property
    def message(self) -> str:
        """The whole message."""
        if self.heading is None:
            return "\n".join(self.says)
        count = f"{len(self.says)} problem{'s' if len(self.says) > 1 else ''}"
        return "\n".join([f"{self.heading}: {count}", *(f"  - {line}" for line in self.says)])


def swap(text: str, *pairs: tuple[str, str]) -> str:
    """Replace what stands in the text exactly once."""
    for old, new in pairs:
        assert text.count(old) == 1, (old, text.count(old))
        text = text.replace(old, new)
    return text


def in_schema(name: str, old: str, new: str, *says: str) -> Case:
    """A mistake in the schema: `old` was written as `new`."""
    files = {"schema.yaml": swap(SCHEMA, (old, new))}
    return Case(name=name, heading="schema.yaml", files=files, says=says)


def in_households(name: str, old: str, new: str, *says: str) -> Case:
    """A mistake in households.csv."""
    return Case(name=name, files={"households.csv": swap(HOUSEHOLDS, (old, new))}, says=says)


def in_persons(name: str, old: str, new: str, *says: str) -> Case:
    """A mistake in persons.csv."""
    return Case(name=name, files={"persons.csv": swap(PERSONS, (old, new))}, says=says)


def households(**columns: Any) -> pd.DataFrame:
    """The good group table in memory, with some columns replaced."""
    ids, veh, rent = [901, 902, 903], [1, 0, 2], [750.0, 0.0, 1200.5]
    return pd.DataFrame({"household_id": ids, "veh": veh, "rent": rent}).assign(**columns)


def persons(**columns: Any) -> pd.DataFrame:
    """The good individual table in memory, with some columns replaced."""
    data = {
        "household_id": [901, 901, 901, 902, 903, 903],
        "relate": [0, 1, 2, 0, 0, 1],
        "sex": ["female", "male", "female", "male", "female", "male"],
        "age": [41, 43, 9, 70, 33, 35],
    }
    return pd.DataFrame(data).assign(**columns)


def in_memory(name: str, make: Callable[[], Any], *says: str, heading: str | None = TABLES) -> Case:
    """Tables passed to Python rather than read from files."""
    return Case(name=name, heading=heading, tables=make, says=says)


def both(groups: Any, individuals: Any) -> dict[str, Any]:
    """The two tables under their names."""
    return {"households": groups, "persons": individuals}


def arrow(frame: pd.DataFrame) -> pa.Table:
    """A data frame as it would stand in a Parquet file."""
    return pa.Table.from_pandas(frame, preserve_index=False)


SCHEMA_CASES = [
    in_schema(
        "an unknown key",
        "  id: household_id",
        "  idd: household_id",
        "group.idd: the key is unknown. Did you mean 'id'? Known here: table, id, attributes.",
    ),
    in_schema(
        "an unknown key at the top",
        "oversize: drop",
        "over_size: drop",
        (
            "over_size: the key is unknown. Did you mean 'oversize'? Known here: group, "
            "individual, max_size, oversize, count, roles, relations, workload, domain."
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
        "a special value inside the bins",
        "5000]}",
        "5000], special: [99]}",
        (
            "group.attributes.rent.special[0]: 99 lies inside the bins 0 to 5000. Move "
            "the bins or remove the value."
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
        "`missing: yes`",
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
        "`max_size: 0`",
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
        "workload.k: k = 9, but there are 5 attributes (COUNT included). Use k of at most 5.",
    ),
    in_schema(
        "`k: 0`",
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
            "Known here: veh, rent, COUNT, sex, age."
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

DATA_CASES = [
    in_households(
        "a missing column",
        "veh,rent",
        "cars,rent",
        (
            "households.csv, column veh: there is no such column; there are "
            "household_id, cars, rent. Add the column, or correct the schema."
        ),
    ),
    in_households(
        "a column in other letters",
        "veh,rent",
        "VEH,rent",
        (
            "households.csv, column veh: there is no such column; there are "
            "household_id, VEH, rent. Did you mean 'VEH'? Add the column, or correct the "
            "schema."
        ),
    ),
    Case(
        name="missing columns in both tables",
        files={
            "households.csv": swap(HOUSEHOLDS, ("veh,rent", "a,b")),
            "persons.csv": swap(PERSONS, ("relate", "c")),
        },
        says=(
            (
                "households.csv, column veh: there is no such column; there are "
                "household_id, a, b. Add the column, or correct the schema."
            ),
            (
                "households.csv, column rent: there is no such column; there are "
                "household_id, a, b. Add the column, or correct the schema."
            ),
            (
                "persons.csv, column relate: there is no such column; there are "
                "household_id, c, sex, age. Add the column, or correct the schema."
            ),
        ),
    ),
    in_households(
        "a column that appears twice",
        "veh,rent",
        "veh,veh",
        "households.csv: 2 columns are called 'veh'. Rename or remove all but one.",
    ),
    in_households(
        "a group id that appears twice",
        "903,2",
        "902,2,10\n903,2",
        (
            "households.csv, line 4, column household_id: the id 902 already stands in "
            "line 3. Give every group one row and one id."
        ),
    ),
    in_households(
        "a blank group id",
        "903,2,1200.50\n",
        "903,2,1200.50\n,1,100\n",
        "households.csv, line 5, column household_id: the id is blank. Every row needs one.",
    ),
    in_persons(
        "a person without a group id",
        "903,1,male,35\n",
        "903,1,male,35\n,2,male,5\n",
        "persons.csv, line 8, column household_id: the id is blank. Every row needs one.",
    ),
    in_persons(
        "people without a household",
        "903,1,male,35\n",
        "904,0,male,35\n904,1,male,36\n",
        (
            "persons.csv, line 7, column household_id: 904 is not in households.csv (2 "
            "such rows; this is the first). Add the group or drop the person."
        ),
    ),
    in_households(
        "a household without people",
        "903,2",
        "904,0,10\n903,2",
        (
            "households.csv, line 4, column household_id: 904 has nobody in persons.csv. "
            "Add its members or drop the group; groups without members are not supported."
        ),
    ),
    in_households(
        "a value outside the domain",
        "902,0",
        "902,7",
        (
            "households.csv, line 3, column veh: '7' is not among the declared values 0, "
            "1, 2. Correct the rows, or add the value to the schema."
        ),
    ),
    Case(
        name="several values outside the domain",
        files={"persons.csv": PERSONS.replace(",male,", ",m,").replace(",female,", ",f,")},
        says=(
            (
                "persons.csv, line 2, column sex: 'f' is not among the declared values "
                "male, female; undeclared in this column: f, m (6 such rows; this is the "
                "first). Correct the rows, or add the value to the schema."
            ),
        ),
    ),
    in_persons(
        "a value with a space",
        "902,0,male",
        "902,0, male",
        (
            "persons.csv, line 5, column sex: ' male' is not among the declared values "
            "male, female. Correct the rows, or add the value to the schema."
        ),
    ),
    in_persons(
        "a number outside the bins",
        "male,70",
        "male,121",
        (
            "persons.csv, line 5, column age: '121' lies outside the bins 0 to 120. "
            "Correct it, or widen the bins."
        ),
    ),
    in_households(
        "a number that is none",
        "902,0,0",
        "902,0,n/a",
        (
            "households.csv, line 3, column rent: 'n/a' is not a number. Correct it, or "
            "leave it blank and set `missing: true`."
        ),
    ),
    in_households(
        "a number with a thousands separator",
        "1200.50",
        '"1,200.50"',
        (
            "households.csv, line 4, column rent: '1,200.50' is not a number. Correct "
            "it, or leave it blank and set `missing: true`."
        ),
    ),
    in_persons(
        "a number that is not whole",
        "male,70",
        "male,70.5",
        (
            "persons.csv, line 5, column age: '70.5' is not a whole number. Correct it, "
            "or remove `integer: true`."
        ),
    ),
    in_persons(
        "a blank without `missing: true`",
        "male,70",
        "male,",
        (
            "persons.csv, line 5, column age: the cell is blank. Fill it in, or declare "
            "`missing: true`."
        ),
    ),
    in_persons(
        "a household without a head",
        "902,0",
        "902,2",
        (
            "households.csv, line 3, column household_id: 902 has no head. Every group "
            "needs at least 1; mend it or change the roles' min."
        ),
    ),
    in_persons(
        "a household with two spouses",
        "901,2",
        "901,1",
        (
            "households.csv, line 2, column household_id: 901 has 2 members with the "
            "role spouse. A role with max: 1 is unique; mend the group or raise max."
        ),
    ),
    in_persons(
        "a blank role",
        "902,0,",
        "902,,",
        (
            "persons.csv, line 5, column relate: the role is blank. Fill it in, or write "
            "`others: keep`."
        ),
    ),
    Case(
        name="only oversize households",
        files={
            "households.csv": "household_id,veh,rent\n901,1,750\n",
            "persons.csv": "household_id,relate,sex,age\n901,0,male,40\n" + "901,2,male,9\n" * 4,
        },
        says=(
            (
                "persons.csv: no group is left: 1 over max_size or a role's max, 0 "
                "without anybody in a declared role. Raise max_size or max, write "
                "`oversize: first`, or declare the roles that occur."
            ),
        ),
    ),
    in_persons(
        "a line with too few cells",
        "902,0,male,70",
        "902,0,male",
        (
            "persons.csv, line 5: 3 cells, but the first line has 4. Look for an "
            "unquoted comma, a missing cell or a line break inside a cell."
        ),
    ),
    in_persons(
        "an unquoted comma",
        "male,70",
        "male,70,5",
        (
            "persons.csv, line 5: 5 cells, but the first line has 4. Look for an "
            "unquoted comma, a missing cell or a line break inside a cell."
        ),
    ),
    in_persons(
        "a quote that is not closed",
        "902,0,male",
        '902,0,"male',
        (
            "persons.csv, line 5: a quote is opened and never closed. Close it, or "
            "double it in a text."
        ),
    ),
    Case(
        name="semicolons instead of commas",
        files={"persons.csv": PERSONS.replace(",", ";")},
        says=(
            (
                "persons.csv: the columns are separated by semicolons, not commas. Save "
                "it with commas, or as Parquet."
            ),
        ),
    ),
    Case(
        name="a file in Latin-1",
        files={"persons.csv": PERSONS.replace("901,1,male", "901,1,m\xe2le").encode("latin-1")},
        says=(
            (
                "persons.csv, line 3: b'901,1,m\\xe2le,43\\n' is not text in UTF-8. Save "
                "the file in UTF-8; it may be in Latin-1, Windows-1252 or UTF-16."
            ),
        ),
    ),
    Case(
        name="a file in UTF-16",
        files={"persons.csv": PERSONS.encode("utf-16")},
        says=(
            (
                "persons.csv, line 1: b'\\xff\\xfeh\\x00o\\x00u\\x00s\\x00e' is not text in "
                "UTF-8. Save the file in UTF-8; it may be in Latin-1, Windows-1252 or "
                "UTF-16."
            ),
        ),
    ),
    Case(
        name="an empty file",
        files={"persons.csv": ""},
        says=("persons.csv: the file is empty. Check that it is the right one.",),
    ),
    Case(
        name="a file with nothing below its first line",
        files={"persons.csv": PERSONS.splitlines()[0]},
        says=("persons.csv: the table has no rows. Check that it is the right one.",),
    ),
    Case(
        name="a Parquet file that is cut off",
        files={"persons.parquet": b"PAR1\x15\x04\x15\x10\x15\x14"},
        arguments=("schema.yaml", "households.csv", "persons.parquet"),
        says=(
            "persons.parquet: is not a complete parquet file. Write it again, or check its name.",
        ),
    ),
    Case(
        name="a Parquet file with text where the schema has numbers",
        files={"households.parquet": arrow(households(veh=["1", "0", "2"]))},
        arguments=("schema.yaml", "households.parquet", "persons.csv"),
        says=(
            (
                "households.parquet, row 1, column veh: the column holds text ('1'), the "
                "schema says numbers (3 such rows; this is the first). Convert the "
                "column to numbers, or quote the values in the schema."
            ),
        ),
    ),
    Case(
        name="a Parquet file with numbers where the schema has text",
        files={"persons.parquet": arrow(persons(sex=[2, 1, 2, 1, 2, 1]))},
        arguments=("schema.yaml", "households.csv", "persons.parquet"),
        says=(
            (
                "persons.parquet, row 1, column sex: the column holds numbers (2), the "
                "schema says text (6 such rows; this is the first). Take the quotes off "
                "the values in the schema, or convert the column to text."
            ),
        ),
    ),
    Case(
        name="a value outside the domain in Parquet",
        files={"persons.parquet": arrow(persons(age=[41, 43, 9, 70, 133, 35]))},
        arguments=("schema.yaml", "households.csv", "persons.parquet"),
        says=(
            (
                "persons.parquet, row 5, column age: 133 lies outside the bins 0 to 120. "
                "Correct it, or widen the bins."
            ),
        ),
    ),
    Case(
        name="a file of unknown type",
        files={"persons.xlsx": b"PK\x03\x04"},
        arguments=("schema.yaml", "households.csv", "persons.xlsx"),
        says=(
            (
                "persons.xlsx: the file type is unknown. Use one of .csv, .tsv, "
                ".parquet, .pq, .arrow, .feather, .ipc (.gz for CSV)."
            ),
        ),
    ),
    Case(
        name="a folder instead of a file",
        files={"persons.csv": FOLDER},
        says=("persons.csv: is a folder. Name the file in it.",),
    ),
    Case(
        name="files that do not exist",
        files={"persons.csv": ABSENT, "households.csv": ABSENT},
        says=(
            "households.csv: there is no such file. Check the path.",
            "persons.csv: there is no such file. Check the path.",
        ),
    ),
    Case(
        name="one file too few",
        heading=None,
        arguments=("schema.yaml", "households.csv"),
        says=(
            (
                "got 1 file, but the schema has 2 tables. Name one file for each, in "
                "this order: households, persons."
            ),
        ),
    ),
    in_memory(
        "ids as text here and numbers there",
        lambda: both(households(household_id=["901", "902", "903"]), persons()),
        (
            "persons, column household_id: the ids are numbers (901), but text (901) in "
            "households, column household_id. Store both ids as the same type."
        ),
    ),
    in_memory(
        "a blank id among numbers (pandas NaN)",
        lambda: both(households(), persons(household_id=[901, 901, np.nan, 902, 903, 903])),
        "persons, row 3, column household_id: the id is blank. Every row needs one.",
    ),
    in_memory(
        "ids that are lists",
        lambda: both(households(household_id=[[901], [902], [903]]), persons()),
        (
            "households, column household_id: the ids are of the type list<item: int64>, "
            "which cannot be compared. Use numbers or text as ids."
        ),
    ),
    in_memory(
        "a column of dates",
        lambda: both(households(), persons(age=[date(1983, 4, 1)] * 6)),
        (
            "persons, row 1, column age: the column holds dates or times (1983-04-01), "
            "the schema says numbers (6 such rows; this is the first). Convert the "
            "column to numbers."
        ),
    ),
    in_memory(
        "a column that mixes kinds",
        lambda: both(
            households(),
            persons(sex=pd.Series(["female", 1, "female", 1, "female", 1], dtype=object)),
        ),
        (
            "persons, row 2, column sex: the column mixes text ('female' in row 1) and "
            "number (1) (3 such rows; this is the first). Give the column one type: all "
            "numbers, all text, or all true/false."
        ),
    ),
    in_memory(
        "true/false where the schema has numbers",
        lambda: both(households(), persons(relate=[False, True, True, False, False, True])),
        (
            "persons, row 1, column relate: the column holds true/false (False), the "
            "schema says numbers (6 such rows; this is the first). Convert the column to "
            "numbers."
        ),
    ),
    in_memory(
        "infinity",
        lambda: both(households(rent=[750, np.inf, 0]), persons()),
        (
            "households, row 2, column rent: inf lies outside the bins 0 to 5000. "
            "Correct it, or widen the bins."
        ),
    ),
    in_memory(
        "text that is not UTF-8",
        lambda: both(households(), broken_text()),
        "persons, row 2, column sex: b'm\\xe2le' is not text in UTF-8. Store the text in UTF-8.",
    ),
    in_memory(
        "two columns of the same name (pandas)",
        lambda: both(pd.concat([households(), households()[["veh"]]], axis=1), persons()),
        "households: two columns have the same name. Rename or remove all but one.",
    ),
    in_memory(
        "tables without rows",
        lambda: both(households()[:0], persons()[:0]),
        "households: the table has no rows. Check that it is the right one.",
        "persons: the table has no rows. Check that it is the right one.",
    ),
    in_memory(
        "a lazy frame whose query fails",
        lambda: both(pl.LazyFrame({"veh": [1]}).select("car"), persons()),
        (
            'households: the lazy frame cannot be computed (unable to find column "car"; '
            'valid columns: ["veh"]). Check its query.'
        ),
    ),
    in_memory(
        "something that is not a table",
        lambda: both([901, 902, 903], persons()),
        "households: list is not a table. Pass a path, or a pandas, polars or pyarrow table.",
    ),
    in_memory(
        "tables under other names",
        lambda: {"homes": households(), "people": persons()},
        (
            "got tables named homes, people; the schema names households, persons. Pass "
            "a dict with exactly these keys."
        ),
        heading=None,
    ),
    in_memory(
        "a list instead of a dict",
        lambda: [households(), persons()],
        "got list instead of tables. Pass a dict with the tables households, persons.",
        heading=None,
    ),
]


def broken_text() -> pa.Table:
    """A text column with a byte that is no UTF-8, as a careless writer leaves it."""
    table = arrow(persons())
    cells = pa.array([b"female", b"m\xe2le", b"female", b"male", b"female", b"male"])
    text = pa.Array.from_buffers(pa.string(), len(cells), cells.buffers())
    return table.set_column(table.column_names.index("sex"), "sex", text)


CASES = [*SCHEMA_CASES, *DATA_CASES]
