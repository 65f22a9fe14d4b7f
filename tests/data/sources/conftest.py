"""Small files in the layouts that IPUMS USA and the Census Bureau deliver."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

Row = Mapping[str, int | str]

COMMON = {"YEAR": 4, "SAMPLE": 6, "SERIAL": 8}
HOUSEHOLD = {
    "CBSERIAL": 13,
    "HHWT": 10,
    "CLUSTER": 13,
    "STATEFIP": 2,
    "COUNTYFIP": 3,
    "METRO": 1,
    "STRATA": 12,
    "GQ": 1,
    "FARM": 1,
    "OWNERSHP": 1,
    "OWNERSHPD": 2,
    "FARMPROD": 1,
    "ACREHOUS": 1,
    "FOODSTMP": 1,
    "ROOMS": 2,
    "BUILTYR2": 2,
    "MULTGEN": 1,
    "MULTGEND": 2,
}
PERSON = {
    "PERNUM": 4,
    "PERWT": 10,
    "SFRELATE": 1,
    "RELATE": 2,
    "RELATED": 4,
    "SEX": 1,
    "AGE": 3,
    "MARST": 1,
    "RACE": 1,
    "RACED": 3,
    "HISPAN": 1,
    "HISPAND": 3,
    "CITIZEN": 1,
    "SCHOOL": 1,
    "EDUC": 2,
    "EDUCD": 3,
    "EMPSTAT": 1,
    "EMPSTATD": 2,
    "LOOKING": 1,
}
"""The widths of the variables, in the order in which IPUMS places them."""

DDI = """<?xml version="1.0" encoding="UTF-8"?>
<codeBook ID="ddi2-test-usa_00001.dat-usa.ipums.org" version="2.5" xmlns="ddi:codebook:2_5">
  <stdyDscr>
    <citation><serStmt>
      <serName abbr="{collection}">IPUMS USA</serName><serInfo>DOI:10.18128/D010.V13.0</serInfo>
    </serStmt></citation>
    <stdyInfo><notes>Additional notes on a sample that is part of this study:  2019 ACS</notes>
    </stdyInfo>
    <dataAccs><useStmt><citReq>Cite it.</citReq><conditions>For good.</conditions></useStmt>
    </dataAccs>
  </stdyDscr>
  <fileDscr ID="ExtractData"><fileTxt>
    <fileName>usa_00001.dat</fileName><fileCont>Microdata records</fileCont>
    {structure}
    <fileType charset="ISO-8859-1">ISO-8859-1 data file</fileType>
    <format>fixed length fields</format><filePlac>IPUMS</filePlac>
  </fileTxt></fileDscr>
  <dataDscr>{variables}</dataDscr>
