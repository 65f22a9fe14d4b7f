"""Problems are collected: one run shows all there is to mend, and none of its consequences."""

from pathlib import Path

import pytest

from bad_input.cases import SCHEMA, swap
from bad_input.making import write
from kinfolk.cli.main import run
from kinfolk.data.encode import encode
from kinfolk.errors import DataError, SchemaError
from kinfolk.schema import Schema

HOUSEHOLDS = """\
household_id,veh,rent
901,1,750
902,7,0
903,2,9999
904,1,300
904,1,300
,1,300
905,1,
"""

PERSONS = """\
household_id,relate,sex,age
901,0,female,41
901,1,male,43.5
901,1,female,9
902,2,male,seven
903,0,,33
906,0,male,35
904,0,male,35
"""

TEN = [
    "households.csv, line 7, column household_id: the id is blank. Every row needs one.",
    "households.csv, line 6, column household_id: the id 904 already stands in line 5. "
    "Give every group one row and one id.",
    "persons.csv, line 7, column household_id: 906 is not in households.csv. "
    "Add the group or drop the person.",
    "households.csv, line 8, column household_id: 905 has nobody in persons.csv. "
    "Add its members or drop the group; groups without members are not supported.",
    "households.csv, line 3, column veh: '7' is not among the declared values 0, 1, 2. "
    "Correct the rows, or add the value to the schema.",
    "households.csv, line 4, column rent: '9999' lies outside the bins 0 to 5000. "
    "Correct it, or widen the bins.",
    "households.csv, line 8, column rent: the cell is blank. "
    "Fill it in, or declare `missing: true`.",
    "persons.csv, line 6, column sex: the cell is blank. Fill it in, or declare `missing: true`.",
    "persons.csv, line 5, column age: 'seven' is not a number. "
    "Correct it, or leave it blank and set `missing: true`.",
    "persons.csv, line 3, column age: '43.5' is not a whole number. "
    "Correct it, or remove `integer: true`.",
    "households.csv, line 3, column household_id: 902 has no head. "
    "Every group needs at least 1; mend it or change the roles' min.",
    "households.csv, line 2, column household_id: 901 has 2 members with the role spouse. "
    "A role with max: 1 is unique; mend the group or raise max.",
]


def test_a_dozen_problems_in_two_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("schema.yaml", SCHEMA),
        ("households.csv", HOUSEHOLDS),
        ("persons.csv", PERSONS),
    ):
        write(Path(name), text)
    assert run(["validate", "schema.yaml", "households.csv", "persons.csv"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "kinfolk: the tables do not fit the schema: 12 problems"
    assert lines[1:] == [f"  - {line}" for line in TEN]


def test_one_unreadable_table_does_not_hide_the_other(tmp_path: Path) -> None:
    write(tmp_path / "persons.csv", "household_id,relate,sex,age\n901,0,male,200\n")
    tables = {"households": tmp_path / "no.csv", "persons": tmp_path / "persons.csv"}
    with pytest.raises(DataError) as caught:
        encode(Schema.from_text(SCHEMA), tables)
    assert [problem.what for problem in caught.value.problems] == [
        "there is no such file.",
        "'200' lies outside the bins 0 to 120.",
    ]


def test_mistakes_all_over_the_schema() -> None:
    text = swap(
        SCHEMA,
        ("group:\n", "grup:\n"),
        ("[male, female]", "[male, male]"),
        ("[0, 18, 65, 120]", "[0, 65, 18, 120]"),
        ("max_size: 4", "max_size: four"),
        ("oversize: drop", "oversize: frist"),
        ("{values: [1], min: 0, max: 1}", "{min: 0, max: 1}"),
        ("[spouse, head]", "[spouse, boss]"),
        ("k: 2", "k: two"),
    )
    with pytest.raises(SchemaError) as caught:
        Schema.from_text(text, name="schema.yaml")
    assert [problem.where for problem in caught.value.problems] == [
        "grup",
        "individual.attributes.sex.values[1]",
        "individual.attributes.age.bins[2]",
        "roles.spouse.values",
        "workload.k",
        "max_size",
        "oversize",
        "relations.married_to[1]",
    ]


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("  attributes:\n    sex", "  atributes:\n    sex", "individual.atributes"),
        ("individual:\n", "individuals:\n", "individuals"),
        ("group:\n", "groups:\n", "groups"),
        ("roles:\n", "rolls:\n", "rolls"),
        ("relations:\n", "relation:\n", "relation"),
        ("  column: relate", "  colum: relate", "roles.colum"),
        ("{values: [1], min: 0", "{valeus: [1], min: 0", "roles.spouse.valeus"),
    ],
)
def test_a_misspelt_key_is_one_mistake(old: str, new: str, where: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.from_text(swap(SCHEMA, (old, new)))
    assert [problem.where for problem in caught.value.problems] == [where]
