"""A codebook as an XML file of the Data Documentation Initiative, DDI-Codebook 2.5.

Archives and their catalogues read it. The order of elements is that of the standard's schema.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, register_namespace, tostring

import kinfolk
from kinfolk.template import printable

if TYPE_CHECKING:
    from kinfolk.release.codebook import Codebook, Table, Variable

NAMESPACE = "ddi:codebook:2_5"
LOCATION = "https://ddialliance.org/Specification/DDI-Codebook/2.5/XMLSchema/codebook.xsd"
_XSI = "http://www.w3.org/2001/XMLSchema-instance"

HOW = (
    "The data are synthetic. Noise was added to counts of the confidential data, a model was "
    "fitted to the noisy counts alone, and the records were drawn from the model. No record is "
    "that of anybody."
)
"""What the records are, for whoever has only these files."""


def ddi_text(book: Codebook) -> str:
    """The whole document."""
    register_namespace("", NAMESPACE)
    register_namespace("xsi", _XSI)
    root = Element(
        f"{{{NAMESPACE}}}codeBook",
        {"version": "2.5", f"{{{_XSI}}}schemaLocation": f"{NAMESPACE} {LOCATION}"},
    )
    _add(_path(root, "docDscr", "citation", "titlStmt"), "titl", f"Codebook: {book.title}")
    _study(root, book)
    for number, table in enumerate(book.tables, start=1):
        _file(root, table, number)
    data = _add(root, "dataDscr")
    numbers = count(1)
    for number, table in enumerate(book.tables, start=1):
        for variable in table.variables:
            _variable(data, variable, f"V{next(numbers)}", f"F{number}", table)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _study(root: Element, book: Codebook) -> None:
    study = _add(root, "stdyDscr")
    citation = _add(study, "citation")
    _add(_add(citation, "titlStmt"), "titl", book.title)
    software = _add(_add(citation, "prodStmt"), "software", "kinfolk")
    software.set("version", kinfolk.__version__)
    about = _add(study, "stdyInfo")
    _add(about, "abstract", HOW)
    summary = _add(about, "sumDscr")
    _add(summary, "anlyUnit", " and ".join(table.unit for table in book.tables))
    _add(summary, "dataKind", "synthetic microdata")
    for rule in book.rules:
        _add(about, "notes", rule).set("type", "never")
    access = _add(study, "dataAccs")
    if book.notice:
        _add(_add(access, "useStmt"), "disclaimer", book.notice)
    for subject, text in book.promise:
        # A `confDec` would say that users have to sign one.
        promise = _add(access, "notes", text)
        promise.set("type", "privacy")
        promise.set("subject", printable(subject))


def _file(root: Element, table: Table, number: int) -> None:
    described = _add(root, "fileDscr")
    described.set("ID", f"F{number}")
    text = _add(described, "fileTxt")
    _add(text, "fileName", table.file)
    _add(text, "fileCont", f"One row for each synthetic {table.unit}.")
    size = _add(text, "dimensns")
    if table.rows is not None:
        _add(size, "caseQnty", str(table.rows))
    _add(size, "varQnty", str(len(table.variables)))
    _add(text, "fileType", table.file.rpartition(".")[2])


def _variable(data: Element, one: Variable, identity: str, file: str, table: Table) -> None:
    """In the order of the standard: label, range, universe, categories, formula, format, notes."""
    found = _add(data, "var")
    for name, value in (("ID", identity), ("name", one.name), ("files", file)):
        found.set(name, printable(value))
    if one.weight:
        found.set("wgt", "wgt")
    if one.decimals is not None:
        found.set("dcml", str(one.decimals))
    found.set("intrvl", "contin" if one.kind == "number" else "discrete")
    _add(found, "labl", one.label)
    if one.range is not None:
        low, high = (f"{end:.15g}" for end in one.range)
        limits = _add(_add(found, "valrng"), "range")
        limits.set("UNITS", "INT" if one.decimals == 0 else "REAL")
        limits.set("min", low)
        limits.set("max", high)
    everybody = f"All {table.name}"
    _add(found, "universe", f"{everybody} with {one.universe}" if one.universe else everybody)
    for category in one.categories:
        entry = _add(found, "catgry")
        if category.missing:
            entry.set("missing", "Y")
        if category.value:
            _add(entry, "catValu", category.value)
        _add(entry, "labl", category.label)
    if one.formula:
        _add(_add(found, "derivation"), "drvcmd", one.formula)
    _add(found, "varFormat").set("type", one.stored)
    for kind, texts in (("bin", one.bins), ("never", one.rules)):
        for text in texts:
            _add(found, "notes", text).set("type", kind)


def _path(parent: Element, *names: str) -> Element:
    for name in names:
        parent = _add(parent, name)
    return parent


def _add(parent: Element, name: str, text: str | None = None) -> Element:
    found = SubElement(parent, f"{{{NAMESPACE}}}{name}")
    if text is not None:
        found.text = printable(text)
    return found
