"""IPUMS fixed-width files: the codebook (DDI) says where each variable stands.

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

from kinfolk.data.sources.survey import BLANK, Codes, readable
from kinfolk.errors import KinfolkError

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
