"""Mistakes in the tables' files, each with its exact message."""

from __future__ import annotations

from bad_input.cases import (
    ABSENT,
    FOLDER,
    HOUSEHOLDS,
    PERSONS,
    SCHEMA,
    Case,
    arrow,
    households,
    in_households,
    in_persons,
    persons,
    swap,
)

FILE_CASES = [
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
            "households.csv, line 4, column rent: '1,200.50' is not a number. Write it with a "
            "decimal point and without commas, such as 1234.5."
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
        name="a decimal comma between semicolons",
        files={"households.csv": HOUSEHOLDS.replace(",", ";").replace("1200.50", "1200,5")},
        says=(
            (
                "households.csv, line 4, column rent: '1200,5' is not a number. Write it with a "
                "decimal point and without commas, such as 1234.5."
            ),
        ),
    ),
    Case(
        name="a missing cell between semicolons",
        files={"persons.csv": PERSONS.replace(",", ";").replace("male;70", "70")},
        says=(
            (
                "persons.csv, line 5: 3 cells, but the first line has 4. Look for an "
                "unquoted semicolon, a missing cell or a line break inside a cell."
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
        files={"persons.ods": b"PK\x03\x04"},
        arguments=("schema.yaml", "households.csv", "persons.ods"),
        says=(
            (
                "persons.ods: the file type is unknown. Use one of .csv, .tsv, .parquet, .pq, "
                ".arrow, .feather, .ipc, .dta, .sav, .zsav, .sas7bdat, .xlsx (.gz for CSV)."
            ),
        ),
    ),
    Case(
        name="an Excel file that is none",
        files={"persons.xlsx": b"PK\x03\x04"},
        arguments=("schema.yaml", "households.csv", "persons.xlsx"),
        says=(
            (
                "persons.xlsx: cannot be read as Excel (File is not a zip file). Check that the "
                "file is complete, may be read, and is what its name says."
            ),
        ),
    ),
    Case(
        name="a Stata file that is none",
        files={"persons.dta": b"household_id,relate"},
        arguments=("schema.yaml", "households.csv", "persons.dta"),
        says=(
            (
                "persons.dta: cannot be read as Stata (Invalid file, or file has unsupported "
                "features). Check that the file is complete, may be read, and is what its name "
                "says."
            ),
        ),
    ),
    Case(
        name="the two files swapped",
        arguments=("schema.yaml", "persons.csv", "households.csv"),
        says=(
            (
                "the tables: households and persons seem to be swapped: each has the columns of "
                "the other. Exchange the two."
            ),
        ),
    ),
    Case(
        name="a file on another machine",
        arguments=("schema.yaml", "households.csv", "s3a://bucket/persons.parquet"),
        heading=None,
        says=(
            (
                "s3a://bucket/persons.parquet: is not on this machine. Copy it here, or mount it, "
                "and name the file."
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
    Case(
        name="a household that breaks a rule: `never: [veh = none and sex = male]`",
        files={"schema.yaml": SCHEMA + "never: [veh = none and sex = male]\n"},
        says=(
            (
                "persons.csv, line 5, never[0]: household 902 breaks the rule 'veh = none and "
                "sex = male'. Mend the data or the rule, or leave such groups out: "
                "`on_violation: drop`."
            ),
        ),
    ),
    Case(
        name="a column that the members contradict: `derived: count(sex = female)`",
        files={
            "schema.yaml": swap(
                SCHEMA, ("one, more]}", "one, more], derived: count(sex = female)}")
            )
        },
        says=(
            (
                "households.csv, line 2, column veh: it is 1, and 'count(sex = female)' of the "
                "members is 2 (2 such groups: 901, 903). Mend the column or the formula; with "
                "`derived: true`, nobody looks."
            ),
        ),
    ),
]
