"""The codebook: all of it from the schema and the certificate, escaped, and in DDI's order."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from data.labelled import LABELLED
from evaluate.hostile import CLOSING, QUOTES, SCRIPT, TABLE
from homes import homes
from kinfolk.cli.main import run
from kinfolk.datasets import load_schema
from kinfolk.release.codebook import DDI, NAMESPACE, PAGE, Codebook
from kinfolk.schema import Categorical, GroupTable, Schema
from release.small import synthesizer

CERTIFICATE: dict[str, Any] = {
    "private": True,
    "epsilon": 1.0,
    "delta": 1e-9,
    "unit_name": "home",
    "warnings": [],
    "protects": "everything about a home",
    "neighbours": "add-remove",
    "difference": "one home more or less",
    "public": ["the maximum size, 3"],
    "rules": {"never": list(LABELLED.never)},
    "domain": "declared",
    "rho": "1",
    "spent": "1",
    "spends": [],
    "accounting": "gaussian",
    "torn": "0",
    "ledger": {"rho": "1", "release": 1},
    "versions": {"kinfolk": "0.1.0"},
    "release": {},
    "run": {},
}


def book(schema: Schema = LABELLED, **stated: Any) -> Codebook:
    files = {name: f"{name}.csv" for name in schema.table_names}
    rows = dict(zip(schema.table_names, (10, 25), strict=True))
    return Codebook.of(schema, {**CERTIFICATE, **stated}, files=files, rows=rows)


class Ddi:
    """The elements of a document, by paths without the namespace."""

    def __init__(self, text: str) -> None:
        self.root = ElementTree.fromstring(text)  # noqa: S314  (our own)

    def all(self, path: str, of: ElementTree.Element | None = None) -> list[ElementTree.Element]:
        full = "/".join(f"{{{NAMESPACE}}}{part}" for part in path.split("/"))
        return (self.root if of is None else of).findall(full)

    def texts(self, path: str, of: ElementTree.Element | None = None) -> list[str | None]:
        return [one.text for one in self.all(path, of)]

    def variable(self, name: str) -> ElementTree.Element:
        (found,) = [one for one in self.all("dataDscr/var") if one.get("name") == name]
        return found


@pytest.fixture(scope="module")
def ddi() -> Ddi:
    return Ddi(book().ddi())


def test_files_and_columns(ddi: Ddi) -> None:
    assert ddi.root.tag == f"{{{NAMESPACE}}}codeBook"
    assert ddi.root.get("version") == "2.5"
    assert ddi.texts("fileDscr/fileTxt/fileName") == ["homes.csv", "people.csv"]
    assert ddi.texts("fileDscr/fileTxt/dimensns/caseQnty") == ["10", "25"]
    files = [one.get("ID") for one in ddi.all("fileDscr")]
    named = [(one.get("name"), one.get("files")) for one in ddi.all("dataDscr/var")]
    homes, people = list(LABELLED.group_attributes), list(LABELLED.individual_attributes)
    assert named == [
        *((name, files[0]) for name in ["hid", *homes]),
        *((name, files[1]) for name in ["hid", "rel", *people]),
    ]
    identities = [one.get("ID") for one in ddi.all("dataDscr/var")]
    assert len(set(identities + files)) == len(identities) + len(files)


def test_what_a_category_is(ddi: Ddi) -> None:
    tenure = ddi.variable("tenure")
    assert ddi.texts("labl", tenure) == ["How the home is held"]
    assert ddi.texts("catgry/catValu", tenure) == ["1", "2", "3"]
    assert ddi.texts("catgry/labl", tenure) == ["owned", "rented", "free of charge", "missing"]
    assert [one.get("missing") for one in ddi.all("catgry", tenure)] == [None, None, None, "Y"]
    role = ddi.variable("rel")
    assert ddi.texts("catgry/catValu", role) == ["0", "1"]
    assert ddi.texts("catgry/labl", role) == ["head", "child"]
    assert ddi.all("varFormat", ddi.variable("region"))[0].get("type") == "character"


def test_what_a_number_is(ddi: Ddi) -> None:
    income = ddi.variable("income")
    assert (income.get("intrvl"), income.get("dcml")) == ("contin", "2")
    (limits,) = ddi.all("valrng/range", income)
    assert (limits.get("min"), limits.get("max")) == ("0", "1000")
    assert ddi.texts("catgry/catValu", income) == ["-9"]
    assert ddi.texts("catgry/labl", income) == ["refused"]
    bins = [one.text for one in ddi.all("notes", income) if one.get("type") == "bin"]
    assert bins == ["low", "high"]


def test_who_was_asked_how_it_is_computed_and_what_cannot_be(ddi: Ddi) -> None:
    marital = ddi.variable("marital")
    assert ddi.texts("universe", marital) == ["All people with age >= 16"]
    assert ddi.texts("universe", ddi.variable("age")) == ["All people"]
    assert ddi.texts("derivation/drvcmd", ddi.variable("people")) == ["count"]
    rules = [one.text for one in ddi.all("notes", marital) if one.get("type") == "never"]
    assert rules == [LABELLED.never[0], LABELLED.never[2]]
    assert ddi.texts("stdyDscr/stdyInfo/notes") == list(LABELLED.never)


def test_the_promise_is_in_it(ddi: Ddi) -> None:
    notes = ddi.all("stdyDscr/dataAccs/notes")
    said = {one.get("subject"): one.text for one in notes}
    assert said["Promise"] == "epsilon = 1, delta = 1e-09, for one home"
    assert said["Protects"] == "everything about a home"
    assert "Never" not in said, "rules are listed elsewhere"
    assert {one.get("type") for one in notes} == {"privacy"}
    assert not ddi.all("stdyDscr/dataAccs/useStmt/disclaimer")
    seeded = book(private=False)
    warned = Ddi(seeded.ddi()).texts("stdyDscr/dataAccs/useStmt/disclaimer")
    assert [str(text).startswith("NOT PRIVATE") for text in warned] == [True]
    assert "NOT PRIVATE" in seeded.html()
    assert "NOT PRIVATE" not in book().html()


CONTENT = {
    "codeBook": "docDscr* stdyDscr* fileDscr* dataDscr* otherMat*",
    "docDscr": "citation guide docStatus docSrc* controlledVocabUsed* notes*",
    "citation": "titlStmt rspStmt prodStmt distStmt serStmt* verStmt* biblCit* holdings* notes*",
    "titlStmt": "titl subTitl* altTitl* parTitl* IDNo*",
    "prodStmt": "producer* copyright prodDate* prodPlac* software* fundAg* grantNo*",
    "stdyDscr": "citation* studyAuthorization* stdyInfo* studyDevelopment* method* dataAccs* "
    "othrStdyMat* notes*",
    "stdyInfo": "studyBudget* subject* abstract* sumDscr* qualityStatement notes* "
    "exPostEvaluation*",
    "sumDscr": "timePrd* collDate* nation* geogCover* geogUnit* geoBndBox* boundPoly* anlyUnit* "
    "universe* dataKind*",
    "dataAccs": "setAvail* useStmt* notes*",
    "useStmt": "confDec specPerm restrctn contact* citReq deposReq conditions disclaimer",
    "fileDscr": "fileTxt* locMap notes*",
    "fileTxt": "fileName fileCitation dataFingerprint* fileCont fileStrc dimensns fileType format "
    "filePlac dataChck* ProcStat dataMsng software* verStmt*",
    "dimensns": "caseQnty* varQnty* logRecL* recPrCas* recNumTot*",
    "dataDscr": "varGrp* nCubeGrp* var* nCube* notes*",
    "var": "location* labl* imputation security embargo respUnit anlysUnit qstn* valrng* "
    "invalrng* undocCod* universe* TotlResp sumStat* txt* stdCatgry* catgryGrp* catgry* codInstr* "
    "verStmt* concept* derivation varFormat geoMap* catLevel* notes*",
    "valrng": "range*",
    "catgry": "catValu labl* txt* catStat* mrow",
    "derivation": "drvdesc* drvcmd*",
}
"""What an element holds, in this order, by the standard's schema: once, or (*) any number."""
ATTRIBUTES = {
    "codeBook": {"version": r"2\.5", "schemaLocation": r"ddi:codebook:2_5 \S+"},
    "software": {"version": r".+"},
    "fileDscr": {"ID": r"[A-Z]\d+"},
    "notes": {"type": r".+", "subject": r".+"},
    "var": {
        "ID": r"[A-Z]\d+",
        "name": r"(?s).+",
        "files": r"F\d+",
        "wgt": r"wgt|not-wgt",
        "dcml": r"\d+",
        "intrvl": r"contin|discrete",
    },
    "range": {"UNITS": r"INT|REAL", "min": r"-?[\d.e+]+", "max": r"-?[\d.e+]+"},
    "catgry": {"missing": r"Y|N"},
    "varFormat": {"type": r"numeric|character"},
}
"""What attributes an element may have here, and what may stand in them."""


