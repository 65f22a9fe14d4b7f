"""IPUMS extracts in every layout give the same, right tables; bad ones a clear message."""

from __future__ import annotations

import builtins
import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kinfolk.data.sources import ipums_variables, read_ipums
from kinfolk.errors import KinfolkError

Write = Callable[..., Path]

FAMILY = {
    "SERIAL": 17,
    "METRO": 2,
    "OWNERSHP": 1,
    "FARM": 1,
    "COUNTYFIP": 47,
    "FARMPROD": 1,
    "ACREHOUS": 1,
    "ROOMS": 14,
    "BUILTYR2": 1,
    "FOODSTMP": 1,
    "MULTGEN": 3,
}
FARMER = {
    "SERIAL": 23,
    "METRO": 1,
    "OWNERSHP": 2,
    "FARM": 2,
    "COUNTYFIP": 0,
    "FARMPROD": 6,
    "ACREHOUS": 2,
    "ROOMS": 4,
    "BUILTYR2": 24,
    "FOODSTMP": 2,
    "MULTGEN": 1,
}
BABY = {
    "SERIAL": 17,
    "SFRELATE": 0,
    "SEX": 2,
    "MARST": 6,
    "RACE": 8,
    "HISPAN": 2,
    "CITIZEN": 0,
    "EDUC": 0,
    "SCHOOL": 0,
    "EMPSTAT": 0,
    "LOOKING": 0,
    "AGE": 1,
}


@pytest.mark.parametrize("kind", ["rectangular", "hierarchical", "csv", "csv-hierarchical"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_every_layout_gives_the_same_tables(ipums: Write, kind: str, end: str) -> None:
    read = read_ipums(ipums(kind, end=end))
    assert list(read.tables) == ["households", "persons"]
    assert read.tables["households"].to_pylist() == [FAMILY, FARMER]
    people = read.tables["persons"].to_pylist()
    assert [person["AGE"] for person in people] == [44, 46, 1, 93, 60]
    assert people[2] == BABY
    assert "people in group quarters (GQ 3 and 4) left out: 1." in read.notes
    assert any("does not list: 1." in note for note in read.notes)
    assert ("vacant units left out: 1." in read.notes) == kind.endswith("hierarchical")


def test_group_quarters_can_stay(ipums: Write) -> None:
    read = read_ipums(ipums("hierarchical"), group_quarters=True)
    assert read.tables["households"]["SERIAL"].to_pylist() == [17, 20, 23]
    assert read.tables["households"]["OWNERSHP"].to_pylist() == [1, 0, 2]
    assert len(read.tables["persons"]) == 6


def test_reduced_categories_are_merged(ipums: Write) -> None:
    tables = read_ipums(ipums(), target="acs-red").tables
    assert tables["households"].column_names == ["SERIAL", "METRO", "OWNERSHP", "FARM", "FOODSTMP"]
    assert tables["persons"].to_pydict() == {
        "SERIAL": [17, 17, 17, 17, 23],
        "SEX": [2, 1, 2, 2, 1],
        "AGE": [44, 46, 1, 93, 60],
        "EMPSTAT": [1, 2, 2, 2, 1],
        "MARST": [1, 1, 2, 2, 1],
    }


def test_relationships_keep_the_role_column(ipums: Write) -> None:
    persons = read_ipums(ipums("hierarchical"), target="acs-rel").tables["persons"]
    assert persons["RELATE"].to_pylist() == [1, 2, 3, 5, 1]
    with pytest.raises(KinfolkError, match="group quarters cannot be kept for acs-rel"):
        read_ipums(ipums(), target="acs-rel", group_quarters=True)


def test_the_codebook_leads_to_the_data(ipums: Write) -> None:
    path = ipums()
    beside = read_ipums(path.with_name("usa_00001.xml")).tables
    assert beside["persons"].equals(read_ipums(path).tables["persons"])
    other = path.with_name("codes.xml")
    path.with_name("usa_00001.xml").rename(other)
    assert read_ipums(path, ddi=other).tables["persons"].equals(beside["persons"])


def test_household_numbers_repeat_from_sample_to_sample(ipums: Write) -> None:
    homes = [
        {"SERIAL": 1, "GQ": 1, "SAMPLE": s, "FARM": 1, "FOODSTMP": 1} for s in (201801, 201901)
    ]
    people = [
        {"SERIAL": 1, "SAMPLE": home["SAMPLE"], "SEX": 1, "MARST": 6, "AGE": 30} for home in homes
    ]
    read = read_ipums(ipums("csv", homes=homes, people=people), target="acs-red")
    assert read.tables["households"]["SERIAL"].to_pylist() == [201801000000001, 201901000000001]
    assert "201801 and 201901" in read.notes[0]


def test_counties_of_other_states_are_not_mistaken_for_those_of_new_york(ipums: Write) -> None:
    home = {**FAMILY, "GQ": 1, "STATEFIP": 6, "COUNTYFIP": 1}
    path = ipums(homes=[home], people=[{**BABY, "RELATE": 1}])
    assert read_ipums(path).tables["households"]["COUNTYFIP"].to_pylist() == [0]


def test_the_variables_to_tick() -> None:
    assert set(ipums_variables("acs")) - set(FAMILY) - set(BABY) == {"STATEFIP"}
    assert ipums_variables("acs-rel")[-1] == "RELATE"


@pytest.mark.parametrize("kind", ["rectangular", "hierarchical", "csv"])
def test_all_missing_variables_are_named_at_once(ipums: Write, kind: str) -> None:
    path = ipums(kind, without=["METRO", "GQ", "EDUC"])
    with pytest.raises(KinfolkError, match=r"lacks GQ, METRO and EDUC.*data cart"):
        read_ipums(path)


def test_unknown_codes_are_named_together(ipums: Write) -> None:
    path = ipums(homes=[{**FAMILY, "GQ": 1, "FOODSTMP": 0}], people=[{**BABY, "HISPAN": 9}])
    with pytest.raises(KinfolkError) as caught:
        read_ipums(path)
    assert "2 problems" in str(caught.value)
    assert "column FOODSTMP: the code 0 is not" in str(caught.value)
    assert "column HISPAN: the code 9 is not" in str(caught.value)
    assert "household 17" in str(caught.value)


def test_a_damaged_archive_is_recognised(ipums: Write) -> None:
    for kind in ("rectangular", "csv"):
        path = ipums(kind)
        path.write_bytes(path.read_bytes()[:-20])
        with pytest.raises(KinfolkError, match="is damaged or of another type"):
            read_ipums(path)


def test_a_cut_line_is_named(ipums: Write) -> None:
    path = ipums()
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes())[:-40]))
    with pytest.raises(KinfolkError, match=r"line 6: it has \d+ characters.*cut off"):
        read_ipums(path)


