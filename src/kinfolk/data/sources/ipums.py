"""IPUMS USA extracts: fixed-width with a codebook, or CSV; rectangular or hierarchical.

`ipumspy` reads the codebook. The lines themselves are cut with Arrow: a state of 200,000 people
takes under a second that way, where a general fixed-width parser needs ten.
"""

from __future__ import annotations

import gzip
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kinfolk.data.sources.survey import (
    BLANK,
    Codes,
    SourceTables,
    SurveyRows,
    Units,
    link,
    read_csv_columns,
    readable,
    target_schema,
    to_codes,
    to_target,
)
from kinfolk.errors import KinfolkError, listed
from kinfolk.schema import Schema

RECTYPE = "RECTYPE"
"""The variable that tells household and person lines of a hierarchical file apart."""

MISFIT = (AttributeError, KeyError, IndexError, TypeError, ValueError, NotImplementedError)
"""What ipumspy raises for XML that lacks an element it looks for."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """Where a variable stands in a line."""

    start: int
    """First position, from 0."""
    end: int
    """One past the last position."""
    rectypes: frozenset[str]
    """The kinds of line that have it; empty in a rectangular file."""


@dataclass(frozen=True, kw_only=True)
class Ddi:
    """What the DDI file says about an extract."""

    name: str
    """The DDI file, for messages."""
    structure: Literal["rectangular", "hierarchical"]
    """One kind of line, or household lines each followed by their person lines."""
    data_file: str
    """The name of the data file it belongs to."""
    fields: Mapping[str, Field]
    """The variables by name."""


def read_codebook(path: Path) -> Ddi:
    """Read the DDI codebook that IPUMS delivers with an extract."""
    try:
        from ipumspy import readers
    except ImportError:
        raise KinfolkError(
            "reading an IPUMS fixed-width extract needs the package ipumspy, which is not "
            "installed. Run `pip install 'kinfolk[ipums]'`, or choose CSV when making the extract."
        ) from None
    with readable(path, "an IPUMS codebook (DDI)"), warnings.catch_warnings():
        # ipumspy reminds of the citation by a warning; docs/sources.md does so in words.
        warnings.simplefilter("ignore")
        try:
            ddi: Any = readers.read_ipums_ddi(path)
            structure = ddi.file_description.structure
            fields = {
                str(v.name).upper(): Field(
                    start=int(v.start), end=int(v.end), rectypes=frozenset(v.rectype.split())
                )
                for v in ddi.data_description
            }
        except (ET.ParseError, *MISFIT):
            raise KinfolkError(
                f"{path.name}: this is not a codebook (DDI) as IPUMS USA delivers it. "
                "Download the file named DDI beside the extract."
            ) from None
    if ddi.ipums_collection != "usa" or structure not in ("rectangular", "hierarchical"):
        raise KinfolkError(
            f"{path.name}: the codebook describes a {structure} extract of IPUMS collection "
            f"{ddi.ipums_collection!r}. kinfolk reads rectangular and hierarchical extracts of "
            "IPUMS USA."
        )
    data_file = str(ddi.file_description.filename)
    return Ddi(name=path.name, structure=structure, data_file=data_file, fields=fields)


@dataclass(frozen=True, kw_only=True)
class Lines:
    """The lines of one kind in a fixed-width file."""

    name: str
    """The data file, for messages."""
    text: pa.Array
    """The lines themselves: (lines,)."""
    numbers: Codes
    """Their numbers in the file, from 1: (lines,)."""

    def take(self, mask: pa.Array) -> Lines:
        """Only some of the lines."""
        numbers = self.numbers[np.asarray(mask)]
        return Lines(name=self.name, text=self.text.filter(mask), numbers=numbers)

    def check_length(self, needed: int) -> None:
        """Every line must reach as far as the codebook says."""
        lengths = np.asarray(pc.binary_length(self.text))
        short = np.flatnonzero(lengths < needed)
        if len(short):
            at = short[0]
            raise KinfolkError(
                f"{self.name}, line {self.numbers[at]}: it has {lengths[at]} characters, but "
                f"the codebook places a variable at {needed} ({len(short):,} such lines). "
                "The file is cut off or belongs to another codebook; download both again."
            )

    def codes(self, variable: str, field: Field) -> Codes:
        """One variable as whole numbers; all spaces are BLANK: (lines,)."""
        cells = pc.binary_slice(self.text, field.start, field.end)
        wrong = np.flatnonzero(~np.asarray(pc.match_substring_regex(cells, "^[0-9 ]{0,18}$")))
        if len(wrong):
            shown = cells[int(wrong[0])].as_py().decode("latin-1")
            raise KinfolkError(
                f"{self.name}, line {self.numbers[wrong[0]]}: {variable} is {shown!r}, which is "
                f"not a number ({len(wrong):,} such lines). The codebook belongs to another "
                "extract; use the DDI file that came with this one."
            )
        digits = pc.replace_substring(cells, b" ", b"").cast(pa.string())
        digits = pc.if_else(pc.equal(digits, ""), str(BLANK), digits)
        return np.asarray(digits.cast(pa.int64()))


def read_lines(path: Path) -> Lines:
    """Read a .dat or .dat.gz file and find its lines."""
    with readable(path, "an IPUMS data file"):
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if not raw.strip():
        raise KinfolkError(f"{path.name}: the file is empty. Download the extract again.")
    text = pa.array(raw.replace(b"\r\n", b"\n").split(b"\n"), pa.large_binary())
    lines = Lines(name=path.name, text=text, numbers=np.arange(1, len(text) + 1))
    return lines.take(pc.greater(pc.binary_length(text), 0))


def read_fixed_width(
    path: Path, codebook: Ddi, wanted: Collection[str]
) -> dict[str, dict[str, Codes]]:
    """The wanted variables that the codebook has, by kind of line ('' in a rectangular file)."""
    lines = read_lines(path)
    fields = {n: f for n, f in codebook.fields.items() if n in wanted and n != RECTYPE}
    if codebook.structure == "rectangular":
        return {"": _variables(lines, fields)}
    place = codebook.fields.get(RECTYPE)
    if place is None:
        raise KinfolkError(
            f"{codebook.name}: the codebook of a hierarchical extract must have RECTYPE. "
            "Download the DDI file again."
        )
    lines.check_length(place.end)
    kind = pc.binary_slice(lines.text, place.start, place.start + 1)
    levels = {}
    for rectype in ("H", "P"):
        those = {name: field for name, field in fields.items() if rectype in field.rectypes}
        levels[rectype] = _variables(lines.take(pc.equal(kind, rectype.encode())), those)
    return levels


def _variables(lines: Lines, fields: Mapping[str, Field]) -> dict[str, Codes]:
    lines.check_length(max((field.end for field in fields.values()), default=0))
    return {name: lines.codes(name, field) for name, field in fields.items()}


VACANT, HOUSEHOLDS, QUARTERS = (0,), (1, 2, 5), (3, 4)
"""Codes of GQ: vacant units; households under the definitions of 1970, 1990, 2000; quarters."""

SAMPLE_SPACE = 10**9
"""SERIAL has at most eight digits, so SAMPLE times this plus SERIAL is unique."""

Level = Mapping[str, Codes]


def variables(target: str = "acs") -> tuple[str, ...]:
    """The IPUMS variables to tick in an extract for a target.

    Those IPUMS adds by itself (YEAR, SAMPLE, SERIAL, GQ, PERNUM and weights) are not listed.

    >>> variables("acs-red")
    ('METRO', 'OWNERSHP', 'FARM', 'FOODSTMP', 'SEX', 'AGE', 'EMPSTAT', 'MARST')
    """
    schema = target_schema(target)
    return (*_household_variables(schema), *_person_variables(schema))


def _household_variables(schema: Schema) -> tuple[str, ...]:
    names = tuple(schema.group.attributes) if schema.group else ()
    # County codes repeat from state to state.
    return (*names, "STATEFIP") if "COUNTYFIP" in names else names


def _person_variables(schema: Schema) -> tuple[str, ...]:
    role = (schema.roles.column,) if schema.roles else ()
    return (*schema.individual.attributes, *role)


def read_ipums(
    path: str | Path,
    *,
    ddi: str | Path | None = None,
    target: str = "acs",
    group_quarters: bool = False,
) -> SourceTables:
    """Read an IPUMS USA extract into the tables of a shipped schema.

    - `path`: the data file (.dat, .dat.gz, .csv or .csv.gz), or the codebook (.xml) beside it.
    - `ddi`: the codebook of a fixed-width file; by default the .xml file of the same name.
    - `target`: which schema to fill: acs, acs-red or acs-rel.
    - `group_quarters`: whether to keep people in group quarters, each as a household of one, as
      the paper's counts suggest it did. Not for acs-rel, where every household has a head.

    The tables are `households` and `persons`. Households larger than the schema's max_size are
    still there; encoding treats them as `oversize` says.
    """
    schema = target_schema(target)
    refuse_quarters(schema, target, group_quarters=group_quarters)
    data, codebook = _files(Path(path), Path(ddi) if ddi is not None else None)
    wanted = {"SAMPLE", "SERIAL", "GQ", RECTYPE}
    wanted.update(_household_variables(schema), _person_variables(schema))
    levels: Mapping[str, Level]
    if codebook is None:
        levels = _csv_levels(data, wanted)
    else:
        levels = read_fixed_width(data, read_codebook(codebook), wanted)
    _check_variables(data.name, levels, schema, target)
    units, notes = _units(data.name, levels)
    units, left_out = _choose(units, group_quarters=group_quarters)
    return to_target(units, schema, target=target, notes=[*notes, *left_out])


def refuse_quarters(schema: Schema, target: str, *, group_quarters: bool) -> None:
    """Group quarters have no head, so a schema with roles cannot hold them."""
    if group_quarters and schema.roles is not None:
        raise KinfolkError(
            f"group quarters cannot be kept for {target}: nobody there is the head of a household. "
            "Leave group_quarters out, or use the target acs."
        )


def _files(path: Path, ddi: Path | None) -> tuple[Path, Path | None]:
    """The data file and, where one is needed, its codebook."""
    name = path.name.lower()
    if name.endswith(".xml"):
        beside = [path.with_suffix(s) for s in (".dat.gz", ".dat", ".csv.gz", ".csv")]
        found = next((file for file in beside if file.exists()), None)
        if found is None:
            tried = listed([file.name for file in beside])
            raise KinfolkError(
                f"{path}: this is a codebook, and no data file lies beside it ({tried}). "
                "Name the data file, and the codebook with ddi."
            )
        return found, path if ".dat" in found.name else None
    if name.endswith((".csv", ".csv.gz")):
        return path, None
    if name.endswith((".dat", ".dat.gz")):
        stem = path.name[: name.rindex(".dat")]
        codebook = ddi if ddi is not None else path.with_name(f"{stem}.xml")
        if not codebook.exists():
            raise KinfolkError(
                f"{path.name}: a fixed-width extract needs its codebook, and {codebook} does not "
                "exist. Download the DDI file beside the extract and name it with ddi."
            )
        return path, codebook
    raise KinfolkError(
        f"{path}: the file type is unknown. An IPUMS extract ends in .dat, .dat.gz, .csv or "
        ".csv.gz; make the extract in one of these formats."
    )


def _csv_levels(path: Path, wanted: set[str]) -> dict[str, Level]:
    columns = read_csv_columns(path, wanted)
    kind = columns.pop(RECTYPE, None)
    codes = {n: to_codes(c, where=f"{path.name}, column {n}") for n, c in columns.items()}
    if kind is None:
        return {"": codes}
    masks = {r: np.asarray(pc.fill_null(pc.equal(kind, r), False)) for r in ("H", "P")}
    return {r: {n: c[mask] for n, c in codes.items()} for r, mask in masks.items()}


def _check_variables(name: str, levels: Mapping[str, Level], schema: Schema, target: str) -> None:
    """Name everything the extract lacks in one message."""
    households = levels[""] if "" in levels else levels["H"]
    persons = levels[""] if "" in levels else levels["P"]
    lacking = [v for v in ("SERIAL", "GQ", *_household_variables(schema)) if v not in households]
    lacking += [v for v in _person_variables(schema) if v not in persons]
    if "SERIAL" not in persons and "SERIAL" not in lacking:
        lacking.insert(0, "SERIAL")
    if lacking:
        raise KinfolkError(
            f"{name}: the extract lacks {listed(lacking)}, which the target {target} needs. At "
            "usa.ipums.org choose Revise for the extract, add these variables to the data cart, "
            "and submit it again."
        )
    if not len(persons["SERIAL"]):
        raise KinfolkError(f"{name}: there are no people in it. Make an extract with person data.")
    blank = sum(int((level["SERIAL"] == BLANK).sum()) for level in (households, persons))
    if blank:
        raise KinfolkError(f"{name}: SERIAL is blank on {blank:,} rows. Download the file again.")


def _units(name: str, levels: Mapping[str, Level]) -> tuple[Units, list[str]]:
    if "" in levels:
        level = levels[""]
        keys, notes = _keys(level, level)
        # Household variables are repeated on every person; the first one speaks for all.
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        persons = SurveyRows(name=name, ids=pa.array(keys), columns=level)
        home = rank[inverse].astype(np.int64)
        return Units(households=persons.take(first[order]), persons=persons, home=home), notes
    keys, notes = _keys(levels["H"], levels["P"])
    person_keys, _ = _keys(levels["P"], levels["H"])
    households = SurveyRows(name=name, ids=pa.array(keys), columns=levels["H"])
    persons = SurveyRows(name=name, ids=pa.array(person_keys), columns=levels["P"])
    home = link(households.ids, persons.ids, names=(name, name), key="SERIAL")
    return Units(households=households, persons=persons, home=home), notes


def _keys(level: Level, other: Level) -> tuple[Codes, list[str]]:
    """The household number of each row; where samples are pooled, led by the sample's."""
    serial = level["SERIAL"]
    if "SAMPLE" not in level or "SAMPLE" not in other:
        return serial, []
    samples = np.union1d(level["SAMPLE"], other["SAMPLE"])
    if len(samples) < 2 or BLANK in samples:
        return serial, []
    note = (
        f"the extract pools the samples {listed([str(s) for s in samples.tolist()])}; SERIAL is "
        "SAMPLE followed by the household's number, since numbers repeat from sample to sample."
    )
    return level["SAMPLE"] * SAMPLE_SPACE + serial, [note]


def _choose(units: Units, *, group_quarters: bool) -> tuple[Units, list[str]]:
    """Leave out vacant units and, unless wanted, group quarters; say how many."""
    status = units.households.columns["GQ"]
    notes = []
    vacant = int(np.isin(status, VACANT).sum())
    if vacant:
        notes.append(f"vacant units left out: {vacant:,}.")
    quarters = np.isin(status, QUARTERS)
    if quarters.any() and not group_quarters:
        people = int(quarters[units.home].sum())
        notes.append(f"people in group quarters (GQ 3 and 4) left out: {people:,}.")
    kept = units.keep(np.isin(status, HOUSEHOLDS) | (quarters & group_quarters))
    if not len(kept.persons.ids):
        raise KinfolkError(
            f"{units.households.name}: no household is left after leaving out vacant units and "
            "group quarters (variable GQ). Use a sample with households."
        )
    return kept, notes