@pytest.mark.parametrize("schema", [LABELLED, load_schema("detroit"), load_schema("acs")])
def test_elements_are_as_the_schema_of_the_standard_wants_them(schema: Schema) -> None:
    """The order and number of elements, their attributes, and identities that are unique."""
    found = Ddi(book(schema, private=False).ddi())
    identities: list[str] = []
    for element in found.root.iter():
        name = element.tag.rpartition("}")[2]
        held = [child.tag.rpartition("}")[2] for child in element]
        allowed = CONTENT.get(name, "").split()
        order = [one.rstrip("*") for one in allowed]
        assert set(held) <= set(order), name
        assert held == sorted(held, key=order.index), name
        assert all(held.count(one) <= 1 for one in allowed if not one.endswith("*")), name
        assert element.text is None or not element.text.strip() or not held, "text or elements"
        for attribute, value in element.items():
            pattern = ATTRIBUTES.get(name, {})[attribute.rpartition("}")[2]]
            assert re.fullmatch(pattern, value), (name, attribute, value)
        identities += [value for key, value in element.items() if key == "ID"]
    assert len(set(identities)) == len(identities)
    assert {one.get("files") for one in found.all("dataDscr/var")} <= set(identities)
    assert all(one.get("name") for one in found.all("dataDscr/var"))
    assert found.texts("docDscr/citation/titlStmt/titl")
    assert found.texts("stdyDscr/citation/titlStmt/titl")