def test_a_codebook_of_another_extract_is_recognised(ipums: Write) -> None:
    path = ipums()
    codebook = path.with_name("usa_00001.xml")
    text = codebook.read_text()
    codebook.write_text(text.replace('name="STATEFIP"', 'name="X"').replace('"GQ"', '"Y"'))
    with pytest.raises(KinfolkError, match="lacks GQ and STATEFIP"):
        read_ipums(path)
    path.write_bytes(gzip.compress(b"x" * 400 + b"\n"))
    codebook.write_text(text)
    with pytest.raises(KinfolkError, match=r"line 1: .* is 'x+', which is not a number"):
        read_ipums(path)


@pytest.mark.parametrize("text", ["<codeBook", "<html><body/></html>", ""])
def test_what_is_no_codebook_is_recognised(ipums: Write, text: str) -> None:
    path = ipums()
    path.with_name("usa_00001.xml").write_text(text)
    with pytest.raises(KinfolkError, match="not a codebook"):
        read_ipums(path)


def test_other_collections_are_refused(ipums: Write) -> None:
    with pytest.raises(KinfolkError, match="collection 'cps'"):
        read_ipums(ipums(collection="cps"))


def test_files_that_do_not_fit_are_refused(ipums: Write, tmp_path: Path) -> None:
    path = ipums()
    cases = {
        tmp_path / "none.csv": "no such file",
        tmp_path / "usa.sav": "file type is unknown",
        tmp_path / "none.dat.gz": "needs its codebook",
        tmp_path / "lonely.xml": "no data file lies beside it",
    }
    for file, message in cases.items():
        with pytest.raises(KinfolkError, match=message):
            read_ipums(file)
    with pytest.raises(KinfolkError, match="'acs-full' is unknown"):
        read_ipums(path, target="acs-full")
    with pytest.raises(KinfolkError, match="'afst' has no public source"):
        read_ipums(path, target="afst")
    path.write_bytes(gzip.compress(b"\n"))
    with pytest.raises(KinfolkError, match="the file is empty"):
        read_ipums(path)


def test_text_where_a_code_belongs_is_named(ipums: Write, tmp_path: Path) -> None:
    path = tmp_path / "usa.csv"
    text = gzip.decompress(ipums("csv").read_bytes()).decode()
    lines = text.splitlines()
    path.write_text("\n".join([lines[0].lower(), lines[1].replace("2019,201901", "2019,one")]))
    with pytest.raises(KinfolkError, match=re.escape("usa.csv, column SAMPLE, line 2: 'one'")):
        read_ipums(path)


def test_without_ipumspy_the_message_says_how_to_install_it(
    ipums: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = builtins.__import__

    def hide(name: str, *rest: Any, **options: Any) -> Any:
        if name.startswith("ipumspy"):
            raise ImportError(name)
        return found(name, *rest, **options)

    path = ipums()
    monkeypatch.setattr(builtins, "__import__", hide)
    with pytest.raises(KinfolkError, match=re.escape("pip install 'kinfolk[ipums]'")):
        read_ipums(path)
