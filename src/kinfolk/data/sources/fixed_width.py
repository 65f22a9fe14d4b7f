"""IPUMS fixed-width files: the codebook (DDI) says where each variable stands.

`ipumspy` reads the codebook. The lines themselves are cut with NumPy: a state of 200,000 people
takes under a second that way, where a general fixed-width parser needs ten.
"""

from __future__ import annotations

import gzip
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from kinfolk.data.sources.records import BLANK, Codes, readable
from kinfolk.errors import KinfolkError

Bytes = npt.NDArray[np.uint8]

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
class Codebook:
    """What the DDI file says about an extract."""

    name: str
    """The DDI file, for messages."""
    structure: Literal["rectangular", "hierarchical"]
    """One kind of line, or household lines each followed by their person lines."""
    data_file: str
    """The name of the data file it belongs to."""
    fields: Mapping[str, Field]
    """The variables by name."""


def read_codebook(path: Path) -> Codebook:
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
    return Codebook(name=path.name, structure=structure, data_file=data_file, fields=fields)


@dataclass(frozen=True, kw_only=True)
class Lines:
    """The lines of one kind in a fixed-width file."""

    name: str
    """The data file, for messages."""
    data: Bytes
    """The whole file: (bytes,)."""
    starts: npt.NDArray[np.int64]
    """Where each line begins: (lines,)."""
    lengths: npt.NDArray[np.int64]
    """How long it is: (lines,)."""
    numbers: npt.NDArray[np.int64]
    """Its number in the file, from 1: (lines,)."""

    def take(self, mask: npt.NDArray[np.bool_]) -> Lines:
        """Only some of the lines."""
        return Lines(
            name=self.name,
            data=self.data,
            starts=self.starts[mask],
            lengths=self.lengths[mask],
            numbers=self.numbers[mask],
        )

    def check_length(self, needed: int) -> None:
        """Every line must reach as far as the codebook says."""
        short = self.lengths < needed
        if short.any():
            at = int(np.argmax(short))
            raise KinfolkError(
                f"{self.name}, line {self.numbers[at]}: it has {self.lengths[at]} characters, but "
                f"the codebook places a variable at {needed} ({int(short.sum()):,} such lines). "
                "The file is cut off or belongs to another codebook; download both again."
            )

    def cut(self, field: Field) -> Bytes:
        """The characters of one variable: (lines, width)."""
        characters: Bytes = self.data[self.starts[:, None] + np.arange(field.start, field.end)]
        return characters

    def codes(self, variable: str, field: Field) -> Codes:
        """One variable as whole numbers; all spaces are BLANK: (lines,)."""
        text = self.cut(field)
        digit = (text >= ord("0")) & (text <= ord("9"))
        wrong = ~(digit | (text == ord(" "))).all(axis=1)
        if wrong.any():
            at = int(np.argmax(wrong))
            shown = text[at].tobytes().decode("latin-1")
            raise KinfolkError(
                f"{self.name}, line {self.numbers[at]}: {variable} is {shown!r}, which is not a "
                f"number ({int(wrong.sum()):,} such lines). The codebook belongs to another "
                "extract; use the DDI file that came with this one."
            )
        values = np.zeros(len(text), dtype=np.int64)
        for position in range(text.shape[1]):
            here = digit[:, position]
            values[here] = values[here] * 10 + (text[here, position].astype(np.int64) - ord("0"))
        values[~digit.any(axis=1)] = BLANK
        return values


def read_lines(path: Path) -> Lines:
    """Read a .dat or .dat.gz file and find its lines."""
    with readable(path, "an IPUMS data file"):
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if not raw.strip():
        raise KinfolkError(f"{path.name}: the file is empty. Download the extract again.")
    data = np.frombuffer(raw if raw.endswith(b"\n") else raw + b"\n", dtype=np.uint8)
    ends = np.flatnonzero(data == ord("\n")).astype(np.int64)
    starts = np.concatenate([np.zeros(1, dtype=np.int64), ends[:-1] + 1])
    lengths = ends - starts
    returns = (lengths > 0) & (data[np.maximum(ends - 1, 0)] == ord("\r"))
    lengths = lengths - returns
    numbers = np.arange(1, len(starts) + 1, dtype=np.int64)
    lines = Lines(name=path.name, data=data, starts=starts, lengths=lengths, numbers=numbers)
    return lines.take(lengths > 0)


def read_fixed_width(
    path: Path, codebook: Codebook, wanted: Collection[str]
) -> dict[str, dict[str, Codes]]:
    """The wanted variables that the codebook has, by kind of line ('' in a rectangular file)."""
    lines = read_lines(path)
    fields = {n: f for n, f in codebook.fields.items() if n in wanted and n != RECTYPE}
    if codebook.structure == "rectangular":
        return {"": _variables(lines, fields, list(fields))}
    place = codebook.fields.get(RECTYPE)
    if place is None:
        raise KinfolkError(
            f"{codebook.name}: the codebook of a hierarchical extract must have RECTYPE. "
            "Download the DDI file again."
        )
    lines.check_length(place.end)
    kind = lines.cut(place)[:, 0]
    levels = {}
    for rectype in ("H", "P"):
        names = [name for name, field in fields.items() if rectype in field.rectypes]
        levels[rectype] = _variables(lines.take(kind == ord(rectype)), fields, names)
    return levels


def _variables(lines: Lines, fields: Mapping[str, Field], names: Sequence[str]) -> dict[str, Codes]:
    lines.check_length(max((fields[name].end for name in names), default=0))
    return {name: lines.codes(name, fields[name]) for name in names}