</codeBook>
"""
VARIABLE = """
    <var ID="{name}" dcml="{decimals}" files="ExtractData" intrvl="discrete" name="{name}"{kinds}>
      <location EndPos="{end}" StartPos="{start}" width="{width}"/>
      <labl>{name}</labl><txt>About {name}.</txt>
      <catgry><catValu>{value}</catValu><labl>N/A</labl></catgry>
      <concept vocab="IPUMS">Variables</concept><varFormat schema="other" type="{form}"/>
    </var>"""
HIERARCHICAL = """<fileStrc type="hierarchical">
      <recGrp keyvar="SERIAL" recidvar="RECTYPE" rectype="P"><labl>Person Record</labl></recGrp>
      <recGrp recidvar="RECTYPE" rectype="H"><labl>Household Record</labl></recGrp>
    </fileStrc>"""

HOMES: Sequence[Row] = (
    # Three generations in Brooklyn, in more rooms than the schema tells apart.
    {"SERIAL": 17, "GQ": 1, "STATEFIP": 36, "COUNTYFIP": 47, "METRO": 2, "FARM": 1, "OWNERSHP": 1}
    | {"FARMPROD": 1, "ACREHOUS": 1, "FOODSTMP": 1, "ROOMS": 18, "BUILTYR2": 1, "MULTGEN": 3},
    # A student in a dormitory.
    {"SERIAL": 20, "GQ": 4, "STATEFIP": 36, "COUNTYFIP": 0, "METRO": 4, "FARM": 1, "OWNERSHP": 0}
    | {"FARMPROD": 0, "ACREHOUS": 0, "FOODSTMP": 1, "ROOMS": 0, "BUILTYR2": 0, "MULTGEN": 0},
    # Somebody alone on a farm in a county outside the list.
    {"SERIAL": 23, "GQ": 5, "STATEFIP": 36, "COUNTYFIP": 119, "METRO": 1, "FARM": 2, "OWNERSHP": 2}
    | {"FARMPROD": 6, "ACREHOUS": 2, "FOODSTMP": 2, "ROOMS": 4, "BUILTYR2": 24, "MULTGEN": 1},
    # A vacant unit.
    {"SERIAL": 29, "GQ": 0, "STATEFIP": 36, "COUNTYFIP": 47, "METRO": 2, "FARM": 1, "OWNERSHP": 0}
    | {"FARMPROD": 0, "ACREHOUS": 0, "FOODSTMP": 0, "ROOMS": 3, "BUILTYR2": 7, "MULTGEN": 0},
)
PEOPLE: Sequence[Row] = (
    {"SERIAL": 17, "PERNUM": 1, "SFRELATE": 0, "RELATE": 1, "SEX": 2, "AGE": 44, "MARST": 1}
    | {"RACE": 4, "HISPAN": 0, "CITIZEN": 2, "SCHOOL": 1, "EDUC": 11, "EMPSTAT": 1, "LOOKING": 3},
    {"SERIAL": 17, "PERNUM": 2, "SFRELATE": 0, "RELATE": 2, "SEX": 1, "AGE": 46, "MARST": 1}
    | {"RACE": 1, "HISPAN": 2, "CITIZEN": 0, "SCHOOL": 1, "EDUC": 6, "EMPSTAT": 3, "LOOKING": 1},
    {"SERIAL": 17, "PERNUM": 3, "SFRELATE": 0, "RELATE": 3, "SEX": 2, "AGE": 1, "MARST": 6}
    | {"RACE": 8, "HISPAN": 2, "CITIZEN": 0, "SCHOOL": 0, "EDUC": 0, "EMPSTAT": 0, "LOOKING": 0},
    {"SERIAL": 17, "PERNUM": 4, "SFRELATE": 0, "RELATE": 5, "SEX": 2, "AGE": 93, "MARST": 5}
    | {"RACE": 4, "HISPAN": 0, "CITIZEN": 3, "SCHOOL": 1, "EDUC": 1, "EMPSTAT": 3, "LOOKING": 1},
    {"SERIAL": 20, "PERNUM": 1, "SFRELATE": 0, "RELATE": 12, "SEX": 1, "AGE": 19, "MARST": 6}
    | {"RACE": 2, "HISPAN": 0, "CITIZEN": 0, "SCHOOL": 2, "EDUC": 7, "EMPSTAT": 2, "LOOKING": 2},
    {"SERIAL": 23, "PERNUM": 1, "SFRELATE": 0, "RELATE": 1, "SEX": 1, "AGE": 60, "MARST": 2}
    | {"RACE": 1, "HISPAN": 0, "CITIZEN": 0, "SCHOOL": 1, "EDUC": 8, "EMPSTAT": 1, "LOOKING": 0},
)
BASE: Row = {"YEAR": 2019, "SAMPLE": 201901}


def _line(row: Row, widths: Mapping[str, int]) -> str:
    return "".join(str(row.get(name, 0)).rjust(width, "0") for name, width in widths.items())


def _variable(name: str, start: int, width: int, kinds: str) -> str:
    return VARIABLE.format(
        name=name,
        start=start + 1,
        end=start + width,
        width=width,
        kinds=f' rectype="{kinds}"' if kinds else "",
        decimals=2 if name in ("HHWT", "PERWT") else 0,
        value="H" if name == "RECTYPE" else 0,
        form="character" if name == "RECTYPE" else "numeric",
    )


def _variables(widths: Mapping[str, int], kinds: Mapping[str, str], skip: Mapping[str, int]) -> str:
    found, at = [], 0
    for name, width in widths.items():
        if name not in skip:
            found.append(_variable(name, at, width, kinds.get(name, "")))
        at += width
    return "".join(found)


def _csv(path: Path, names: Sequence[str], rows: Sequence[Row], end: str, blank: str) -> Path:
    with gzip.open(path, "wt", newline="") as file:
        writer = csv.DictWriter(file, names, blank, "ignore", lineterminator=end)
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture
def ipums(tmp_path: Path) -> Callable[..., Path]:
    """Write an extract; say which kind, and what is different about it."""

    def write(
        kind: str = "rectangular",
        *,
        homes: Sequence[Row] = HOMES,
        people: Sequence[Row] = PEOPLE,
        without: Sequence[str] = (),
        collection: str = "usa",
        end: str = "\n",
    ) -> Path:
        by_serial = {(home.get("SAMPLE"), home["SERIAL"]): home for home in homes}
        full = [{**BASE, **by_serial[p.get("SAMPLE"), p["SERIAL"]], **p} for p in people]
        rectangular = {**COMMON, **HOUSEHOLD, **PERSON}
        if kind == "csv":
            names = [name for name in rectangular if name not in without]
            return _csv(tmp_path / "usa_00001.csv.gz", names, full, end, blank="0")
        if kind == "csv-hierarchical":
            rows = [{**BASE, **home, "RECTYPE": "H"} for home in homes]
            rows += [{**BASE, **person, "RECTYPE": "P"} for person in people]
            rows.sort(key=lambda row: int(row["SERIAL"]))
            names = ["RECTYPE", *rectangular]
            return _csv(tmp_path / "usa_00001.csv.gz", names, rows, end, blank="")
        skip = dict.fromkeys(without, 0)
        if kind == "rectangular":
            lines = [_line(row, rectangular) for row in full]
            structure, variables = (
                '<fileStrc type="rectangular"/>',
                _variables(rectangular, {}, skip),
            )
        else:
            shared = {"RECTYPE": 1, **COMMON}
            of_home, of_person = {**shared, **HOUSEHOLD}, {**shared, **PERSON}
            lines = []
            for home in homes:
                lines.append(_line({**BASE, **home, "RECTYPE": "H"}, of_home))
                lines += [
                    _line({**BASE, **person, "RECTYPE": "P"}, of_person)
                    for person in people
                    if person["SERIAL"] == home["SERIAL"]
                ]
            structure = HIERARCHICAL
            variables = _variables(
                of_home, dict.fromkeys(HOUSEHOLD, "H") | dict.fromkeys(shared, "H P"), skip
            ) + _variables(of_person, dict.fromkeys(PERSON, "P"), {**shared, **skip})
        (tmp_path / "usa_00001.xml").write_text(
            DDI.format(structure=structure, variables=variables, collection=collection)
        )
        path = tmp_path / "usa_00001.dat.gz"
        path.write_bytes(gzip.compress("".join(line + end for line in lines).encode()))
        return path

    return write


HOUSING_HEADER = (
    "RT,SERIALNO,DIVISION,PUMA,REGION,ST,WGTP,NP,TYPE,ACR,AGS,BDSP,FS,RMSP,TEN,YBL,MULTG"
)
HOUSING = (
    # A family of five in Queens; an Albany couple with a farm; a prison; a vacant unit.
    "H,2019HU0000017,2,04101,1,36,00095,05,1,1,,3,2,05,1,07,2",
    "H,2019HU0000023,2,02002,1,36,00120,02,1,3,4,4,1,17,3,23,1",
    "H,2019GQ0000031,2,00300,1,36,00000,01,2,,,,2,,,,",
    "H,2019HU0000040,2,00300,1,36,00070,00,1,2,1,2,,04,,08,",
)
PEOPLE_HEADER = (
    "RT,SERIALNO,SPORDER,PUMA,ST,PWGTP,AGEP,CIT,NWLK,RELSHIPP,SCH,SCHL,SEX,ESR,HISP,MSP,"
    "RAC1P,RAC2P,RACNUM,SFN,SFR"
)
POPULATION = (
    "P,2019HU0000017,01,04101,36,00095,70,4,3,20,1,24,2,1,01,3,6,43,1,,",
    "P,2019HU0000017,02,04101,36,00101,40,1,2,25,1,16,2,6,01,1,6,48,1,1,2",
    "P,2019HU0000017,03,04101,36,00088,41,2,1,32,1,18,1,3,03,1,9,68,3,1,2",
    "P,2019HU0000017,04,04101,36,00077,02,1,,30,,,1,,24,,9,68,2,1,4",
    "P,2019HU0000017,05,04101,36,00077,15,3,,30,2,11,2,,04,6,8,67,1,1,4",
    "P,2019HU0000023,01,02002,36,00120,61,5,3,20,3,21,1,4,02,2,1,1,1,,",
    "P,2019HU0000023,02,02002,36,00119,58,1,2,24,1,01,1,2,01,4,3,9,1,,",
    "P,2019GQ0000031,01,00300,36,00050,33,1,2,37,1,14,1,6,01,5,2,2,1,,",
)


@pytest.fixture
def pums(tmp_path: Path) -> Callable[..., tuple[Path, Path]]:
    """Write a housing and a person file."""

    def write(
        *,
        housing: Sequence[str] = (HOUSING_HEADER, *HOUSING),
        people: Sequence[str] = (PEOPLE_HEADER, *POPULATION),
    ) -> tuple[Path, Path]:
        paths = tmp_path / "psam_h36.csv", tmp_path / "psam_p36.csv"
        for path, lines in zip(paths, (housing, people), strict=True):
            path.write_text("\n".join(lines) + "\n")
        return paths

    return write