class Page(HTMLParser):
    """The elements and the text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += f" {data}"


def test_the_page_says_the_same() -> None:
    text = " ".join(Page(book().html()).text.split())
    for said in (
        "Marital status <&>", "people with age >= 16", "free of charge", "(blank) missing",
        "-9 refused", "Computed count", "epsilon = 1, delta = 1e-09, for one home",
        "child.age > head.age - 12", "0 to 1000, with 2 decimals", "people.csv", "25 rows",
    ):  # fmt: skip
        assert said in text


WEIGHTED = Schema.from_text("""
group:
  table: homes
  id: hid
  attributes: {w: {bins: [0.5, 100, 900.5], decimals: 1}}
  weight: w
individual:
  table: people
  group_id: hid
  attributes: {age: {bins: [0, 16, 85, 85.5], integer: true}}
max_size: 2
workload: {k: 1}
""")


def test_whole_numbers_end_where_one_can_be() -> None:
    """85.5 is only where the bin of those aged 85 ends; weights may well be 900.5."""
    ddi = Ddi(book(WEIGHTED).ddi())
    for name, ends in (("age", ("0", "85")), ("w", ("0.5", "900.5"))):
        (limits,) = ddi.all("valrng/range", ddi.variable(name))
        assert (limits.get("min"), limits.get("max")) == ends
    assert "0 to 85, with 0 decimals" in book(WEIGHTED).html()


def test_both_say_which_column_is_the_weight() -> None:
    ddi = Ddi(book(WEIGHTED).ddi())
    assert [one.get("name") for one in ddi.all("dataDscr/var") if one.get("wgt")] == ["w"]
    assert "how many homes of the population one stands for" in book(WEIGHTED).html()
    assert "of the population" not in book().html()


def test_a_value_that_is_its_own_label_is_said_once() -> None:
    schema = Schema.from_text(
        "{individual: {table: p, attributes: {region: {values: [north, south]}}}, max_size: 1}"
    )
    files, rows = {"p": "p.csv"}, {"p": 25}
    found = Codebook.of(schema, CERTIFICATE, files=files, rows=rows)
    text = " ".join(Page(found.html()).text.split())
    assert "Values north south" in text


def test_whatever_names_hold_is_escaped() -> None:
    odd = Categorical(values=[1, 2], labels=[CLOSING, QUOTES], title=SCRIPT)
    group = GroupTable(table=TABLE, id="id\x00", attributes={QUOTES: odd})
    found = book(replace(LABELLED, group=group, never=()))
    page = Page(found.html())
    assert set(page.elements) <= set(Page(book().html()).elements)
    assert "script" not in page.elements
    for text in (SCRIPT, CLOSING, QUOTES, TABLE):
        assert text in page.text
    named = [one.get("name") for one in Ddi(found.ddi()).all("dataDscr/var")]
    assert named[:2] == ["id\ufffd", QUOTES]


def test_it_stands_beside_every_release(tmp_path: Path) -> None:
    maker = synthesizer().fit(homes())
    maker.save(tmp_path / "model")
    out = tmp_path / "out"
    command = ["sample", str(tmp_path / "model"), "--groups", "20", "-o", str(out)]
    assert run(command) == 0
    found = Ddi((out / DDI).read_text(encoding="utf-8"))
    names = maker.schema.table_names
    assert found.texts("fileDscr/fileTxt/fileName") == [f"{name}.csv" for name in names]
    assert found.texts("fileDscr/fileTxt/dimensns/caseQnty")[0] == "20"
    assert "NOT PRIVATE" in (out / PAGE).read_text(encoding="utf-8")
    for name in names:
        (out / f"{name}.csv").unlink()
    (out / "privacy.json").unlink()
    assert run(command) == 2, "a codebook is not overwritten either"
