"""Census PUMS files give IPUMS codes; what they do not tell is said."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from kinfolk.data.sources import read_pums
from kinfolk.errors import KinfolkError

Write = Callable[..., tuple[Path, Path]]


def test_households_by_hand(pums: Write) -> None:
    read = read_pums(*pums())
    assert read.tables["households"].to_pydict() == {
        "SERIAL": ["2019HU0000017", "2019HU0000023"],
        "METRO": [0, 0],
        "OWNERSHP": [1, 2],
        "FARM": [1, 2],
        "COUNTYFIP": [0, 0],
        "FARMPROD": [0, 4],
        "ACREHOUS": [1, 2],
        "ROOMS": [5, 14],
        "BUILTYR2": [7, 24],
        "FOODSTMP": [1, 2],
        "MULTGEN": [3, 1],
    }
    assert read.notes[:2] == ("vacant units left out: 1.", "people in group quarters left out: 1.")
    assert [note.split(":")[0] for note in read.notes[2:]] == ["METRO", "COUNTYFIP", "FARM"]


def test_people_by_hand(pums: Write) -> None:
    persons = read_pums(*pums()).tables["persons"].to_pydict()
    assert persons == {
        "SERIAL": ["2019HU0000017"] * 5 + ["2019HU0000023"] * 2,
        "SFRELATE": [0, 1, 2, 3, 3, 0, 0],
        "SEX": [2, 2, 1, 1, 2, 1, 1],
        "MARST": [5, 1, 1, 6, 6, 2, 4],
        "RACE": [4, 5, 9, 8, 7, 1, 3],
        "HISPAN": [0, 0, 2, 4, 3, 1, 0],
        "CITIZEN": [2, 0, 0, 0, 1, 3, 0],
        "EDUC": [11, 6, 6, 0, 2, 10, 0],
        "SCHOOL": [1, 1, 1, 0, 2, 2, 1],
        "EMPSTAT": [1, 3, 2, 0, 0, 1, 1],
        "LOOKING": [3, 1, 2, 0, 0, 3, 1],
        "AGE": [70, 40, 41, 2, 15, 61, 58],
    }


def test_reduced_and_relationships(pums: Write) -> None:
    files = pums()
    reduced = read_pums(*files, target="acs-red").tables["persons"]
    assert reduced["EMPSTAT"].to_pylist() == [1, 2, 2, 2, 2, 1, 1]
    assert reduced["MARST"].to_pylist() == [2, 1, 1, 2, 2, 1, 2]
    related = read_pums(*files, target="acs-rel").tables["persons"]
    assert related["RELATE"].to_pylist() == [1, 3, 4, 9, 9, 1, 11]


def test_group_quarters_can_stay(pums: Write) -> None:
    tables = read_pums(*pums(), group_quarters=True).tables
    prison = tables["households"].to_pylist()[2]
    assert prison == {
        "SERIAL": "2019GQ0000031",
        "METRO": 0,
        "OWNERSHP": 0,
        "FARM": 1,
        "COUNTYFIP": 0,
        "FARMPROD": 0,
        "ACREHOUS": 0,
        "ROOMS": 0,
        "BUILTYR2": 0,
        "FOODSTMP": 1,
        "MULTGEN": 0,
    }
    assert tables["persons"]["MARST"].to_pylist()[-1] == 3


def test_the_older_relationship_column_and_the_newer_building_column(pums: Write) -> None:
    housing, people = pums()
    text = people.read_text().replace("RELSHIPP", "RELP")
    for new, old in (
        ("20", "0"),
        ("25", "2"),
        ("32", "9"),
        ("30", "7"),
        ("24", "13"),
        ("37", "16"),
    ):
        text = "\n".join(
            ",".join(
                old if i == 9 and cell == new else cell for i, cell in enumerate(line.split(","))
            )
            for line in text.splitlines()
        )
    people.write_text(text + "\n")
    lines = housing.read_text().replace("YBL", "YRBLT").replace("TYPE", "TYPEHUGQ")
    housing.write_text(lines.replace(",07,2", ",1990,2").replace(",23,1", ",2010,1"))
    read = read_pums(housing, people, target="acs-rel")
    assert read.tables["persons"]["RELATE"].to_pylist() == [1, 3, 4, 9, 9, 1, 11]
    assert read.tables["households"]["BUILTYR2"].to_pylist() == [7, 15]
    assert read.notes[-1].startswith("BUILTYR2: since 2021")


def test_counties_come_from_a_crosswalk(pums: Write, tmp_path: Path) -> None:
    files = pums()
    known = read_pums(*files, county_crosswalk="ny-2010")
    assert known.tables["households"]["COUNTYFIP"].to_pylist() == [81, 1]
    assert not any(note.startswith("COUNTYFIP") for note in known.notes)
    crosswalk = tmp_path / "puma_county.csv"
    # The second PUMA lies in two counties, so neither of them is identified; 119 is not listed.
    crosswalk.write_text("PUMA,COUNTYFIP\n04101,119\n02002,001\n02002,095\n")
    own = read_pums(*files, county_crosswalk=crosswalk)
    assert own.tables["households"]["COUNTYFIP"].to_pylist() == [0, 0]
    assert "does not list: 1." in own.notes[-1]
    crosswalk.write_text("PUMA,COUNTY\n04101,119\n")
    with pytest.raises(KinfolkError, match="lacks the column COUNTYFIP"):
        read_pums(*files, county_crosswalk=crosswalk)


def test_the_built_in_crosswalk_refuses_later_pumas(pums: Write) -> None:
    housing, people = pums()
    for path in (housing, people):
        path.write_text(path.read_text().replace("2019HU", "2022HU").replace("2019GQ", "2022GQ"))
    with pytest.raises(KinfolkError, match="but the survey is of 2022"):
        read_pums(housing, people, county_crosswalk="ny-2010")


def test_zipped_files_are_read(pums: Write, tmp_path: Path) -> None:
    housing, people = pums()
    archives = tmp_path / "csv_hny.zip", tmp_path / "csv_pny.zip"
    for archive, path in zip(archives, (housing, people), strict=True):
        with zipfile.ZipFile(archive, "w") as packed:
            packed.write(path, path.name)
            packed.writestr("ACS2019_PUMS_README.pdf", b"%PDF")
    plain = read_pums(housing, people).tables
    zipped = read_pums(*archives).tables
    assert all(zipped[name].equals(plain[name]) for name in plain)


def test_an_archive_of_several_files_is_read_whole(pums: Write, tmp_path: Path) -> None:
    housing, people = pums()
    header, *lines = housing.read_text().splitlines()
    both = tmp_path / "all.zip"
    with zipfile.ZipFile(both, "w") as packed:
        packed.writestr("psam_husa.csv", "\n".join([header, *lines[:1]]))
        packed.writestr("psam_husb.csv", "\n".join([header, *lines[1:]]))
        packed.write(people, "psam_p36.csv")
    assert (
        read_pums(both, both).tables["persons"].equals(read_pums(housing, people).tables["persons"])
    )


def test_what_is_wrong_is_said(pums: Write, tmp_path: Path) -> None:
    housing, people = pums()
    with pytest.raises(KinfolkError, match="this is a person file"):
        read_pums(people, people)
    with pytest.raises(KinfolkError, match="this is not a person file"):
        read_pums(housing, housing)
    with pytest.raises(KinfolkError, match="no such file"):
        read_pums(tmp_path / "none.csv", people)
    with pytest.raises(KinfolkError, match="this is a directory"):
        read_pums(tmp_path, people)
    with pytest.raises(KinfolkError, match="group quarters cannot be kept"):
        read_pums(housing, people, target="acs-rel", group_quarters=True)
    empty = tmp_path / "empty.zip"
    with zipfile.ZipFile(empty, "w") as packed:
        packed.writestr("readme.txt", "nothing")
    with pytest.raises(KinfolkError, match="there is no CSV file in it"):
        read_pums(empty, people)
    empty.write_bytes(b"PK no archive")
    with pytest.raises(KinfolkError, match="is damaged or of another type"):
        read_pums(empty, people)


def test_missing_columns_are_named_at_once(pums: Write) -> None:
    housing, people = pums()
    housing.write_text(housing.read_text().replace("YBL", "X1").replace("MULTG", "X2"))
    with pytest.raises(KinfolkError, match="lacks YBL or YRBLT and MULTG"):
        read_pums(housing, people)


def test_the_two_files_must_belong_together(pums: Write) -> None:
    housing, people = pums()
    lines = housing.read_text().splitlines()
    housing.write_text("\n".join(lines[:2]))
    with pytest.raises(KinfolkError, match=r"2019HU0000023 has no household.*3 of 8 people"):
        read_pums(housing, people)
    housing.write_text("\n".join([*lines, lines[1]]))
    with pytest.raises(KinfolkError, match="2019HU0000017 stands on more than one"):
        read_pums(housing, people)
    housing.write_text("\n".join([*lines, lines[1] + ",9"]))
    with pytest.raises(KinfolkError, match="cannot be read as CSV"):
        read_pums(housing, people)


def test_unknown_codes_are_named_together(pums: Write) -> None:
    housing, people = pums()
    housing.write_text(housing.read_text().replace(",1,07,2", ",9,07,2"))
    people.write_text(people.read_text().replace(",70,4,3,20,", ",70,,3,20,"))
    with pytest.raises(KinfolkError) as caught:
        read_pums(housing, people)
    assert "column TEN: the code 9 is not" in str(caught.value)
    assert "column CIT: the code blank is not" in str(caught.value)
