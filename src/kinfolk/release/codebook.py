"""The codebook of a release: what its columns mean, who was asked, and what was promised.

All of it is public: it comes from the schema and the certificate alone.

It is written as a page, and as XML of the Data Documentation Initiative, DDI-Codebook 2.5, which
archives and their catalogues read. The order of elements is that of the standard's schema.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, Literal
from xml.etree.ElementTree import Element, SubElement, indent, register_namespace, tostring

import kinfolk
from kinfolk._io import write_whole
from kinfolk.data.stat_files import Labels, schema_labels
from kinfolk.privacy.certificate import NOT_PRIVATE, certificate_rows
from kinfolk.schema import Attribute, Categorical, Numeric, Schema
from kinfolk.schema.attributes import MISSING_LABEL
from kinfolk.schema.conditions import is_code, refs
from kinfolk.schema.names import singular
from kinfolk.schema.spelling import spelling, universe
from kinfolk.template import Templates, content_policy, printable

PAGE, DDI = "codebook.html", "codebook.xml"
"""What the two files of a codebook are called."""

RULES = "Never"
"""What the certificate calls rules, which the codebook lists for itself."""

_TEMPLATES = Templates("kinfolk.release")


@dataclass(frozen=True, kw_only=True)
class Category:
    """One value of a variable, or blank."""

    value: str
    """As it stands in the tables; empty for blank."""
    label: str
    missing: bool = False
    """Whether it is no answer: blank, or a code outside the bins of a number."""


@dataclass(frozen=True, kw_only=True)
class Variable:
    """One column."""

    name: str
    label: str
    """What it is about; its name where the schema does not say."""
    kind: Literal["identifier", "category", "number"]
    stored: Literal["numeric", "character"]
    categories: tuple[Category, ...] = ()
    """All values of a category; the special values and blank of a number."""
    bins: tuple[str, ...] = ()
    """The ranges in which a number was asked for, in words."""
    range: tuple[float, float] | None = None
    """From where to where a number goes."""
    decimals: int | None = None
    """How many a number has, where that is declared."""
    universe: str = ""
    """Who was asked, as a condition; empty for everybody."""
    formula: str = ""
    """How it is computed from the members, or that it is."""
    rules: tuple[str, ...] = ()
    """What cannot be, of all rules that name it."""
    weight: bool = False
    """Whether it says how many groups of the population one stands for."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """One file of a release."""

    name: str
    unit: str
    """What a row is."""
    file: str
    rows: int | None
    variables: tuple[Variable, ...]


@dataclass(frozen=True, kw_only=True)
class Codebook:
    """What somebody needs to know who has only the synthetic tables."""

    tables: tuple[Table, ...]
    rules: tuple[str, ...]
    """All of them."""
    promise: tuple[tuple[str, str], ...]
    """What the certificate says, line by line, each with what it is about."""
    notice: str
    """Why nobody is protected, where that is so; else empty."""

    @staticmethod
    def of(
        schema: Schema,
        certificate: Mapping[str, Any],
        *,
        files: Mapping[str, str],
        rows: Mapping[str, int] | None = None,
    ) -> Codebook:
        """The codebook of tables in files of these names."""
        labels = schema_labels(schema)
        tables = tuple(
            Table(
                name=name,
                unit=singular(name),
                file=files[name],
                rows=None if rows is None else rows[name],
                variables=tuple(_variables(schema, name, labels[name])),
            )
            for name in schema.table_names
        )
        return Codebook(
            tables=tables,
            rules=tuple(schema.never),
            promise=tuple(row for row in certificate_rows(certificate) if row[0] != RULES),
            notice="" if certificate["private"] is True else NOT_PRIVATE,
        )

    @property
    def title(self) -> str:
        """What the study is called."""
        return f"Synthetic {' and '.join(table.name for table in self.tables)}"

    def html(self) -> str:
        """The codebook as a page that asks for nothing from anywhere."""
        style = _TEMPLATES.read("codebook.css")
        return _TEMPLATES.render(
            "codebook.html.j2",
            book=self,
            style=style,
            policy=content_policy(style),
            version=kinfolk.__version__,
        )

    def ddi(self) -> str:
        """The codebook in DDI-Codebook 2.5."""
        return ddi_text(self)

    def write(self, directory: Path) -> None:
        """Write both files."""
        write_whole(directory / PAGE, self.html())
        write_whole(directory / DDI, self.ddi())


def _variables(schema: Schema, table: str, labels: Labels) -> Iterator[Variable]:
    """The columns of a table in the order in which they are written."""
    grouped = schema.group is not None and table == schema.group.table
    level: Literal["group", "individual"] = "group" if grouped else "individual"
    weight = schema.group.weight if schema.group is not None and grouped else None
    for name, attribute in schema.columns[table].items():
        if attribute is None:
            label = labels.columns.get(name, name)
            yield Variable(name=name, label=label, kind="identifier", stored="numeric")
        elif schema.roles is not None and not grouped and name == schema.roles.column:
            role = replace(schema.roles.attribute(), labels=list(schema.roles.roles))
            rules = tuple(_rules(schema, name, "role"))
            yield replace(_variable(name, role, labels), rules=rules)
        else:
            yield replace(
                _variable(name, attribute, labels),
                universe=universe(schema, level, name),
                rules=tuple(_rules(schema, name, level)),
                weight=name == weight,
            )


def _rules(schema: Schema, name: str, level: str) -> Iterator[str]:
    """The rules that name a column."""
    for rule in schema.rules:
        if any(ref.name == name and ref.level == level for ref in refs(rule.condition)):
            yield rule.text


def _variable(name: str, attribute: Attribute, labels: Labels) -> Variable:
    """What an attribute says of itself."""
    formula = "computed from the members" if attribute.derived else ""
    if isinstance(attribute.derived, str):
        formula = attribute.derived
    found = Variable(
        name=name,
        label=labels.columns.get(name, name),
        kind="category",
        stored="numeric",
        categories=tuple(_categories(attribute)),
        formula=formula,
    )
    if isinstance(attribute, Categorical):
        return replace(found, stored="character") if attribute.kind == "text" else found
    return replace(
        found,
        kind="number",
        bins=tuple(map(attribute.label, range(len(attribute.bins) - 1))),
        range=_ends(attribute),
        decimals=attribute.places,
    )


def _ends(attribute: Numeric) -> tuple[float, float]:
    """The least and the largest number that there can be."""
    low, high = attribute.bins[0], attribute.bins[-1]
    return (math.ceil(low), math.floor(high)) if attribute.places == 0 else (low, high)


def _categories(attribute: Attribute) -> Iterator[Category]:
    if isinstance(attribute, Categorical):
        for code, value in enumerate(attribute.values):
            label = attribute.labels[code] if attribute.labels else spelling(value)
            yield Category(value=spelling(value), label=label)
    else:
        first = len(attribute.bins) - 1
        for code, value in enumerate(attribute.special, start=first):
            missing = is_code(value, attribute)
            yield Category(value=spelling(value), label=attribute.label(code), missing=missing)
    if attribute.missing:
        yield Category(value="", label=MISSING_LABEL, missing=True)


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
            _variable_element(data, variable, f"V{next(numbers)}", f"F{number}", table)
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


def _variable_element(data: Element, one: Variable, identity: str, file: str, table: Table) -> None:
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
